/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pelton bench --encode: how fast a device encodes frames that lie in memory.
 */
#ifndef CLIENT_BENCH_ENCODE_H
#define CLIENT_BENCH_ENCODE_H

#include "client/bench.h"
#include "encode/encoder.h"
#include "gpu/encode/gpu_encoder.h"

enum { ENCODE_FRAMES = 32 /* of an input, at most */ };

/* The first frames of an input, in 8-bit 4:2:0 */
struct encode_clip {
    uint32_t width, height, count;
    uint8_t *frame[ENCODE_FRAMES]; /* planes without gaps */
};

/* What streams did after their first pictures, which make pipelines and memory */
struct encode_figures {
    uint64_t pictures, bytes;
    double seconds, cpu_seconds; /* cpu_seconds: of all threads */
    struct percentiles push;     /* from the frame to its access unit, ms */
    struct gpu_encoder_counts counts;
};

/* A pass by the model, of a picture on average. Several passes of one name are one row. */
struct encode_row {
    const char *name;
    double bytes, operations; /* 0: unknown */
    double floor;             /* seconds; 0: unknown */
    double seconds;           /* measured */
};

struct bench_encode {
    struct client_options *o;
    struct failure *f;
    char command_line[1024];
    struct encode_clip clips[MAX_INPUTS];
    struct gpu *gpu;
    struct gpu_encoder *encoder;
    unsigned streams;
    struct encode_figures figures;
    double bandwidth, operations; /* of the device, a second; 0: not measured */
    struct encode_row rows[GPU_ENCODER_PASSES];
    unsigned n_rows;
    struct bench_peer peer;
    double peer_bits; /* of a picture */
};

int cmd_bench_encode(struct client_options *o, struct failure *f);

/* Frames of all inputs, decoded by a daemon. Returns an exit code. */
int encode_clips_read(struct bench_encode *b);
void encode_clips_free(struct bench_encode *b);
struct decider_source encode_clip_source(const struct encode_clip *clip, uint64_t turn);

/* Encodes by a thread a stream. Returns an exit code. */
int encode_streams_run(struct bench_encode *b);
double encode_picture_bits(const struct bench_encode *b);

/* Fills b->rows. */
void encode_model(struct bench_encode *b);
/* x264 by the ffmpeg program, at as many bits a picture */
void encode_against_ffmpeg(struct bench_encode *b);

void encode_print(const struct bench_encode *b);
int encode_write_json(const struct bench_encode *b, struct failure *f);

#endif
