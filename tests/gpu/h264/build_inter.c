/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Interprediction: every fractional position, partition size, list and kind of weighting. Vectors
 * point inside, across the border and far outside. Every pair of positions is used with both lists.
 */
#include "tests/gpu/h264/checkgpu.h"

#include <string.h>

static const int sizes[7][2] = {{16, 16}, {16, 8}, {8, 16}, {8, 8}, {8, 4}, {4, 8}, {4, 4}};

static int vector(struct check_env *env, enum check_reach reach, int position, int size,
                  int picture_size, int fraction)
{
    int whole;
    if (reach == REACH_FAR)
        whole = check_range(env, -8192, 8191);
    /* the block ends up across one of the borders, or close to it */
    else if (reach == REACH_BORDER)
        whole =
            (check_chance(env, 50) ? 0 : picture_size) - position - check_range(env, -4, size + 4);
    else
        whole = check_range(env, -12, 12);
    return whole * 4 + (fraction >= 0 ? fraction : (int)check_random(env, 4));
}

static void set_partition(struct check_env *env, struct check_picture *p, uint32_t addr,
                          const struct check_motion *m, int list, int x0, int y0)
{
    int fraction = m->fraction[list];
    bool field = p->mbs[addr].flags & REC_MB_FIELD;
    int height = (int)env->mb_height * (field ? 8 : 16), row = (int)(addr / env->mb_width);
    int mb_x = (int)(addr % env->mb_width) * 16, mb_y = (env->mbaff && field ? row / 2 : row) * 16;
    int mv_x = vector(env, m->reach, mb_x + x0, m->width, (int)env->mb_width * 16,
                      fraction < 0 ? -1 : fraction & 3);
    int mv_y =
        vector(env, m->reach, mb_y + y0, m->height, height, fraction < 0 ? -1 : fraction >> 2);
    for (int y = y0; y < y0 + m->height; y += 4) {
        for (int x = x0; x < x0 + m->width; x += 4) {
            p->motion[addr].mv[list][y + x / 4][0] = (int16_t)mv_x;
            p->motion[addr].mv[list][y + x / 4][1] = (int16_t)mv_y;
        }
    }
}

void check_mb_inter(struct check_env *env, struct check_picture *p, uint32_t addr,
                    const struct check_motion *m)
{
    struct rec_motion *o = &p->motion[addr];
    const struct rec_slice *s = &p->slices[p->mbs[addr].slice];
    int lists[4], refs[2][4];
    p->mbs[addr].kind = REC_MB_INTER;
    memset(o->mv, 0, sizeof(o->mv));
    memset(o->ref_idx, -1, sizeof(o->ref_idx));
    for (int q = 0; q < 4; q++) { /* partitions larger than a quadrant share lists and references */
        int same = m->width == 16 && (q & 1) ? q - 1 : m->height == 16 && (q & 2) ? q - 2 : q;
        lists[q] = same < q ? lists[same] : m->lists ? m->lists : check_range(env, 1, 3);
        for (int list = 0; list < 2; list++) {
            refs[list][q] =
                same < q
                    ? refs[list][same]
                    : (int)check_random(
                          env, s->num_ref[list] *
                                   (env->mbaff && (p->mbs[addr].flags & REC_MB_FIELD) ? 2 : 1));
            if (lists[q] >> list & 1)
                o->ref_idx[list][q] = (int8_t)refs[list][q];
        }
    }
    for (int list = 0; list < 2; list++)
        for (int y = 0; y < 16; y += m->height)
            for (int x = 0; x < 16; x += m->width)
                if (lists[(y / 8) * 2 + x / 8] >> list & 1)
                    set_partition(env, p, addr, m, list, x, y);
}

/* One slice per kind of weighting. */
static struct check_picture *weighted_picture(struct check_env *env, uint32_t index)
{
    struct check_picture *p = check_picture_create(env, index, 3);
    for (uint32_t s = 0; p && s < p->view.slice_count; s++)
        check_slice_weights(env, p, s, (int)s);
    return p;
}

struct cursor {
    unsigned next[3]; /* combinations done with each kind of weighting */
};

/* The n-th combination of position, size, lists. */
static void combination(struct check_env *env, unsigned n, struct check_motion *m)
{
    unsigned size = n / 16 % 7, lists = n / 112 % 3;
    *m = (struct check_motion){.width = sizes[size][0],
                               .height = sizes[size][1],
                               .lists = (int)lists + 1,
                               .fraction = {-1, -1},
                               .reach = (enum check_reach)check_random(env, 3)};
    m->fraction[lists == 1] = (int)(n % 16);
}

static void fill_picture(struct check_env *env, struct check_picture *p, struct cursor *cursor,
                         bool pairs)
{
    for (uint32_t addr = 0; addr < p->view.head.mb_count; addr++) {
        struct check_motion m;
        unsigned n = cursor->next[p->slices[p->mbs[addr].slice].weight_mode]++;
        if (pairs)
            m = (struct check_motion){.width = sizes[n % 7][0],
                                      .height = sizes[n % 7][1],
                                      .lists = 3,
                                      .fraction = {(int)(n % 16), (int)(n / 16 % 16)},
                                      .reach = (enum check_reach)check_random(env, 3)};
        else
            combination(env, n, &m);
        check_mb_inter(env, p, addr, &m);
        check_mb_residual(env, p, addr, check_chance(env, 40) ? LEVELS_SPARSE : LEVELS_NONE, 50);
        check_mb_filter(env, p, addr);
    }
}

int check_group_inter(struct check_env *env)
{
    struct cursor singles = {0}, pairs = {0};
    if (check_open(env, 11, 9, 4, 3) < 0)
        return -1;
    while (singles.next[0] < 2 * 336 || singles.next[1] < 2 * 336 || singles.next[2] < 2 * 336 ||
           pairs.next[0] < 256 || pairs.next[1] < 256 || pairs.next[2] < 256) {
        struct check_picture *pictures[3] = {0};
        for (uint32_t i = 0; i < 3; i++) {
            pictures[i] = weighted_picture(env, i);
            if (!pictures[i])
                return -1;
            fill_picture(env, pictures[i], i == 2 ? &pairs : &singles, i == 2);
        }
        if (check_run(env, pictures, 3) < 0)
            return -1;
    }
    return 0;
}
