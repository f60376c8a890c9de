/* SPDX-License-Identifier: BSD-2-Clause
 *
 * checkgpu --frames: bytes of a picture's records are changed at random. Changes that the validator
 * refuses are taken back.
 *
 * The validator checks what shaders need to stay inside their memory. It leaves to decoders what
 * can only make samples differ. Changes that break that are taken back, too, or mended:
 * - vectors of unused lists are 0;
 * - a coefficient block belongs to one macroblock;
 * - DC levels are 0 where a component has not all its blocks;
 * - pictures of a batch do not refer to each other.
 * `free` pictures may break these rules; their samples mean nothing.
 */
#include "tests/gpu/h264/checkgpu.h"

#include <stdlib.h>
#include <string.h>

#define PATCHES    16 /* tries for one picture */
#define MOST_BYTES 4  /* of one try */

struct patched_byte {
    uint8_t *at, was;
};

/* A byte of an array; those of macroblocks and motion more often than others. */
static uint8_t *byte_choose(struct check_env *env, struct check_picture *p)
{
    const struct rec_view *v = &p->view;
    size_t size = v->head.mb_count * sizeof(*p->mbs);
    uint8_t *array = (uint8_t *)p->mbs;
    uint32_t dice = check_random(env, 100);
    if (dice >= 40 && dice < 65) {
        array = (uint8_t *)p->motion;
        size = v->head.mb_count * sizeof(*p->motion);
    } else if (dice >= 65 && dice < 80) {
        array = (uint8_t *)p->slices;
        size = v->slice_count * sizeof(*p->slices);
    } else if (dice >= 80 && dice < 90 && v->coeff_block_count) {
        array = p->wide ? (uint8_t *)p->wide : (uint8_t *)p->coeffs;
        size = (size_t)v->coeff_block_count * 16 * v->head.coeff_bytes;
    } else if (dice >= 90 && dice < 95) {
        array = (uint8_t *)p->weights;
        size = v->weight_count * sizeof(*p->weights);
    } else if (dice >= 95) {
        array = (uint8_t *)p->scaling;
        size = v->scaling_count * sizeof(*p->scaling);
    }
    return array + check_random(env, (uint32_t)size);
}

/* Pictures of one batch do not refer to each other; the second field of a frame may refer to the
 * first one, which is `own`. */
static bool references_apart(const struct check_env *env, const struct check_picture *p, int own)
{
    for (uint32_t s = 0; s < p->view.slice_count; s++)
        for (int list = 0; list < 2; list++)
            for (uint32_t i = 0; i < p->slices[s].num_ref[list] && i < REC_MAX_REFS; i++) {
                unsigned ref = p->slices[s].ref[list][i];
                if (REC_REF_SLOT(ref) >= env->refs && (own < 0 || ref != (unsigned)own))
                    return false;
            }
    return true;
}

static void motion_settle(struct check_picture *p)
{
    for (uint32_t addr = 0; addr < p->view.head.mb_count; addr++)
        for (int list = 0; list < 2; list++)
            for (int block = 0; block < 16; block++)
                if (p->motion[addr].ref_idx[list][(block >> 3) * 2 + (block >> 1 & 1)] < 0)
                    memset(p->motion[addr].mv[list][block], 0, 2 * sizeof(int16_t));
}

static void level_zero(struct check_picture *p, uint32_t block)
{
    if (p->wide)
        p->wide[16 * (size_t)block] = 0;
    else
        p->coeffs[16 * (size_t)block] = 0;
}

static void levels_settle(struct check_picture *p)
{
    static const uint16_t all[4] = {0xffff, 0x000f, 0x00ff, 0xffff};
    unsigned format = p->view.head.chroma_format_idc;
    for (uint32_t addr = 0; addr < p->view.head.mb_count; addr++) {
        const struct rec_mb *m = &p->mbs[addr];
        uint32_t block = m->coeff;
        for (int c = 0; c < 3; c++) {
            bool has_dc = c && format != 3 ? true : m->kind == REC_MB_INTRA_16X16;
            bool whole = m->coded[c] == (c ? all[format] : 0xffff);
            for (unsigned n = (unsigned)__builtin_popcount(m->coded[c]); n > 0; n--, block++)
                if (has_dc && !whole && m->kind != REC_MB_INTRA_PCM)
                    level_zero(p, block);
        }
    }
}

static bool blocks_apart(const struct check_picture *p)
{
    bool apart = true;
    uint8_t *taken = calloc(p->view.coeff_block_count + 1, 1);
    for (uint32_t addr = 0; taken && addr < p->view.head.mb_count; addr++) {
        const struct rec_mb *m = &p->mbs[addr];
        int count = (int)check_mb_blocks(m);
        for (int i = 0; i < count; i++)
            apart &= !taken[m->coeff + (uint32_t)i]++;
    }
    free(taken);
    return apart && taken;
}

static bool picture_passes(const struct check_env *env, struct check_picture *p, int own, bool free)
{
    check_finish_head(p);
    return records_validate(&p->view, env->refs + env->width, NULL) == 0 &&
           (free || (references_apart(env, p, own) && blocks_apart(p)));
}

void frames_patch(struct check_env *env, struct check_picture *p, int own, bool free,
                  struct frames_patches *patches)
{
    for (int i = 0; i < PATCHES; i++) {
        struct patched_byte bytes[MOST_BYTES];
        uint32_t count = 1 + check_random(env, MOST_BYTES);
        for (uint32_t k = 0; k < count; k++) {
            bytes[k].at = byte_choose(env, p);
            bytes[k].was = *bytes[k].at;
            *bytes[k].at = check_chance(env, 50)
                               ? (uint8_t)(bytes[k].was ^ 1u << check_random(env, 8))
                               : (uint8_t)check_random(env, 256);
        }
        bool passes = picture_passes(env, p, own, free);
        *(passes ? &patches->passed : &patches->refused) += 1;
        for (uint32_t k = count; k-- > 0 && !passes;)
            *bytes[k].at = bytes[k].was;
    }
    if (free)
        return;
    motion_settle(p);
    levels_settle(p);
}
