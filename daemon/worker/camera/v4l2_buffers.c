/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The buffers of a V4L2 device that is open (v4l2_device.c), of both forms: in the multi-planar one
 * each piece of memory has its own size, and may begin with bytes that are no picture
 * (data_offset).
 *
 * The happy path is buffers, stream on, then poll - dequeue - (use) - queue. The failure modes are:
 * unplugged (ENODEV, EIO, POLLERR), silent for two seconds, its signal changed. Damaged and short
 * buffers are dropped and counted, as are gaps of the driver's sequence numbers.
 */
#include "daemon/worker/camera/v4l2.h"
#include "daemon/worker/clock.h"

#include <errno.h>
#include <linux/videodev2.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAPPED = 4, POLL_MS = 100 };
#define SILENT_NS (2 * NS_PER_S)

/* planes: also what a single-planar device says of its one. */
struct buffer {
    struct v4l2_buffer b;
    struct v4l2_plane planes[VIDEO_MAX_PLANES];
};

static bool is_multi(const struct v4l2_device *d)
{
    return d->type == V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE;
}

static int call(const struct v4l2_device *d, unsigned long request, uint32_t index,
                struct buffer *a)
{
    a->b.type = d->type;
    a->b.memory = d->memory_type;
    a->b.index = index;
    if (is_multi(d)) {
        a->b.m.planes = a->planes;
        a->b.length = VIDEO_MAX_PLANES;
    }
    int rc = v4l2_ioctl(d->fd, request, &a->b);
    if (!is_multi(d))
        a->planes[0] = (struct v4l2_plane){
            .bytesused = a->b.bytesused, .length = a->b.length, .m.mem_offset = a->b.m.offset};
    return rc;
}

/* ---- setting up ---- */

static int queue(const struct v4l2_device *d, uint32_t index)
{
    struct buffer a = {0};
    if (d->memory_type == V4L2_MEMORY_USERPTR) {
        unsigned long at = (unsigned long)(uintptr_t)d->buffers[index].memory[0];
        a.b.m.userptr = a.planes[0].m.userptr = at;
        a.b.length = a.planes[0].length = (uint32_t)d->buffers[index].size[0];
    }
    return call(d, VIDIOC_QBUF, index, &a);
}

static int map_one(struct v4l2_device *d, uint32_t index, struct pelton_failure *failure)
{
    struct buffer a = {0};
    if (call(d, VIDIOC_QUERYBUF, index, &a) < 0)
        return v4l2_device_fail_errno(d, failure, "VIDIOC_QUERYBUF");
    d->n_buffers = index + 1;
    for (uint32_t k = 0; k < d->kind->planes; k++) {
        size_t size = a.planes[k].length;
        void *memory =
            mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, d->fd, a.planes[k].m.mem_offset);
        if (memory == MAP_FAILED)
            return v4l2_device_fail_errno(d, failure, "mmap");
        d->buffers[index].memory[k] = memory;
        d->buffers[index].size[k] = size;
    }
    return queue(d, index) < 0 ? v4l2_device_fail_errno(d, failure, "VIDIOC_QBUF") : 0;
}

static void unmap_all(struct v4l2_device *d)
{
    for (uint32_t i = 0; i < d->n_buffers; i++)
        for (uint32_t k = 0; k < V4L2_PLANES; k++)
            if (d->memory_type == V4L2_MEMORY_MMAP && d->buffers[i].memory[k])
                munmap(d->buffers[i].memory[k], d->buffers[i].size[k]);
    memset(d->buffers, 0, sizeof(d->buffers));
    d->n_buffers = 0;
}

static int map_buffers(struct v4l2_device *d, struct pelton_failure *failure)
{
    struct v4l2_requestbuffers request = {
        .count = MAPPED, .type = d->type, .memory = V4L2_MEMORY_MMAP};
    int rc = 0;
    if (v4l2_ioctl(d->fd, VIDIOC_REQBUFS, &request) < 0)
        return v4l2_device_fail_errno(d, failure, "VIDIOC_REQBUFS");
    for (uint32_t i = 0; i < request.count && i < V4L2_BUFFERS && rc >= 0; i++)
        rc = map_one(d, i, failure);
    if (rc < 0)
        return rc;
    return d->n_buffers >= 2 ? 0
                             : v4l2_device_fail(d, failure, PELTON_ERR_NOMEM,
                                                "the driver gives fewer than two buffers", "");
}

static bool request_buffers(const struct v4l2_device *d, uint32_t type, uint32_t count)
{
    struct v4l2_requestbuffers request = {.count = count, .type = d->type, .memory = type};
    return v4l2_ioctl(d->fd, VIDIOC_REQBUFS, &request) == 0 && request.count == count;
}

/* Drivers pin the memory when it is queued, and may refuse it only then. */
bool v4l2_device_start_user(struct v4l2_device *d, const struct source_buffers *memory,
                            uint32_t free)
{
    bool good = d->kind->planes == 1 && memory->size >= d->image.bytes[0] &&
                request_buffers(d, V4L2_MEMORY_USERPTR, SOURCE_BUFFERS);
    d->memory_type = V4L2_MEMORY_USERPTR;
    d->n_buffers = good ? SOURCE_BUFFERS : 0;
    for (uint32_t i = 0; i < d->n_buffers; i++)
        d->buffers[i] = (struct v4l2_buffer_memory){{memory->memory[i]}, {memory->size}};
    for (uint32_t i = 0; i < d->n_buffers && good; i++)
        good = !(free & 1u << i) || queue(d, i) == 0;
    good = good && v4l2_ioctl(d->fd, VIDIOC_STREAMON, &(int){(int)d->type}) == 0;
    d->streaming = good;
    d->heard_ns = now_ns();
    if (!good) {
        unmap_all(d);
        request_buffers(d, V4L2_MEMORY_USERPTR, 0);
        d->memory_type = V4L2_MEMORY_MMAP;
    }
    return good;
}

int v4l2_device_start(struct v4l2_device *d, struct pelton_failure *failure)
{
    int rc = map_buffers(d, failure);
    if (rc < 0)
        return rc;
    if (v4l2_ioctl(d->fd, VIDIOC_STREAMON, &(int){(int)d->type}) < 0)
        return v4l2_device_fail_errno(d, failure, "VIDIOC_STREAMON");
    d->streaming = true;
    d->heard_ns = now_ns();
    return 0;
}

void v4l2_device_close(struct v4l2_device *d)
{
    if (d->streaming)
        v4l2_ioctl(d->fd, VIDIOC_STREAMOFF, &(int){(int)d->type});
    unmap_all(d);
    media_pipe_close(&d->pipe);
    if (d->fd >= 0)
        close(d->fd);
    d->fd = -1;
    d->streaming = d->counted = false;
}

/* ---- frames ---- */

static int wait_frame(const struct v4l2_device *d, struct pelton_failure *failure)
{
    struct pollfd p = {.fd = d->fd, .events = POLLIN | POLLPRI};
    int n = poll(&p, 1, POLL_MS);
    if (n <= 0 && now_ns() - d->heard_ns > SILENT_NS + (int64_t)(4e9 / d->fps))
        return v4l2_device_fail(d, failure, PELTON_ERR_TIMEOUT, "no frame for two seconds",
                                "check the cable");
    if (n <= 0)
        return SOURCE_AGAIN;
    if (p.revents & POLLPRI) {
        struct v4l2_event event = {0};
        if (v4l2_ioctl(d->fd, VIDIOC_DQEVENT, &event) == 0 &&
            event.type == V4L2_EVENT_SOURCE_CHANGE)
            return v4l2_device_fail(d, failure, PELTON_ERR_INPUT, "the signal has changed", "");
    }
    if (!(p.revents & POLLIN) && (p.revents & (POLLERR | POLLHUP | POLLNVAL))) {
        errno = ENODEV;
        return v4l2_device_fail_errno(d, failure, "poll");
    }
    return p.revents & POLLIN ? SOURCE_OK : SOURCE_AGAIN;
}

static int64_t time_of(const struct v4l2_buffer *b)
{
    int64_t now = now_ns(), s = b->timestamp.tv_sec, us = b->timestamp.tv_usec;
    bool monotonic = (b->flags & V4L2_BUF_FLAG_TIMESTAMP_MASK) == V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
    if (!monotonic || s < 0 || s > now / NS_PER_S || us < 0 || us >= 1000000)
        return now;
    int64_t at = s * NS_PER_S + us * 1000;
    return at <= now && at > now - 10 * NS_PER_S ? at : now;
}

/* Where a filled buffer's frame is; false: it is damaged, or not all of it is there. */
static bool look_into(const struct v4l2_device *d, const struct buffer *a, struct v4l2_taken *out)
{
    const struct v4l2_buffer_memory *m = &d->buffers[a->b.index];
    bool good = !(a->b.flags & V4L2_BUF_FLAG_ERROR);
    for (uint32_t k = 0; k < d->kind->planes && good; k++) {
        size_t used = a->planes[k].bytesused, offset = a->planes[k].data_offset;
        good = used <= m->size[k] && offset <= used && used - offset >= d->least[k];
        if (!good)
            break;
        out->data[k] = m->memory[k] + offset;
        out->size = k ? out->size : used - offset;
    }
    /* the camera's frames begin where its memory does */
    if (good && d->memory_type == V4L2_MEMORY_USERPTR && out->data[0] != m->memory[0]) {
        memmove(m->memory[0], out->data[0], out->size);
        out->data[0] = m->memory[0];
    }
    return good;
}

int v4l2_device_take(struct v4l2_device *d, struct v4l2_taken *out, struct pelton_failure *failure)
{
    struct buffer a = {0};
    struct v4l2_taken taken = {0};
    int rc = wait_frame(d, failure);
    if (rc != SOURCE_OK)
        return rc;
    if (call(d, VIDIOC_DQBUF, 0, &a) < 0)
        return errno == EAGAIN ? SOURCE_AGAIN : v4l2_device_fail_errno(d, failure, "VIDIOC_DQBUF");
    if (a.b.index >= d->n_buffers)
        return v4l2_device_fail(d, failure, PELTON_ERR_INPUT,
                                "the driver names a buffer that is not there", "");
    d->heard_ns = now_ns();
    uint32_t gap = d->counted ? a.b.sequence - d->sequence : 0;
    d->lost += gap < 1u << 16 ? gap : 0;
    d->sequence = a.b.sequence + 1;
    d->counted = true;
    if (!look_into(d, &a, &taken)) {
        d->lost++;
        rc = v4l2_device_give(d, a.b.index, failure);
        return rc < 0 ? rc : SOURCE_AGAIN;
    }
    taken.index = a.b.index;
    taken.captured_ns = time_of(&a.b);
    *out = taken;
    return SOURCE_OK;
}

int v4l2_device_give(struct v4l2_device *d, uint32_t index, struct pelton_failure *failure)
{
    return queue(d, index) < 0 ? v4l2_device_fail_errno(d, failure, "VIDIOC_QBUF") : 0;
}
