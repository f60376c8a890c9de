/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Frames of libpelton in FFmpeg's terms. Both number colours as H.273 does.
 */
#include "client/av_picture.h"

#include <libavutil/imgutils.h>
#include <libavutil/md5.h>
#include <libavutil/mem.h>
#include <libavutil/pixdesc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int picture_borrow(const struct pelton_frame *in, AVFrame *out, struct failure *f)
{
    enum AVPixelFormat format = av_get_pix_fmt(in->pix_fmt);
    int linesize[4];
    if (format == AV_PIX_FMT_NONE || in->width == 0 || in->height == 0 || in->width > 65536 ||
        in->height > 65536 || av_image_fill_linesizes(linesize, format, (int)in->width) < 0 ||
        av_pix_fmt_count_planes(format) != (int)in->planes) {
        return fail_with(
            f, X_OTHER, "the daemon may be newer than this program: see pelton version",
            "a frame of unknown kind: %.16s %ux%u", in->pix_fmt, in->width, in->height);
    }
    for (uint32_t i = 0; i < in->planes; i++) {
        if (in->plane_width[i] < (uint32_t)linesize[i] || in->stride[i] < in->plane_width[i] ||
            in->stride[i] > INT32_MAX) {
            return fail_with(f, X_OTHER, "this is a bug of the daemon",
                             "plane %u of a frame is narrower than its picture", i);
        }
        out->data[i] = (uint8_t *)in->data[i];
        out->linesize[i] = (int)in->stride[i];
    }
    out->format = format;
    out->width = (int)in->width;
    out->height = (int)in->height;
    out->pts = in->pts;
    out->time_base = (AVRational){in->time_base.num, in->time_base.den};
    out->sample_aspect_ratio = (AVRational){in->sar.num, in->sar.den};
    /* Colours that are only assumed stay unspecified, as in FFmpeg. */
    out->color_primaries =
        in->colour.source && in->colour.primaries ? in->colour.primaries : AVCOL_PRI_UNSPECIFIED;
    out->color_trc =
        in->colour.source && in->colour.transfer ? in->colour.transfer : AVCOL_TRC_UNSPECIFIED;
    out->colorspace = in->colour.source ? in->colour.matrix : AVCOL_SPC_UNSPECIFIED;
    out->color_range = !in->colour.source                         ? AVCOL_RANGE_UNSPECIFIED
                       : in->colour.range == PELTON_RANGE_FULL    ? AVCOL_RANGE_JPEG
                       : in->colour.range == PELTON_RANGE_LIMITED ? AVCOL_RANGE_MPEG
                                                                  : AVCOL_RANGE_UNSPECIFIED;
    out->chroma_location = in->colour.siting;
    picture_set_fields(
        out, in->field_order == PELTON_TOP_FIRST || in->field_order == PELTON_BOTTOM_FIRST,
        in->field_order == PELTON_TOP_FIRST);
    return 0;
}

#ifdef AV_FRAME_FLAG_INTERLACED
bool picture_interlaced(const AVFrame *frame)
{
    return frame->flags & AV_FRAME_FLAG_INTERLACED;
}

bool picture_top_first(const AVFrame *frame)
{
    return frame->flags & AV_FRAME_FLAG_TOP_FIELD_FIRST;
}

void picture_set_fields(AVFrame *frame, bool interlaced, bool top_first)
{
    frame->flags &= ~(AV_FRAME_FLAG_INTERLACED | AV_FRAME_FLAG_TOP_FIELD_FIRST);
    frame->flags |= (interlaced ? AV_FRAME_FLAG_INTERLACED : 0) |
                    (top_first ? AV_FRAME_FLAG_TOP_FIELD_FIRST : 0);
}
#else
bool picture_interlaced(const AVFrame *frame)
{
    return frame->interlaced_frame;
}

bool picture_top_first(const AVFrame *frame)
{
    return frame->top_field_first;
}

void picture_set_fields(AVFrame *frame, bool interlaced, bool top_first)
{
    frame->interlaced_frame = interlaced;
    frame->top_field_first = top_first;
}
#endif

const enum AVPixelFormat *picture_encoder_formats(const AVCodec *codec)
{
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(61, 13, 100)
    const void *formats = NULL;
    int rc =
        avcodec_get_supported_config(NULL, codec, AV_CODEC_CONFIG_PIX_FORMAT, 0, &formats, NULL);
    return rc < 0 ? NULL : formats;
#else
    return codec->pix_fmts;
#endif
}

void picture_md5(const AVFrame *frame, char out[33])
{
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(frame->format);
    int linesize[4] = {0};
    uint8_t digest[16];
    struct AVMD5 *md5 = av_md5_alloc();
    strcpy(out, "out of memory");
    if (!md5 || av_image_fill_linesizes(linesize, frame->format, frame->width) < 0) {
        av_free(md5);
        return;
    }
    av_md5_init(md5);
    for (int p = 0; p < av_pix_fmt_count_planes(frame->format); p++) {
        int rows =
            p == 1 || p == 2 ? AV_CEIL_RSHIFT(frame->height, d->log2_chroma_h) : frame->height;
        for (int y = 0; y < rows; y++) {
            av_md5_update(md5, frame->data[p] + (ptrdiff_t)y * frame->linesize[p],
                          (size_t)linesize[p]);
        }
    }
    av_md5_final(md5, digest);
    av_free(md5);
    for (int i = 0; i < 16; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}
