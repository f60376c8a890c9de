/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Camera calibration files: ROS camera_info (YAML), OpenCV FileStorage (YAML, XML, JSON) and Kalibr
 * camchains (YAML). Thread: any.
 */
#ifndef PELTON_CALIBRATION_H
#define PELTON_CALIBRATION_H

#include <stddef.h>

#include "gpu/isp/isp_lens.h"

enum calibration_error {
    CALIBRATION_OK = 0,
    /* no such file, not readable, not one of these formats, a value missing or senseless */
    CALIBRATION_ERR_INPUT = -1,
    CALIBRATION_ERR_UNSUPPORTED = -2, /* a model that is none of isp_lens_model; why names it */
    CALIBRATION_ERR_SIZE = -3,        /* another aspect ratio; why names both sizes */
    CALIBRATION_ERR_NOMEM = -4
};

#define CALIBRATION_WHY 240 /* bytes that hold any reason */

enum calibration_format { CALIBRATION_ROS, CALIBRATION_OPENCV, CALIBRATION_KALIBR };

struct calibration {
    enum calibration_format format;
    uint32_t width, height; /* of the pictures it was made with; 0: the file does not say */
    struct isp_lens lens;
    bool has_projection;           /* ROS: projection_matrix */
    struct isp_pinhole projection; /* the straight camera that the file asks for */
};

const char *calibration_format_name(enum calibration_format format);
const char *calibration_model_name(enum isp_lens_model model);

/* A file of at most 1 MiB. camera: which of a Kalibr camchain (cam0, cam1, ..); 0 for the others.
 * why: filled on failure. */
int calibration_load(const char *path, unsigned camera, struct calibration *out,
                     char why[CALIBRATION_WHY]);
/* The same from memory. */
int calibration_parse(const void *data, size_t size, unsigned camera, struct calibration *out,
                      char why[CALIBRATION_WHY]);
/* For pictures of width x height: the matrices scaled by the ratio of the sizes, pixel centres at
 * whole coordinates. Refused with both sizes where the aspect ratio is another. A file without a
 * size is taken to be for this one. In place. */
int calibration_scale(struct calibration *c, uint32_t width, uint32_t height,
                      char why[CALIBRATION_WHY]);

#endif
