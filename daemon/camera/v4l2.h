/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Capture from V4L2 devices: raw Bayer and grey formats into memory-mapped buffers, exposure and gain by VIDIOC_S_EXT_CTRLS.
 */
#ifndef PELTON_CAMERA_V4L2_H
#define PELTON_CAMERA_V4L2_H

#include "daemon/camera/source.h"

struct v4l2_raw_format {
    uint32_t fourcc, order, depth, packing;
};
const struct v4l2_raw_format *v4l2_raw_by_fourcc(uint32_t fourcc); /* NULL: none of them */
const struct v4l2_raw_format *v4l2_raw_by_kind(uint32_t order, uint32_t depth, uint32_t packing);
void v4l2_fourcc_name(uint32_t fourcc, char out[12]); /* SRGGB12P; else the four characters */

/* Exposure and gain of an open device (v4l2_controls.c). */
struct v4l2_controls {
    uint32_t time_id, gain_id; /* 0: the device has none */
    double time_unit;          /* microseconds of one step */
    double gain_unit, gain_base; /* factor = gain_base + control / gain_unit */
    int64_t time, gain;        /* as the device has them */
};
/* Finds them, switches the device's own exposure control off, and narrows the limits of params to the device's. */
void v4l2_controls_open(int fd, struct v4l2_controls *c, struct camera_params *params);
/* What the device made of e. */
struct ae_exposure v4l2_controls_set(int fd, struct v4l2_controls *c, const struct ae_exposure *e);

int v4l2_ioctl(int fd, unsigned long request, void *argument); /* again where a signal came; -1 with errno */
/* The process that has the device open, but for this one: "name (pid N)". False: not to be seen. */
bool v4l2_holder(const char *path, char *out, size_t size);

void *v4l2_source_create(void);
extern const struct source_ops v4l2_source_ops;

#endif
