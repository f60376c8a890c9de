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
    out->interlaced_frame =
        in->field_order == PELTON_TOP_FIRST || in->field_order == PELTON_BOTTOM_FIRST;
    out->top_field_first = in->field_order == PELTON_TOP_FIRST;
    return 0;
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
