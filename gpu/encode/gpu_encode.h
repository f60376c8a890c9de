/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The encoder's decisions on the GPU, for batches of pictures of several streams: from samples to
 * records, and to references of pictures that follow. Each pass has its reference in
 * encode/reference/. Thread: any, but one at a time for a batch.
 */
#ifndef PELTON_GPU_ENCODE_H
#define PELTON_GPU_ENCODE_H

#include "gpu/engine/gpu.h"
#include "gpu/shaders/lib/encode_args.h"

struct gpu_encode;

#define GPU_ENCODE_FLIGHT 2  /* batches between submit and wait, at most */
#define GPU_ENCODE_PASSES 48 /* at most, with copies */

/* How intra macroblocks wait for each other */
enum encode_wavefront {
    ENCODE_BY_DEVICE,
    ENCODE_DIAGONALS, /* a dispatch for each diagonal */
    ENCODE_AT_ONCE    /* one dispatch, whose workgroups wait for those beside */
};

struct gpu_encode_params {
    uint32_t mb_width, mb_height;
    uint32_t pictures; /* of a batch, at most */
    uint32_t streams;  /* each has two places in ENC_BIND_LAST: 2 * stream, and the next one */
    uint32_t sets;     /* of planes: the first `sources` of them, then references */
    uint32_t sources;
    enum encode_wavefront wavefront;
    bool no_halves;                    /* integers on devices that have half floats, too */
    struct enc_quantiser quantiser[6]; /* by QP modulo 6 */
    struct enc_codes codes;            /* where pictures have ENC_CAVLC or ENC_BINS */
};

int gpu_encode_create(struct gpu *g, const struct gpu_encode_params *params,
                      struct gpu_encode **out);
void gpu_encode_free(struct gpu_encode *e); /* NULL is allowed */

/* Bytes of a frame: Y, Cb and Cr of whole macroblocks, one after the other. In 4:0:0 the room of
 * chroma is there, and not read. */
uint64_t gpu_encode_frame_size(const struct gpu_encode *e);

/* Where the samples of a picture lie: whole macroblocks in a gpu_arena, as above. Or frame is NULL,
 * and they lie in memory that the device reads, of the size that is shown: the last column and row
 * are repeated. Whoever wrote them there has finished. Both stay until the batch has ended. */
struct gpu_encode_source {
    const uint8_t *frame;
    struct gpu_host *host;
    uint64_t offset[3]; /* bytes; these and strides are multiples of four */
    uint32_t stride[3]; /* of chroma 0: luma alone */
    uint32_t width, height;
};

/* Where the time of a picture's batch went, in seconds */
struct gpu_encode_spent {
    double waited;   /* of the store: until its batch began */
    double recorded; /* until both submissions were recorded and submitted */
    double submits;  /* of that: in submission alone */
    double ran;      /* until the host knew that the first one was complete */
    double passes;   /* of that: the device, by timestamps; 0 without gpu_params.timestamps */
    double rest;     /* of a third submission */
};

/* Where the records of a picture are put: host memory in a gpu_arena, by macroblock. A picture with
 * ENC_CAVLC or ENC_BINS has slice data in coeffs instead, and no records, where they have room. */
struct gpu_encode_result {
    struct rec_mb *mbs;
    struct rec_motion *motion;
    int16_t (*coeffs)[16]; /* room for ENC_BLOCKS a macroblock */
    uint8_t *frame;        /* the filtered reconstruction; NULL: it is not wanted */
    /* filled in */
    bool coded; /* slice data came, else records */
    uint32_t coeff_block_count;
    struct enc_total total;
    struct gpu_encode_spent spent;
};

/* A source that is loaded, and looked at beside the one before */
struct gpu_encode_look {
    struct enc_picture picture; /* source, before and kept count */
    struct gpu_encode_source source;
    struct enc_analysis *analysis; /* by macroblock, in a gpu_arena */
};

/* A picture that is decided */
struct gpu_encode_decision {
    struct enc_picture picture;
    struct gpu_encode_source source; /* ENC_LOADED: not read, as its planes are there already */
    const int8_t *offsets;           /* of QP, by macroblock; NULL: none */
    /* The picture that follows in its stream is looked at when the batch has made its references.
     * So nobody waits for its analysis. analysis NULL: it is not known yet. */
    struct gpu_encode_look ahead;
    struct gpu_encode_result result;
};

/* Decide pictures from their sources. The device makes a reference of each reconstruction, the set
 * `pending`. So pictures of later batches may name it, and may decide the same picture again. No
 * picture of a batch may name a set that another one makes. Decisions stay until gpu_encode_wait.
 *
 * GPU_ERR_INVALID: a picture names a set or a place that is not there; count is 0, or more than
 * those of a batch; frames or results lie in no arena, or sources not in their host;
 * GPU_ENCODE_FLIGHT batches are in flight. */
int gpu_encode_submit(struct gpu_encode *e, struct gpu_encode_decision *const *decisions,
                      uint32_t count, uint32_t *batch);
/* Waits for the results of a batch, and for its frames where they are wanted. */
int gpu_encode_wait(struct gpu_encode *e, uint32_t batch);
/* Both */
int gpu_encode_decide(struct gpu_encode *e, struct gpu_encode_decision *const *decisions,
                      uint32_t count);

/* Load sources, and look at them. Waits. It is one of GPU_ENCODE_FLIGHT batches. GPU_ERR_INVALID:
 * as above. */
int gpu_encode_analyse(struct gpu_encode *e, const struct gpu_encode_look *const *looks,
                       uint32_t count);

/* Waits until the last batch of a stream has ended, with what it has looked at ahead. */
int gpu_encode_wait_stream(struct gpu_encode *e, uint32_t stream);

/* GPU seconds of pass i since creation, and its name; NULL: there is no such pass. Zeros without
 * gpu_params.timestamps. */
const char *gpu_encode_time(struct gpu_encode *e, uint32_t i, double *seconds);

/* Bytes of a binding as they are on the device, after the newest batch. For tests. Waits. */
int gpu_encode_read(struct gpu_encode *e, uint32_t binding, uint64_t offset, uint64_t size,
                    void *out);

#endif
