/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Vectors in quarter samples: the eight half samples around the whole one, then the eight quarter
 * samples around the best of these, by SATD and bits. Where all partitions have one vector, and its
 * prediction is near, it stays.
 */
#include "encode/reference/cost.h"
#include "encode/reference/picture_work.h"

#include <string.h>

/* A vector that costs less is near. */
#define NEAR_BITS 80

/* Partitions gain more than this share of the whole by the search, or they have its vector. */
#define GAIN_SHARE 32

uint32_t work_vector_cost(const struct picture_work *w, uint32_t ref, uint32_t mb,
                          struct motion_part part, const int16_t mv[2])
{
    int x = (int)(mb % w->mb_width) * 16 + 8 * part.x,
        y = (int)(mb / w->mb_width) * 16 + 8 * part.y;
    int width = 8 * part.width, height = 8 * part.height;
    const struct sample_plane *source = &w->source_planes.full[HALF_NONE];
    uint16_t pred[256];
    luma_planes_block(&w->slot[w->ref_slot[ref]].planes, 4 * x + mv[0], 4 * y + mv[1], width,
                      height, pred);
    return cost_satd(plane_at(source, x, y), source->stride, pred, width, width, height);
}

uint32_t work_vector_bits(const int16_t mv[2], const int16_t predicted[2])
{
    return (uint32_t)(cost_se_bits(mv[0] - predicted[0]) + cost_se_bits(mv[1] - predicted[1]));
}

/* te(v) (9.1) */
uint32_t work_ref_bits(const struct picture_work *w, uint32_t ref)
{
    return w->ref_count < 2 ? 0 : w->ref_count == 2 ? 1 : (uint32_t)cost_ue_bits(ref);
}

/* The best of the nine vectors around one */
static void refine_step(const struct picture_work *w, uint32_t ref, uint32_t mb, int part, int step,
                        struct motion_found *found)
{
    const int16_t *predicted = w->search[ref][mb].predicted;
    struct motion_bounds bounds = work_bounds(w, mb);
    int16_t centre[2] = {found->mv[0], found->mv[1]};
    uint32_t best = UINT32_MAX;
    for (int i = 0; i < 9; i++) { /* the centre comes first */
        int at = i == 0 ? 4 : i <= 4 ? i - 1 : i;
        int16_t mv[2] = {(int16_t)(centre[0] + step * (at % 3 - 1)),
                         (int16_t)(centre[1] + step * (at / 3 - 1))};
        uint32_t satd, cost;
        if (!work_allows(&bounds, mv))
            continue;
        satd = work_vector_cost(w, ref, mb, search_parts[part], mv);
        cost = satd + w->lambda * work_vector_bits(mv, predicted) / 16;
        if (cost < best) {
            best = cost;
            *found = (struct motion_found){{mv[0], mv[1]}, satd};
        }
    }
}

static bool is_one(const struct motion_search *s)
{
    bool one = true;
    for (int part = 1; part < SEARCH_PARTS; part++)
        one = one && memcmp(s->part[part].mv, s->part[0].mv, sizeof(s->part[0].mv)) == 0;
    return one;
}

static bool is_near(const struct picture_work *w, uint32_t ref, uint32_t mb)
{
    const struct motion_search *s = &w->search[ref][mb];
    const int16_t *mv = s->part[0].mv;
    return work_vector_cost(w, ref, mb, search_parts[0], mv) +
               w->lambda * work_vector_bits(mv, s->predicted) / 16 <
           w->lambda * NEAR_BITS / 16;
}

/* A shape of several partitions, of which the first one is `part`. Vectors of the others cost
 * nothing, as they may be predicted. bits: of the type, beyond those of a whole macroblock */
static bool shape_gains(const struct picture_work *w, const struct motion_search *s, int part,
                        int count, uint32_t bits)
{
    uint32_t cost = w->lambda * bits / 16, whole = s->part[0].cost;
    for (int i = part; i < part + count; i++) {
        cost += s->part[i].cost;
        if (i > part)
            cost -= w->lambda * work_vector_bits(s->part[i].mv, s->predicted) / 16;
    }
    return cost + whole / GAIN_SHARE < whole;
}

static void parts_join(const struct picture_work *w, struct motion_search *s)
{
    if (shape_gains(w, s, 1, 2, 2) || shape_gains(w, s, 3, 2, 2) || shape_gains(w, s, 5, 4, 8))
        return;
    for (int part = 1; part < SEARCH_PARTS; part++)
        memcpy(s->part[part].mv, s->part[0].mv, sizeof(s->part[0].mv));
}

static void refine_mb(struct picture_work *w, uint32_t mb, uint32_t ref)
{
    parts_join(w, &w->search[ref][mb]);
    bool near = is_one(&w->search[ref][mb]) && is_near(w, ref, mb);
    for (int part = 0; part < SEARCH_PARTS; part++) {
        struct motion_found *found = &w->search[ref][mb].part[part];
        if (near) {
            found->cost = work_vector_cost(w, ref, mb, search_parts[part], found->mv);
            continue;
        }
        refine_step(w, ref, mb, part, 2, found);
        refine_step(w, ref, mb, part, 1, found);
    }
}

void motion_search_quarter(struct picture_work *w, uint32_t ref)
{
    work_each(w, refine_mb, ref);
}
