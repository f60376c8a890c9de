/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A V4L2 capture device for LD_PRELOAD: whoever opens the file that V4L2_SHIM names gets a descriptor that answers a sensor's ioctls as
 * the file describes, in lines of key=value, which are read anew each time:
 *
 *   fourcc, depth, packed, width, height, stride   the one format
 *   fps, light                                     light: what 1 ms at gain 1 gives, share of the full scale
 *   busy=1, gone=1                                 refuses to be opened; has been unplugged
 *   damaged=N, skip=N                              each Nth buffer has V4L2_BUF_FLAG_ERROR; each Nth sequence number is left out
 *
 * Exposure (100 us) and gain (16 is one) take effect two frames after they are set. The descriptor is a timerfd, so that poll works.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { BUFFERS = 8, DELAY = 2 };

static struct {
    int fd, memory;
    unsigned char *frames;
    size_t frame_bytes;
    unsigned count, queued[BUFFERS], n_queued, sequence;
    int exposure[DELAY + 1], gain[DELAY + 1];
} device = {.fd = -1};

static double number(const char *key, double fallback)
{
    const char *path = getenv("V4L2_SHIM");
    FILE *f = path ? fopen(path, "r") : NULL;
    char line[128];
    size_t n = strlen(key);
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, key, n) && line[n] == '=')
            fallback = atof(line + n + 1);
    if (f)
        fclose(f);
    return fallback;
}

static unsigned fourcc(void)
{
    const char *path = getenv("V4L2_SHIM");
    FILE *f = path ? fopen(path, "r") : NULL;
    char line[128], c[4] = {'R', 'G', 'G', 'B'};
    while (f && fgets(line, sizeof line, f))
        sscanf(line, "fourcc=%4c", c);
    if (f)
        fclose(f);
    return v4l2_fourcc(c[0], c[1], c[2], c[3]);
}

static int fail(int error)
{
    errno = error;
    return -1;
}

int open(const char *path, int flags, ...)
{
    static int (*next)(const char *, int, ...);
    const char *mine = getenv("V4L2_SHIM");
    next = next ? next : (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    if (!mine || strcmp(path, mine) != 0 || (flags & O_ACCMODE) != O_RDWR) {
        va_list args;
        va_start(args, flags);
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
        va_end(args);
        return next(path, flags, mode);
    }
    if (number("gone", 0))
        return fail(ENOENT);
    if (number("busy", 0))
        return fail(EBUSY);
    memset(&device, 0, sizeof device);
    for (int i = 0; i <= DELAY; i++) {
        device.exposure[i] = 100;
        device.gain[i] = 16;
    }
    return device.fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
}

int close(int fd)
{
    static int (*next)(int);
    next = next ? next : (int (*)(int))dlsym(RTLD_NEXT, "close");
    if (fd >= 0 && fd == device.fd) {
        device.fd = -1;
        next(device.memory);
    }
    return next(fd);
}

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    static void *(*next)(void *, size_t, int, int, int, off_t);
    next = next ? next : (void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
    return next(at, size, protection, flags, fd >= 0 && fd == device.fd ? device.memory : fd, offset);
}

/* ---- frames ---- */

static void put(unsigned char *row, unsigned x, unsigned value, unsigned depth, bool packed)
{
    if (depth == 8) {
        row[x] = (unsigned char)value;
    } else if (!packed) {
        row[2 * x] = (unsigned char)value;
        row[2 * x + 1] = (unsigned char)(value >> 8);
    } else { /* 10 bits: four high bytes, one of low bits */
        unsigned char *group = row + x / 4 * 5;
        group[x % 4] = (unsigned char)(value >> 2);
        group[4] = (unsigned char)((group[4] & ~(3u << x % 4 * 2)) | (value & 3) << x % 4 * 2);
    }
}

static void draw(unsigned char *to)
{
    unsigned width = (unsigned)number("width", 320), height = (unsigned)number("height", 240), depth = (unsigned)number("depth", 8);
    unsigned stride = (unsigned)number("stride", 320), most = (1u << depth) - 1;
    bool packed = number("packed", 0) != 0;
    double full = number("light", 0.05) * device.exposure[0] / 10.0 * device.gain[0] / 16.0;
    for (unsigned y = 0; y < height; y++)
        for (unsigned x = 0; x < width; x++) {
            double v = full * (0.5 + x / (double)width) * most;
            put(to + (size_t)y * stride, x, v > most ? most : (unsigned)v, depth, packed);
        }
}

static int dequeue(struct v4l2_buffer *b)
{
    unsigned long long ticks;
    struct timespec now;
    if (number("gone", 0))
        return fail(ENODEV);
    if (!device.n_queued || read(device.fd, &ticks, sizeof ticks) != sizeof ticks)
        return fail(EAGAIN);
    unsigned every = (unsigned)number("damaged", 0), skip = (unsigned)number("skip", 0), index = device.queued[0];
    memmove(device.queued, device.queued + 1, --device.n_queued * sizeof device.queued[0]);
    draw(device.frames + index * device.frame_bytes);
    memmove(device.exposure, device.exposure + 1, DELAY * sizeof device.exposure[0]);
    memmove(device.gain, device.gain + 1, DELAY * sizeof device.gain[0]);
    clock_gettime(CLOCK_MONOTONIC, &now);
    *b = (struct v4l2_buffer){.index = index, .type = b->type, .memory = b->memory, .bytesused = (unsigned)device.frame_bytes,
                              .flags = V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC, .sequence = device.sequence};
    b->timestamp.tv_sec = now.tv_sec;
    b->timestamp.tv_usec = now.tv_nsec / 1000;
    if (every && device.sequence % every == every - 1)
        b->flags |= V4L2_BUF_FLAG_ERROR;
    device.sequence += skip && device.sequence % skip == skip - 1 ? 2 : 1;
    return 0;
}

static int stream(bool on)
{
    long period = (long)(1e9 / number("fps", 30));
    struct itimerspec t = {.it_interval.tv_nsec = on ? period : 0, .it_value.tv_nsec = on ? period : 0};
    return timerfd_settime(device.fd, 0, &t, NULL);
}

static int request(struct v4l2_requestbuffers *r)
{
    size_t page = 4096, bytes = (size_t)number("stride", 320) * (size_t)number("height", 240);
    r->count = r->count > BUFFERS ? BUFFERS : r->count;
    device.frame_bytes = (bytes + page - 1) / page * page;
    device.count = r->count;
    device.memory = memfd_create("v4l2-shim", MFD_CLOEXEC);
    if (device.memory < 0 || ftruncate(device.memory, (off_t)(device.frame_bytes * device.count)) < 0)
        return -1;
    device.frames = mmap(NULL, device.frame_bytes * device.count, PROT_READ | PROT_WRITE, MAP_SHARED, device.memory, 0);
    return device.frames == MAP_FAILED ? -1 : 0;
}

static void describe(struct v4l2_pix_format *f)
{
    *f = (struct v4l2_pix_format){.width = (unsigned)number("width", 320), .height = (unsigned)number("height", 240), .pixelformat = fourcc(),
                                  .field = V4L2_FIELD_NONE, .bytesperline = (unsigned)number("stride", 320)};
}

static int query(struct v4l2_queryctrl *q)
{
    bool time = q->id == V4L2_CID_EXPOSURE_ABSOLUTE, gain = q->id == V4L2_CID_ANALOGUE_GAIN;
    if (!time && !gain)
        return fail(EINVAL);
    *q = (struct v4l2_queryctrl){.id = q->id, .type = V4L2_CTRL_TYPE_INTEGER, .minimum = time ? 1 : 16, .maximum = time ? 5000 : 256, .step = 1};
    return 0;
}

static int set_controls(struct v4l2_ext_controls *all)
{
    for (unsigned i = 0; i < all->count; i++) {
        struct v4l2_ext_control *c = &all->controls[i];
        if (c->id == V4L2_CID_EXPOSURE_ABSOLUTE)
            device.exposure[DELAY] = c->value;
        else if (c->id == V4L2_CID_ANALOGUE_GAIN)
            device.gain[DELAY] = c->value;
        else
            return fail(EINVAL);
    }
    return 0;
}

static int answer(unsigned long what, void *arg)
{
    if (number("gone", 0))
        return fail(ENODEV);
    switch (what) {
    case VIDIOC_QUERYCAP: {
        struct v4l2_capability *c = arg;
        *c = (struct v4l2_capability){.driver = "shim", .card = "shim", .capabilities = V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING};
        return 0;
    }
    case VIDIOC_ENUM_FMT: {
        struct v4l2_fmtdesc *d = arg;
        d->pixelformat = fourcc();
        return d->index ? fail(EINVAL) : 0;
    }
    case VIDIOC_G_FMT:
    case VIDIOC_S_FMT: describe(&((struct v4l2_format *)arg)->fmt.pix); return 0;
    case VIDIOC_S_PARM:
        ((struct v4l2_streamparm *)arg)->parm.capture.timeperframe = (struct v4l2_fract){1000, (unsigned)(number("fps", 30) * 1000)};
        return 0;
    case VIDIOC_QUERYCTRL: return query(arg);
    case VIDIOC_S_EXT_CTRLS: return set_controls(arg);
    case VIDIOC_REQBUFS: return request(arg);
    case VIDIOC_QUERYBUF: {
        struct v4l2_buffer *b = arg;
        b->length = (unsigned)device.frame_bytes;
        b->m.offset = (unsigned)(b->index * device.frame_bytes);
        return b->index < device.count ? 0 : fail(EINVAL);
    }
    case VIDIOC_QBUF: device.queued[device.n_queued++ % BUFFERS] = ((struct v4l2_buffer *)arg)->index; return 0;
    case VIDIOC_DQBUF: return dequeue(arg);
    case VIDIOC_STREAMON: return stream(true);
    case VIDIOC_STREAMOFF: return stream(false);
    default: return fail(EINVAL);
    }
}

int ioctl(int fd, unsigned long what, ...)
{
    static int (*next)(int, unsigned long, ...);
    va_list args;
    va_start(args, what);
    void *arg = va_arg(args, void *);
    va_end(args);
    next = next ? next : (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
    return fd >= 0 && fd == device.fd ? answer(what & 0xffffffff, arg) : next(fd, what, arg);
}
