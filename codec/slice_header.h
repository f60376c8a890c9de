/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Parsing of slice headers (7.3.3).
 */
#ifndef PELTON_CODEC_SLICE_HEADER_H
#define PELTON_CODEC_SLICE_HEADER_H

#include "codec/h264_error.h"
#include "codec/h264_params.h"

#include <stddef.h>

/* The first three elements, which need no parameter set. */
int h264_slice_peek(const uint8_t *rbsp, size_t size, uint32_t *first_mb, uint32_t *type,
                    uint32_t *pps_id);
/* rbsp: from the NAL unit header byte on. *data_bit: the first bit of slice_data(), on success. */
int h264_slice_header_parse(const uint8_t *rbsp, size_t size, const struct h264_sps *sps,
                            const struct h264_pps *pps, struct h264_slice_header *hdr,
                            size_t *data_bit, struct h264_diag *diag);

#endif
