/* SPDX-License-Identifier: BSD-2-Clause
 *
 * checkgpu --motion: where the arrays of a case lie, and which bytes of host memory the device
 * needs of them. This counts them on its own: sectors of 32 bytes, by what step 2 leaves in them.
 */
#include "tests/gpu/h264/motion.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SECTOR       32
#define GROUP        64 /* macroblocks of a workgroup, which reads a sector once */
#define GROUP_BYTES  (GROUP * sizeof(struct rec_motion))
#define MOST_SECTORS (GROUP_BYTES / SECTOR + 2)

static const char *const shape_names[MOTION_SHAPES] = {
    "16x16", "16x8", "8x16", "8x8", "P_Skip", "B_Skip and direct", "intra", "other"};

/* Arrays begin at any place in a sector. At an odd word they cannot be read there. */
static size_t random_shift(struct check_env *env)
{
    return check_chance(env, 90) ? 8 * check_random(env, SECTOR / 8)
                                 : 4 + 8 * check_random(env, SECTOR / 8);
}

int motion_place(struct motion_check *p, enum motion_source source, uint8_t *raw, uint32_t before,
                 uint32_t mb_count, uint8_t **at)
{
    const size_t size = mb_count * MOTION_MB_BYTES, offset = before * MOTION_MB_BYTES;
    if (source == MOTION_FROM_HOST) {
        *at = raw;
        return 0;
    }
    if (source == MOTION_FROM_DEVICE) {
        *at = p->device_memory + offset;
        return gpu_arena_write(p->env->gpu, *at, size, raw);
    }
    *at = p->host_memory[source == MOTION_FROM_OTHER_ARENA] + offset + random_shift(p->env);
    memcpy(*at, raw, size);
    return 0;
}

/* What a group of macroblocks reads; begin: of its first record in a sector. */
struct group {
    const struct motion_arrays *arrays;
    uint32_t first;
    size_t begin;
    bool read[MOST_SECTORS];
};

static void read_at(struct group *g, uint32_t mb, size_t offset)
{
    g->read[(g->begin + (mb - g->first) * sizeof(struct rec_motion) + offset) / SECTOR] = true;
}

/* 7.3.5.1, 7.3.5.2: the difference of a partition is at its first block. */
static void read_quadrant(struct group *g, uint32_t mb, int list, int q)
{
    static const uint8_t blocks[4][4] = {
        [H264_SUB_8X8] = {0, 0, 0, 0},
        [H264_SUB_8X4] = {0, 4, 4, 4},
        [H264_SUB_4X8] = {0, 1, 1, 1},
        [H264_SUB_4X4] = {0, 1, 4, 5},
    };
    const struct h264_mb_syntax *s = &g->arrays->syntax[mb];
    unsigned sub = s->part == H264_PART_8X8 ? s->sub[q] : H264_SUB_8X8;
    int corner = q / 2 * 8 + q % 2 * 2;
    if (sub == H264_SUB_DIRECT || g->arrays->motion[mb].ref_idx[list][q] < 0)
        return;
    for (int i = 0; i < 4; i++)
        read_at(g, mb,
                offsetof(struct rec_motion, mv) +
                    (size_t)(16 * list + corner + blocks[sub][i]) * 4);
}

static void read_macroblock(struct group *g, uint32_t mb)
{
    static const uint8_t begins[4] = {[H264_PART_16X16] = 1,
                                      [H264_PART_16X8] = 1 | 4,
                                      [H264_PART_8X16] = 1 | 2,
                                      [H264_PART_8X8] = 15};
    const unsigned part = g->arrays->syntax[mb].part;
    if (part > H264_PART_8X8)
        return;
    read_at(g, mb, offsetof(struct rec_motion, ref_idx));
    for (int q = 0; q < 4; q++)
        for (int list = 0; list < 2 && begins[part] >> q & 1; list++)
            read_quadrant(g, mb, list, q);
}

static uint64_t sectors_of(const struct motion_arrays *a, uint32_t mb_count, size_t begin)
{
    uint64_t sectors = 0;
    for (uint32_t first = 0; first < mb_count; first += GROUP) {
        struct group g = {.arrays = a,
                          .first = first,
                          .begin = (begin + first * sizeof(struct rec_motion)) % SECTOR};
        for (uint32_t mb = first; mb < mb_count && mb < first + GROUP; mb++)
            read_macroblock(&g, mb);
        for (size_t i = 0; i < MOST_SECTORS; i++)
            sectors += g.read[i];
    }
    return sectors;
}

/* The arrays are copied whole. */
static bool is_copied(const struct motion_placed *placed, uint32_t mb_count)
{
    const uintptr_t at = (uintptr_t)motion_arrays_at(placed->at, mb_count).motion;
    return placed->source != MOTION_FROM_HOST && at % 8;
}

bool motion_bytes_right(const struct motion_placed *placed, const uint8_t *raw, uint32_t mb_count,
                        uint64_t bytes)
{
    const struct motion_arrays a = motion_arrays_at((uint8_t *)raw, mb_count);
    const size_t begin = (uintptr_t)motion_arrays_at(placed->at, mb_count).motion % SECTOR;
    const uint64_t dense = mb_count * (sizeof(*a.mbs) + sizeof(*a.syntax));
    bool right = false;
    if (placed->source == MOTION_FROM_DEVICE)
        return bytes == 0;
    if (is_copied(placed, mb_count))
        return bytes == mb_count * MOTION_MB_BYTES;
    if (placed->source != MOTION_FROM_HOST)
        return bytes == dense + SECTOR * sectors_of(&a, mb_count, begin);
    for (size_t at = 0; at < SECTOR; at += 8) /* the batch has a copy somewhere */
        right |= bytes == dense + SECTOR * sectors_of(&a, mb_count, at);
    return right;
}

void motion_mend(const struct motion_placed *placed, struct motion_arrays *a, uint32_t mb_count)
{
    if (placed->source == MOTION_FROM_DEVICE || is_copied(placed, mb_count))
        return;
    for (uint32_t mb = 0; mb < mb_count; mb++) {
        if (a->syntax[mb].part != H264_PART_SKIP)
            continue;
        memset(a->motion[mb].ref_idx[0], 0, sizeof(a->motion[mb].ref_idx[0]));
        memset(a->motion[mb].ref_idx[1], -1, sizeof(a->motion[mb].ref_idx[1]));
    }
}

void motion_count_shapes(struct motion_check *p, const struct motion_case *c)
{
    const struct motion_arrays a = motion_arrays_at(c->raw, c->pic->mb_count);
    for (uint32_t mb = 0; mb < c->pic->mb_count; mb++) {
        unsigned part = a.syntax[mb].part;
        p->shapes[part < MOTION_SHAPES ? part : MOTION_SHAPES - 1]++;
    }
    p->counted++;
    p->env->mbs += c->pic->mb_count;
    p->copied_bytes += c->pic->mb_count * MOTION_MB_BYTES;
    p->fetched_bytes += c->pic->mb_count * (sizeof(*a.mbs) + sizeof(*a.syntax)) +
                        SECTOR * sectors_of(&a, c->pic->mb_count, 0);
}

void motion_print_shapes(const struct motion_check *p)
{
    uint64_t all = 0;
    for (int i = 0; i < MOTION_SHAPES; i++)
        all += p->shapes[i];
    if (!all)
        return;
    printf("checkgpu motion: macroblocks");
    for (int i = 0; i < MOTION_SHAPES; i++)
        printf("%s %.1f%% %s", i ? "," : "", 100.0 * (double)p->shapes[i] / (double)all,
               shape_names[i]);
    printf("\ncheckgpu motion: a picture in host memory: %" PRIu64 " bytes copied, %" PRIu64
           " bytes fetched\n",
           p->copied_bytes / p->counted, p->fetched_bytes / p->counted);
}
