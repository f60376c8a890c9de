/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Inter macroblocks: predicted, transformed, quantised, and weighed by squared error and bits: with
 * 4x4 or 8x8 transforms, without a residual, or as P_Skip.
 */
#include "encode/reference/cost.h"
#include "encode/reference/picture_work.h"

#include <string.h>

/* A prediction whose squared error is worth this many bits, or fewer, has no residual. */
#define NEAR_BITS 32

/* One way to code a macroblock */
struct inter_coding {
    uint32_t cost;  /* squared differences, and bits */
    uint32_t alone; /* squared differences of the prediction alone */
    unsigned coded[3];
    bool transform_8x8;
    struct rec_motion motion;
    struct mb_levels levels;
    uint16_t samples[3][256]; /* reconstructed, stride 16 or 8 */
};

/* A macroblock's prediction by its motion, which stands in w->motion, and the residual */
struct inter_target {
    struct picture_work *w;
    uint32_t mb;
    uint16_t pred[3][256];
    int32_t residual[3][256];
};

static int components(const struct picture_work *w)
{
    return w->encoding->chroma_format_idc ? 3 : 1;
}

static void target_predict(struct inter_target *t, const struct rec_motion *motion)
{
    struct picture_work *w = t->w;
    struct ref_frame *frames[WORK_SLOTS];
    struct rec_view view = {
        .head = w->head, .mbs = w->mbs, .slices = w->slices, .motion = w->motion};
    w->motion[t->mb] = *motion;
    for (int i = 0; i < WORK_SLOTS; i++)
        frames[i] = w->slot[i].frame;
    ref_predict_inter_mb(&view, frames, WORK_SLOTS, t->mb, t->pred);
    for (int c = 0; c < components(w); c++) {
        const uint16_t *source = work_samples(w, w->source, t->mb, c);
        int size = c ? 8 : 16;
        for (int i = 0; i < size * size; i++)
            t->residual[c][i] =
                source[(uint32_t)(i / size) * w->source->stride[c] + (uint32_t)(i % size)] -
                t->pred[c][i];
    }
}

/* Reconstruct a component; its squared error */
static uint32_t coding_add(const struct inter_target *t, int component, const int32_t *back,
                           uint16_t *samples)
{
    uint32_t ssd = 0;
    int count = component ? 64 : 256;
    for (int i = 0; i < count; i++) {
        int pred = t->pred[component][i], v = pred + (back ? back[i] : 0), error;
        v = v < 0 ? 0 : v > 255 ? 255 : v;
        samples[i] = (uint16_t)v;
        error = t->residual[component][i] + pred - v;
        ssd += (uint32_t)(error * error);
    }
    return ssd;
}

static uint32_t weighed(const struct picture_work *w, uint32_t ssd, uint32_t bits16)
{
    return ssd + (uint32_t)((uint64_t)w->lambda_ssd * bits16 / 256);
}

/* Luma with one size of transforms: cost of it alone */
static uint32_t code_luma(const struct inter_target *t, bool transform_8x8, struct inter_coding *c)
{
    struct block_coder coder = block_coder_at(t->w->mbs[t->mb].qp[0], false, t->w->level_max);
    int32_t back[256];
    c->transform_8x8 = transform_8x8;
    c->coded[0] = transform_8x8 ? levels_luma_8x8(&coder, t->residual[0], c->levels.block, back)
                                : levels_luma_4x4(&coder, t->residual[0], c->levels.block, back);
    return weighed(t->w, coding_add(t, 0, back, c->samples[0]),
                   levels_bits((const int16_t(*)[16])c->levels.block, c->coded[0], transform_8x8));
}

uint32_t inter_code_luma(struct picture_work *w, uint32_t mb, const struct rec_motion *motion,
                         bool transform_8x8, int16_t level[16][16], unsigned *coded,
                         uint16_t samples[256])
{
    struct inter_target t = {.w = w, .mb = mb};
    struct inter_coding c;
    uint32_t cost;
    target_predict(&t, motion);
    cost = code_luma(&t, transform_8x8, &c);
    memcpy(level, c.levels.block, 16 * sizeof(level[0]));
    memcpy(samples, c.samples[0], sizeof(c.samples[0]));
    *coded = c.coded[0];
    return cost;
}

static uint32_t code_chroma(const struct inter_target *t, struct inter_coding *c)
{
    const struct rec_mb *m = &t->w->mbs[t->mb];
    uint32_t cost = 0;
    for (int i = 1; i < components(t->w); i++) {
        struct block_coder coder = block_coder_at(m->qp[i], false, t->w->level_max);
        int16_t(*level)[16] = c->levels.block + 12 + 4 * i;
        int32_t back[64];
        c->coded[i] = levels_chroma(&coder, t->residual[i], level, back);
        cost += weighed(t->w, coding_add(t, i, back, c->samples[i]),
                        levels_bits((const int16_t(*)[16])level, c->coded[i], false));
    }
    return cost;
}

/* Bits of a macroblock's type and vectors by the field, in 16ths */
static uint32_t syntax_bits(const struct picture_work *w, uint32_t mb, const struct rec_motion *own)
{
    struct motion_field field = {w->mbs, w->field, w->mb_width};
    struct rec_motion so_far;
    static const uint8_t first[5] = {0, 1, 3, 5, 9}, type_bits[4] = {1, 3, 3, 9};
    int shape = 0;
    uint32_t bits;
    while (shape < 3 && !(motion_is_one(own, search_parts[first[shape]]) &&
                          motion_is_one(own, search_parts[first[shape + 1] - 1])))
        shape++;
    bits = type_bits[shape];
    motion_clear(&so_far);
    for (int i = first[shape]; i < first[shape + 1]; i++) {
        struct motion_part part = search_parts[i];
        int ref = own->ref_idx[0][2 * part.y + part.x];
        const int16_t *mv = own->mv[0][8 * part.y + 2 * part.x];
        int16_t predicted[2];
        motion_predict(&field, mb, &so_far, part, ref, predicted);
        bits += work_vector_bits(mv, predicted) + work_ref_bits(w, (uint32_t)ref);
        motion_set(&so_far, part, ref, mv);
    }
    return 16 * bits;
}

static bool is_skip_motion(const struct picture_work *w, const struct rec_motion *motion,
                           uint32_t mb, const struct rec_motion *own)
{
    struct motion_field field = {w->mbs, motion, w->mb_width};
    int16_t mv[2];
    motion_predict_skip(&field, mb, mv);
    return motion_is_one(own, search_parts[0]) && own->ref_idx[0][0] == 0 &&
           memcmp(own->mv[0][0], mv, sizeof(mv)) == 0;
}

static bool coding_has_levels(const struct inter_coding *c)
{
    return (c->coded[0] | c->coded[1] | c->coded[2]) != 0;
}

/* The prediction alone */
static void code_nothing(const struct inter_target *t, uint32_t bits16, struct inter_coding *c)
{
    memset(c->coded, 0, sizeof(c->coded));
    c->transform_8x8 = false;
    c->alone = 0;
    for (int i = 0; i < components(t->w); i++)
        c->alone += coding_add(t, i, NULL, c->samples[i]);
    c->cost = weighed(t->w, c->alone, bits16);
}

/* With a residual; bits16: of the type and the vectors. 8x8 is tried where 4x4 has levels. */
static void code_residual(const struct inter_target *t, uint32_t bits16, struct inter_coding *c)
{
    struct inter_coding wide;
    uint32_t luma = code_luma(t, false, c);
    if (t->w->encoding->transform_8x8 && c->coded[0] && code_luma(t, true, &wide) < luma)
        luma = code_luma(t, true, c);
    c->cost = luma + code_chroma(t, c) + weighed(t->w, 0, bits16 + 3 * 16);
}

/* The best coding of one motion: with residual, or without */
static void code_motion(struct picture_work *w, uint32_t mb, const struct rec_motion *motion,
                        struct inter_coding *best)
{
    struct inter_target t = {.w = w, .mb = mb};
    struct inter_coding other = {.motion = *motion};
    bool skip = is_skip_motion(w, w->field, mb, motion);
    uint32_t bits16 = syntax_bits(w, mb, motion);
    target_predict(&t, motion);
    best->motion = *motion;
    code_nothing(&t, skip ? 8 : bits16 + 16, best);
    if (best->alone <= weighed(w, 0, 16 * NEAR_BITS))
        return;
    other.alone = best->alone;
    code_residual(&t, bits16, &other);
    if (other.cost < best->cost && coding_has_levels(&other))
        *best = other;
}

static void coding_keep(struct picture_work *w, uint32_t mb, const struct inter_coding *c)
{
    struct rec_mb *m = &w->mbs[mb];
    w->motion[mb] = c->motion;
    w->levels[mb] = c->levels;
    m->flags = c->transform_8x8 && c->coded[0] ? REC_MB_TRANSFORM_8X8 : 0;
    for (int i = 0; i < components(w); i++) {
        uint16_t *out = work_samples(w, w->unfiltered, mb, i);
        int size = i ? 8 : 16;
        m->coded[i] = (uint16_t)c->coded[i];
        for (int y = 0; y < size; y++)
            memcpy(out + (uint32_t)y * w->unfiltered->stride[i], c->samples[i] + y * size,
                   (size_t)size * sizeof(*out));
    }
}

/* By P_Skip's motion, if it is allowed and differs: with a residual where its squared error is not
 * far greater than that of the other motion */
static void code_skip(struct picture_work *w, uint32_t mb, uint32_t alone, struct inter_coding *c)
{
    struct motion_field field = {w->mbs, w->field, w->mb_width};
    struct motion_bounds bounds = work_bounds(w, mb);
    struct inter_target t = {.w = w, .mb = mb};
    struct rec_motion skip;
    int16_t mv[2];
    motion_predict_skip(&field, mb, mv);
    motion_clear(&skip);
    motion_set(&skip, search_parts[0], 0, mv);
    if (!work_allows(&bounds, mv) || memcmp(&skip, &w->field[mb], sizeof(skip)) == 0)
        return;
    target_predict(&t, &skip);
    c->motion = skip;
    code_nothing(&t, 8, c);
    if (c->alone <= 2 * alone)
        code_motion(w, mb, &skip, c);
}

/* P_Skip's motion is tried where the motion of the field has levels. */
static void code_mb(struct picture_work *w, uint32_t mb, uint32_t unused)
{
    struct inter_coding best = {.cost = UINT32_MAX}, other = {.cost = UINT32_MAX};
    w->motion[mb] = w->field[mb];
    if (w->mbs[mb].kind != REC_MB_INTER)
        return;
    code_motion(w, mb, &w->field[mb], &best);
    if (coding_has_levels(&best))
        code_skip(w, mb, best.alone, &other);
    coding_keep(w, mb, other.cost < best.cost ? &other : &best);
}

void inter_code(struct picture_work *w)
{
    work_each(w, code_mb, 0);
}

void inter_mark_skipped(struct picture_work *w)
{
    for (uint32_t mb = 0; mb < w->mb_count; mb++) {
        struct rec_mb *m = &w->mbs[mb];
        if (m->kind == REC_MB_INTER && !(m->coded[0] | m->coded[1] | m->coded[2]) &&
            is_skip_motion(w, w->motion, mb, &w->motion[mb]))
            m->flags |= REC_MB_SKIP;
    }
}
