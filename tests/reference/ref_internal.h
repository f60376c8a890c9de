/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Shared between the files of the reference reconstruction only.
 */
#ifndef PELTON_REF_INTERNAL_H
#define PELTON_REF_INTERNAL_H

#include "tests/reference/recon_ref.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

extern const uint8_t ref_norm_adjust4[6][3];
extern const uint8_t ref_norm_adjust8[6][6];
extern const uint8_t ref_alpha_table[52];
extern const uint8_t ref_beta_table[52];
extern const uint8_t ref_tc0_table[52][3];

static inline int ref_clip3(int low, int high, int v)
{
    return v < low ? low : v > high ? high : v;
}

/* Clip1 */
static inline int ref_clip1(int v, int bit_depth)
{
    return ref_clip3(0, (1 << bit_depth) - 1, v);
}

/* Position of luma4x4BlkIdx inside the macroblock, in units of 4 samples (6.4.3). */
static inline int ref_blk_x(int blk)
{
    return (blk & 1) + ((blk >> 2) & 1) * 2;
}

static inline int ref_blk_y(int blk)
{
    return ((blk >> 1) & 1) + ((blk >> 3) & 1) * 2;
}

static inline int ref_blk_idx(int x, int y)
{
    return (x & 1) + (y & 1) * 2 + (x >> 1) * 4 + (y >> 1) * 8;
}

static inline int ref_bit_depth(const struct rec_view *view, int component)
{
    return view->head.bit_depth[component > 0];
}

static inline bool ref_is_intra(const struct rec_mb *mb)
{
    return mb->kind != REC_MB_INTER;
}

#endif
