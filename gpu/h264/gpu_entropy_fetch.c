/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Entropy decoding on the GPU: the queue that copies to the host fetches a batch that is decoded
 * into targets, which the host has allocated. Those that lie in no arena are copied from staging
 * once that is done.
 */
#include "gpu/h264/gpu_entropy_internal.h"

#include <stdlib.h>
#include <string.h>

static int begin_fetch(struct gpu_entropy_batch *b)
{
    struct gpu_submission *s;
    int err = GPU_OK;
    TRY(gpu_work_begin(b->work, UINT64_MAX, &s));
    TRY(gpu_work_record(s, 0));
    gpu_work_forget(s, UINT32_MAX);
    gpu_work_depend(s, b->decoded);
    gpu_work_sync(s, BARRIER_TRANSFER,
                  ENTROPY_BIT(ENT_BIND_MBS) | ENTROPY_BIT(ENT_BIND_MOTION) |
                      ENTROPY_BIT(ENT_BIND_SYNTAX) | ENTROPY_BIT(ENT_BIND_COEFFS) |
                      ENTROPY_BIT(ENT_BIND_PACKED),
                  ENTROPY_TARGETS);
    b->fetch = s;
error:
    return err;
}

/* Room for what every picture may have; made once, before it is named by commands. */
static int need_staging(struct gpu_entropy_batch *b)
{
    const uint64_t size =
        (uint64_t)b->room.mbs *
            (sizeof(struct rec_mb) + sizeof(struct rec_motion) + ENTROPY_SYNTAX_BYTES) +
        (uint64_t)b->room.coeff_blocks * ENTROPY_COEFF_BLOCK_BYTES +
        (uint64_t)b->room.packed_words * sizeof(uint32_t);
    return b->staging.buffer ? GPU_OK
                             : gpu_buffer_create_for(b->e->g, GPU_USE_ENTROPY, size,
                                                     VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                                                     GPU_MEMORY_READBACK, &b->staging);
}

static int need_copy(struct gpu_entropy_batch *b)
{
    if (b->copy_count < b->copy_capacity)
        return GPU_OK;
    uint32_t capacity = 2 * b->copy_capacity + 16;
    struct entropy_copy *grown = realloc(b->copies, capacity * sizeof(*grown));
    if (!grown)
        return GPU_ERR_NOMEM;
    b->copies = grown;
    b->copy_capacity = capacity;
    return GPU_OK;
}

static int fetch_array(struct gpu_entropy_batch *b, uint32_t binding, uint64_t from, uint64_t size,
                       void *to)
{
    struct gpu *g = b->e->g;
    struct gpu_place place;
    int err = GPU_OK;
    if (!size)
        return GPU_OK;
    if (!gpu_arena_find(g, to, size, &place)) {
        TRY(need_staging(b));
        TRY(need_copy(b));
        if (size > b->staging.size - b->staged)
            return GPU_ERR_INVALID; /* a picture is fetched twice */
        place = (struct gpu_place){b->staging.buffer, b->staged, false};
        b->copies[b->copy_count++] = (struct entropy_copy){to, b->staged, size};
        b->staged += size;
    }
    VkBufferCopy copy = {from, place.offset, size};
    g->vk.vkCmdCopyBuffer(b->fetch->commands, b->device[binding].buffer, place.buffer, 1, &copy);
    b->resident |= place.device;
error:
    return err;
}

int gpu_entropy_fetch(struct gpu_entropy_batch *b, uint32_t picture,
                      const struct gpu_entropy_target *to)
{
    int err = GPU_OK;
    if (b->state != BATCH_DECODED || picture >= b->picture_count || b->pictures[picture].failed)
        return GPU_ERR_INVALID;
    const struct batch_picture *pic = &b->pictures[picture];
    const uint64_t base = pic->mb_base, n = pic->mb_count;
    if (!b->fetch)
        TRY(begin_fetch(b));
    TRY(fetch_array(b, ENT_BIND_MBS, base * sizeof(struct rec_mb), n * sizeof(struct rec_mb),
                    to->mbs));
    TRY(fetch_array(b, ENT_BIND_MOTION, base * sizeof(struct rec_motion),
                    n * sizeof(struct rec_motion), to->motion));
    TRY(fetch_array(b, ENT_BIND_SYNTAX, base * ENTROPY_SYNTAX_BYTES, n * ENTROPY_SYNTAX_BYTES,
                    to->syntax));
    TRY(fetch_array(b, ENT_BIND_COEFFS, (uint64_t)pic->coeff_block_base * ENTROPY_COEFF_BLOCK_BYTES,
                    to->coeffs ? (uint64_t)pic->coeff_blocks * ENTROPY_COEFF_BLOCK_BYTES : 0,
                    to->coeffs));
    TRY(fetch_array(b, ENT_BIND_PACKED, pic->packed_base * sizeof(uint32_t),
                    to->packed ? pic->packed_words * sizeof(uint32_t) : 0, to->packed));
error:
    return err;
}

int gpu_entropy_fetch_submit(struct gpu_entropy_batch *b)
{
    struct gpu_submission *s = b->fetch;
    if (b->state != BATCH_DECODED)
        return GPU_ERR_INVALID;
    if (!s) { /* no picture was worth it */
        b->state = BATCH_FETCHED;
        return GPU_OK;
    }
    b->fetch = NULL;
    gpu_work_sync_host(s, ENTROPY_TARGETS);
    int err = gpu_work_submit(s);
    if (err == GPU_OK)
        b->state = BATCH_FETCHING;
    return err;
}

/* A batch that was ended before is free, and nothing of it is wanted. */
void gpu_entropy_fetched(void *ctx, const struct gpu_submission *s)
{
    struct gpu_entropy_batch *b = ctx;
    if (b->state != BATCH_FETCHING)
        return;
    for (uint32_t i = 0; i < b->copy_count; i++)
        memcpy(b->copies[i].to, b->staging.map + b->copies[i].from, b->copies[i].size);
    if (b->resident)
        gpu_arena_written(b->e->g, &s->last);
    b->state = BATCH_FETCHED;
}
