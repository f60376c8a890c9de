/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Ranges of the inverse transforms: no value of 8.5.10 to 8.5.13 needs more than 8 + bitDepth bits.
 * Real encoders keep to that. A wrong QP or scaling list, or wrong levels, may not.
 *
 * Step 2 keeps the sums of |level| of each block. Few macroblocks have a sum that is so large that
 * a value may be out of range. Their transforms are computed here, in the way of the standard.
 */
#include "codec/macroblock.h"
#include "codec/parameter_sets.h"

#include <stdlib.h>

enum { FLAT = 16, MOST_QP = 51 + 6 * 6 + 12 /* with chroma_qp_index_offset */ };

/* normAdjust4x4 (8-315) and normAdjust8x8 (8-318) by qP % 6 */
static const uint8_t norm4[6][3] = {{10, 16, 13}, {11, 18, 14}, {13, 20, 16},
                                    {14, 23, 18}, {16, 25, 20}, {18, 29, 23}};
static const uint8_t norm8[6][6] = {{20, 18, 32, 19, 25, 24}, {22, 19, 35, 21, 28, 26},
                                    {26, 23, 42, 24, 33, 31}, {28, 25, 45, 26, 35, 33},
                                    {32, 28, 51, 30, 40, 38}, {36, 32, 58, 34, 46, 43}};
/* Which of them, by the place in a block of 4x4, and in each 4x4 of a block of 8x8 */
static const uint8_t place4[16] = {0, 2, 0, 2, 2, 1, 2, 1, 0, 2, 0, 2, 2, 1, 2, 1};
static const uint8_t place8[16] = {0, 3, 4, 3, 3, 1, 5, 1, 4, 5, 2, 5, 3, 1, 5, 1};

/* By qP: sums of |level| up to here are in range with flat lists and 8 bits, in 4x4 blocks. Scaled
 * by the largest norm they come to two thirds of 2^15 at most: the DC levels that have a transform
 * of their own add half as much. The sums of 8x8 blocks may be twice as large. */
const uint16_t h264_level_limits[MOST_QP + 1] = {
    1353, 1202, 1082, 941, 866, 746, 676, 601, 541, 470, 433, 373, 338, 300, 270, 235, 216,
    186,  169,  150,  135, 117, 108, 93,  84,  75,  67,  58,  54,  46,  42,  37,  33,  29,
    27,   23,   21,   18,  16,  14,  13,  11,  10,  9,   8,   7,   6,   5,   5,   4,   4,
    3,    3,    2,    2,   2,   2,   1,   1,   1,   1,   1,   1,   0,   0,   0,   0,   0,
    0,    0,    0,    0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,
    0,    0,    0,    0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0};

static uint32_t largest_weight(const struct mb_parser *p)
{
    struct rec_scaling lists;
    const uint8_t *at = lists.m4[0];
    uint32_t most = 0;
    if (!p->sps->seq_scaling_matrix_present_flag && !p->pps->pic_scaling_matrix_present_flag)
        return FLAT;
    h264_pps_scaling(p->sps, p->pps, &lists);
    for (size_t i = 0; i < sizeof(lists); i++)
        most = at[i] > most ? at[i] : most;
    return most;
}

void h264_range_begin(struct mb_parser *p)
{
    const uint8_t *depth = p->sps->bit_depth;
    int least = depth[0] < depth[1] ? depth[0] : depth[1],
        offset = p->format.qp_bd_offset[depth[1] > depth[0]];
    for (int i = 0; i < 2; i++) {
        int chroma = p->format.qp_bd_offset[1] + p->pps->chroma_qp_offset[i];
        offset = chroma > offset ? chroma : offset;
    }
    p->format.range_qp = offset;
    p->format.range_factor = (256u * FLAT << (least - 8)) / largest_weight(p);
}

/* A component of a macroblock whose values must be in range. */
struct ranged {
    const struct mb_parser *p;
    unsigned index;
    uint32_t coeff_block; /* the next one */
    int qp, limit;        /* 2^limit is out of range */
    const uint8_t *weight4, *weight8;
};

static bool within(const struct ranged *c, int64_t v)
{
    return v >= -((int64_t)1 << c->limit) && v < (int64_t)1 << c->limit;
}

/* less: so much less at the upper end. */
static bool all_within(const struct ranged *c, const int32_t *v, unsigned n, int32_t less)
{
    for (unsigned i = 0; i < n; i++)
        if (!within(c, v[i]) || !within(c, (int64_t)v[i] + (v[i] > 0 ? less : 0)))
            return false;
    return true;
}

static bool is_coded(const struct ranged *c, unsigned blk)
{
    return c->p->mb->coded[c->index] >> blk & 1;
}

/* Its place in the array of blocks. */
static size_t place_of(const struct ranged *c, uint32_t coeff_block)
{
    return (size_t)(coeff_block - c->p->chunk.base) * 16;
}

static int32_t level_at(const struct ranged *c, uint32_t coeff_block, unsigned i)
{
    size_t at = place_of(c, coeff_block) + i;
    return c->p->format.wide ? ((const int32_t *)c->p->to.coeffs)[at]
                             : ((const int16_t *)c->p->to.coeffs)[at];
}

/* The levels of a block, or zeros. */
static void load_block(struct ranged *c, unsigned blk, int32_t *v)
{
    bool coded = is_coded(c, blk);
    for (unsigned i = 0; i < 16; i++)
        v[i] = coded ? level_at(c, c->coeff_block, i) : 0;
    c->coeff_block += coded;
}

/* LevelScale4x4 and LevelScale8x8 (8.5.9) of place i; of 8x8 as four blocks of 4x4. */
static int32_t level_scale4(const struct ranged *c, unsigned i)
{
    return c->weight4[i] * norm4[c->qp % 6][place4[i]];
}

static int32_t level_scale8(const struct ranged *c, unsigned i)
{
    return c->weight8[i] * norm8[c->qp % 6][place8[(i >> 1 & 12) | (i & 3)]];
}

/* v * scale << qp / 6 >> shift, rounded. */
static int64_t scaled(int32_t v, int32_t scale, int qp, int shift)
{
    int64_t product = (int64_t)v * scale * (1 << qp / 6);
    return (product + (qp / 6 < shift ? 1 << (shift - 1) : 0)) >> shift;
}

/* ---- transforms ---- */

/* One dimension of 8.5.12.2, over v[0], v[step], .. */
static void line4(int32_t *v, unsigned step)
{
    int32_t e = v[0] + v[2 * step], f = v[0] - v[2 * step], g = (v[step] >> 1) - v[3 * step],
            h = v[step] + (v[3 * step] >> 1);
    v[0] = e + h;
    v[step] = f + g;
    v[2 * step] = f - g;
    v[3 * step] = e - h;
}

/* One dimension of 8.5.13.2 */
static void line8(int32_t *v, unsigned step)
{
    int32_t odd[4], even[8] = {v[0], v[2 * step], v[4 * step], v[6 * step]};
    int32_t v1 = v[step], v3 = v[3 * step], v5 = v[5 * step], v7 = v[7 * step];
    int32_t a1 = v5 - v3 - v7 - (v7 >> 1), a3 = v1 + v7 - v3 - (v3 >> 1),
            a5 = v7 - v1 + v5 + (v5 >> 1), a7 = v3 + v5 + v1 + (v1 >> 1);
    odd[0] = a7 - (a1 >> 2);
    odd[1] = (a3 >> 2) - a5;
    odd[2] = a3 + (a5 >> 2);
    odd[3] = a1 + (a7 >> 2);
    line4(even, 1);
    for (unsigned i = 0; i < 4; i++) {
        v[i * step] = even[i] + odd[i];
        v[(7 - i) * step] = even[i] - odd[i];
    }
}

/* Rows, then columns. The last sums get 32 added. */
static bool transform_within(const struct ranged *c, int32_t *d, unsigned size)
{
    void (*line)(int32_t *v, unsigned step) = size == 4 ? line4 : line8;
    for (unsigned i = 0; i < size; i++)
        line(d + size * i, 1);
    if (!all_within(c, d, size * size, 0))
        return false;
    for (unsigned i = 0; i < size; i++)
        line(d + i, size);
    return all_within(c, d, size * size, 32);
}

/* Scales v, but for a DC value that is ready. */
static bool scale4(const struct ranged *c, int32_t *v, bool dc_ready)
{
    for (unsigned i = dc_ready; i < 16; i++) {
        int64_t d = scaled(v[i], level_scale4(c, i), c->qp, 4);
        if (!within(c, d))
            return false;
        v[i] = (int32_t)d;
    }
    return true;
}

static bool scale8(const struct ranged *c, int32_t *v)
{
    for (unsigned i = 0; i < 64; i++) {
        int64_t d = scaled(v[i], level_scale8(c, i), c->qp, 6);
        if (!within(c, d))
            return false;
        v[i] = (int32_t)d;
    }
    return true;
}

static bool blocks4_within(struct ranged *c, unsigned blocks, const int32_t *dc)
{
    for (unsigned blk = 0; blk < blocks; blk++) {
        int32_t v[16];
        load_block(c, blk, v);
        if (dc)
            v[0] = dc[blk];
        if (!scale4(c, v, dc != NULL) || !transform_within(c, v, 4))
            return false;
    }
    return true;
}

static bool blocks8_within(struct ranged *c)
{
    for (unsigned quadrant = 0; quadrant < 4; quadrant++) {
        int32_t v[64];
        for (unsigned i = 0; i < 4; i++)
            load_block(c, 4 * quadrant + i, v + 16 * i);
        if (!scale8(c, v) || !transform_within(c, v, 8))
            return false;
    }
    return true;
}

/* ---- DC levels with a transform of their own ---- */

static void hadamard4(int32_t *v, unsigned step)
{
    int32_t a = v[0] + v[step], b = v[0] - v[step], c = v[2 * step] + v[3 * step],
            d = v[2 * step] - v[3 * step];
    v[0] = a + c;
    v[step] = a - c;
    v[2 * step] = b - d;
    v[3 * step] = b + d;
}

/* 8.5.10 */
static bool luma_dc_within(const struct ranged *c, const int32_t levels[16], int32_t dc[16])
{
    int32_t raster[16];
    for (unsigned blk = 0; blk < 16; blk++)
        raster[mb_blk_y(blk) * 4 + mb_blk_x(blk)] = levels[blk];
    for (unsigned i = 0; i < 4; i++)
        hadamard4(raster + 4 * i, 1);
    for (unsigned i = 0; i < 4; i++)
        hadamard4(raster + i, 4);
    for (unsigned blk = 0; blk < 16; blk++) {
        int64_t d = scaled(raster[mb_blk_y(blk) * 4 + mb_blk_x(blk)], level_scale4(c, 0), c->qp, 6);
        if (!within(c, d))
            return false;
        dc[blk] = (int32_t)d;
    }
    return true;
}

/* 8.5.11: two columns of two or four blocks */
static bool chroma_dc_within(const struct ranged *c, const int32_t *levels, unsigned blocks,
                             int32_t *dc)
{
    unsigned rows = blocks / 2;
    int qp = rows == 4 ? c->qp + 3 : c->qp, shift = rows == 4 ? 6 : 5;
    int32_t f[8];
    for (unsigned i = 0; i < rows; i++) {
        f[2 * i] = levels[2 * i] + levels[2 * i + 1];
        f[2 * i + 1] = levels[2 * i] - levels[2 * i + 1];
    }
    for (unsigned x = 0; x < 2 && rows == 4; x++)
        hadamard4(f + x, 2);
    for (unsigned x = 0; x < 2 && rows == 2; x++) {
        int32_t above = f[x];
        f[x] = above + f[2 + x];
        f[2 + x] = above - f[2 + x];
    }
    for (unsigned blk = 0; blk < blocks; blk++) {
        int64_t product = (int64_t)f[blk] * c->weight4[0] * norm4[qp % 6][0] * (1 << qp / 6),
                d = (product + (rows == 4 && qp / 6 < shift ? 1 << (shift - 1) : 0)) >> shift;
        if (!within(c, d))
            return false;
        dc[blk] = (int32_t)d;
    }
    return true;
}

static bool blocks_with_dc_within(struct ranged *c, unsigned blocks)
{
    struct ranged ac = *c;
    int32_t levels[16], dc[16];
    for (unsigned blk = 0; blk < blocks; blk++) {
        int32_t v[16];
        load_block(c, blk, v);
        levels[blk] = v[0];
    }
    return (blocks == 16 ? luma_dc_within(c, levels, dc)
                         : chroma_dc_within(c, levels, blocks, dc)) &&
           blocks4_within(&ac, blocks, dc);
}

/* ---- macroblocks ---- */

/* Level scales of 16 places of a block, or of 64. */
static void level_scales(const struct ranged *c, bool large, uint32_t *scale)
{
    for (unsigned i = 0; i < 16 && !large; i++)
        scale[i] = (uint32_t)level_scale4(c, i);
    for (unsigned i = 0; i < 64 && large; i++)
        scale[i] = (uint32_t)level_scale8(c, i);
}

/* Magnitudes of a block, each by its scale. */
static uint64_t scaled_sum(const struct ranged *c, uint32_t coeff_block, const uint32_t *scale)
{
    const struct mb_parser *p = c->p;
    const int16_t *narrow = (const int16_t *)p->to.coeffs + place_of(c, coeff_block);
    const int32_t *wide = (const int32_t *)p->to.coeffs + place_of(c, coeff_block);
    uint64_t sum = 0;
    for (unsigned i = 0; i < 16; i++)
        sum += (uint64_t)abs(p->format.wide ? wide[i] : narrow[i]) * scale[i];
    return sum;
}

/* Whether sums of scaled magnitudes show that all is within, as they nearly always do. DC levels
 * with a transform of their own count half in each block. A transform of 8x8 makes values 2.25
 * times as large at most. 256 is more than the rounding. */
static bool surely_within(const struct ranged *c, bool dc, bool large)
{
    uint32_t scale[64], at = c->coeff_block;
    uint64_t most = 0, sum = 0, sum_dc = 0;
    level_scales(c, large, scale);
    for (unsigned blk = 0; blk < 16; blk++) {
        sum = large && blk & 3 ? sum : 0;
        if (!is_coded(c, blk))
            continue;
        sum += scaled_sum(c, at, scale + (large ? 16 * (blk & 3) : 0));
        if (dc) {
            uint64_t first = (uint64_t)abs(level_at(c, at, 0)) * scale[0];
            sum -= first;
            sum_dc += first;
        }
        most = sum > most ? sum : most;
        at++;
    }
    most = (large ? most * 9 / 16 : most) + sum_dc / 2;
    return within(c, (int64_t)(most << c->qp / 6 >> 4) + 256);
}

static bool component_within(struct ranged *c)
{
    const struct mb_parser *p = c->p;
    bool planes = !c->index || p->format.chroma_array_type == 3,
         large = planes && p->mb->flags & REC_MB_TRANSFORM_8X8,
         dc = !planes || p->mb->kind == REC_MB_INTRA_16X16;
    if (surely_within(c, dc, large))
        return true;
    if (dc)
        return blocks_with_dc_within(c, planes ? 16 : p->format.chroma_blocks);
    return large ? blocks8_within(c) : blocks4_within(c, 16, NULL);
}

/* The lists of a plane that is coded by itself are its own (8.5.9). */
static struct ranged component_of(const struct mb_parser *p, const struct rec_scaling *lists,
                                  unsigned i, uint32_t coeff_block)
{
    bool inter = p->mb->kind == REC_MB_INTER;
    unsigned list = i + p->pic->colour_plane;
    return (struct ranged){
        .p = p,
        .index = i,
        .coeff_block = coeff_block,
        .qp = (i ? p->qpc[i - 1] : p->qp) + p->format.qp_bd_offset[i != 0],
        .limit = 7 + p->sps->bit_depth[i != 0],
        .weight4 = lists->m4[list + 3 * inter],
        .weight8 = lists->m8[2 * list + inter],
    };
}

/* Lossless macroblocks have no transform, and those of SP and SI slices another one (8.6). */
static bool has_transform(const struct mb_parser *p)
{
    bool lossless =
        p->sps->qpprime_y_zero_transform_bypass_flag && p->qp + p->format.qp_bd_offset[0] == 0;
    return !lossless && p->slice->hdr.type != H264_SP && p->slice->hdr.type != H264_SI;
}

bool h264_residual_out_of_range(const struct mb_parser *p)
{
    struct rec_scaling lists;
    uint32_t coeff_block = p->mb->coeff;
    if (!has_transform(p))
        return false;
    h264_pps_scaling(p->sps, p->pps, &lists);
    for (unsigned i = 0; i < 3; i++) {
        if (!p->mb->coded[i]) /* and a plane that is coded by itself has no lists for others */
            continue;
        struct ranged c = component_of(p, &lists, i, coeff_block);
        if (!component_within(&c))
            return true;
        coeff_block += (uint32_t)__builtin_popcount(p->mb->coded[i]);
    }
    return false;
}
