/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Construction of pictures by step 1 (h264_picture.c).
 */
#ifndef PELTON_CODEC_H264_PICTURE_H
#define PELTON_CODEC_H264_PICTURE_H

#include "codec/h264.h"

/* structure: REC_FRAME, or a field */
struct h264_picture *h264_picture_create(const struct h264_allocator *allocator,
                                         const struct h264_sps *sps, unsigned structure);
/* A new slice at the end of pic->slices, zeroed but for pic and index; NULL without memory. */
struct h264_slice *h264_picture_add_slice(struct h264_picture *pic);
/* pic->refs_held gains other, once. */
void h264_picture_hold(struct h264_picture *pic, struct h264_picture *other);
/* And its second field, and the colour planes of both. */
void h264_picture_hold_frame(struct h264_picture *pic, struct h264_picture *other);
/* The slices of a colour plane become a picture of their own that holds pic; NULL without memory.
 */
struct h264_picture *h264_picture_take_plane(struct h264_picture *pic, unsigned plane);
/* All slices are there: makes slice group maps and copies the slices' bytes out of `bytes`, where
 * nal_at says where a NAL unit starts. */
int h264_picture_complete(struct h264_picture *pic, const uint8_t *bytes, size_t size);

#endif
