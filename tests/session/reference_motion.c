/* SPDX-License-Identifier: BSD-2-Clause
 *
 * gpu/motion.h for tests of the worker: a device that cannot derive motion, so the workers do.
 */
#include "gpu/motion.h"

int gpu_motion_create(struct gpu *g, const struct gpu_motion_params *params, struct gpu_motion **out)
{
    return GPU_ERR_FEATURE;
}

int gpu_motion_prepare(struct gpu_motion *m)
{
    return GPU_ERR_FEATURE;
}

void gpu_motion_free(struct gpu_motion *m)
{
}

struct gpu_motion_batch *gpu_motion_begin(struct gpu_motion *m)
{
    return NULL;
}

int gpu_motion_add(struct gpu_motion_batch *b, const struct gpu_motion_picture *picture, uint32_t *index)
{
    return GPU_ERR_INVALID;
}

int gpu_motion_submit(struct gpu_motion_batch *b)
{
    return GPU_ERR_INVALID;
}

int gpu_motion_poll(struct gpu_motion_batch *b)
{
    return GPU_ERR_INVALID;
}

uint32_t gpu_motion_result(const struct gpu_motion_batch *b, uint32_t index)
{
    return DER_BAD;
}

void gpu_motion_end(struct gpu_motion_batch *b)
{
}

double gpu_motion_seconds(const struct gpu_motion_batch *b)
{
    return 0;
}
