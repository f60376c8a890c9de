/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Cameras in the worker: devices, development on the GPU, exposure control, delivery to any number
 * of readers.
 *
 * A camera is known by its address. Its first reader opens it, its last one closes it. Each reader
 * has a pool of its own, in its own format. A reader that stands still keeps nobody else from a
 * frame: without a free slot it misses frames, counted.
 *
 * Thread: everything here is called, and calls back, on the loop thread. Inside there is one thread
 * per camera (capture) and one for development.
 */
#ifndef PELTON_CAMERA_HOST_H
#define PELTON_CAMERA_HOST_H

#include "camera/camera_control.h"
#include "daemon/worker/feed/feed.h"
#include "gpu/engine/gpu.h"

#include <uv.h>

struct camera_host;
struct camera_reader;

/* The decoder of the simulated sensor's clips. The worker provides it. */
struct clip_decoder {
    void *ctx;
    /* Decodes params->uri into a pool that holds all frames, and calls back. Returns 0 or enum
     * pelton_error. */
    int (*open)(void *ctx, const struct pelton_open_params *params,
                const struct feed_callbacks *callbacks, void *callbacks_ctx, void **clip);
    void (*close)(void *clip); /* on_end follows */
};

struct camera_host_params {
    struct gpu *gpu; /* stays open until the host is closed */
    struct clip_decoder clips;
};
/* enum pelton_error */
int camera_host_create(uv_loop_t *loop, const struct camera_host_params *params,
                       struct camera_host **out);
/* closes all readers first */
void camera_host_close(struct camera_host *h, void (*closed)(void *ctx), void *ctx);

/* Controls that were set before. */
struct camera_kept {
    uint32_t n;
    struct pelton_control list[CAMERA_CONTROLS];
};

/* What a camera is told beside the parameters of its reader. */
struct camera_extra {
    const struct camera_kept *kept; /* set where this reader is the first; NULL: none */
    uint64_t resume_sequence;       /* added to all sequence numbers */
    bool probe_only;
    /* Its frames are scaled to lie within, in their shape and of even sides; 0: as they are. */
    uint32_t fit_width, fit_height;
};
/* Returns at once, like session_open. Of params uri, name, pix_fmt, depth, max_frames, transport,
 * policy and the rectangles to be blurred count. On failure no callback runs. */
int camera_open(struct camera_host *h, const struct pelton_open_params *params,
                const struct camera_extra *extra, const struct feed_callbacks *callbacks, void *ctx,
                struct camera_reader **out, struct pelton_failure *failure);
void camera_release(struct camera_reader *r, uint32_t epoch, uint32_t slot, uint32_t generation);
void camera_stats(struct camera_reader *r, struct pelton_stats *out);
void camera_close(struct camera_reader *r); /* on_end follows */

/* Sets some controls, all or none; then out holds all of them. PELTON_ERR_USAGE with the name where
 * one does not exist or is out of range. */
int camera_controls(struct camera_reader *r, const struct pelton_control *set, uint32_t n_set,
                    struct pelton_control out[CAMERA_CONTROLS], uint32_t *n_out,
                    struct pelton_failure *failure);

#endif
