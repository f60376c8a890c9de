/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A V4L2 capture device.
 *
 * The happy path is open, format, rate, buffers, stream on, then poll - dequeue - (use) - queue. The failure modes are: no such device,
 * no right to it, not a capture device, held by another process (named where /proc shows it), without the format or the size that was
 * asked for, unplugged (ENODEV, EIO, POLLERR), silent for two seconds, its signal changed. Damaged and short buffers are dropped and
 * counted, as are gaps of the driver's sequence numbers.
 */
#include "daemon/camera/v4l2.h"
#include "daemon/worker/engine_internal.h"

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
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAPPED = 4, POLL_MS = 100, LARGEST_STRIDE = 1 << 20, LARGEST_IMAGE = 1 << 30 };
#define SILENT_NS (2 * NS_PER_S)

int v4l2_ioctl(int fd, unsigned long request, void *argument)
{
    int rc;
    do {
        rc = ioctl(fd, request, argument);
    } while (rc < 0 && errno == EINTR);
    return rc;
}

/* ---- failures ---- */

static void name_process(int pid, char *out, size_t size)
{
    char path[64], name[64] = "?";
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    FILE *comm = fopen(path, "re");
    if (comm && fgets(name, sizeof name, comm))
        name[strcspn(name, "\n")] = 0;
    if (comm)
        fclose(comm);
    snprintf(out, size, "%s (pid %d)", name, pid);
}

/* How often. */
static int has_open(int pid, const char *real)
{
    char folder[64], target[PATH_MAX];
    int found = 0;
    snprintf(folder, sizeof folder, "/proc/%d/fd", pid);
    DIR *files = opendir(folder);
    for (struct dirent *f; files && (f = readdir(files)) != NULL;) {
        ssize_t n = readlinkat(dirfd(files), f->d_name, target, sizeof target - 1);
        found += n > 0 && (size_t)n == strlen(real) && !memcmp(target, real, (size_t)n);
    }
    if (files)
        closedir(files);
    return found;
}

bool v4l2_holder(const char *path, char *out, size_t size)
{
    char real[PATH_MAX];
    DIR *processes = realpath(path, real) ? opendir("/proc") : NULL;
    bool found = false;
    for (struct dirent *p; processes && !found && (p = readdir(processes)) != NULL;) {
        int pid = atoi(p->d_name);
        found = pid > 0 && pid != (int)getpid() && has_open(pid, real) > 0;
        if (found)
            name_process(pid, out, size);
    }
    if (processes && !found && has_open(getpid(), real) > 1) {
        snprintf(out, size, "this daemon, under another address");
        found = true;
    }
    if (processes)
        closedir(processes);
    return found;
}

int v4l2_device_fail(const struct v4l2_device *d, struct pelton_failure *failure, int code, const char *cause, const char *hint)
{
    *failure = (struct pelton_failure){.code = code};
    snprintf(failure->cause, sizeof failure->cause, "%.80s: %.170s", d->path, cause);
    snprintf(failure->hint, sizeof failure->hint, "%s", hint);
    return code;
}

static int fail_errno(const struct v4l2_device *d, struct pelton_failure *failure, const char *what)
{
    char cause[200], holder[100];
    int error = errno;
    if (error == EBUSY) {
        bool known = v4l2_holder(d->path, holder, sizeof holder);
        snprintf(cause, sizeof cause, "the device is busy, held by %s", known ? holder : "a process of another user");
        return v4l2_device_fail(d, failure, PELTON_ERR_BUSY, cause, "a capture device serves one program: end the other one");
    }
    if (error == ENODEV || error == EIO || error == ENXIO)
        return v4l2_device_fail(d, failure, PELTON_ERR_UNPLUGGED, "the device is gone (unplugged?)", "it is opened again when it is there");
    if (error == ENOENT)
        return v4l2_device_fail(d, failure, PELTON_ERR_NOT_FOUND, "no such device", "ls /dev/v4l/by-id");
    if (error == EACCES || error == EPERM)
        return v4l2_device_fail(d, failure, PELTON_ERR_PERMISSION, strerror(error), "the daemon's user has to be in the group video");
    if (error == ENOTTY)
        return v4l2_device_fail(d, failure, PELTON_ERR_INPUT, "not a video capture device", "");
    snprintf(cause, sizeof cause, "%s: %s", what, strerror(error));
    return v4l2_device_fail(d, failure, PELTON_ERR_INPUT, cause, "");
}

/* ---- opening ---- */

static int check_capabilities(const struct v4l2_device *d, struct pelton_failure *failure)
{
    struct v4l2_capability cap = {0};
    if (v4l2_ioctl(d->fd, VIDIOC_QUERYCAP, &cap) < 0)
        return fail_errno(d, failure, "VIDIOC_QUERYCAP");
    uint32_t caps = cap.capabilities & V4L2_CAP_DEVICE_CAPS ? cap.device_caps : cap.capabilities;
    if (caps & V4L2_CAP_VIDEO_CAPTURE_MPLANE)
        return v4l2_device_fail(d, failure, PELTON_ERR_UNSUPPORTED, "a multi-planar device, which is not supported", "");
    if (!(caps & V4L2_CAP_VIDEO_CAPTURE) || !(caps & V4L2_CAP_STREAMING))
        return v4l2_device_fail(d, failure, PELTON_ERR_UNSUPPORTED, "no capture device with streaming buffers", "");
    return 0;
}

static int no_format(const struct v4l2_device *d, const struct camera_params *p, const char *list, struct pelton_failure *failure)
{
    char cause[200], name[12];
    camera_format_name(p, name);
    if (p->format_given && p->order <= ISP_BGGR && strstr(list, name + 5) && !strstr(list, name)) {
        snprintf(cause, sizeof cause, "the Bayer order of %s contradicts the device, which has %s", name, list);
        return v4l2_device_fail(d, failure, PELTON_ERR_UNSUPPORTED, cause, "leave format out, or name one that the device has");
    }
    snprintf(cause, sizeof cause, "no %s; the device has %s", p->format_given ? name : "format that can be read", list[0] ? list : "none");
    return v4l2_device_fail(d, failure, PELTON_ERR_UNSUPPORTED, cause, "raw Bayer, grey, YUYV, UYVY, NV12, NV21, YU12, MJPEG and H.264 are read");
}

/* Rows as isp_row_bytes and isp_raw_rows have them fit the driver's image. */
static int check_image(const struct v4l2_device *d, struct pelton_failure *failure)
{
    const struct isp_params shape = {.width = d->width, .height = d->height, .depth = d->kind->depth, .packing = (enum isp_packing)d->kind->packing};
    bool coded = d->kind->coding != CAMERA_SAMPLES;
    char cause[160];
    if (d->width >= 16 && d->height >= 16 && d->width <= 8192 && d->height <= 8192 && d->width % 2 == 0 && d->height % 2 == 0 &&
        (coded || (d->stride >= isp_row_bytes(&shape) && d->stride <= LARGEST_STRIDE)))
        return 0;
    snprintf(cause, sizeof cause, "frames of %ux%u with rows of %u bytes cannot be developed", d->width, d->height, d->stride);
    return v4l2_device_fail(d, failure, PELTON_ERR_UNSUPPORTED, cause, "an even size from 16 to 8192");
}

/* H.273 as V4L2's colour model says it; its defaults for Y, Cb, Cr. */
static void take_colour(const struct v4l2_pix_format *f, struct camera_params *p)
{
    uint32_t encoding = f->ycbcr_enc ? f->ycbcr_enc : V4L2_MAP_YCBCR_ENC_DEFAULT(f->colorspace);
    uint32_t range = f->quantization ? f->quantization : V4L2_MAP_QUANTIZATION_DEFAULT(false, f->colorspace, encoding);
    if (p->order != ISP_YUV)
        return;
    p->matrix = encoding == V4L2_YCBCR_ENC_709 || encoding == V4L2_YCBCR_ENC_XV709 ? ISP_MATRIX_BT709 : ISP_MATRIX_BT601;
    p->full_range = range == V4L2_QUANTIZATION_FULL_RANGE || p->coding == CAMERA_MJPEG;
    if (p->coding == CAMERA_MJPEG)
        p->matrix = ISP_MATRIX_BT601; /* ITU-T T.871 */
    if (!p->ae_given)
        p->ae_enable = false; /* the camera has its own */
}

static int set_format(struct v4l2_device *d, struct camera_params *p, struct pelton_failure *failure)
{
    struct v4l2_format f = {.type = V4L2_BUF_TYPE_VIDEO_CAPTURE};
    char list[120], cause[160];
    if (v4l2_ioctl(d->fd, VIDIOC_G_FMT, &f) < 0)
        return fail_errno(d, failure, "VIDIOC_G_FMT");
    uint32_t width = p->width ? p->width : f.fmt.pix.width, height = p->height ? p->height : f.fmt.pix.height;
    const struct v4l2_kind *kind = v4l2_kind_choose(d->fd, p, width, height, list);
    if (!kind)
        return no_format(d, p, list, failure);
    f.fmt.pix = (struct v4l2_pix_format){.width = width, .height = height, .pixelformat = kind->fourcc, .field = V4L2_FIELD_NONE};
    if (v4l2_ioctl(d->fd, VIDIOC_S_FMT, &f) < 0)
        return fail_errno(d, failure, "VIDIOC_S_FMT");
    const struct v4l2_pix_format *got = &f.fmt.pix;
    if (got->pixelformat != kind->fourcc || got->width != width || got->height != height) {
        char name[12];
        v4l2_fourcc_name(got->pixelformat, name);
        snprintf(cause, sizeof cause, "asked for %ux%u, the device gives %ux%u in %s", width, height, got->width, got->height, name);
        return v4l2_device_fail(d, failure, PELTON_ERR_UNSUPPORTED, cause, "v4l2-ctl --list-formats-ext");
    }
    const struct isp_params shape = {.width = width, .depth = kind->depth, .packing = (enum isp_packing)kind->packing};
    d->kind = kind;
    d->width = p->width = width;
    d->height = p->height = height;
    d->stride = got->bytesperline ? got->bytesperline : isp_row_bytes(&shape);
    d->image_bytes = got->sizeimage < LARGEST_IMAGE ? got->sizeimage : LARGEST_IMAGE;
    p->order = kind->order;
    p->depth = kind->depth;
    p->packing = kind->packing;
    p->coding = kind->coding;
    p->realtime = true;
    p->format_given = true; /* when it is opened again */
    take_colour(got, p);
    return check_image(d, failure);
}

static void set_rate(struct v4l2_device *d, struct camera_params *p)
{
    struct v4l2_streamparm parm = {.type = V4L2_BUF_TYPE_VIDEO_CAPTURE};
    parm.parm.capture.timeperframe = (struct v4l2_fract){1000, (uint32_t)(p->fps * 1000 + 0.5)};
    const struct v4l2_fract *got = &parm.parm.capture.timeperframe;
    if (v4l2_ioctl(d->fd, VIDIOC_S_PARM, &parm) == 0 && got->numerator && got->denominator)
        p->fps = fmin(1000, fmax(0.1, (double)got->denominator / got->numerator));
    d->fps = p->fps;
}

int v4l2_device_open(struct v4l2_device *d, struct camera_params *p, struct pelton_failure *failure)
{
    struct v4l2_event_subscription change = {.type = V4L2_EVENT_SOURCE_CHANGE};
    *d = (struct v4l2_device){.path = p->path, .memory_type = V4L2_MEMORY_MMAP};
    d->fd = open(d->path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (d->fd < 0)
        return fail_errno(d, failure, "open");
    int rc = check_capabilities(d, failure);
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

/* ---- buffers ---- */

static int queue(const struct v4l2_device *d, uint32_t index)
{
    struct v4l2_buffer b = {.type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = d->memory_type, .index = index};
    if (d->memory_type == V4L2_MEMORY_USERPTR) {
        b.m.userptr = (unsigned long)(uintptr_t)d->buffers[index].memory;
        b.length = (uint32_t)d->buffers[index].size;
    }
    return v4l2_ioctl(d->fd, VIDIOC_QBUF, &b);
}

static int map_buffers(struct v4l2_device *d, struct pelton_failure *failure)
{
    struct v4l2_requestbuffers request = {.count = MAPPED, .type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_MMAP};
    if (v4l2_ioctl(d->fd, VIDIOC_REQBUFS, &request) < 0)
        return fail_errno(d, failure, "VIDIOC_REQBUFS");
    for (uint32_t i = 0; i < request.count && i < V4L2_BUFFERS; i++) {
        struct v4l2_buffer b = {.type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_MMAP, .index = i};
        if (v4l2_ioctl(d->fd, VIDIOC_QUERYBUF, &b) < 0)
            return fail_errno(d, failure, "VIDIOC_QUERYBUF");
        void *memory = mmap(NULL, b.length, PROT_READ | PROT_WRITE, MAP_SHARED, d->fd, b.m.offset);
        if (memory == MAP_FAILED)
            return fail_errno(d, failure, "mmap");
        d->buffers[i] = (struct v4l2_buffer_memory){memory, b.length};
        d->n_buffers = i + 1;
        if (queue(d, i) < 0)
            return fail_errno(d, failure, "VIDIOC_QBUF");
    }
    return d->n_buffers >= 2 ? 0 : v4l2_device_fail(d, failure, PELTON_ERR_NOMEM, "the driver gives fewer than two buffers", "");
}

static bool request_buffers(const struct v4l2_device *d, uint32_t type, uint32_t count)
{
    struct v4l2_requestbuffers request = {.count = count, .type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = type};
    return v4l2_ioctl(d->fd, VIDIOC_REQBUFS, &request) == 0 && request.count == count;
}

/* Drivers pin the memory when it is queued, and may refuse it only then. */
bool v4l2_device_start_user(struct v4l2_device *d, const struct source_buffers *memory, uint32_t free)
{
    int type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    bool good = memory->size >= d->image_bytes && request_buffers(d, V4L2_MEMORY_USERPTR, SOURCE_BUFFERS);
    d->memory_type = V4L2_MEMORY_USERPTR;
    d->n_buffers = good ? SOURCE_BUFFERS : 0;
    for (uint32_t i = 0; i < d->n_buffers; i++)
        d->buffers[i] = (struct v4l2_buffer_memory){memory->memory[i], memory->size};
    for (uint32_t i = 0; i < d->n_buffers && good; i++)
        good = !(free & 1u << i) || queue(d, i) == 0;
    good = good && v4l2_ioctl(d->fd, VIDIOC_STREAMON, &type) == 0;
    d->streaming = good;
    d->heard_ns = now_ns();
    if (!good) {
        request_buffers(d, V4L2_MEMORY_USERPTR, 0);
        d->memory_type = V4L2_MEMORY_MMAP;
        d->n_buffers = 0;
    }
    return good;
}

static int stream_on(struct v4l2_device *d, struct pelton_failure *failure)
{
    int type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    if (v4l2_ioctl(d->fd, VIDIOC_STREAMON, &type) < 0)
        return fail_errno(d, failure, "VIDIOC_STREAMON");
    d->streaming = true;
    d->heard_ns = now_ns();
    return 0;
}

int v4l2_device_start(struct v4l2_device *d, struct pelton_failure *failure)
{
    int rc = map_buffers(d, failure);
    return rc < 0 ? rc : stream_on(d, failure);
}

void v4l2_device_close(struct v4l2_device *d)
{
    int type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    if (d->streaming)
        v4l2_ioctl(d->fd, VIDIOC_STREAMOFF, &type);
    for (uint32_t i = 0; i < d->n_buffers && d->memory_type == V4L2_MEMORY_MMAP; i++)
        munmap(d->buffers[i].memory, d->buffers[i].size);
    if (d->fd >= 0)
        close(d->fd);
    d->fd = -1;
    d->n_buffers = 0;
    d->streaming = d->counted = false;
}

/* ---- frames ---- */

static int wait_frame(const struct v4l2_device *d, struct pelton_failure *failure)
{
    struct pollfd p = {.fd = d->fd, .events = POLLIN | POLLPRI};
    int n = poll(&p, 1, POLL_MS);
    if (n <= 0 && now_ns() - d->heard_ns > SILENT_NS + (int64_t)(4e9 / d->fps))
        return v4l2_device_fail(d, failure, PELTON_ERR_TIMEOUT, "no frame for two seconds", "check the cable");
    if (n <= 0)
        return SOURCE_AGAIN;
    if (p.revents & POLLPRI) {
        struct v4l2_event event = {0};
        if (v4l2_ioctl(d->fd, VIDIOC_DQEVENT, &event) == 0 && event.type == V4L2_EVENT_SOURCE_CHANGE)
            return v4l2_device_fail(d, failure, PELTON_ERR_INPUT, "the signal has changed", "");
    }
    if (!(p.revents & POLLIN) && (p.revents & (POLLERR | POLLHUP | POLLNVAL))) {
        errno = ENODEV;
        return fail_errno(d, failure, "poll");
    }
    return p.revents & POLLIN ? SOURCE_OK : SOURCE_AGAIN;
}

static int64_t time_of(const struct v4l2_buffer *b)
{
    int64_t now = now_ns(), at = b->timestamp.tv_sec * NS_PER_S + b->timestamp.tv_usec * 1000ll;
    bool monotonic = (b->flags & V4L2_BUF_FLAG_TIMESTAMP_MASK) == V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
    return monotonic && at <= now && at > now - NS_PER_S ? at : now;
}

int v4l2_device_take(struct v4l2_device *d, size_t least, struct v4l2_taken *out, struct pelton_failure *failure)
{
    struct v4l2_buffer b = {.type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = d->memory_type};
    int rc = wait_frame(d, failure);
    if (rc != SOURCE_OK)
        return rc;
    if (v4l2_ioctl(d->fd, VIDIOC_DQBUF, &b) < 0)
        return errno == EAGAIN ? SOURCE_AGAIN : fail_errno(d, failure, "VIDIOC_DQBUF");
    if (b.index >= d->n_buffers)
        return v4l2_device_fail(d, failure, PELTON_ERR_INPUT, "the driver names a buffer that is not there", "");
    d->heard_ns = now_ns();
    uint32_t gap = d->counted ? b.sequence - d->sequence : 0;
    d->lost += gap < 1u << 16 ? gap : 0;
    d->sequence = b.sequence + 1;
    d->counted = true;
    const struct v4l2_buffer_memory *m = &d->buffers[b.index];
    if ((b.flags & V4L2_BUF_FLAG_ERROR) || b.bytesused < least || b.bytesused > m->size) {
        d->lost++;
        rc = v4l2_device_give(d, b.index, failure);
        return rc < 0 ? rc : SOURCE_AGAIN;
    }
    *out = (struct v4l2_taken){b.index, m->memory, b.bytesused, time_of(&b)};
    return SOURCE_OK;
}

int v4l2_device_give(struct v4l2_device *d, uint32_t index, struct pelton_failure *failure)
{
    return queue(d, index) < 0 ? fail_errno(d, failure, "VIDIOC_QBUF") : 0;
}
