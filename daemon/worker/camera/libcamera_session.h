/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A camera of libcamera (0.4 or newer) behind an interface in C: libcamera_session.cpp. Frames are
 * mapped buffers, controls and metadata are libcamera's.
 *
 * Thread: that of the camera. Sessions of several threads share libcamera's one manager.
 */
#ifndef PELTON_LIBCAMERA_SESSION_H
#define PELTON_LIBCAMERA_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { LIBCAMERA_WHY = 160, LIBCAMERA_PLANES = 3 };

struct libcamera_wish {
    const char *name;           /* identity of a camera, its model, or its number */
    const char *const *formats; /* libcamera's names, the preferred first */
    uint32_t n_formats;
    bool raw;               /* samples of the sensor, not pictures */
    uint32_t width, height; /* 0: the camera's choice */
    double fps;
};

struct libcamera_shape {
    uint32_t format; /* of the wish */
    uint32_t width, height, stride;
    bool full_range, bt709;
    bool has_time, has_gain;
    double time_min, time_max, gain_min, gain_max;
};

struct libcamera_frame {
    const uint8_t *data[LIBCAMERA_PLANES];
    size_t size[LIBCAMERA_PLANES];
    uint32_t planes, sequence;
    int64_t captured_ns;
    double time_us, gain; /* as the metadata says; 0: it does not */
    void *request;        /* for libcamera_give */
};

enum { LIBCAMERA_FRAME = 0, LIBCAMERA_NONE = 1, LIBCAMERA_GONE = -1 };
enum {
    LIBCAMERA_NO_CAMERA = -1,
    LIBCAMERA_BUSY = -2,
    LIBCAMERA_NO_FORMAT = -3,
    LIBCAMERA_FAILED = -4
};

struct libcamera_session;

/* 0 and the camera streams; or negative with one line. */
int libcamera_open(const struct libcamera_wish *wish, struct libcamera_session **out,
                   struct libcamera_shape *shape, char why[LIBCAMERA_WHY]);
/* Waits for a tenth of a second. */
int libcamera_take(struct libcamera_session *s, struct libcamera_frame *out);
/* Queued again, with the exposure that was set last. False: the camera is gone. */
bool libcamera_give(struct libcamera_session *s, const struct libcamera_frame *frame);
/* From the next request on; the camera's own control ends. */
void libcamera_set(struct libcamera_session *s, double time_us, double gain);
void libcamera_close(struct libcamera_session *s); /* NULL: nothing */
const char *libcamera_version(void);

#ifdef __cplusplus
}
#endif
#endif
