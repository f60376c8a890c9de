/* SPDX-License-Identifier: BSD-2-Clause
 *
 * libFuzzer target: what a V4L2 driver and a media controller say of themselves. The first two
 * bytes choose a camera's address. The rest are the driver's answers, one a call: an error, a
 * sound answer, or a sound answer with some of its words replaced.
 *
 * Nodes are plain files in a temporary folder; the linker wraps ioctl, poll, mmap and munmap. A
 * mapping is a block of memory of exactly the length that the driver gave.
 */
#include "daemon/worker/camera/v4l2.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/media.h>
#include <linux/v4l2-subdev.h>
#include <linux/videodev2.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { READS = 12, MOST_MAPPED = 1 << 26, MAPS = 64, MOST_RAW = 1 << 26 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_ioctl(int fd, unsigned long request, ...);
int __wrap_poll(struct pollfd *p, nfds_t n, int timeout_ms);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__real_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
int __wrap_munmap(void *memory, size_t size);
int __real_munmap(void *memory, size_t size);

static struct {
    const uint8_t *data;
    size_t size, at;
    void *maps[MAPS];
    char folder[64];
} driver;

static unsigned driver_byte(void)
{
    return driver.at < driver.size ? driver.data[driver.at++] : 0;
}

static uint32_t driver_word(void)
{
    uint32_t word = driver_byte();
    for (int shift = 8; word & 128 && shift < 32; shift += 8)
        word |= driver_byte() << shift;
    return word;
}

/* ---- sound answers ---- */

static const uint32_t fourccs[] = {V4L2_PIX_FMT_YUYV,   V4L2_PIX_FMT_NV12,  V4L2_PIX_FMT_SRGGB10P,
                                   V4L2_PIX_FMT_MJPEG,  V4L2_PIX_FMT_H264,  V4L2_PIX_FMT_SRGGB10,
                                   V4L2_PIX_FMT_YUV420, V4L2_PIX_FMT_NV12M, V4L2_PIX_FMT_GREY,
                                   V4L2_PIX_FMT_UYVY,   V4L2_PIX_FMT_SBGGR8};

static uint32_t fourcc_pick(void)
{
    return fourccs[driver_byte() % (sizeof(fourccs) / sizeof(*fourccs))];
}

static void format_answer(struct v4l2_format *f, bool get)
{
    struct v4l2_pix_format *p = &f->fmt.pix;
    if (f->type == V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE) {
        struct v4l2_pix_format_mplane *m = &f->fmt.pix_mp;
        m->width = get || !m->width ? 64 : m->width;
        m->height = get || !m->height ? 48 : m->height;
        m->pixelformat = get ? fourcc_pick() : m->pixelformat;
        m->num_planes = m->pixelformat == V4L2_PIX_FMT_NV12M ? 2 : 1;
        for (int i = 0; i < 2; i++)
            m->plane_fmt[i] =
                (struct v4l2_plane_pix_format){m->width * m->height * 2, m->width * 2, {0}};
        return;
    }
    p->width = get || !p->width ? 64 : p->width;
    p->height = get || !p->height ? 48 : p->height;
    p->pixelformat = get ? fourcc_pick() : p->pixelformat;
    p->bytesperline = p->width * 2;
    p->sizeimage = p->width * p->height * 2;
}

static void capability_answer(struct v4l2_capability *c)
{
    unsigned how = driver_byte();
    strcpy((char *)c->card, "Fuzz");
    c->capabilities = c->device_caps =
        V4L2_CAP_STREAMING | V4L2_CAP_DEVICE_CAPS |
        (how & 1 ? V4L2_CAP_VIDEO_CAPTURE_MPLANE : V4L2_CAP_VIDEO_CAPTURE) |
        (how & 2 ? V4L2_CAP_IO_MC : 0);
}

static void buffer_answer(struct v4l2_buffer *b, bool filled)
{
    bool multi = b->type == V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE;
    b->index = filled ? driver_byte() % 4 : b->index;
    for (uint32_t i = 0; multi && i < b->length && i < VIDEO_MAX_PLANES; i++) {
        b->m.planes[i].bytesused = driver_word();
        b->m.planes[i].length = filled ? driver_word() : 64 * 48 * 2;
        b->m.planes[i].data_offset = filled ? driver_word() : 0;
    }
    if (!multi) {
        b->length = 64 * 48 * 2;
        b->bytesused = b->length;
    }
}

static void control_answer(struct v4l2_queryctrl *q)
{
    q->type = V4L2_CTRL_TYPE_INTEGER;
    q->minimum = (int)driver_word();
    q->maximum = (int)driver_word();
    q->step = 1;
    snprintf((char *)q->name, sizeof(q->name), "Control %u", driver_byte());
}

static void extended_answer(struct v4l2_query_ext_ctrl *q)
{
    unsigned step = driver_byte();
    q->id = (q->id & ~(V4L2_CTRL_FLAG_NEXT_CTRL | V4L2_CTRL_FLAG_NEXT_COMPOUND)) + step;
    q->type = driver_byte() % 12;
    q->maximum = driver_word();
    q->step = driver_byte();
    snprintf(q->name, sizeof(q->name), "%s", step & 1 ? "Gain" : "Exposure, Auto");
}

enum { PAD_IDS = 100, NODE_IDS = 200, LINK_IDS = 300 };

/* The k-th of n entities of a chain from a sensor to the video node: its node, its two pads. */
static void entity_answer(const struct media_v2_topology *t, uint32_t k, uint32_t n)
{
    struct media_v2_entity *e = (struct media_v2_entity *)(uintptr_t)t->ptr_entities + k;
    struct media_v2_interface *i = (struct media_v2_interface *)(uintptr_t)t->ptr_interfaces + k;
    struct media_v2_pad *p = (struct media_v2_pad *)(uintptr_t)t->ptr_pads + (size_t)2 * k;
    struct media_v2_link *l = (struct media_v2_link *)(uintptr_t)t->ptr_links + k;
    bool last = k + 1 == n;
    *e = (struct media_v2_entity){.id = 1 + k};
    e->function = k == 0 ? MEDIA_ENT_F_CAM_SENSOR
                  : last ? MEDIA_ENT_F_IO_V4L
                         : MEDIA_ENT_F_PROC_VIDEO_SCALER;
    snprintf(e->name, sizeof(e->name), "imx%u", driver_byte());
    *i = (struct media_v2_interface){.id = NODE_IDS + k};
    i->intf_type = last ? MEDIA_INTF_T_V4L_VIDEO : MEDIA_INTF_T_V4L_SUBDEV;
    for (uint32_t side = 0; side < 2; side++)
        p[side] = (struct media_v2_pad){.id = PAD_IDS + 2 * k + side,
                                        .entity_id = 1 + k,
                                        .flags = side ? MEDIA_PAD_FL_SOURCE : MEDIA_PAD_FL_SINK,
                                        .index = side};
    *l = (struct media_v2_link){.id = LINK_IDS + k,
                                .source_id = NODE_IDS + k,
                                .sink_id = 1 + k,
                                .flags = MEDIA_LNK_FL_INTERFACE_LINK};
}

/* The chain's links, and a few between any two. */
static void topology_answer(struct media_v2_topology *t)
{
    struct media_v2_link *l = (struct media_v2_link *)(uintptr_t)t->ptr_links;
    uint32_t n = 2 + driver_byte() % 8, links = n - 1 + driver_byte() % 4;
    for (uint32_t k = 0; k < n; k++)
        entity_answer(t, k, n);
    for (uint32_t k = 0; k < links; k++) {
        uint32_t from = k < n - 1 ? k : driver_byte() % n;
        uint32_t to = k < n - 1 ? k + 1 : driver_byte() % n;
        l[n + k] = (struct media_v2_link){.id = LINK_IDS + n + k,
                                          .source_id = PAD_IDS + 2 * from + 1,
                                          .sink_id = PAD_IDS + 2 * to,
                                          .flags = driver_byte() & 3};
    }
    t->num_entities = t->num_interfaces = n;
    t->num_pads = 2 * n;
    t->num_links = n + links;
}

static void subdevice_answer(unsigned long request, void *argument)
{
    if (request == VIDIOC_SUBDEV_G_FMT) {
        struct v4l2_subdev_format *f = argument;
        f->format.width = 64;
        f->format.height = 48;
        f->format.code = driver_byte() & 1 ? 0x300f : 0x2008;
    } else if (request == VIDIOC_SUBDEV_ENUM_MBUS_CODE) {
        struct v4l2_subdev_mbus_code_enum *c = argument;
        c->code = driver_byte() & 1 ? 0x300f : driver_word();
    } else if (request == VIDIOC_SUBDEV_ENUM_FRAME_SIZE) {
        struct v4l2_subdev_frame_size_enum *s = argument;
        s->min_width = s->max_width = driver_word();
        s->min_height = s->max_height = driver_word();
    }
}

static void sound_answer(unsigned long request, void *argument)
{
    if (request == VIDIOC_QUERYCAP)
        capability_answer(argument);
    else if (request == VIDIOC_G_FMT || request == VIDIOC_S_FMT)
        format_answer(argument, request == VIDIOC_G_FMT);
    else if (request == VIDIOC_ENUM_FMT)
        ((struct v4l2_fmtdesc *)argument)->pixelformat = fourcc_pick();
    else if (request == VIDIOC_QUERYBUF || request == VIDIOC_DQBUF)
        buffer_answer(argument, request == VIDIOC_DQBUF);
    else if (request == VIDIOC_QUERYCTRL)
        control_answer(argument);
    else if (request == VIDIOC_QUERY_EXT_CTRL)
        extended_answer(argument);
    else if (request == MEDIA_IOC_G_TOPOLOGY)
        topology_answer(argument);
    else if (request == VIDIOC_G_EXT_CTRLS)
        ((struct v4l2_ext_controls *)argument)->controls[0].value64 = driver_word();
    else
        subdevice_answer(request, argument);
}

/* Words of the structure become the driver's. Pointers are the caller's, which no kernel changes,
 * and so is the number of what they lead to. */
static void words_replace(unsigned long request, void *argument)
{
    uint8_t before[4096];
    size_t size = _IOC_SIZE(request), words = size / 4;
    struct v4l2_buffer *b = argument, *b0 = (void *)before;
    if (!words || size > sizeof(before))
        return;
    memcpy(before, argument, size);
    for (unsigned n = 1 + driver_byte() % 4; n; n--) {
        size_t at = driver_byte() % words * 4;
        uint32_t word = driver_word();
        memcpy((char *)argument + at, &word, sizeof(word));
    }
    if (request == VIDIOC_QUERYBUF || request == VIDIOC_QBUF || request == VIDIOC_DQBUF) {
        b->type = b0->type;
        if (b->type == V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE)
            b->m = b0->m;
    } else if (request == VIDIOC_G_EXT_CTRLS || request == VIDIOC_S_EXT_CTRLS) {
        memcpy(argument, before, size);
    } else if (request == MEDIA_IOC_G_TOPOLOGY) {
        struct media_v2_topology *t = argument, *t0 = (void *)before;
        t->ptr_entities = t0->ptr_entities;
        t->ptr_interfaces = t0->ptr_interfaces;
        t->ptr_pads = t0->ptr_pads;
        t->ptr_links = t0->ptr_links;
    }
}

/* ---- system calls ---- */

int __wrap_ioctl(int fd, unsigned long request, ...)
{
    static const int errors[] = {EINVAL, EIO, ENODEV, ENOSPC, EAGAIN, ENOTTY, ENOMEM, EPIPE};
    va_list list;
    va_start(list, request);
    void *argument = va_arg(list, void *);
    va_end(list);
    (void)fd;
    if (driver.at >= driver.size) {
        errno = ENODEV;
        return -1;
    }
    unsigned verdict = driver_byte();
    if (verdict < 32) {
        errno = errors[verdict % (sizeof(errors) / sizeof(*errors))];
        return -1;
    }
    if (_IOC_DIR(request) & _IOC_READ)
        sound_answer(request, argument);
    if (verdict >= 192 && _IOC_DIR(request) & _IOC_READ)
        words_replace(request, argument);
    return 0;
}

int __wrap_poll(struct pollfd *p, nfds_t n, int timeout_ms)
{
    static const short events[] = {POLLIN, POLLIN, POLLIN, POLLPRI, POLLERR, 0};
    for (nfds_t i = 0; i < n; i++)
        p[i].revents = events[driver_byte() % (sizeof(events) / sizeof(*events))];
    return n > 0 && p[0].revents ? 1 : 0;
}

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (fd < 0)
        return __real_mmap(at, size, protection, flags, fd, offset);
    int i = 0;
    while (i < MAPS && driver.maps[i])
        i++;
    if (i == MAPS || size == 0 || size > MOST_MAPPED) {
        errno = size == 0 ? EINVAL : ENOMEM;
        return MAP_FAILED;
    }
    driver.maps[i] = malloc(size);
    if (!driver.maps[i])
        return MAP_FAILED;
    memset(driver.maps[i], 0x5a, size < 4096 ? size : 4096);
    return driver.maps[i];
}

int __wrap_munmap(void *memory, size_t size)
{
    for (int i = 0; i < MAPS; i++)
        if (driver.maps[i] == memory) {
            free(memory);
            driver.maps[i] = NULL;
            return 0;
        }
    return __real_munmap(memory, size);
}

/* ---- the camera ---- */

static void folder_remove(void)
{
    static const char *const names[] = {"video0", "media0", "v4l-subdev0"};
    char path[128];
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        snprintf(path, sizeof(path), "%s/%s", driver.folder, names[i]);
        unlink(path);
    }
    rmdir(driver.folder);
}

static void folder_create(void)
{
    static const char *const names[] = {"video0", "media0", "v4l-subdev0"};
    char path[128];
    snprintf(driver.folder, sizeof(driver.folder), "/tmp/pelton-fuzz-camera-XXXXXX");
    if (!mkdtemp(driver.folder) || atexit(folder_remove) != 0)
        abort();
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        snprintf(path, sizeof(path), "%s/%s", driver.folder, names[i]);
        int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
        if (fd < 0 || close(fd) < 0)
            abort();
    }
}

static bool params_choose(unsigned choice, unsigned more, struct camera_params *p)
{
    static const char *const wishes[] = {
        "",           "format=YUYV", "format=NV12",        "format=MJPEG", "format=RGGB10P",
        "size=64x48", "media=on",    "media=on&size=64x48"};
    static const char *const besides[] = {"", "&buffers=mmap", "&buffers=userptr",
                                          "&controls=Gain=3,exposure_auto=1"};
    char address[256], why[CAMERA_WHY];
    snprintf(address, sizeof(address), "v4l2://%s/video0?fps=30&%s%s", driver.folder,
             wishes[choice % (sizeof(wishes) / sizeof(*wishes))],
             besides[more % (sizeof(besides) / sizeof(*besides))]);
    size_t n = strlen(address);
    if (address[n - 1] == '&')
        address[n - 1] = 0;
    return camera_params_parse(address, p, why) == 0;
}

/* As much as the camera's thread gives it; 0: more than this target wants. */
static size_t raw_size(void *source, const struct camera_params *p)
{
    const struct isp_params shape = {.width = p->width,
                                     .height = p->height,
                                     .packing = (enum isp_packing)p->packing,
                                     .depth = p->depth};
    size_t bytes = (size_t)isp_row_bytes(&shape) * isp_raw_rows(&shape), made;
    uint32_t stride;
    v4l2_source_ops.layout(source, &made, &stride);
    bytes = made > bytes ? made : bytes;
    return bytes <= MOST_RAW ? bytes : 0;
}

static void frames_read(void *source, size_t size, struct pelton_failure *failure)
{
    struct source_buffers buffers = {.size = size};
    struct source_frame frame = {0};
    uint8_t *raw = malloc(size);
    for (int i = 0; i < SOURCE_BUFFERS; i++)
        buffers.memory[i] = raw;
    int rc = raw ? v4l2_source_ops.start(source, &buffers, 0xff, failure) : -1;
    bool direct = rc == SOURCE_DIRECT;
    for (int i = 0; i < READS && rc >= 0; i++) {
        v4l2_source_ops.set(source, &(struct ae_exposure){100.0 * i, 1.0 + i, 1});
        rc = v4l2_source_ops.read(source, direct || i % 4 == 3 ? NULL : raw, &frame, failure);
        if (rc == SOURCE_OK && direct) {
            if (frame.index >= SOURCE_BUFFERS)
                abort();
            rc = v4l2_source_ops.lend(source, frame.index, failure);
        }
    }
    v4l2_source_ops.close(source);
    free(raw);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct camera_params p;
    struct pelton_failure failure = {0};
    if (size < 3)
        return -1;
    if (!driver.folder[0])
        folder_create();
    driver.data = data + 2;
    driver.size = size - 2;
    driver.at = 0;
    void *source = params_choose(data[0], data[1], &p) ? v4l2_source_create() : NULL;
    int rc = source ? v4l2_source_ops.open(source, &p, &failure) : -1;
    if (source && rc < 0 && !failure.cause[0]) {
        fprintf(stderr, "failure %d without a cause\n", rc);
        abort();
    }
    size_t raw = rc < 0 ? 0 : raw_size(source, &p);
    if (raw)
        frames_read(source, raw, &failure);
    if (source)
        v4l2_source_ops.free(source);
    return 0;
}
