/* SPDX-License-Identifier: BSD-2-Clause
 *
 * residual() (7.3.5.3) from the coefficient blocks of a macroblock.
 */
#include "encode/bin_elements.h"
#include "encode/mb_writer.h"

#include "codec/scan.h"

/* Codec tables of scans that only residual() needs */
#include "codec/macroblock.h"

/* ctxBlockCat */
enum { DC_16X16, AC_16X16, LUMA_4X4, CHROMA_DC, CHROMA_AC, LUMA_8X8 };

/* count levels in the order of a scan; block NULL: all are 0 */
static void load_levels(const int16_t *block, const uint8_t *scan, unsigned count, int32_t *level)
{
    for (unsigned i = 0; i < count; i++)
        level[i] = block ? block[scan[i]] : 0;
}

/* The DC level of each block, in the order of a scan of blocks; NULL: raster */
static void load_dc(const struct mb_writer *w, unsigned c, const uint8_t *scan, unsigned count,
                    int32_t *level)
{
    const int16_t *blocks = mb_levels(w, c);
    for (unsigned i = 0; i < count; i++)
        level[i] = w->plan.dc[c] ? blocks[(scan ? scan[i] : i) * 16] : 0;
}

/* The coefficient block of a component's block; NULL: it is not coded */
static const int16_t *block_of(const struct mb_writer *w, unsigned c, unsigned blk)
{
    unsigned coded = w->mb->coded[c];
    if (!(coded >> blk & 1))
        return NULL;
    return mb_levels(w, c) + 16 * (size_t)(unsigned)__builtin_popcount(coded & ((1u << blk) - 1));
}

/* ---- CAVLC ---- */

/* TotalCoeff of a component's blocks and of those around it, at GRID(x, y) */
struct total_grid {
    uint8_t of[GRID_SIZE];
};

static void total_begin(const struct mb_writer *w, unsigned c, struct total_grid *g)
{
    memset(g, 0, sizeof(*g));
    memcpy(&g->of[GRID(0, -1)], w->b->u.total.bottom[c], 4);
    for (int y = 0; y < 4; y++)
        g->of[GRID(-1, y)] = w->a->u.total.right[c][y];
}

static void total_end(struct mb_writer *w, unsigned c, int size, const struct total_grid *g)
{
    memcpy(w->edge.u.total.bottom[c], &g->of[GRID(0, size - 1)], 4);
    for (int y = 0; y < size; y++)
        w->edge.u.total.right[c][y] = g->of[GRID(size - 1, y)];
}

/* nC (9.2.1) */
static enum h264_nc_class nc_class(const struct mb_writer *w, const struct total_grid *g,
                                   unsigned x, unsigned y)
{
    const uint8_t *at = &g->of[GRID((int)x, (int)y)];
    unsigned both = (x || w->a->flags & EDGE_AVAILABLE) && (y || w->b->flags & EDGE_AVAILABLE);
    return h264_cavlc_nc_class((at[-1] + at[-GRID_ROW] + both) >> both);
}

/* scan: of count levels in the coefficient block */
static void cavlc_put(struct mb_writer *w, struct total_grid *g, unsigned x, unsigned y,
                      const int32_t *level, unsigned count)
{
    g->of[GRID((int)x, (int)y)] =
        (uint8_t)cavlc_block(w->bits, w->slice.codes, nc_class(w, g, x, y), level, count);
}

/* Block i of the four that 64 levels are dealt to (7.3.5.3.1) */
static void load_dealt(const int16_t *blocks, unsigned i, int32_t level[16])
{
    for (unsigned k = 0; k < 16; k++)
        level[k] = blocks ? blocks[h264_scan_8x8[0][4 * k + i]] : 0;
}

static void luma_cavlc(struct mb_writer *w)
{
    bool i16 = w->mb->kind == REC_MB_INTRA_16X16, t8x8 = w->plan.flags & REC_MB_TRANSFORM_8X8;
    struct total_grid g;
    int32_t level[16];
    total_begin(w, 0, &g);
    if (i16) {
        load_dc(w, 0, h264_scan_luma_dc[0], 16, level);
        cavlc_block(w->bits, w->slice.codes, nc_class(w, &g, 0, 0), level, 16);
    }
    for (unsigned blk = 0; blk < 16; blk++) {
        if (!(w->plan.cbp >> blk / 4 & 1))
            continue;
        if (t8x8)
            load_dealt(block_of(w, 0, blk & ~3u), blk & 3, level);
        else
            load_levels(block_of(w, 0, blk), h264_scan_4x4[0] + i16, 16u - i16, level);
        cavlc_put(w, &g, mb_blk_x(blk), mb_blk_y(blk), level, 16u - i16);
    }
    total_end(w, 0, 4, &g);
}

static void chroma_cavlc(struct mb_writer *w)
{
    int32_t level[16];
    for (unsigned c = 1; c < 3; c++) {
        load_dc(w, c, NULL, 4, level);
        cavlc_block(w->bits, w->slice.codes, H264_NC_CHROMA_DC_420, level, 4);
    }
    for (unsigned c = 1; c < 3 && w->plan.cbp >> 5; c++) {
        struct total_grid g;
        total_begin(w, c, &g);
        for (unsigned blk = 0; blk < 4; blk++) {
            load_levels(block_of(w, c, blk), h264_scan_4x4[0] + 1, 15, level);
            cavlc_put(w, &g, blk & 1, blk >> 1, level, 15);
        }
        total_end(w, c, 2, &g);
    }
}

void write_residual_cavlc(struct mb_writer *w)
{
    luma_cavlc(w);
    if (w->plan.cbp >> 4)
        chroma_cavlc(w);
}

/* ---- CABAC ---- */

/* The borders of the coded_block_flag grid of a component of size x size blocks */
static uint32_t cbf_grid(const struct mb_writer *w, unsigned c, unsigned size)
{
    bool intra = mb_is_intra(w->mb);
    return (h264_neighbour_cbf(w->a, intra)->cbf[c] >> size & CBF_LEFT) |
           (h264_neighbour_cbf(w->b, intra)->cbf[c] >> 5 * size & CBF_TOP);
}

static unsigned cbf_dc_inc(const struct mb_writer *w, unsigned c)
{
    bool intra = mb_is_intra(w->mb);
    unsigned a = h264_neighbour_cbf(w->a, intra)->flags, b = h264_neighbour_cbf(w->b, intra)->flags;
    return (unsigned)!!(a & EDGE_CBF_DC << c) + 2u * !!(b & EDGE_CBF_DC << c);
}

/* Raster places of 4x4 and 8x8 blocks in the order of the zig-zag scan (Figure 6-8) */
static const uint8_t scan_place4[16] = {0, 1, 5, 6, 2, 4, 7, 12, 3, 8, 11, 13, 9, 10, 14, 15};
static const uint8_t scan_place8[64] = {
    0,  1,  5,  6,  14, 15, 27, 28, 2,  4,  7,  13, 16, 26, 29, 42, 3,  8,  12, 17, 25, 30,
    41, 43, 9,  11, 18, 24, 31, 40, 44, 53, 10, 19, 23, 32, 39, 45, 52, 54, 20, 22, 33, 38,
    46, 51, 55, 60, 21, 34, 37, 47, 50, 56, 59, 61, 35, 36, 48, 49, 57, 58, 62, 63};

/* Places of a block's levels that are not 0, bits in scan order. Most are, four at a time. */
static uint64_t places_of(const int16_t *block, const uint8_t *scan_place, unsigned count)
{
    uint64_t places = 0;
    for (unsigned i = 0; i < count; i += 4) {
        uint64_t four;
        memcpy(&four, block + i, sizeof(four));
        for (unsigned k = i; four && k < i + 4; k++)
            places |= (uint64_t)(block[k] != 0) << scan_place[k];
    }
    return places;
}

/* The levels of a block from `first` on */
static void cabac_levels(struct mb_writer *w, unsigned category, const int16_t *block,
                         const uint8_t *scan, uint64_t places, unsigned first, unsigned count)
{
    int32_t nonzero[64];
    unsigned n = 0;
    places >>= first;
    for (uint64_t left = places; left; left &= left - 1)
        nonzero[n++] = block[scan[first + (unsigned)__builtin_ctzll(left)]];
    bins_residual(w->bins, category, false, places, nonzero, count);
}

static void cabac_dc(struct mb_writer *w, unsigned category, unsigned c, const uint8_t *scan,
                     unsigned count)
{
    int32_t level[16], nonzero[16];
    uint64_t places = 0;
    unsigned n = 0;
    bins_put(w->bins, h264_cabac_cbf_base[category] + cbf_dc_inc(w, c), w->plan.dc[c]);
    if (!w->plan.dc[c])
        return;
    load_dc(w, c, scan, count, level);
    for (unsigned i = 0; i < count; i++)
        if (level[i]) {
            places |= UINT64_C(1) << i;
            nonzero[n++] = level[i];
        }
    bins_residual(w->bins, category, false, places, nonzero, count);
    w->edge.flags |= (uint16_t)(EDGE_CBF_DC << c);
}

/* A 4x4 block at (x, y); skip: of the first levels, which are apart */
static void cabac_4x4(struct mb_writer *w, unsigned category, unsigned c, unsigned blk,
                      unsigned bit, uint32_t *grid)
{
    unsigned skip = category != LUMA_4X4, inc = (*grid >> (bit - 1) & 1) | (*grid >> (bit - 5) & 1)
                                                                               << 1;
    bool coded = w->plan.ac[c] >> blk & 1;
    bins_put(w->bins, h264_cabac_cbf_base[category] + inc, coded);
    if (coded) {
        const int16_t *block = block_of(w, c, blk);
        cabac_levels(w, category, block, h264_scan_4x4[0], places_of(block, scan_place4, 16), skip,
                     16 - skip);
    }
    *grid |= (uint32_t)coded << bit;
}

static void luma_cabac_8x8(struct mb_writer *w)
{
    uint32_t grid = 0; /* what is around does not count: coded_block_flag is inferred */
    for (unsigned q = 0; q < 4; q++) {
        if (!(w->plan.cbp >> q & 1))
            continue;
        const int16_t *block = block_of(w, 0, 4 * q);
        cabac_levels(w, LUMA_8X8, block, h264_scan_8x8[0], places_of(block, scan_place8, 64), 0,
                     64);
        grid |= 0x63u << CBF_BIT((q & 1) * 2, q & 2);
    }
    w->edge.cbf[0] = grid;
}

static void luma_cabac(struct mb_writer *w)
{
    bool i16 = w->mb->kind == REC_MB_INTRA_16X16;
    uint32_t grid = cbf_grid(w, 0, 4);
    if (i16)
        cabac_dc(w, DC_16X16, 0, h264_scan_luma_dc[0], 16);
    for (unsigned blk = 0; blk < 16; blk++)
        if (w->plan.cbp >> blk / 4 & 1)
            cabac_4x4(w, i16 ? AC_16X16 : LUMA_4X4, 0, blk, CBF_BIT(mb_blk_x(blk), mb_blk_y(blk)),
                      &grid);
    w->edge.cbf[0] = grid;
}

static void chroma_cabac(struct mb_writer *w)
{
    for (unsigned c = 1; c < 3; c++)
        cabac_dc(w, CHROMA_DC, c, NULL, 4);
    for (unsigned c = 1; c < 3 && w->plan.cbp >> 5; c++) {
        uint32_t grid = cbf_grid(w, c, 2);
        for (unsigned blk = 0; blk < 4; blk++)
            cabac_4x4(w, CHROMA_AC, c, blk, CBF_BIT(blk & 1, blk >> 1), &grid);
        w->edge.cbf[c] = grid;
    }
}

void write_residual_cabac(struct mb_writer *w)
{
    if (w->plan.flags & REC_MB_TRANSFORM_8X8)
        luma_cabac_8x8(w);
    else
        luma_cabac(w);
    if (w->plan.cbp >> 4)
        chroma_cabac(w);
}
