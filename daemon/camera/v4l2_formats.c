/* SPDX-License-Identifier: BSD-2-Clause
 *
 * V4L2's formats that can be read, and the choice among those of a device. Linux' user space API documents them under "Raw Bayer Formats",
 * "Luma-Only Formats", "Packed YUV formats", "Planar YUV formats" and "Compressed Formats".
 */
#include "daemon/camera/v4l2.h"

#include <linux/videodev2.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { FORMATS_MOST = 64, RATES_MOST = 64 };

/* In the order of preference. */
static const struct v4l2_kind kinds[] = {
#define BAYER(depth, packing, rggb, grbg, gbrg, bggr) \
    {rggb, ISP_RGGB, depth, packing, CAMERA_SAMPLES}, {grbg, ISP_GRBG, depth, packing, CAMERA_SAMPLES}, \
    {gbrg, ISP_GBRG, depth, packing, CAMERA_SAMPLES}, {bggr, ISP_BGGR, depth, packing, CAMERA_SAMPLES}
    BAYER(16, ISP_UNPACKED, V4L2_PIX_FMT_SRGGB16, V4L2_PIX_FMT_SGRBG16, V4L2_PIX_FMT_SGBRG16, V4L2_PIX_FMT_SBGGR16),
    BAYER(14, ISP_MIPI, V4L2_PIX_FMT_SRGGB14P, V4L2_PIX_FMT_SGRBG14P, V4L2_PIX_FMT_SGBRG14P, V4L2_PIX_FMT_SBGGR14P),
    BAYER(14, ISP_UNPACKED, V4L2_PIX_FMT_SRGGB14, V4L2_PIX_FMT_SGRBG14, V4L2_PIX_FMT_SGBRG14, V4L2_PIX_FMT_SBGGR14),
    BAYER(12, ISP_MIPI, V4L2_PIX_FMT_SRGGB12P, V4L2_PIX_FMT_SGRBG12P, V4L2_PIX_FMT_SGBRG12P, V4L2_PIX_FMT_SBGGR12P),
    BAYER(12, ISP_UNPACKED, V4L2_PIX_FMT_SRGGB12, V4L2_PIX_FMT_SGRBG12, V4L2_PIX_FMT_SGBRG12, V4L2_PIX_FMT_SBGGR12),
    BAYER(10, ISP_MIPI, V4L2_PIX_FMT_SRGGB10P, V4L2_PIX_FMT_SGRBG10P, V4L2_PIX_FMT_SGBRG10P, V4L2_PIX_FMT_SBGGR10P),
    BAYER(10, ISP_UNPACKED, V4L2_PIX_FMT_SRGGB10, V4L2_PIX_FMT_SGRBG10, V4L2_PIX_FMT_SGBRG10, V4L2_PIX_FMT_SBGGR10),
    BAYER(8, ISP_UNPACKED, V4L2_PIX_FMT_SRGGB8, V4L2_PIX_FMT_SGRBG8, V4L2_PIX_FMT_SGBRG8, V4L2_PIX_FMT_SBGGR8),
#undef BAYER
    {V4L2_PIX_FMT_NV12, ISP_YUV, 8, ISP_PAIRS_CBCR, CAMERA_SAMPLES}, {V4L2_PIX_FMT_YUYV, ISP_YUV, 8, ISP_YUYV, CAMERA_SAMPLES},
    {V4L2_PIX_FMT_UYVY, ISP_YUV, 8, ISP_UYVY, CAMERA_SAMPLES},       {V4L2_PIX_FMT_NV21, ISP_YUV, 8, ISP_PAIRS_CRCB, CAMERA_SAMPLES},
    {V4L2_PIX_FMT_YUV420, ISP_YUV, 8, ISP_PLANES_420, CAMERA_SAMPLES}, {V4L2_PIX_FMT_MJPEG, ISP_YUV, 8, ISP_PLANES_422, CAMERA_MJPEG},
    {V4L2_PIX_FMT_JPEG, ISP_YUV, 8, ISP_PLANES_422, CAMERA_MJPEG},   {V4L2_PIX_FMT_Y16, ISP_MONO, 16, ISP_UNPACKED, CAMERA_SAMPLES},
    {V4L2_PIX_FMT_Y14, ISP_MONO, 14, ISP_UNPACKED, CAMERA_SAMPLES},  {V4L2_PIX_FMT_Y12, ISP_MONO, 12, ISP_UNPACKED, CAMERA_SAMPLES},
    {V4L2_PIX_FMT_Y10P, ISP_MONO, 10, ISP_MIPI, CAMERA_SAMPLES},     {V4L2_PIX_FMT_Y10, ISP_MONO, 10, ISP_UNPACKED, CAMERA_SAMPLES},
    {V4L2_PIX_FMT_GREY, ISP_MONO, 8, ISP_UNPACKED, CAMERA_SAMPLES},  {V4L2_PIX_FMT_H264, ISP_YUV, 8, ISP_PLANES_420, CAMERA_H264},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

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
        const struct camera_params named = {.order = k->order, .depth = k->depth, .packing = k->packing, .coding = k->coding};
        camera_format_name(&named, out);
        return;
    }
    for (int i = 0; i < 4; i++) {
        char c = (char)(fourcc >> (8 * i) & 127);
        out[i] = c < ' ' ? '?' : c;
    }
    out[4] = 0;
}

static bool is_asked(const struct v4l2_kind *k, const struct camera_params *p)
{
    return k->order == p->order && k->depth == p->depth && k->packing == p->packing && k->coding == p->coding;
}

static double rate(const struct v4l2_fract *interval)
{
    return interval->numerator ? (double)interval->denominator / interval->numerator : 0;
}

/* Whether the device gives so many frames of this kind; those that do not say it are believed to. */
static bool is_fast_enough(int fd, uint32_t fourcc, uint32_t width, uint32_t height, double fps)
{
    double best = 0;
    uint32_t i = 0;
    for (; i < RATES_MOST; i++) {
        struct v4l2_frmivalenum v = {.index = i, .pixel_format = fourcc, .width = width, .height = height};
        if (v4l2_ioctl(fd, VIDIOC_ENUM_FRAMEINTERVALS, &v) < 0)
            break;
        double most = rate(v.type == V4L2_FRMIVAL_TYPE_DISCRETE ? &v.discrete : &v.stepwise.min);
        best = most > best ? most : best;
    }
    return i == 0 || best >= 0.95 * fps;
}

const struct v4l2_kind *v4l2_kind_choose(int fd, const struct camera_params *p, uint32_t width, uint32_t height, char list[120])
{
    const struct v4l2_kind *best = NULL, *slow = NULL;
    list[0] = 0;
    for (uint32_t i = 0; i < FORMATS_MOST; i++) {
        struct v4l2_fmtdesc d = {.index = i, .type = V4L2_BUF_TYPE_VIDEO_CAPTURE};
        char name[12];
        if (v4l2_ioctl(fd, VIDIOC_ENUM_FMT, &d) < 0)
            break;
        const struct v4l2_kind *k = v4l2_kind_by_fourcc(d.pixelformat);
        if (k && p->format_given && is_asked(k, p))
            return k;
        if (k && !p->format_given && (!slow || k < slow))
            slow = k;
        if (k && !p->format_given && (!best || k < best) && is_fast_enough(fd, k->fourcc, width, height, p->fps))
            best = k;
        v4l2_fourcc_name(d.pixelformat, name);
        size_t n = strlen(list);
        snprintf(list + n, 120 - n, "%s%s", n ? ", " : "", name);
    }
    return best ? best : slow;
}
