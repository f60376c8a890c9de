/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The encoder's decisions on the GPU, for batches of pictures. So far: planes, and the search of
 * vectors, and luma of inter
 * macroblocks. Each pass has its reference in encode/reference/. Thread: one at a time.
 */
#ifndef PELTON_GPU_ENCODE_H
#define PELTON_GPU_ENCODE_H

#include "gpu/engine/gpu.h"
#include "gpu/shaders/lib/encode_args.h"

struct gpu_encode;

struct gpu_encode_params {
    uint32_t mb_width, mb_height;
    uint32_t pictures; /* of a batch */
    uint32_t sets;     /* of planes: the first `pictures` are sources, the others references */
};

int gpu_encode_create(struct gpu *g, const struct gpu_encode_params *params,
                      struct gpu_encode **out);
void gpu_encode_free(struct gpu_encode *e); /* NULL is allowed */

/* Make sets of planes from frames of whole macroblocks, luma of 8 bits: one picture for each of the
 * params.pictures frames, into sets from first on. references: with half samples. Waits. */
int gpu_encode_planes(struct gpu_encode *e, const uint8_t *frames, uint32_t first, bool references);

/* Search vectors of all pictures. last: rec_motion of each macroblock of each picture, of the
 * picture before it. out: [picture][reference][macroblock], params.pictures * ENC_REFERENCES *
 * macroblocks. Waits. */
int gpu_encode_search(struct gpu_encode *e, const struct enc_picture *pictures,
                      const struct rec_motion *last, struct enc_search *out);

/* Luma of all inter macroblocks by their vectors, whose references are sets that were made. motion:
 * of each macroblock of each picture; ref_idx -1: intra, whose results are undefined. quantiser: by
 * QP modulo 6. Waits. */
int gpu_encode_luma(struct gpu_encode *e, const struct enc_picture *pictures,
                    const struct rec_motion *motion, const struct enc_quantiser quantiser[6],
                    struct enc_luma *out);

/* A set of planes as it is on the device: ENC_SET_SIZE bytes. For tests. Waits. */
int gpu_encode_read_set(struct gpu_encode *e, uint32_t set, uint8_t *out);

#endif
