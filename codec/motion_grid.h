/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Step 3: the neighbourhood of a macroblock in one list, as a grid of 4x4 blocks (8.4.1.3). The
 * walks over frame macroblocks and over MBAFF frames both include it. They differ in how they load
 * the grid, and in the neighbours D of the left column.
 */
#ifndef PELTON_CODEC_MOTION_GRID_H
#define PELTON_CODEC_MOTION_GRID_H

#include "codec/motion_derive.h"

/* Blocks x -1..4, y -1..3 of 4x4 samples at GRID_AT(x, y). Blocks not derived yet are unavailable,
 * as those to the right are.
 */
#define GRID_STRIDE   8
#define GRID_AT(x, y) (((y) + 1) * GRID_STRIDE + (x) + 1)
struct motion_grid {
    struct motion_mv mv[5 * GRID_STRIDE];
    int8_t ref[5 * GRID_STRIDE];
    struct motion_neighbour left_d[4]; /* MBAFF: D of the blocks of column 0 in rows 1 to 3 */
};

static inline void grid_set(struct motion_grid *g, int at, struct motion_neighbour n)
{
    g->ref[at] = (int8_t)n.ref;
    g->mv[at] = n.mv;
}

static inline struct motion_neighbour grid_get(const struct motion_grid *g, int at)
{
    return (struct motion_neighbour){g->ref[at], g->mv[at]};
}

/* C of the partition of width blocks at column x, row y, or D where C is not available. mbaff is a
 * constant. */
static inline struct motion_neighbour grid_get_c(const struct motion_grid *g, int x, int y,
                                                 int width, bool mbaff)
{
    int c = GRID_AT(x + width, y - 1);
    if (g->ref[c] != MOTION_UNAVAILABLE)
        return grid_get(g, c);
    if (mbaff && x == 0 && y > 0)
        return g->left_d[y];
    return grid_get(g, GRID_AT(x - 1, y - 1));
}

static inline struct motion_mv grid_predict(const struct motion_grid *g, int x, int y, int width,
                                            int ref, bool mbaff)
{
    return motion_predict(grid_get(g, GRID_AT(x - 1, y)), grid_get(g, GRID_AT(x, y - 1)),
                          grid_get_c(g, x, y, width, mbaff), ref);
}

/* Width and height of the sub-macroblock partitions in blocks, by enum h264_sub (Tables 7-17, 7-18)
 */
static const uint8_t sub_width[4] = {2, 2, 1, 1}, sub_height[4] = {2, 1, 2, 1};

/* The same for width x height blocks */
static inline void grid_fill(struct motion_grid *g, int at, int width, int height,
                             struct motion_neighbour n)
{
    for (int j = 0; j < height; j++)
        for (int i = 0; i < width; i++)
            grid_set(g, at + j * GRID_STRIDE + i, n);
}

/* Of a macroblock in a frame without MBAFF, or in a field: nothing of it is derived yet. */
static inline void grid_load_frame(struct motion_grid *g, const struct motion_walk *w, int list)
{
    memset(g->ref, MOTION_UNAVAILABLE, sizeof(g->ref));
    grid_set(g, GRID_AT(-1, -1), motion_neighbour_at(w->d, list, 15, 3));
    for (int i = 0; i < 4; i++) {
        grid_set(g, GRID_AT(i, -1), motion_neighbour_at(w->b, list, 12 + i, 2 + (i >> 1)));
        grid_set(g, GRID_AT(-1, i), motion_neighbour_at(w->a, list, 4 * i + 3, 1 + (i & 2)));
    }
    grid_set(g, GRID_AT(4, -1), motion_neighbour_at(w->c, list, 12, 2));
}

static inline void derive_sub_part(struct rec_motion *cur, struct motion_grid *g, int list, int x,
                                   int y, int width, int height, int ref, bool mbaff)
{
    struct motion_mv mv =
        motion_add(grid_predict(g, x, y, width, ref, mbaff), motion_load(cur, list, 4 * y + x));
    grid_fill(g, GRID_AT(x, y), width, height, (struct motion_neighbour){ref, mv});
}

static inline void derive_sub_8x8(struct rec_motion *cur, struct motion_grid *g, int list,
                                  int quadrant, unsigned sub, bool mbaff)
{
    int x0 = (quadrant & 1) * 2, y0 = (quadrant >> 1) * 2, ref = cur->ref_idx[list][quadrant];
    if (ref < 0) {
        grid_fill(g, GRID_AT(x0, y0), 2, 2, (struct motion_neighbour){ref, {0, 0}});
        return;
    }
    if (sub == H264_SUB_8X8) { /* by far the most frequent */
        derive_sub_part(cur, g, list, x0, y0, 2, 2, ref, mbaff);
        return;
    }
    for (int y = y0; y < y0 + 2; y += sub_height[sub])
        for (int x = x0; x < x0 + 2; x += sub_width[sub])
            derive_sub_part(cur, g, list, x, y, sub_width[sub], sub_height[sub], ref, mbaff);
}

static inline void load_direct_8x8(const struct rec_motion *cur, struct motion_grid *g, int list,
                                   int quadrant)
{
    int x0 = (quadrant & 1) * 2, y0 = (quadrant >> 1) * 2;
    for (int y = y0; y < y0 + 2; y++)
        for (int x = x0; x < x0 + 2; x++)
            grid_set(g, GRID_AT(x, y), motion_neighbour_at(cur, list, 4 * y + x, quadrant));
}

static inline unsigned direct_quadrants(const struct h264_mb_syntax *syntax)
{
    unsigned direct = 0;
    for (int q = 0; q < 4; q++)
        direct |= (syntax->sub[q] == H264_SUB_DIRECT ? 1u : 0u) << q;
    return direct;
}

/* The four sub-macroblocks of a loaded grid, those in `direct` derived already; vectors go to cur.
 */
static inline void grid_derive_8x8(struct rec_motion *cur, struct motion_grid *g, int list,
                                   const struct h264_mb_syntax *syntax, unsigned direct, bool mbaff)
{
    for (int q = 0; q < 4; q++)
        if (direct >> q & 1)
            load_direct_8x8(cur, g, list, q);
        else
            derive_sub_8x8(cur, g, list, q, syntax->sub[q] & 3u, mbaff);
    for (int y = 0; y < 4; y++)
        memcpy(cur->mv[list][4 * y], &g->mv[GRID_AT(0, y)], 4 * sizeof(g->mv[0]));
}

#endif
