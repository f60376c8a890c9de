/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Motion derivation (step 3) on the GPU, for many pictures at once. The records of step 2 are in
 * device memory. The GPU derives the motion and checks all macroblocks as records_validate does.
 * The arrays that the CPU needs are copied to it. The caller fills a batch with pictures, submits
 * it, and polls until it is done. Then the outcome of each picture is known, and the batch is free.
 * A picture that is DER_BAD is left to the CPU.
 *
 *   begin -> add.. -> submit -> poll 0 -> result.. -> end
 *
 * Thread: one at a time for a gpu_motion and its batches. Other threads may use the struct gpu
 * beside it. A batch allocates its memory when it is first begun.
 */
#ifndef PELTON_GPU_MOTION_H
#define PELTON_GPU_MOTION_H

#include "codec/abi/motion_abi.h"
#include "gpu/engine/gpu.h"

struct gpu_motion;
struct gpu_motion_batch;

struct gpu_motion_params {
    uint32_t batches; /* in flight at most, all on the main queue */
    /* what one batch can hold; maps: entries (macroblocks) of colocated maps */
    uint32_t pictures, slices, mbs, maps;
    /* rec_motion in host memory is copied whole; else the device reads there what it needs */
    bool copies;
};

/* GPU_ERR_FEATURE where the device cannot hold such batches in one buffer each. */
int gpu_motion_create(struct gpu *g, const struct gpu_motion_params *params,
                      struct gpu_motion **out);
/* Compile the shaders, which may take a second. Without this call the first gpu_motion_submit does.
 */
int gpu_motion_prepare(struct gpu_motion *m);
void gpu_motion_free(struct gpu_motion *m); /* waits for submitted batches; NULL allowed */

/* NULL: all are in use, or there is no memory for one more. */
struct gpu_motion_batch *gpu_motion_begin(struct gpu_motion *m);

struct gpu_motion_picture {
    struct der_picture head;        /* mb_base and slice_base are filled in */
    const struct der_slice *slices; /* [head.slice_count], copied; map is filled in */
    /* [head.slice_count]: colZeroFlag map of the slice's colocated picture, head.mb_count entries;
     * copied once per map. NULL: no block has the flag. */
    const uint16_t *const *maps;
    /* [head.mb_count], the output of step 2. In arenas of the device or the host they must stay
     * until the batch is done. gpu_motion_add copies them from other host memory. Of motion in host
     * memory the shape of a macroblock says what is read. The rest counts as coders leave it: no
     * difference, and the references that the shape implies. */
    const void *mbs, *motion, *syntax;
    /* [head.mb_count] in device arenas: targets for mbs and the derived motion, for reconstruction.
     * They may equal mbs and motion. NULL: not wanted. */
    const void *final_mbs, *final_motion;
    /* Host targets, [head.mb_count] each, complete when gpu_motion_poll returns 0. NULL: not
     * wanted. Meaningless if the picture is DER_BAD. */
    struct rec_mb *to_mbs;
    struct rec_motion *to_motion;
    uint16_t *to_still;
};
/* GPU_ERR_NOMEM: the batch is full. GPU_ERR_INVALID: a final array is not in a device arena, or a
 * host target is; slices do not cover [0, mb_count) in order; sizes disagree; the picture is wider
 * than 512 macroblocks. */
int gpu_motion_add(struct gpu_motion_batch *b, const struct gpu_motion_picture *picture,
                   uint32_t *index);
/* After an error, end the batch. GPU_ERR_INVALID: it is empty. */
int gpu_motion_submit(struct gpu_motion_batch *b);
/* 1 still at work, 0 done, negative error. */
int gpu_motion_poll(struct gpu_motion_batch *b);
/* After poll returned 0: DER_* of the picture. */
uint32_t gpu_motion_result(const struct gpu_motion_batch *b, uint32_t index);
/* After poll returned 0, of a picture that is not DER_BAD: entries of list 0 and 1 that the slice's
 * macroblocks refer to, bit i for entry i. */
void gpu_motion_used(const struct gpu_motion_batch *b, uint32_t index, uint32_t slice,
                     uint32_t used[2]);
/* After poll returned 0: bytes of the picture's mbs, motion and syntax that the device has read in
 * host memory. Motion that is not copied whole counts by sectors of 32 bytes. A group of 64
 * macroblocks reads a sector once. */
uint64_t gpu_motion_host_bytes(const struct gpu_motion_batch *b, uint32_t index);
/* Free the batch for gpu_motion_begin, in any state. Waits if it is submitted; no target is written
 * after that. NULL allowed. */
void gpu_motion_end(struct gpu_motion_batch *b);

/* After poll returned 0: the device's seconds for the pictures, without copies. 0 without
 * gpu_params.timestamps. */
double gpu_motion_seconds(const struct gpu_motion_batch *b);
/* The same for copies to the device, and reads in host memory. */
double gpu_motion_input_seconds(const struct gpu_motion_batch *b);

/* Gives the memory of all batches back; none is begun. They are made again when they are begun. */
void gpu_motion_trim(struct gpu_motion *m);

#endif
