/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A V4L2 capture device: opened, with a format and a rate. v4l2_buffers.c takes its frames.
 *
 * The happy path is open, kind of buffers, a lock, the signal's size, format, rate. The failure
 * modes are:
 * - There is no such device, no right to it, or it captures nothing.
 * - Another process or another source holds it. The process is named where /proc shows it.
 * - It has not the format or the size that was asked for, or its frames cannot be developed.
 */
#include "daemon/worker/camera/v4l2.h"
#include "daemon/worker/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { LARGEST_STRIDE = 1 << 20, LARGEST_IMAGE = 1 << 30 };

/* ---- opening ---- */

/* Another source may have this device open under another address, or with other settings. Drivers
 * refuse its formats, but take its controls. So nothing is set before the device is ours. Where
 * the system has no locks of devices, drivers alone refuse. */
static int device_claim(const struct v4l2_device *d, struct pelton_failure *failure)
{
    if (flock(d->fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return 0;
    errno = EBUSY;
    return v4l2_device_fail_errno(d, failure, "flock");
}

static int check_capabilities(struct v4l2_device *d, struct pelton_failure *failure)
{
    int type = v4l2_capture_type(d->fd, &d->media);
    if (type < 0)
        return v4l2_device_fail_errno(d, failure, "VIDIOC_QUERYCAP");
    if (type == 0)
        return v4l2_device_fail(d, failure, PELTON_ERR_UNSUPPORTED,
                                "no capture device with streaming buffers", "");
    d->type = (uint32_t)type;
    return 0;
}

/* Receivers of HDMI and SDI take up the size of the signal that is there only when they are told
 * to. Other devices have no such thing. */
static int take_signal(const struct v4l2_device *d, struct pelton_failure *failure)
{
    struct v4l2_dv_timings timings = {0};
    if (v4l2_ioctl(d->fd, VIDIOC_QUERY_DV_TIMINGS, &timings) == 0)
        return v4l2_ioctl(d->fd, VIDIOC_S_DV_TIMINGS, &timings) < 0
                   ? v4l2_device_fail_errno(d, failure, "VIDIOC_S_DV_TIMINGS")
                   : 0;
    if (errno == ENOLINK || errno == ENOLCK || errno == ERANGE)
        return v4l2_device_fail(d, failure, PELTON_ERR_UNPLUGGED,
                                errno == ERANGE ? "the signal at its input is beyond what it takes"
                                                : "no signal at its input",
                                "check the cable");
    return errno == ENODEV ? v4l2_device_fail_errno(d, failure, "VIDIOC_QUERY_DV_TIMINGS") : 0;
}

static int no_format(const struct v4l2_device *d, const struct camera_params *p,
                     const struct v4l2_choice *choice, struct pelton_failure *failure)
{
    char cause[200], name[12];
    camera_format_name(p, name);
    if (p->format_given && choice->other_order) {
        snprintf(cause, sizeof(cause), "the Bayer order of %s contradicts the device, which has %s",
                 name, choice->list);
        return v4l2_device_fail(d, failure, PELTON_ERR_UNSUPPORTED, cause,
                                "leave format out, or name one that the device has");
    }
    snprintf(cause, sizeof(cause), "no %s; the device has %s",
             p->format_given ? name : "format that can be read", choice->list);
    return v4l2_device_fail(
        d, failure, PELTON_ERR_UNSUPPORTED, cause,
        "raw Bayer, grey, YUYV, UYVY, NV12, NV21, YU12, MJPEG and H.264 are read");
}

static struct isp_params shape_of(const struct v4l2_device *d)
{
    return (struct isp_params){.width = d->image.width,
                               .height = d->image.height,
                               .depth = d->kind->depth,
                               .packing = (enum isp_packing)d->kind->packing};
}

/* Rows as the format's description has them: chroma that lies in a piece of memory of its own has a
 * stride of its own, else that of luma, half of it where Cb and Cr are apart. */
static void lay_out(struct v4l2_device *d)
{
    const struct v4l2_image *m = &d->image;
    const struct isp_params shape = shape_of(d);
    uint32_t row = isp_row_bytes(&shape), stride = m->stride[0] ? m->stride[0] : row;
    bool apart = d->kind->packing == ISP_PLANES_420, split = d->kind->planes > 1;
    d->n_parts = d->kind->coding != CAMERA_SAMPLES ? 0 : apart ? 3 : d->kind->planes;
    d->parts[0] =
        (struct v4l2_part){stride, row, d->n_parts > 1 ? m->height : isp_raw_rows(&shape)};
    for (uint32_t i = 1; i < d->n_parts; i++) {
        uint32_t bytes = apart ? m->width / 2 : row, own = m->stride[i] ? m->stride[i] : bytes;
        d->parts[i] = (struct v4l2_part){split ? own : stride / 2, bytes, m->height / 2};
    }
}

/* So many bytes hold a frame, in each piece of memory. */
static void count_least(struct v4l2_device *d)
{
    size_t before = 0;
    for (uint32_t i = 0; i < d->n_parts; i++) {
        const struct v4l2_part *p = &d->parts[i];
        bool split = d->kind->planes > 1;
        d->least[split ? i : 0] =
            (split ? 0 : before) + (size_t)p->stride * (p->rows - 1) + p->bytes;
        before += (size_t)p->stride * p->rows;
    }
}

static int check_image(const struct v4l2_device *d, struct pelton_failure *failure)
{
    const struct v4l2_image *m = &d->image;
    char cause[160];
    bool good = m->width >= 16 && m->height >= 16 && m->width <= 8192 && m->height <= 8192 &&
                m->width % 2 == 0 && m->height % 2 == 0;
    if (m->field == V4L2_FIELD_SEQ_TB || m->field == V4L2_FIELD_SEQ_BT ||
        m->field == V4L2_FIELD_ALTERNATE)
        return v4l2_device_fail(d, failure, PELTON_ERR_UNSUPPORTED,
                                "its fields come one after another, which is not read", "");
    for (uint32_t i = 0; i < d->n_parts; i++)
        good &= d->parts[i].stride >= d->parts[i].bytes && d->parts[i].stride <= LARGEST_STRIDE;
    if (good && m->planes == d->kind->planes)
        return 0;
    snprintf(cause, sizeof(cause),
             "frames of %ux%u with rows of %u bytes in %u pieces cannot be developed", m->width,
             m->height, m->stride[0], m->planes);
    return v4l2_device_fail(d, failure, PELTON_ERR_UNSUPPORTED, cause,
                            "an even size from 16 to 8192");
}

/* H.273 as V4L2's colour model says it; its defaults for Y, Cb, Cr. */
static void take_colour(const struct v4l2_image *f, struct camera_params *p)
{
    uint32_t encoding = f->ycbcr_enc ? f->ycbcr_enc : V4L2_MAP_YCBCR_ENC_DEFAULT(f->colorspace);
    uint32_t range = f->quantization
                         ? f->quantization
                         : V4L2_MAP_QUANTIZATION_DEFAULT(false, f->colorspace, encoding);
    if (p->order != ISP_YUV)
        return;
    p->matrix = encoding == V4L2_YCBCR_ENC_709 || encoding == V4L2_YCBCR_ENC_XV709
                    ? ISP_MATRIX_BT709
                    : ISP_MATRIX_BT601;
    p->full_range = range == V4L2_QUANTIZATION_FULL_RANGE || p->coding == CAMERA_MJPEG;
    if (p->coding == CAMERA_MJPEG)
        p->matrix = ISP_MATRIX_BT601; /* ITU-T T.871 */
    if (!p->exposure.ae_given)
        p->exposure.ae_enable = false; /* the camera has its own */
}

/* The kind and the size that the device is to take. */
static int choose_format(struct v4l2_device *d, const struct camera_params *p,
                         struct v4l2_choice *out, uint32_t *width, uint32_t *height,
                         struct pelton_failure *failure)
{
    struct v4l2_image now;
    if (d->pipe.full)
        return media_pipe_format(d, p, out, width, height, failure);
    if (v4l2_image_get(d->fd, d->type, &now) < 0)
        return v4l2_device_fail_errno(d, failure, "VIDIOC_G_FMT");
    *width = p->width ? p->width : now.width;
    *height = p->height ? p->height : now.height;
    v4l2_kind_choose(d->fd, d->type, p, *width, *height, NULL, out);
    return 0;
}

static int other_format(const struct v4l2_device *d, uint32_t width, uint32_t height,
                        struct pelton_failure *failure)
{
    char name[12], cause[160];
    v4l2_fourcc_name(d->image.fourcc, name);
    snprintf(cause, sizeof(cause), "asked for %ux%u, the device gives %ux%u in %s", width, height,
             d->image.width, d->image.height, name);
    return v4l2_device_fail(d, failure, PELTON_ERR_UNSUPPORTED, cause,
                            "v4l2-ctl --list-formats-ext");
}

static void take_format(const struct v4l2_device *d, struct camera_params *p)
{
    p->width = d->image.width;
    p->height = d->image.height;
    p->order = d->kind->order;
    p->depth = d->kind->depth;
    p->packing = d->kind->packing;
    p->coding = d->kind->coding;
    p->pieces = d->kind->planes > 1 ? d->kind->planes : 0;
    p->realtime = true;
    p->format_given = true; /* when it is opened again */
    take_colour(&d->image, p);
}

static int set_format(struct v4l2_device *d, struct camera_params *p,
                      struct pelton_failure *failure)
{
    struct v4l2_choice choice;
    uint32_t width, height;
    int rc = choose_format(d, p, &choice, &width, &height, failure);
    if (rc < 0)
        return rc;
    const struct v4l2_kind *kind = choice.kind;
    if (!kind)
        return no_format(d, p, &choice, failure);
    d->image = (struct v4l2_image){.fourcc = kind->fourcc, .width = width, .height = height};
    if (v4l2_image_set(d->fd, d->type, &d->image) < 0)
        return v4l2_device_fail_errno(d, failure, "VIDIOC_S_FMT");
    if (d->image.fourcc != kind->fourcc || d->image.width != width || d->image.height != height)
        return other_format(d, width, height, failure);
    d->kind = kind;
    lay_out(d);
    rc = check_image(d, failure);
    if (rc < 0)
        return rc;
    count_least(d);
    for (uint32_t i = 0; i < V4L2_PLANES; i++)
        d->image.bytes[i] = d->image.bytes[i] < LARGEST_IMAGE ? d->image.bytes[i] : LARGEST_IMAGE;
    take_format(d, p);
    return 0;
}

static void set_rate(struct v4l2_device *d, struct camera_params *p)
{
    struct v4l2_streamparm parm = {.type = d->type};
    parm.parm.capture.timeperframe = (struct v4l2_fract){1000, (uint32_t)(p->fps * 1000 + 0.5)};
    const struct v4l2_fract *got = &parm.parm.capture.timeperframe;
    if (d->pipe.full)
        media_pipe_rate(&d->pipe, &p->fps);
    else if (v4l2_ioctl(d->fd, VIDIOC_S_PARM, &parm) == 0 && got->numerator && got->denominator)
        p->fps = fmin(1000, fmax(0.1, (double)got->denominator / got->numerator));
    d->fps = p->fps;
}

int v4l2_device_open(struct v4l2_device *d, struct camera_params *p, struct pelton_failure *failure)
{
    struct v4l2_event_subscription change = {.type = V4L2_EVENT_SOURCE_CHANGE};
    *d = (struct v4l2_device){.path = p->path, .memory_type = V4L2_MEMORY_MMAP};
    d->fd = open(d->path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (d->fd < 0)
        return v4l2_device_fail_errno(d, failure, "open");
    int rc = check_capabilities(d, failure);
    rc = rc < 0 ? rc : device_claim(d, failure);
    rc = rc < 0 ? rc : take_signal(d, failure);
    rc = rc < 0 ? rc : media_pipe_open(d, p, failure);
    rc = rc < 0 ? rc : v4l2_controls_named(d, p, failure);
    rc = rc < 0 ? rc : set_format(d, p, failure);
    if (rc < 0) {
        v4l2_device_close(d);
        return rc;
    }
    set_rate(d, p);
    v4l2_ioctl(d->fd, VIDIOC_SUBSCRIBE_EVENT, &change); /* sensors have none */
    d->heard_ns = now_ns();
    return 0;
}
