/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Step 3: motion vectors from differences (8.4.1), macroblock by macroblock in address order. Neighbours are available only
 * inside the slice, which slice numbers in the records tell. Direct modes are in motion_direct.c.
 */
#include "codec/motion.h"

/* 8.4.1.1 */
static void derive_p_skip(struct motion_walk *w)
{
    struct motion_neighbour n[3];
    struct motion_mv mv = {0, 0};

    motion_neighbours_16x16(w, 0, n);
    if (w->a && w->b && !(n[0].ref == 0 && motion_is_zero(n[0].mv)) && !(n[1].ref == 0 && motion_is_zero(n[1].mv)))
        mv = motion_predict(n[0], n[1], n[2], 0);
    motion_fill(w->cur, 0, mv);
}

static void derive_16x16(struct motion_walk *w)
{
    for (int list = 0; list < w->lists; list++) {
        int ref = w->cur->ref_idx[list][0];
        struct motion_neighbour n[3];

        if (ref < 0)
            continue;
        motion_neighbours_16x16(w, list, n);
        motion_fill(w->cur, list, motion_add(motion_predict(n[0], n[1], n[2], ref), motion_load(w->cur, list, 0)));
    }
}

/* 16x8: parts 0 and 1 at rows 0 and 8, directional prediction from B and A. */
static void derive_16x8(struct motion_walk *w, int list)
{
    struct rec_motion *cur = w->cur;
    int ref0 = cur->ref_idx[list][0], ref1 = cur->ref_idx[list][2];
    struct motion_mv mv0 = {0, 0}, mv1 = {0, 0};

    if (ref0 >= 0) {
        struct motion_neighbour n[3];

        motion_neighbours_16x16(w, list, n);
        mv0 = n[1].ref == ref0 ? n[1].mv : motion_predict(n[0], n[1], n[2], ref0);
        mv0 = motion_add(mv0, motion_load(cur, list, 0));
    }
    if (ref1 >= 0) {
        struct motion_neighbour a = motion_neighbour_at(w->a, list, 11, 3);
        struct motion_neighbour b = {ref0, mv0};
        struct motion_neighbour d = motion_neighbour_at(w->a, list, 7, 1); /* C is to the right: not available, D is in A */

        mv1 = a.ref == ref1 ? a.mv : motion_predict(a, b, d, ref1);
        mv1 = motion_add(mv1, motion_load(cur, list, 8));
    }
    for (int i = 0; i < 8; i++) {
        motion_store(cur, list, i, mv0);
        motion_store(cur, list, 8 + i, mv1);
    }
}

/* 8x16: parts 0 and 1 at columns 0 and 8, directional prediction from A and C. */
static void derive_8x16(struct motion_walk *w, int list)
{
    struct rec_motion *cur = w->cur;
    int ref0 = cur->ref_idx[list][0], ref1 = cur->ref_idx[list][1];
    struct motion_mv mv0 = {0, 0}, mv1 = {0, 0};

    if (ref0 >= 0) {
        struct motion_neighbour a = motion_neighbour_at(w->a, list, 3, 1), b = motion_neighbour_at(w->b, list, 12, 2);
        struct motion_neighbour c = w->b ? motion_neighbour_at(w->b, list, 14, 3) : motion_neighbour_at(w->d, list, 15, 3);

        mv0 = a.ref == ref0 ? a.mv : motion_predict(a, b, c, ref0);
        mv0 = motion_add(mv0, motion_load(cur, list, 0));
    }
    if (ref1 >= 0) {
        struct motion_neighbour a = {ref0, mv0}, b = motion_neighbour_at(w->b, list, 14, 3);
        struct motion_neighbour c = w->c ? motion_neighbour_at(w->c, list, 12, 2) : motion_neighbour_at(w->b, list, 13, 2);

        mv1 = c.ref == ref1 ? c.mv : motion_predict(a, b, c, ref1);
        mv1 = motion_add(mv1, motion_load(cur, list, 2));
    }
    for (int i = 0; i < 16; i++)
        motion_store(cur, list, i, i & 2 ? mv1 : mv0);
}

/* ---- 8x8 partitions: one list's neighbourhood in a grid ---- */

/* Blocks x -1..4, y -1..3 of 4x4 samples at GRID_AT(x, y). Blocks not derived yet are unavailable, as those to the right are.
 */
#define GRID_STRIDE   8
#define GRID_AT(x, y) (((y) + 1) * GRID_STRIDE + (x) + 1)
struct motion_grid {
    struct motion_mv mv[5 * GRID_STRIDE];
    int8_t ref[5 * GRID_STRIDE];
};

static void grid_set(struct motion_grid *g, int at, struct motion_neighbour n)
{
    g->ref[at] = (int8_t)n.ref;
    g->mv[at] = n.mv;
}

static void grid_load(struct motion_grid *g, const struct motion_walk *w, int list)
{
    memset(g->ref, MOTION_UNAVAILABLE, sizeof g->ref);
    grid_set(g, GRID_AT(-1, -1), motion_neighbour_at(w->d, list, 15, 3));
    for (int i = 0; i < 4; i++) {
        grid_set(g, GRID_AT(i, -1), motion_neighbour_at(w->b, list, 12 + i, 2 + (i >> 1)));
        grid_set(g, GRID_AT(-1, i), motion_neighbour_at(w->a, list, 4 * i + 3, 1 + (i & 2)));
    }
    grid_set(g, GRID_AT(4, -1), motion_neighbour_at(w->c, list, 12, 2));
}

static inline struct motion_neighbour grid_get(const struct motion_grid *g, int at)
{
    return (struct motion_neighbour){g->ref[at], g->mv[at]};
}

/* Predict the partition of width blocks at grid position at */
static struct motion_mv grid_predict(const struct motion_grid *g, int at, int width, int ref)
{
    int c = at - GRID_STRIDE + width;

    if (g->ref[c] == MOTION_UNAVAILABLE)
        c = at - GRID_STRIDE - 1;
    return motion_predict(grid_get(g, at - 1), grid_get(g, at - GRID_STRIDE), grid_get(g, c), ref);
}

/* Width and height of the sub-macroblock partitions in blocks, by enum h264_sub (Tables 7-17, 7-18) */
static const uint8_t sub_width[4] = {2, 2, 1, 1}, sub_height[4] = {2, 1, 2, 1};

/* The same for width x height blocks */
static inline void grid_fill(struct motion_grid *g, int at, int width, int height, struct motion_neighbour n)
{
    for (int j = 0; j < height; j++)
        for (int i = 0; i < width; i++)
            grid_set(g, at + j * GRID_STRIDE + i, n);
}

static inline void derive_sub_part(struct rec_motion *cur, struct motion_grid *g, int list, int x, int y, int width, int height,
                                   int ref)
{
    struct motion_mv mv = motion_add(grid_predict(g, GRID_AT(x, y), width, ref), motion_load(cur, list, 4 * y + x));

    grid_fill(g, GRID_AT(x, y), width, height, (struct motion_neighbour){ref, mv});
}

static void derive_sub_8x8(struct rec_motion *cur, struct motion_grid *g, int list, int quadrant, unsigned sub)
{
    int x0 = (quadrant & 1) * 2, y0 = (quadrant >> 1) * 2, ref = cur->ref_idx[list][quadrant];

    if (ref < 0) {
        grid_fill(g, GRID_AT(x0, y0), 2, 2, (struct motion_neighbour){ref, {0, 0}});
        return;
    }
    if (sub == H264_SUB_8X8) { /* by far the most frequent */
        derive_sub_part(cur, g, list, x0, y0, 2, 2, ref);
        return;
    }
    for (int y = y0; y < y0 + 2; y += sub_height[sub])
        for (int x = x0; x < x0 + 2; x += sub_width[sub])
            derive_sub_part(cur, g, list, x, y, sub_width[sub], sub_height[sub], ref);
}

static void load_direct_8x8(const struct rec_motion *cur, struct motion_grid *g, int list, int quadrant)
{
    int x0 = (quadrant & 1) * 2, y0 = (quadrant >> 1) * 2;

    for (int y = y0; y < y0 + 2; y++)
        for (int x = x0; x < x0 + 2; x++)
            grid_set(g, GRID_AT(x, y), motion_neighbour_at(cur, list, 4 * y + x, quadrant));
}

static void derive_8x8(struct motion_walk *w, const struct h264_mb_syntax *syntax)
{
    unsigned direct = 0;

    for (int q = 0; q < 4; q++)
        direct |= (syntax->sub[q] == H264_SUB_DIRECT ? 1u : 0u) << q;
    if (direct)
        h264_motion_direct(w, direct);
    for (int list = 0; list < w->lists; list++) {
        struct motion_grid g;

        grid_load(&g, w, list);
        for (int q = 0; q < 4; q++) {
            if (direct >> q & 1)
                load_direct_8x8(w->cur, &g, list, q);
            else
                derive_sub_8x8(w->cur, &g, list, q, syntax->sub[q] & 3u);
        }
        for (int y = 0; y < 4; y++)
            memcpy(w->cur->mv[list][4 * y], &g.mv[GRID_AT(0, y)], 4 * sizeof g.mv[0]);
    }
}

static void derive_mb(struct motion_walk *w)
{
    const struct h264_mb_syntax *syntax = &w->pic->syntax[w->mb];

    switch ((enum h264_part)syntax->part) {
    case H264_PART_16X16:
        derive_16x16(w);
        break;
    case H264_PART_16X8:
        for (int list = 0; list < w->lists; list++)
            derive_16x8(w, list);
        break;
    case H264_PART_8X16:
        for (int list = 0; list < w->lists; list++)
            derive_8x16(w, list);
        break;
    case H264_PART_8X8:
        derive_8x8(w, syntax);
        break;
    case H264_PART_SKIP:
        derive_p_skip(w);
        break;
    case H264_PART_DIRECT:
        h264_motion_direct(w, 15);
        break;
    case H264_PART_INTRA: /* step 2 left -1 and zero vectors, which neighbours and later pictures read */
        break;
    }
}

/* ---- the walk ---- */

static void enter_slice(struct motion_walk *w, uint32_t index)
{
    w->slice_index = index;
    w->slice = &w->pic->slices[index];
    w->lists = w->slice->hdr.type == H264_B ? 2 : 1;
    if (w->slice->hdr.type == H264_B)
        h264_motion_direct_begin(w);
}

/* 6.4.9, and availability: the same slice (6.4.8; addresses below the current one are decoded before it) */
static inline void find_neighbours(struct motion_walk *w)
{
    const struct rec_mb *mb = &w->pic->mbs[w->mb];
    uint32_t slice = w->slice_index, width = w->mb_width;
    bool left = w->mb_x > 0, above = w->mb >= width, right = w->mb_x + 1 < width;

    w->a = left && mb[-1].slice == slice ? w->cur - 1 : NULL;
    w->b = above && mb[-(ptrdiff_t)width].slice == slice ? w->cur - width : NULL;
    w->c = above && right && mb[1 - (ptrdiff_t)width].slice == slice ? w->cur - width + 1 : NULL;
    w->d = above && left && mb[-1 - (ptrdiff_t)width].slice == slice ? w->cur - width - 1 : NULL;
}

int h264_picture_derive_motion(struct h264_picture *pic)
{
    struct motion_walk w = {.pic = pic, .slice_index = REC_NO_SLICE, .mb_width = pic->mb_width};
    int error;

    if (pic->motion_done)
        return H264_OK;
    if (h264_conceal(pic))
        pic->corrupt = 1;
    error = h264_fill_slices(pic);
    if (error < 0)
        return error;
    for (w.mb = 0; w.mb < pic->mb_count; w.mb++) {
        uint32_t slice = pic->mbs[w.mb].slice;

        w.cur = &pic->motion[w.mb];
        if (slice < pic->slice_count) { /* else concealed: complete already */
            if (slice != w.slice_index)
                enter_slice(&w, slice);
            find_neighbours(&w);
            derive_mb(&w);
        }
        if (++w.mb_x == pic->mb_width)
            w.mb_x = 0;
    }
    if (w.lost_reference)
        pic->corrupt = 1;
    h264_find_kinds(pic);
    pic->motion_done = 1;
    return H264_OK;
}
