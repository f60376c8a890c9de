/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Host tables of the fused pass. For each tile of the picture they hold the rectangle of the sensor
 * that it needs. For each pixel they hold its place in that rectangle, as an address in shared
 * memory. Where a tile needs more than fits there (a strong lens, or a smaller picture), its camera
 * uses two passes.
 *
 * A tile: x in the low half and y of the rectangle's first pixel; its pairs of columns (8 bits),
 * loads of 8 samples that cover a row of its samples (8 bits), rows; 65536 / (rows / 4) and 65536 /
 * loads, rounded up. An entry of the map names two adjacent pixels by the one with the even column:
 * its address in bits 3 to 13; bit 2 is 1 if the other pixel is to its right; 1/32 pixels from it
 * towards the other one in bits 16 to 23, and towards the row below in bits 24 to 31. BLACK:
 * outside the sensor.
 */
#include "gpu/isp/isp_internal.h"

_Static_assert(ISP_RECT_TEXELS <= 2048, "an address has 11 bits");
_Static_assert(ISP_RECT_TEXELS <= 8 * ISP_FUSED_THREADS, "a thread makes 2 x 4 pixels");

enum { TILE_WORDS = 4, MOST_COLUMNS = 128 };

static uint32_t tiles(uint32_t size, uint32_t tile)
{
    return (size + tile - 1) / tile;
}

bool isp_may_fuse(const struct isp_params *p)
{
    bool two_pass = p->order == ISP_YUV || isp_edge_directed(p) || p->defect || p->denoise > 0 ||
                    p->format == ISP_RGB48;
    return !two_pass && isp_sampling(p) != ISP_SAMPLE_BICUBIC;
}

uint64_t isp_fuse_words(const struct isp_params *p, struct isp_args *args)
{
    uint32_t columns = tiles(args->out_width, ISP_FUSED_X),
             rows = tiles(args->out_height, ISP_FUSED_Y);
    uint64_t words = ISP_TONE_WORDS + (uint64_t)TILE_WORDS * columns * rows;
    args->map_base = ISP_TONE_WORDS;
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

/* The source of each pixel. Pixels outside the sensor are left out. */
struct view {
    int32_t at[ISP_FUSED_Y][ISP_FUSED_X][2]; /* 1/32 pixel */
    bool seen[ISP_FUSED_Y][ISP_FUSED_X];
};

static void look(const struct isp_params *p, const struct isp_source *source, uint32_t x0,
                 uint32_t y0, struct view *view, struct box *box)
{
    struct isp_rect out;
    isp_output_size(p, &out);
    *box = (struct box){INT32_MAX, INT32_MAX, INT32_MIN, INT32_MIN};
    for (uint32_t y = 0; y < ISP_FUSED_Y; y++) {
        for (uint32_t x = 0; x < ISP_FUSED_X; x++) {
            int32_t *at = view->at[y][x], px, py;
            view->seen[y][x] = x0 + x < out.width && y0 + y < out.height &&
                               isp_source_at(source, x0 + x, y0 + y, at);
            if (!view->seen[y][x])
                continue;
            px = at[0] >> ISP_MAP_BITS;
            py = at[1] >> ISP_MAP_BITS;
            view->seen[y][x] =
                px >= -1 && py >= -1 && px < (int32_t)p->width && py < (int32_t)p->height;
            if (!view->seen[y][x])
                continue;
            *box = (struct box){smaller(box->left, px), smaller(box->top, py),
                                larger(box->right, px + 2), larger(box->bottom, py + 2)};
        }
    }
}

/* The largest sizes of all tiles */
struct fuse_shape {
    uint32_t columns, rows, loads;
};

static uint32_t most(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* The smallest rectangle that the pass can make. False: too large. */
static bool enclose(const struct box *box, struct box *rect, struct fuse_shape *shape,
                    uint32_t tile[TILE_WORDS])
{
    const struct box nothing = {8, 4, 10, 8};
    if (box->left > box->right)
        box = &nothing;
    uint32_t columns = (uint32_t)(((box->right + 1) & ~1) - (box->left & ~1)),
             rows = ((uint32_t)(box->bottom - (box->top & ~1)) + 3) & ~3u;
    if (columns > MOST_COLUMNS || rows > MOST_COLUMNS)
        return false;
    *rect = (struct box){box->left & ~1, box->top & ~1, (box->left & ~1) + (int32_t)columns,
                         (box->top & ~1) + (int32_t)rows};
    int32_t first = (rect->left - 2) & ~7;
    uint32_t loads = (uint32_t)(rect->right + 2 - first + 7) / 8, pairs = columns / 2;
    tile[0] = ((uint32_t)rect->left & 0xffff) | (uint32_t)rect->top << 16;
    tile[1] = pairs | loads << 8 | rows << 16;
    tile[2] = (65536 + rows / 4 - 1) / (rows / 4);
    tile[3] = (65536 + loads - 1) / loads;
    *shape = (struct fuse_shape){most(shape->columns, columns), most(shape->rows, rows),
                                 most(shape->loads, loads)};
    if (most(pairs, 16) * rows / 4 > ISP_FUSED_THREADS)
        return false;
    return shape->columns * shape->rows + shape->columns / 2 + 1 <= ISP_RECT_TEXELS &&
           shape->loads * (shape->rows + 4) <= ISP_RECT_LOADS;
}

static uint32_t address(const struct fuse_shape *shape, uint32_t x, uint32_t y)
{
    uint32_t half = shape->columns / 2;
    return half + 1 + y * half + x / 2 + x % 2 * half * shape->rows;
}

/* Entries while the shape is not known: x and y in the tile's rectangle, a byte each; the fractions
 * in the low bits. */
#define NOT_SEEN 0xffffffffu
#define BLACK    4u /* of a finished tile */

static void write_entries(const struct view *view, const struct box *rect, uint32_t *map,
                          uint32_t stride)
{
    for (uint32_t y = 0; y < ISP_FUSED_Y; y++) {
        for (uint32_t x = 0; x < ISP_FUSED_X; x++) {
            const int32_t *at = view->at[y][x];
            uint32_t px = (uint32_t)((at[0] >> ISP_MAP_BITS) - rect->left),
                     py = (uint32_t)((at[1] >> ISP_MAP_BITS) - rect->top);
            map[(uint64_t)y * stride + x] =
                view->seen[y][x]
                    ? py << 18 | px << 10 | ((uint32_t)at[1] & 31) << 5 | ((uint32_t)at[0] & 31)
                    : NOT_SEEN;
        }
    }
}

static uint32_t finished(const struct fuse_shape *shape, uint32_t entry)
{
    uint32_t px = entry >> 10 & 0xff, py = entry >> 18 & 0xff, y = entry >> 5 & 31, x = entry & 31;
    if (entry == NOT_SEEN)
        return BLACK;
    if (px & 1)
        return address(shape, px + 1, py) << 3 | (32 - x) << 16 | y << 24;
    return address(shape, px, py) << 3 | 4 | x << 16 | y << 24;
}

/* A region at its own size */
static bool fill_plain(const struct isp_args *args, struct fuse_shape *shape, uint32_t *table)
{
    uint32_t columns = tiles(args->out_width, ISP_FUSED_X),
             rows = tiles(args->out_height, ISP_FUSED_Y);
    bool fits = true;
    for (uint32_t i = 0; i < columns * rows && fits; i++) {
        int32_t x = args->region_x + (int32_t)(i % columns * ISP_FUSED_X),
                y = args->region_y + (int32_t)(i / columns * ISP_FUSED_Y);
        struct box rect;
        fits = enclose(&(struct box){x, y, x + (int32_t)ISP_FUSED_X, y + (int32_t)ISP_FUSED_Y},
                       &rect, shape, table + args->map_base + TILE_WORDS * i);
    }
    return fits;
}

static bool fill_map(const struct isp_params *p, const struct isp_args *args,
                     struct fuse_shape *shape, uint32_t *table)
{
    uint32_t columns = tiles(args->out_width, ISP_FUSED_X),
             rows = tiles(args->out_height, ISP_FUSED_Y);
    struct isp_source source;
    struct view view;
    struct box box, rect;
    isp_source_begin(p, &source);
    for (uint32_t i = 0; i < columns * rows; i++) {
        uint32_t x = i % columns * ISP_FUSED_X, y = i / columns * ISP_FUSED_Y;
        look(p, &source, x, y, &view, &box);
        if (!enclose(&box, &rect, shape, table + args->map_base + TILE_WORDS * i))
            return false;
        write_entries(&view, &rect, table + args->map + (uint64_t)y * args->map_stride + x,
                      args->map_stride);
    }
    for (uint64_t i = 0; i < (uint64_t)args->map_stride * rows * ISP_FUSED_Y; i++)
        table[args->map + i] = finished(shape, table[args->map + i]);
    return true;
}

bool isp_fuse_fill(const struct isp_params *p, const struct isp_args *args, uint32_t *table,
                   uint32_t *rect)
{
    struct fuse_shape shape = {0};
    if (!(isp_sampling(p) == ISP_SAMPLE_NONE ? fill_plain(args, &shape, table)
                                             : fill_map(p, args, &shape, table)))
        return false;
    *rect = shape.columns | shape.rows << 8 | shape.loads << 16;
    return true;
}
