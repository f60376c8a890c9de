/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Step 3 for MBAFF frames: macroblock pairs in address order, each of frame or of field
 * macroblocks. Table 6-4 gives the neighbouring partitions. Their motion is scaled to frame or
 * field, as the current macroblock is (8.4.1.3.2).
 */
#include "codec/motion_grid.h"

/* Pairs around the current one: index of the pair's top macroblock, and whether it is available
 * (6.4.10). */
struct pair {
    uint32_t top;
    bool available, field;
};

struct pairs {
    struct pair a, b, c, d;
    bool field, bottom; /* of the current macroblock */
};

static struct pair pair_at(const struct motion_walk *w, uint32_t index, bool inside)
{
    struct pair p = {index, inside && w->pic->arrays.mbs[index].slice == w->slice_index, false};
    p.field = p.available && (w->pic->arrays.mbs[index].flags & REC_MB_FIELD);
    return p;
}

static struct pairs find_pairs(const struct motion_walk *w)
{
    uint32_t width = w->mb_width, row = w->mb / width, above = 2 * width;
    uint32_t top = w->mb - (row & 1) * width;
    bool has_left = w->mb_x > 0, has_above = row >= 2, has_right = w->mb_x + 1 < width;
    return (struct pairs){
        .a = pair_at(w, top - 1, has_left),
        .b = pair_at(w, top - above, has_above),
        .c = pair_at(w, top - above + 1, has_above && has_right),
        .d = pair_at(w, top - above - 1, has_above && has_left),
        .field = w->kind != MOTION_PLAIN,
        .bottom = row & 1,
    };
}

/* 8.4.1.3.2: block of macroblock mb of a pair, as the current macroblock sees it */
static struct motion_neighbour scaled(const struct motion_walk *w, const struct pairs *p,
                                      const struct pair *pair, bool bottom, int list, int block)
{
    int quadrant = (block >> 1 & 1) + (block >> 3) * 2;
    struct motion_neighbour n;
    if (!pair->available)
        return (struct motion_neighbour){MOTION_UNAVAILABLE, {0, 0}};
    n = motion_neighbour_at(&w->pic->arrays.motion[pair->top + (bottom ? w->mb_width : 0)], list,
                            block, quadrant);
    if (n.ref < 0 || pair->field == p->field)
        return n;
    if (p->field) {
        n.ref *= 2;
        n.mv.y = (int16_t)(n.mv.y / 2);
    } else {
        n.ref >>= 1;
        n.mv.y = (int16_t)(uint16_t)(n.mv.y * 2);
    }
    return n;
}

/* The block left of luma row y, 0..15 (Table 6-4, xN < 0 and yN from 0 on) */
static struct motion_neighbour left_of(const struct motion_walk *w, const struct pairs *p, int list,
                                       int y)
{
    bool bottom = p->bottom;
    int row = y;
    if (p->a.available && p->a.field != p->field) {
        if (p->field) {
            bottom = y >= 8;
            row = (2 * y + p->bottom) & 15;
        } else {
            bottom = y & 1;
            row = (y + 16 * p->bottom) >> 1;
        }
    }
    return scaled(w, p, &p->a, bottom, list, (row >> 2) * 4 + 3);
}

/* Whether the block above lies in the bottom macroblock of an above pair (yN < 0): but for field
 * above top field it does. Row 14 or 15 is always in the last row of blocks. */
static bool above_is_bottom(const struct pairs *p, const struct pair *above)
{
    return !p->field || p->bottom || !above->field;
}

/* The block above column x; a bottom frame macroblock has its own pair's top one there. */
static struct motion_neighbour above_of(const struct motion_walk *w, const struct pairs *p,
                                        int list, int x)
{
    if (!p->field && p->bottom)
        return motion_neighbour_at(w->cur - w->mb_width, list, 12 + x, 2 + (x >> 1));
    return scaled(w, p, &p->b, above_is_bottom(p, &p->b), list, 12 + x);
}

static struct motion_neighbour above_right(const struct motion_walk *w, const struct pairs *p,
                                           int list)
{
    if (!p->field && p->bottom)
        return (struct motion_neighbour){MOTION_UNAVAILABLE, {0, 0}};
    return scaled(w, p, &p->c, above_is_bottom(p, &p->c), list, 12);
}

static struct motion_neighbour above_left(const struct motion_walk *w, const struct pairs *p,
                                          int list)
{
    /* the left pair's row 15: of field macroblocks row 7 of the bottom one */
    if (!p->field && p->bottom)
        return scaled(w, p, &p->a, p->a.field, list, p->a.field ? 7 : 15);
    return scaled(w, p, &p->d, above_is_bottom(p, &p->d), list, 15);
}

void h264_motion_neighbours_mbaff(const struct motion_walk *w, int list,
                                  struct motion_neighbour n[3])
{
    struct pairs p = find_pairs(w);
    n[0] = left_of(w, &p, list, 0);
    n[1] = above_of(w, &p, list, 0);
    n[2] = above_right(w, &p, list);
    if (n[2].ref == MOTION_UNAVAILABLE)
        n[2] = above_left(w, &p, list);
}

/* ---- partitions ---- */

static void mbaff_grid_load(struct motion_grid *g, const struct motion_walk *w,
                            const struct pairs *p, int list)
{
    memset(g->ref, MOTION_UNAVAILABLE, sizeof(g->ref));
    grid_set(g, GRID_AT(-1, -1), above_left(w, p, list));
    grid_set(g, GRID_AT(4, -1), above_right(w, p, list));
    g->left_d[0] = above_left(w, p, list);
    for (int i = 0; i < 4; i++) {
        grid_set(g, GRID_AT(i, -1), above_of(w, p, list, i));
        grid_set(g, GRID_AT(-1, i), left_of(w, p, list, 4 * i));
        if (i > 0)
            g->left_d[i] = left_of(w, p, list, 4 * i - 1);
    }
}

/* 8.4.1.1 */
static void mbaff_p_skip(struct motion_walk *w)
{
    struct motion_neighbour n[3];
    struct motion_mv mv = {0, 0};
    bool still = false;
    h264_motion_neighbours_mbaff(w, 0, n);
    for (int i = 0; i < 2; i++)
        still |= n[i].ref == MOTION_UNAVAILABLE || (n[i].ref == 0 && motion_is_zero(n[i].mv));
    if (!still)
        mv = motion_predict(n[0], n[1], n[2], 0);
    motion_fill(w->cur, 0, mv);
}

/* Directional prediction of 16x8 and 8x16 partitions (8.4.1.3), else the median */
static struct motion_mv predict_part(const struct motion_grid *g, unsigned part, int x, int y,
                                     int width, int ref)
{
    struct motion_neighbour preferred = {MOTION_UNAVAILABLE, {0, 0}};
    if (part == H264_PART_16X8)
        preferred = y == 0 ? grid_get(g, GRID_AT(0, -1)) : grid_get(g, GRID_AT(-1, 2));
    else if (part == H264_PART_8X16)
        preferred = x == 0 ? grid_get(g, GRID_AT(-1, 0)) : grid_get_c(g, 2, 0, 2, true);
    return preferred.ref == ref ? preferred.mv : grid_predict(g, x, y, width, ref, true);
}

/* 16x16, 16x8, 8x16 */
static void mbaff_parts(struct motion_walk *w, unsigned part)
{
    struct pairs p = find_pairs(w);
    int width = part == H264_PART_8X16 ? 2 : 4, height = part == H264_PART_16X8 ? 2 : 4;
    for (int list = 0; list < w->lists; list++) {
        struct motion_grid g;
        mbaff_grid_load(&g, w, &p, list);
        for (int y = 0; y < 4; y += height)
            for (int x = 0; x < 4; x += width) {
                struct motion_neighbour n = {w->cur->ref_idx[list][y + (x >> 1)], {0, 0}};
                if (n.ref >= 0)
                    n.mv = motion_add(predict_part(&g, part, x, y, width, n.ref),
                                      motion_load(w->cur, list, 4 * y + x));
                grid_fill(&g, GRID_AT(x, y), width, height, n);
            }
        for (int y = 0; y < 4; y++)
            memcpy(w->cur->mv[list][4 * y], &g.mv[GRID_AT(0, y)], 4 * sizeof(g.mv[0]));
    }
}

static void mbaff_8x8(struct motion_walk *w, const struct h264_mb_syntax *syntax)
{
    struct pairs p = find_pairs(w);
    unsigned direct = direct_quadrants(syntax);
    if (direct)
        h264_motion_direct(w, direct);
    for (int list = 0; list < w->lists; list++) {
        struct motion_grid g;
        mbaff_grid_load(&g, w, &p, list);
        grid_derive_8x8(w->cur, &g, list, syntax, direct, true);
    }
}

static void mbaff_derive(struct motion_walk *w)
{
    const struct h264_mb_syntax *syntax = &w->pic->arrays.syntax[w->mb];
    switch ((enum h264_part)syntax->part) {
    case H264_PART_16X16:
    case H264_PART_16X8:
    case H264_PART_8X16:
        mbaff_parts(w, syntax->part);
        break;
    case H264_PART_8X8:
        mbaff_8x8(w, syntax);
        break;
    case H264_PART_SKIP:
        mbaff_p_skip(w);
        break;
    case H264_PART_DIRECT:
        h264_motion_direct(w, 15);
        break;
    case H264_PART_INTRA:
        break;
    }
}

static void mbaff_visit(struct motion_walk *w, uint32_t row)
{
    const struct rec_mb *mb;
    w->mb = row * w->mb_width + w->mb_x;
    mb = &w->pic->arrays.mbs[w->mb];
    w->cur = &w->pic->arrays.motion[w->mb];
    if (mb->slice >= w->pic->slice_count) /* concealed: complete already */
        return;
    if (mb->slice != w->slice_index)
        h264_motion_enter_slice(w, mb->slice);
    w->kind = !(mb->flags & REC_MB_FIELD) ? MOTION_PLAIN
              : row & 1                   ? MOTION_BOTTOM_FIELD
                                          : MOTION_TOP_FIELD;
    mbaff_derive(w);
}

void h264_motion_walk_mbaff(struct motion_walk *w)
{
    uint32_t rows = w->pic->mb_count / w->mb_width;
    for (uint32_t row = 0; row + 1 < rows; row += 2)
        for (w->mb_x = 0; w->mb_x < w->mb_width; w->mb_x++) {
            mbaff_visit(w, row);
            mbaff_visit(w, row + 1);
        }
}
