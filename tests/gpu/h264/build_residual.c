/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Residual: every QP with sparse, dense and extreme levels, flat and random scaling, every kind of
 * macroblock and transform. Lossless macroblocks use every direction of prediction.
 */
#include "tests/gpu/h264/checkgpu.h"

static const enum check_levels all_levels[3] = {LEVELS_SPARSE, LEVELS_DENSE, LEVELS_EXTREME};

/* Kinds: 4x4 inter, 8x8 inter, 4x4, 8x8, 16x16 intra. */
static void build_mb(struct check_env *env, struct check_picture *p, uint32_t addr, unsigned kind,
                     bool bypass)
{
    struct check_motion motion = {.width = 16, .height = 16, .fraction = {-1, -1}};
    p->mbs[addr].flags = bypass ? REC_MB_BYPASS : 0;
    if (kind >= 2) {
        check_mb_intra(env, p, addr, (int)kind - 2, 31);
        return;
    }
    check_mb_inter(env, p, addr, &motion);
    p->mbs[addr].flags |= kind ? REC_MB_TRANSFORM_8X8 : 0;
}

int check_group_residual(struct check_env *env)
{
    const unsigned end = 52 * 5 * 3; /* QP, kind, levels */
    unsigned next[3] = {0};          /* combinations done with each scaling table */
    if (check_open(env, 9, 5, 1, 4) < 0)
        return -1;
    while (next[0] < end || next[1] < end || next[2] < end) {
        struct check_picture *pictures[4];
        for (uint32_t i = 0; i < 4; i++) {
            struct check_picture *p = pictures[i] = check_picture_create(env, i, 3);
            if (!p)
                return -1;
            for (uint32_t s = 0; s < p->view.slice_count; s++)
                p->slices[s].scaling = s;
            for (uint32_t addr = 0; addr < p->view.head.mb_count; addr++) {
                unsigned n = next[p->mbs[addr].slice]++;
                build_mb(env, p, addr, n % 5, false);
                check_mb_filter(env, p, addr);
                for (int c = 0; c < 3; c++)
                    p->mbs[addr].qp[c] = (int8_t)(n / 5 % (c ? 40 : 52));
                check_mb_residual(env, p, addr, all_levels[n / 260 % 3], 80);
            }
        }
        if (check_run(env, pictures, 4) < 0)
            return -1;
    }
    return 0;
}

int check_group_bypass(struct check_env *env)
{
    if (check_open(env, 7, 6, 1, 3) < 0)
        return -1;
    for (int batch = 0; batch < 6; batch++) {
        struct check_picture *pictures[3];
        for (uint32_t i = 0; i < 3; i++) {
            struct check_picture *p = pictures[i] = check_picture_create(env, i, 1);
            if (!p)
                return -1;
            for (uint32_t addr = 0; addr < p->view.head.mb_count; addr++) {
                build_mb(env, p, addr, check_random(env, 5), check_chance(env, 85));
                check_mb_filter(env, p, addr);
                check_mb_residual(env, p, addr, all_levels[check_random(env, 3)], 60);
            }
        }
        if (check_run(env, pictures, 3) < 0)
            return -1;
    }
    return 0;
}
