/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pelton calib check: the camera that pelton makes of a calibration file.
 */
#include "camera/calibration.h"
#include "client/commands.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int fail_calibration(struct failure *f, const char *name, int err, const char *why)
{
    switch (err) {
    case CALIBRATION_ERR_UNSUPPORTED:
        return fail_with(f, X_UNSUPPORTED,
                         "models: none, Brown-Conrady (plumb_bob, rational_polynomial, radtan), "
                         "fisheye (equidistant)",
                         "%s: %s", name, why);
    case CALIBRATION_ERR_SIZE:
        return fail_with(f, X_INPUT, "calibrate at the aspect ratio of the pictures", "%s: %s",
                         name, why);
    case CALIBRATION_ERR_NOMEM:
        return fail_with(f, X_OTHER, "", "%s: %s", name, why);
    default:
        return fail_with(f, X_INPUT, "ROS camera_info, OpenCV YAML or XML, Kalibr camchain",
                         "%s: %s", name, why);
    }
}

static void print_pinhole(const char *name, const struct isp_pinhole *p)
{
    printf("%-12s fx %.3f fy %.3f cx %.3f cy %.3f\n", name, p->fx, p->fy, p->cx, p->cy);
}

/* The longest way that a point of the straight picture moves, over a grid of points. */
static void print_bend(const struct calibration *c)
{
    double most = 0, x, y;
    for (int i = 0; i <= 16; i++) {
        for (int j = 0; j <= 16; j++) {
            double px = (c->width - 1.0) * i / 16, py = (c->height - 1.0) * j / 16;
            if (isp_lens_undistort(&c->lens, &c->lens.camera, px, py, &x, &y))
                most = fmax(most, hypot(x - px, y - py));
        }
    }
    printf("%-12s by %.1f pixels at most\n", "bends", most);
}

static void print_straight(const struct calibration *c)
{
    struct isp_pinhole p;
    for (int alpha = 0; alpha <= 1; alpha++)
        if (isp_lens_new_camera(&c->lens, c->width, c->height, alpha, &p))
            print_pinhole(alpha ? "alpha 1" : "alpha 0", &p);
        else
            printf("%-12s none: the lens's model does not reach the corners\n",
                   alpha ? "alpha 1" : "alpha 0");
}

int cmd_calib(struct client_options *o, struct failure *f)
{
    struct calibration c;
    char why[CALIBRATION_WHY];
    if (!o->topic || strcmp(o->topic, "check") != 0 || o->n_inputs != 1) {
        return fail_with(f, X_USAGE, "pelton calib check FILE [--size WxH]",
                         "calib: check and one file are wanted");
    }
    const char *name = o->inputs[0];
    int err = calibration_load(name, o->calib.camera, &c, why);
    if (err < 0)
        return fail_calibration(f, name, err, why);
    printf("%-12s %s\n%-12s %s\n", "format", calibration_format_name(c.format), "model",
           calibration_model_name(c.lens.model));
    if (c.width)
        printf("%-12s %u x %u\n", "made for", c.width, c.height);
    if (o->calib.width) {
        err = calibration_scale(&c, o->calib.width, o->calib.height, why);
        if (err < 0)
            return fail_calibration(f, name, err, why);
        printf("%-12s %u x %u\n", "used for", c.width, c.height);
    }
    print_pinhole("camera", &c.lens.camera);
    if (c.has_projection)
        print_pinhole("projection", &c.projection);
    if (c.lens.model != ISP_LENS_NONE) {
        printf("%-12s", "lens");
        for (int i = 0; i < (c.lens.model == ISP_LENS_FISHEYE ? 4 : 8); i++)
            printf(" %.9g", c.lens.coefficients[i]);
        putchar('\n');
    }
    if (c.width && c.lens.model != ISP_LENS_NONE) {
        print_bend(&c);
        print_straight(&c);
    }
    return 0;
}
