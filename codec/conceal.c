/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Concealment: macroblocks that no slice covered become records that copy the first reference, or mid-grey where there is none.
 */
#include "codec/motion.h"

/* Copy of reference 0: inter 16x16, vector 0, no residual, not filtered. */
static void conceal_inter(struct rec_mb *mb, struct rec_motion *motion)
{
    mb->kind = REC_MB_INTER;
    memset(motion, 0, sizeof *motion);
    memset(motion->ref_idx[1], -1, sizeof motion->ref_idx[1]);
}

/* DC prediction without neighbours: mid-grey. */
static void conceal_intra(struct rec_mb *mb, struct rec_motion *motion)
{
    mb->kind = REC_MB_INTRA_16X16;
    mb->intra_mode[0] = 2;
    memset(motion, 0, sizeof *motion);
    memset(motion->ref_idx, -1, sizeof motion->ref_idx);
}

/* All macroblocks of a field picture are field macroblocks, and of a pair in an MBAFF frame both are or none. */
static uint8_t field_flag(const struct h264_picture *pic, uint32_t i)
{
    uint32_t other = i / pic->mb_width & 1 ? i - pic->mb_width : i + pic->mb_width;

    if (pic->structure != REC_FRAME)
        return REC_MB_FIELD;
    if (!pic->mbaff || other >= pic->mb_count || !pic->syntax[other].decoded)
        return 0;
    return pic->mbs[other].flags & REC_MB_FIELD;
}

uint32_t h264_conceal(struct h264_picture *pic)
{
    uint32_t missing = 0;

    for (uint32_t i = 0; i < pic->mb_count; i++) {
        if (pic->syntax[i].decoded)
            continue;
        missing++;
        pic->mbs[i] = (struct rec_mb){.slice = pic->slice_count, .flags = field_flag(pic, i)};
        if (pic->refs_held_count > 0)
            conceal_inter(&pic->mbs[i], &pic->motion[i]);
        else
            conceal_intra(&pic->mbs[i], &pic->motion[i]);
    }
    atomic_store(&pic->missing_mbs, missing);
    return missing;
}
