/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the fused pass needs of the host: for each tile of the picture the rectangle of the sensor that it looks at, and for each pixel
 * where in that rectangle, as addresses in shared memory. Where a tile looks at more than fits there (a strong lens, or a smaller
 * picture), its camera goes by two passes.
 *
 * A tile: x in the low half and y of the rectangle's first pixel; its columns, of 4 pixels (8 bits), loads of 8 samples that
 * cover its samples (8 bits), rows; 65536 / columns and 65536 / loads, rounded up. An entry of the map: fractions in 1/32 pixel, 5 bits of x, 5 of y; address of the pixel to
 * the right, then of the pixel itself, 11 bits each.
 */
#include "gpu/isp_internal.h"

_Static_assert(ISP_TEXELS <= 2048, "an address has 11 bits");

enum { TILE_WORDS = 4 };

static uint32_t tiles(uint32_t size, uint32_t tile)
{
    return (size + tile - 1) / tile;
}

bool isp_may_fuse(const struct isp_params *p)
{
    bool two_pass = p->order == ISP_YUV || isp_edge_directed(p) || p->defect || p->denoise > 0 || p->format == ISP_RGB48;
    return !two_pass && isp_sampling(p) != ISP_SAMPLE_BICUBIC;
}

uint64_t isp_fuse_words(const struct isp_params *p, struct isp_args *args)
{
    uint32_t columns = tiles(args->out_width, ISP_FUSED_X), rows = tiles(args->out_height, ISP_FUSED_Y);
    uint64_t words = (uint64_t)TILE_WORDS * columns * rows;
    args->map_base = 0;
    args->map = (uint32_t)words;
    args->map_stride = columns * ISP_FUSED_X;
    if (isp_sampling(p) != ISP_SAMPLE_NONE)
        words += (uint64_t)args->map_stride * rows * ISP_FUSED_Y;
    return words;
}

/* Pixels [left, right) x [top, bottom) */
struct box {
    int32_t left, top, right, bottom;
};

static int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* Where each pixel looks, in whole pixels and the next ones to the right and below; those that see nothing of the sensor left out. */
struct view {
    int32_t at[ISP_FUSED_Y][ISP_FUSED_X][2]; /* 1/32 pixel */
    bool seen[ISP_FUSED_Y][ISP_FUSED_X];
};

static void look(const struct isp_params *p, const struct isp_source *source, uint32_t x0, uint32_t y0, struct view *view, struct box *box)
{
    struct isp_rect out;
    isp_output_size(p, &out);
    *box = (struct box){INT32_MAX, INT32_MAX, INT32_MIN, INT32_MIN};
    for (uint32_t y = 0; y < ISP_FUSED_Y; y++) {
        for (uint32_t x = 0; x < ISP_FUSED_X; x++) {
            int32_t *at = view->at[y][x], px, py;
            view->seen[y][x] = x0 + x < out.width && y0 + y < out.height && isp_source_at(source, x0 + x, y0 + y, at);
            if (!view->seen[y][x])
                continue;
            px = at[0] >> ISP_MAP_BITS;
            py = at[1] >> ISP_MAP_BITS;
            view->seen[y][x] = px >= -1 && py >= -1 && px < (int32_t)p->width && py < (int32_t)p->height;
            if (!view->seen[y][x])
                continue;
            *box = (struct box){smaller(box->left, px), smaller(box->top, py), larger(box->right, px + 2), larger(box->bottom, py + 2)};
        }
    }
}

/* The smallest rectangle of the shape that the pass asks for. False: too large. */
static bool enclose(const struct box *box, struct box *rect, uint32_t tile[TILE_WORDS])
{
    if (box->left > box->right)
        *rect = (struct box){2, 0, 6, 2}; /* nothing is looked at */
    else
        *rect = (struct box){((box->left + 2) & ~3) - 2, box->top & ~1, ((box->right + 5) & ~3) - 2, (box->bottom + 1) & ~1};
    uint32_t columns = (uint32_t)(rect->right - rect->left) / 4, rows = (uint32_t)(rect->bottom - rect->top);
    if (columns * 4 > ISP_RECT_X || rows > ISP_RECT_Y)
        return false;
    tile[0] = ((uint32_t)rect->left & 0xffff) | (uint32_t)rect->top << 16;
    int32_t first = (rect->left - 2) & ~7;
    uint32_t loads = (uint32_t)(rect->right + 2 - first + 7) / 8;
    tile[1] = columns | loads << 8 | rows << 16;
    tile[2] = (65536 + columns - 1) / columns;
    tile[3] = (65536 + loads - 1) / loads;
    return true;
}

static uint32_t address(int32_t x, int32_t y)
{
    return (uint32_t)y * ISP_RECT_X + (uint32_t)x / 4 + (uint32_t)x % 4 * ISP_RECT_QUARTER;
}

static void write_entries(const struct view *view, const struct box *rect, uint32_t *map, uint32_t stride)
{
    for (uint32_t y = 0; y < ISP_FUSED_Y; y++) {
        for (uint32_t x = 0; x < ISP_FUSED_X; x++) {
            const int32_t *at = view->at[y][x];
            int32_t px = (at[0] >> ISP_MAP_BITS) - rect->left, py = (at[1] >> ISP_MAP_BITS) - rect->top;
            uint32_t entry = ISP_TEXEL_BLACK << 21 | ISP_TEXEL_BLACK << 10;
            if (view->seen[y][x])
                entry = address(px, py) << 21 | address(px + 1, py) << 10 | ((uint32_t)at[1] & 31) << 5 | ((uint32_t)at[0] & 31);
            map[(uint64_t)y * stride + x] = entry;
        }
    }
}

/* A region at its own size */
static bool fill_plain(const struct isp_params *p, const struct isp_args *args, uint32_t *table)
{
    uint32_t columns = tiles(args->out_width, ISP_FUSED_X), rows = tiles(args->out_height, ISP_FUSED_Y);
    bool fits = true;
    for (uint32_t i = 0; i < columns * rows && fits; i++) {
        int32_t x = args->region_x + (int32_t)(i % columns * ISP_FUSED_X), y = args->region_y + (int32_t)(i / columns * ISP_FUSED_Y);
        struct box rect;
        fits = enclose(&(struct box){x, y, x + (int32_t)ISP_FUSED_X, y + (int32_t)ISP_FUSED_Y}, &rect, table + args->map_base + TILE_WORDS * i);
    }
    return fits;
}

bool isp_fuse_fill(const struct isp_params *p, const struct isp_args *args, uint32_t *table)
{
    if (isp_sampling(p) == ISP_SAMPLE_NONE)
        return fill_plain(p, args, table);
    uint32_t columns = tiles(args->out_width, ISP_FUSED_X), rows = tiles(args->out_height, ISP_FUSED_Y);
    struct isp_source source;
    struct view view;
    struct box box, rect;
    isp_source_begin(p, &source);
    for (uint32_t i = 0; i < columns * rows; i++) {
        uint32_t x = i % columns * ISP_FUSED_X, y = i / columns * ISP_FUSED_Y;
        look(p, &source, x, y, &view, &box);
        if (!enclose(&box, &rect, table + args->map_base + TILE_WORDS * i))
            return false;
        write_entries(&view, &rect, table + args->map + (uint64_t)y * args->map_stride + x, args->map_stride);
    }
    return true;
}
