/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See isp_lens.h.
 */
#include "gpu/isp/isp_lens.h"

#include <math.h>

/* Normalised coordinates of a ray to those on the sensor. */
static void brown_conrady(const double k[8], double x, double y, double *to_x, double *to_y)
{
    double r2 = x * x + y * y;
    double radial =
        (1 + ((k[4] * r2 + k[1]) * r2 + k[0]) * r2) / (1 + ((k[7] * r2 + k[6]) * r2 + k[5]) * r2);
    *to_x = x * radial + 2 * k[2] * x * y + k[3] * (r2 + 2 * x * x);
    *to_y = y * radial + k[2] * (r2 + 2 * y * y) + 2 * k[3] * x * y;
}

static void fisheye(const double k[8], double x, double y, double *to_x, double *to_y)
{
    double r = sqrt(x * x + y * y), theta = atan(r), t2 = theta * theta;
    double bent = theta * (1 + (((k[3] * t2 + k[2]) * t2 + k[1]) * t2 + k[0]) * t2);
    double scale = r > 1e-12 ? bent / r : 1;
    *to_x = x * scale;
    *to_y = y * scale;
}

bool isp_lens_distort(const struct isp_lens *lens, const struct isp_pinhole *straight, double x,
                      double y, double *to_x, double *to_y)
{
    if (lens->model == ISP_LENS_NONE) {
        *to_x = x;
        *to_y = y;
        return true;
    }
    double nx = (x - straight->cx) / straight->fx, ny = (y - straight->cy) / straight->fy, bent_x,
           bent_y;
    if (lens->model == ISP_LENS_FISHEYE)
        fisheye(lens->coefficients, nx, ny, &bent_x, &bent_y);
    else
        brown_conrady(lens->coefficients, nx, ny, &bent_x, &bent_y);
    double px = bent_x * lens->camera.fx + lens->camera.cx,
           py = bent_y * lens->camera.fy + lens->camera.cy;
    if (!isfinite(px) || !isfinite(py))
        return false;
    *to_x = px;
    *to_y = py;
    return true;
}

/* Newton's method in two dimensions with differences for derivatives; steps are limited, as
 * polynomials fold far outside. */
bool isp_lens_undistort(const struct isp_lens *lens, const struct isp_pinhole *straight, double x,
                        double y, double *to_x, double *to_y)
{
    if (lens->model == ISP_LENS_NONE) {
        *to_x = x;
        *to_y = y;
        return true;
    }
    const double h = 1e-3, longest = 0.25 * straight->fx;
    double u = (x - lens->camera.cx) / lens->camera.fx * straight->fx + straight->cx;
    double v = (y - lens->camera.cy) / lens->camera.fy * straight->fy + straight->cy;
    for (int i = 0; i < 100; i++) {
        double at[2], right[2], left[2], below[2], above[2];
        if (!isp_lens_distort(lens, straight, u, v, &at[0], &at[1]) ||
            !isp_lens_distort(lens, straight, u + h, v, &right[0], &right[1]) ||
            !isp_lens_distort(lens, straight, u - h, v, &left[0], &left[1]) ||
            !isp_lens_distort(lens, straight, u, v + h, &below[0], &below[1]) ||
            !isp_lens_distort(lens, straight, u, v - h, &above[0], &above[1]))
            return false;
        double ex = x - at[0], ey = y - at[1];
        if (fabs(ex) < 1e-6 && fabs(ey) < 1e-6) {
            *to_x = u;
            *to_y = v;
            return true;
        }
        double a = (right[0] - left[0]) / (2 * h), b = (below[0] - above[0]) / (2 * h);
        double c = (right[1] - left[1]) / (2 * h), d = (below[1] - above[1]) / (2 * h),
               determinant = a * d - b * c;
        if (!(fabs(determinant) > 1e-12))
            return false;
        double du = (d * ex - b * ey) / determinant, dv = (a * ey - c * ex) / determinant,
               length = sqrt(du * du + dv * dv);
        double scale = length > longest ? longest / length : 1;
        u += scale * du;
        v += scale * dv;
    }
    return false;
}

enum { STEPS = 32 }; /* points on each side of the border */

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

bool isp_lens_new_camera(const struct isp_lens *lens, uint32_t width, uint32_t height, double alpha,
                         struct isp_pinhole *out)
{
    /* in normalised coordinates: the rectangles inside and around the border */
    const struct isp_pinhole unit = {1, 1, 0, 0};
    double inner[4] = {-INFINITY, -INFINITY, INFINITY, INFINITY},
           outer[4] = {INFINITY, INFINITY, -INFINITY, -INFINITY};
    double right = width - 1.0, bottom = height - 1.0, x, y;
    if (width < 2 || height < 2 || !(alpha >= 0 && alpha <= 1))
        return false;
    if (lens->model == ISP_LENS_NONE) {
        *out = lens->camera;
        return true;
    }
    for (int i = 0; i <= STEPS; i++) {
        for (int side = 0; side < 4; side++) {
            double along = (side & 1 ? bottom : right) * i / STEPS;
            double px = side == 0 || side == 2 ? along
                        : side == 1            ? 0
                                               : right,
                   py = side == 1 || side == 3 ? along
                        : side == 0            ? 0
                                               : bottom;
            if (!isp_lens_undistort(lens, &unit, px, py, &x, &y))
                return false;
            outer[0] = smaller(outer[0], x), outer[1] = smaller(outer[1], y);
            outer[2] = larger(outer[2], x), outer[3] = larger(outer[3], y);
            if (side == 0)
                inner[1] = larger(inner[1], y);
            else if (side == 1)
                inner[0] = larger(inner[0], x);
            else if (side == 2)
                inner[3] = smaller(inner[3], y);
            else
                inner[2] = smaller(inner[2], x);
        }
    }
    double box[4];
    for (int i = 0; i < 4; i++)
        box[i] = inner[i] * (1 - alpha) + outer[i] * alpha;
    if (!(box[2] > box[0]) || !(box[3] > box[1]))
        return false;
    double fx = right / (box[2] - box[0]), fy = bottom / (box[3] - box[1]);
    *out = (struct isp_pinhole){fx, fy, -fx * box[0], -fy * box[1]};
    return true;
}
