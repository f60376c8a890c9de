/* SPDX-License-Identifier: BSD-2-Clause
 *
 * JPEG files on a GPU: the bytes of jpeg_encode, for pictures of any settings in one batch.
 *
 * Thread: any, for all functions but create and free. Up to GPU_JPEG_FLIGHT batches run at once.
 */
#ifndef PELTON_GPU_JPEG_H
#define PELTON_GPU_JPEG_H

#include "gpu/engine/gpu.h"
#include "jpeg/jpeg.h"

#define GPU_JPEG_FLIGHT 2 /* batches that are submitted and not waited for */

struct gpu_jpeg;

struct gpu_jpeg_params {
    uint32_t width, height; /* the largest picture */
    enum jpeg_sampling sampling;
    uint64_t frame_size; /* bytes of a frame at most */
    uint32_t pictures;   /* of a batch at most */
};

struct gpu_jpeg_picture {
    struct jpeg_settings settings;
    /* The frame, in an arena of the host or of the device. Or it is written to a host (gpu_host) by
     * a batch that has finished, and begins at host_offset. Its planes, in bytes from there */
    const uint8_t *frame;
    const struct gpu_host *host; /* NULL: an arena */
    uint64_t host_offset, frame_size;
    uint32_t offset[3], stride[3];
    /* The file, in an arena of the host; result: its size, or 0: it has more than `room` bytes */
    uint8_t *out;
    uint64_t room, size;
};

/* Memory of the device: about 30 MB a picture of 1080p 4:2:0, for each batch in flight.
 * GPU_ERR_FEATURE: the device has no buffers of that size. */
int gpu_jpeg_create(struct gpu *g, const struct gpu_jpeg_params *params, struct gpu_jpeg **out);
/* Waits. NULL is allowed. */
void gpu_jpeg_free(struct gpu_jpeg *j);
/* The largest picture, and the number of a batch */
const struct gpu_jpeg_params *gpu_jpeg_params_of(const struct gpu_jpeg *j);

/* Pictures to files. GPU_ERR_INVALID: settings that jpeg_check refuses, a picture or a batch that
 * is larger than params, planes beyond the frame, memory in no arena or beyond its host, or
 * GPU_JPEG_FLIGHT batches are submitted. Frames and files belong to the batch until gpu_jpeg_wait.
 */
int gpu_jpeg_submit(struct gpu_jpeg *j, const struct gpu_jpeg_picture *pictures, uint32_t count,
                    uint32_t *batch);
/* The same pictures: their sizes. Once for each batch, also after an error. */
int gpu_jpeg_wait(struct gpu_jpeg *j, uint32_t batch, struct gpu_jpeg_picture *pictures);
/* Both */
int gpu_jpeg_encode(struct gpu_jpeg *j, struct gpu_jpeg_picture *pictures, uint32_t count);

/* Seconds of pass i since creation, and its name; NULL: there is no such pass. Zeros without
 * gpu_params.timestamps. */
const char *gpu_jpeg_time(struct gpu_jpeg *j, uint32_t i, double *seconds);

#endif
