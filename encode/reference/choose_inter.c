/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Partitions, references, and inter against intra, by SATD and bits. Vectors are predicted from the
 * field of the search, so that no macroblock waits for another. Shapes that gain little by the
 * costs of the search are left out.
 */
#include "encode/reference/cost.h"
#include "encode/reference/picture_work.h"

#include <string.h>

/* Partitions of a shape in search_parts, and bits of mb_type (and sub_mb_type) */
static const struct {
    uint8_t first, count, bits;
} shapes[4] = {{0, 1, 1}, {1, 2, 3}, {3, 2, 3}, {5, 4, 9}};

/* Bits of an intra macroblock in a P slice beyond those in an I slice: its type, and again what
 * predictions from source samples flatter */
#define INTRA_BITS 40

/* Intra16x16 may cost this share more than inter prediction: half a macroblock's border averages
 * noise, which a reference picture repeats. */
#define WHOLE_SHARE 8

/* P_Skip whose SATD is worth fewer bits is taken at once. */
#define SKIP_BITS 30

/* A shape of several partitions gains more than this by the search, or is left out. */
#define GAIN_BITS 6

struct part_choice {
    uint32_t cost;
    int ref;
    int16_t mv[2];
};

static void part_try(const struct picture_work *w, uint32_t ref, const int16_t mv[2],
                     const int16_t predicted[2], uint32_t satd, struct part_choice *best)
{
    uint32_t bits = work_vector_bits(mv, predicted) + work_ref_bits(w, ref);
    uint32_t cost = satd + w->lambda * bits / 16;
    if (cost < best->cost)
        *best = (struct part_choice){cost, (int)ref, {mv[0], mv[1]}};
}

/* The vector that was found, and the predicted one */
static struct part_choice choose_part(const struct picture_work *w, uint32_t mb, int part,
                                      const struct rec_motion *own)
{
    struct motion_field field = {w->mbs, w->field, w->mb_width};
    struct motion_bounds bounds = work_bounds(w, mb);
    struct part_choice best = {.cost = UINT32_MAX};
    for (uint32_t ref = 0; ref < w->ref_count; ref++) {
        const struct motion_found *found = &w->search[ref][mb].part[part];
        int16_t predicted[2];
        motion_predict(&field, mb, own, search_parts[part], (int)ref, predicted);
        part_try(w, ref, found->mv, predicted, found->cost, &best);
        if (work_allows(&bounds, predicted) && memcmp(predicted, found->mv, sizeof(predicted)) != 0)
            part_try(w, ref, predicted, predicted,
                     work_vector_cost(w, ref, mb, search_parts[part], predicted), &best);
    }
    return best;
}

static uint32_t choose_shape(const struct picture_work *w, uint32_t mb, int shape,
                             struct rec_motion *own)
{
    uint32_t cost = w->lambda * shapes[shape].bits / 16;
    motion_clear(own);
    for (int i = 0; i < shapes[shape].count; i++) {
        int part = shapes[shape].first + i;
        struct part_choice best = choose_part(w, mb, part, own);
        motion_set(own, search_parts[part], best.ref, best.mv);
        cost += best.cost;
    }
    return cost;
}

/* P_Skip's vector costs no bits. */
static uint32_t choose_skip(const struct picture_work *w, uint32_t mb, struct rec_motion *own)
{
    struct motion_field field = {w->mbs, w->field, w->mb_width};
    struct motion_bounds bounds = work_bounds(w, mb);
    int16_t mv[2];
    motion_predict_skip(&field, mb, mv);
    if (!work_allows(&bounds, mv))
        return UINT32_MAX;
    motion_clear(own);
    motion_set(own, search_parts[0], 0, mv);
    return work_vector_cost(w, 0, mb, search_parts[0], mv);
}

/* What a shape costs by the search, without vectors */
static uint32_t shape_found(const struct picture_work *w, uint32_t mb, int shape)
{
    uint32_t cost = w->lambda * shapes[shape].bits / 16;
    for (int i = 0; i < shapes[shape].count; i++) {
        uint32_t best = UINT32_MAX;
        for (uint32_t ref = 0; ref < w->ref_count; ref++) {
            uint32_t found = w->search[ref][mb].part[shapes[shape].first + i].cost;
            best = found < best ? found : best;
        }
        cost += best;
    }
    return cost;
}

static bool shape_is_tried(const struct picture_work *w, uint32_t mb, int shape)
{
    return shape <= 0 ||
           shape_found(w, mb, shape) + w->lambda * GAIN_BITS / 16 < shape_found(w, mb, 0);
}

/* Is intra prediction the better one? inter: what inter prediction costs */
static bool intra_wins(const struct picture_work *w, const struct intra_choice *intra,
                       uint32_t inter)
{
    if (intra->cost == UINT32_MAX)
        return false;
    if (intra->kind == REC_MB_INTRA_16X16)
        inter += inter / WHOLE_SHARE;
    return intra->kind_cost[intra->kind] + w->lambda * INTRA_BITS / 16 < inter;
}

static void choose_mb(struct picture_work *w, uint32_t mb, uint32_t unused)
{
    const struct intra_choice *intra = &w->intra[mb];
    uint32_t best = UINT32_MAX;
    struct rec_motion own;
    w->mbs[mb].kind = REC_MB_INTER;
    for (int shape = -1; shape < 4; shape++) {
        if (!shape_is_tried(w, mb, shape))
            continue;
        uint32_t cost = shape < 0 ? choose_skip(w, mb, &own) : choose_shape(w, mb, shape, &own);
        if (cost < best) {
            best = cost;
            w->motion[mb] = own;
        }
        if (shape < 0 && cost < w->lambda * SKIP_BITS / 16)
            return;
    }
    if (intra_wins(w, intra, best)) {
        w->mbs[mb].kind = intra->kind;
        motion_clear(&w->motion[mb]);
    }
}

void inter_choose(struct picture_work *w)
{
    work_each(w, choose_mb, 0);
}
