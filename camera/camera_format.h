/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The frames that a camera gives to readers: pixel formats, development, colour. Pure.
 */
#ifndef PELTON_CAMERA_FORMAT_H
#define PELTON_CAMERA_FORMAT_H

#include "camera/camera_control.h"
#include "camera/camera_files.h"

/* The format with FFmpeg's name pix_fmt; NULL: yuv420p. False: cameras do not leave like that. With
 * `any` it is yuv420p then. */
bool camera_pix_fmt_find(const char *pix_fmt, bool any, enum isp_format *out);
const char *camera_pix_fmt(enum isp_format format);
/* The development of a camera that is open. out->tone_table borrows from tone. */
void camera_isp_params(const struct camera_control *c, const struct camera_tone *tone,
                       enum isp_format format, struct isp_params *out);
/* The colour of its frames. */
void camera_colour(const struct camera_params *params, enum isp_format format,
                   struct pelton_colour *out);
/* Information for the reader. */
void camera_info(const struct camera_params *params, enum isp_format format,
                 struct pelton_info *out);

#endif
