/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pictures in Y, Cb, Cr. V4L2's documentation of YUYV, UYVY, NV12, NV21 and of planes gives the
 * place of each sample. Colour is by BT.709 and BT.601.
 */
#include "tests/gpu/isp/ref.h"

#include <math.h>
#include <stdlib.h>

struct ycc {
    int y, cb, cr;
};

static struct ycc sample(const struct isp_params *p, const uint8_t *raw, uint32_t stride,
                         uint32_t x, uint32_t y)
{
    const uint8_t *row = raw + (size_t)y * stride, *chroma = raw + (size_t)p->height * stride,
                  *pair = row + x / 2 * 4;
    size_t half = p->height / 2;
    switch (p->packing) {
    case ISP_YUYV:
        return (struct ycc){row[2 * x], pair[1], pair[3]};
    case ISP_UYVY:
        return (struct ycc){row[2 * x + 1], pair[0], pair[2]};
    case ISP_PAIRS_CBCR:
        chroma += y / 2 * (size_t)stride + x / 2 * 2;
        return (struct ycc){row[x], chroma[0], chroma[1]};
    case ISP_PAIRS_CRCB:
        chroma += y / 2 * (size_t)stride + x / 2 * 2;
        return (struct ycc){row[x], chroma[1], chroma[0]};
    case ISP_PLANES_420:
        chroma += y / 2 * (size_t)stride + x / 2;
        return (struct ycc){row[x], chroma[0], chroma[half * stride]};
    case ISP_PLANES_422:
        chroma += (size_t)y * stride + x / 2;
        return (struct ycc){row[x], chroma[0], chroma[2 * half * stride]};
    case ISP_PLANES_444:
        chroma += (size_t)y * stride + x;
        return (struct ycc){row[x], chroma[0], chroma[2 * half * stride]};
    default:
        abort();
    }
}

static uint16_t level_of(double v)
{
    return (uint16_t)rint(v < 0 ? 0 : v > 1 ? 65535 : 65535 * v);
}

bool ref_picture_as_is(const struct isp_params *p)
{
    bool plain =
        p->lens.model == ISP_LENS_NONE &&
        (!p->out_width || p->out_width == (p->region.width ? p->region.width : p->width)) &&
        (!p->out_height || p->out_height == (p->region.width ? p->region.height : p->height));
    return p->order == ISP_YUV && (p->format == ISP_GRAY8 || (plain && p->format < ISP_RGB24));
}

void ref_picture(const struct isp_params *p, const uint8_t *raw, uint32_t stride, uint16_t *level,
                 uint16_t (*rgb)[3])
{
    double kr = p->matrix == ISP_MATRIX_BT601 ? 0.299 : 0.2126,
           kb = p->matrix == ISP_MATRIX_BT601 ? 0.114 : 0.0722;
    bool ten = p->format == ISP_P010;
    for (uint32_t i = 0; i < p->width * p->height; i++) {
        struct ycc s = sample(p, raw, stride, i % p->width, i / p->width);
        double y = p->full_range ? s.y / 255.0 : (s.y - 16) / 219.0,
               range = p->full_range ? 255 : 224;
        double cb = (s.cb - 128) / range, cr = (s.cr - 128) / range, red = y + 2 * (1 - kr) * cr,
               blue = y + 2 * (1 - kb) * cb;
        level[i] = level_of(y);
        if (p->format == ISP_GRAY8) {
            rgb[i][0] = rgb[i][1] = rgb[i][2] = level[i];
        } else if (ref_picture_as_is(p)) { /* codes, of 10 bits about their middle */
            const int codes[3] = {s.y, s.cb, s.cr};
            for (int k = 0; k < 3; k++) {
                double step = p->full_range ? 1023 / 255.0 : 4,
                       code = k == 0 ? codes[k] * step : (codes[k] - 128) * step + 512;
                rgb[i][k] = level_of(ten ? code / 1023 : codes[k] / 255.0);
            }
        } else {
            rgb[i][0] = level_of(red);
            rgb[i][1] = level_of((y - kr * red - kb * blue) / (1 - kr - kb));
            rgb[i][2] = level_of(blue);
        }
    }
}
