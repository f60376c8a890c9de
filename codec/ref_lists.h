/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Reference picture lists (8.2.4).
 */
#ifndef PELTON_CODEC_REF_LISTS_H
#define PELTON_CODEC_REF_LISTS_H

#include "codec/dpb.h"

/* RefPicList0 and RefPicList1 of a slice (8.2.4): fills num_ref and ref. Returns H264_ERR_DATA when
 * a modification names a picture that is not there; the lists are usable all the same. */
int h264_ref_lists(struct h264_dpb *dpb, int32_t current_poc, struct h264_slice *slice);

#endif
