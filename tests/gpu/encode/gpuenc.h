/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files of gpuenc share.
 */
#ifndef PELTON_TESTS_GPUENC_H
#define PELTON_TESTS_GPUENC_H

#include "encode/encoder.h"
#include "gpu/encode/gpu_encode.h"
#include "gpu/encode/gpu_encoder.h"

#include <pthread.h>
#include <stdlib.h>

#define assert_non_null(p)                                                                         \
    do {                                                                                           \
        if (!(p))                                                                                  \
            abort();                                                                               \
    } while (0)
#include "tests/encode/scene.h"

#define SCENES       16 /* at most: a stream goes through them and back */
#define MOST_STREAMS 256

/* Time that passed, and that threads ran */
struct spent {
    double passed, ran, last; /* last: passed, the last time */
};

/* A picture: its push, and its last decision */
struct pushed {
    double seconds, analysed, decided;
    uint32_t stream, picture;
    uint64_t bytes;
    struct gpu_encode_spent spent;
    long faults, switches; /* pages that were touched first; another thread had the core */
};

struct shared {
    struct gpu_encoder *encoder;
    struct encoder_params params;
    uint32_t width, height, pictures;
    struct scene scenes[SCENES];
    uint32_t scene_count;
    struct gpu_host *pool; /* of the device: all scenes; NULL: they are read from memory */
    struct gpu_encode_source in_pool[SCENES];
    const char *out;
    uint64_t bytes;
    struct pushed *pushed;
    struct spent begun; /* when all streams had their first picture; of all threads */
    struct gpu_encoder_counts first;
    pthread_barrier_t ready;
    bool records; /* come to the host, which codes them */
    bool on_device;
    bool failed;
};

struct stream {
    struct shared *shared;
    uint32_t index;
    uint64_t bytes;
    pthread_t thread;
    struct decider_calls calls; /* of the encoder on the GPU */
    struct spent push, analyse, decide, accept;
};

/* ---- gpuenc_scenes.c ---- */

void scenes_draw(struct shared *s);
/* The first pictures of a clip. False: it has not two of this size. */
bool scenes_read(struct shared *s, const char *path);
/* All scenes into memory of the device, as decoded frames lie there. 0 or enum gpu_error */
int pool_open(struct shared *s, struct gpu *g);

/* ---- gpuenc_report.c ---- */

bool times_wanted(void); /* of passes */
/* end: of all threads */
void print_result(struct shared *s, const struct stream *all, uint32_t streams, struct spent end);

#endif
