/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Every orientation is a swap of rows and columns, or none, after which columns and rows may run
 * backwards. Planes are turned one by one, by whole samples of 1 to 8 bytes.
 */
#include "client/turn.h"

#include "client/av_picture.h"
#include "proto/pelton.h"

#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
#include <stdio.h>
#include <string.h>

static bool swaps(uint32_t orientation)
{
    return orientation >= PELTON_TRANSPOSED;
}

/* Columns of the result run from the right to the left of the source, or of its rows. */
static bool reverses_x(uint32_t orientation)
{
    return orientation == PELTON_MIRRORED || orientation == PELTON_TURNED_180 ||
           orientation == PELTON_TURNED_90 || orientation == PELTON_ANTITRANSPOSED;
}

static bool reverses_y(uint32_t orientation)
{
    return orientation == PELTON_UPSIDE_DOWN || orientation == PELTON_TURNED_180 ||
           orientation == PELTON_TURNED_270 || orientation == PELTON_ANTITRANSPOSED;
}

void turn_clear(struct turn *t)
{
    av_frame_free(&t->frame);
    convert_free(t->convert);
    t->convert = NULL;
}

/* The bytes of a sample in each plane. */
static void sample_bytes(const AVPixFmtDescriptor *d, int out[4])
{
    memset(out, 0, 4 * sizeof(*out));
    for (int i = 0; i < d->nb_components; i++)
        if (d->comp[i].step > out[d->comp[i].plane])
            out[d->comp[i].plane] = d->comp[i].step;
}

static int turn_out_of_memory(struct failure *f)
{
    return fail_with(f, X_OTHER, "close other programs", "out of memory");
}

/* A picture of the same kind, of this size, in t->frame. */
static int turn_prepare(struct turn *t, const AVFrame *in, int width, int height, struct failure *f)
{
    AVFrame *to = t->frame;
    if (to && (to->width != width || to->height != height || to->format != in->format)) {
        av_frame_free(&t->frame);
        to = NULL;
    }
    if (!to) {
        to = t->frame = av_frame_alloc();
        if (!to)
            return turn_out_of_memory(f);
        to->width = width;
        to->height = height;
        to->format = in->format;
        if (av_frame_get_buffer(to, 0) < 0) {
            av_frame_free(&t->frame);
            return turn_out_of_memory(f);
        }
    }
    return 0;
}

static void turn_describe(const AVFrame *in, bool swapped, AVFrame *to)
{
    AVRational sar = in->sample_aspect_ratio;
    to->pts = in->pts;
    to->time_base = in->time_base;
    to->sample_aspect_ratio = swapped && sar.num ? (AVRational){sar.den, sar.num} : sar;
    to->color_primaries = in->color_primaries;
    to->color_trc = in->color_trc;
    to->colorspace = in->colorspace;
    to->color_range = in->color_range;
    to->chroma_location = in->chroma_location;
    picture_set_fields(to, picture_interlaced(in), picture_top_first(in));
}

struct plane {
    uint8_t *data;
    ptrdiff_t stride;
    int width, height; /* samples, rows */
};

static void turn_plane(const struct plane *from, const struct plane *to, int bytes,
                       uint32_t orientation)
{
    bool swapped = swaps(orientation);
    ptrdiff_t right = swapped ? from->stride : bytes, down = swapped ? bytes : from->stride;
    const uint8_t *row = from->data;
    if (reverses_x(orientation)) {
        row += right * (to->width - 1);
        right = -right;
    }
    if (reverses_y(orientation)) {
        row += down * (to->height - 1);
        down = -down;
    }
    for (int y = 0; y < to->height; y++, row += down) {
        uint8_t *out = to->data + y * to->stride;
        const uint8_t *in = row;
        for (int x = 0; x < to->width; x++, in += right, out += bytes)
            memcpy(out, in, (size_t)bytes);
    }
}

static struct plane plane_of(const AVFrame *frame, const AVPixFmtDescriptor *d, int plane)
{
    int x = plane == 1 || plane == 2 ? d->log2_chroma_w : 0,
        y = plane == 1 || plane == 2 ? d->log2_chroma_h : 0;
    return (struct plane){frame->data[plane], frame->linesize[plane],
                          AV_CEIL_RSHIFT(frame->width, x), AV_CEIL_RSHIFT(frame->height, y)};
}

/* yuv422p becomes yuv444p. */
static int turn_square(struct turn *t, const AVFrame **in, struct failure *f)
{
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get((*in)->format);
    char name[32];
    if (d->log2_chroma_w == d->log2_chroma_h)
        return 0;
    snprintf(name, sizeof(name), "%s", d->name);
    char *format = strstr(name, "422");
    if (format)
        memcpy(format, "444", 3);
    return convert_frame(&t->convert, *in, av_get_pix_fmt(name), in, f);
}

int turn_frame(struct turn *t, const AVFrame *in, uint32_t orientation, const AVFrame **out,
               struct failure *f)
{
    bool swapped = swaps(orientation);
    int bytes[4], rc;
    *out = in;
    if (orientation <= PELTON_UPRIGHT || orientation > PELTON_TURNED_270)
        return 0;
    rc = swapped ? turn_square(t, &in, f) : 0;
    rc = rc ? rc
            : turn_prepare(t, in, swapped ? in->height : in->width,
                           swapped ? in->width : in->height, f);
    if (rc)
        return rc;
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(in->format);
    sample_bytes(d, bytes);
    for (int i = 0; i < av_pix_fmt_count_planes(in->format); i++) {
        struct plane from = plane_of(in, d, i), to = plane_of(t->frame, d, i);
        turn_plane(&from, &to, bytes[i], orientation);
    }
    turn_describe(in, swapped, t->frame);
    *out = t->frame;
    return 0;
}
