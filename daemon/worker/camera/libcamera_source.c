/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A camera of libcamera as a source of frames: pictures of its image processor, or the sensor's
 * samples where a raw format is asked for. Its processors in software give R, G, B, which becomes
 * Y, Cb, Cr here: BT.601, full range, chroma averaged over four pixels.
 *
 * Pictures come with libcamera's own exposure control, until somebody sets exposure or gain, or
 * ae.enable is set. From then on each frame says its exposure by its metadata. The failure modes
 * are those of libcamera_session.cpp, and two seconds without a frame.
 */
#include "daemon/worker/camera/camera_internal.h"
#include "daemon/worker/camera/libcamera_session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SILENT_NS (2 * NS_PER_S)

/* libcamera's name, and how its frames are developed. */
struct libcamera_kind {
    const char *name;
    uint32_t order, depth, packing;
    bool rgb, bgr; /* bytes in memory: R first, B first */
};

/* libcamera names R, G, B as a number: B lies first in memory in RGB888. */
static const struct libcamera_kind pictures[] = {
    {"NV12", ISP_YUV, 8, ISP_PAIRS_CBCR, false, false},
    {"YUYV", ISP_YUV, 8, ISP_YUYV, false, false},
    {"UYVY", ISP_YUV, 8, ISP_UYVY, false, false},
    {"NV21", ISP_YUV, 8, ISP_PAIRS_CRCB, false, false},
    {"YUV420", ISP_YUV, 8, ISP_PLANES_420, false, false},
    {"BGR888", ISP_YUV, 8, ISP_PAIRS_CBCR, true, false},
    {"RGB888", ISP_YUV, 8, ISP_PAIRS_CBCR, false, true},
};
enum { PICTURES = sizeof(pictures) / sizeof(*pictures) };

struct libcamera_source {
    struct libcamera_session *session;
    struct camera_params params;
    struct libcamera_kind kind;
    struct libcamera_shape shape;
    bool own;                 /* the camera controls its exposure itself */
    struct ae_exposure first; /* what was asked for at the start; time 0: not known yet */
    bool counted;
    uint32_t sequence; /* that comes next */
    uint64_t lost;
    int64_t heard_ns; /* 0: not read yet */
};

static int fail(const struct libcamera_source *s, struct pelton_failure *failure, int code,
                const char *cause, const char *hint)
{
    *failure = (struct pelton_failure){.code = code};
    snprintf(failure->cause, sizeof(failure->cause), "%.80s: %.170s", s->params.path, cause);
    snprintf(failure->hint, sizeof(failure->hint), "%s", hint);
    return code;
}

/* ---- opening ---- */

/* The names of what is asked for; their number. raw: room for a name that is made. */
static uint32_t formats_of(const struct camera_params *p, const char *names[PICTURES], char raw[24])
{
    static const char *const orders[] = {"SRGGB", "SGRBG", "SGBRG", "SBGGR", "R"};
    uint32_t n = 0;
    if (p->format_given && p->order != ISP_YUV) {
        snprintf(raw, 24, "%s%u%s", orders[p->order], p->depth & 31,
                 p->packing == ISP_MIPI ? "_CSI2P" : "");
        names[n++] = raw;
        return n;
    }
    for (int i = 0; i < PICTURES; i++)
        if (!p->format_given || (pictures[i].packing == p->packing && p->coding == CAMERA_SAMPLES))
            names[n++] = pictures[i].name;
    return n;
}

static void kind_find(struct libcamera_source *s, const char *name)
{
    const struct camera_params *p = &s->params;
    s->kind = (struct libcamera_kind){name, p->order, p->depth, p->packing, false, false};
    for (int i = 0; i < PICTURES; i++)
        if (!strcmp(pictures[i].name, name))
            s->kind = pictures[i];
}

static int open_failed(const struct libcamera_source *s, int rc, const char *why,
                       struct pelton_failure *failure)
{
    int code = rc == LIBCAMERA_NO_CAMERA   ? PELTON_ERR_NOT_FOUND
               : rc == LIBCAMERA_BUSY      ? PELTON_ERR_BUSY
               : rc == LIBCAMERA_NO_FORMAT ? PELTON_ERR_UNSUPPORTED
                                           : PELTON_ERR_INPUT;
    return fail(s, failure, code, why,
                rc == LIBCAMERA_NO_CAMERA   ? "cam -l lists the cameras"
                : rc == LIBCAMERA_NO_FORMAT ? "cam -c CAMERA -I lists its formats"
                                            : "");
}

static void narrow(double *least, double *most, double device_least, double device_most)
{
    double low = fmax(*least, device_least), high = fmin(*most, device_most);
    *least = low <= high ? low : device_least;
    *most = low <= high ? high : device_most;
}

/* What the camera says becomes the settings'. */
static void settings_take(struct libcamera_source *s)
{
    struct camera_params *p = &s->params;
    const struct libcamera_shape *shape = &s->shape;
    p->width = shape->width;
    p->height = shape->height;
    p->order = s->kind.order;
    p->depth = s->kind.depth;
    p->packing = s->kind.packing;
    p->coding = CAMERA_SAMPLES;
    p->realtime = p->format_given = true;
    if (p->order == ISP_YUV) {
        bool rgb = s->kind.rgb || s->kind.bgr;
        p->matrix = shape->bt709 && !rgb ? ISP_MATRIX_BT709 : ISP_MATRIX_BT601;
        p->full_range = shape->full_range || rgb;
        p->exposure.ae_enable &= p->exposure.ae_given;
    }
    struct ae_params *ae = &p->exposure.ae;
    if (shape->has_time)
        narrow(&ae->time_min, &ae->time_max, fmax(1, shape->time_min), fmax(1, shape->time_max));
    else
        ae->time_min = ae->time_max = p->exposure.time_us;
    if (shape->has_gain)
        narrow(&ae->analogue_min, &ae->analogue_max, fmax(1, shape->gain_min),
               fmin(1000, fmax(1, shape->gain_max)));
    else
        ae->analogue_min = ae->analogue_max = 1;
}

static void close_libcamera(void *source)
{
    struct libcamera_source *s = source;
    libcamera_close(s->session);
    s->session = NULL;
}

static int check_shape(const struct libcamera_source *s, struct pelton_failure *failure)
{
    const struct libcamera_shape *shape = &s->shape;
    const struct isp_params raw = {.width = shape->width,
                                   .height = shape->height,
                                   .depth = s->kind.depth,
                                   .packing = (enum isp_packing)s->kind.packing};
    uint32_t row = s->kind.rgb || s->kind.bgr ? 3 * shape->width : isp_row_bytes(&raw);
    char cause[120];
    if (shape->width >= 16 && shape->height >= 16 && shape->width <= 8192 &&
        shape->height <= 8192 && shape->width % 2 == 0 && shape->height % 2 == 0 &&
        shape->stride >= row && shape->stride <= 1u << 20)
        return 0;
    snprintf(cause, sizeof(cause), "frames of %ux%u with rows of %u bytes cannot be developed",
             shape->width, shape->height, shape->stride);
    return fail(s, failure, PELTON_ERR_UNSUPPORTED, cause, "an even size from 16 to 8192");
}

static int open_libcamera(void *source, struct camera_params *p, struct pelton_failure *failure)
{
    struct libcamera_source *s = source;
    const char *names[PICTURES];
    char raw[24], why[LIBCAMERA_WHY];
    *s = (struct libcamera_source){.params = *p};
    const struct libcamera_wish wish = {.name = s->params.path,
                                        .formats = names,
                                        .n_formats = formats_of(p, names, raw),
                                        .raw = p->format_given && p->order != ISP_YUV,
                                        .width = p->width,
                                        .height = p->height,
                                        .fps = p->fps};
    if (!wish.n_formats)
        return fail(s, failure, PELTON_ERR_UNSUPPORTED, "this format is not read from libcamera",
                    "raw samples, YUYV, UYVY, NV12, NV21 and YU12 are");
    int rc = libcamera_open(&wish, &s->session, &s->shape, why);
    if (rc < 0)
        return open_failed(s, rc, why, failure);
    kind_find(s, names[s->shape.format]);
    rc = check_shape(s, failure);
    if (rc < 0) {
        close_libcamera(s);
        return rc;
    }
    settings_take(s);
    *p = s->params;
    s->own = p->order == ISP_YUV && !p->exposure.ae_enable;
    if (!s->own)
        libcamera_set(s->session, p->exposure.time_us, p->exposure.analogue_gain);
    return 0;
}

/* ---- frames ---- */

static uint8_t clip(int v)
{
    return v < 0 ? 0 : v > 255 ? 255 : (uint8_t)v;
}

/* 16 bits after the point. */
static void copy_rgb(const struct libcamera_source *s, const uint8_t *from, uint8_t *to)
{
    const uint32_t w = s->shape.width, h = s->shape.height, stride = s->shape.stride;
    const int r = s->kind.rgb ? 0 : 2, b = 2 - r, half = 1 << 15;
    for (uint32_t y = 0; y < h; y++)
        for (uint32_t x = 0; x < w; x++) {
            const uint8_t *at = from + (size_t)y * stride + 3 * x;
            to[(size_t)y * w + x] =
                clip((19595 * at[r] + 38470 * at[1] + 7471 * at[b] + half) >> 16);
        }
    uint8_t *chroma = to + (size_t)w * h;
    for (uint32_t y = 0; y < h; y += 2)
        for (uint32_t x = 0; x < w; x += 2, chroma += 2) {
            const uint8_t *at = from + (size_t)y * stride + 3 * x, *next = at + stride;
            int red = at[r] + at[r + 3] + next[r] + next[r + 3],
                green = at[1] + at[4] + next[1] + next[4],
                blue = at[b] + at[b + 3] + next[b] + next[b + 3];
            const int middle = 128 << 18, round = 1 << 17;
            chroma[0] = clip((-11059 * red - 21709 * green + 32768 * blue + middle + round) >> 18);
            chroma[1] = clip((32768 * red - 27439 * green - 5329 * blue + middle + round) >> 18);
        }
}

/* Bytes of a row and rows of each plane; those of chroma lie behind luma's, as wide as it. */
static bool copy_planes(const struct libcamera_source *s, const struct libcamera_frame *frame,
                        uint8_t *to)
{
    const struct isp_params shape = {.width = s->shape.width,
                                     .height = s->shape.height,
                                     .depth = s->kind.depth,
                                     .packing = (enum isp_packing)s->kind.packing};
    bool apart = s->kind.packing == ISP_PLANES_420;
    uint32_t row = isp_row_bytes(&shape), rows = isp_raw_rows(&shape), height = s->shape.height,
             n = apart           ? 3
                 : rows > height ? 2
                                 : 1;
    if (frame->planes < n)
        return false;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t bytes = k && apart ? row / 2 : row, lines = k ? height / 2 : height,
                 stride = k && apart ? s->shape.stride / 2 : s->shape.stride;
        if (frame->size[k] < (size_t)stride * (lines - 1) + bytes)
            return false;
        for (uint32_t y = 0; y < lines; y++, to += row)
            memcpy(to, frame->data[k] + (size_t)y * stride, bytes);
    }
    return true;
}

static bool copy_frame(const struct libcamera_source *s, const struct libcamera_frame *frame,
                       uint8_t *raw)
{
    if (!s->kind.rgb && !s->kind.bgr)
        return copy_planes(s, frame, raw);
    size_t least = (size_t)s->shape.stride * (s->shape.height - 1) + (size_t)3 * s->shape.width;
    if (frame->planes < 1 || frame->size[0] < least)
        return false;
    copy_rgb(s, frame->data[0], raw);
    return true;
}

static void count_lost(struct libcamera_source *s, const struct libcamera_frame *frame)
{
    uint32_t gap = s->counted ? frame->sequence - s->sequence : 0;
    s->lost += gap < 1u << 16 ? gap : 0;
    s->sequence = frame->sequence + 1;
    s->counted = true;
}

static void frame_say(const struct libcamera_source *s, const struct libcamera_frame *frame,
                      struct source_frame *out)
{
    int64_t now = now_ns(), at = frame->captured_ns;
    const struct camera_exposure *e = &s->params.exposure;
    out->captured_ns = at <= now && at > now - 10 * NS_PER_S ? at : now;
    out->in_effect = (struct ae_exposure){frame->time_us > 0 ? frame->time_us : e->time_us,
                                          frame->gain > 0 ? frame->gain : 1, 1};
    if (s->own)
        out->in_effect = (struct ae_exposure){0, 1, 1};
    out->lost = s->lost;
}

static int read_libcamera(void *source, uint8_t *raw, struct source_frame *out,
                          struct pelton_failure *failure)
{
    struct libcamera_source *s = source;
    struct libcamera_frame frame;
    s->heard_ns = s->heard_ns ? s->heard_ns : now_ns();
    int rc = libcamera_take(s->session, &frame);
    if (rc == LIBCAMERA_NONE && now_ns() - s->heard_ns > SILENT_NS + (int64_t)(4e9 / s->params.fps))
        return fail(s, failure, PELTON_ERR_TIMEOUT, "no frame for two seconds", "check the cable");
    if (rc == LIBCAMERA_NONE)
        return SOURCE_AGAIN;
    if (rc == LIBCAMERA_FRAME) {
        s->heard_ns = now_ns();
        count_lost(s, &frame);
        bool good = !raw || copy_frame(s, &frame, raw);
        if (libcamera_give(s->session, &frame)) {
            frame_say(s, &frame, out);
            s->lost = good ? 0 : s->lost + 1;
            return good ? SOURCE_OK : SOURCE_AGAIN;
        }
    }
    return fail(s, failure, PELTON_ERR_UNPLUGGED, "the camera is gone (unplugged?)",
                "it is opened again when it is there");
}

static void set_libcamera(void *source, const struct ae_exposure *e)
{
    struct libcamera_source *s = source;
    if (s->own && s->first.time_us == 0)
        s->first = *e;
    s->own &= e->time_us == s->first.time_us && e->analogue == s->first.analogue;
    if (!s->own)
        libcamera_set(s->session, e->time_us, e->analogue);
}

static void free_libcamera(void *source)
{
    close_libcamera(source);
    free(source);
}

void *libcamera_source_create(void)
{
    return calloc(1, sizeof(struct libcamera_source));
}

const struct source_ops libcamera_source_ops = {.open = open_libcamera,
                                                .read = read_libcamera,
                                                .set = set_libcamera,
                                                .close = close_libcamera,
                                                .free = free_libcamera};
