/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Buffers of GStreamer that begin no access unit. h264parse begins one at each slice with
 * first_mb_in_slice 0, also at slices of redundant pictures (7.4.1.2.5), which belong to the access
 * unit before. Only parameter sets tell which slices are such.
 */
#ifndef PELTON_REDUNDANT_UNITS_H
#define PELTON_REDUNDANT_UNITS_H

#include "codec/nal.h"
#include "codec/parameter_sets.h"

/* Parameter sets so far. Zero-initialised; redundant_units_forget frees them. */
struct redundant_units {
    const struct h264_sps *sps[32];
    const struct h264_pps *pps[256];
    struct h264_rbsp rbsp;
    bool allowed; /* a PPS has redundant_pic_cnt_present_flag */
};

/* Looks at all NAL units of a buffer. True: its first slice is of a redundant picture. Sets that
 * are broken are left out: the daemon tells of them. */
bool redundant_units_look(struct redundant_units *r, const uint8_t *unit, size_t size);
void redundant_units_forget(struct redundant_units *r);

#endif
