/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Lens models: from a straight-line (pinhole) picture to the sensor and back. Plain C in double
 * precision, no device. Pixel centres lie at whole coordinates, as in OpenCV. Thread: any.
 *
 *   Brown-Conrady, with the rational radial part of OpenCV: D. C. Brown, "Close-range camera
 * calibration", 1971. Fisheye: J. Kannala and S. S. Brandt, "A generic camera model and calibration
 * method...", 2006, equation 6, as in OpenCV.
 */
#ifndef PELTON_ISP_LENS_H
#define PELTON_ISP_LENS_H

#include <stdbool.h>
#include <stdint.h>

enum isp_lens_model {
    ISP_LENS_NONE,          /* a pinhole already */
    ISP_LENS_BROWN_CONRADY, /* coefficients k1 k2 p1 p2 k3 k4 k5 k6 */
    ISP_LENS_FISHEYE        /* coefficients k1 k2 k3 k4 */
};

/* A pinhole camera, in pixels. */
struct isp_pinhole {
    double fx, fy, cx, cy;
};

struct isp_lens {
    enum isp_lens_model model;
    struct isp_pinhole camera; /* of the sensor's picture */
    double coefficients[8];
};

/* The point of the lens's picture for the ray of the pinhole camera `straight` at (x, y). False if
 * it is behind the camera or not a number; *to_x and *to_y are then untouched. */
bool isp_lens_distort(const struct isp_lens *lens, const struct isp_pinhole *straight, double x,
                      double y, double *to_x, double *to_y);

/* The inverse: the point of the pinhole camera's picture that the lens shows at (x, y). Newton's
 * method; false where it does not converge to within 1e-6 of a pixel. */
bool isp_lens_undistort(const struct isp_lens *lens, const struct isp_pinhole *straight, double x,
                        double y, double *to_x, double *to_y);

/* The pinhole camera for a picture of width x height. alpha 0: it shows only points of the lens's
 * picture (no black); alpha 1: it shows all of them; between: the mixture. False where the
 * border of the picture cannot be undistorted. */
bool isp_lens_new_camera(const struct isp_lens *lens, uint32_t width, uint32_t height, double alpha,
                         struct isp_pinhole *out);

#endif
