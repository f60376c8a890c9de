/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Exposure and gain of V4L2 devices. Exposure is V4L2_CID_EXPOSURE_ABSOLUTE (100 us) where there is
 * one, else V4L2_CID_EXPOSURE, counted in lines, whose time follows from pixel rate and horizontal
 * blanking. Analogue gain is taken to be a factor in units of its smallest value, which holds for
 * linear sensors; where that is zero, in units of 1/16 above one.
 */
#include "daemon/worker/camera/v4l2.h"

#include <linux/videodev2.h>
#include <math.h>
#include <string.h>

#define ABSOLUTE_UNIT_US 100.0
#define LINE_US          30.0 /* where the device does not say it: a usual one */
#define GAIN_STEPS       16.0

static bool query(int fd, uint32_t id, struct v4l2_queryctrl *out)
{
    *out = (struct v4l2_queryctrl){.id = id};
    return v4l2_ioctl(fd, VIDIOC_QUERYCTRL, out) == 0 &&
           !(out->flags & (V4L2_CTRL_FLAG_DISABLED | V4L2_CTRL_FLAG_READ_ONLY)) &&
           out->maximum > out->minimum;
}

static bool read_wide(int fd, uint32_t id, int64_t *out)
{
    struct v4l2_ext_control control = {.id = id};
    struct v4l2_ext_controls all = {
        .which = V4L2_CTRL_WHICH_CUR_VAL, .count = 1, .controls = &control};
    if (v4l2_ioctl(fd, VIDIOC_G_EXT_CTRLS, &all) < 0)
        return false;
    *out = id == V4L2_CID_PIXEL_RATE ? control.value64 : control.value;
    return true;
}

static double line_time(int fd, const struct camera_params *p)
{
    int64_t rate, blank;
    if (!read_wide(fd, V4L2_CID_PIXEL_RATE, &rate) || !read_wide(fd, V4L2_CID_HBLANK, &blank) ||
        rate <= 0 || blank < 0)
        return LINE_US;
    double us = ((double)p->width + (double)blank) * 1e6 / (double)rate;
    return us > 0.1 && us < 10000 ? us : LINE_US;
}

static void narrow(double *least, double *most, double device_least, double device_most)
{
    double low = fmax(*least, device_least), high = fmin(*most, device_most);
    *least = low <= high ? low : device_least;
    *most = low <= high ? high : device_most;
}

static void write_one(int fd, uint32_t id, int32_t value)
{
    struct v4l2_ext_control control = {.id = id, .value = value};
    struct v4l2_ext_controls all = {
        .which = V4L2_CTRL_WHICH_CUR_VAL, .count = 1, .controls = &control};
    v4l2_ioctl(fd, VIDIOC_S_EXT_CTRLS, &all); /* a device without it has nothing to switch off */
}

static void open_time(int fd, struct v4l2_controls *c, struct camera_params *p)
{
    struct v4l2_queryctrl q;
    if (query(fd, V4L2_CID_EXPOSURE_ABSOLUTE, &q))
        c->time_unit = ABSOLUTE_UNIT_US;
    else if (query(fd, V4L2_CID_EXPOSURE, &q))
        c->time_unit = line_time(fd, p);
    else
        return;
    c->time_id = q.id;
    p->exposure.ae.time_step = c->time_unit;
    narrow(&p->exposure.ae.time_min, &p->exposure.ae.time_max,
           fmax(1, fmax(1, q.minimum) * c->time_unit), fmax(1, q.maximum) * c->time_unit);
}

static void open_gain(int fd, struct v4l2_controls *c, struct camera_params *p)
{
    struct v4l2_queryctrl q;
    if (!query(fd, V4L2_CID_ANALOGUE_GAIN, &q) && !query(fd, V4L2_CID_GAIN, &q))
        return;
    c->gain_id = q.id;
    c->gain_unit = q.minimum > 0 ? q.minimum : GAIN_STEPS;
    c->gain_base = q.minimum > 0 ? 0 : 1;
    double most = c->gain_base + q.maximum / c->gain_unit;
    p->exposure.ae.analogue_step = 1 / c->gain_unit;
    narrow(&p->exposure.ae.analogue_min, &p->exposure.ae.analogue_max, 1,
           fmin(1000, fmax(1, most)));
}

void v4l2_controls_manual(int fd)
{
    write_one(fd, V4L2_CID_EXPOSURE_AUTO, V4L2_EXPOSURE_MANUAL);
    write_one(fd, V4L2_CID_AUTOGAIN, 0);
}

void v4l2_controls_open(int fd, struct v4l2_controls *c, struct camera_params *p)
{
    *c = (struct v4l2_controls){.time_unit = 1, .gain_unit = 1, .time = -1, .gain = -1};
    open_time(fd, c, p);
    open_gain(fd, c, p);
    if (!c->time_id) /* the light is as it is */
        p->exposure.ae.time_min = p->exposure.ae.time_max = p->exposure.time_us;
    if (!c->gain_id)
        p->exposure.ae.analogue_min = p->exposure.ae.analogue_max = 1;
}

static double gain_factor(const struct v4l2_controls *c)
{
    return c->gain_id ? c->gain_base + (double)c->gain / c->gain_unit : 1;
}

struct ae_exposure v4l2_controls_set(int fd, struct v4l2_controls *c, const struct ae_exposure *e)
{
    int64_t time = c->time_id ? llround(e->time_us / c->time_unit) : -1,
            gain = c->gain_id ? llround((e->analogue - c->gain_base) * c->gain_unit) : -1;
    struct v4l2_ext_control controls[2];
    struct v4l2_ext_controls all = {.which = V4L2_CTRL_WHICH_CUR_VAL, .controls = controls};
    memset(controls, 0, sizeof(controls));
    if (c->time_id)
        controls[all.count++] = (struct v4l2_ext_control){.id = c->time_id, .value = (int32_t)time};
    if (c->gain_id)
        controls[all.count++] = (struct v4l2_ext_control){.id = c->gain_id, .value = (int32_t)gain};
    if (all.count && (time != c->time || gain != c->gain) &&
        v4l2_ioctl(fd, VIDIOC_S_EXT_CTRLS, &all) == 0) {
        c->time = c->time_id ? controls[0].value : -1;
        c->gain = c->gain_id ? controls[all.count - 1].value : -1;
    }
    double us = c->time > 0 ? (double)c->time * c->time_unit : e->time_us, factor = gain_factor(c);
    return (struct ae_exposure){us, factor > 0 ? factor : 1, 1};
}
