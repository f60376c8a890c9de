/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See v4l2_stream.h.
 *
 * A device's life: open (or BACKOFF and again, where that may pass) - units - lost - BACKOFF - open
 * ... until it is closed.
 */
#include "daemon/worker/camera/v4l2_stream.h"

#include "daemon/worker/camera/v4l2.h"
#include "daemon/worker/camera/watch.h"
#include "daemon/worker/clock.h"

#include <fcntl.h>
#include <linux/videodev2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEAST_UNIT = 5 };

struct v4l2_stream {
    struct camera_params asked, params; /* params: the device's once known */
    struct v4l2_device device;          /* fd -1: closed */
    struct backoff wait;
    int stop_fd; /* borrowed */
    bool known;  /* it was open */
    bool told;   /* V4L2_OPEN was */
    bool away;   /* its state was told: it is lost, or was never there */
    bool waits;  /* before it is opened the next time, for this reason: */
    int lost_by;
    int64_t since_ns, asked_ns;
};

/* ---- which cameras ---- */

bool v4l2_stream_wanted(const char *uri)
{
    struct camera_params p;
    char why[CAMERA_WHY];
    if (camera_params_parse(uri, &p, why) < 0 || p.kind != CAMERA_V4L2)
        return false;
    if (p.format_given)
        return p.coding == CAMERA_H264;
    int fd = open(p.path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    bool media;
    int type = fd >= 0 ? v4l2_capture_type(fd, &media) : -1;
    struct v4l2_image now;
    struct v4l2_choice choice = {0};
    if (type > 0 && v4l2_image_get(fd, (uint32_t)type, &now) == 0)
        v4l2_kind_choose(fd, (uint32_t)type, &p, p.width ? p.width : now.width,
                         p.height ? p.height : now.height, NULL, &choice);
    if (fd >= 0)
        close(fd);
    return choice.kind && choice.kind->coding == CAMERA_H264;
}

/* ---- the device ---- */

static int stream_open_device(struct v4l2_stream *s, struct pelton_failure *failure)
{
    const struct camera_params before = s->params; /* the device borrows its path from s->params */
    int rc = v4l2_device_open(&s->device, &s->params, failure);
    /* its size may be another one now, which the decoder learns from the stream */
    if (rc == PELTON_ERR_UNSUPPORTED && s->known) {
        s->params = s->asked;
        rc = v4l2_device_open(&s->device, &s->params, failure);
    }
    if (rc == 0 && s->params.coding != CAMERA_H264)
        rc = v4l2_device_fail(&s->device, failure, PELTON_ERR_UNSUPPORTED,
                              "the device gives no H.264", "");
    if (rc < 0)
        s->params = before;
    s->device.least[0] = LEAST_UNIT;
    rc = rc < 0 ? rc : v4l2_device_start(&s->device, failure);
    if (rc < 0)
        v4l2_device_close(&s->device);
    return rc;
}

/* The device is not there, and will be waited for. */
static int stream_lose(struct v4l2_stream *s, int rc, struct v4l2_news *news,
                       const struct pelton_failure *failure)
{
    s->waits = s->away = true;
    s->lost_by = rc;
    news->running = false;
    snprintf(news->cause, sizeof(news->cause), "%s", failure->cause);
    return V4L2_STATE;
}

static int stream_open(struct v4l2_stream *s, struct v4l2_news *news,
                       struct pelton_failure *failure)
{
    int rc = stream_open_device(s, failure);
    if (rc < 0 && !s->known && !camera_absence_passes(&s->params, rc))
        return rc;
    if (rc < 0)
        return stream_lose(s, rc, news, failure);
    s->known = true;
    s->since_ns = now_ns();
    return V4L2_NONE;
}

static int packet_make(AVPacket *out, const struct v4l2_taken *taken)
{
    if (taken->size > INT32_MAX / 2 || av_new_packet(out, (int)taken->size) < 0)
        return -1;
    memcpy(out->data, taken->data[0], taken->size);
    out->pts = out->dts = taken->captured_ns / 1000;
    return 0;
}

static int stream_take(struct v4l2_stream *s, AVPacket *unit, struct v4l2_news *news,
                       struct pelton_failure *failure)
{
    struct v4l2_taken taken;
    int rc = v4l2_device_take(&s->device, &taken, failure);
    if (rc != SOURCE_OK)
        return rc < 0 ? rc : V4L2_NONE;
    bool made = packet_make(unit, &taken) == 0;
    rc = v4l2_device_give(&s->device, taken.index, failure);
    if (rc < 0 || !made) {
        av_packet_unref(unit);
        s->device.lost += !made;
        return rc < 0 ? rc : V4L2_NONE;
    }
    news->lost = s->device.lost;
    s->device.lost = 0;
    return V4L2_UNIT;
}

static int stream_unit(struct v4l2_stream *s, AVPacket *unit, struct v4l2_news *news,
                       struct pelton_failure *failure)
{
    int rc = stream_take(s, unit, news, failure);
    if (rc >= 0)
        return rc;
    v4l2_device_close(&s->device);
    if (now_ns() - s->since_ns > WATCH_HEALTHY_NS)
        backoff_reset(&s->wait);
    return stream_lose(s, rc, news, failure);
}

int v4l2_stream_next(struct v4l2_stream *s, AVPacket *unit, struct v4l2_news *news,
                     struct pelton_failure *failure)
{
    if (s->waits && watch_wait(s->params.path, s->lost_by == PELTON_ERR_NOT_FOUND, s->stop_fd,
                               watch_backoff(&s->wait)))
        backoff_reset(&s->wait);
    s->waits = false;
    if (s->device.fd < 0)
        return stream_open(s, news, failure);
    if (s->away) {
        s->away = false;
        news->running = true;
        news->cause[0] = 0;
        return V4L2_STATE;
    }
    if (s->told)
        return stream_unit(s, unit, news, failure);
    s->told = true;
    news->width = s->params.width;
    news->height = s->params.height;
    news->fps = s->params.fps;
    return V4L2_OPEN;
}

void v4l2_stream_ask_for_key(struct v4l2_stream *s)
{
    struct v4l2_ext_control control = {.id = V4L2_CID_MPEG_VIDEO_FORCE_KEY_FRAME, .value = 1};
    struct v4l2_ext_controls one = {
        .which = V4L2_CTRL_WHICH_CUR_VAL, .count = 1, .controls = &control};
    if (s->device.fd < 0 || now_ns() - s->asked_ns <= NS_PER_S / 2)
        return;
    /* devices without it send one by themselves */
    v4l2_ioctl(s->device.fd, VIDIOC_S_EXT_CTRLS, &one);
    s->asked_ns = now_ns();
}

/* ---- life ---- */

int v4l2_stream_create(const char *uri, int stop_fd, struct v4l2_stream **out,
                       struct pelton_failure *failure)
{
    char why[CAMERA_WHY] = "out of memory";
    struct v4l2_stream *s = calloc(1, sizeof(*s));
    int rc = !s                                              ? PELTON_ERR_NOMEM
             : camera_params_parse(uri, &s->params, why) < 0 ? PELTON_ERR_USAGE
                                                             : 0;
    if (rc < 0) {
        free(s);
        *failure = (struct pelton_failure){.code = rc};
        snprintf(failure->cause, sizeof(failure->cause), "%.100s: %.150s", uri, why);
        return rc;
    }
    s->asked = s->params;
    s->device.fd = -1;
    s->stop_fd = stop_fd;
    *out = s;
    return 0;
}

void v4l2_stream_free(struct v4l2_stream *s)
{
    if (!s)
        return;
    if (s->device.fd >= 0)
        v4l2_device_close(&s->device);
    free(s);
}
