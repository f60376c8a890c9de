/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Step 3: the map of blocks whose colZeroFlag is 1 when the picture is the colocated one
 * (8.4.1.2.2).
 */
#ifndef PELTON_CODEC_COL_ZERO_H
#define PELTON_CODEC_COL_ZERO_H

#include "codec/abi/motion_abi.h"
#include "codec/motion_derive.h"

/* Not 0 where a component of vectors beside each other, 16 bits each, is not in -1..1. */
static inline uint64_t motion_moves(uint64_t mvs)
{
    const uint64_t ones = 0x0001000100010001u, tops = ones << 15;
    uint64_t next = ((mvs & ~tops) + ones) ^ (mvs & tops); /* each and one: 0 to 2 */
    return (next & ~(ones * 3)) | (next & next >> 1 & ones);
}

static inline bool motion_col_zero_block(const struct rec_motion *m, int block)
{
    int quadrant = (block >> 1 & 1) + (block >> 3) * 2, list = m->ref_idx[0][quadrant] < 0;
    uint32_t mv;
    memcpy(&mv, m->mv[list][block], sizeof(mv));
    return m->ref_idx[list][quadrant] == 0 && !motion_moves(mv);
}

/* Where all quadrants have index 0 in the list, as most have */
static inline uint16_t motion_col_zero_corners(const struct rec_motion *m, int list)
{
    uint32_t corners[4];
    uint64_t upper, lower;
    memcpy(&corners[0], m->mv[list][0], sizeof(corners[0]));
    memcpy(&corners[1], m->mv[list][3], sizeof(corners[0]));
    memcpy(&corners[2], m->mv[list][12], sizeof(corners[0]));
    memcpy(&corners[3], m->mv[list][15], sizeof(corners[0]));
    upper = motion_moves(corners[0] | (uint64_t)corners[1] << 32);
    lower = motion_moves(corners[2] | (uint64_t)corners[3] << 32);
    return (uint16_t)(((uint32_t)upper == 0) | (upper >> 32 == 0) << 3 |
                      ((uint32_t)lower == 0) << 12 | (lower >> 32 == 0) << 15);
}

/* The entry of h264_arrays.col_zero (codec/abi/motion_abi.h). corners: direct_8x8_inference_flag */
static inline uint16_t motion_col_zero(const struct rec_motion *m, bool corners)
{
    uint32_t refs[2];
    unsigned bits = 0;
    memcpy(&refs[0], m->ref_idx[0], sizeof(refs[0])); /* each as it was written */
    memcpy(&refs[1], m->ref_idx[1], sizeof(refs[1]));
    if (corners && refs[0] == 0)
        return motion_col_zero_corners(m, 0);
    if (corners && refs[0] == UINT32_MAX && refs[1] == 0)
        return motion_col_zero_corners(m, 1);
    /* another index */
    if (refs[0] && !(refs[0] & 0x80808080) && refs[0] == (refs[0] & 255) * 0x01010101u)
        return 0;
    if (refs[0] == UINT32_MAX && refs[1] == UINT32_MAX) /* intra */
        return 0;
    for (int block = 0; block < 16; block++)
        if (!corners || DER_CORNERS >> block & 1)
            bits |= (unsigned)motion_col_zero_block(m, block) << block;
    return (uint16_t)bits;
}

#endif
