/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Everything mixed. Batches hold pictures of different kinds, with several slices, each with
 * weights, references and thresholds of its own. Pictures refer to earlier batches. Frames have all
 * small sizes, odd ones, and one of 1080p.
 */
#include "tests/gpu/h264/checkgpu.h"

static const int sizes[7][2] = {{16, 16}, {16, 8}, {8, 16}, {8, 8}, {8, 4}, {4, 8}, {4, 4}};

static void build_mb(struct check_env *env, struct check_picture *p, uint32_t addr, int intra)
{
    struct rec_mb *m = &p->mbs[addr];
    const struct rec_slice *s = &p->slices[m->slice];
    const int *size = sizes[check_random(env, 7)];
    struct check_motion motion = {
        .width = size[0],
        .height = size[1],
        .lists = s->slice_type == 0 ? 1 : 0,
        .fraction = {-1, -1},
        .reach = check_chance(env, 60) ? REACH_NEAR : (enum check_reach)check_random(env, 3)};
    if (s->slice_type == 2 || check_chance(env, intra)) {
        if (check_chance(env, 5)) {
            check_mb_pcm(env, p, addr);
            check_mb_filter(env, p, addr);
            return;
        }
        check_mb_intra(env, p, addr, (int)check_random(env, 3),
                       check_chance(env, 70) ? 31 : REC_AVAIL_A | check_random(env, 32));
    } else {
        bool skip = check_chance(env, 30);
        if (skip)
            motion.width = motion.height = 16;
        check_mb_inter(env, p, addr, &motion);
        m->flags = (uint8_t)(skip ? REC_MB_SKIP : check_chance(env, 40) ? REC_MB_TRANSFORM_8X8 : 0);
    }
    check_mb_filter(env, p, addr);
    if (!(m->flags & REC_MB_SKIP))
        check_mb_residual(env, p, addr,
                          check_chance(env, 50)   ? LEVELS_SPARSE
                          : check_chance(env, 20) ? LEVELS_DENSE
                                                  : LEVELS_NONE,
                          40);
}

struct check_picture *check_build_plain(struct check_env *env, uint32_t index)
{
    struct check_picture *p = check_picture_create(env, index, 1 + check_random(env, 6));
    int intra = check_chance(env, 30) ? 0 : (int)check_random(env, 100);
    bool filtered = check_chance(env, 85);
    for (uint32_t s = 0; p && s < p->view.slice_count; s++) {
        struct rec_slice *slice = &p->slices[s];
        slice->slice_type = (uint8_t)(check_chance(env, 60) ? 1 : check_random(env, 3));
        slice->scaling = check_random(env, 3);
        slice->num_ref[1] = slice->slice_type == 1 ? slice->num_ref[1] : 0;
        check_slice_weights(env, p, s, (int)check_random(env, slice->slice_type == 1 ? 3 : 2));
        /* frames that earlier batches wrote are references too, as are doubles */
        for (int list = 0; list < 2; list++)
            for (uint32_t i = 0; i < slice->num_ref[list]; i++)
                slice->ref[list][i] = (uint16_t)REC_REF(check_random(env, env->refs), REC_FRAME);
    }
    for (uint32_t addr = 0; p && addr < p->view.head.mb_count; addr++) {
        build_mb(env, p, addr, intra);
        if (!filtered)
            p->mbs[addr].deblock = 0;
    }
    return p;
}

/* Slots change places: what a batch writes is read by the next one, which overwrites what was read.
 */
static int run_batch(struct check_env *env, uint32_t n, bool swap)
{
    struct check_picture *pictures[CHECK_SLOTS];
    for (uint32_t i = 0; i < n; i++) {
        pictures[i] = check_build_plain(env, i);
        if (!pictures[i])
            return -1;
        if (!swap)
            continue;
        for (uint32_t s = 0; s < pictures[i]->view.slice_count; s++)
            for (int list = 0; list < 2; list++)
                for (uint32_t k = 0; k < pictures[i]->slices[s].num_ref[list]; k++)
                    pictures[i]->slices[s].ref[list][k] =
                        (uint16_t)(pictures[i]->slices[s].ref[list][k] + REC_REF(env->refs, 0));
        pictures[i]->view.head.slot = i;
    }
    return check_run(env, pictures, n);
}

int check_group_random(struct check_env *env)
{
    if (check_open(env, 11, 9, 5, 5) < 0)
        return -1;
    for (int batch = 0; batch < 40; batch++)
        if (run_batch(env, batch < 2 ? 5 : 1 + check_random(env, 5), batch >= 1 && (batch & 1)) < 0)
            return -1;
    return 0;
}

int check_group_sizes(struct check_env *env)
{
    static const uint32_t frames[][2] = {{1, 1},
                                         {1, 7},
                                         {9, 1},
                                         {2, 2},
                                         {3, 2},
                                         {2, 5},
                                         {33, 2},
                                         {40, 3},
                                         {120, 68},
                                         {REC_MAX_SIDE_MBS, 1},
                                         {1, REC_MAX_SIDE_MBS}};
    for (unsigned i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
        bool large = frames[i][0] * frames[i][1] > 1000;
        if (check_open(env, frames[i][0], frames[i][1], large ? 1 : 2, large ? 1 : 2) < 0)
            return -1;
        for (int batch = 0; batch < (large ? 1 : 4); batch++)
            if (run_batch(env, large ? 1 : 2, false) < 0)
                return -1;
        check_close(env);
    }
    return 0;
}
