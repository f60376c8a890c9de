/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Deblocking: every strength with every average QP, on edges inside and between macroblocks.
 * Offsets move the thresholds over their whole range. Combinations are counted, and one that no
 * edge of the inputs had is a failure.
 */
#include "tests/gpu/h264/checkgpu.h"

#include <string.h>

static uint32_t seen[5][52]; /* [bS][indexA] */
static uint64_t changed;

/* Smooth macroblocks: differences at edges are small enough for filters to work. */
static void build_mb(struct check_env *env, struct check_picture *p, uint32_t addr, int intra,
                     int qp)
{
    struct rec_mb *m = &p->mbs[addr];
    static const int sizes[4][2] = {{16, 16}, {8, 8}, {8, 4}, {4, 4}};
    unsigned size = check_random(env, 4);
    struct check_motion motion = {
        .width = sizes[size][0], .height = sizes[size][1], .fraction = {-1, -1}};
    bool t8x8 = check_chance(env, 30);
    if (check_chance(env, intra)) {
        check_mb_intra(env, p, addr, (int)check_random(env, 3), 31);
    } else {
        check_mb_inter(env, p, addr, &motion);
        /* small differences of vectors, around the limit of 4 */
        for (int b = 0; b < 16 && check_chance(env, 70); b++)
            for (int c = 0; c < 4; c++)
                p->motion[addr].mv[c >> 1][b][c & 1] =
                    (int16_t)(p->motion[addr].ref_idx[c >> 1][(b >> 3) * 2 + (b >> 1 & 1)] < 0
                                  ? 0
                                  : check_range(env, -3, 3));
        m->flags = t8x8 ? REC_MB_TRANSFORM_8X8 : 0;
    }
    check_mb_filter(env, p, addr);
    int spread = check_range(env, -2, 2);
    m->qp[0] = (int8_t)(qp + spread < 0 ? 0 : qp + spread > 51 ? 51 : qp + spread);
    check_mb_residual(env, p, addr, check_chance(env, 50) && qp < 34 ? LEVELS_SPARSE : LEVELS_NONE,
                      25);
    if (qp >= 34 && check_chance(env, 50)) { /* a single small level in some blocks */
        check_mb_residual(env, p, addr, LEVELS_SPARSE, 20);
        int16_t *c = &p->coeffs[(size_t)m->coeff * 16];
        for (size_t i = 0; i < (size_t)(p->view.coeff_block_count - m->coeff) * 16; i++)
            c[i] = (int16_t)(c[i] > 0) - (int16_t)(c[i] < 0);
    }
}

static void note(const struct rec_view *v, uint32_t px, uint32_t py, uint32_t qx, uint32_t qy)
{
    uint32_t p = py / 16 * v->head.mb_width + px / 16, q = qy / 16 * v->head.mb_width + qx / 16;
    const struct rec_slice *s = &v->slices[v->mbs[q].slice];
    int index = (v->mbs[p].qp[0] + v->mbs[q].qp[0] + 1) / 2 + s->filter_offset_a;
    seen[ref_deblock_strength(v, (int)px, (int)py, (int)qx, (int)qy)][index < 0    ? 0
                                                                      : index > 51 ? 51
                                                                                   : index]++;
}

static void note_edges(const struct rec_view *v)
{
    for (uint32_t addr = 0; addr < v->head.mb_count; addr++) {
        uint32_t x = addr % v->head.mb_width * 16, y = addr / v->head.mb_width * 16;
        unsigned deblock = v->mbs[addr].deblock;
        bool t8x8 = v->mbs[addr].flags & REC_MB_TRANSFORM_8X8;
        for (uint32_t e = 0; e < 16; e += 4) {
            for (uint32_t k = 0; k < 16; k += 4) {
                bool inside = (deblock & REC_DEBLOCK_INTERNAL) && !(t8x8 && (e & 4));
                if (e ? inside : (deblock & REC_DEBLOCK_LEFT) != 0)
                    note(v, x + e - 1, y + k, x + e, y + k);
                if (e ? inside : (deblock & REC_DEBLOCK_TOP) != 0)
                    note(v, x + k, y + e - 1, x + k, y + e);
            }
        }
    }
}

static void count_changed(const struct check_env *env, uint32_t slot, uint32_t index)
{
    const struct ref_frame *a = env->frames[slot], *b = env->unfiltered[index];
    for (uint32_t y = 0; y < a->height; y++)
        for (uint32_t x = 0; x < a->width; x++)
            changed += a->plane[0][(size_t)y * a->stride[0] + x] !=
                       b->plane[0][(size_t)y * b->stride[0] + x];
}

/* All QPs once. */
static int run_round(struct check_env *env)
{
    for (int qp = 0; qp < 52; qp += 4) {
        struct check_picture *pictures[4];
        for (uint32_t i = 0; i < 4; i++) {
            struct check_picture *p = pictures[i] =
                check_picture_create(env, i, 1 + check_random(env, 4));
            int intra = (int)check_random(env, 50);
            if (!p)
                return -1;
            for (uint32_t addr = 0; addr < p->view.head.mb_count; addr++)
                build_mb(env, p, addr, intra, qp + (int)i);
            note_edges(&p->view);
        }
        if (check_run(env, pictures, 4) < 0)
            return -1;
        for (uint32_t i = 0; i < 4; i++)
            count_changed(env, env->refs + i, i);
    }
    return 0;
}

static int uncovered(struct check_env *env, bool report)
{
    for (unsigned bs = 0; bs < 5; bs++)
        for (unsigned index = 0; index < 52; index++)
            if (!seen[bs][index])
                return report ? check_uncovered(env, "bS, indexA", bs, index, 0) : -1;
    return changed > 20000 ? 0
           : report        ? check_uncovered(env, "filtered samples", (unsigned)changed, 0, 0)
                           : -1;
}

int check_group_deblock(struct check_env *env)
{
    memset(seen, 0, sizeof(seen));
    changed = 0;
    if (check_open(env, 8, 6, 3, 4) < 0)
        return -1;
    for (int round = 0; round < 20 && (round < 3 || uncovered(env, false)); round++)
        if (run_round(env) < 0)
            return -1;
    return uncovered(env, true);
}
