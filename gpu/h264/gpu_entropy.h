/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Entropy decoding (step 2) on the GPU: slices in, records out, many pictures at once. The caller
 * fills a batch with pictures and their slices, submits it, and polls until it is done. Then the
 * outcome of each picture is known. The caller fetches the arrays of good pictures into its own
 * memory and polls again; then the batch is free. A picture with an error in any slice is left to
 * the CPU. Batches are decoded in rounds of all of them, which submit and poll begin.
 *
 *   begin -> add_picture, (slice_bytes, add_slice).. -> submit -> poll 0 -> picture_ok, fetch.. ->
 * fetch_submit -> poll 0 -> end
 *
 * Thread: one at a time for a gpu_entropy and its batches. Other threads may use the struct gpu
 * beside it. A batch allocates its memory when it is begun, and keeps it.
 */
#ifndef PELTON_GPU_ENTROPY_H
#define PELTON_GPU_ENTROPY_H

#include "codec/abi/entropy_abi.h"
#include "gpu/engine/gpu.h"

struct gpu_entropy;
struct gpu_entropy_batch;

struct gpu_entropy_params {
    uint32_t batches; /* in flight at most, all on the background queue */
    /* What one batch can hold at most. packed_words: of packed levels; 0: there are none. */
    uint32_t pictures, slices, mbs, coeff_blocks, packed_words, bytes;
    const struct ent_tables *tables; /* h264_entropy_tables; copied */
};

/* GPU_ERR_FEATURE where the device cannot hold such batches in one buffer each. */
int gpu_entropy_create(struct gpu *g, const struct gpu_entropy_params *params,
                       struct gpu_entropy **out);
/* Compile the shader of a coding, which may take a second. Without this call the first
 * gpu_entropy_submit with such a slice does. */
int gpu_entropy_prepare(struct gpu_entropy *e, bool cavlc);
void gpu_entropy_free(struct gpu_entropy *e); /* waits for submitted batches; NULL allowed */

/* A batch with room for so many pictures, and as large a part of all else that a batch can hold.
 * 0: for the most. One that has less room is made again; it has less where there is no memory.
 * NULL: all are in use, or there is no memory. */
struct gpu_entropy_batch *gpu_entropy_begin(struct gpu_entropy *e, uint32_t pictures);
uint32_t gpu_entropy_pictures(const struct gpu_entropy_batch *b); /* that it has room for */
/* Bytes of device memory that such a batch would take beside those that exist; 0: it exists. */
uint64_t gpu_entropy_needs(const struct gpu_entropy *e, uint32_t pictures);
/* Of all batches that exist. */
uint64_t gpu_entropy_bytes(const struct gpu_entropy *e);
/* coeff_blocks: the most that the picture may use; one that needs more fails. packed_words: the
 * same of its packed levels, mb_count included; one that needs more has none. 0: none are wanted.
 * GPU_ERR_NOMEM: the batch is full. */
int gpu_entropy_add_picture(struct gpu_entropy_batch *b, uint32_t mb_count, uint32_t coeff_blocks,
                            uint32_t packed_words, uint32_t *picture);
/* Memory for the next slice's bytes: `most` bytes, write only. NULL: the batch is full. */
uint8_t *gpu_entropy_slice_bytes(struct gpu_entropy_batch *b, size_t most);
/* Add the slice whose `size` bytes were written there. Its word, mb_base, coeff_block_base,
 * coeff_block_count, picture and those of packed levels are filled in. GPU_ERR_NOMEM: the batch is
 * full. GPU_ERR_INVALID: the slice leaves its picture or its bytes. A picture that its slices do
 * not cover fails in the end. */
int gpu_entropy_add_slice(struct gpu_entropy_batch *b, uint32_t picture,
                          const struct ent_slice *slice, size_t size);
/* Slices that a subgroup decodes in rounds that begin from now on: 1, 2, 4 or 8, and fewer where
 * subgroups are small. 0, the preset: 8 where a round has many (ENT_ALONE), else 1, as on software
 * devices. */
void gpu_entropy_share(struct gpu_entropy *e, uint32_t slices);
int gpu_entropy_submit(struct gpu_entropy_batch *b);
/* 1 still at work, 0 done, negative error. */
int gpu_entropy_poll(struct gpu_entropy_batch *b);
/* Wait until a round or what is fetched of a batch is done: 0; poll tells of which batch it was the
 * last. Returns 1 after timeout_ns, when nothing is submitted, or when poll should be called, as
 * the next round is due; or a negative error. */
int gpu_entropy_wait(struct gpu_entropy *e, uint64_t timeout_ns);
/* After poll returned 0: true if the slices cover the picture and have no error; *coeff_blocks is
 * the number of coefficient blocks. */
bool gpu_entropy_picture_ok(const struct gpu_entropy_batch *b, uint32_t picture,
                            uint32_t *coeff_blocks);
/* Words of the packed levels of a picture that is ok (codec/abi/records.h); 0: it has none. */
uint32_t gpu_entropy_packed_words(const struct gpu_entropy_batch *b, uint32_t picture);
/* It is not ok, and has more coefficient blocks than it had room for. */
bool gpu_entropy_picture_full(const struct gpu_entropy_batch *b, uint32_t picture);

/* The targets of a picture's arrays: mb_count entries, and the blocks of gpu_entropy_picture_ok.
 * The device writes into arenas by itself, and into device arenas without the bus. gpu_entropy_poll
 * copies to other memory. */
struct gpu_entropy_target {
    void *mbs;    /* struct rec_mb */
    void *motion; /* struct rec_motion; of direct macroblocks unspecified */
    void *syntax; /* struct h264_mb_syntax, 8 bytes */
    void *coeffs; /* int16_t [coefficient blocks][16]; NULL: not wanted */
    void *packed; /* uint32_t [gpu_entropy_packed_words]; NULL: not wanted */
};
/* After an error, end the batch: then no target of this batch is written. */
int gpu_entropy_fetch(struct gpu_entropy_batch *b, uint32_t picture,
                      const struct gpu_entropy_target *to);
/* Then poll again; the targets are complete when it returns 0. */
int gpu_entropy_fetch_submit(struct gpu_entropy_batch *b);
/* Free the batch for gpu_entropy_begin, in any state. Waits if it is submitted. NULL allowed. */
void gpu_entropy_end(struct gpu_entropy_batch *b);

/* Gives the memory of all batches back; none is begun. They are made again when they are begun. */
void gpu_entropy_trim(struct gpu_entropy *e);

/* After poll returned 0: the device's seconds for the rounds that it took part in, without the
 * fills before them. 0 without gpu_params.timestamps. */
double gpu_entropy_seconds(const struct gpu_entropy_batch *b);

#endif
