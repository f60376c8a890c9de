/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Exposure and gain of V4L2 devices and of the sub-devices behind them. Exposure is
 * V4L2_CID_EXPOSURE_ABSOLUTE (100 us) where there is one, else V4L2_CID_EXPOSURE, counted in lines,
 * whose time follows from pixel rate and horizontal blanking. Analogue gain is taken to be a factor
 * in units of its smallest value, which holds for linear sensors; where that is zero, in units of
 * 1/16 above one. Sensors whose gain is another function are known by name (media_gain_of).
 */
#include "daemon/worker/camera/v4l2.h"

#include <linux/videodev2.h>
#include <math.h>
#include <string.h>

#define ABSOLUTE_UNIT_US 100.0
#define LINE_US          30.0 /* where the device does not say it: a usual one */
#define GAIN_STEPS       16.0

bool v4l2_control_query(int fd, uint32_t id, struct v4l2_queryctrl *out)
{
    *out = (struct v4l2_queryctrl){.id = id};
    return v4l2_ioctl(fd, VIDIOC_QUERYCTRL, out) == 0 &&
           !(out->flags & (V4L2_CTRL_FLAG_DISABLED | V4L2_CTRL_FLAG_READ_ONLY)) &&
           out->maximum > out->minimum;
}

bool v4l2_control_read(int fd, uint32_t id, int64_t *out)
{
    struct v4l2_ext_control control = {.id = id};
    struct v4l2_ext_controls all = {
        .which = V4L2_CTRL_WHICH_CUR_VAL, .count = 1, .controls = &control};
    if (v4l2_ioctl(fd, VIDIOC_G_EXT_CTRLS, &all) < 0)
        return false;
    *out = id == V4L2_CID_PIXEL_RATE ? control.value64 : control.value;
    return true;
}

bool v4l2_control_write(int fd, uint32_t id, int32_t value)
{
    struct v4l2_ext_control control = {.id = id, .value = value};
    struct v4l2_ext_controls all = {
        .which = V4L2_CTRL_WHICH_CUR_VAL, .count = 1, .controls = &control};
    return v4l2_ioctl(fd, VIDIOC_S_EXT_CTRLS, &all) == 0;
}

/* The device or the sub-device that has a control, the first of ids that one of them has; *which is
 * that id. -1: none has any. */
static int owner(const struct v4l2_device *d, const uint32_t ids[2], uint32_t *which)
{
    const struct media_pipe *pipe = &d->pipe;
    uint32_t n = pipe->n ? pipe->n : 1;
    for (int k = 0; k < 2; k++) {
        bool has[MEDIA_HOPS] = {false};
        struct v4l2_queryctrl q;
        for (uint32_t i = 0; i < n; i++) {
            int fd = i + 1 == n ? d->fd : pipe->stations[i].fd;
            has[i] = fd >= 0 && v4l2_control_query(fd, ids[k], &q);
        }
        int at = media_control_owner(has, n, pipe->full);
        *which = ids[k];
        if (at >= 0)
            return (uint32_t)at + 1 == n ? d->fd : pipe->stations[at].fd;
    }
    return -1;
}

/* Of the sensor behind a pipe; else of the device itself. */
static double line_time(const struct v4l2_device *d, const struct camera_params *p)
{
    struct media_timing t = {.width = p->width, .height = p->height};
    bool known = media_pipe_timing(&d->pipe, &t) ||
                 (v4l2_control_read(d->fd, V4L2_CID_PIXEL_RATE, &t.pixel_rate) &&
                  v4l2_control_read(d->fd, V4L2_CID_HBLANK, &t.hblank));
    double us = known ? media_line_us(&t) : 0;
    return us > 0 ? us : LINE_US;
}

static void narrow(double *least, double *most, double device_least, double device_most)
{
    double low = fmax(*least, device_least), high = fmin(*most, device_most);
    *least = low <= high ? low : device_least;
    *most = low <= high ? high : device_most;
}

static void open_time(const struct v4l2_device *d, struct v4l2_controls *c, struct camera_params *p)
{
    static const uint32_t ids[2] = {V4L2_CID_EXPOSURE_ABSOLUTE, V4L2_CID_EXPOSURE};
    struct v4l2_queryctrl q;
    uint32_t id;
    c->time_fd = owner(d, ids, &id);
    if (c->time_fd < 0 || !v4l2_control_query(c->time_fd, id, &q))
        return;
    c->time_id = id;
    c->time_unit = id == V4L2_CID_EXPOSURE ? line_time(d, p) : ABSOLUTE_UNIT_US;
    p->exposure.ae.time_step = c->time_unit;
    narrow(&p->exposure.ae.time_min, &p->exposure.ae.time_max,
           fmax(1, fmax(1, q.minimum) * c->time_unit), fmax(1, q.maximum) * c->time_unit);
}

static double gain_factor(const struct v4l2_controls *c, int64_t number)
{
    double factor = c->model.kind ? media_gain_factor(&c->model, number)
                                  : c->gain_base + (double)number / c->gain_unit;
    return factor > 0 ? factor : 1;
}

static void open_gain(const struct v4l2_device *d, struct v4l2_controls *c, struct camera_params *p)
{
    static const uint32_t ids[2] = {V4L2_CID_ANALOGUE_GAIN, V4L2_CID_GAIN};
    struct v4l2_queryctrl q;
    uint32_t id;
    c->gain_fd = owner(d, ids, &id);
    if (c->gain_fd < 0 || !v4l2_control_query(c->gain_fd, id, &q))
        return;
    c->gain_id = id;
    c->gain_unit = q.minimum > 0 ? q.minimum : GAIN_STEPS;
    c->gain_base = q.minimum > 0 ? 0 : 1;
    if (d->pipe.n)
        c->model = media_gain_of(d->pipe.stations[0].name);
    p->exposure.ae.analogue_step = c->model.kind ? 0 : 1 / c->gain_unit;
    narrow(&p->exposure.ae.analogue_min, &p->exposure.ae.analogue_max, 1,
           fmin(1000, fmax(1, gain_factor(c, q.maximum))));
}

void v4l2_controls_manual(const struct v4l2_device *d)
{
    /* a device without it has nothing to switch off */
    for (uint32_t i = 0; i < (d->pipe.n ? d->pipe.n : 1); i++) {
        int fd = i + 1 >= d->pipe.n ? d->fd : d->pipe.stations[i].fd;
        if (fd < 0)
            continue;
        v4l2_control_write(fd, V4L2_CID_EXPOSURE_AUTO, V4L2_EXPOSURE_MANUAL);
        v4l2_control_write(fd, V4L2_CID_AUTOGAIN, 0);
    }
}

void v4l2_controls_open(const struct v4l2_device *d, struct v4l2_controls *c,
                        struct camera_params *p)
{
    *c = (struct v4l2_controls){
        .time_fd = -1, .gain_fd = -1, .time_unit = 1, .gain_unit = 1, .time = -1, .gain = -1};
    open_time(d, c, p);
    open_gain(d, c, p);
    if (!c->time_id) /* the light is as it is */
        p->exposure.ae.time_min = p->exposure.ae.time_max = p->exposure.time_us;
    if (!c->gain_id)
        p->exposure.ae.analogue_min = p->exposure.ae.analogue_max = 1;
}

/* Both at once where one device has both, so that they take effect together. */
static void write_both(struct v4l2_controls *c, int64_t time, int64_t gain)
{
    struct v4l2_ext_control controls[2];
    struct v4l2_ext_controls all = {
        .which = V4L2_CTRL_WHICH_CUR_VAL, .count = 2, .controls = controls};
    memset(controls, 0, sizeof(controls));
    controls[0] = (struct v4l2_ext_control){.id = c->time_id, .value = (int32_t)time};
    controls[1] = (struct v4l2_ext_control){.id = c->gain_id, .value = (int32_t)gain};
    if (v4l2_ioctl(c->time_fd, VIDIOC_S_EXT_CTRLS, &all) == 0) {
        c->time = controls[0].value;
        c->gain = controls[1].value;
    }
}

static void write_one(int fd, uint32_t id, int64_t wish, int64_t *now)
{
    if (id && wish != *now && v4l2_control_write(fd, id, (int32_t)wish))
        v4l2_control_read(fd, id, now);
}

struct ae_exposure v4l2_controls_set(struct v4l2_controls *c, const struct ae_exposure *e)
{
    int64_t time = c->time_id ? llround(e->time_us / c->time_unit) : -1,
            gain = !c->gain_id     ? -1
                   : c->model.kind ? media_gain_number(&c->model, e->analogue)
                                   : llround((e->analogue - c->gain_base) * c->gain_unit);
    if (c->time_id && c->gain_id && c->time_fd == c->gain_fd) {
        if (time != c->time || gain != c->gain)
            write_both(c, time, gain);
    } else {
        write_one(c->time_fd, c->time_id, time, &c->time);
        write_one(c->gain_fd, c->gain_id, gain, &c->gain);
    }
    double us = c->time > 0 ? (double)c->time * c->time_unit : e->time_us;
    return (struct ae_exposure){us, c->gain_id && c->gain >= 0 ? gain_factor(c, c->gain) : 1, 1};
}
