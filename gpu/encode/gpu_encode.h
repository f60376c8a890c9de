/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The encoder's decisions on the GPU, for batches of pictures of several streams: from samples to
 * records. Each pass has its reference in encode/reference/. Thread: one at a time.
 */
#ifndef PELTON_GPU_ENCODE_H
#define PELTON_GPU_ENCODE_H

#include "gpu/engine/gpu.h"
#include "gpu/shaders/lib/encode_args.h"

struct gpu_encode;

struct gpu_encode_params {
    uint32_t mb_width, mb_height;
    uint32_t pictures; /* of a batch, at most */
    uint32_t streams;  /* each has the motion of its picture before */
    uint32_t sets;     /* of planes: the first `pictures` are sources, the others references */
    struct enc_quantiser quantiser[6]; /* by QP modulo 6 */
};

int gpu_encode_create(struct gpu *g, const struct gpu_encode_params *params,
                      struct gpu_encode **out);
void gpu_encode_free(struct gpu_encode *e); /* NULL is allowed */

/* Bytes of a frame: Y, Cb and Cr of whole macroblocks, one after the other. In 4:0:0 the room of
 * chroma is there, and not read. */
uint64_t gpu_encode_frame_size(const struct gpu_encode *e);

/* Where the records of a picture are put: host memory in a gpu_arena, by macroblock */
struct gpu_encode_result {
    struct rec_mb *mbs;
    struct rec_motion *motion;
    int16_t (*coeffs)[16]; /* room for ENC_BLOCKS a macroblock */
    uint32_t coeff_block_count;
};

/* Decide pictures from their frames. Picture i takes set i for its source. offsets: of QP, by
 * macroblock; NULL, all or of a picture: none. What lies in a gpu_arena is copied by the device.
 * Waits. GPU_ERR_INVALID: a picture names a set or a stream that is not there; count is 0, or more
 * than those of a batch; results lie in no arena. */
int gpu_encode_decide(struct gpu_encode *e, const struct enc_picture *pictures, uint32_t count,
                      const uint8_t *const *frames, const int8_t *const *offsets,
                      struct gpu_encode_result *results);

/* A picture that becomes a reference */
struct gpu_encode_reference {
    /* its filtered reconstruction, as above; NULL: it lies in host, from offset on */
    const uint8_t *frame;
    const struct gpu_host *host;
    uint64_t offset;
    const struct rec_motion *motion; /* by macroblock: of the picture before, from now on */
    uint32_t set, stream;
};

/* Make the sets of references, each of a stream of its own. Waits. GPU_ERR_INVALID: a set is a
 * source, or not there, or count as above. */
int gpu_encode_accept(struct gpu_encode *e, const struct gpu_encode_reference *references,
                      uint32_t count);

/* GPU seconds of pass i since creation, and its name; NULL: there is no such pass. Zeros without
 * gpu_params.timestamps. Between calls. */
const char *gpu_encode_time(const struct gpu_encode *e, uint32_t i, double *seconds);

/* Bytes of a binding as they are on the device. For tests. Waits. */
int gpu_encode_read(struct gpu_encode *e, uint32_t binding, uint64_t offset, uint64_t size,
                    void *out);

#endif
