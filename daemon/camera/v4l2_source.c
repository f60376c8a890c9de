/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A V4L2 device as a source of raw frames.
 *
 * The happy path is open, format, rate, buffers, stream on, then poll - dequeue - copy - queue. The failure modes are: no such device, no right
 * to it, not a capture device, held by another process (named where /proc shows it), without the format or the size that was asked for,
 * unplugged (ENODEV, EIO, POLLERR), silent for two seconds, its signal changed. After each of the last three it is opened again.
 * Damaged and short buffers are dropped and counted, as are gaps of the driver's sequence numbers.
 */
#include "daemon/camera/camera_internal.h"
#include "daemon/camera/v4l2.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/videodev2.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BUFFERS = 4, SETTINGS = 2 /* frames from a control to its effect */, POLL_MS = 100 };
#define SILENT_NS (2 * NS_PER_S)

struct v4l2_source {
    int fd;
    const char *path;          /* of params */
    struct camera_params params;
    uint32_t row_bytes, stride;
    struct {
        void *memory;
        size_t size;
    } buffers[BUFFERS];
    uint32_t n_buffers;
    bool streaming, counted;
    uint32_t sequence;         /* the driver's, that comes next */
    uint64_t lost;
    int64_t heard_ns;
    struct v4l2_controls controls;
    struct ae_exposure queue[SETTINGS + 1]; /* [0]: of the next frame */
};

bool v4l2_holder(const char *path, char *out, size_t size)
{
    char real[PATH_MAX], link[64], target[PATH_MAX];
    DIR *processes = realpath(path, real) ? opendir("/proc") : NULL;
    bool found = false;
    for (struct dirent *p; processes && !found && (p = readdir(processes)) != NULL;) {
        int pid = atoi(p->d_name);
        DIR *files = NULL;
        if (pid > 0 && pid != (int)getpid()) {
            snprintf(link, sizeof link, "/proc/%d/fd", pid);
            files = opendir(link);
        }
        for (struct dirent *f; files && !found && (f = readdir(files)) != NULL;) {
            ssize_t n = readlinkat(dirfd(files), f->d_name, target, sizeof target - 1);
            found = n > 0 && (size_t)n == strlen(real) && !memcmp(target, real, (size_t)n);
        }
        if (files)
            closedir(files);
        if (found) {
            char name[64] = "?";
            snprintf(link, sizeof link, "/proc/%d/comm", pid);
            FILE *comm = fopen(link, "re");
            if (comm && fgets(name, sizeof name, comm))
                name[strcspn(name, "\n")] = 0;
            if (comm)
                fclose(comm);
            snprintf(out, size, "%s (pid %d)", name, pid);
        }
    }
    if (processes)
        closedir(processes);
    return found;
}

static int fail(const struct v4l2_source *s, struct pelton_failure *failure, int code, const char *cause, const char *hint)
{
    *failure = (struct pelton_failure){.code = code};
    snprintf(failure->cause, sizeof failure->cause, "%.80s: %.170s", s->path, cause);
    snprintf(failure->hint, sizeof failure->hint, "%s", hint);
    return code;
}

static int fail_errno(const struct v4l2_source *s, struct pelton_failure *failure, const char *what)
{
    char cause[200], holder[100];
    int error = errno;
    if (error == EBUSY) {
        bool known = v4l2_holder(s->path, holder, sizeof holder);
        snprintf(cause, sizeof cause, "the device is busy%s%s", known ? ", held by " : "", known ? holder : "");
        return fail(s, failure, PELTON_ERR_INPUT, cause, "a capture device serves one program: end the other one");
    }
    if (error == ENODEV || error == EIO || error == ENXIO)
        return fail(s, failure, PELTON_ERR_INPUT, "the device is gone (unplugged?)", "it is opened again when it is there");
    if (error == ENOENT)
        return fail(s, failure, PELTON_ERR_INPUT, "no such device", "ls /dev/v4l/by-id");
    if (error == EACCES || error == EPERM)
        return fail(s, failure, PELTON_ERR_PERMISSION, strerror(error), "the daemon's user has to be in the group video");
    if (error == ENOTTY)
        return fail(s, failure, PELTON_ERR_INPUT, "not a video capture device", "");
    snprintf(cause, sizeof cause, "%s: %s", what, strerror(error));
    return fail(s, failure, PELTON_ERR_INPUT, cause, "");
}

static void close_v4l2(void *source)
{
    struct v4l2_source *s = source;
    int type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    if (s->streaming)
        v4l2_ioctl(s->fd, VIDIOC_STREAMOFF, &type);
    for (uint32_t i = 0; i < s->n_buffers; i++)
        munmap(s->buffers[i].memory, s->buffers[i].size);
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
    s->n_buffers = 0;
    s->streaming = s->counted = false;
}

/* ---- opening ---- */

static int check_capabilities(struct v4l2_source *s, struct pelton_failure *failure)
{
    struct v4l2_capability cap = {0};
    if (v4l2_ioctl(s->fd, VIDIOC_QUERYCAP, &cap) < 0)
        return fail_errno(s, failure, "VIDIOC_QUERYCAP");
    uint32_t caps = cap.capabilities & V4L2_CAP_DEVICE_CAPS ? cap.device_caps : cap.capabilities;
    if (!(caps & V4L2_CAP_VIDEO_CAPTURE) || !(caps & V4L2_CAP_STREAMING))
        return fail(s, failure, PELTON_ERR_UNSUPPORTED, "no capture device with streaming buffers", "");
    return 0;
}

/* The asked format, or the first raw one that the device has. */
static int choose_format(struct v4l2_source *s, const struct camera_params *p, uint32_t *fourcc, struct pelton_failure *failure)
{
    const struct v4l2_raw_format *asked = p->format_given ? v4l2_raw_by_kind(p->order, p->depth, p->packing) : NULL;
    char list[120] = "", name[12];
    for (uint32_t i = 0; i < 64; i++) {
        struct v4l2_fmtdesc d = {.index = i, .type = V4L2_BUF_TYPE_VIDEO_CAPTURE};
        if (v4l2_ioctl(s->fd, VIDIOC_ENUM_FMT, &d) < 0)
            break;
        if (asked ? d.pixelformat == asked->fourcc : !p->format_given && v4l2_raw_by_fourcc(d.pixelformat) != NULL) {
            *fourcc = d.pixelformat;
            return 0;
        }
        v4l2_fourcc_name(d.pixelformat, name);
        size_t n = strlen(list);
        snprintf(list + n, sizeof list - n, "%s%s", n ? ", " : "", name);
    }
    char cause[200];
    v4l2_fourcc_name(asked ? asked->fourcc : 0, name);
    snprintf(cause, sizeof cause, "%s%s; the device has %s", asked ? "no " : "no raw format", asked ? name : "", list[0] ? list : "none");
    return fail(s, failure, PELTON_ERR_UNSUPPORTED, cause, "raw Bayer and grey formats are developed");
}

static int set_format(struct v4l2_source *s, struct camera_params *p, struct pelton_failure *failure)
{
    struct v4l2_format f = {.type = V4L2_BUF_TYPE_VIDEO_CAPTURE};
    uint32_t fourcc = 0;
    char cause[160];
    int rc = choose_format(s, p, &fourcc, failure);
    if (rc < 0)
        return rc;
    if (v4l2_ioctl(s->fd, VIDIOC_G_FMT, &f) < 0)
        return fail_errno(s, failure, "VIDIOC_G_FMT");
    uint32_t width = p->width ? p->width : f.fmt.pix.width, height = p->height ? p->height : f.fmt.pix.height;
    f.fmt.pix = (struct v4l2_pix_format){.width = width, .height = height, .pixelformat = fourcc, .field = V4L2_FIELD_NONE};
    if (v4l2_ioctl(s->fd, VIDIOC_S_FMT, &f) < 0)
        return fail_errno(s, failure, "VIDIOC_S_FMT");
    if (f.fmt.pix.pixelformat != fourcc || f.fmt.pix.width != width || f.fmt.pix.height != height) {
        char got[12];
        v4l2_fourcc_name(f.fmt.pix.pixelformat, got);
        snprintf(cause, sizeof cause, "asked for %ux%u, the device gives %ux%u in %s", width, height, f.fmt.pix.width, f.fmt.pix.height, got);
        return fail(s, failure, PELTON_ERR_UNSUPPORTED, cause, "v4l2-ctl --list-formats-ext");
    }
    const struct v4l2_raw_format *raw = v4l2_raw_by_fourcc(fourcc);
    p->width = width;
    p->height = height;
    p->order = raw->order;
    p->depth = raw->depth;
    p->packing = raw->packing;
    const struct isp_params shape = {.width = width, .height = height, .depth = p->depth, .packing = (enum isp_packing)p->packing};
    s->row_bytes = isp_row_bytes(&shape);
    s->stride = f.fmt.pix.bytesperline ? f.fmt.pix.bytesperline : s->row_bytes;
    if (width < 16 || height < 16 || width > 8192 || height > 8192 || width % 2 || height % 2 || s->stride < s->row_bytes || s->stride > 1u << 20) {
        snprintf(cause, sizeof cause, "frames of %ux%u with rows of %u bytes cannot be developed", width, height, s->stride);
        return fail(s, failure, PELTON_ERR_UNSUPPORTED, cause, "an even size from 16 to 8192");
    }
    return 0;
}

static void set_rate(struct v4l2_source *s, struct camera_params *p)
{
    struct v4l2_streamparm parm = {.type = V4L2_BUF_TYPE_VIDEO_CAPTURE};
    parm.parm.capture.timeperframe = (struct v4l2_fract){1000, (uint32_t)(p->fps * 1000 + 0.5)};
    const struct v4l2_fract *got = &parm.parm.capture.timeperframe;
    if (v4l2_ioctl(s->fd, VIDIOC_S_PARM, &parm) == 0 && got->numerator && got->denominator)
        p->fps = fmin(1000, fmax(0.1, (double)got->denominator / got->numerator));
}

static int queue_buffer(struct v4l2_source *s, uint32_t index)
{
    struct v4l2_buffer b = {.type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_MMAP, .index = index};
    return v4l2_ioctl(s->fd, VIDIOC_QBUF, &b);
}

static int map_buffers(struct v4l2_source *s, struct pelton_failure *failure)
{
    struct v4l2_requestbuffers request = {.count = BUFFERS, .type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_MMAP};
    if (v4l2_ioctl(s->fd, VIDIOC_REQBUFS, &request) < 0)
        return fail_errno(s, failure, "VIDIOC_REQBUFS");
    for (uint32_t i = 0; i < request.count && i < BUFFERS; i++) {
        struct v4l2_buffer b = {.type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_MMAP, .index = i};
        if (v4l2_ioctl(s->fd, VIDIOC_QUERYBUF, &b) < 0)
            return fail_errno(s, failure, "VIDIOC_QUERYBUF");
        void *memory = mmap(NULL, b.length, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, b.m.offset);
        if (memory == MAP_FAILED)
            return fail_errno(s, failure, "mmap");
        s->buffers[i].memory = memory;
        s->buffers[i].size = b.length;
        s->n_buffers = i + 1;
        if (queue_buffer(s, i) < 0)
            return fail_errno(s, failure, "VIDIOC_QBUF");
    }
    return s->n_buffers >= 2 ? 0 : fail(s, failure, PELTON_ERR_NOMEM, "the driver gives fewer than two buffers", "");
}

static int start(struct v4l2_source *s, struct camera_params *p, struct pelton_failure *failure)
{
    struct v4l2_event_subscription change = {.type = V4L2_EVENT_SOURCE_CHANGE};
    int type = V4L2_BUF_TYPE_VIDEO_CAPTURE, rc = check_capabilities(s, failure);
    rc = rc < 0 ? rc : set_format(s, p, failure);
    if (rc < 0)
        return rc;
    set_rate(s, p);
    v4l2_controls_open(s->fd, &s->controls, p);
    v4l2_ioctl(s->fd, VIDIOC_SUBSCRIBE_EVENT, &change); /* sensors have none */
    rc = map_buffers(s, failure);
    if (rc < 0)
        return rc;
    if (v4l2_ioctl(s->fd, VIDIOC_STREAMON, &type) < 0)
        return fail_errno(s, failure, "VIDIOC_STREAMON");
    s->streaming = true;
    return 0;
}

static int open_v4l2(void *source, struct camera_params *p, struct pelton_failure *failure)
{
    struct v4l2_source *s = source;
    s->params = *p;
    s->path = s->params.path;
    s->fd = open(s->path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (s->fd < 0)
        return fail_errno(s, failure, "open");
    int rc = start(s, p, failure);
    if (rc < 0) {
        close_v4l2(s);
        return rc;
    }
    s->params = *p;
    s->heard_ns = now_ns();
    const struct ae_exposure first = {p->exposure_us, p->analogue_gain, 1}, made = v4l2_controls_set(s->fd, &s->controls, &first);
    for (int i = 0; i <= SETTINGS; i++)
        s->queue[i] = made;
    return 0;
}

/* ---- frames ---- */

static int wait_frame(struct v4l2_source *s, struct pelton_failure *failure)
{
    struct pollfd p = {.fd = s->fd, .events = POLLIN | POLLPRI};
    int n = poll(&p, 1, POLL_MS);
    if (n <= 0 && now_ns() - s->heard_ns > SILENT_NS + (int64_t)(4e9 / s->params.fps))
        return fail(s, failure, PELTON_ERR_TIMEOUT, "no frame for two seconds", "check the cable");
    if (n <= 0)
        return SOURCE_AGAIN;
    if (p.revents & POLLPRI) {
        struct v4l2_event event = {0};
        if (v4l2_ioctl(s->fd, VIDIOC_DQEVENT, &event) == 0 && event.type == V4L2_EVENT_SOURCE_CHANGE)
            return fail(s, failure, PELTON_ERR_INPUT, "the signal has changed", "");
    }
    if (!(p.revents & POLLIN) && (p.revents & (POLLERR | POLLHUP | POLLNVAL))) {
        errno = ENODEV;
        return fail_errno(s, failure, "poll");
    }
    return p.revents & POLLIN ? SOURCE_OK : SOURCE_AGAIN;
}

static void copy_rows(const struct v4l2_source *s, const uint8_t *from, uint8_t *to)
{
    for (uint32_t y = 0; y < s->params.height; y++)
        memcpy(to + (size_t)y * s->row_bytes, from + (size_t)y * s->stride, s->row_bytes);
}

static int64_t time_of(const struct v4l2_buffer *b)
{
    int64_t now = now_ns(), at = b->timestamp.tv_sec * NS_PER_S + b->timestamp.tv_usec * 1000ll;
    bool monotonic = (b->flags & V4L2_BUF_FLAG_TIMESTAMP_MASK) == V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
    return monotonic && at <= now && at > now - NS_PER_S ? at : now;
}

/* Also of frames that are dropped: each takes the settings that are due. */
static void shift_settings(struct v4l2_source *s, struct ae_exposure *in_effect)
{
    *in_effect = s->queue[0];
    memmove(s->queue, s->queue + 1, SETTINGS * sizeof *s->queue);
}

static int read_v4l2(void *source, uint8_t *raw, struct source_frame *out, struct pelton_failure *failure)
{
    struct v4l2_source *s = source;
    struct v4l2_buffer b = {.type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_MMAP};
    int rc = wait_frame(s, failure);
    if (rc != SOURCE_OK)
        return rc;
    if (v4l2_ioctl(s->fd, VIDIOC_DQBUF, &b) < 0)
        return errno == EAGAIN ? SOURCE_AGAIN : fail_errno(s, failure, "VIDIOC_DQBUF");
    if (b.index >= s->n_buffers)
        return fail(s, failure, PELTON_ERR_INPUT, "the driver names a buffer that is not there", "");
    s->heard_ns = now_ns();
    uint32_t gap = s->counted ? b.sequence - s->sequence : 0;
    s->lost += gap < 1u << 16 ? gap : 0;
    s->sequence = b.sequence + 1;
    s->counted = true;
    size_t needed = (size_t)s->stride * (s->params.height - 1) + s->row_bytes;
    bool good = !(b.flags & V4L2_BUF_FLAG_ERROR) && b.bytesused >= needed && needed <= s->buffers[b.index].size;
    shift_settings(s, &out->in_effect);
    if (good && raw)
        copy_rows(s, s->buffers[b.index].memory, raw);
    out->captured_ns = time_of(&b);
    if (queue_buffer(s, b.index) < 0)
        return fail_errno(s, failure, "VIDIOC_QBUF");
    if (!good) {
        s->lost++;
        return SOURCE_AGAIN;
    }
    out->lost = s->lost;
    s->lost = 0;
    return SOURCE_OK;
}

static void set_v4l2(void *source, const struct ae_exposure *e)
{
    struct v4l2_source *s = source;
    s->queue[SETTINGS] = v4l2_controls_set(s->fd, &s->controls, e);
}

static void free_v4l2(void *source)
{
    close_v4l2(source);
    free(source);
}

void *v4l2_source_create(void)
{
    struct v4l2_source *s = calloc(1, sizeof *s);
    if (s)
        s->fd = -1;
    return s;
}

const struct source_ops v4l2_source_ops = {open_v4l2, read_v4l2, set_v4l2, close_v4l2, free_v4l2};
