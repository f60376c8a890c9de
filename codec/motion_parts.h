/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Vector predictors of the partitions of a macroblock in a frame without MBAFF, or in a field
 * (8.4.1.1, 8.4.1.3). The walk has the neighbours A to D. Those who derive vectors and those who
 * code their differences include it.
 */
#ifndef PELTON_CODEC_MOTION_PARTS_H
#define PELTON_CODEC_MOTION_PARTS_H

#include "codec/motion_derive.h"

/* The vector of P_Skip, whose ref_idx is 0 (8.4.1.1). */
static inline struct motion_mv motion_skip_vector(const struct motion_walk *w)
{
    struct motion_neighbour n[3];
    motion_neighbours_16x16(w, 0, n);
    if (!w->a || !w->b || (n[0].ref == 0 && motion_is_zero(n[0].mv)) ||
        (n[1].ref == 0 && motion_is_zero(n[1].mv)))
        return (struct motion_mv){0, 0};
    return motion_predict(n[0], n[1], n[2], 0);
}

static inline struct motion_mv motion_predict_16x16(const struct motion_walk *w, int list, int ref)
{
    struct motion_neighbour n[3];
    motion_neighbours_16x16(w, list, n);
    return motion_predict(n[0], n[1], n[2], ref);
}

/* 16x8: parts at rows 0 and 8, directional prediction from B and A. */
static inline struct motion_mv motion_predict_16x8_upper(const struct motion_walk *w, int list,
                                                         int ref)
{
    struct motion_neighbour n[3];
    motion_neighbours_16x16(w, list, n);
    return n[1].ref == ref ? n[1].mv : motion_predict(n[0], n[1], n[2], ref);
}

/* b: the upper part. C is to the right: not available, D is in A. */
static inline struct motion_mv motion_predict_16x8_lower(const struct motion_walk *w, int list,
                                                         int ref, struct motion_neighbour b)
{
    struct motion_neighbour a = motion_neighbour_at(w->a, list, 11, 3),
                            d = motion_neighbour_at(w->a, list, 7, 1);
    return a.ref == ref ? a.mv : motion_predict(a, b, d, ref);
}

/* 8x16: parts at columns 0 and 8, directional prediction from A and C. */
static inline struct motion_mv motion_predict_8x16_left(const struct motion_walk *w, int list,
                                                        int ref)
{
    struct motion_neighbour a = motion_neighbour_at(w->a, list, 3, 1),
                            b = motion_neighbour_at(w->b, list, 12, 2);
    struct motion_neighbour c =
        w->b ? motion_neighbour_at(w->b, list, 14, 3) : motion_neighbour_at(w->d, list, 15, 3);
    return a.ref == ref ? a.mv : motion_predict(a, b, c, ref);
}

/* a: the left part. */
static inline struct motion_mv motion_predict_8x16_right(const struct motion_walk *w, int list,
                                                         int ref, struct motion_neighbour a)
{
    struct motion_neighbour b = motion_neighbour_at(w->b, list, 14, 3);
    struct motion_neighbour c =
        w->c ? motion_neighbour_at(w->c, list, 12, 2) : motion_neighbour_at(w->b, list, 13, 2);
    return c.ref == ref ? c.mv : motion_predict(a, b, c, ref);
}

#endif
