/* SPDX-License-Identifier: BSD-2-Clause
 *
 * An encoder's decisions on a GPU for many streams, behind encode/decider.h. Each stream has a
 * thread. Pictures that wait at the same time, of one size, are one batch: their records come from
 * the encoder's passes, which also make references of them. The records are those of
 * encode/reference, in a batch of any width. The device codes them by CAVLC, or makes the bins of
 * CABAC: the bytes are those of the writer in encode/.
 */
#ifndef PELTON_GPU_ENCODER_H
#define PELTON_GPU_ENCODER_H

#include "encode/decider.h"
#include "gpu/engine/gpu.h"

struct gpu_encoder;

struct gpu_encoder_params {
    uint32_t streams;  /* that share buffers: more of the same size make more buffers; 0: 8 */
    uint32_t pictures; /* of a batch, at most; 0: as many as streams */
    bool frames;       /* gpu_decider_frame is wanted */
    bool records;      /* come to the host; else slice data do, which the device codes */
};

int gpu_encoder_create(struct gpu *g, const struct gpu_encoder_params *params,
                       struct gpu_encoder **out);
/* After the end of all its deciders. NULL is allowed. */
void gpu_encoder_free(struct gpu_encoder *e);

/* ctx: the struct gpu_encoder. Thread: any. The decider's calls: any, one at a time for each. */
decider_begin gpu_decider_begin;

/* The filtered reconstruction of the picture that was accepted last: planes of whole macroblocks,
 * one after the other. ctx: of the decider's calls. Valid until the next call of the decider. NULL:
 * without params.frames */
const uint8_t *gpu_decider_frame(const void *ctx);

/* Where the time went of the picture that was decided last. ctx: as above */
struct gpu_encode_spent;
const struct gpu_encode_spent *gpu_decider_spent(const void *ctx);

#define GPU_ENCODER_PASSES 48

/* What was done so far. Thread: any. */
struct gpu_encoder_counts {
    uint64_t batches, pictures; /* decided */
    uint64_t records;           /* pictures whose records came to the host */
    double decide_s, analyse_s; /* sums of what batches took */
    /* of the GPU by pass, zeros without gpu_params.timestamps; NULL: no more passes */
    const char *pass[GPU_ENCODER_PASSES + 1];
    double pass_s[GPU_ENCODER_PASSES];
};
void gpu_encoder_count(struct gpu_encoder *e, struct gpu_encoder_counts *out);

#endif
