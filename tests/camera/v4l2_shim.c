/* SPDX-License-Identifier: BSD-2-Clause
 *
 * V4L2 capture devices for LD_PRELOAD. A program that opens a file whose real path begins with
 * V4L2_SHIM gets a descriptor that answers a camera's ioctls. The file describes the camera in
 * lines of key=value, which are read anew each time. Without the file the device is unplugged.
 *
 *   fourcc, depth, packed, width, height, stride   a raw format
 *   formats=YUYV,MJPG    several formats instead of fourcc; fps=10,30 gives the speed of each
 *   stream=PATH          frames of coded formats, each after its length in 32 bits; repeats
 *   fps, light           light: the share of full scale that 1 ms at gain 1 gives
 *   busy=1, gone=1       refuses to be opened; has been unplugged
 *   damaged=N, skip=N    each Nth buffer has V4L2_BUF_FLAG_ERROR; each Nth sequence is missing
 *   userptr=1            takes user memory; 2: announces that, then refuses it
 *   auto=1               has exposure control of its own, and takes exposure only without it
 *   lie=offset, used, index, stride, pieces        states an impossible value
 *   multi=1, offset=N    multi-planar (NM12, NM21, YM12 need it); its planes begin after N bytes
 *   signal=WIDTHxHEIGHT, silent=1                  a receiver: the size of the timings it was told
 *   signal=none          a receiver without a cable
 *   media=1              behind a media controller: v4l2_shim_media.c
 *
 * A size that changes while the device streams ends its frames, and is an event
 * (V4L2_EVENT_SOURCE_CHANGE). With silent=1 there is no event.
 *
 * A device that is open may be opened once more. The second descriptor gets no formats and buffers
 * while the first has buffers, and no lock while the first has it. Controls it may set.
 *
 * Exposure (100 us) and gain (16 is one) take effect two frames after they are set. The descriptor
 * is a timerfd, so poll works. Requests are appended to a file PATH.log: memory N, manual, key.
 */
#include "v4l2_shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/videodev2.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

struct shim_device device = {.fd = -1, .second = -1};

/* ---- its size ---- */

/* What there is to see now; false: no cable. */
static bool shown(unsigned *width, unsigned *height)
{
    char signal[64];
    bool receives = text_of_file(device.path, "signal", signal, sizeof(signal));
    *width = (unsigned)number("width", 320);
    *height = (unsigned)number("height", 240);
    return !receives || sscanf(signal, "%ux%u", width, height) == 2;
}

/* Frames are as they were when their format was set, but for a receiver, whose timings count. */
static void take_size(void)
{
    char signal[64];
    unsigned width, height;
    if (device.count)
        return;
    shown(&width, &height);
    bool told = text_of_file(device.path, "signal", signal, sizeof(signal)) ||
                (number("media", 0) && device.timed_width);
    device.width = told ? device.timed_width : width;
    device.height = told ? device.timed_height : height;
    device.stride = stride_of_width(device.width);
}

bool has_changed(void)
{
    unsigned width, height;
    if (number("media", 0))
        return false;
    bool there = shown(&width, &height);
    return device.count && (!there || width != device.width || height != device.height);
}

static int timings(struct v4l2_dv_timings *t, bool set)
{
    char signal[64];
    unsigned width, height;
    if (!text_of_file(device.path, "signal", signal, sizeof(signal)))
        return fail(ENOTTY);
    if (set) {
        device.timed_width = t->bt.width;
        device.timed_height = t->bt.height;
        return 0;
    }
    if (!shown(&width, &height))
        return fail(ENOLINK);
    *t = (struct v4l2_dv_timings){.type = V4L2_DV_BT_656_1120,
                                  .bt = {.width = width, .height = height}};
    return 0;
}

static int give_event(struct v4l2_event *e)
{
    if (!has_changed() || device.told)
        return fail(ENOENT);
    device.told = true;
    *e = (struct v4l2_event){.type = V4L2_EVENT_SOURCE_CHANGE,
                             .u.src_change.changes = V4L2_EVENT_SRC_CH_RESOLUTION};
    return 0;
}

EXPORTED int poll(struct pollfd *p, nfds_t n, int timeout)
{
    static int (*next)(struct pollfd *, nfds_t, int);
    next = next ? next : (int (*)(struct pollfd *, nfds_t, int))dlsym(RTLD_NEXT, "poll");
    if (n != 1 || p->fd < 0 || p->fd != device.fd || !has_changed() || is_gone(device.path))
        return next(p, n, timeout);
    bool tells = device.subscribed && !device.told && !number("silent", 0);
    usleep(tells ? 0 : (useconds_t)timeout * 1000);
    p->revents = tells ? POLLPRI : 0;
    return tells;
}

static int open_device(const char *real)
{
    if (is_gone(real))
        return fail(ENOENT);
    if (number_of(real, "busy", 0))
        return fail(EBUSY);
    double fps;
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (device.fd >= 0 && device.second < 0 && !strcmp(device.path, real))
        return device.second = fd;
    memset(&device, 0, sizeof(device));
    device.second = -1;
    snprintf(device.path, sizeof(device.path), "%s", real);
    device.memory = -1;
    device.fourcc = listed(0, &fps);
    device.automatic = number("auto", 0) != 0;
    device.timed_width = (unsigned)number("width", 320);
    device.timed_height = (unsigned)number("height", 240);
    take_size();
    for (int i = 0; i <= DELAY; i++) {
        device.exposure[i] = 100;
        device.gain[i] = 16;
    }
    return device.fd = fd;
}

EXPORTED int open(const char *path, int flags, ...)
{
    static int (*next)(const char *, int, ...);
    const char *mine = getenv("V4L2_SHIM");
    char real[PATH_MAX];
    next = next ? next : (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    if (mine && (flags & O_ACCMODE) == O_RDWR && realpath(path, real) &&
        !strncmp(real, mine, strlen(mine)))
        return media_is_node(real) ? media_open(real) : open_device(real);
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
    va_end(args);
    return next(path, flags, mode);
}

EXPORTED int close(int fd)
{
    static int (*next)(int);
    next = next ? next : (int (*)(int))dlsym(RTLD_NEXT, "close");
    if (fd >= 0 && fd == device.second) {
        device.second = -1;
    } else if (fd >= 0 && fd == device.fd) {
        if (device.memory >= 0)
            next(device.memory);
        device.fd = device.second; /* which has the device alone now */
        device.second = device.memory = -1;
        device.count = device.n_queued = 0;
        device.locked = false;
    }
    if (media_owns(fd))
        media_close(fd);
    return next(fd);
}

EXPORTED int flock(int fd, int operation)
{
    static int (*next)(int, int);
    next = next ? next : (int (*)(int, int))dlsym(RTLD_NEXT, "flock");
    bool second = fd >= 0 && fd == device.second;
    if (!second && (fd < 0 || fd != device.fd))
        return next(fd, operation);
    if (second && device.locked)
        return fail(EWOULDBLOCK);
    device.locked |= !second;
    return 0;
}

EXPORTED void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    static void *(*next)(void *, size_t, int, int, int, off_t);
    next = next ? next : (void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
    return next(at, size, protection, flags, fd >= 0 && fd == device.fd ? device.memory : fd,
                offset);
}

static void describe(struct v4l2_format *f)
{
    take_size();
    if (!is_multi()) {
        f->fmt.pix = (struct v4l2_pix_format){.width = device.width,
                                              .height = device.height,
                                              .pixelformat = device.fourcc,
                                              .field = V4L2_FIELD_NONE,
                                              .bytesperline = stride_of(),
                                              .sizeimage = (unsigned)image_bytes(0),
                                              .colorspace = V4L2_COLORSPACE_SRGB};
        return;
    }
    f->fmt.pix_mp = (struct v4l2_pix_format_mplane){
        .width = device.width,
        .height = device.height,
        .pixelformat = device.fourcc,
        .field = V4L2_FIELD_NONE,
        .num_planes = lies("pieces") ? 200 : (unsigned char)memory_planes(),
        .colorspace = V4L2_COLORSPACE_SRGB};
    for (unsigned k = 0; k < memory_planes(); k++)
        f->fmt.pix_mp.plane_fmt[k] =
            (struct v4l2_plane_pix_format){.sizeimage = (unsigned)(image_bytes(k) + offset_of()),
                                           .bytesperline = k && lies("stride") ? 8
                                                           : k && is_apart()   ? stride_of() / 2
                                                                               : stride_of()};
}

static int set_format(struct v4l2_format *f)
{
    double fps;
    if (number("media", 0)) { /* any size; the pipe decides */
        device.timed_width = is_multi() ? f->fmt.pix_mp.width : f->fmt.pix.width;
        device.timed_height = is_multi() ? f->fmt.pix_mp.height : f->fmt.pix.height;
    }
    unsigned wanted = is_multi() ? f->fmt.pix_mp.pixelformat : f->fmt.pix.pixelformat;
    for (unsigned i = 0, fourcc; (fourcc = listed(i, &fps)) != 0; i++)
        if (fourcc == wanted)
            device.fourcc = fourcc;
    describe(f);
    return 0;
}

static int query(struct v4l2_queryctrl *q)
{
    if (number("media", 0)) /* the sensor has them */
        return fail(EINVAL);
    bool time = q->id == V4L2_CID_EXPOSURE_ABSOLUTE, gain = q->id == V4L2_CID_ANALOGUE_GAIN;
    if (!time && !gain)
        return fail(EINVAL);
    *q = (struct v4l2_queryctrl){.id = q->id,
                                 .type = V4L2_CTRL_TYPE_INTEGER,
                                 .minimum = time ? 1 : 16,
                                 .maximum = time ? 5000 : 256,
                                 .step = 1};
    return 0;
}

/* The only one that has a name. */
static int query_named(struct v4l2_query_ext_ctrl *q)
{
    struct v4l2_queryctrl time = {.id = V4L2_CID_EXPOSURE_ABSOLUTE};
    if ((q->id & ~V4L2_CTRL_FLAG_NEXT_CTRL) >= time.id || query(&time) < 0)
        return fail(EINVAL);
    *q = (struct v4l2_query_ext_ctrl){.id = time.id,
                                      .type = time.type,
                                      .name = "Exposure Time, Absolute",
                                      .minimum = time.minimum,
                                      .maximum = time.maximum,
                                      .step = 1};
    return 0;
}

static int set_controls(struct v4l2_ext_controls *all)
{
    for (unsigned i = 0; i < all->count; i++) {
        struct v4l2_ext_control *c = &all->controls[i];
        if (c->id == V4L2_CID_EXPOSURE_ABSOLUTE && !device.automatic)
            device.exposure[DELAY] = c->value;
        else if (c->id == V4L2_CID_ANALOGUE_GAIN)
            device.gain[DELAY] = c->value;
        else if (c->id == V4L2_CID_EXPOSURE_AUTO && number("auto", 0))
            device.automatic = c->value != V4L2_EXPOSURE_MANUAL;
        else if (c->id == V4L2_CID_MPEG_VIDEO_FORCE_KEY_FRAME && is_coded())
            device.stream_at = 0;
        else
            return fail(EINVAL);
        if (c->id != V4L2_CID_ANALOGUE_GAIN)
            note(device.path,
                 c->id == V4L2_CID_MPEG_VIDEO_FORCE_KEY_FRAME ? "key"
                 : c->id == V4L2_CID_EXPOSURE_AUTO            ? "auto"
                                                              : "time",
                 c->value);
    }
    return 0;
}

/* Of those ioctls that name one: others than the device's own are refused. */
static bool is_type(unsigned long what, const void *arg)
{
    unsigned type = is_multi() ? V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE : V4L2_BUF_TYPE_VIDEO_CAPTURE;
    switch (what) {
    case VIDIOC_ENUM_FMT:
        return ((const struct v4l2_fmtdesc *)arg)->type == type;
    case VIDIOC_REQBUFS:
        return ((const struct v4l2_requestbuffers *)arg)->type == type;
    case VIDIOC_QUERYBUF:
    case VIDIOC_QBUF:
    case VIDIOC_DQBUF:
        return ((const struct v4l2_buffer *)arg)->type == type;
    case VIDIOC_G_FMT:
    case VIDIOC_S_FMT:
    case VIDIOC_S_PARM:
    case VIDIOC_STREAMON:
    case VIDIOC_STREAMOFF:
        return *(const unsigned *)arg == type; /* it comes first */
    default:
        return true;
    }
}

static int answer(bool second, unsigned long what, void *arg)
{
    double fps;
    if (is_gone(device.path))
        return fail(ENODEV);
    if (!is_type(what, arg))
        return fail(EINVAL);
    if (second && device.count &&
        (what == VIDIOC_S_FMT || what == VIDIOC_S_PARM || what == VIDIOC_REQBUFS))
        return fail(EBUSY);
    switch (what) {
    case VIDIOC_QUERYCAP: {
        unsigned capture = is_multi() ? V4L2_CAP_VIDEO_CAPTURE_MPLANE : V4L2_CAP_VIDEO_CAPTURE;
        *(struct v4l2_capability *)arg =
            (struct v4l2_capability){.driver = "shim",
                                     .card = "shim",
                                     .capabilities = capture | V4L2_CAP_STREAMING |
                                                     (number("media", 0) ? V4L2_CAP_IO_MC : 0)};
        return 0;
    }
    case VIDIOC_ENUM_FMT: {
        struct v4l2_fmtdesc *d = arg;
        d->pixelformat = listed(d->index, &fps);
        return d->pixelformat && media_gives(d->mbus_code, d->pixelformat) ? 0 : fail(EINVAL);
    }
    case VIDIOC_ENUM_FRAMESIZES: { /* the one of the description, and a smaller one before it */
        struct v4l2_frmsizeenum *s = arg;
        unsigned half = s->index ? 1 : 2;
        s->type = V4L2_FRMSIZE_TYPE_DISCRETE;
        s->discrete = (struct v4l2_frmsize_discrete){(unsigned)number("width", 64) / half,
                                                     (unsigned)number("height", 48) / half};
        return s->index > 1 ? fail(EINVAL) : 0;
    }
    case VIDIOC_ENUM_FRAMEINTERVALS: {
        struct v4l2_frmivalenum *v = arg;
        v->type = V4L2_FRMIVAL_TYPE_DISCRETE;
        v->discrete = (struct v4l2_fract){1000, (unsigned)(rate_of(v->pixel_format) * 1000)};
        return v->index ? fail(EINVAL) : 0;
    }
    case VIDIOC_G_FMT:
        describe(arg);
        return 0;
    case VIDIOC_S_FMT:
        return set_format(arg);
    case VIDIOC_S_PARM:
        ((struct v4l2_streamparm *)arg)->parm.capture.timeperframe =
            (struct v4l2_fract){1000, (unsigned)(rate_of(device.fourcc) * 1000)};
        return 0;
    case VIDIOC_QUERY_DV_TIMINGS:
        return timings(arg, false);
    case VIDIOC_S_DV_TIMINGS:
        return timings(arg, true);
    case VIDIOC_SUBSCRIBE_EVENT:
        device.subscribed =
            ((struct v4l2_event_subscription *)arg)->type == V4L2_EVENT_SOURCE_CHANGE;
        return 0;
    case VIDIOC_DQEVENT:
        return give_event(arg);
    case VIDIOC_QUERYCTRL:
        return query(arg);
    case VIDIOC_QUERY_EXT_CTRL:
        return query_named(arg);
    case VIDIOC_S_EXT_CTRLS:
        return set_controls(arg);
    case VIDIOC_REQBUFS:
        return buffers_request(arg);
    case VIDIOC_QUERYBUF:
        return buffer_query(arg);
    case VIDIOC_QBUF:
        return buffer_enqueue(arg);
    case VIDIOC_DQBUF:
        return buffer_dequeue(arg);
    case VIDIOC_STREAMON:
        return number("media", 0) && !media_is_ready(device.width, device.height)
                   ? fail(EPIPE)
                   : buffers_stream(true);
    case VIDIOC_STREAMOFF:
        return buffers_stream(false);
    default:
        return fail(EINVAL);
    }
}

EXPORTED int ioctl(int fd, unsigned long what, ...)
{
    static int (*next)(int, unsigned long, ...);
    va_list args;
    va_start(args, what);
    void *arg = va_arg(args, void *);
    va_end(args);
    next = next ? next : (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
    if (media_owns(fd))
        return media_answer(fd, what & 0xffffffff, arg);
    bool second = fd >= 0 && fd == device.second, mine = second || (fd >= 0 && fd == device.fd);
    return mine ? answer(second, what & 0xffffffff, arg) : next(fd, what, arg);
}
