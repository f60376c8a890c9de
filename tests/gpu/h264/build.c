/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Parts of built pictures: slices, weights, residual, motion, intra modes. Everything is random
 * within the limits of records.
 */
#include "tests/gpu/h264/checkgpu.h"

#include <stdlib.h>
#include <string.h>

#define COEFF_BLOCKS_PER_MB 48
#define WEIGHTS_PER_SLICE   (2 * REC_MAX_REFS * 6)

void check_picture_free(struct check_picture *p)
{
    if (!p)
        return;
    free(p->mbs);
    free(p->motion);
    free(p->slices);
    free(p->coeffs);
    free(p->wide);
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
            s->ref[list][i] = (uint16_t)REC_REF(
                (first + i) % s->num_ref[list],
                env->structure == REC_FRAME ? REC_FRAME : 1 + (int)check_random(env, 2));
    }
}

struct check_picture *check_picture_create(struct check_env *env, uint32_t index, uint32_t slices)
{
    struct check_picture *p = calloc(1, sizeof(*p));
    uint32_t mbs = env->mb_width * env->mb_height / (env->structure == REC_FRAME ? 1 : 2),
             scaling = 3;
    bool wide = env->format.bit_depth[0] > 8 || env->format.bit_depth[1] > 8;
    size_t levels = (size_t)mbs * COEFF_BLOCKS_PER_MB * 16;
    if (!p)
        return NULL;
    if (slices > mbs)
        slices = mbs;
    p->mbs = calloc(mbs, sizeof(*p->mbs));
    p->motion = calloc(mbs, sizeof(*p->motion));
    p->slices = calloc(slices, sizeof(*p->slices));
    if (wide)
        p->wide = calloc(levels, sizeof(*p->wide));
    else
        p->coeffs = calloc(levels, sizeof(*p->coeffs));
    p->weights = calloc((size_t)slices * WEIGHTS_PER_SLICE, sizeof(*p->weights));
    p->scaling = calloc(scaling, sizeof(*p->scaling));
    if (!p->mbs || !p->motion || !p->slices || (!p->coeffs && !p->wide) || !p->weights ||
        !p->scaling) {
        check_picture_free(p);
        return NULL;
    }
    p->view = (struct rec_view){
        .head = {.slot = env->refs + index,
                 .mb_width = env->mb_width,
                 .mb_height = env->mb_height,
                 .structure = env->structure,
                 .mbaff = env->mbaff,
                 .chroma_format_idc =
                     env->format.separate_planes ? 0 : env->format.chroma_format_idc,
                 .colour_plane = env->colour_plane,
                 .bit_depth = {env->format.bit_depth[0], env->format.bit_depth[1]},
                 .coeff_bytes = wide ? 4 : 2,
                 .mb_count = mbs},
        .mbs = p->mbs,
        .motion = p->motion,
        .slices = p->slices,
        .coeffs = wide ? (const void *)p->wide : p->coeffs,
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
        p->mbs[i].flags = env->structure == REC_FRAME ? 0 : REC_MB_FIELD;
        /* macroblock pairs are in one slice */
        p->mbs[i].slice =
            (uint32_t)((uint64_t)(env->mbaff ? i / env->mb_width / 2 * 2 * env->mb_width +
                                                   i % env->mb_width * 2
                                             : i) *
                       slices / mbs);
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
            w[i] = (int16_t)(check_range(env, -128, 127) *
                             (1 << (env->format.bit_depth[i % 6 > 1] - 8)));
        else if (check_chance(env, 20))
            w[i] = (int16_t)check_range(env, -128, 127);
        else
            w[i] = (int16_t)((1 << s->log2_denom[i % 6 > 0]) + check_range(env, -8, 8));
        if (mode == REC_WEIGHT_EXPLICIT && !(i & 1) && w[i] > 127)
            w[i] = 127;
    }
}

static void put_level(struct check_picture *p, uint32_t coeff_block, int i, int level)
{
    if (p->wide)
        p->wide[(size_t)coeff_block * 16 + (size_t)i] = level;
    else
        p->coeffs[(size_t)coeff_block * 16 + (size_t)i] = (int16_t)level;
}

/* Levels of 32 bits go beyond those that entropy decoding lets pass. */
static int extreme_level(struct check_env *env, bool wide)
{
    static const int ends[] = {INT16_MIN,     INT16_MAX, -(1 << 22),
                               (1 << 22) - 1, INT32_MIN, INT32_MAX};
    if (check_chance(env, 30))
        return ends[check_random(env, wide ? 6 : 2)];
    return wide && check_chance(env, 50) ? check_range(env, -(1 << 22), (1 << 22) - 1)
                                         : check_range(env, INT16_MIN, INT16_MAX);
}

static int random_level(struct check_env *env, enum check_levels levels, bool wide)
{
    switch (levels) {
    case LEVELS_SPARSE:
        return check_chance(env, 15) ? check_range(env, -6, 6) : 0;
    case LEVELS_DENSE:
        return check_range(env, -40, 40);
    case LEVELS_EXTREME:
        return extreme_level(env, wide);
    default:
        return 0;
    }
}

/* luma4x4BlkIdx -> raster block */
static unsigned raster_of(unsigned blk)
{
    return (blk & 9u) | (blk & 2u) << 1 | (blk & 4u) >> 1;
}

void check_mb_residual(struct check_env *env, struct check_picture *p, uint32_t addr,
                       enum check_levels levels, int percent)
{
    struct rec_mb *m = &p->mbs[addr];
    uint32_t coeff_block = p->view.coeff_block_count;
    m->coeff = coeff_block;
    m->nonzero = 0;
    for (int c = 0; c < (p->view.head.chroma_format_idc ? 3 : 1); c++) {
        static const unsigned chroma_blocks[4] = {0, 4, 8, 16};
        bool as_luma = c == 0 || p->view.head.chroma_format_idc == 3;
        unsigned blocks = c ? chroma_blocks[p->view.head.chroma_format_idc] : 16,
                 all = (1u << blocks) - 1, coded = 0,
                 step = as_luma && (m->flags & REC_MB_TRANSFORM_8X8) ? 4 : 1;
        bool has_dc = !as_luma || m->kind == REC_MB_INTRA_16X16;
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
                put_level(p, coeff_block, i, random_level(env, levels, p->wide != NULL));
            if (has_dc && coded != all)
                put_level(p, coeff_block, 0, 0);
            coeff_block++;
            if (as_luma)
                m->nonzero |= (uint16_t)(1u << raster_of(b));
        }
    }
    p->view.coeff_block_count = coeff_block;
}

void check_mb_pcm(struct check_env *env, struct check_picture *p, uint32_t addr)
{
    struct rec_mb *m = &p->mbs[addr];
    static const int spreads[] = {0, 2, 6, 15, 60, 255};
    static const unsigned chroma_blocks[4] = {0, 4, 8, 16};
    unsigned chroma = chroma_blocks[p->view.head.chroma_format_idc];
    int spread = spreads[check_random(env, 6)],
        up = env->format.bit_depth[0] < env->format.bit_depth[1] ? env->format.bit_depth[0] - 8
                                                                 : env->format.bit_depth[1] - 8;
    m->kind = REC_MB_INTRA_PCM;
    m->flags &= REC_MB_FIELD;
    m->qp[0] = 0;
    m->coeff = p->view.coeff_block_count;
    m->coded[0] = 0xffff;
    m->coded[1] = m->coded[2] = (uint16_t)((1u << chroma) - 1);
    m->nonzero = 0xffff;
    memset(p->motion[addr].ref_idx, -1, sizeof(p->motion[addr].ref_idx));
    memset(p->motion[addr].mv, 0, sizeof(p->motion[addr].mv));
    int base = check_range(env, 0, 255 - spread);
    for (unsigned i = 0; i < (16 + 2 * chroma) * 16; i++)
        put_level(p, p->view.coeff_block_count, (int)i,
                  (base + (int)check_random(env, (uint32_t)spread + 1)) << up);
    p->view.coeff_block_count += 16 + 2 * chroma;
}

void check_mb_filter(struct check_env *env, struct check_picture *p, uint32_t addr)
{
    struct rec_mb *m = &p->mbs[addr];
    int luma = -6 * (env->format.bit_depth[0] - 8), chroma = -6 * (env->format.bit_depth[1] - 8);
    int spread = check_chance(env, 50) ? 51 - luma : 6, base = check_range(env, luma, 51 - spread);
    struct check_place place = check_place_of(p, addr);
    if (m->kind != REC_MB_INTRA_PCM && !(m->flags & REC_MB_BYPASS))
        m->qp[0] = (int8_t)(base + check_range(env, 0, spread));
    m->qp[1] = (int8_t)check_range(env, chroma, 39);
    m->qp[2] = (int8_t)check_range(env, chroma, 39);
    if (m->flags & REC_MB_BYPASS) {
        m->qp[0] = (int8_t)luma;
        m->qp[1] = m->qp[2] = (int8_t)chroma;
    }
    m->deblock = check_chance(env, 90) ? REC_DEBLOCK_INTERNAL : 0;
    if (m->deblock && (place.deblock & REC_DEBLOCK_LEFT) && check_chance(env, 90))
        m->deblock |= REC_DEBLOCK_LEFT;
    if (m->deblock && (place.deblock & REC_DEBLOCK_TOP) && check_chance(env, 90))
        m->deblock |= REC_DEBLOCK_TOP;
}

struct check_place check_place_of(const struct check_picture *p, uint32_t addr)
{
    const struct rec_mb *m = &p->mbs[addr];
    uint32_t width = p->view.head.mb_width, x = addr % width, y = addr / width;
    bool mbaff = p->view.head.mbaff, field = m->flags & REC_MB_FIELD,
         lower_frame = mbaff && !field && (y & 1);
    bool left = x > 0, above = mbaff && !lower_frame ? y >= 2 : y > 0,
         beside_field = left && (m[-1].flags & REC_MB_FIELD);
    struct check_place place = {.split_left = mbaff && left && field && !beside_field,
                                .mixed_left = mbaff && left && !field && beside_field};
    place.avail = (left ? REC_AVAIL_A : 0) | (above ? REC_AVAIL_B : 0) |
                  (above && left ? REC_AVAIL_D : 0) |
                  (above && !lower_frame && x + 1 < width ? REC_AVAIL_C : 0);
    place.deblock = (left ? REC_DEBLOCK_LEFT : 0) | (above ? REC_DEBLOCK_TOP : 0);
    return place;
}
