/* SPDX-License-Identifier: BSD-2-Clause
 *
 * libswscale with the frame's own matrix and range. Where the stream names no matrix, it uses
 * FFmpeg's default (BT.601), so that `ffmpeg -pix_fmt` gives the same samples.
 */
#include "client/convert.h"

#include "client/av_picture.h"

#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
#include <stdlib.h>

struct convert {
    struct SwsContext *sws;
    AVFrame *frame;
    int width, height, from, matrix, range;
};

void convert_free(struct convert *c)
{
    if (!c)
        return;
    sws_freeContext(c->sws);
    av_frame_free(&c->frame);
    free(c);
}

static bool is_rgb(enum AVPixelFormat format)
{
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(format);
    return d && (d->flags & AV_PIX_FMT_FLAG_RGB);
}

static bool set_colours(struct convert *c, const AVFrame *in, enum AVPixelFormat format)
{
    int *inverse, *table, from_range, to_range, brightness, contrast, saturation;
    if (sws_getColorspaceDetails(c->sws, &inverse, &from_range, &table, &to_range, &brightness,
                                 &contrast, &saturation) < 0) {
        return true; /* a conversion without colours */
    }
    const int *matrix = sws_getCoefficients(
        in->colorspace == AVCOL_SPC_UNSPECIFIED ? SWS_CS_DEFAULT : (int)in->colorspace);
    if (in->color_range != AVCOL_RANGE_UNSPECIFIED && !is_rgb(in->format)) {
        from_range = in->color_range == AVCOL_RANGE_JPEG;
        to_range = is_rgb(format) ? to_range : from_range;
    }
    sws_setColorspaceDetails(c->sws, matrix, from_range, is_rgb(format) ? table : matrix, to_range,
                             brightness, contrast, saturation);
    return true;
}

static struct convert *create(const AVFrame *in, enum AVPixelFormat format)
{
    struct convert *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->width = in->width;
    c->height = in->height;
    c->from = in->format;
    c->matrix = in->colorspace;
    c->range = in->color_range;
    c->frame = av_frame_alloc();
    c->sws = sws_getContext(in->width, in->height, in->format, in->width, in->height, format,
                            SWS_BICUBIC, NULL, NULL, NULL);
    bool ok = c->frame && c->sws && set_colours(c, in, format);
    if (ok) {
        c->frame->width = in->width;
        c->frame->height = in->height;
        c->frame->format = format;
        ok = av_frame_get_buffer(c->frame, 0) >= 0;
    }
    if (!ok) {
        convert_free(c);
        return NULL;
    }
    return c;
}

static bool fits(const struct convert *c, const AVFrame *in, enum AVPixelFormat format)
{
    return c->width == in->width && c->height == in->height && c->from == in->format &&
           c->frame->format == (int)format && c->matrix == (int)in->colorspace &&
           c->range == (int)in->color_range;
}

int convert_frame(struct convert **c, const AVFrame *in, enum AVPixelFormat format,
                  const AVFrame **out, struct failure *f)
{
    if (*c && !fits(*c, in, format)) {
        convert_free(*c);
        *c = NULL;
    }
    if (!*c)
        *c = create(in, format);
    if (!*c) {
        return fail_with(f, X_USAGE,
                         "yuv420p, nv12, gray, rgb24 and others of ffmpeg -pix_fmts fit",
                         "%s cannot be converted to %s", av_get_pix_fmt_name(in->format),
                         av_get_pix_fmt_name(format));
    }
    AVFrame *to = (*c)->frame;
    sws_scale((*c)->sws, (const uint8_t *const *)in->data, in->linesize, 0, in->height, to->data,
              to->linesize);
    to->pts = in->pts;
    picture_set_fields(to, picture_interlaced(in), picture_top_first(in));
    to->time_base = in->time_base;
    to->sample_aspect_ratio = in->sample_aspect_ratio;
    to->color_primaries = in->color_primaries;
    to->color_trc = in->color_trc;
    to->colorspace = is_rgb(format) ? AVCOL_SPC_RGB : in->colorspace;
    to->color_range = is_rgb(format) ? AVCOL_RANGE_JPEG : in->color_range;
    *out = to;
    return 0;
}
