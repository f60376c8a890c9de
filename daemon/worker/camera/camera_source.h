/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Where raw frames come from: what the simulated sensor, raw files and V4L2 devices have in common.
 * All but open are called on the camera's own thread; they may block for about a tenth of a second,
 * then come back with SOURCE_AGAIN so that a stop is noticed.
 */
#ifndef PELTON_CAMERA_SOURCE_H
#define PELTON_CAMERA_SOURCE_H

#include "camera/camera_params.h"
#include "proto/pelton.h"

/* Buffers for the frames of a camera, which the device may fill by itself. */
enum { SOURCE_BUFFERS = 8 };
struct source_buffers {
    uint8_t *memory[SOURCE_BUFFERS]; /* page aligned */
    size_t size;                     /* of each; whole pages */
};
enum { SOURCE_COPIES, SOURCE_DIRECT };

/* or negative: enum pelton_error, with the failure filled */
enum { SOURCE_OK = 0, SOURCE_AGAIN = 1, SOURCE_END = 2 };

struct source_frame {
    /* of this frame; time 0: the camera controls it by itself, and it is not known */
    struct ae_exposure in_effect;
    int64_t captured_ns; /* CLOCK_MONOTONIC, first byte */
    uint64_t lost;       /* frames that the device has dropped before this one */
    uint32_t index;      /* SOURCE_DIRECT: of the buffer that holds it */
};

/* Whether a device that cannot be opened is waited for: it is to be, and time may mend it. */
static inline bool camera_absence_passes(const struct camera_params *p, int code)
{
    return p->device.wait &&
           (code == PELTON_ERR_NOT_FOUND || code == PELTON_ERR_UNPLUGGED ||
            code == PELTON_ERR_BUSY || code == PELTON_ERR_PERMISSION || code == PELTON_ERR_TIMEOUT);
}

struct source_ops {
    /* Opens the device anew. params: as asked; size, format and limits become the device's. */
    int (*open)(void *source, struct camera_params *params, struct pelton_failure *failure);
    /* raw: height rows of isp_row_bytes. raw NULL: the frame is thrown away. */
    int (*read)(void *source, uint8_t *raw, struct source_frame *out,
                struct pelton_failure *failure);
    /* time and analogue gain; digital is the developer's */
    void (*set)(void *source, const struct ae_exposure *e);
    void (*close)(void *source); /* open may follow */
    void (*free)(void *source);
    /* Those whose device may fill buffers by itself; else both are NULL. layout: bytes of a frame
     * as it makes them, and of a row. start: after each open, with the buffers that are free;
     * SOURCE_DIRECT: they are the device's now, and so are those that lend gives it, until read
     * names one or close. */
    void (*layout)(void *source, size_t *bytes, uint32_t *stride);
    int (*start)(void *source, const struct source_buffers *buffers, uint32_t free,
                 struct pelton_failure *failure);
    int (*lend)(void *source, uint32_t index, struct pelton_failure *failure);
};

#endif
