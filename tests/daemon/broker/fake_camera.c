/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A worker without cameras: it refuses every one.
 */
#include "daemon/worker/camera/camera_host.h"
#include "daemon/worker/camera/v4l2.h"
#include "daemon/worker/encoding/camera_encodings.h"
#include "daemon/worker/encoding/transcoding.h"

#include <stdlib.h>

int camera_host_create(uv_loop_t *loop, const struct camera_host_params *params,
                       struct camera_host **out)
{
    return PELTON_ERR_UNSUPPORTED;
}

void camera_encodings_stop(struct camera_encodings *all)
{
}

void camera_encodings_usage(struct camera_encodings *all, struct encoding_usage *out)
{
}

void transcodings_stop(struct transcodings *all)
{
}

bool v4l2_stream_wanted(const char *uri)
{
    return false;
}

/* Nothing below is reached without a host. */

void camera_host_close(struct camera_host *h, void (*closed)(void *ctx), void *ctx)
{
    abort();
}

int camera_open(struct camera_host *h, const struct pelton_open_params *params,
                const struct camera_extra *extra, const struct feed_callbacks *callbacks, void *ctx,
                struct camera_reader **out, struct pelton_failure *failure)
{
    abort();
}

void camera_release(struct camera_reader *r, uint32_t epoch, uint32_t slot, uint32_t generation)
{
    abort();
}

void camera_stats(struct camera_reader *r, struct pelton_stats *out)
{
    abort();
}

void camera_close(struct camera_reader *r)
{
    abort();
}

int camera_controls(struct camera_reader *r, const struct pelton_control *set, uint32_t n_set,
                    struct pelton_control out[CAMERA_CONTROLS], uint32_t *n_out,
                    struct pelton_failure *failure)
{
    abort();
}

int camera_encodings_create(uv_loop_t *loop, const struct encoding_settings *settings,
                            struct gpu *gpu, struct camera_host *cameras,
                            struct camera_encodings **out)
{
    abort();
}

void camera_encodings_close(struct camera_encodings *all, void (*closed)(void *ctx), void *ctx)
{
    abort();
}

int transcodings_create(uv_loop_t *loop, struct engine *engine, struct gpu *gpu,
                        struct transcodings **out)
{
    abort();
}

void transcodings_close(struct transcodings *all, void (*closed)(void *ctx), void *ctx)
{
    abort();
}

int transcoding_open(struct transcodings *all, const struct pelton_open_params *params,
                     const struct frame_wish *wish, const struct feed_callbacks *callbacks,
                     void *ctx, struct transcoding **out, struct pelton_failure *failure)
{
    abort();
}

void transcoding_release(struct transcoding *t, uint32_t epoch, uint32_t slot, uint32_t generation)
{
    abort();
}

void transcodings_usage(struct transcodings *all, struct encoding_usage *h264,
                        struct encoding_usage *jpeg)
{
    abort();
}

void transcoding_stats(struct transcoding *t, struct pelton_stats *out)
{
    abort();
}

void transcoding_close(struct transcoding *t)
{
    abort();
}
