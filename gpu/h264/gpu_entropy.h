/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Entropy decoding (step 2) on the GPU: slices in, records out, many pictures at once. A batch is
 * filled with pictures and their slices, submitted, polled until it is done; then what became of
 * each picture is known, and its arrays are fetched into memory of the caller's, polled again; then
 * it is free for the next. A picture of which any slice has not gone through without an error is
 * the CPU's.
 *
 *   begin -> add_picture, (slice_bytes, add_slice).. -> submit -> poll 0 -> picture_ok, fetch.. ->
 * fetch_submit -> poll 0 -> end
 *
 * Thread: one, whichever, for all of it. The shader is compiled by gpu_entropy_prepare, or else at
 * the first gpu_entropy_submit; memory of a batch is taken when it is first begun.
 */
#ifndef PELTON_GPU_ENTROPY_H
#define PELTON_GPU_ENTROPY_H

#include "codec/abi/entropy_abi.h"
#include "gpu/engine/gpu.h"

struct gpu_entropy;
struct gpu_entropy_batch;

struct gpu_entropy_params {
    /* in flight at most; each has a queue of its own where the device has so many */
    uint32_t batches;
    uint32_t pictures, slices, mbs, coeff_blocks, bytes; /* what one batch can hold */
    const struct ent_tables *tables;                     /* h264_entropy_tables; copied */
};

/* GPU_ERR_FEATURE where the device cannot hold such batches in one buffer each. */
int gpu_entropy_create(struct gpu *g, const struct gpu_entropy_params *params,
                       struct gpu_entropy **out);
/* Compiles the shader, which may take a second; else the first gpu_entropy_submit does. */
int gpu_entropy_prepare(struct gpu_entropy *e);
void gpu_entropy_free(struct gpu_entropy *e); /* waits for what is submitted; NULL allowed */

/* NULL: all are in use, or there is no memory for one more. */
struct gpu_entropy_batch *gpu_entropy_begin(struct gpu_entropy *e);
/* coefficient blocks: most that the picture may take; where it needs more it is the CPU's.
 * GPU_ERR_NOMEM: the batch is full. */
int gpu_entropy_add_picture(struct gpu_entropy_batch *b, uint32_t mb_count, uint32_t coeff_blocks,
                            uint32_t *picture);
/* Where the next slice's bytes are to be written, at most so many; not to be read. NULL: the batch
 * is full. */
uint8_t *gpu_entropy_slice_bytes(struct gpu_entropy_batch *b, size_t most);
/* The slice whose `size` bytes were written there; word, mb_base, coeff_block_base,
 * coeff_block_count and picture are filled in. GPU_ERR_NOMEM: the batch is full; GPU_ERR_INVALID:
 * the slice leaves its picture or its bytes. A picture with too few slices is not ok in the end. */
int gpu_entropy_add_slice(struct gpu_entropy_batch *b, uint32_t picture,
                          const struct ent_slice *slice, size_t size);
int gpu_entropy_submit(struct gpu_entropy_batch *b);
/* 1 still at work, 0 done, negative error. */
int gpu_entropy_poll(struct gpu_entropy_batch *b);
/* Until any submitted batch is done: 0; 1 after timeout_ns, or where none is submitted; negative
 * error. */
int gpu_entropy_wait(struct gpu_entropy *e, uint64_t timeout_ns);
/* Once poll said 0: whether the slices of the picture cover all of it and went through without an
 * error; the coefficient blocks it has. */
bool gpu_entropy_picture_ok(const struct gpu_entropy_batch *b, uint32_t picture,
                            uint32_t *coeff_blocks);

/* Where a picture's arrays go: mb_count, and the coefficient blocks that gpu_entropy_picture_ok
 * said. In arenas (gpu_arena_create) the device writes them by itself, and into those of its own
 * memory (gpu_arena_create_device) without the bus; elsewhere they are copied by gpu_entropy_poll.
 */
struct gpu_entropy_target {
    void *mbs;    /* struct rec_mb */
    void *motion; /* struct rec_motion; of direct macroblocks unspecified */
    void *syntax; /* struct h264_mb_syntax, 8 bytes */
    void *coeffs; /* int16_t [coefficient blocks][16] */
};
/* After an error the batch is to be ended: what was fetched before goes nowhere, and no memory
 * named is written. */
int gpu_entropy_fetch(struct gpu_entropy_batch *b, uint32_t picture,
                      const struct gpu_entropy_target *to);
/* then poll again; the memory may be used when it says 0 */
int gpu_entropy_fetch_submit(struct gpu_entropy_batch *b);
/* The batch is free for gpu_entropy_begin; in any state, but waits where it is submitted. NULL
 * allowed. */
void gpu_entropy_end(struct gpu_entropy_batch *b);

/* Seconds that the device needed for the slices of the batch, fills left out, once poll said 0; 0
 * where gpu_params.timestamps is not set. */
double gpu_entropy_seconds(const struct gpu_entropy_batch *b);

#endif
