/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What macroblock syntax takes from the macroblocks to the left and above, for those who parse it
 * and those who write it.
 */
#ifndef PELTON_CODEC_MB_EDGE_H
#define PELTON_CODEC_MB_EDGE_H

#include <stdbool.h>
#include <stdint.h>

/* mb_edge.flags; all clear: not available */
enum {
    EDGE_AVAILABLE = 1,
    EDGE_INTRA = 2,
    EDGE_CODED = 4,          /* mb_skip_flag 0 */
    EDGE_NOT_I_NXN = 8,      /* counts for mb_type of I slices (9.3.3.1.1.3) */
    EDGE_NOT_DIRECT = 16,    /* counts for mb_type of B slices: neither B_Skip nor B_Direct_16x16 */
    EDGE_TRANSFORM_8X8 = 32, /* transform_size_8x8_flag */
    EDGE_CHROMA_MODE = 64,   /* intra_chroma_pred_mode is not DC */
    EDGE_PCM = 128,
    EDGE_CBF_DC = 256, /* coded_block_flag of the DC block of component 0; << 1, << 2: of 1 and 2 */
    EDGE_SI = 2048     /* mb_type SI */
};

/* What a macroblock leaves to the macroblocks to its right and below, of its slice. */
struct mb_edge {
    uint16_t flags;
    /* CodedBlockPatternLuma | CodedBlockPatternChroma << 4; 0x2f for I_PCM, 0x0f where not
     * available */
    uint8_t cbp;
    uint8_t ref_gt0; /* CABAC: ref_idx > 0; bit list * 4 + quadrant; inferred and direct: 0 */
    /* Intra4x4PredMode or Intra8x8PredMode of 4x4 blocks; 2: others; MODE_NONE: see below */
    int8_t mode_right[4];
    int8_t mode_bottom[4];
    uint32_t cbf[3]; /* CABAC: coded_block_flag as grid of bits, see CBF_BIT */
    union {
        struct { /* CABAC: |mvd|, at most 255; [list][block][x, y] */
            uint8_t right[2][4][2], bottom[2][4][2];
        } mvd;
        struct { /* CAVLC: total_coeff; [component][block] */
            uint8_t right[3][4], bottom[3][4];
        } total;
    } u;
};

#define MODE_NONE (-1) /* sets dcPredModePredictedFlag (8.3.1.1) */

/* Grids of 4x4 blocks with a border above and to the left: x and y from -1 to 3. */
#define GRID_ROW   8
#define GRID_SIZE  (5 * GRID_ROW)
#define GRID(x, y) (((y) + 1) * GRID_ROW + 4 + (x))
/* The same with one bit per block in 25 bits: A is the bit before, B the fifth bit before. */
#define CBF_BIT(x, y) (((y) + 1) * 5 + (x) + 1)
#define CBF_LEFT      0x00108420u /* bits of x == -1, y >= 0 */
#define CBF_TOP       0x0000001eu /* bits of y == -1, x >= 0 */
#define CBF_ALL       0x01ffffffu

/* a neighbour that is not available, [current is intra] */
extern const struct mb_edge h264_edge_none[2];

/* The edge that stands for A or B in the derivation of coded_block_flag contexts. */
static inline const struct mb_edge *h264_neighbour_cbf(const struct mb_edge *n, bool intra)
{
    return n->flags & EDGE_AVAILABLE ? n : &h264_edge_none[intra];
}

/* blkIdx -> column and row (6.4.3) */
static inline unsigned mb_blk_x(unsigned blk)
{
    return (blk & 1) | (blk >> 1 & 2);
}

static inline unsigned mb_blk_y(unsigned blk)
{
    return (blk >> 1 & 1) | (blk >> 2 & 2);
}

#endif
