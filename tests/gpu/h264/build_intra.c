/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Intra prediction: every mode of every kind with every set of available neighbours that allows it,
 * among inter macroblocks and I_PCM. Combinations are counted.
 */
#include "tests/gpu/h264/checkgpu.h"

#include <string.h>

enum { NEED_A = 1, NEED_B = 2, NEED_D = 4 };
static const uint8_t needs_nxn[9] = {NEED_B,
                                     NEED_A,
                                     0,
                                     NEED_B,
                                     NEED_A | NEED_B | NEED_D,
                                     NEED_A | NEED_B | NEED_D,
                                     NEED_A | NEED_B | NEED_D,
                                     NEED_B,
                                     NEED_A};
static const uint8_t needs_16x16[4] = {NEED_B, NEED_A, 0, NEED_A | NEED_B | NEED_D};
static const uint8_t needs_chroma[4] = {0, NEED_A, NEED_B, NEED_A | NEED_B | NEED_D};

/* The least 4 bits of a set: A, B, C, D. */
static unsigned avail_of(unsigned set)
{
    return (set & 1 ? REC_AVAIL_A : 0) | (set & 2 ? REC_AVAIL_B : 0) | (set & 4 ? REC_AVAIL_C : 0) |
           (set & 8 ? REC_AVAIL_D : 0);
}

static unsigned set_of(unsigned avail)
{
    return (avail & REC_AVAIL_A ? 1u : 0u) | (avail & REC_AVAIL_B ? 2u : 0u) |
           (avail & REC_AVAIL_C ? 4u : 0u) | (avail & REC_AVAIL_D ? 8u : 0u);
}

/* What a block at (x, y), in blocks, of a macroblock has. */
static unsigned block_has(unsigned avail, unsigned x, unsigned y)
{
    bool a = x > 0 || (avail & (y < 2 ? REC_AVAIL_A_UPPER : REC_AVAIL_A_LOWER)),
         b = y > 0 || (avail & REC_AVAIL_B);
    bool above_a = (avail & (y < 3 ? REC_AVAIL_A_UPPER : REC_AVAIL_A_LOWER)) != 0;
    bool d = x > 0 && y > 0 ? true : x > 0 ? b : y > 0 ? above_a : (avail & REC_AVAIL_D) != 0;
    return (a ? NEED_A : 0) | (b ? NEED_B : 0) | (d ? NEED_D : 0);
}

/* What a prediction of the whole macroblock has: all of A. */
static unsigned whole_has(unsigned avail)
{
    return block_has((avail & REC_AVAIL_A) == REC_AVAIL_A ? avail : avail & ~(unsigned)REC_AVAIL_A,
                     0, 0);
}

static unsigned pick(struct check_env *env, const uint8_t *needs, unsigned count, unsigned has)
{
    unsigned mode;
    do
        mode = check_random(env, count);
    while (needs[mode] & ~has);
    return mode;
}

void check_mb_intra(struct check_env *env, struct check_picture *p, uint32_t addr, int kind,
                    unsigned avail)
{
    struct rec_mb *m = &p->mbs[addr];
    struct check_place place = check_place_of(p, addr);
    avail &= place.avail;
    if (!place.split_left && (avail & REC_AVAIL_A) != REC_AVAIL_A)
        avail &= ~(unsigned)REC_AVAIL_A;
    if (place.split_left && check_chance(env, 50))
        avail &= ~(unsigned)(check_chance(env, 50) ? REC_AVAIL_A_UPPER : REC_AVAIL_A_LOWER);
    if (place.mixed_left && !(avail & REC_AVAIL_A) && check_chance(env, 50))
        avail |= REC_AVAIL_D8;
    m->kind = (uint8_t)kind;
    m->flags = (uint8_t)((m->flags & (REC_MB_BYPASS | REC_MB_FIELD)) |
                         (kind == REC_MB_INTRA_8X8 ? REC_MB_TRANSFORM_8X8 : 0));
    m->intra_avail = (uint8_t)avail;
    memset(p->motion[addr].ref_idx, -1, sizeof(p->motion[addr].ref_idx));
    memset(p->motion[addr].mv, 0, sizeof(p->motion[addr].mv));
    memset(m->intra_mode, 0, sizeof(m->intra_mode));
    m->intra_chroma_mode = (uint8_t)pick(env, needs_chroma, 4, whole_has(avail));
    if (kind == REC_MB_INTRA_16X16)
        m->intra_mode[0] = pick(env, needs_16x16, 4, whole_has(avail));
    for (unsigned blk = 0; blk < 16 && kind != REC_MB_INTRA_16X16;
         blk += kind == REC_MB_INTRA_8X8 ? 4 : 1) {
        unsigned bx = (blk & 1) | (blk >> 1 & 2), by = (blk >> 1 & 1) | (blk >> 2 & 2);
        m->intra_mode[blk >> 3] |= pick(env, needs_nxn, 9, block_has(avail, bx, by))
                                   << (4 * (blk & 7));
    }
}

/* [kind][mode][set of neighbours][block]; 16x16 and chroma (kind 3) use block 0. */
static uint16_t seen[4][9][16][16];

static void note(const struct rec_mb *m)
{
    unsigned set = set_of(m->intra_avail);
    seen[3][m->intra_chroma_mode][set][0]++;
    if (m->kind == REC_MB_INTRA_16X16)
        seen[2][m->intra_mode[0]][set][0]++;
    for (unsigned blk = 0; blk < 16 && m->kind < REC_MB_INTRA_16X16;
         blk += m->kind == REC_MB_INTRA_8X8 ? 4 : 1)
        seen[m->kind][m->intra_mode[blk >> 3] >> (4 * (blk & 7)) & 15][set][blk]++;
}

/* The first combination that is possible and was not seen; 0 where there is none. */
static int uncovered(struct check_env *env, bool report)
{
    for (unsigned set = 0; set < 16; set++) {
        unsigned avail = avail_of(set);
        for (unsigned mode = 0; mode < 4; mode++) {
            if (!(needs_16x16[mode] & ~block_has(avail, 0, 0)) && !seen[2][mode][set][0])
                return report ? check_uncovered(env, "Intra16x16PredMode, neighbours", mode, set, 0)
                              : -1;
            if (!(needs_chroma[mode] & ~block_has(avail, 0, 0)) && !seen[3][mode][set][0])
                return report ? check_uncovered(env, "intra_chroma_pred_mode, neighbours", mode,
                                                set, 0)
                              : -1;
        }
        for (unsigned kind = 0; kind < 2; kind++) {
            for (unsigned blk = 0; blk < 16; blk += kind ? 4 : 1) {
                unsigned has =
                    block_has(avail, (blk & 1) | (blk >> 1 & 2), (blk >> 1 & 1) | (blk >> 2 & 2));
                for (unsigned mode = 0; mode < 9; mode++)
                    if (!(needs_nxn[mode] & ~has) && !seen[kind][mode][set][blk])
                        return report ? check_uncovered(env, "Intra NxN mode, neighbours, block",
                                                        mode, set, blk)
                                      : -1;
            }
        }
    }
    return 0;
}

static struct check_picture *build(struct check_env *env, uint32_t index)
{
    struct check_picture *p = check_picture_create(env, index, 2);
    int inter = (int)check_random(env, 60);
    for (uint32_t addr = 0; p && addr < p->view.head.mb_count; addr++) {
        struct check_motion m = {.width = 16, .height = 16, .fraction = {-1, -1}};
        p->slices[p->mbs[addr].slice].scaling = check_random(env, 3);
        if (check_chance(env, inter)) {
            check_mb_inter(env, p, addr, &m);
        } else if (check_chance(env, 10)) {
            check_mb_pcm(env, p, addr);
        } else {
            check_mb_intra(env, p, addr, (int)check_random(env, 3),
                           avail_of(check_chance(env, 40) ? 15 : check_random(env, 16)));
            note(&p->mbs[addr]);
        }
        check_mb_filter(env, p, addr);
        if (p->mbs[addr].kind != REC_MB_INTRA_PCM)
            check_mb_residual(env, p, addr, check_chance(env, 70) ? LEVELS_SPARSE : LEVELS_NONE,
                              60);
    }
    return p;
}

int check_group_intra(struct check_env *env)
{
    memset(seen, 0, sizeof(seen));
    if (check_open(env, 11, 9, 2, 4) < 0)
        return -1;
    for (int batch = 0; batch < 60 && (batch < 6 || uncovered(env, false)); batch++) {
        struct check_picture *pictures[4];
        for (uint32_t i = 0; i < 4; i++) {
            pictures[i] = build(env, i);
            if (!pictures[i])
                return -1;
        }
        if (check_run(env, pictures, 4) < 0)
            return -1;
    }
    return uncovered(env, true);
}
