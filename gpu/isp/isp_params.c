/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Parameters of a camera: their limits, each with its reason by name, and the sizes that follow
 * from them.
 */
#include "gpu/isp/isp_internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LARGEST  8192u
#define SMALLEST 16u

static int params_refuse(char why[ISP_WHY], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int params_refuse(char why[ISP_WHY], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, ISP_WHY, format, arguments);
    va_end(arguments);
    return GPU_ERR_INVALID;
}

static int check_picture(const struct isp_params *p, char why[ISP_WHY])
{
    if (p->depth != 8)
        return params_refuse(why, "depth %u: pictures in Y, Cb, Cr have 8 bits", p->depth);
    if (p->tone != ISP_TONE_LINEAR || isp_has_matrix(p))
        return params_refuse(why, "pictures in Y, Cb, Cr are toned already");
    return GPU_OK;
}

static int check_samples(const struct isp_params *p, char why[ISP_WHY])
{
    if (p->width < SMALLEST || p->width > LARGEST || p->height < SMALLEST || p->height > LARGEST)
        return params_refuse(why, "the sensor's size %u x %u is outside %u..%u", p->width,
                             p->height, SMALLEST, LARGEST);
    if (p->width % 2 || p->height % 2)
        return params_refuse(why, "the sensor's size %u x %u is odd", p->width, p->height);
    if ((unsigned)p->order > ISP_YUV)
        return params_refuse(why, "order %d is unknown", (int)p->order);
    if ((unsigned)p->packing > ISP_PLANES_444 || (p->packing > ISP_MIPI) != (p->order == ISP_YUV))
        return params_refuse(why, "packing %d is unknown of order %d", (int)p->packing,
                             (int)p->order);
    if (!(p->denoise >= 0 && p->denoise <= 1) || (p->denoise > 0 && p->order == ISP_YUV))
        return params_refuse(why,
                             p->order == ISP_YUV
                                 ? "denoise %g: the camera develops its pictures itself"
                                 : "denoise %g is outside 0..1",
                             (double)p->denoise);
    if (p->order == ISP_YUV)
        return check_picture(p, why);
    bool mipi = p->packing == ISP_MIPI;
    if (p->depth < 8 || p->depth > 16 || p->depth % 2 ||
        (mipi && (p->depth == 8 || p->depth == 16)))
        return params_refuse(why, "depth %u does not exist with %s packing", p->depth,
                             mipi ? "MIPI" : "no");
    if (mipi && p->depth != 12 && p->width % 4)
        return params_refuse(why,
                             "width %u is no multiple of 4, which MIPI packing of %u bits asks for",
                             p->width, p->depth);
    uint32_t most = (1u << p->depth) - 1, white = p->white ? p->white : most;
    if (white > most)
        return params_refuse(why, "white level %u is more than %u bits hold", white, p->depth);
    for (int i = 0; i < 4; i++)
        if (p->black[i] >= white)
            return params_refuse(why, "black level %u is not less than the white level %u",
                                 p->black[i], white);
    if ((unsigned)p->demosaic >= ISP_DEMOSAICS)
        return params_refuse(why, "demosaic %d is unknown", (int)p->demosaic);
    return GPU_OK;
}

static int check_lens(const struct isp_params *p, char why[ISP_WHY])
{
    const struct isp_lens *lens = &p->lens;
    const double all[] = {lens->camera.fx, lens->camera.fy, lens->camera.cx, lens->camera.cy,
                          p->camera.fx,    p->camera.fy,    p->camera.cx,    p->camera.cy};
    if ((unsigned)lens->model > ISP_LENS_FISHEYE)
        return params_refuse(why, "lens model %d is unknown", (int)lens->model);
    if ((unsigned)p->interpolation > ISP_INTERPOLATE_BICUBIC)
        return params_refuse(why, "interpolation %d is unknown", (int)p->interpolation);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (!isfinite(all[i]))
            return params_refuse(why, "a camera matrix holds no number");
    for (int i = 0; i < 8; i++)
        if (!isfinite(lens->coefficients[i]))
            return params_refuse(why, "lens coefficient %d is no number", i + 1);
    if (lens->model != ISP_LENS_NONE && (lens->camera.fx <= 0 || lens->camera.fy <= 0))
        return params_refuse(why, "the lens's focal length %g, %g is not positive", lens->camera.fx,
                             lens->camera.fy);
    if (lens->model != ISP_LENS_NONE && p->camera.fx != 0 &&
        (p->camera.fx < 0 || p->camera.fy <= 0))
        return params_refuse(why, "the straight camera's focal length %g, %g is not positive",
                             p->camera.fx, p->camera.fy);
    return GPU_OK;
}

static int check_output(const struct isp_params *p, char why[ISP_WHY])
{
    const struct isp_rect *r = &p->region;
    if (r->width && (!r->height || r->width > p->width || r->height > p->height ||
                     r->x > p->width - r->width || r->y > p->height - r->height))
        return params_refuse(why, "the region %u,%u %u x %u lies outside %u x %u", r->x, r->y,
                             r->width, r->height, p->width, p->height);
    if ((unsigned)p->format >= ISP_FORMATS)
        return params_refuse(why, "output format %d is unknown", (int)p->format);
    if ((unsigned)p->tone > ISP_TONE_TABLE)
        return params_refuse(why, "tone curve %d is unknown", (int)p->tone);
    if (p->tone == ISP_TONE_TABLE && (!p->tone_table || p->tone_count < 2 || p->tone_count > 65536))
        return params_refuse(why, "a tone table of %u values is outside 2..65536", p->tone_count);
    if ((unsigned)p->matrix > ISP_MATRIX_BT601)
        return params_refuse(why, "colour matrix %d is unknown", (int)p->matrix);
    for (int i = 0; i < 9; i++)
        if (!(fabsf(p->colour[i]) <= 64))
            return params_refuse(why, "colour matrix element %d, %g, is outside -64..64", i + 1,
                                 (double)p->colour[i]);
    struct isp_rect out;
    isp_output_size(p, &out);
    if (out.width < 1 || out.width > LARGEST || out.height < 1 || out.height > LARGEST)
        return params_refuse(why, "the output's size %u x %u is outside 1..%u", out.width,
                             out.height, LARGEST);
    bool halved = p->format == ISP_I420 || p->format == ISP_NV12 || p->format == ISP_P010;
    if (p->blur_count > ISP_BLURS)
        return params_refuse(why, "%u rectangles to be blurred are more than %u", p->blur_count,
                             ISP_BLURS);
    for (uint32_t i = 0; i < p->blur_count; i++)
        if (!p->blur[i].width || !p->blur[i].height || p->blur[i].x >= out.width ||
            p->blur[i].y >= out.height)
            return params_refuse(
                why, "the rectangle to be blurred at %u,%u lies outside of the picture, %ux%u",
                p->blur[i].x, p->blur[i].y, out.width, out.height);
    if (halved && (out.width % 2 || out.height % 2))
        return params_refuse(why, "the output's size %u x %u is odd, its chroma has half of it",
                             out.width, out.height);
    return GPU_OK;
}

int isp_params_check(const struct isp_params *params, char why[ISP_WHY])
{
    int err = check_samples(params, why);
    if (err == GPU_OK)
        err = check_lens(params, why);
    return err == GPU_OK ? check_output(params, why) : err;
}

void isp_output_size(const struct isp_params *p, struct isp_rect *region)
{
    *region = p->region.width ? p->region : (struct isp_rect){0, 0, p->width, p->height};
    if (p->out_width)
        region->width = p->out_width;
    if (p->out_height)
        region->height = p->out_height;
}

uint32_t isp_row_bytes(const struct isp_params *p)
{
    if (p->packing == ISP_YUYV || p->packing == ISP_UYVY)
        return p->width * 2;
    if (p->packing == ISP_MIPI)
        return p->width * p->depth / 8;
    return p->depth == 8 ? p->width : p->width * 2;
}

uint32_t isp_raw_rows(const struct isp_params *p)
{
    switch (p->packing) {
    case ISP_PAIRS_CBCR:
    case ISP_PAIRS_CRCB:
        return p->height / 2 * 3;
    case ISP_PLANES_420:
        return p->height * 2;
    case ISP_PLANES_422:
    case ISP_PLANES_444:
        return p->height * 3;
    default:
        return p->height;
    }
}

uint32_t isp_components(enum isp_format format)
{
    bool alpha = format == ISP_RGBA || format == ISP_BGRA;
    return format < ISP_RGB24 ? 1 : alpha ? 4 : 3;
}

uint32_t isp_planes(const struct isp_params *p, uint32_t row_bytes[3], uint32_t rows[3])
{
    bool wide = p->format == ISP_P010 || p->format == ISP_RGB48;
    struct isp_rect out;
    isp_output_size(p, &out);
    row_bytes[0] = out.width * isp_components(p->format) * (wide ? 2 : 1);
    rows[0] = out.height;
    switch (p->format) {
    case ISP_I420:
        row_bytes[1] = row_bytes[2] = out.width / 2;
        rows[1] = rows[2] = out.height / 2;
        return 3;
    case ISP_NV12:
    case ISP_P010:
        row_bytes[1] = row_bytes[0];
        rows[1] = out.height / 2;
        return 2;
    default:
        return 1;
    }
}
