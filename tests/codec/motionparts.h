/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Shared by the tests of step 3: random numbers, an allocator, the sizes of partitions. Included
 * after cmocka.h.
 */
#ifndef PELTON_TESTS_MOTIONPARTS_H
#define PELTON_TESTS_MOTIONPARTS_H

#include "codec/h264_allocator.h"
#include "codec/h264_params.h"

#include <stdlib.h>
#include <string.h>

static uint32_t seed = 7; /* of a failing round: it is printed */

static inline int random_below(int n)
{
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 8) % (uint32_t)n);
}

static inline void *get_memory(void *ctx, size_t size)
{
    return aligned_alloc(64, (size + 63) & ~(size_t)63);
}

static inline void put_memory(void *ctx, void *memory, size_t size)
{
    free(memory);
}

static const struct h264_allocator allocator
    __attribute__((unused)) = {.get = get_memory, .put = put_memory};

/* 4:2:0, 8 bits, flat scaling */
static inline void fill_sps(struct h264_sps *sps, uint16_t mb_width, uint16_t mb_height)
{
    sps->chroma_format_idc = 1;
    sps->bit_depth[0] = sps->bit_depth[1] = 8;
    sps->mb_width = mb_width;
    sps->mb_height = mb_height;
    memset(&sps->scaling, 16, sizeof(sps->scaling));
}

/* In 4x4 blocks, by enum h264_part and by sub_mb_type. */
static const int part_width[4] __attribute__((unused)) = {4, 4, 2, 2},
                               part_height[4] __attribute__((unused)) = {4, 2, 4, 2};
static const int sub_width[4] __attribute__((unused)) = {2, 2, 1, 1},
                              sub_height[4] __attribute__((unused)) = {2, 1, 2, 1};

#endif
