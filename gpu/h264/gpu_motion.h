/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Motion derivation (step 3) on the GPU: pictures whose records step 2 has left in memory of the
 * device, many at once. Their motion is derived, all their macroblocks are looked at as
 * records_validate does, and what the CPU needs of them comes back. A batch is filled with
 * pictures, submitted, polled until it is done; then what became of each picture is known, and it
 * is free for the next. A picture that is DER_BAD is the CPU's.
 *
 *   begin -> add.. -> submit -> poll 0 -> result.. -> end
 *
 * Thread: one, whichever, for all of it. The shaders are compiled by gpu_motion_prepare, or else at
 * the first gpu_motion_submit; memory of a batch is taken when it is first begun.
 */
#ifndef PELTON_GPU_MOTION_H
#define PELTON_GPU_MOTION_H

#include "codec/abi/motion_abi.h"
#include "gpu/engine/gpu.h"

struct gpu_motion;
struct gpu_motion_batch;

struct gpu_motion_params {
    /* in flight at most; all on one background queue, which nobody else has as long as there are
     * others */
    uint32_t batches;
    /* what one batch can hold; maps: entries (macroblocks) of colocated maps */
    uint32_t pictures, slices, mbs, maps;
};

/* GPU_ERR_FEATURE where the device cannot hold such batches in one buffer each. */
int gpu_motion_create(struct gpu *g, const struct gpu_motion_params *params,
                      struct gpu_motion **out);
/* Compiles the shaders, which may take a second; else the first gpu_motion_submit does. */
int gpu_motion_prepare(struct gpu_motion *m);
void gpu_motion_free(struct gpu_motion *m); /* waits for what is submitted; NULL allowed */

/* NULL: all are in use, or there is no memory for one more. */
struct gpu_motion_batch *gpu_motion_begin(struct gpu_motion *m);

struct gpu_motion_picture {
    struct der_picture head;        /* mb_base and slice_base are filled in */
    const struct der_slice *slices; /* [head.slice_count], copied; map is filled in */
    /* [head.slice_count]: the map of the slice's colocated picture, head.mb_count entries that are
     * copied, once where several slices name the same; NULL: nothing counts as still */
    const uint16_t *const *maps;
    /* [head.mb_count], as step 2 left them: in arenas, of the device (gpu_arena_create_device) or
     * of the host, where they must stay until the batch is polled to its end, or elsewhere in host
     * memory, from where they are copied by gpu_motion_add. */
    const void *mbs, *motion, *syntax;
    /* [head.mb_count] in arenas of the device: where mbs, and what is derived, are to be there; may
     * be mbs and motion. NULL: nowhere. */
    const void *final_mbs, *final_motion;
    /* Host memory, [head.mb_count] each, written when gpu_motion_poll says 0: in arenas by the
     * device itself, elsewhere by gpu_motion_poll. Those that are NULL are not wanted. Of a picture
     * that is DER_BAD what is written is of no use. */
    struct rec_mb *to_mbs;
    struct rec_motion *to_motion;
    uint16_t *to_still;
};
/* GPU_ERR_NOMEM: the batch is full. GPU_ERR_INVALID: a final array is not in an arena of the
 * device, or a target of the host is; slices that do not cover [0, mb_count) in order; sizes that
 * disagree, or more than 512 macroblocks of width. */
int gpu_motion_add(struct gpu_motion_batch *b, const struct gpu_motion_picture *picture,
                   uint32_t *index);
/* After an error the batch is to be ended. GPU_ERR_INVALID: it is empty. */
int gpu_motion_submit(struct gpu_motion_batch *b);
/* 1 still at work, 0 done, negative error. */
int gpu_motion_poll(struct gpu_motion_batch *b);
/* Once poll said 0: DER_* of the picture. */
uint32_t gpu_motion_result(const struct gpu_motion_batch *b, uint32_t index);
/* The batch is free for gpu_motion_begin; in any state, but waits where it is submitted, and then
 * no target is written any more. NULL allowed. */
void gpu_motion_end(struct gpu_motion_batch *b);

/* Seconds that the device needed for the pictures of the batch, copies left out, once poll said 0;
 * 0 where gpu_params.timestamps is not set. */
double gpu_motion_seconds(const struct gpu_motion_batch *b);

#endif
