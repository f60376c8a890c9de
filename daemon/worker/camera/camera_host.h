/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Cameras in the worker: devices, development on the GPU, exposure control, delivery to any number
 * of readers.
 *
 * A camera is known by its address; it is opened by its first reader and closed with its last. Each
 * reader has a pool of its own, in its own format, so that one which stands still keeps nobody else
 * from a frame: without a free slot it misses frames, counted.
 *
 * Thread: everything here is called, and calls back, on the loop thread, with the callbacks of
 * session.h. Inside there are one thread per camera (capture) and one for development, which owns a
 * device of its own.
 */
#ifndef PELTON_CAMERA_H
#define PELTON_CAMERA_H

#include "camera/camera_params.h"
#include "daemon/worker/session.h"

struct camera_host;
struct camera_reader;

struct camera_host_params {
    const char *device; /* as gpu_params.device, one only */
    bool validation, gpu_debug;
    gpu_log_fn log;
    void *log_ctx;
};
/* enum pelton_error */
int camera_host_create(uv_loop_t *loop, const struct camera_host_params *params,
                       struct camera_host **out);
/* closes all readers first */
void camera_host_close(struct camera_host *h, void (*closed)(void *ctx), void *ctx);

/* Returns at once, like session_open. engine decodes the simulated sensor's clip. Of params uri,
 * name, pix_fmt, depth, max_frames, transport and policy count. resume_sequence is added to all
 * sequence numbers. On failure no callback runs. */
int camera_open(struct camera_host *h, struct engine *engine,
                const struct pelton_open_params *params, uint64_t resume_sequence, bool probe_only,
                const struct feed_callbacks *callbacks, void *ctx, struct camera_reader **out,
                struct pelton_failure *failure);
void camera_release(struct camera_reader *r, uint32_t epoch, uint32_t slot, uint32_t generation);
void camera_stats(struct camera_reader *r, struct pelton_stats *out);
void camera_close(struct camera_reader *r); /* on_end follows */

/* libcamera's names. */
enum { CAMERA_CONTROLS = PELTON_MAX_CONTROLS };
/* Sets some, all or none; then out holds all of them. PELTON_ERR_USAGE with the name where one does
 * not exist or is out of range. */
int camera_controls(struct camera_reader *r, const struct pelton_control *set, uint32_t n_set,
                    struct pelton_control out[CAMERA_CONTROLS], uint32_t *n_out,
                    struct pelton_failure *failure);

#endif
