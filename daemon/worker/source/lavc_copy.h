/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Samples of libavcodec's frames into the slots of a pool.
 */
#ifndef PELTON_LAVC_COPY_H
#define PELTON_LAVC_COPY_H

#include "codec/h264.h"
#include "daemon/worker/feed/frame_pool.h"
#include "daemon/worker/feed/pixels.h"

#include <libavutil/frame.h>

/* The frame has the planes of the sequence: samples of one or two bytes, sizes that cropping fits
 * into. */
bool lavc_frame_fits(const AVFrame *frame, const struct h264_sps *sps);
/* The cropped frame, or one field of it (structure), into a slot that is WRITING. Without the lock.
 * frame NULL: mid-grey. False: no memory. */
bool lavc_copy(const struct pool *pool, uint32_t slot, const AVFrame *frame,
               const struct h264_sps *sps, uint8_t structure);

#endif
