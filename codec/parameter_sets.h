/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Shared by the files that parse parameter sets.
 */
#ifndef PELTON_CODEC_PARAMS_H
#define PELTON_CODEC_PARAMS_H

#include "codec/internal.h"

/* nal_unit_header and seq_parameter_set_data() (7.3.2.1.1); b stands behind it afterwards. */
int h264_sps_parse_data(struct h264_bits *b, struct h264_sps **out, struct h264_diag *diag);
/* vui_parameters() (E.1.1). The overrun state of b is left to the caller. */
int h264_vui_parse(struct h264_bits *b, struct h264_vui *v, struct h264_diag *diag);
/* Fills max_dpb_frames and reorder_frames from the other members. */
void h264_sps_dpb_size(struct h264_sps *sps);

#endif
