/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Vectors in whole samples, in three levels: a quarter of the size, half of it, and all samples. A
 * level looks at the results of the level before, at neighbours too, and at the vectors of the
 * picture before. Costs decide; equal costs leave the position that comes first.
 */
#include "encode/reference/cost.h"
#include "encode/reference/picture_work.h"

#include <string.h>

#define COARSE_RANGE 16 /* in quarters: 64 samples. Every second position, as on a chessboard */
#define WINDOW       3  /* around the best candidate of the finer levels */
#define NEAR_BITS    50 /* A candidate that costs less has no window. */

/* What one macroblock's search compares at one level */
struct level_search {
    const struct picture_work *w;
    const struct sample_plane *source, *reference;
    int x, y, size;       /* of the block that is compared, in the level's samples */
    int scale;            /* quarter luma samples that a sample has */
    int weight;           /* of differences, so that bits count alike at each level */
    int16_t predicted[2]; /* rates count from here, in quarter samples */
    struct motion_bounds bounds;
};

static struct level_search search_at(const struct picture_work *w, uint32_t ref, uint32_t mb,
                                     int level)
{
    const struct luma_planes *reference = &w->slot[w->ref_slot[ref]].planes;
    int x = (int)(mb % w->mb_width), y = (int)(mb / w->mb_width);
    struct level_search s = {.w = w, .bounds = work_bounds(w, mb)};
    if (level == 2) {
        s.source = &w->source_planes.quarter;
        s.reference = &reference->quarter;
    } else {
        s.source = level ? &w->source_planes.half : &w->source_planes.full[HALF_NONE];
        s.reference = level ? &reference->half : &reference->full[HALF_NONE];
    }
    s.size = level ? 8 : 16;
    s.scale = 4 << level;
    s.x = x * (16 >> level) - (level == 2 ? 2 : 0); /* a quarter: with a border of two samples */
    s.y = y * (16 >> level) - (level == 2 ? 2 : 0);
    s.weight = level ? 4 : 1;
    return s;
}

static uint32_t vector_bits(const struct level_search *s, int x, int y)
{
    return s->w->lambda *
           (uint32_t)(cost_se_bits(x * s->scale - s->predicted[0]) +
                      cost_se_bits(y * s->scale - s->predicted[1])) /
           16;
}

static bool in_bounds(const struct level_search *s, int x, int y)
{
    int16_t mv[2] = {(int16_t)(x * s->scale), (int16_t)(y * s->scale)};
    return work_allows(&s->bounds, mv);
}

/* A position of the block that is compared; UINT32_MAX: not allowed */
static uint32_t position_cost(const struct level_search *s, int x, int y)
{
    if (!in_bounds(s, x, y))
        return UINT32_MAX;
    return (uint32_t)s->weight * cost_sad(plane_at(s->source, s->x, s->y), s->source->stride,
                                          plane_at(s->reference, s->x + x, s->y + y),
                                          s->reference->stride, s->size, s->size) +
           vector_bits(s, x, y);
}

struct position {
    uint32_t cost;
    int16_t mv[2];
};

static void position_try(const struct level_search *s, int x, int y, struct position *best)
{
    uint32_t cost = position_cost(s, x, y);
    if (cost < best->cost)
        *best = (struct position){cost, {(int16_t)x, (int16_t)y}};
}

static void window_try(const struct level_search *s, struct position *best)
{
    int centre_x = best->mv[0], centre_y = best->mv[1];
    for (int y = -WINDOW; y <= WINDOW; y++)
        for (int x = -WINDOW; x <= WINDOW; x++)
            position_try(s, centre_x + x, centre_y + y, best);
}

static bool is_near(const struct level_search *s, const struct position *best)
{
    return best->cost < s->w->lambda * NEAR_BITS / 16;
}

static void search_coarse(struct picture_work *w, uint32_t mb, uint32_t ref)
{
    struct level_search s = search_at(w, ref, mb, 2);
    struct position best = {.cost = UINT32_MAX};
    position_try(&s, 0, 0, &best);
    for (int y = -COARSE_RANGE; y <= COARSE_RANGE; y++)
        for (int x = -COARSE_RANGE + (y & 1); x <= COARSE_RANGE; x += 2)
            position_try(&s, x, y, &best);
    memcpy(w->search[ref][mb].coarse, best.mv, sizeof(best.mv));
}

/* The macroblock itself and those beside it in the picture: address, or UINT32_MAX */
static uint32_t beside(const struct picture_work *w, uint32_t mb, int i)
{
    static const int8_t at[5][2] = {{0, 0}, {-1, 0}, {1, 0}, {0, -1}, {0, 1}};
    uint32_t x = mb % w->mb_width + (uint32_t)at[i][0], y = mb / w->mb_width + (uint32_t)at[i][1];
    return x < w->mb_width && y < w->mb_height ? y * w->mb_width + x : UINT32_MAX;
}

static void search_half(struct picture_work *w, uint32_t mb, uint32_t ref)
{
    struct level_search s = search_at(w, ref, mb, 1);
    struct position best = {.cost = UINT32_MAX};
    position_try(&s, 0, 0, &best);
    for (int i = 0; i < 5; i++) {
        uint32_t other = beside(w, mb, i);
        if (other != UINT32_MAX)
            position_try(&s, 2 * w->search[ref][other].coarse[0],
                         2 * w->search[ref][other].coarse[1], &best);
    }
    if (!is_near(&s, &best))
        window_try(&s, &best);
    memcpy(w->search[ref][mb].half, best.mv, sizeof(best.mv));
}

static int median(int a, int b, int c)
{
    int low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* Rates count from the median of the level before, on the left, above and here */
static void predict(struct level_search *s, const struct motion_search *found, uint32_t mb)
{
    uint32_t left = beside(s->w, mb, 1), above = beside(s->w, mb, 3);
    left = left == UINT32_MAX ? mb : left;
    above = above == UINT32_MAX ? mb : above;
    for (int i = 0; i < 2; i++)
        s->predicted[i] =
            (int16_t)(8 * median(found[left].half[i], found[above].half[i], found[mb].half[i]));
}

/* The best of all candidates, in whole samples */
static struct position best_candidate(const struct level_search *s, uint32_t ref, uint32_t mb)
{
    const struct picture_work *w = s->w;
    struct position best = {.cost = UINT32_MAX};
    position_try(s, 0, 0, &best);
    for (int i = 0; i < 5; i++) {
        uint32_t other = beside(w, mb, i);
        const int16_t *last;
        if (other == UINT32_MAX)
            continue;
        last = w->last_motion[other].mv[0][5];
        position_try(s, 2 * w->search[ref][other].half[0], 2 * w->search[ref][other].half[1],
                     &best);
        position_try(s, (last[0] * (int)(ref + 1) + 2) >> 2, (last[1] * (int)(ref + 1) + 2) >> 2,
                     &best);
    }
    return best;
}

/* Differences of the four quadrants at a position, summed for each partition */
static void parts_try(const struct level_search *s, int x, int y,
                      struct motion_found found[SEARCH_PARTS])
{
    uint32_t quadrant[4], bits = vector_bits(s, x, y);
    if (!in_bounds(s, x, y))
        return;
    for (int q = 0; q < 4; q++) {
        int at_x = s->x + 8 * (q & 1), at_y = s->y + 8 * (q >> 1);
        quadrant[q] =
            cost_sad(plane_at(s->source, at_x, at_y), s->source->stride,
                     plane_at(s->reference, at_x + x, at_y + y), s->reference->stride, 8, 8);
    }
    for (int i = 0; i < SEARCH_PARTS; i++) {
        struct motion_part p = search_parts[i];
        uint32_t cost = bits;
        for (int q = 0; q < 4; q++)
            if ((q & 1) >= p.x && (q & 1) < p.x + p.width && q >> 1 >= p.y &&
                q >> 1 < p.y + p.height)
                cost += quadrant[q];
        if (cost < found[i].cost)
            found[i] = (struct motion_found){{(int16_t)(4 * x), (int16_t)(4 * y)}, cost};
    }
}

static void search_whole(struct picture_work *w, uint32_t mb, uint32_t ref)
{
    struct level_search s = search_at(w, ref, mb, 0);
    struct motion_found *found = w->search[ref][mb].part;
    struct position best;
    int range;
    predict(&s, w->search[ref], mb);
    memcpy(w->search[ref][mb].predicted, s.predicted, sizeof(s.predicted));
    best = best_candidate(&s, ref, mb);
    range = is_near(&s, &best) ? 0 : WINDOW;
    for (int i = 0; i < SEARCH_PARTS; i++)
        found[i] = (struct motion_found){.cost = UINT32_MAX};
    parts_try(&s, 0, 0, found);
    for (int y = -range; y <= range; y++)
        for (int x = -range; x <= range; x++)
            parts_try(&s, best.mv[0] + x, best.mv[1] + y, found);
}

void motion_search_whole(struct picture_work *w, uint32_t ref)
{
    work_each(w, search_coarse, ref);
    work_each(w, search_half, ref);
    work_each(w, search_whole, ref);
}
