/* SPDX-License-Identifier: BSD-2-Clause
 *
 * V4L2's raw formats. Linux' user space API documents them under "Raw Bayer Formats" and "Luma-Only Formats".
 */
#include "daemon/camera/v4l2.h"

#include <linux/videodev2.h>
#include <stddef.h>
#include <stdio.h>

static const struct v4l2_raw_format formats[] = {
#define BAYER(depth, packing, rggb, grbg, gbrg, bggr) \
    {rggb, ISP_RGGB, depth, packing}, {grbg, ISP_GRBG, depth, packing}, {gbrg, ISP_GBRG, depth, packing}, {bggr, ISP_BGGR, depth, packing}
    BAYER(8, ISP_UNPACKED, V4L2_PIX_FMT_SRGGB8, V4L2_PIX_FMT_SGRBG8, V4L2_PIX_FMT_SGBRG8, V4L2_PIX_FMT_SBGGR8),
    BAYER(10, ISP_UNPACKED, V4L2_PIX_FMT_SRGGB10, V4L2_PIX_FMT_SGRBG10, V4L2_PIX_FMT_SGBRG10, V4L2_PIX_FMT_SBGGR10),
    BAYER(10, ISP_MIPI, V4L2_PIX_FMT_SRGGB10P, V4L2_PIX_FMT_SGRBG10P, V4L2_PIX_FMT_SGBRG10P, V4L2_PIX_FMT_SBGGR10P),
    BAYER(12, ISP_UNPACKED, V4L2_PIX_FMT_SRGGB12, V4L2_PIX_FMT_SGRBG12, V4L2_PIX_FMT_SGBRG12, V4L2_PIX_FMT_SBGGR12),
    BAYER(12, ISP_MIPI, V4L2_PIX_FMT_SRGGB12P, V4L2_PIX_FMT_SGRBG12P, V4L2_PIX_FMT_SGBRG12P, V4L2_PIX_FMT_SBGGR12P),
    BAYER(14, ISP_UNPACKED, V4L2_PIX_FMT_SRGGB14, V4L2_PIX_FMT_SGRBG14, V4L2_PIX_FMT_SGBRG14, V4L2_PIX_FMT_SBGGR14),
    BAYER(14, ISP_MIPI, V4L2_PIX_FMT_SRGGB14P, V4L2_PIX_FMT_SGRBG14P, V4L2_PIX_FMT_SGBRG14P, V4L2_PIX_FMT_SBGGR14P),
    BAYER(16, ISP_UNPACKED, V4L2_PIX_FMT_SRGGB16, V4L2_PIX_FMT_SGRBG16, V4L2_PIX_FMT_SGBRG16, V4L2_PIX_FMT_SBGGR16),
#undef BAYER
    {V4L2_PIX_FMT_GREY, ISP_MONO, 8, ISP_UNPACKED},   {V4L2_PIX_FMT_Y10, ISP_MONO, 10, ISP_UNPACKED},
    {V4L2_PIX_FMT_Y10P, ISP_MONO, 10, ISP_MIPI},      {V4L2_PIX_FMT_Y12, ISP_MONO, 12, ISP_UNPACKED},
    {V4L2_PIX_FMT_Y14, ISP_MONO, 14, ISP_UNPACKED},   {V4L2_PIX_FMT_Y16, ISP_MONO, 16, ISP_UNPACKED},
};

const struct v4l2_raw_format *v4l2_raw_by_fourcc(uint32_t fourcc)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].fourcc == fourcc)
            return &formats[i];
    return NULL;
}

const struct v4l2_raw_format *v4l2_raw_by_kind(uint32_t order, uint32_t depth, uint32_t packing)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].order == order && formats[i].depth == depth && formats[i].packing == packing)
            return &formats[i];
    return NULL;
}

void v4l2_fourcc_name(uint32_t fourcc, char out[12])
{
    static const char *const orders[] = {"SRGGB", "SGRBG", "SGBRG", "SBGGR", "Y"};
    const struct v4l2_raw_format *f = v4l2_raw_by_fourcc(fourcc);
    if (f) {
        snprintf(out, 12, "%s%u%s", orders[f->order], f->depth & 31, f->packing == ISP_MIPI ? "P" : "");
        return;
    }
    for (int i = 0; i < 4; i++) {
        char c = (char)(fourcc >> (8 * i) & 127);
        out[i] = c < ' ' ? '?' : c;
    }
    out[4] = 0;
}
