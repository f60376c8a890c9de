/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Group growth: every slot of a store holds a picture of its own, and keeps it when the store
 * grows. No picture is reconstructed. The numbers of slots are those of real stores: a driver
 * copied some layers of large image arrays wrongly, and none of small ones.
 */
#include "gpu/h264/recon_internal.h"
#include "tests/gpu/h264/checkgpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SLOTS = 200 }; /* of the last but one */

static const struct growth_case {
    uint32_t mb_width, mb_height;
    uint8_t chroma_format_idc, bit_depth;
    uint32_t slots[3]; /* at first, and each time it has grown */
} cases[] = {
    {11, 9, 1, 8, {76, 152, 304}},  {11, 9, 3, 8, {40, 80, 160}},  {22, 18, 1, 8, {70, 140, 280}},
    {5, 4, 2, 10, {100, 200, 400}}, {120, 68, 1, 8, {12, 24, 48}},
};

static size_t plane_bytes(const struct growth_case *c, int plane)
{
    size_t luma = (size_t)c->mb_width * c->mb_height * 256 * (c->bit_depth > 8 ? 2 : 1);
    return !plane                      ? luma
           : c->chroma_format_idc == 3 ? luma
           : c->chroma_format_idc == 2 ? luma / 2
                                       : luma / 4;
}

/* Samples that tell slot, plane and place. */
static void paint(const struct growth_case *c, uint32_t slot, uint8_t *planes[3])
{
    for (int i = 0; i < 3; i++)
        for (size_t k = 0; k < plane_bytes(c, i); k++)
            planes[i][k] = c->bit_depth > 8 && k % 2
                               ? (uint8_t)((slot >> 8) & 3)
                               : (uint8_t)(slot * 37 + (uint32_t)i * 11 + k * 7 + (k >> 8));
}

static int slots_paint(struct recon *r, const struct growth_case *c, uint32_t first, uint32_t count,
                       uint8_t *planes[3])
{
    int err = 0;
    for (uint32_t i = first; i < count && err >= 0; i++) {
        paint(c, i, planes);
        err = recon_write_slot(r, i, planes[0], planes[1], planes[2]);
    }
    return err;
}

static unsigned slots_wrong(struct check_env *env, struct recon *r, const struct growth_case *c,
                            uint32_t count, uint8_t *planes[3], uint8_t *got[3])
{
    unsigned wrong = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool same = recon_read_slot(r, i, got[0], got[1], got[2]) >= 0;
        paint(c, i, planes);
        for (int k = 0; k < 3 && same; k++)
            same = !memcmp(planes[k], got[k], plane_bytes(c, k));
        env->pictures++;
        if (!same && !wrong++)
            printf("checkgpu growth: %u x %u macroblocks, slot %u of %u differs after growth\n",
                   c->mb_width, c->mb_height, i, count);
    }
    return wrong;
}

static int store_check(struct check_env *env, const struct growth_case *c, uint8_t *planes[3],
                       uint8_t *got[3])
{
    const struct recon_params params = {.mb_width = c->mb_width,
                                        .mb_height = c->mb_height,
                                        .chroma_format_idc = c->chroma_format_idc,
                                        .bit_depth = {c->bit_depth, c->bit_depth},
                                        .slots = c->slots[0],
                                        .width = 2};
    struct recon *r = NULL;
    unsigned wrong = 0;
    int err = recon_create(env->gpu, &params, &r);
    for (int i = 0; i < 3 && err >= 0; i++) {
        uint32_t before = i ? c->slots[i - 1] : 0, slots[MOST_SLOTS];
        for (uint32_t k = 0; k < before; k++)
            slots[k] = k;
        struct recon_growth *growth = NULL;
        if (i)
            err = recon_growth_create(r, c->slots[i], 2, &growth);
        if (i && err >= 0)
            err = recon_grow(r, growth, slots, before);
        wrong += err < 0 ? 0 : slots_wrong(env, r, c, before, planes, got);
        err = err < 0 ? err : slots_paint(r, c, before, c->slots[i], planes);
        env->batches++;
    }
    recon_free(r);
    if (err < 0)
        printf("checkgpu growth: %s\n", gpu_error_text(err));
    return err < 0 || wrong ? -1 : 0;
}

int check_group_growth(struct check_env *env)
{
    const size_t most = (size_t)120 * 68 * 256;
    uint8_t *memory = malloc(6 * most), *planes[3], *got[3];
    int failed = memory ? 0 : -1;
    for (int i = 0; i < 3 && memory; i++) {
        planes[i] = memory + (size_t)i * most;
        got[i] = memory + (size_t)(3 + i) * most;
    }
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]) && memory; i++)
        failed |= store_check(env, &cases[i], planes, got);
    free(memory);
    return failed;
}
