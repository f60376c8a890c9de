/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pixel formats, development and colour of a camera's frames. See camera_format.h.
 */
#include "camera/camera_format.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name; /* FFmpeg's */
    enum isp_format format;
} formats[] = {{"yuv420p", ISP_I420},  {"nv12", ISP_NV12},   {"p010le", ISP_P010},
               {"gray", ISP_GRAY8},    {"rgb24", ISP_RGB24}, {"rgba", ISP_RGBA},
               {"rgb48le", ISP_RGB48}, {"bgr24", ISP_BGR24}, {"bgra", ISP_BGRA}};
enum { FORMATS = sizeof(formats) / sizeof(*formats) };

bool camera_pix_fmt_find(const char *pix_fmt, bool any, enum isp_format *out)
{
    *out = ISP_I420;
    for (int i = 0; pix_fmt && i < FORMATS; i++)
        if (!strcmp(formats[i].name, pix_fmt)) {
            *out = formats[i].format;
            return true;
        }
    return !pix_fmt || any;
}

const char *camera_pix_fmt(enum isp_format format)
{
    for (int i = 0; i < FORMATS; i++)
        if (formats[i].format == format)
            return formats[i].name;
    return "";
}

void camera_isp_params(const struct camera_control *c, const struct camera_tone *tone,
                       enum isp_format format, struct isp_params *out)
{
    const struct camera_params *p = c->settings;
    *out = (struct isp_params){.width = p->width,
                               .height = p->height,
                               .order = (enum isp_order)p->order,
                               .packing = (enum isp_packing)p->packing,
                               .depth = p->depth,
                               .demosaic = (enum isp_demosaic)p->demosaic,
                               .denoise = (float)p->denoise,
                               .interpolation = (enum isp_interpolation)p->optics.interpolation,
                               .tone = (enum isp_tone)p->tone,
                               .format = format,
                               .white = (uint16_t)p->white,
                               .defect = (uint16_t)p->defect,
                               .region = c->crop,
                               .out_width = p->out_width,
                               .out_height = p->out_height,
                               .tone_table = tone->values,
                               .tone_count = tone->count,
                               .matrix = (enum isp_matrix)p->matrix,
                               .full_range = p->full_range};
    for (int i = 0; i < 4; i++)
        out->black[i] = (uint16_t)p->black[i];
    for (int i = 0; i < 9; i++)
        out->colour[i] = (float)c->ccm[i];
    if (p->order == ISP_YUV) { /* developed already */
        out->tone = ISP_TONE_LINEAR;
        out->white = out->defect = 0;
        memset(out->black, 0, sizeof(out->black));
        memset(out->colour, 0, sizeof(out->colour));
    }
    if (p->optics.rectify &&
        isp_lens_new_camera(&p->optics.lens, p->width, p->height, p->optics.alpha, &out->camera))
        out->lens = p->optics.lens;
}

void camera_colour(const struct camera_params *p, enum isp_format format, struct pelton_colour *out)
{
    static const uint8_t transfer[] = {
        [ISP_TONE_LINEAR] = 8, [ISP_TONE_SRGB] = 13, [ISP_TONE_BT709] = 1, [ISP_TONE_TABLE] = 2};
    bool rgb = format >= ISP_RGB24;
    *out = (struct pelton_colour){.primaries = 1,
                                  .transfer = format == ISP_RGB48 ? 8 : transfer[p->tone],
                                  .matrix = rgb                             ? 0
                                            : p->matrix == ISP_MATRIX_BT601 ? 6
                                                                            : 1,
                                  .range = rgb || format == ISP_GRAY8 || p->full_range
                                               ? PELTON_RANGE_FULL
                                               : PELTON_RANGE_LIMITED,
                                  .siting = 2,
                                  .source = PELTON_COLOUR_USER};
    if (p->order == ISP_YUV) {
        out->transfer = 1; /* V4L2's default; as BT.601's */
        out->siting = p->coding == CAMERA_MJPEG ? 2 : 1;
    }
}

void camera_info(const struct camera_params *p, enum isp_format format, struct pelton_info *out)
{
    static const char *const kinds[] = {"sim", "v4l2", "bayer", "libcamera"};
    *out = (struct pelton_info){.width = p->out_width,
                                .height = p->out_height,
                                .coded_width = p->width,
                                .coded_height = p->height,
                                .time_base = {1, 1000000},
                                .frame_rate = {(int32_t)(p->fps * 1000 + 0.5), 1000},
                                .sar = {1, 1},
                                .start_pts = INT64_MIN,
                                .duration_us = -1,
                                .frames = -1,
                                .supported = true};
    out->avg_frame_rate = out->frame_rate;
    snprintf(out->container, sizeof(out->container), "%s", kinds[p->kind]);
    snprintf(out->codec, sizeof(out->codec), "%s",
             p->coding == CAMERA_MJPEG ? "mjpeg"
             : p->order == ISP_YUV     ? "rawvideo"
                                       : "bayer");
    camera_format_name(p, out->profile);
    snprintf(out->pix_fmt, sizeof(out->pix_fmt), "%s", camera_pix_fmt(format));
    camera_colour(p, format, &out->colour);
}
