/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Limits of one stream.
 */
#ifndef PELTON_H264_LIMITS_H
#define PELTON_H264_LIMITS_H

#include <stdint.h>

/* How much one stream may ask for. Bytes are never fewer than those of a picture of its size whose
 * macroblocks take the most that A.3.1 allows. 0: no limit but those of the standard. */
struct h264_limits {
    uint32_t unit_bytes; /* of what h264_stream_feed gets at once: the rest is left out */
    uint32_t nal_bytes;  /* larger NAL units are left out */
    uint32_t frame_mbs;  /* larger sequence parameter sets are H264_ERR_UNSUPPORTED */
};

enum { H264_SLICES_PER_MB = 3 }; /* of each colour plane, or one and redundant ones */

/* H264_LIMIT_SLICES: beyond H264_SLICES_PER_MB. H264_LIMIT_SEI: messages beyond
 * H264_SEI_MAX_MESSAGES and H264_SEI_MAX_BYTES. */
enum h264_limit {
    H264_LIMIT_UNIT,
    H264_LIMIT_NAL,
    H264_LIMIT_SEI,
    H264_LIMIT_PICTURE,
    H264_LIMIT_SLICES,
    H264_LIMITS
};

#endif
