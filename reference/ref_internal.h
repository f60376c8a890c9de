/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Shared between the files of the reference reconstruction only.
 */
#ifndef PELTON_REF_INTERNAL_H
#define PELTON_REF_INTERNAL_H

#include "reference/recon_ref.h"

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

/* A plane of a frame, or every other row of it as a field. */
struct ref_plane {
    uint16_t *samples;
    ptrdiff_t stride;
    int width, height;
};

static inline bool ref_is_field_picture(const struct rec_view *view)
{
    return view->head.structure == REC_TOP || view->head.structure == REC_BOTTOM;
}

/* A field macroblock: of a field picture or an MBAFF frame */
static inline bool ref_is_field(const struct rec_view *view, uint32_t mb)
{
    return ref_is_field_picture(view) || (view->head.mbaff && (view->mbs[mb].flags & REC_MB_FIELD));
}

/* The plane of a frame that holds a component of this picture */
static inline int ref_plane_index(const struct rec_view *view, int component)
{
    return component + view->head.colour_plane;
}

/* Where the samples of a macroblock lie in the plane of its picture: row i of them is row y + i *
 * step (6.4.1). */
struct ref_place {
    int x, y, step, width, height;
};

/* ref_place.c */
struct ref_plane ref_plane_of(const struct ref_frame *frame, int plane, unsigned structure);
struct ref_place ref_place_of(const struct rec_view *view, uint32_t mb, int component);
/* The macroblock that covers luma sample (x, y) of the picture, and the sample's row in it. */
uint32_t ref_mb_at(const struct rec_view *view, int x, int y, int *inner_y);

/* ref_residual.c: the 16 coefficients of a block, zeros where it has no
 * coefficient block. */
void ref_load_coeff_block(const struct rec_view *view, const struct rec_mb *mb, int component,
                          int blk, int32_t *v);

/* One dimension of the inverse transforms (8.5.12.2, 8.5.13), over v[0], v[step], .. */
void ref_idct4_line(int32_t *v, int step);
void ref_idct8_line(int32_t *v, int step);

/* ref_switching.c: the decoding of a block of an SP or SI slice from its prediction (8.6). Chroma:
 * 8x8 samples, 4:2:0. */
bool ref_is_switching(const struct rec_view *view, uint32_t mb);
void ref_switching_luma(const struct rec_view *view, uint32_t mb, int blk, const uint16_t pred[16],
                        uint16_t out[16]);
void ref_switching_chroma(const struct rec_view *view, uint32_t mb, int component,
                          const uint16_t pred[64], uint16_t out[64]);

static inline bool ref_is_intra(const struct rec_mb *mb)
{
    return mb->kind != REC_MB_INTER;
}

#endif
