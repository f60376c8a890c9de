/* SPDX-License-Identifier: BSD-2-Clause
 *
 * V4L2's formats that can be read, and the choice among those of a device. Linux' user space API
 * documents them under "Raw Bayer Formats", "Luma-Only Formats", "Packed YUV formats", "Planar YUV
 * formats" and "Compressed Formats".
 */
#include "daemon/worker/camera/v4l2.h"

#include <linux/videodev2.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { FORMATS_MOST = 512 /* the kernel has about 200 */, RATES_MOST = 64 };

/* In the order of preference. */
static const struct v4l2_kind kinds[] = {
#define BAYER(depth, packing, rggb, grbg, gbrg, bggr)                                              \
    {rggb, ISP_RGGB, depth, packing, CAMERA_SAMPLES, 1},                                           \
        {grbg, ISP_GRBG, depth, packing, CAMERA_SAMPLES, 1},                                       \
        {gbrg, ISP_GBRG, depth, packing, CAMERA_SAMPLES, 1},                                       \
    {                                                                                              \
        bggr, ISP_BGGR, depth, packing, CAMERA_SAMPLES, 1                                          \
    }
    BAYER(16, ISP_UNPACKED, V4L2_PIX_FMT_SRGGB16, V4L2_PIX_FMT_SGRBG16, V4L2_PIX_FMT_SGBRG16,
          V4L2_PIX_FMT_SBGGR16),
    BAYER(14, ISP_MIPI, V4L2_PIX_FMT_SRGGB14P, V4L2_PIX_FMT_SGRBG14P, V4L2_PIX_FMT_SGBRG14P,
          V4L2_PIX_FMT_SBGGR14P),
    BAYER(14, ISP_UNPACKED, V4L2_PIX_FMT_SRGGB14, V4L2_PIX_FMT_SGRBG14, V4L2_PIX_FMT_SGBRG14,
          V4L2_PIX_FMT_SBGGR14),
    BAYER(12, ISP_MIPI, V4L2_PIX_FMT_SRGGB12P, V4L2_PIX_FMT_SGRBG12P, V4L2_PIX_FMT_SGBRG12P,
          V4L2_PIX_FMT_SBGGR12P),
    BAYER(12, ISP_UNPACKED, V4L2_PIX_FMT_SRGGB12, V4L2_PIX_FMT_SGRBG12, V4L2_PIX_FMT_SGBRG12,
          V4L2_PIX_FMT_SBGGR12),
    BAYER(10, ISP_MIPI, V4L2_PIX_FMT_SRGGB10P, V4L2_PIX_FMT_SGRBG10P, V4L2_PIX_FMT_SGBRG10P,
          V4L2_PIX_FMT_SBGGR10P),
    BAYER(10, ISP_UNPACKED, V4L2_PIX_FMT_SRGGB10, V4L2_PIX_FMT_SGRBG10, V4L2_PIX_FMT_SGBRG10,
          V4L2_PIX_FMT_SBGGR10),
    BAYER(8, ISP_UNPACKED, V4L2_PIX_FMT_SRGGB8, V4L2_PIX_FMT_SGRBG8, V4L2_PIX_FMT_SGBRG8,
          V4L2_PIX_FMT_SBGGR8),
#undef BAYER
    {V4L2_PIX_FMT_NV12, ISP_YUV, 8, ISP_PAIRS_CBCR, CAMERA_SAMPLES, 1},
    {V4L2_PIX_FMT_NV12M, ISP_YUV, 8, ISP_PAIRS_CBCR, CAMERA_SAMPLES, 2},
    {V4L2_PIX_FMT_YUYV, ISP_YUV, 8, ISP_YUYV, CAMERA_SAMPLES, 1},
    {V4L2_PIX_FMT_UYVY, ISP_YUV, 8, ISP_UYVY, CAMERA_SAMPLES, 1},
    {V4L2_PIX_FMT_NV21, ISP_YUV, 8, ISP_PAIRS_CRCB, CAMERA_SAMPLES, 1},
    {V4L2_PIX_FMT_NV21M, ISP_YUV, 8, ISP_PAIRS_CRCB, CAMERA_SAMPLES, 2},
    {V4L2_PIX_FMT_YUV420, ISP_YUV, 8, ISP_PLANES_420, CAMERA_SAMPLES, 1},
    {V4L2_PIX_FMT_YUV420M, ISP_YUV, 8, ISP_PLANES_420, CAMERA_SAMPLES, 3},
    {V4L2_PIX_FMT_MJPEG, ISP_YUV, 8, ISP_PLANES_422, CAMERA_MJPEG, 1},
    {V4L2_PIX_FMT_JPEG, ISP_YUV, 8, ISP_PLANES_422, CAMERA_MJPEG, 1},
    {V4L2_PIX_FMT_Y16, ISP_MONO, 16, ISP_UNPACKED, CAMERA_SAMPLES, 1},
    {V4L2_PIX_FMT_Y14, ISP_MONO, 14, ISP_UNPACKED, CAMERA_SAMPLES, 1},
    {V4L2_PIX_FMT_Y12, ISP_MONO, 12, ISP_UNPACKED, CAMERA_SAMPLES, 1},
    {V4L2_PIX_FMT_Y10P, ISP_MONO, 10, ISP_MIPI, CAMERA_SAMPLES, 1},
    {V4L2_PIX_FMT_Y10, ISP_MONO, 10, ISP_UNPACKED, CAMERA_SAMPLES, 1},
    {V4L2_PIX_FMT_GREY, ISP_MONO, 8, ISP_UNPACKED, CAMERA_SAMPLES, 1},
    {V4L2_PIX_FMT_H264, ISP_YUV, 8, ISP_PLANES_420, CAMERA_H264, 1},
};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

const struct v4l2_kind *v4l2_kind_by_fourcc(uint32_t fourcc)
{
    for (int i = 0; i < KINDS; i++)
        if (kinds[i].fourcc == fourcc)
            return &kinds[i];
    return NULL;
}

void v4l2_fourcc_name(uint32_t fourcc, char out[12])
{
    const struct v4l2_kind *k = v4l2_kind_by_fourcc(fourcc);
    if (k) {
        const struct camera_params named = {.order = k->order,
                                            .depth = k->depth,
                                            .packing = k->packing,
                                            .coding = k->coding,
                                            .pieces = k->planes > 1 ? k->planes : 0};
        camera_format_name(&named, out);
        return;
    }
    for (int i = 0; i < 4; i++) {
        char c = (char)(fourcc >> (8 * i) & 127);
        out[i] = c < ' ' ? '?' : c;
    }
    out[4] = 0;
}

/* ---- both forms of buffers ---- */

int v4l2_capture_type(int fd, bool *media)
{
    struct v4l2_capability cap = {0};
    if (v4l2_ioctl(fd, VIDIOC_QUERYCAP, &cap) < 0)
        return -1;
    uint32_t caps = cap.capabilities & V4L2_CAP_DEVICE_CAPS ? cap.device_caps : cap.capabilities;
    *media = caps & V4L2_CAP_IO_MC;
    if (!(caps & V4L2_CAP_STREAMING))
        return 0;
    return caps & V4L2_CAP_VIDEO_CAPTURE          ? V4L2_BUF_TYPE_VIDEO_CAPTURE
           : caps & V4L2_CAP_VIDEO_CAPTURE_MPLANE ? V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE
                                                  : 0;
}

static void take_single(const struct v4l2_pix_format *f, struct v4l2_image *out)
{
    *out = (struct v4l2_image){
        f->pixelformat,    f->width,       f->height,     f->field,     1,
        {f->bytesperline}, {f->sizeimage}, f->colorspace, f->ycbcr_enc, f->quantization};
}

static void take_multi(const struct v4l2_pix_format_mplane *f, struct v4l2_image *out)
{
    *out = (struct v4l2_image){.fourcc = f->pixelformat,
                               .width = f->width,
                               .height = f->height,
                               .field = f->field,
                               .planes = f->num_planes,
                               .colorspace = f->colorspace,
                               .ycbcr_enc = f->ycbcr_enc,
                               .quantization = f->quantization};
    for (uint32_t i = 0; i < V4L2_PLANES && i < f->num_planes; i++) {
        out->stride[i] = f->plane_fmt[i].bytesperline;
        out->bytes[i] = f->plane_fmt[i].sizeimage;
    }
}

static void take_image(const struct v4l2_format *f, struct v4l2_image *out)
{
    if (f->type == V4L2_BUF_TYPE_VIDEO_CAPTURE)
        take_single(&f->fmt.pix, out);
    else
        take_multi(&f->fmt.pix_mp, out);
}

int v4l2_image_get(int fd, uint32_t type, struct v4l2_image *out)
{
    struct v4l2_format f = {.type = type};
    if (v4l2_ioctl(fd, VIDIOC_G_FMT, &f) < 0)
        return -1;
    take_image(&f, out);
    return 0;
}

int v4l2_image_set(int fd, uint32_t type, struct v4l2_image *image)
{
    struct v4l2_format f = {.type = type};
    if (type == V4L2_BUF_TYPE_VIDEO_CAPTURE)
        f.fmt.pix = (struct v4l2_pix_format){.width = image->width,
                                             .height = image->height,
                                             .pixelformat = image->fourcc,
                                             .field = V4L2_FIELD_NONE};
    else
        f.fmt.pix_mp = (struct v4l2_pix_format_mplane){.width = image->width,
                                                       .height = image->height,
                                                       .pixelformat = image->fourcc,
                                                       .field = V4L2_FIELD_NONE};
    if (v4l2_ioctl(fd, VIDIOC_S_FMT, &f) < 0)
        return -1;
    take_image(&f, image);
    return 0;
}

/* ---- the choice ---- */

static bool is_asked(const struct v4l2_kind *k, const struct camera_params *p)
{
    return k->order == p->order && k->depth == p->depth && k->packing == p->packing &&
           k->coding == p->coding && (!p->pieces || p->pieces == k->planes);
}

static double rate(const struct v4l2_fract *interval)
{
    return interval->numerator ? (double)interval->denominator / interval->numerator : 0;
}

/* Whether the device gives so many frames of this kind; those that do not say it are believed to.
 */
static bool is_fast_enough(int fd, uint32_t fourcc, uint32_t width, uint32_t height, double fps)
{
    double best = 0;
    uint32_t i = 0;
    for (; i < RATES_MOST; i++) {
        struct v4l2_frmivalenum v = {
            .index = i, .pixel_format = fourcc, .width = width, .height = height};
        if (v4l2_ioctl(fd, VIDIOC_ENUM_FRAMEINTERVALS, &v) < 0)
            break;
        double most = rate(v.type == V4L2_FRMIVAL_TYPE_DISCRETE ? &v.discrete : &v.stepwise.min);
        best = most > best ? most : best;
    }
    return i == 0 || best >= 0.95 * fps;
}

static bool is_bayer(uint32_t order)
{
    return order <= ISP_BGGR;
}

/* Names behind one another with commas, each once, as far as there is room. */
static void list_name(char *list, size_t size, const char *name)
{
    size_t n = strlen(list), length = strlen(name);
    for (const char *at = strstr(list, name); at; at = strstr(at + 1, name))
        if ((at == list || at[-1] == ' ') && (at[length] == ',' || !at[length]))
            return;
    if (n + length + 6 < size)
        snprintf(list + n, size - n, "%s%s", n ? ", " : "", name);
    else if (n + 5 <= size && !strstr(list, "..."))
        snprintf(list + n, size - n, " ...");
}

/* Samples of a sensor keep their order up to the video node. */
static bool passes(const struct v4l2_filter *f, const struct v4l2_kind *k)
{
    if (!f)
        return true;
    return f->code.class == MEDIA_RAW
               ? k->order == f->code.order && (!f->exact || k->depth == f->code.depth)
               : f->code.class == MEDIA_YUV && k->order == ISP_YUV;
}

void v4l2_kind_choose(int fd, uint32_t type, const struct camera_params *p, uint32_t width,
                      uint32_t height, const struct v4l2_filter *filter, struct v4l2_choice *out)
{
    const struct v4l2_kind *best = NULL, *slow = NULL;
    char others[sizeof(out)->list] = "";
    *out = (struct v4l2_choice){0};
    for (uint32_t i = 0; i < FORMATS_MOST; i++) {
        struct v4l2_fmtdesc d = {
            .index = i, .type = type, .mbus_code = filter ? filter->code.code : 0};
        char name[12];
        if (v4l2_ioctl(fd, VIDIOC_ENUM_FMT, &d) < 0)
            break;
        const struct v4l2_kind *k = v4l2_kind_by_fourcc(d.pixelformat);
        bool wanted = k && passes(filter, k) && (!p->format_given || is_asked(k, p));
        if (wanted && (!slow || k < slow))
            slow = k;
        if (wanted && (!best || k < best) &&
            (p->format_given || is_fast_enough(fd, k->fourcc, width, height, p->fps)))
            best = k;
        out->other_order |= k && is_bayer(k->order) && is_bayer(p->order) && k->depth == p->depth &&
                            k->packing == p->packing;
        v4l2_fourcc_name(d.pixelformat, name);
        list_name(k ? out->list : others, sizeof(others), name);
    }
    out->kind = best ? best : slow;
    if (!out->list[0])
        snprintf(out->list, sizeof(out->list), "%s", others[0] ? others : "none");
}
