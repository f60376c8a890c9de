/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Encodings of cameras, between the loop thread (camera_encodings.c) and the threads that encode
 * (camera_encodings_thread.c).
 */
#ifndef PELTON_CAMERA_ENCODINGS_INTERNAL_H
#define PELTON_CAMERA_ENCODINGS_INTERNAL_H

#include "daemon/worker/encoding/camera_encodings.h"
#include "daemon/worker/encoding/picture_encoder.h"

#include <pthread.h>

enum { POOL_SLOTS = 6 }; /* developed, waiting, encoded, and on the way back */

enum encoding_state { ENCODING_ASKED, ENCODING_READS, ENCODING_OVER };

struct encoding_slot {
    uint32_t epoch, slot, generation;
};

struct camera_encoding {
    struct camera_encoding *next;
    struct camera_encodings *all;
    struct pelton_open_params params; /* constant */
    char *uri;
    struct camera_reader *reader; /* loop thread; NULL: not open, or it has ended */
    pthread_cond_t news;

    /* with the lock */
    enum encoding_state state;
    bool left; /* nobody encodes any more */
    struct pelton_failure failure;
    bool state_due, running;
    char cause[256];
    struct pelton_rational rate;
    bool has_frame;
    struct feed_frame frame;
    struct feed_camera camera;
    struct encoding_slot done[POOL_SLOTS];
    unsigned n_done;
    uint64_t missed;    /* in place of which a newer frame came */
    uint64_t lost_base; /* of the last frame that was taken: lost before it */
    bool lost_known, wants_key;

    /* written by the loop thread, before `mapped`; then constant until both have left */
    struct feed_format format; /* memfd -1 */
    const uint8_t *memory;
    bool mapped; /* with the lock */

    struct picture_encoder *encoder; /* the encoding thread's, as the next one */
    bool told;                       /* ENCODING_OPEN was */
};

struct camera_encodings {
    uv_async_t async;
    pthread_mutex_t lock;
    struct encoding_settings settings;
    struct camera_host *cameras;
    struct gpu_encoder *gpu; /* NULL: the CPU decides */
    unsigned threads;
    struct camera_encoding *first; /* with the lock */
    struct encoding_usage usage;
    bool stopping; /* loop thread */
    void (*closed)(void *ctx);
    void *closed_ctx;
};

#endif
