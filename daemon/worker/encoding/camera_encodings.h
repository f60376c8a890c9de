/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Encodings: access units of cameras that give samples. An encoding is a reader of its camera as
 * any other, with a pool of its own. So a slow or broken encoder costs no other reader a frame. It
 * takes the newest frame, and counts those that it misses.
 *
 * Life: camera_encoding_start - the loop thread opens the camera - frames - the camera ends, or
 * camera_encoding_leave - the loop thread closes the camera and frees it. It has two owners: the
 * thread that starts it encodes and leaves; the loop thread has the camera's reader.
 */
#ifndef PELTON_CAMERA_ENCODINGS_H
#define PELTON_CAMERA_ENCODINGS_H

#include "daemon/worker/camera/camera_host.h"

#include <libavcodec/packet.h>

struct camera_encodings; /* all of a worker */
struct camera_encoding;

enum encoding_by { ENCODING_BY_AUTO, ENCODING_BY_CPU, ENCODING_BY_DEVICE };

struct encoding_settings {
    uint32_t width, height; /* most; 0: by who encodes */
    uint32_t quality;       /* as pelton encode -crf */
    uint64_t bit_rate;      /* bits a second that are never passed; 0: without limit */
    uint32_t key_ms;        /* from an IDR picture to the next */
    uint32_t by;            /* enum encoding_by; auto: the GPU, on hardware */
};

/* Whether the device decides; by: enum encoding_by. */
static inline bool encoding_on_device(uint32_t by, bool software)
{
    return by == ENCODING_BY_DEVICE || (by == ENCODING_BY_AUTO && !software);
}

/* ---- loop thread ---- */

/* gpu and cameras outlive it. enum pelton_error */
int camera_encodings_create(uv_loop_t *loop, const struct encoding_settings *settings,
                            struct gpu *gpu, struct camera_host *cameras,
                            struct camera_encodings **out);
/* Before the cameras are closed: no more cameras are opened. NULL is allowed. */
void camera_encodings_stop(struct camera_encodings *all);
/* After all encodings were left, and the cameras are closed. */
void camera_encodings_close(struct camera_encodings *all, void (*closed)(void *ctx), void *ctx);

struct encoding_usage {
    uint64_t pictures, missed; /* encoded, and left out as the encoder was busy */
    uint64_t bytes;
    bool gpu; /* the last picture was decided there */
};
/* Any thread. Of all encodings, those that have ended too. */
void camera_encodings_usage(struct camera_encodings *all, struct encoding_usage *out);

/* ---- the thread that encodes ---- */

enum { ENCODING_NONE, ENCODING_UNIT, ENCODING_OPEN, ENCODING_STATE, ENCODING_END };
struct encoding_news {
    bool running; /* ENCODING_STATE: the camera is there again; else why it is not: */
    char cause[256];
    uint32_t width, height; /* ENCODING_OPEN */
    struct pelton_rational rate;
    int64_t captured_ns; /* ENCODING_UNIT */
    uint64_t missed;     /* frames that were left out before it */
};

/* Opens nothing yet. uri is copied; of params the rectangles to be blurred count. Any thread. NULL:
 * no memory. */
struct camera_encoding *camera_encoding_start(struct camera_encodings *all, const char *address,
                                              const struct pelton_open_params *params);
/* The next event: ENCODING_OPEN once, units (*unit filled, its opaque_ref a struct feed_camera) and
 * changes of state. ENCODING_NONE: nothing for a tenth of a second. Negative, with the failure; a
 * cause without a name begins with a colon. */
int camera_encoding_next(struct camera_encoding *e, AVPacket *unit, struct encoding_news *news,
                         struct pelton_failure *failure);
/* An IDR picture, soon: at most twice a second. */
void camera_encoding_ask_for_key(struct camera_encoding *e);
void camera_encoding_leave(struct camera_encoding *e); /* NULL is allowed */

#endif
