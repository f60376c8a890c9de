/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Slice groups (8.2.2).
 */
#ifndef PELTON_CODEC_SLICE_GROUPS_H
#define PELTON_CODEC_SLICE_GROUPS_H

#include "codec/h264_params.h"

/* mbToSliceGroupMap (8.2.2) of a picture with more than one slice group: map[PicSizeInMbs], by
 * macroblock address. */
void h264_slice_group_map(const struct h264_sps *sps, const struct h264_pps *pps,
                          const struct h264_slice_header *h, uint8_t *map);

#endif
