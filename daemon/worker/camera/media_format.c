/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The formats of the pads along a pipe (media_pipe.h), and the sensor's rate.
 *
 * The sensor is given one of its formats and sizes, then each pad that of the one before it, up to
 * the video node. Entities that scale, crop or convert do so at their source pads, which are asked
 * for the size and the class of format that is wanted. The failure modes are an entity that takes
 * another format than the one before it gives, and no way to a format that can be read.
 */
#include "daemon/worker/camera/media_pipe.h"
#include "daemon/worker/camera/v4l2.h"

#include <errno.h>
#include <linux/v4l2-subdev.h>
#include <linux/videodev2.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CODES_MOST = 128, SIZES_MOST = 256 };

/* What a pad has. */
struct pad_format {
    uint32_t code, width, height;
};

/* ---- pads ---- */

static bool pad_get(int fd, int pad, struct v4l2_subdev_format *out)
{
    *out = (struct v4l2_subdev_format){.which = V4L2_SUBDEV_FORMAT_ACTIVE, .pad = (uint32_t)pad};
    return v4l2_ioctl(fd, VIDIOC_SUBDEV_G_FMT, out) == 0;
}

/* *f becomes what the entity made of it; 0 or -1 with errno. Its colours stay as they are. */
static int pad_set(int fd, int pad, struct pad_format *f)
{
    struct v4l2_subdev_format s;
    if (!pad_get(fd, pad, &s))
        return -1;
    s.format.code = f->code;
    s.format.width = f->width;
    s.format.height = f->height;
    s.format.field = V4L2_FIELD_NONE;
    if (v4l2_ioctl(fd, VIDIOC_SUBDEV_S_FMT, &s) < 0)
        return -1;
    *f = (struct pad_format){s.format.code, s.format.width, s.format.height};
    return 0;
}

static uint32_t pad_codes(int fd, int pad, uint32_t out[CODES_MOST])
{
    uint32_t n = 0;
    for (; n < CODES_MOST && fd >= 0; n++) {
        struct v4l2_subdev_mbus_code_enum e = {
            .pad = (uint32_t)pad, .index = n, .which = V4L2_SUBDEV_FORMAT_ACTIVE};
        if (v4l2_ioctl(fd, VIDIOC_SUBDEV_ENUM_MBUS_CODE, &e) < 0)
            break;
        out[n] = e.code;
    }
    return n;
}

/* The smallest size of a sensor that holds the one in f, which it becomes; f stays where there is
 * none, or where the sensor does not say them. */
static void pad_size(int fd, int pad, struct pad_format *f)
{
    uint32_t width = 0, height = 0;
    for (uint32_t i = 0; i < SIZES_MOST; i++) {
        struct v4l2_subdev_frame_size_enum e = {
            .pad = (uint32_t)pad, .index = i, .code = f->code, .which = V4L2_SUBDEV_FORMAT_ACTIVE};
        if (v4l2_ioctl(fd, VIDIOC_SUBDEV_ENUM_FRAME_SIZE, &e) < 0)
            break;
        if (e.max_width < f->width || e.max_height < f->height)
            continue;
        uint32_t w = e.min_width > f->width ? e.min_width : f->width,
                 h = e.min_height > f->height ? e.min_height : f->height;
        if (!width || (uint64_t)w * h < (uint64_t)width * height) {
            width = w;
            height = h;
        }
    }
    f->width = width ? width : f->width;
    f->height = height ? height : f->height;
}

/* ---- the choice ---- */

/* The formats that the video node makes of a code: the one it would take. */
static const struct v4l2_kind *kind_of(const struct v4l2_device *d, const struct camera_params *p,
                                       uint32_t code, const struct pad_format *f,
                                       struct v4l2_choice *choice)
{
    struct v4l2_choice unused;
    struct v4l2_choice *out = choice ? choice : &unused;
    const struct v4l2_filter filter = {media_code_of(code), !d->media};
    v4l2_kind_choose(d->fd, d->type, p, f->width, f->height, &filter, out);
    return out->kind;
}

/* Of the codes, that which leads to the best format of the video node; the one that comes in where
 * that does, too. 0: none does. */
static uint32_t code_for_video(const struct v4l2_device *d, const struct camera_params *p,
                               const uint32_t *codes, uint32_t n, uint32_t incoming,
                               const struct pad_format *f)
{
    const struct v4l2_kind *best = NULL;
    uint32_t code = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct v4l2_kind *k = kind_of(d, p, codes[i], f, NULL);
        if (k && codes[i] == incoming)
            return incoming;
        if (k && (!best || k < best)) {
            best = k;
            code = codes[i];
        }
    }
    return code;
}

static enum media_class class_of(const struct v4l2_kind *k)
{
    return !k ? MEDIA_OTHER : k->order == ISP_YUV ? MEDIA_YUV : MEDIA_RAW;
}

/* ---- the walk ---- */

struct walk {
    const struct v4l2_device *d;
    const struct camera_params *params;
    struct pelton_failure *failure;
    enum media_class wanted;
    struct pad_format goal; /* the size that is asked for */
    struct pad_format now;  /* of the last pad */
};

static int walk_refused(const struct walk *w, const struct media_station *s, int pad,
                        const struct pad_format *asked)
{
    char cause[200], name[16], made[16];
    media_code_name(asked->code, name);
    media_code_name(w->now.code, made);
    snprintf(cause, sizeof(cause), "%.50s (pad %d) refuses %s at %ux%u, it takes %s at %ux%u",
             s->name, pad, name, asked->width, asked->height, made, w->now.width, w->now.height);
    return v4l2_device_fail(w->d, w->failure, PELTON_ERR_UNSUPPORTED, cause,
                            "ask for another size or format; media-ctl -p shows the pads");
}

static int walk_set(struct walk *w, const struct media_station *s, int pad, bool exact)
{
    const struct pad_format asked = w->now;
    char cause[160];
    if (s->fd < 0 || pad < 0)
        return 0;
    if (pad_set(s->fd, pad, &w->now) < 0) {
        snprintf(cause, sizeof(cause), "%.60s (pad %d) takes no format: %s", s->name, pad,
                 errno == EBUSY ? "its pipe is running already" : strerror(errno));
        return v4l2_device_fail(w->d, w->failure,
                                errno == EBUSY ? PELTON_ERR_BUSY : PELTON_ERR_INPUT, cause, "");
    }
    bool same =
        w->now.code == asked.code && w->now.width == asked.width && w->now.height == asked.height;
    return !exact || same ? 0 : walk_refused(w, s, pad, &asked);
}

/* What leaves a hop. The one before the video node has to lead to a format that can be read. */
static int walk_source(struct walk *w, const struct media_station *s, bool last)
{
    uint32_t codes[CODES_MOST], n = pad_codes(s->fd, s->source, codes), code;
    code = last ? code_for_video(w->d, w->params, codes, n, w->now.code, &w->goal) : 0;
    code = code ? code : media_code_pick(codes, n, w->now.code, w->wanted);
    w->now.code = code ? code : w->now.code;
    w->now.width = w->goal.width;
    w->now.height = w->goal.height;
    return walk_set(w, s, s->source, false);
}

/* The sensor's code is that which its neighbour would make the best of, were it the video node. */
static int walk_sensor(struct walk *w, const struct media_station *s, uint32_t *width,
                       uint32_t *height)
{
    uint32_t codes[CODES_MOST], n = pad_codes(s->fd, s->source, codes);
    struct v4l2_subdev_format now;
    if (s->fd < 0 || !pad_get(s->fd, s->source, &now)) {
        char cause[160];
        snprintf(cause, sizeof(cause), "%.60s says no format: its driver gives no sub-device",
                 s->name);
        return v4l2_device_fail(w->d, w->failure, PELTON_ERR_UNSUPPORTED, cause,
                                "media=off leaves the graph alone");
    }
    w->goal = (struct pad_format){0, w->params->width ? w->params->width : now.format.width,
                                  w->params->height ? w->params->height : now.format.height};
    uint32_t code = code_for_video(w->d, w->params, codes, n, 0, &w->goal);
    w->wanted = class_of(kind_of(w->d, w->params, code, &w->goal, NULL));
    if (!code && w->params->format_given)
        w->wanted = w->params->order == ISP_YUV ? MEDIA_YUV : MEDIA_RAW;
    if (!code)
        code = media_code_pick(codes, n, now.format.code, MEDIA_RAW);
    w->wanted = w->wanted == MEDIA_OTHER ? MEDIA_YUV : w->wanted;
    w->now = w->goal;
    w->now.code = code ? code : now.format.code;
    pad_size(s->fd, s->source, &w->now);
    int rc = walk_set(w, s, s->source, false);
    *width = w->now.width;
    *height = w->now.height;
    return rc;
}

static int walk_hops(struct walk *w, const struct media_pipe *pipe)
{
    int rc = 0;
    for (uint32_t i = 1; i + 1 < pipe->n && rc == 0; i++) {
        const struct media_station *s = &pipe->stations[i];
        rc = walk_set(w, s, s->sink, true);
        rc = rc < 0 ? rc : walk_source(w, s, i + 2 == pipe->n);
    }
    return rc;
}

static int walk_sides(struct walk *w, const struct media_pipe *pipe)
{
    const struct pad_format way = w->now;
    int rc = 0;
    for (uint32_t i = 0; i < pipe->n_sides && rc == 0; i++) {
        const struct media_side *s = &pipe->sides[i];
        struct v4l2_subdev_format f;
        if (s->from.fd < 0 || s->to.fd < 0 || !pad_get(s->from.fd, s->from.source, &f))
            continue;
        w->now = (struct pad_format){f.format.code, f.format.width, f.format.height};
        rc = walk_set(w, &s->to, s->to.sink, true);
    }
    w->now = way;
    return rc;
}

static int no_size(const struct walk *w)
{
    char cause[160];
    snprintf(cause, sizeof(cause), "asked for %ux%u, the pipe from %.40s gives %ux%u",
             w->goal.width, w->goal.height, w->d->pipe.stations[0].name, w->now.width,
             w->now.height);
    return v4l2_device_fail(w->d, w->failure, PELTON_ERR_UNSUPPORTED, cause,
                            "ask for a size that the sensor has");
}

int media_pipe_format(struct v4l2_device *d, const struct camera_params *p, struct v4l2_choice *out,
                      uint32_t *width, uint32_t *height, struct pelton_failure *failure)
{
    struct media_pipe *pipe = &d->pipe;
    struct walk w = {.d = d, .params = p, .failure = failure};
    int rc = walk_sensor(&w, &pipe->stations[0], &pipe->sensor_width, &pipe->sensor_height);
    rc = rc < 0 ? rc : walk_hops(&w, pipe);
    rc = rc < 0 ? rc : walk_sides(&w, pipe);
    if (rc < 0)
        return rc;
    if (w.now.width != w.goal.width || w.now.height != w.goal.height)
        return no_size(&w);
    if (!kind_of(d, p, w.now.code, &w.now, out) && !strcmp(out->list, "none")) {
        v4l2_kind_choose(d->fd, d->type, p, w.now.width, w.now.height, NULL, out);
        out->kind = NULL; /* of another code than the sensor's */
    }
    *width = w.now.width;
    *height = w.now.height;
    return 0;
}

/* ---- the rate ---- */

bool media_pipe_timing(const struct media_pipe *pipe, struct media_timing *out)
{
    for (uint32_t i = 0; i < pipe->n; i++) {
        struct media_timing t = {.width = pipe->sensor_width, .height = pipe->sensor_height};
        int fd = pipe->stations[i].fd;
        if (fd < 0 || !v4l2_control_read(fd, V4L2_CID_PIXEL_RATE, &t.pixel_rate) ||
            !v4l2_control_read(fd, V4L2_CID_HBLANK, &t.hblank))
            continue;
        if (!v4l2_control_read(fd, V4L2_CID_VBLANK, &t.vblank))
            t.vblank = -1;
        *out = t;
        return media_line_us(&t) > 0;
    }
    return false;
}

static bool rate_interval(const struct media_station *s, double *fps)
{
    struct v4l2_subdev_frame_interval v = {.pad = (uint32_t)s->source,
                                           .interval = {1000, (uint32_t)(*fps * 1000 + 0.5)}};
    if (s->fd < 0 || v4l2_ioctl(s->fd, VIDIOC_SUBDEV_S_FRAME_INTERVAL, &v) < 0 ||
        !v.interval.numerator || !v.interval.denominator)
        return false;
    *fps = (double)v.interval.denominator / v.interval.numerator;
    return true;
}

/* Sensors of raw samples have no interval: their frames are as long as their blank lines make
 * them. */
static bool rate_blank(const struct media_pipe *pipe, double *fps)
{
    struct media_timing t;
    if (!media_pipe_timing(pipe, &t) || t.vblank < 0)
        return false;
    for (uint32_t i = 0; i < pipe->n; i++) {
        struct v4l2_queryctrl q;
        int fd = pipe->stations[i].fd;
        if (fd < 0 || !v4l2_control_query(fd, V4L2_CID_VBLANK, &q))
            continue;
        v4l2_control_write(fd, V4L2_CID_VBLANK,
                           (int32_t)media_vblank(&t, *fps, q.minimum, q.maximum));
        v4l2_control_read(fd, V4L2_CID_VBLANK, &t.vblank);
        break;
    }
    double made = media_fps(&t);
    if (!(made > 0))
        return false;
    *fps = made;
    return true;
}

void media_pipe_rate(const struct media_pipe *pipe, double *fps)
{
    double made = *fps;
    if (pipe->n && (rate_interval(&pipe->stations[0], &made) || rate_blank(pipe, &made)))
        *fps = fmin(1000, fmax(0.1, made));
}
