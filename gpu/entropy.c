/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Entropy decoding on the GPU: batches, their buffers and commands.
 */
#include "gpu/entropy.h"

int gpu_entropy_create(struct gpu *g, const struct gpu_entropy_params *params, struct gpu_entropy **out)
{
    return GPU_ERR_FEATURE;
}

void gpu_entropy_free(struct gpu_entropy *e)
{
}

struct gpu_entropy_batch *gpu_entropy_begin(struct gpu_entropy *e)
{
    return NULL;
}

int gpu_entropy_add_picture(struct gpu_entropy_batch *b, uint32_t mb_count, uint32_t units, uint32_t *picture)
{
    return GPU_ERR_FEATURE;
}

uint8_t *gpu_entropy_slice_bytes(struct gpu_entropy_batch *b, size_t most)
{
    return NULL;
}

int gpu_entropy_add_slice(struct gpu_entropy_batch *b, uint32_t picture, const struct ent_slice *slice, size_t size)
{
    return GPU_ERR_FEATURE;
}

int gpu_entropy_submit(struct gpu_entropy_batch *b)
{
    return GPU_ERR_FEATURE;
}

int gpu_entropy_poll(struct gpu_entropy_batch *b)
{
    return GPU_ERR_FEATURE;
}

int gpu_entropy_wait(struct gpu_entropy *e, uint64_t timeout_ns)
{
    return GPU_ERR_FEATURE;
}

bool gpu_entropy_picture_ok(const struct gpu_entropy_batch *b, uint32_t picture, uint32_t *units)
{
    return false;
}

int gpu_entropy_fetch(struct gpu_entropy_batch *b, uint32_t picture, const struct gpu_entropy_target *to)
{
    return GPU_ERR_FEATURE;
}

int gpu_entropy_fetch_submit(struct gpu_entropy_batch *b)
{
    return GPU_ERR_FEATURE;
}

void gpu_entropy_end(struct gpu_entropy_batch *b)
{
}

double gpu_entropy_seconds(const struct gpu_entropy_batch *b)
{
    return 0;
}
