/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Step 3: the state of the walk over a picture's macroblocks, and prediction of vectors (8.4.1).
 */
#ifndef PELTON_CODEC_MOTION_DERIVE_H
#define PELTON_CODEC_MOTION_DERIVE_H

#include "codec/h264.h"

#include <string.h>

/* ref_idx of a neighbour that is not available; -1 is one that does not use the list (8.4.1.3.2).
 */
#define MOTION_UNAVAILABLE (-2)

/* A motion vector as one word: equal layout to rec_motion.mv[list][block]. */
struct motion_mv {
    int16_t x, y;
};

/* Reference and vector of one neighbouring partition; mv is 0 where ref < 0. */
struct motion_neighbour {
    int ref;
    struct motion_mv mv;
};

/* The kinds of macroblocks that count references in their own way (8.4.2.1): frame, or field of
 * either parity in MBAFF frames. In pictures without MBAFF all are 0. */
enum motion_kind { MOTION_PLAIN, MOTION_TOP_FIELD, MOTION_BOTTOM_FIELD };

/* What direct prediction needs of the colocated picture, set up per slice (8.4.1.2). */
struct motion_direct {
    const struct h264_picture *col; /* NULL: none usable, everything counts as intra */
    const uint16_t *col_zero;       /* spatial: its map, maybe kept without it; NULL: it has none */
    bool may_stand_still; /* spatial: there is a colocated picture, and it is short-term */
    bool inference_8x8;
    /* Frames and fields meet, or MBAFF: motion_colocated.c finds each block; else it is that of the
     * same address in col. */
    bool crossed;
    /* crossed: what decoded the top and the bottom field of RefPicList1[0] */
    const struct h264_picture *parity[2];
    unsigned nearer;    /* crossed: the field that stands for it in frame macroblocks (Table 8-6) */
    uint32_t map_slice; /* slice of col that map belongs to, REC_NO_SLICE: none */
    int8_t map[2][REC_MAX_REFS]; /* temporal: refIdxCol of each list -> refIdxL0 */
    /* temporal, by motion_kind and refIdxL0: DistScaleFactor, and whether mvL0 = mvCol */
    int16_t scale[3][2 * REC_MAX_REFS];
    bool unscaled[3][2 * REC_MAX_REFS];
};

struct motion_walk {
    struct h264_picture *pic;
    const struct h264_slice *slice;
    uint32_t slice_index;
    bool one_slice; /* which covers the picture */
    int lists;      /* 1 in P slices, 2 in B slices */
    uint32_t mb_width;
    uint32_t mb, mb_x;
    enum motion_kind kind;
    struct rec_motion *cur;
    /* neighbouring macroblocks, NULL: not available; not used in MBAFF frames */
    const struct rec_motion *a, *b, *c, *d;
    struct motion_direct direct;
    bool lost_reference; /* a colocated reference is not in list 0 any more */
};

static inline struct motion_mv motion_load(const struct rec_motion *m, int list, int block)
{
    struct motion_mv mv;
    memcpy(&mv, m->mv[list][block], sizeof(mv));
    return mv;
}

static inline void motion_store(struct rec_motion *m, int list, int block, struct motion_mv mv)
{
    memcpy(m->mv[list][block], &mv, sizeof(mv));
}

/* The same vector in all blocks of a list. */
static inline void motion_fill(struct rec_motion *m, int list, struct motion_mv mv)
{
    struct motion_mv all[16];
    for (int i = 0; i < 16; i++)
        all[i] = mv;
    memcpy(m->mv[list], all, sizeof(all));
}

/* Vectors wrap in 16 bits: a legal stream never gets there. */
static inline struct motion_mv motion_add(struct motion_mv a, struct motion_mv b)
{
    return (struct motion_mv){(int16_t)(uint16_t)(a.x + b.x), (int16_t)(uint16_t)(a.y + b.y)};
}

static inline bool motion_is_zero(struct motion_mv mv)
{
    return (mv.x | mv.y) == 0;
}

static inline int motion_min(int a, int b)
{
    return a < b ? a : b;
}

static inline int motion_max(int a, int b)
{
    return a > b ? a : b;
}

static inline int16_t motion_median(int a, int b, int c)
{
    return (int16_t)motion_max(motion_min(a, b), motion_min(motion_max(a, b), c));
}

/* 8.4.1.3.1 */
static inline struct motion_mv motion_predict(struct motion_neighbour a, struct motion_neighbour b,
                                              struct motion_neighbour c, int ref)
{
    int matches = (a.ref == ref) + (b.ref == ref) + (c.ref == ref);
    if (matches == 1)
        return a.ref == ref ? a.mv : b.ref == ref ? b.mv : c.mv;
    if (b.ref == MOTION_UNAVAILABLE && c.ref == MOTION_UNAVAILABLE && a.ref != MOTION_UNAVAILABLE)
        return a.mv;
    return (struct motion_mv){motion_median(a.mv.x, b.mv.x, c.mv.x),
                              motion_median(a.mv.y, b.mv.y, c.mv.y)};
}

static inline struct motion_neighbour motion_neighbour_at(const struct rec_motion *m, int list,
                                                          int block, int quadrant)
{
    if (!m)
        return (struct motion_neighbour){MOTION_UNAVAILABLE, {0, 0}};
    return (struct motion_neighbour){m->ref_idx[list][quadrant], motion_load(m, list, block)};
}

static inline struct motion_neighbour motion_neighbour_c(const struct motion_walk *w, int list)
{
    return w->c ? motion_neighbour_at(w->c, list, 12, 2) : motion_neighbour_at(w->d, list, 15, 3);
}

/* 8.4.1.3 for the whole macroblock: A, B, and C or D */
static inline void motion_neighbours_16x16(const struct motion_walk *w, int list,
                                           struct motion_neighbour n[3])
{
    n[0] = motion_neighbour_at(w->a, list, 3, 1);
    n[1] = motion_neighbour_at(w->b, list, 12, 2);
    n[2] = motion_neighbour_c(w, list);
}

/* motion_mbaff.c: the walk over the macroblock pairs of an MBAFF frame. */
void h264_motion_walk_mbaff(struct motion_walk *w);
/* The neighbours of the whole macroblock, as motion_neighbours_16x16, scaled to frame or field as
 * the current one is. */
void h264_motion_neighbours_mbaff(const struct motion_walk *w, int list,
                                  struct motion_neighbour n[3]);

/* motion_direct.c */
/* w->slice becomes slice `index` of the picture. A B slice sets up direct prediction. */
void h264_motion_enter_slice(struct motion_walk *w, uint32_t index);
/* Derives the quadrants in the mask of w->cur (8.4.1.2). */
void h264_motion_direct(struct motion_walk *w, unsigned quadrants);
/* A B slice with spatial direct prediction: the map of its colocated picture. NULL: no colZeroFlag
 * is 1. */
const uint16_t *h264_colocated_map(const struct h264_slice *slice);

/* Motion of one colocated block: list 0 where it is used, else list 1. */
struct motion_colocated {
    int list, ref; /* ref -1: intra */
    struct motion_mv mv;
};

static inline struct motion_colocated motion_colocated_block(const struct rec_motion *m, int block)
{
    int quadrant = (block >> 1 & 1) + (block >> 3) * 2;
    struct motion_colocated c = {0, m->ref_idx[0][quadrant], {0, 0}};
    if (c.ref < 0) {
        c.list = 1;
        c.ref = m->ref_idx[1][quadrant];
    }
    if (c.ref >= 0)
        c.mv = motion_load(m, c.list, block);
    return c;
}

/* Of a picture that a reference names, what holds the motion of pic's colour plane. */
static inline struct h264_picture *h264_colocated_plane(const struct h264_picture *pic,
                                                        struct h264_picture *col)
{
    return col && pic->colour_plane ? col->planes[pic->colour_plane - 1] : col;
}

/* motion_colocated.c: colocated pictures (Table 8-6) and, where frames and fields meet, blocks
 * (8.4.1.2.1). */
void h264_colocated_begin(struct motion_walk *w);
/* The block that belongs to `block` of the current macroblock, not scaled (spatial). */
struct motion_colocated h264_colocated_crossed(const struct motion_walk *w, int block);
/* The same with its vector scaled to frame or field and its reference found in list 0 (8.4.1.2.3):
 * ref becomes refIdxL0. */
struct motion_colocated h264_colocated_temporal(struct motion_walk *w, int block);

/* DistScaleFactor (8-197, 8-198): td is DiffPicOrderCnt(pic1, pic0), not 0. */
int h264_dist_scale_factor(int64_t tb, int64_t td);

#endif
