/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A V4L2 output device for LD_PRELOAD, as v4l2loopback makes them. A program that opens a file
 * whose path begins with V4L2_SINK gets a descriptor that answers an output's ioctls. The file
 * describes the device in lines of key=value, which are read anew each time.
 *
 *   formats=YU12,NV12   that it lists; sizes are free
 *   kept=640x480 YU12   others read it: it keeps this size and format
 *   camera=1            captures, and takes no pictures
 *   stream=1            mapped buffers alone; else write() alone
 *   stream=2            the same, though it says that it takes writes
 *   align=N             bytes from row to row are a multiple of it
 *   busy=1, gone=1      another program writes; it has been unplugged
 *   slow=1              takes no picture now
 *
 * Pictures are appended to PATH.frames, each after a line "WIDTH HEIGHT FOURCC STRIDE BYTES".
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/videodev2.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))
enum { BUFFERS = 3, ROOM = 1 << 22 };

static struct {
    int fd; /* an eventfd's stand-in: a memfd, which also holds the buffers; -1: closed */
    char path[PATH_MAX];
    struct v4l2_pix_format format;
    unsigned queued[BUFFERS], n_queued;
} sink = {.fd = -1};

#define NEXT(type, name) ((type)dlsym(RTLD_NEXT, name))

static int refuse(int error)
{
    errno = error;
    return -1;
}

static int described(const char *key, char *out, size_t size)
{
    char line[256];
    size_t n = strlen(key);
    int found = 0;
    FILE *f = fopen(sink.path, "r");
    while (f && fgets(line, sizeof(line), f))
        if (!strncmp(line, key, n) && line[n] == '=') {
            line[strcspn(line, "\n")] = 0;
            snprintf(out, size, "%s", line + n + 1);
            found = 1;
        }
    if (f)
        fclose(f);
    return found;
}

static int number(const char *key)
{
    char text[64];
    return described(key, text, sizeof(text)) ? atoi(text) : 0;
}

EXPORTED int open(const char *path, int flags, ...)
{
    va_list args;
    const char *mine = getenv("V4L2_SINK");
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    if (!mine || strcmp(path, mine) != 0)
        return NEXT(int (*)(const char *, int, ...), "open")(path, flags, mode);
    snprintf(sink.path, sizeof(sink.path), "%s", path);
    if (access(path, F_OK) < 0 || number("gone"))
        return refuse(ENOENT);
    sink.n_queued = 0;
    sink.fd = memfd_create("v4l2-sink", MFD_CLOEXEC);
    return ftruncate(sink.fd, (off_t)BUFFERS * ROOM) < 0 ? -1 : sink.fd;
}

EXPORTED int close(int fd)
{
    if (fd == sink.fd)
        sink.fd = -1;
    return NEXT(int (*)(int), "close")(fd);
}

EXPORTED int poll(struct pollfd *p, nfds_t n, int timeout)
{
    if (n != 1 || !p || p->fd < 0 || p->fd != sink.fd || !number("slow"))
        return NEXT(int (*)(struct pollfd *, nfds_t, int), "poll")(p, n, timeout);
    usleep((useconds_t)timeout * 1000);
    return 0;
}

static void keep(const void *bytes, size_t size)
{
    char name[PATH_MAX + 8];
    snprintf(name, sizeof(name), "%s.frames", sink.path);
    FILE *f = fopen(name, "ab");
    if (!f)
        return;
    fprintf(f, "%u %u %.4s %u %zu\n", sink.format.width, sink.format.height,
            (const char *)&sink.format.pixelformat, sink.format.bytesperline, size);
    fwrite(bytes, 1, size, f);
    fclose(f);
}

EXPORTED ssize_t write(int fd, const void *bytes, size_t size)
{
    if (fd < 0 || fd != sink.fd)
        return NEXT(ssize_t(*)(int, const void *, size_t), "write")(fd, bytes, size);
    if (number("gone"))
        return refuse(ENODEV);
    if (number("slow"))
        return refuse(EAGAIN);
    if (number("stream"))
        return refuse(EINVAL);
    keep(bytes, size);
    return (ssize_t)size;
}

static int capability(struct v4l2_capability *c)
{
    snprintf((char *)c->card, sizeof(c->card), "sink");
    c->device_caps = (number("camera") ? V4L2_CAP_VIDEO_CAPTURE : V4L2_CAP_VIDEO_OUTPUT) |
                     (number("stream") ? V4L2_CAP_STREAMING : V4L2_CAP_READWRITE) |
                     (number("stream") == 2 ? V4L2_CAP_READWRITE : 0);
    c->capabilities = c->device_caps | V4L2_CAP_DEVICE_CAPS;
    return 0;
}

static int list(struct v4l2_fmtdesc *d)
{
    char text[64];
    if (!described("formats", text, sizeof(text)) || 5 * d->index >= strlen(text))
        return refuse(EINVAL);
    memcpy(&d->pixelformat, text + 5 * d->index, 4);
    return 0;
}

static int set(struct v4l2_pix_format *p)
{
    char text[64], fourcc[8] = "", known[64];
    unsigned align = number("align") ? (unsigned)number("align") : 1;
    if (number("busy"))
        return refuse(EBUSY);
    described("formats", known, sizeof(known));
    snprintf(fourcc, sizeof(fourcc), "%.4s", (const char *)&p->pixelformat);
    if (!strstr(known, fourcc))
        memcpy(fourcc, known, 4); /* as drivers do: the first of theirs */
    if (described("kept", text, sizeof(text)))
        sscanf(text, "%ux%u %4s", &p->width, &p->height, fourcc);
    memcpy(&p->pixelformat, fourcc, 4);
    unsigned row = !strcmp(fourcc, "YUYV")   ? 2 * p->width
                   : !strcmp(fourcc, "RGB3") ? 3 * p->width
                                             : p->width;
    p->bytesperline = (row + align - 1) / align * align;
    p->sizeimage = p->bytesperline * p->height;
    if (!strcmp(fourcc, "YU12") || !strcmp(fourcc, "NV12"))
        p->sizeimage += p->bytesperline * ((p->height + 1) / 2);
    sink.format = *p;
    return 0;
}

static int queue(const struct v4l2_buffer *b)
{
    if (b->index >= BUFFERS || sink.n_queued == BUFFERS)
        return refuse(EINVAL);
    if (number("gone"))
        return refuse(ENODEV);
    void *at = mmap(NULL, ROOM, PROT_READ, MAP_SHARED, sink.fd, (off_t)b->index * ROOM);
    keep(at, b->bytesused);
    munmap(at, ROOM);
    sink.queued[sink.n_queued++] = b->index;
    return 0;
}

static int unqueue(struct v4l2_buffer *b)
{
    if (!sink.n_queued || number("slow"))
        return refuse(EAGAIN);
    b->index = sink.queued[0];
    memmove(sink.queued, sink.queued + 1, --sink.n_queued * sizeof(sink.queued[0]));
    return 0;
}

static int answer(unsigned long what, void *arg)
{
    struct v4l2_requestbuffers *r = arg;
    struct v4l2_buffer *b = arg;
    switch (what) {
    case VIDIOC_QUERYCAP:
        return capability(arg);
    case VIDIOC_ENUM_FMT:
        return list(arg);
    case VIDIOC_S_FMT:
        return set(&((struct v4l2_format *)arg)->fmt.pix);
    case VIDIOC_REQBUFS:
        r->count = r->count > BUFFERS ? BUFFERS : r->count;
        return 0;
    case VIDIOC_QUERYBUF:
        b->length = ROOM;
        b->m.offset = b->index * ROOM;
        return 0;
    case VIDIOC_QBUF:
        return queue(arg);
    case VIDIOC_DQBUF:
        return unqueue(arg);
    case VIDIOC_STREAMON:
    case VIDIOC_STREAMOFF:
        return 0;
    default:
        return refuse(ENOTTY);
    }
}

EXPORTED int ioctl(int fd, unsigned long what, ...)
{
    va_list args;
    va_start(args, what);
    void *arg = va_arg(args, void *);
    va_end(args);
    return fd >= 0 && fd == sink.fd
               ? answer(what & 0xffffffff, arg)
               : NEXT(int (*)(int, unsigned long, ...), "ioctl")(fd, what, arg);
}
