/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a reader gets: its format, its development, the layout of its frames.
 */
#include "camera/calibration.h"
#include "daemon/worker/camera/camera_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name; /* FFmpeg's */
    enum isp_format format;
} formats[] = {{"yuv420p", ISP_I420}, {"nv12", ISP_NV12},   {"p010le", ISP_P010},
               {"gray", ISP_GRAY8},   {"rgb24", ISP_RGB24}, {"rgba", ISP_RGBA},
               {"rgb48le", ISP_RGB48}};
enum { FORMATS = sizeof(formats) / sizeof(*formats) };

bool reader_format_of(const char *pix_fmt, bool any, enum isp_format *out)
{
    *out = ISP_I420;
    for (int i = 0; pix_fmt && i < FORMATS; i++)
        if (!strcmp(formats[i].name, pix_fmt)) {
            *out = formats[i].format;
            return true;
        }
    return !pix_fmt || any;
}

const char *reader_pix_fmt(enum isp_format format)
{
    for (int i = 0; i < FORMATS; i++)
        if (formats[i].format == format)
            return formats[i].name;
    return "";
}

int camera_calibrate(struct camera_params *p, struct pelton_failure *failure)
{
    struct calibration calibration;
    char why[CALIBRATION_WHY] = "";
    if (!p->calibration[0])
        return 0;
    int err = calibration_load(p->calibration, 0, &calibration, why);
    if (!err)
        err = calibration_scale(&calibration, p->width, p->height, why);
    if (err) {
        *failure = (struct pelton_failure){
            .code = err == CALIBRATION_ERR_UNSUPPORTED ? PELTON_ERR_UNSUPPORTED : PELTON_ERR_INPUT};
        snprintf(failure->cause, sizeof(failure->cause), "%.100s: %.150s", p->calibration, why);
        snprintf(failure->hint, sizeof(failure->hint),
                 "pelton calib check says what the file holds");
        return failure->code;
    }
    p->lens = calibration.lens;
    p->calibration[0] = 0;
    return 0;
}

/* Numbers with anything but digits between; '#' starts a comment. The number of values, or 0. */
static uint32_t read_tone_file(FILE *file, uint16_t *out, uint32_t most)
{
    uint32_t n = 0;
    for (int c = getc(file); c != EOF; c = getc(file)) {
        unsigned value;
        if (c == '#') {
            while (c != EOF && c != '\n')
                c = getc(file);
            continue;
        }
        if (strchr(" ,;\t\r\n", c))
            continue;
        ungetc(c, file);
        if (n == most || fscanf(file, "%6u", &value) != 1 || value > UINT16_MAX)
            return 0;
        out[n++] = (uint16_t)value;
    }
    return n;
}

static int tone_failure(struct pelton_failure *failure, const char *name, const char *cause)
{
    *failure = (struct pelton_failure){.code = PELTON_ERR_INPUT};
    snprintf(failure->cause, sizeof(failure->cause), "tone_table=%.120s: %s", name, cause);
    return failure->code;
}

int camera_tone_load(const struct camera_params *p, struct camera_tone *out,
                     struct pelton_failure *failure)
{
    enum { TONE_MOST = 65536 };
    int rc = 0;
    if (p->tone != ISP_TONE_TABLE)
        return 0;
    uint16_t *values = malloc(TONE_MOST * sizeof(*values));
    if (!values)
        return tone_failure(failure, p->tone_table, "out of memory");
    uint32_t n = camera_tone_listed(p->tone_table, values);
    FILE *file = n ? NULL : fopen(p->tone_table, "re");
    if (!n && !file)
        rc = tone_failure(failure, p->tone_table, strerror(errno));
    else if (!n && (n = read_tone_file(file, values, TONE_MOST)) < 2)
        rc = tone_failure(failure, p->tone_table, "expected 2 to 65536 values from 0 to 65535");
    if (file)
        fclose(file);
    if (rc < 0)
        free(values);
    else
        *out = (struct camera_tone){values, n};
    return rc;
}

void reader_params(const struct camera *c, enum isp_format format, struct isp_params *out)
{
    const struct camera_params *p = &c->params;
    *out = (struct isp_params){.width = p->width,
                               .height = p->height,
                               .order = (enum isp_order)p->order,
                               .packing = (enum isp_packing)p->packing,
                               .depth = p->depth,
                               .demosaic = (enum isp_demosaic)p->demosaic,
                               .denoise = (float)p->denoise,
                               .interpolation = (enum isp_interpolation)p->interpolation,
                               .tone = (enum isp_tone)p->tone,
                               .format = format,
                               .white = (uint16_t)p->white,
                               .defect = (uint16_t)p->defect,
                               .region = c->crop,
                               .out_width = p->out_width,
                               .out_height = p->out_height,
                               .tone_table = c->tone.values,
                               .tone_count = c->tone.count,
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
    if (p->rectify && isp_lens_new_camera(&p->lens, p->width, p->height, p->alpha, &out->camera))
        out->lens = p->lens;
}

static void describe_colour(const struct camera *c, enum isp_format format,
                            struct pelton_colour *out)
{
    static const uint8_t transfer[] = {
        [ISP_TONE_LINEAR] = 8, [ISP_TONE_SRGB] = 13, [ISP_TONE_BT709] = 1, [ISP_TONE_TABLE] = 2};
    const struct camera_params *p = &c->params;
    bool rgb = format == ISP_RGB24 || format == ISP_RGBA || format == ISP_RGB48;
    *out = (struct pelton_colour){.primaries = 1,
                                  .transfer = format == ISP_RGB48 ? 8 : transfer[p->tone],
                                  .matrix = rgb                             ? 0
                                            : p->matrix == ISP_MATRIX_BT601 ? 6
                                                                            : 1,
                                  .range = rgb || format == ISP_GRAY8 || p->full_range ? 2 : 1,
                                  .siting = 2,
                                  .source = 3};
    if (c->params.order == ISP_YUV) {
        out->transfer = 1; /* V4L2's default; as BT.601's */
        out->siting = c->params.coding == CAMERA_MJPEG ? 2 : 1;
    }
}

void reader_layout(const struct camera *c, enum isp_format format, struct feed_format *out)
{
    struct isp_params params;
    uint32_t row_bytes[3], rows[3];
    reader_params(c, format, &params);
    *out = (struct feed_format){.epoch = 1,
                                .width = params.out_width,
                                .height = params.out_height,
                                .time_base = {1, 1000000},
                                .sar = {1, 1},
                                .memfd = -1};
    uint32_t planes = isp_planes(&params, row_bytes, rows);
    for (uint32_t i = 0; i < planes; i++)
        feed_format_plane(out, row_bytes[i], rows[i], ISP_STRIDE);
    feed_format_close(out);
    strcpy(out->pix_fmt, reader_pix_fmt(format));
    describe_colour(c, format, &out->colour);
}
