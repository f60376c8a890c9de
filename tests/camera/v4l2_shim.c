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

bool text_of_file(const char *path, const char *key, char *out, size_t size)
{
    FILE *f = fopen(path, "r");
    char line[512];
    size_t n = strlen(key);
    bool found = false;
    while (f && fgets(line, sizeof(line), f))
        if (!strncmp(line, key, n) && line[n] == '=') {
            line[strcspn(line, "\n")] = 0;
            snprintf(out, size, "%s", line + n + 1);
            found = true;
        }
    if (f)
        fclose(f);
    return found;
}

double number_of(const char *path, const char *key, double fallback)
{
    char text[512];
    return text_of_file(path, key, text, sizeof(text)) ? atof(text) : fallback;
}

double number(const char *key, double fallback)
{
    return number_of(device.path, key, fallback);
}

bool lies(const char *about)
{
    char text[512];
    return text_of_file(device.path, "lie", text, sizeof(text)) && !strcmp(text, about);
}

static bool is_gone(const char *path)
{
    return access(path, F_OK) < 0 || number_of(path, "gone", 0) != 0;
}

void note(const char *path, const char *what, int value)
{
    char name[PATH_MAX + 8];
    snprintf(name, sizeof(name), "%s.log", path);
    FILE *f = fopen(name, "a");
    if (f) {
        fprintf(f, "%s %d\n", what, value);
        fclose(f);
    }
}

/* The index-th format of the list, and of the rates beside it; 0: none. */
static unsigned listed(unsigned index, double *fps)
{
    char formats[512], rates[512] = "";
    if (!text_of_file(device.path, "formats", formats, sizeof(formats)) &&
        !text_of_file(device.path, "fourcc", formats, sizeof(formats)))
        strcpy(formats, "RGGB");
    text_of_file(device.path, "fps", rates, sizeof(rates));
    const char *f = formats, *r = rates;
    for (unsigned i = 0; i < index && f; i++) {
        f = strchr(f, ',') ? strchr(f, ',') + 1 : NULL;
        r = strchr(r, ',') ? strchr(r, ',') + 1 : r;
    }
    *fps = *r ? atof(r) : 30;
    return f && strlen(f) >= 4
               ? v4l2_fourcc((unsigned)f[0], (unsigned)f[1], (unsigned)f[2], (unsigned)f[3])
               : 0;
}

int fail(int error)
{
    errno = error;
    return -1;
}

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

static bool has_changed(void)
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

static double rate_of(unsigned fourcc)
{
    double fps = 30, best = 30;
    for (unsigned i = 0, f; (f = listed(i, &fps)) != 0; i++)
        if (f == fourcc)
            best = fps;
    return best;
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

static bool is_multi(void)
{
    return number("multi", 0) != 0;
}

static int dequeue(struct v4l2_buffer *b)
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

static int enqueue(const struct v4l2_buffer *b)
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

static int stream(bool on)
{
    long period = (long)(1e9 / rate_of(device.fourcc));
    struct itimerspec t = {.it_interval.tv_nsec = on ? period : 0,
                           .it_value.tv_nsec = on ? period : 0};
    return timerfd_settime(device.fd, 0, &t, NULL);
}

static int request(struct v4l2_requestbuffers *r)
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

static int query_buffer(struct v4l2_buffer *b)
{
    if (b->index >= device.count)
        return fail(EINVAL);
    if (is_multi())
        return say_planes(b, 0);
    b->length = (unsigned)device.frame_bytes;
    b->m.offset = (unsigned)(b->index * device.frame_bytes);
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
        return request(arg);
    case VIDIOC_QUERYBUF:
        return query_buffer(arg);
    case VIDIOC_QBUF:
        return enqueue(arg);
    case VIDIOC_DQBUF:
        return dequeue(arg);
    case VIDIOC_STREAMON:
        return number("media", 0) && !media_is_ready(device.width, device.height) ? fail(EPIPE)
                                                                                  : stream(true);
    case VIDIOC_STREAMOFF:
        return stream(false);
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
