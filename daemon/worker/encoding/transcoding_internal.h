/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A transcoding, for its two files: transcoding.c is the loop thread's part, transcoding_thread.c
 * that of the thread which encodes.
 */
#ifndef PELTON_TRANSCODING_INTERNAL_H
#define PELTON_TRANSCODING_INTERNAL_H

#include "daemon/worker/encoding/camera_encodings.h"
#include "daemon/worker/encoding/carried_sei.h"
#include "daemon/worker/encoding/frame_source.h"
#include "daemon/worker/encoding/jpeg_batches.h"
#include "daemon/worker/encoding/sequence_encoder.h"
#include "daemon/worker/encoding/transcoding.h"
#include "daemon/worker/feed/subscription.h"

/* A frame that waits, with its format and what goes with it into its unit */
struct waiting_frame {
    struct waiting_frame *next;
    struct feed_format format;
    struct feed_frame frame;
    struct carried_sei carried;
    struct encoder_frame in;
    bool camera; /* it is a camera's, with: */
    struct feed_camera settings;
};

struct transcoding {
    struct transcodings *all;
    struct transcoding *next;
    struct frame_source source;
    char *name;
    uv_mutex_t lock; /* of the subscription, too */
    uv_cond_t news;
    uv_thread_t thread;
    struct feed_format format; /* loop thread: the source's newest */
    uint32_t wanted[2];        /* size of the frames; 0: theirs */

    /* with the lock */
    struct subscription sub; /* of the units */
    struct waiting_frame *first, **last;
    unsigned waiting, most; /* frames; beyond `most` the oldest one goes */
    uint64_t left_out;
    bool no_more; /* the source has ended */
    bool stop;    /* the thread has failed, and the source is to be closed */
    bool stopped; /* and was */
    struct pelton_stats stats;

    /* the thread's */
    struct sequence_encoder sequence; /* of H.264 */
    struct jpeg_stream *jpeg;         /* else NULL */
};

struct transcodings {
    uv_async_t async;
    struct engine *engine;
    struct gpu *gpu;
    struct transcoding *first;   /* loop thread */
    struct gpu_encoder *encoder; /* loop thread; NULL: nobody has needed it */
    struct jpeg_batches *jpegs;  /* the same */
    uv_mutex_t usage_lock;
    struct encoding_usage usage[2]; /* H.264, JPEG */
    void (*closed)(void *ctx);
    void *closed_ctx;
};

/* With the lock: the first cause stays. What follows "; " is the hint. */
void transcoding_fail(struct transcoding *t, int code, const char *what);

/* Frames of this format are encoded here. */
bool transcoding_takes(const struct transcoding *t, const struct feed_format *format);

/* A unit of so many bytes; 0: a frame was left out. Any thread */
void transcoding_count(struct transcoding *t, size_t bytes);

/* The oldest one; NULL: there is none. With the lock */
struct waiting_frame *waiting_pop(struct transcoding *t);

void waiting_free(struct waiting_frame *w);

/* The thread: until the source has no more frames, and the reader has been told all. */
void transcoding_thread(void *transcoding);

#endif
