/* SPDX-License-Identifier: BSD-2-Clause
 *
 * All formats but progressive 8-bit 4:2:0. Built like the random group:
 * - chroma formats, depths, separate colour planes, and lossless macroblocks in all of them;
 * - field pictures that refer to fields, also to the other field of their own frame;
 * - MBAFF frames whose pairs change between frame and field at random;
 * - all of these, and progressive frames, with SP and SI slices.
 */
#include "tests/gpu/h264/checkgpu.h"

#include <stdio.h>

static const int sizes[7][2] = {{16, 16}, {16, 8}, {8, 16}, {8, 8}, {8, 4}, {4, 8}, {4, 4}};

struct mixture {
    int intra, bypass, field; /* percent of macroblocks, macroblocks, pairs */
    bool near;                /* vectors around the limits of the deblocking filter */
};

static void near_vectors(struct check_env *env, struct rec_motion *o)
{
    for (int b = 0; b < 16; b++)
        for (int list = 0; list < 2; list++)
            for (int c = 0; c < 2; c++)
                o->mv[list][b][c] = (int16_t)(o->ref_idx[list][(b >> 3) * 2 + (b >> 1 & 1)] < 0
                                                  ? 0
                                                  : check_range(env, -2, 2));
}

static void build_inter(struct check_env *env, struct check_picture *p, uint32_t addr,
                        const struct mixture *mix)
{
    struct rec_mb *m = &p->mbs[addr];
    const int *size = sizes[check_random(env, 7)];
    struct check_motion motion = {
        .width = size[0],
        .height = size[1],
        .lists = p->slices[m->slice].slice_type == 1 ? 0 : 1,
        .fraction = {-1, -1},
        .reach = check_chance(env, 60) ? REACH_NEAR : (enum check_reach)check_random(env, 3)};
    check_mb_inter(env, p, addr, &motion);
    if (mix->near && check_chance(env, 70))
        near_vectors(env, &p->motion[addr]);
    m->flags |=
        p->slices[m->slice].slice_type < 3 && check_chance(env, 40) ? REC_MB_TRANSFORM_8X8 : 0;
}

static void build_intra(struct check_env *env, struct check_picture *p, uint32_t addr)
{
    struct rec_mb *m = &p->mbs[addr];
    unsigned slice_type = p->slices[m->slice].slice_type,
             avail = check_chance(env, 70) ? 31 : check_random(env, 32);
    bool si = slice_type == 4 && check_chance(env, 60);
    int kind = slice_type < 3                ? (int)check_random(env, 3)
               : si || check_chance(env, 50) ? REC_MB_INTRA_4X4
                                             : REC_MB_INTRA_16X16;
    check_mb_intra(env, p, addr, kind, avail);
    m->flags |= si ? REC_MB_SI : 0;
}

static void build_mb(struct check_env *env, struct check_picture *p, uint32_t addr,
                     const struct mixture *mix)
{
    struct rec_mb *m = &p->mbs[addr];
    unsigned slice_type = p->slices[m->slice].slice_type;
    bool intra = slice_type == 2 || slice_type == 4 || check_chance(env, mix->intra);
    bool bypass = slice_type < 3 && check_chance(env, mix->bypass);
    if (intra && check_chance(env, 5)) {
        check_mb_pcm(env, p, addr);
        check_mb_filter(env, p, addr);
        return;
    }
    m->flags = (uint8_t)((m->flags & REC_MB_FIELD) | (bypass ? REC_MB_BYPASS : 0));
    if (intra)
        build_intra(env, p, addr);
    else
        build_inter(env, p, addr, mix);
    check_mb_filter(env, p, addr);
    check_mb_residual(env, p, addr,
                      check_chance(env, 50)   ? LEVELS_SPARSE
                      : check_chance(env, 20) ? LEVELS_DENSE
                      : check_chance(env, 10) ? LEVELS_EXTREME
                                              : LEVELS_NONE,
                      40);
}

static void build_slice(struct check_env *env, struct check_picture *p, uint32_t index, int own)
{
    struct rec_slice *slice = &p->slices[index];
    slice->slice_type = (uint8_t)(check_chance(env, 60) ? 1 : check_random(env, 3));
    if (env->switching && check_chance(env, 75))
        slice->slice_type = check_chance(env, 70) ? 3 : 4;
    if (slice->slice_type >= 3) {
        slice->sp_for_switch = slice->slice_type == 3 && check_chance(env, 40);
        for (int i = 0; i < 3; i++)
            slice->qs[i] = (int8_t)check_random(env, 52);
    }
    slice->scaling = check_random(env, 3);
    slice->num_ref[1] = slice->slice_type == 1 ? slice->num_ref[1] : 0;
    check_slice_weights(env, p, index, (int)check_random(env, slice->slice_type == 1 ? 3 : 2));
    for (int list = 0; own >= 0 && list < 2; list++)
        if (slice->num_ref[list] > 0 && check_chance(env, 70))
            slice->ref[list][0] = (uint16_t)own;
}

struct check_picture *check_build_any(struct check_env *env, uint32_t index, int own)
{
    struct check_picture *p = check_picture_create(env, index, 1 + check_random(env, 4));
    struct mixture mix = {.intra = check_chance(env, 30) ? 0 : (int)check_random(env, 100),
                          .bypass = check_chance(env, 20) ? 60 : 0,
                          .field = check_chance(env, 20) ? 0 : (int)check_random(env, 101),
                          .near = check_chance(env, 60)};
    bool filtered = check_chance(env, 90);
    for (uint32_t s = 0; p && s < p->view.slice_count; s++)
        build_slice(env, p, s, own);
    for (uint32_t addr = 0; p && env->mbaff && addr < p->view.head.mb_count; addr++)
        if (!(addr / env->mb_width & 1) && check_chance(env, mix.field)) {
            p->mbs[addr].flags |= REC_MB_FIELD;
            p->mbs[addr + env->mb_width].flags |= REC_MB_FIELD;
        }
    for (uint32_t addr = 0; p && addr < p->view.head.mb_count; addr++) {
        build_mb(env, p, addr, &mix);
        if (!filtered)
            p->mbs[addr].deblock = 0;
    }
    return p;
}

static int run_batch(struct check_env *env, uint32_t n)
{
    struct check_picture *pictures[CHECK_SLOTS];
    for (uint32_t i = 0; i < n; i++) {
        if (env->format.separate_planes)
            env->colour_plane = (uint8_t)(i % 3);
        pictures[i] = check_build_any(env, i, -1);
        if (!pictures[i])
            return -1;
        if (env->format.separate_planes)
            pictures[i]->view.head.slot = env->refs + i / 3;
    }
    return check_run(env, pictures, n);
}

static int run_format(struct check_env *env, uint32_t mb_width, uint32_t mb_height, int batches)
{
    int result = check_open(env, mb_width, mb_height, 3, 3);
    for (int batch = 0; batch < batches && result == 0; batch++)
        result = run_batch(env, 3);
    check_close(env);
    return result;
}

/* Every format has pipelines of its own, so these are chosen: each chroma format with 8 bits and
 * more, each depth, and depths that differ. */
int check_group_formats(struct check_env *env)
{
    static const struct check_format formats[] = {
        {.chroma_format_idc = 2, .bit_depth = {8, 8}},
        {.chroma_format_idc = 3, .bit_depth = {8, 8}},
        {.chroma_format_idc = 0, .bit_depth = {8, 8}},
        {.chroma_format_idc = 1, .bit_depth = {10, 10}},
        {.chroma_format_idc = 2, .bit_depth = {9, 11}},
        {.chroma_format_idc = 3, .bit_depth = {14, 14}},
        {.chroma_format_idc = 1, .bit_depth = {8, 12}},
        {.chroma_format_idc = 0, .bit_depth = {13, 8}},
        {.chroma_format_idc = 3, .bit_depth = {10, 8}, .separate_planes = true},
    };
    for (unsigned i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        env->format = formats[i];
        env->colour_plane = 0;
        if (run_format(env, 7, 5, 8) < 0)
            return -1;
    }
    return 0;
}

/* Both fields of three frames, in two batches; the second ones may refer to the first ones. */
static int run_fields(struct check_env *env)
{
    uint8_t first = (uint8_t)(1 + check_random(env, 2));
    for (int second = 0; second < 2; second++) {
        struct check_picture *pictures[3];
        env->structure = second ? 3 - first : first;
        for (uint32_t i = 0; i < 3; i++) {
            pictures[i] = check_build_any(env, i, second ? (int)REC_REF(env->refs + i, first) : -1);
            if (!pictures[i])
                return -1;
        }
        if (check_run(env, pictures, 3) < 0)
            return -1;
    }
    env->structure = REC_FRAME;
    return 0;
}

/* 8 bits 4:2:0, then the other formats; odd numbers of rows of macroblocks in a field too. */
static int run_interlaced(struct check_env *env, uint32_t mb_width, uint32_t mb_height, int rounds,
                          bool mbaff)
{
    env->mbaff = 0;
    int result = check_open(env, mb_width, mb_height, 3, 3);
    for (int round = 0; round < rounds && result == 0; round++) {
        env->mbaff = mbaff;
        result = mbaff ? run_batch(env, 3) : run_fields(env);
        env->mbaff = 0;
        if (result == 0 && check_chance(env, 20)) /* plain frames among them */
            result = run_batch(env, 3);
    }
    env->mbaff = 0;
    env->structure = REC_FRAME;
    check_close(env);
    return result;
}

static int run_interlaced_formats(struct check_env *env, bool mbaff)
{
    static const struct {
        uint8_t chroma_format_idc, bit_depth[2];
        int rounds;
    } formats[] = {{1, {8, 8}, 24}, {1, {10, 10}, 8}, {2, {8, 8}, 8}, {3, {9, 9}, 8}};
    for (unsigned i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        env->format =
            (struct check_format){.chroma_format_idc = formats[i].chroma_format_idc,
                                  .bit_depth = {formats[i].bit_depth[0], formats[i].bit_depth[1]},
                                  .interlaced = true};
        if (run_interlaced(env, 7, i & 1 ? 6 : 8, formats[i].rounds, mbaff) < 0)
            return -1;
    }
    env->format =
        (struct check_format){.chroma_format_idc = 1, .bit_depth = {8, 8}, .interlaced = true};
    return run_interlaced(env, 1, 2, 2, mbaff) < 0 || run_interlaced(env, 33, 4, 2, mbaff) < 0 ? -1
                                                                                               : 0;
}

int check_group_fields(struct check_env *env)
{
    return run_interlaced_formats(env, false);
}

int check_group_mbaff(struct check_env *env)
{
    return run_interlaced_formats(env, true);
}

/* Progressive frames, whose other pictures have shaders of their own; fields; MBAFF frames. */
int check_group_switching(struct check_env *env)
{
    env->switching = true;
    env->format = (struct check_format){.chroma_format_idc = 1, .bit_depth = {8, 8}};
    if (run_format(env, 7, 5, 24) < 0)
        return -1;
    env->format.interlaced = true;
    return run_interlaced(env, 6, 6, 8, false) < 0 || run_interlaced(env, 5, 8, 8, true) < 0 ? -1
                                                                                             : 0;
}
