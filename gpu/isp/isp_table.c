/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The table of a camera on the device: for each output pixel its place in the developed frame, and
 * the tone curve. It is computed here once, in double precision. So every lens model costs the
 * same, and every device gets the same map.
 *
 * A map entry is two 16-bit offsets in 1/32 of a pixel (OpenCV's precision) from the base of its
 * block of ISP_BLOCK_X x ISP_BLOCK_Y pixels. All frames of a batch read 4 bytes a pixel from the
 * cache.
 */
#include "gpu/isp/isp_internal.h"

#include <math.h>
#include <string.h>

_Static_assert(ISP_TONE_WORDS >= 2 * (ISP_TONE_STEPS + 1) && ISP_TONE_WORDS % 4 == 0,
               "what comes behind it is read four words at a time");

#define MAP_ONE (1 << ISP_MAP_BITS)

static uint32_t blocks(uint32_t size, uint32_t block)
{
    return (size + block - 1) / block;
}

uint32_t isp_sampling(const struct isp_params *p)
{
    struct isp_rect out;
    isp_output_size(p, &out);
    bool same = !p->region.width ? out.width == p->width && out.height == p->height
                                 : out.width == p->region.width && out.height == p->region.height;
    if (p->lens.model == ISP_LENS_NONE && same)
        return ISP_SAMPLE_NONE;
    return p->interpolation == ISP_INTERPOLATE_BICUBIC ? ISP_SAMPLE_BICUBIC : ISP_SAMPLE_BILINEAR;
}

/* The table with the map of the two passes */
static uint64_t map_words(const struct isp_params *p, struct isp_args *args)
{
    uint64_t words = ISP_TONE_WORDS;
    args->map_base = ISP_TONE_WORDS;
    if (isp_sampling(p) != ISP_SAMPLE_NONE) {
        words +=
            2ull * blocks(args->out_width, ISP_BLOCK_X) * blocks(args->out_height, ISP_BLOCK_Y);
        words = (words + 3) / 4 * 4;
        args->map = (uint32_t)words;
        args->map_stride = blocks(args->out_width, ISP_BLOCK_X) * ISP_BLOCK_X;
        words += (uint64_t)args->map_stride * blocks(args->out_height, ISP_BLOCK_Y) * ISP_BLOCK_Y;
    }
    return words;
}

uint64_t isp_table_words(const struct isp_params *p, bool fused, struct isp_args *args)
{
    return fused ? isp_fuse_words(p, args) : map_words(p, args);
}

/* One coordinate in 1/32 pixel, rounded to even as OpenCV does. A point far outside stays just
 * outside. */
static int32_t quantise(double v, uint32_t size)
{
    if (v < -64)
        v = -64;
    if (v > size + 64.0)
        v = size + 64.0;
    return (int32_t)rint(v * MAP_ONE);
}

void isp_source_begin(const struct isp_params *p, struct isp_source *out)
{
    out->params = p;
    out->region = p->region.width ? p->region : (struct isp_rect){0, 0, p->width, p->height};
    out->straight = p->camera.fx > 0 ? p->camera : p->lens.camera;
    isp_output_size(p, &out->out);
}

bool isp_source_at(const struct isp_source *s, uint32_t x, uint32_t y, int32_t at[2])
{
    const struct isp_rect *region = &s->region, *out = &s->out;
    double sx = region->x + (x + 0.5) * region->width / out->width - 0.5,
           sy = region->y + (y + 0.5) * region->height / out->height - 0.5;
    double px, py;
    if (!isp_lens_distort(&s->params->lens, &s->straight, sx, sy, &px, &py))
        return false;
    at[0] = quantise(px, s->params->width);
    at[1] = quantise(py, s->params->height);
    return true;
}

struct map_block {
    int32_t at[ISP_BLOCK_Y][ISP_BLOCK_X][2];
    bool seen[ISP_BLOCK_Y][ISP_BLOCK_X];
};

static void block_write(const struct map_block *b, uint32_t *bases, uint32_t *map, uint32_t stride)
{
    int32_t low[2] = {INT32_MAX, INT32_MAX};
    for (uint32_t y = 0; y < ISP_BLOCK_Y; y++)
        for (uint32_t x = 0; x < ISP_BLOCK_X; x++)
            for (int i = 0; i < 2 && b->seen[y][x]; i++)
                low[i] = b->at[y][x][i] < low[i] ? b->at[y][x][i] : low[i];
    for (int i = 0; i < 2; i++)
        bases[i] = low[i] == INT32_MAX ? 0 : (uint32_t)low[i];
    for (uint32_t y = 0; y < ISP_BLOCK_Y; y++) {
        for (uint32_t x = 0; x < ISP_BLOCK_X; x++) {
            uint32_t dx = (uint32_t)b->at[y][x][0] - bases[0],
                     dy = (uint32_t)b->at[y][x][1] - bases[1];
            bool far = dx > 0xffff || dy > 0xffff || (dx == 0xffff && dy == 0xffff);
            map[(uint64_t)y * stride + x] = !b->seen[y][x] || far ? ISP_MAP_NONE : dx | dy << 16;
        }
    }
}

static void fill_map(const struct isp_params *p, const struct isp_args *args, uint32_t *table)
{
    struct isp_source source;
    struct map_block block;
    isp_source_begin(p, &source);
    uint32_t columns = blocks(source.out.width, ISP_BLOCK_X),
             rows = blocks(source.out.height, ISP_BLOCK_Y);
    for (uint32_t by = 0; by < rows; by++) {
        for (uint32_t bx = 0; bx < columns; bx++) {
            memset(&block, 0, sizeof(block));
            for (uint32_t y = 0; y < ISP_BLOCK_Y && by * ISP_BLOCK_Y + y < source.out.height; y++)
                for (uint32_t x = 0; x < ISP_BLOCK_X && bx * ISP_BLOCK_X + x < source.out.width;
                     x++)
                    block.seen[y][x] = isp_source_at(&source, bx * ISP_BLOCK_X + x,
                                                     by * ISP_BLOCK_Y + y, block.at[y][x]);
            block_write(&block, table + args->map_base + 2 * (by * columns + bx),
                        table + args->map + (uint64_t)by * ISP_BLOCK_Y * args->map_stride +
                            bx * ISP_BLOCK_X,
                        args->map_stride);
        }
    }
}

/* Linear light 0..1 to a signal 0..1. */
static double toned(const struct isp_params *p, double v)
{
    if (p->format == ISP_RGB48)
        return v;
    switch (p->tone) {
    case ISP_TONE_SRGB: /* IEC 61966-2-1 */
        return v <= 0.0031308 ? 12.92 * v : 1.055 * pow(v, 1 / 2.4) - 0.055;
    case ISP_TONE_BT709: /* Rec. ITU-R BT.709-6, 1.2 */
        return v < 0.018 ? 4.5 * v : 1.099 * pow(v, 0.45) - 0.099;
    case ISP_TONE_TABLE: {
        double at = v * (p->tone_count - 1);
        uint32_t i = (uint32_t)at, next = i + 1 < p->tone_count ? i + 1 : i;
        return (p->tone_table[i] + (at - i) * (p->tone_table[next] - (double)p->tone_table[i])) /
               65535;
    }
    default:
        return v;
    }
}

bool isp_table_fill(const struct isp_params *p, bool fused, const struct isp_args *args,
                    uint32_t *table, uint32_t *rect)
{
    /* The input of the fused pass's curve: whole samples, or 1024ths of interpolated samples minus
     * ISP_FUSED_BELOW */
    const bool samples = fused && !isp_has_matrix(p),
               parts = samples && isp_sampling(p) != ISP_SAMPLE_NONE;
    const double unit = samples ? 1 / (parts ? 1024 * 65535.0 : 65535.0) : 1,
                 below = parts ? ISP_FUSED_BELOW * unit : 0;
    if (fused && !isp_fuse_fill(p, args, table, rect))
        return false;
    if (!fused && isp_sampling(p) != ISP_SAMPLE_NONE)
        fill_map(p, args, table);
    for (uint32_t i = 0; i <= ISP_TONE_STEPS; i++) {
        double at = (double)i / ISP_TONE_STEPS, here = toned(p, at),
               next = i < ISP_TONE_STEPS ? toned(p, (i + 1.0) / ISP_TONE_STEPS) : here;
        double slope = (next - here) * ISP_TONE_STEPS;
        float line[2] = {(float)(here - (at - below) * slope), (float)(slope * unit)};
        memcpy(table + 2 * i, line, sizeof(line));
    }
    return true;
}

/* Rec. ITU-R BT.709-6 3 and BT.601-7 2.5: Y, Cb, Cr of full scale 1 and +-0.5, then code values
 * (BT.709 3.4, H.273 full range). */
static void fill_matrix(const struct isp_params *p, struct isp_args *args)
{
    bool gray = p->format == ISP_GRAY8, full = p->full_range || gray;
    double kr = p->matrix == ISP_MATRIX_BT601 ? 0.299 : 0.2126,
           kb = p->matrix == ISP_MATRIX_BT601 ? 0.114 : 0.0722;
    double unit = p->format == ISP_P010 ? 4 : 1, largest = p->format == ISP_P010 ? 1023 : 255;
    double y = full ? largest : 219 * unit, c = full ? largest : 224 * unit;
    const double luma[3] = {kr, 1 - kr - kb, kb};
    for (int i = 0; i < 3; i++) {
        args->luma[i] = (float)(luma[i] * y);
        args->cb[i] = (float)(((i == 2) - luma[i]) / (2 * (1 - kb)) * c);
        args->cr[i] = (float)(((i == 0) - luma[i]) / (2 * (1 - kr)) * c);
    }
    args->luma_offset = (float)(full ? 0 : 16 * unit);
    args->chroma_offset = (float)(128 * unit);
}

/* Codes 0..255 of Y, Cb, Cr as they are, in the output's depth, where the finish pass does nothing
 * but store them; else R, G, B by the inverse of BT.709 3 and BT.601 2.5. GRAY8: Y of full range.
 */
static void fill_picture(const struct isp_params *p, struct isp_args *args)
{
    bool gray = p->format == ISP_GRAY8, rgb = p->format >= ISP_RGB24, ten = p->format == ISP_P010;
    double kr = p->matrix == ISP_MATRIX_BT601 ? 0.299 : 0.2126,
           kb = p->matrix == ISP_MATRIX_BT601 ? 0.114 : 0.0722, kg = 1 - kr - kb;
    double low = p->full_range ? 0 : 16, y = 65535.0 / (p->full_range ? 255 : 219),
           c = 65535.0 / (p->full_range ? 255 : 224);
    const double red = 2 * (1 - kr) * c, blue = 2 * (1 - kb) * c,
                 green[2] = {-blue * kb / kg, -red * kr / kg};
    double m[3][4] = {{y, 0, red, -y * low - red * 128},
                      {y, green[0], green[1], -y * low - (green[0] + green[1]) * 128},
                      {y, blue, 0, -y * low - blue * 128}};
    if (gray || (!rgb && isp_sampling(p) == ISP_SAMPLE_NONE)) {
        double most = ten ? 1023 : 255, unit = 65535 / most,
               scale = gray ? y : (ten ? (p->full_range ? 1023 / 255.0 : 4) : 1) * unit;
        double middle = (ten ? 512 : 128) * unit - 128 * scale;
        const double as_is[3][4] = {
            {scale, 0, 0, gray ? -y * low : 0}, {0, scale, 0, middle}, {0, 0, scale, middle}};
        memcpy(m, as_is, sizeof(m));
        for (int i = 0; i < 3; i++) {
            args->luma[i] = i == 0 ? (float)most : 0;
            args->cb[i] = i == 1 ? (float)most : 0;
            args->cr[i] = i == 2 ? (float)most : 0;
        }
        args->luma_offset = 0;
        args->chroma_offset = 1 / 1024.0f; /* halves, of means, round up on every device */
    }
    for (int i = 0; i < 12; i++)
        args->picture[i] = (float)m[i / 4][i % 4];
    for (int i = 0; i < 4; i++)
        args->black[i] = (uint32_t)low;
}

bool isp_has_matrix(const struct isp_params *p)
{
    bool any = false;
    for (int i = 0; i < 9; i++)
        any |= p->colour[i] != 0;
    return any;
}

/* For a division of t * zones, t < count <= 256, zones <= 16. The error is then less than
 * 4080 * 255 / 2^20 of one over the divisor. */
static uint32_t reciprocal(uint32_t count)
{
    return ((1u << 20) + count - 1) / count;
}

void isp_table_args(const struct isp_params *p, struct isp_args *args)
{
    struct isp_rect out;
    bool matrix = isp_has_matrix(p);
    for (int i = 0; i < 9; i++)
        args->colour[i] = (matrix ? p->colour[i] : i % 4 == 0) * (1 / 65535.0f);
    isp_output_size(p, &out);
    args->width = p->width;
    args->height = p->height;
    for (int i = 0; i < 4; i++)
        args->black[i] = p->black[i];
    args->defect = p->defect;
    args->out_width = out.width;
    args->out_height = out.height;
    args->region_x = (int32_t)out.x;
    args->region_y = (int32_t)out.y;
    isp_zones(p->width, p->height, &args->zone_columns, &args->zone_rows);
    args->zone_columns |= reciprocal(blocks(p->width, ISP_TILE_X)) << ISP_ZONE_SHIFT;
    args->zone_rows |= reciprocal(blocks(p->height, ISP_TILE_Y)) << ISP_ZONE_SHIFT;
    fill_matrix(p, args);
    if (p->order == ISP_YUV)
        fill_picture(p, args);
}
