/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A V4L2 output device: see v4l2_sink.h. The kernel's userspace API, "Common API Elements" and
 * "Video Output Interface".
 *
 * v4l2loopback keeps a format from the first frame on until its writer and all readers have closed
 * it. So each format is set on a device that was opened anew.
 */
#include "relay/v4l2_sink.h"

#include "client/ui.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BUFFERS = 4, TAKES_MS = 200, FORMATS_MOST = 256 };

struct v4l2_sink {
    const char *path;
    int fd;
    bool writes;  /* by write(); else by mapped buffers */
    bool refused; /* it says that it takes writes, and does not */
    bool streams;
    struct picture_plan plan;
    uint8_t *picture; /* for write() */
    void *mapped[BUFFERS];
    size_t mapped_size[BUFFERS];
    unsigned buffers, used; /* that are mapped; that have been queued once */
};

static int request(const struct v4l2_sink *o, unsigned long what, void *arg)
{
    int rc;
    do
        rc = ioctl(o->fd, what, arg);
    while (rc < 0 && errno == EINTR);
    return rc;
}

/* ---- opening ---- */

static int open_failure(const char *path, struct failure *f)
{
    int error = errno;
    if (error == ENOENT || error == ENXIO || error == ENODEV)
        return fail_with(f, X_INPUT, "modprobe v4l2loopback video_nr=10 makes /dev/video10",
                         "%s: no such device", path);
    if (error == EBUSY)
        return fail_with(f, X_INPUT, "end the program that writes to it: fuser -v DEVICE",
                         "%s: the device is busy", path);
    if (error == EACCES || error == EPERM)
        return fail_with(f, X_PERMISSION, "the group video may: sudo usermod -aG video $USER",
                         "%s: %s", path, strerror(error));
    return fail_errno(f, X_INPUT, error, path);
}

static int capability_check(struct v4l2_sink *o, struct failure *f)
{
    struct v4l2_capability c = {0};
    if (request(o, VIDIOC_QUERYCAP, &c) < 0)
        return fail_with(f, X_INPUT, "name a V4L2 device, as /dev/video10", "%s: no V4L2 device",
                         o->path);
    uint32_t can = c.capabilities & V4L2_CAP_DEVICE_CAPS ? c.device_caps : c.capabilities;
    if (!(can & V4L2_CAP_VIDEO_OUTPUT))
        return fail_with(f, X_INPUT, "name a device of v4l2loopback: v4l2-ctl --list-devices",
                         "%s: %.32s takes no pictures%s", o->path, (const char *)c.card,
                         can & V4L2_CAP_VIDEO_CAPTURE ? ": it is a camera" : "");
    o->writes = can & V4L2_CAP_READWRITE && !(o->refused && can & V4L2_CAP_STREAMING);
    if (!o->writes && !(can & V4L2_CAP_STREAMING))
        return fail_with(f, X_INPUT, "name another device",
                         "%s: it takes neither writes nor buffers", o->path);
    return 0;
}

static int device_open(struct v4l2_sink *o, struct failure *f)
{
    o->fd = open(o->path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    return o->fd < 0 ? open_failure(o->path, f) : capability_check(o, f);
}

static void device_close(struct v4l2_sink *o)
{
    enum v4l2_buf_type type = V4L2_BUF_TYPE_VIDEO_OUTPUT;
    if (o->streams)
        request(o, VIDIOC_STREAMOFF, &type);
    for (unsigned i = 0; i < o->buffers; i++)
        munmap(o->mapped[i], o->mapped_size[i]);
    if (o->fd >= 0)
        close(o->fd);
    free(o->picture);
    *o = (struct v4l2_sink){.path = o->path, .fd = -1, .refused = o->refused};
}

int v4l2_sink_open(const char *path, struct v4l2_sink **out, struct failure *f)
{
    struct v4l2_sink *o = calloc(1, sizeof(*o));
    if (!o)
        return fail_with(f, X_OTHER, "close other programs", "out of memory");
    o->path = path;
    int rc = device_open(o, f);
    if (rc) {
        v4l2_sink_close(o);
        return rc;
    }
    *out = o;
    return 0;
}

void v4l2_sink_close(struct v4l2_sink *o)
{
    if (!o)
        return;
    device_close(o);
    free(o);
}

/* ---- the format ---- */

static uint32_t fourcc_of(const struct picture_layout *l)
{
    return v4l2_fourcc((uint32_t)l->fourcc[0], (uint32_t)l->fourcc[1], (uint32_t)l->fourcc[2],
                       (uint32_t)l->fourcc[3]);
}

static const struct picture_layout *layout_of(uint32_t fourcc)
{
    for (int i = 0; i < PICTURE_LAYOUTS; i++)
        if (fourcc_of(&picture_layouts[i]) == fourcc)
            return &picture_layouts[i];
    return NULL;
}

const struct picture_layout *v4l2_sink_likes(const struct v4l2_sink *o)
{
    const struct picture_layout *best = NULL;
    for (unsigned i = 0; i < FORMATS_MOST; i++) {
        struct v4l2_fmtdesc d = {.index = i, .type = V4L2_BUF_TYPE_VIDEO_OUTPUT};
        if (request(o, VIDIOC_ENUM_FMT, &d) < 0)
            break;
        const struct picture_layout *l = layout_of(d.pixelformat);
        best = l && (!best || l < best) ? l : best;
    }
    return best ? best : &picture_layouts[0];
}

/* Numbers of H.264 annex E; 5 and 6 are BT.601. */
static void colour_fill(struct v4l2_pix_format *p, const struct picture_layout *l,
                        const struct pelton_colour *c)
{
    bool full = c->range == PELTON_RANGE_FULL;
    p->colorspace = l->kind == PICTURE_RGB3            ? V4L2_COLORSPACE_SRGB
                    : c->matrix == 5 || c->matrix == 6 ? V4L2_COLORSPACE_SMPTE170M
                                                       : V4L2_COLORSPACE_REC709;
    p->priv = V4L2_PIX_FMT_PRIV_MAGIC;
    p->quantization = l->kind == PICTURE_RGB3 || full ? V4L2_QUANTIZATION_FULL_RANGE
                                                      : V4L2_QUANTIZATION_LIM_RANGE;
}

static int format_failure(const struct v4l2_sink *o, const char *why, struct failure *f)
{
    if (errno == EBUSY)
        return fail_with(f, X_INPUT, "end the program that writes to it: fuser -v DEVICE",
                         "%s: the device is busy", o->path);
    return fail_with(f, X_UNSUPPORTED, "--format or --size may fit", "%s: %s: %s", o->path, why,
                     strerror(errno));
}

/* What the device makes of the wish. */
static int format_set(struct v4l2_sink *o, const struct picture_layout *layout,
                      const struct pelton_frame *frame, struct failure *f)
{
    struct v4l2_format v = {.type = V4L2_BUF_TYPE_VIDEO_OUTPUT};
    struct picture_plan plan;
    picture_plan_make(layout, frame->width, frame->height, 0, 1, &plan);
    v.fmt.pix.width = frame->width;
    v.fmt.pix.height = frame->height;
    v.fmt.pix.pixelformat = fourcc_of(layout);
    v.fmt.pix.field = V4L2_FIELD_NONE;
    v.fmt.pix.bytesperline = plan.stride;
    v.fmt.pix.sizeimage = (uint32_t)plan.size;
    colour_fill(&v.fmt.pix, layout, &frame->colour);
    if (request(o, VIDIOC_S_FMT, &v) < 0)
        return format_failure(o, "it refuses every format", f);
    const struct picture_layout *got = layout_of(v.fmt.pix.pixelformat);
    errno = EINVAL;
    if (!got || !picture_plan_make(got, v.fmt.pix.width, v.fmt.pix.height, v.fmt.pix.bytesperline,
                                   1, &o->plan))
        return format_failure(o, "its format is none of yu12, nv12, yuyv, rgb3, grey", f);
    if (v.fmt.pix.sizeimage > o->plan.size && v.fmt.pix.sizeimage <= 2 * o->plan.size)
        o->plan.size = v.fmt.pix.sizeimage;
    return 0;
}

/* Readers hear of it; devices without a rate refuse, which costs nothing. */
static void rate_set(struct v4l2_sink *o, const struct pelton_frame *frame)
{
    double s = frame->time_base.den
                   ? (double)frame->duration * frame->time_base.num / frame->time_base.den
                   : 0;
    struct v4l2_streamparm p = {.type = V4L2_BUF_TYPE_VIDEO_OUTPUT};
    p.parm.output.timeperframe = (struct v4l2_fract){(uint32_t)(s * 1e6), 1000000};
    if (s > 0 && s < 60)
        request(o, VIDIOC_S_PARM, &p);
}

/* ---- buffers ---- */

static bool buffer_map(struct v4l2_sink *o, unsigned index)
{
    struct v4l2_buffer b = {
        .index = index, .type = V4L2_BUF_TYPE_VIDEO_OUTPUT, .memory = V4L2_MEMORY_MMAP};
    if (request(o, VIDIOC_QUERYBUF, &b) < 0)
        return false;
    errno = ENOMEM;
    if (b.length < o->plan.size)
        return false;
    void *at = mmap(NULL, b.length, PROT_READ | PROT_WRITE, MAP_SHARED, o->fd, b.m.offset);
    if (at == MAP_FAILED)
        return false;
    o->mapped[index] = at;
    o->mapped_size[index] = b.length;
    o->buffers = index + 1;
    return true;
}

static int memory_take(struct v4l2_sink *o, struct failure *f)
{
    struct v4l2_requestbuffers r = {
        .count = BUFFERS, .type = V4L2_BUF_TYPE_VIDEO_OUTPUT, .memory = V4L2_MEMORY_MMAP};
    if (o->writes) {
        o->picture = calloc(1, o->plan.size);
        return o->picture ? 0 : fail_with(f, X_OTHER, "close other programs", "out of memory");
    }
    if (request(o, VIDIOC_REQBUFS, &r) < 0 || r.count == 0)
        return format_failure(o, "it gives no buffers", f);
    for (unsigned i = 0; i < r.count && i < BUFFERS; i++)
        if (!buffer_map(o, i))
            return format_failure(o, "its buffers cannot be mapped", f);
    return 0;
}

int v4l2_sink_prepare(struct v4l2_sink *o, const struct picture_layout *layout,
                      const struct pelton_frame *frame, struct picture_plan *plan,
                      struct failure *f)
{
    device_close(o);
    int rc = device_open(o, f);
    rc = rc ? rc : format_set(o, layout, frame, f);
    if (rc == 0)
        rate_set(o, frame);
    rc = rc ? rc : memory_take(o, f);
    if (rc == 0)
        *plan = o->plan;
    return rc;
}

/* ---- pictures ---- */

static int picture_failure(const struct v4l2_sink *o, struct failure *f)
{
    if (errno == EBUSY)
        return -format_failure(o, "", f);
    return -fail_with(f, X_INPUT, "plug it in, or load its driver, and start again",
                      "%s: it takes no more pictures: %s", o->path, strerror(errno));
}

static bool device_waits(const struct v4l2_sink *o)
{
    struct pollfd p = {.fd = o->fd, .events = POLLOUT};
    return poll(&p, 1, TAKES_MS) > 0 && (p.revents & POLLOUT);
}

/* A buffer that is ours; -1: the device has all of them. */
static int buffer_free(struct v4l2_sink *o)
{
    struct v4l2_buffer b = {.type = V4L2_BUF_TYPE_VIDEO_OUTPUT, .memory = V4L2_MEMORY_MMAP};
    if (o->used < o->buffers)
        return (int)o->used++;
    if (request(o, VIDIOC_DQBUF, &b) < 0 &&
        (errno != EAGAIN || !device_waits(o) || request(o, VIDIOC_DQBUF, &b) < 0))
        return -1;
    if (b.index < o->buffers)
        return (int)b.index;
    errno = EIO; /* there is no such buffer */
    return -1;
}

static int picture_queue(struct v4l2_sink *o, const struct pelton_frame *frame, struct failure *f)
{
    enum v4l2_buf_type type = V4L2_BUF_TYPE_VIDEO_OUTPUT;
    int index = buffer_free(o);
    if (index < 0)
        return errno == EAGAIN ? 0 : picture_failure(o, f);
    picture_copy(&o->plan, frame, o->mapped[index]);
    struct v4l2_buffer b = {.index = (uint32_t)index,
                            .type = type,
                            .memory = V4L2_MEMORY_MMAP,
                            .field = V4L2_FIELD_NONE,
                            .bytesused = (uint32_t)o->plan.size};
    b.timestamp.tv_sec = frame->received_ns / 1000000000;
    b.timestamp.tv_usec = frame->received_ns / 1000 % 1000000;
    if (request(o, VIDIOC_QBUF, &b) < 0)
        return picture_failure(o, f);
    if (!o->streams && request(o, VIDIOC_STREAMON, &type) < 0)
        return picture_failure(o, f);
    o->streams = true;
    return 1;
}

/* Some drivers take pictures of their own devices by buffers alone. */
static int picture_queue_instead(struct v4l2_sink *o, const struct pelton_frame *frame,
                                 struct failure *f)
{
    struct picture_plan plan = o->plan;
    o->refused = true;
    int rc = v4l2_sink_prepare(o, plan.layout, frame, &plan, f);
    if (rc)
        return -rc;
    if (o->writes)
        return picture_failure(o, f);
    return picture_queue(o, frame, f);
}

static int picture_write(struct v4l2_sink *o, const struct pelton_frame *frame, struct failure *f)
{
    picture_copy(&o->plan, frame, o->picture);
    ssize_t n = write(o->fd, o->picture, o->plan.size);
    if (n < 0 && errno == EAGAIN && device_waits(o))
        n = write(o->fd, o->picture, o->plan.size);
    if (n < 0 && errno == EINVAL && !o->refused)
        return picture_queue_instead(o, frame, f);
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        return picture_failure(o, f);
    return n > 0;
}

int v4l2_sink_picture(struct v4l2_sink *o, const struct pelton_frame *frame, struct failure *f)
{
    return o->writes ? picture_write(o, frame, f) : picture_queue(o, frame, f);
}
