/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Records of a picture beside those of its macroblocks.
 */
#ifndef PELTON_CODEC_SLICE_RECORDS_H
#define PELTON_CODEC_SLICE_RECORDS_H

struct h264_picture;

/* motion_weights.c: allocates and fills weight tables and scaling lists, and fills rec_slices but
 * for their references. Returns H264_ERR_NOMEM. */
int h264_fill_slices(struct h264_picture *pic);
/* records_view.c: sets has_intra, has_inter and has_deblock of the arrays from mbs. */
void h264_find_kinds(struct h264_picture *pic);

#endif
