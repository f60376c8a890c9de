/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Rare inputs of step 3: every macroblock has another shape, with random references and
 * differences. Also damage.
 */
#include "tests/gpu/h264/motion.h"

#include <string.h>

static int16_t random_component(struct check_env *env)
{
    return check_chance(env, 85) ? (int16_t)check_range(env, -2, 2)
                                 : (int16_t)check_range(env, -32768, 32767);
}

/* Index below n, often 0; -1 where the list may go unused. */
static int8_t random_ref(struct check_env *env, int n, bool unused)
{
    if (unused && check_chance(env, 40))
        return -1;
    return (int8_t)(check_chance(env, 50) ? 0 : check_random(env, (uint32_t)n));
}

/* The quadrant whose reference q shares. */
static int partition_of(unsigned part, int q)
{
    return part == H264_PART_16X16  ? 0
           : part == H264_PART_16X8 ? q & 2
           : part == H264_PART_8X16 ? q & 1
                                    : q;
}

static void build_refs(struct check_env *env, const struct der_slice *s, unsigned part,
                       struct rec_motion *m)
{
    memset(m->ref_idx, -1, sizeof(m->ref_idx));
    for (int q = 0; q < 4; q++) {
        int from = partition_of(part, q);
        bool both = s->type == H264_B;
        if (from != q) {
            m->ref_idx[0][q] = m->ref_idx[0][from];
            m->ref_idx[1][q] = m->ref_idx[1][from];
            continue;
        }
        m->ref_idx[0][q] = random_ref(env, s->num_ref[0], both);
        if (both)
            m->ref_idx[1][q] = random_ref(env, s->num_ref[1], m->ref_idx[0][q] >= 0);
    }
}

/* Of what is unspecified or not looked at anything does. */
static void build_differences(struct check_env *env, struct rec_motion *m, bool anything)
{
    memset(m->mv, 0, sizeof(m->mv));
    for (int list = 0; list < 2; list++)
        for (int block = 0; block < 16; block++)
            if (anything || m->ref_idx[list][(block >> 1 & 1) + (block >> 3) * 2] >= 0) {
                m->mv[list][block][0] = random_component(env);
                m->mv[list][block][1] = random_component(env);
            }
}

static void build_macroblock(struct check_env *env, const struct der_slice *s, struct rec_mb *mb,
                             struct rec_motion *m, struct h264_mb_syntax *syntax)
{
    static const uint8_t shapes[2][7] = {
        {H264_PART_16X16, H264_PART_16X8, H264_PART_8X16, H264_PART_8X8, H264_PART_8X8,
         H264_PART_SKIP, H264_PART_SKIP},
        {H264_PART_16X16, H264_PART_16X8, H264_PART_8X16, H264_PART_8X8, H264_PART_8X8,
         H264_PART_DIRECT, H264_PART_DIRECT}};
    bool b = s->type == H264_B;
    unsigned part = shapes[b][check_random(env, 7)];
    mb->kind = REC_MB_INTER;
    mb->flags &= REC_MB_FIELD | REC_MB_BYPASS;
    *syntax = (struct h264_mb_syntax){.part = (uint8_t)part, .decoded = 1};
    for (int q = 0; q < 4 && part == H264_PART_8X8; q++)
        syntax->sub[q] = (uint8_t)check_random(env, b ? 5 : 4);
    build_refs(env, s, part, m);
    if (part == H264_PART_SKIP)
        memset(m->ref_idx[0], 0, sizeof(m->ref_idx[0]));
    build_differences(env, m, part == H264_PART_DIRECT);
    for (int q = 0; q < 4 && part == H264_PART_8X8; q++)
        if (syntax->sub[q] == H264_SUB_DIRECT)
            m->ref_idx[0][q] = m->ref_idx[1][q] = (int8_t)check_range(env, -128, 127);
}

void motion_build(struct check_env *env, const struct motion_case *c, struct motion_arrays *a)
{
    for (uint32_t i = 0; i < c->pic->slice_count; i++) {
        const struct der_slice *s = &c->slices[i];
        if (s->type == H264_I || !s->num_ref[0] || (s->type == H264_B && !s->num_ref[1]))
            continue;
        for (uint32_t addr = s->first_mb; addr < s->end_mb; addr++)
            if (a->mbs[addr].kind == REC_MB_INTER || check_chance(env, 80))
                build_macroblock(env, s, &a->mbs[addr], &a->motion[addr], &a->syntax[addr]);
    }
}

void motion_damage(struct check_env *env, const struct motion_case *c, struct motion_arrays *a)
{
    for (unsigned n = 1 + check_random(env, 3); n > 0; n--) {
        uint32_t addr = check_random(env, c->pic->mb_count);
        uint8_t *at = (uint8_t *)&a->mbs[addr];
        size_t size = sizeof(*a->mbs);
        if (check_chance(env, 40)) {
            at = (uint8_t *)&a->syntax[addr];
            size = sizeof(*a->syntax);
        } else if (check_chance(env, 30)) {
            at = check_chance(env, 70) ? (uint8_t *)a->motion[addr].ref_idx
                                       : (uint8_t *)&a->motion[addr];
            size = at == (uint8_t *)&a->motion[addr] ? sizeof(*a->motion)
                                                     : sizeof(a->motion[addr].ref_idx);
        }
        at[check_random(env, (uint32_t)size)] ^=
            (uint8_t)(check_chance(env, 60) ? 1u << check_random(env, 8)
                                            : 1 + check_random(env, 255));
    }
}

void motion_scramble(struct check_env *env, const struct motion_case *c, struct motion_arrays *a)
{
    uint8_t *bytes = (uint8_t *)a->mbs; /* the first of them */
    for (size_t i = 0; i < c->pic->mb_count * MOTION_MB_BYTES; i += 4) {
        uint32_t word = check_random(env, UINT32_MAX);
        memcpy(bytes + i, &word, sizeof(word));
    }
    for (uint32_t mb = 0; mb < c->pic->mb_count; mb++)
        if (check_chance(env, 50))
            a->syntax[mb].part = (uint8_t)check_random(env, H264_PART_INTRA + 1);
}
