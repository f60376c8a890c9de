/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Checks of records: intra prediction. A mode may only need neighbours that are available, and
 * these must lie in the picture.
 */
#include "codec/records_check.h"

/* luma4x4BlkIdx of the blocks in the left column and in the top row */
#define LEFT_COLUMN 0x0505u
#define TOP_ROW     0x0033u

static int check_availability(const struct rec_position *p, const char **reason)
{
    unsigned avail = p->mb->intra_avail;
    REQUIRE(avail < 64, "macroblock: intra_avail");
    REQUIRE(!(avail & REC_AVAIL_D8) || (p->mixed_left && !(avail & REC_AVAIL_A)),
            "macroblock: intra_avail: D8 where A_UPPER tells");
    REQUIRE((avail & REC_AVAIL_A) == 0 || (avail & REC_AVAIL_A) == REC_AVAIL_A || p->split_left,
            "macroblock: half of A where A is one macroblock");
    REQUIRE(p->left || !(avail & REC_AVAIL_A), "macroblock: neighbour left of the picture");
    REQUIRE(p->corner || !(avail & REC_AVAIL_D), "macroblock: neighbour D outside the picture");
    REQUIRE(p->above || !(avail & REC_AVAIL_B), "macroblock: neighbour above the picture");
    REQUIRE(p->above_right || !(avail & REC_AVAIL_C),
            "macroblock: neighbour C outside the picture, or not decoded yet");
    return 0;
}

/* What is there for a prediction of the whole macroblock */
static unsigned available_whole(const struct rec_mb *m)
{
    unsigned have = 0;
    if ((m->intra_avail & REC_AVAIL_A) == REC_AVAIL_A)
        have |= REC_NEED_LEFT;
    if (m->intra_avail & REC_AVAIL_B)
        have |= REC_NEED_TOP;
    if (m->intra_avail & REC_AVAIL_D)
        have |= REC_NEED_CORNER;
    return have;
}

/* Intra_4x4 with step 1, Intra_8x8 with step 4: bit blkIdx of each mask tells whether that block
 * has the neighbour. Blocks 0, 2, 8, 10 are the left column; the corner of block 8 lies beside the
 * upper half. */
static int check_nxn(const struct rec_mb *m, int step, const char **reason)
{
    bool upper = m->intra_avail & REC_AVAIL_A_UPPER, lower = m->intra_avail & REC_AVAIL_A_LOWER;
    bool b = m->intra_avail & REC_AVAIL_B, d = m->intra_avail & REC_AVAIL_D;
    unsigned left = ~LEFT_COLUMN | (upper ? 0x0005u : 0) | (lower ? 0x0500u : 0),
             top = ~TOP_ROW | (b ? TOP_ROW : 0);
    unsigned corner = ~(LEFT_COLUMN | TOP_ROW) | (upper ? 0x0104u : 0) | (lower ? 0x0400u : 0) |
                      (b ? TOP_ROW & ~1u : 0) | (d ? 1u : 0);
    for (int blk = 0; blk < 16; blk += step) {
        unsigned mode = m->intra_mode[blk >> 3] >> (4 * (blk & 7)) & 15;
        unsigned have = (left >> blk & 1) * REC_NEED_LEFT | (top >> blk & 1) * REC_NEED_TOP |
                        (corner >> blk & 1) * REC_NEED_CORNER;
        REQUIRE(mode <= REC_MAX_MODE_NXN, "macroblock: intra prediction mode of a block");
        REQUIRE((REC_NEEDS(REC_NEEDS_NXN, mode) & ~have) == 0,
                "macroblock: a block predicts from a neighbour that is not available");
    }
    return 0;
}

static int check_modes(const struct rec_view *v, const struct rec_mb *m, const char **reason)
{
    unsigned mode = m->intra_mode[0] & 15, have = available_whole(m);
    if (m->kind == REC_MB_INTRA_PCM)
        return 0;
    if (v->head.chroma_format_idc == 1 || v->head.chroma_format_idc == 2) {
        REQUIRE(m->intra_chroma_mode <= REC_MAX_MODE_CHROMA, "macroblock: intra_chroma_pred_mode");
        REQUIRE((REC_NEEDS(REC_NEEDS_CHROMA, m->intra_chroma_mode) & ~have) == 0,
                "macroblock: chroma predicts from a neighbour that is not available");
    }
    if (m->kind != REC_MB_INTRA_16X16)
        return check_nxn(m, m->kind == REC_MB_INTRA_8X8 ? 4 : 1, reason);
    REQUIRE(mode <= REC_MAX_MODE_16X16, "macroblock: Intra16x16PredMode");
    REQUIRE((REC_NEEDS(REC_NEEDS_16X16, mode) & ~have) == 0,
            "macroblock: Intra_16x16 predicts from a neighbour that is not available");
    return 0;
}

int records_check_intra(const struct rec_view *v, const struct rec_position *p, const char **reason)
{
    return check_availability(p, reason) < 0 ? -1 : check_modes(v, p->mb, reason);
}
