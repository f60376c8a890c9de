/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Parts of built pictures: slices, weights, residual, motion, intra modes. Everything is random within what records allow.
 */
#include "tests/checkgpu/checkgpu.h"

#include <stdlib.h>
#include <string.h>

#define UNITS_PER_MB      24
#define WEIGHTS_PER_SLICE (2 * REC_MAX_REFS * 6)

void check_picture_free(struct check_picture *p)
{
    if (!p)
        return;
    free(p->mbs);
    free(p->motion);
    free(p->slices);
    free(p->coeffs);
    free(p->weights);
    free(p->scaling);
    free(p);
}

/* Table 0 is flat, the others random. */
static void fill_scaling(struct check_env *env, struct rec_scaling *s, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *bytes = (uint8_t *)&s[i];
        for (size_t k = 0; k < sizeof(*s); k++)
            bytes[k] = i == 0 ? 16 : (uint8_t)check_range(env, 1, 255);
    }
}

static void fill_slice(struct check_env *env, struct check_picture *p, uint32_t index)
{
    struct rec_slice *s = &p->slices[index];
    s->slice_type = 1;
    s->weights = index * WEIGHTS_PER_SLICE;
    s->filter_offset_a = (int8_t)(2 * check_range(env, -6, 6));
    s->filter_offset_b = (int8_t)(2 * check_range(env, -6, 6));
    for (int list = 0; list < 2; list++) {
        s->num_ref[list] = (uint8_t)(env->refs ? env->refs : 1);
        uint32_t first = check_random(env, s->num_ref[list]);
        for (uint32_t i = 0; i < s->num_ref[list]; i++)
            s->ref[list][i] = (uint16_t)REC_REF((first + i) % s->num_ref[list], REC_FRAME);
    }
}

struct check_picture *check_picture_create(struct check_env *env, uint32_t index, uint32_t slices)
{
    struct check_picture *p = calloc(1, sizeof(*p));
    uint32_t mbs = env->mb_width * env->mb_height, scaling = 3;
    if (!p)
        return NULL;
    if (slices > mbs)
        slices = mbs;
    p->mbs = calloc(mbs, sizeof(*p->mbs));
    p->motion = calloc(mbs, sizeof(*p->motion));
    p->slices = calloc(slices, sizeof(*p->slices));
    p->coeffs = calloc((size_t)mbs * UNITS_PER_MB * 16, sizeof(*p->coeffs));
    p->weights = calloc((size_t)slices * WEIGHTS_PER_SLICE, sizeof(*p->weights));
    p->scaling = calloc(scaling, sizeof(*p->scaling));
    if (!p->mbs || !p->motion || !p->slices || !p->coeffs || !p->weights || !p->scaling) {
        check_picture_free(p);
        return NULL;
    }
    p->view = (struct rec_view){.head = {.slot = env->refs + index,
                                         .mb_width = env->mb_width,
                                         .mb_height = env->mb_height,
                                         .structure = REC_FRAME,
                                         .chroma_format_idc = 1,
                                         .bit_depth = {8, 8},
                                         .coeff_bytes = 2,
                                         .mb_count = mbs},
                                .mbs = p->mbs,
                                .motion = p->motion,
                                .slices = p->slices,
                                .coeffs = p->coeffs,
                                .weights = p->weights,
                                .scaling = p->scaling,
                                .slice_count = slices,
                                .weight_count = slices * WEIGHTS_PER_SLICE,
                                .scaling_count = scaling};
    fill_scaling(env, p->scaling, scaling);
    for (uint32_t i = 0; i < slices; i++)
        fill_slice(env, p, i);
    for (uint32_t i = 0; i < mbs; i++) {
        p->mbs[i].kind = REC_MB_INTER;
        p->mbs[i].slice = (uint32_t)((uint64_t)i * slices / mbs);
        memset(p->motion[i].ref_idx[1], -1, sizeof(p->motion[i].ref_idx[1]));
    }
    return p;
}

void check_slice_weights(struct check_env *env, struct check_picture *p, uint32_t slice, int mode)
{
    struct rec_slice *s = &p->slices[slice];
    int16_t *w = &p->weights[s->weights];
    s->weight_mode = (uint8_t)mode;
    for (int i = 0; i < 2; i++)
        s->log2_denom[i] = (uint8_t)check_random(env, 8);
    for (uint32_t i = 0; i < WEIGHTS_PER_SLICE; i++) {
        if (mode == REC_WEIGHT_IMPLICIT)
            w[i] = (int16_t)(check_chance(env, 25) ? 32 : check_range(env, -64, 128));
        else if (i & 1)
            w[i] = (int16_t)check_range(env, -128, 127);
        else if (check_chance(env, 20))
            w[i] = (int16_t)check_range(env, -128, 127);
        else
            w[i] = (int16_t)((1 << s->log2_denom[i % 6 > 0]) + check_range(env, -8, 8));
        if (mode == REC_WEIGHT_EXPLICIT && !(i & 1) && w[i] > 127)
            w[i] = 127;
    }
}

static int16_t random_level(struct check_env *env, enum check_levels levels)
{
    switch (levels) {
    case LEVELS_SPARSE:
        return (int16_t)(check_chance(env, 15) ? check_range(env, -6, 6) : 0);
    case LEVELS_DENSE:
        return (int16_t)check_range(env, -40, 40);
    case LEVELS_EXTREME:
        return (int16_t)(check_chance(env, 30) ? check_chance(env, 50) ? 32767 : -32768 : check_range(env, -32768, 32767));
    default:
        return 0;
    }
}

/* luma4x4BlkIdx -> raster block */
static unsigned raster_of(unsigned blk)
{
    return (blk & 9u) | (blk & 2u) << 1 | (blk & 4u) >> 1;
}

void check_mb_residual(struct check_env *env, struct check_picture *p, uint32_t addr, enum check_levels levels, int percent)
{
    struct rec_mb *m = &p->mbs[addr];
    uint32_t unit = p->view.unit_count;
    m->coeff = unit;
    m->nonzero = 0;
    for (int c = 0; c < 3; c++) {
        unsigned blocks = c ? 4 : 16, all = c ? 15 : 0xffff, step = c == 0 && (m->flags & REC_MB_TRANSFORM_8X8) ? 4 : 1,
                 coded = 0;
        bool has_dc = c > 0 || m->kind == REC_MB_INTRA_16X16;
        for (unsigned b = 0; b < blocks; b += step)
            if (levels != LEVELS_NONE && check_chance(env, percent))
                coded |= (step == 4 ? 15u : 1u) << b;
        if (has_dc && coded && check_chance(env, 70))
            coded = all;
        m->coded[c] = (uint16_t)coded;
        for (unsigned b = 0; b < blocks; b++) {
            if (!(coded >> b & 1))
                continue;
            for (int i = 0; i < 16; i++)
                p->coeffs[(size_t)unit * 16 + (size_t)i] = random_level(env, levels);
            if (has_dc && coded != all)
                p->coeffs[(size_t)unit * 16] = 0;
            unit++;
            if (c == 0)
                m->nonzero |= (uint16_t)(1u << raster_of(b));
        }
    }
    p->view.unit_count = unit;
}

void check_mb_pcm(struct check_env *env, struct check_picture *p, uint32_t addr)
{
    struct rec_mb *m = &p->mbs[addr];
    static const int spreads[] = {0, 2, 6, 15, 60, 255};
    int spread = spreads[check_random(env, 6)];
    m->kind = REC_MB_INTRA_PCM;
    m->flags = 0;
    m->qp[0] = 0;
    m->coeff = p->view.unit_count;
    m->coded[0] = 0xffff;
    m->coded[1] = m->coded[2] = 15;
    m->nonzero = 0xffff;
    memset(p->motion[addr].ref_idx, -1, sizeof(p->motion[addr].ref_idx));
    memset(p->motion[addr].mv, 0, sizeof(p->motion[addr].mv));
    int base = check_range(env, 0, 255 - spread);
    for (int i = 0; i < UNITS_PER_MB * 16; i++)
        p->coeffs[(size_t)p->view.unit_count * 16 + (size_t)i] = (int16_t)(base + (int)check_random(env, (uint32_t)spread + 1));
    p->view.unit_count += UNITS_PER_MB;
}

void check_mb_filter(struct check_env *env, struct check_picture *p, uint32_t addr)
{
    struct rec_mb *m = &p->mbs[addr];
    int spread = check_chance(env, 50) ? 51 : 6, base = check_range(env, 0, 51 - spread);
    if (m->kind != REC_MB_INTRA_PCM && !(m->flags & REC_MB_BYPASS))
        m->qp[0] = (int8_t)(base + check_range(env, 0, spread));
    m->qp[1] = (int8_t)check_range(env, 0, 39);
    m->qp[2] = (int8_t)check_range(env, 0, 39);
    if (m->flags & REC_MB_BYPASS)
        memset(m->qp, 0, sizeof(m->qp));
    m->deblock = check_chance(env, 90) ? REC_DEBLOCK_INTERNAL : 0;
    if (m->deblock && addr % env->mb_width && check_chance(env, 90))
        m->deblock |= REC_DEBLOCK_LEFT;
    if (m->deblock && addr >= env->mb_width && check_chance(env, 90))
        m->deblock |= REC_DEBLOCK_TOP;
}
