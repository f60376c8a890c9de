/* SPDX-License-Identifier: BSD-2-Clause
 *
 * JPEG files of frames, made on the device, for the streams of a worker. Streams of one size share
 * buffers and batches: pictures that wait at the same time are one batch.
 *
 * Thread: each stream has one of its own. All of them may push at once.
 */
#ifndef PELTON_JPEG_BATCHES_H
#define PELTON_JPEG_BATCHES_H

#include "daemon/worker/feed/feed.h"
#include "gpu/engine/gpu.h"
#include "jpeg/jpeg.h"

struct jpeg_batches; /* all of a worker */
struct jpeg_stream;

/* NULL: no memory. The device outlives them. */
struct jpeg_batches *jpeg_batches_new(struct gpu *gpu);
/* After the last of its streams. NULL is allowed. */
void jpeg_batches_free(struct jpeg_batches *all);

/* quality: 1 to 100. alike: streams of this size that are to share a batch. NULL: no memory */
struct jpeg_stream *jpeg_stream_new(struct jpeg_batches *all, uint32_t quality, uint32_t alike);
void jpeg_stream_free(struct jpeg_stream *s); /* NULL is allowed */

/* Whether there is a way from such frames: 8-bit YCbCr of 4:2:0, 4:2:2 or 4:4:4, or gray, with a
 * matrix that jpeg_colours_of knows. Fills all settings but the quality. */
bool jpeg_settings_of(const struct feed_format *format, struct jpeg_settings *out);

/* The file of a frame, valid until the next call. The frame lies in its format's host, written by
 * batches that have finished; where the format has none, at `frame`, which this process maps. An
 * enum gpu_error; GPU_ERR_INVALID: there is no way from this frame. */
int jpeg_stream_push(struct jpeg_stream *s, const struct feed_format *format, uint32_t slot,
                     const uint8_t *frame, const uint8_t **file, size_t *size);

#endif
