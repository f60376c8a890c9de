/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Buffers of the shim's device (v4l2_shim.c), and their clock.
 */
#include "v4l2_shim.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/* What the planes of a multi-planar buffer say; used 0: nothing is in it. */
static int say_planes(struct v4l2_buffer *b, size_t used)
{
    if (b->length < memory_planes())
        return fail(EINVAL);
    for (unsigned k = 0; k < memory_planes(); k++) {
        struct v4l2_plane *p = &b->m.planes[k];
        *p = (struct v4l2_plane){.length = (unsigned)(image_bytes(k) + offset_of())};
        p->m.mem_offset = (unsigned)(b->index * device.frame_bytes + device.plane_at[k]);
        p->data_offset = used ? (unsigned)offset_of() : 0;
        p->bytesused = used ? p->data_offset + (unsigned)(k ? image_bytes(k) : used) +
                                  (lies("used") ? 1 << 20 : 0)
                            : 0;
        p->data_offset += k && lies("offset") ? 1u << 31 : 0;
    }
    b->length = memory_planes();
    return 0;
}

int buffer_query(struct v4l2_buffer *b)
{
    if (b->index >= device.count)
        return fail(EINVAL);
    if (is_multi())
        return say_planes(b, 0);
    b->length = (unsigned)device.frame_bytes;
    b->m.offset = (unsigned)(b->index * device.frame_bytes);
    return 0;
}

int buffer_dequeue(struct v4l2_buffer *b)
{
    unsigned long long ticks;
    struct timespec now;
    if (!device.n_queued || has_changed() ||
        read(device.fd, &ticks, sizeof(ticks)) != sizeof(ticks))
        return fail(EAGAIN);
    unsigned every = (unsigned)number("damaged", 0), skip = (unsigned)number("skip", 0),
             index = device.queued[0];
    memmove(device.queued, device.queued + 1, --device.n_queued * sizeof(device.queued[0]));
    size_t used = draw(device.memory_type == V4L2_MEMORY_USERPTR
                           ? device.user[index]
                           : device.frames + index * device.frame_bytes);
    memmove(device.exposure, device.exposure + 1, DELAY * sizeof(device.exposure[0]));
    memmove(device.gain, device.gain + 1, DELAY * sizeof(device.gain[0]));
    clock_gettime(CLOCK_MONOTONIC, &now);
    *b = (struct v4l2_buffer){.index = index,
                              .type = b->type,
                              .memory = b->memory,
                              .bytesused = is_multi() ? 0 : (unsigned)used,
                              .m = b->m,
                              .length = b->length,
                              .flags = V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC,
                              .sequence = device.sequence};
    b->timestamp.tv_sec = now.tv_sec;
    b->timestamp.tv_usec = now.tv_nsec / 1000;
    if (lies("index"))
        b->index = 1u << 30;
    if (every && device.sequence % every == every - 1)
        b->flags |= V4L2_BUF_FLAG_ERROR;
    device.sequence += skip && device.sequence % skip == skip - 1 ? 2 : 1;
    return is_multi() ? say_planes(b, used) : 0;
}

int buffer_enqueue(const struct v4l2_buffer *b)
{
    if (b->index >= device.count || device.n_queued == BUFFERS || b->memory != device.memory_type)
        return fail(EINVAL);
    if (b->memory == V4L2_MEMORY_USERPTR) {
        unsigned long at = is_multi() ? b->m.planes[0].m.userptr : b->m.userptr;
        if (number("userptr", 0) > 1 || at % 4096 ||
            (is_multi() ? b->m.planes[0].length : b->length) < image_bytes(0) + offset_of())
            return fail(EFAULT);
        device.user[b->index] = (unsigned char *)at;
    }
    device.queued[device.n_queued++] = b->index;
    return 0;
}

int buffers_stream(bool on)
{
    long period = (long)(1e9 / rate_of(device.fourcc));
    struct itimerspec t = {.it_interval.tv_nsec = on ? period : 0,
                           .it_value.tv_nsec = on ? period : 0};
    return timerfd_settime(device.fd, 0, &t, NULL);
}

int buffers_request(struct v4l2_requestbuffers *r)
{
    size_t page = 4096;
    if (r->memory == V4L2_MEMORY_USERPTR && !number("userptr", 0))
        return fail(EINVAL);
    r->count = r->count > BUFFERS ? BUFFERS : r->count;
    device.memory_type = r->memory;
    device.frame_bytes = 0;
    for (unsigned k = 0; k < memory_planes(); k++) {
        device.plane_at[k] = device.frame_bytes;
        device.frame_bytes += (image_bytes(k) + offset_of() + page - 1) / page * page;
    }
    device.count = r->count;
    device.n_queued = 0;
    note(device.path, "memory", (int)r->memory);
    if (r->memory == V4L2_MEMORY_USERPTR || !r->count)
        return 0;
    device.memory = memfd_create("v4l2-shim", MFD_CLOEXEC);
    if (device.memory < 0 ||
        ftruncate(device.memory, (off_t)(device.frame_bytes * device.count)) < 0)
        return -1;
    device.frames = mmap(NULL, device.frame_bytes * device.count, PROT_READ | PROT_WRITE,
                         MAP_SHARED, device.memory, 0);
    return device.frames == MAP_FAILED ? -1 : 0;
}
