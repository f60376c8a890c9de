/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Packed levels of built pictures, as coders make them. Half of the pictures of 8 bits go to the
 * device in this form. The reference reads their coefficient blocks.
 */
#include "codec/pack_levels.h"
#include "tests/gpu/h264/checkgpu.h"

#include <stdlib.h>

static uint32_t pack_all(const struct check_picture *p, uint32_t *packed)
{
    uint32_t next = p->view.head.mb_count;
    for (uint32_t addr = 0; addr < p->view.head.mb_count; addr++) {
        const struct rec_mb *m = &p->mbs[addr];
        unsigned n = check_mb_blocks(m);
        packed[addr] = UINT32_MAX; /* nobody reads it where there are no levels */
        if (n)
            next = h264_pack_levels(packed, next, addr, p->coeffs + 16 * (size_t)m->coeff, n);
    }
    return next;
}

static void change_words(struct check_env *env, uint32_t *packed, uint32_t words)
{
    for (uint32_t i = 0; i < 8; i++)
        packed[check_random(env, words)] ^=
            check_chance(env, 50) ? 1u << check_random(env, 32) : check_random(env, UINT32_MAX);
}

uint32_t *check_pack(struct check_env *env, const struct check_picture *p, bool any,
                     struct rec_view *out)
{
    uint32_t count = p->view.head.mb_count;
    *out = p->view;
    if (!p->coeffs || check_chance(env, 50))
        return NULL;
    uint32_t room = count + count * (REC_PACKED_WORDS(48) + 1) + H264_PACKED_SLACK,
             *packed = calloc(room, sizeof(*packed));
    if (!packed)
        return NULL;
    out->packed = packed;
    out->packed_words = pack_all(p, packed);
    out->coeffs = NULL;
    if (any)
        change_words(env, packed, out->packed_words);
    return packed;
}
