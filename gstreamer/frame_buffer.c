/* SPDX-License-Identifier: BSD-2-Clause */
#include "gstreamer/frame_buffer.h"

#include <string.h>

/* FFmpeg's name and GStreamer's. Where the latter has none, the next row that has one is nearest.
 */
static const struct {
    const char *pix_fmt;
    GstVideoFormat format;
} formats[] = {
    {"yuv420p", GST_VIDEO_FORMAT_I420},
    {"nv12", GST_VIDEO_FORMAT_NV12},
    {"yuv422p", GST_VIDEO_FORMAT_Y42B},
    {"yuv444p", GST_VIDEO_FORMAT_Y444},
    {"gray", GST_VIDEO_FORMAT_GRAY8},
    {"gray9le", GST_VIDEO_FORMAT_UNKNOWN},
    {"gray10le", GST_VIDEO_FORMAT_UNKNOWN},
    {"yuv420p9le", GST_VIDEO_FORMAT_UNKNOWN},
    {"yuv420p10le", GST_VIDEO_FORMAT_I420_10LE},
    {"yuv422p9le", GST_VIDEO_FORMAT_UNKNOWN},
    {"yuv422p10le", GST_VIDEO_FORMAT_I422_10LE},
    {"yuv444p9le", GST_VIDEO_FORMAT_UNKNOWN},
    {"yuv444p10le", GST_VIDEO_FORMAT_Y444_10LE},
    {"gray12le", GST_VIDEO_FORMAT_UNKNOWN},
    {"gray14le", GST_VIDEO_FORMAT_UNKNOWN},
    {"yuv420p14le", GST_VIDEO_FORMAT_UNKNOWN},
    {"yuv420p12le", GST_VIDEO_FORMAT_I420_12LE},
    {"yuv422p14le", GST_VIDEO_FORMAT_UNKNOWN},
    {"yuv422p12le", GST_VIDEO_FORMAT_I422_12LE},
    {"yuv444p14le", GST_VIDEO_FORMAT_UNKNOWN},
    {"yuv444p12le", GST_VIDEO_FORMAT_Y444_12LE},
    {"gbrp", GST_VIDEO_FORMAT_GBR},
    {"gbrp9le", GST_VIDEO_FORMAT_UNKNOWN},
    {"gbrp10le", GST_VIDEO_FORMAT_GBR_10LE},
    {"gbrp14le", GST_VIDEO_FORMAT_UNKNOWN},
    {"gbrp12le", GST_VIDEO_FORMAT_GBR_12LE},
    {"rgb24", GST_VIDEO_FORMAT_RGB},
    {"bgr24", GST_VIDEO_FORMAT_BGR},
    {"rgba", GST_VIDEO_FORMAT_RGBA},
    {"bgra", GST_VIDEO_FORMAT_BGRA},
    /* second names: alpha is always opaque */
    {"rgba", GST_VIDEO_FORMAT_RGBx},
    {"bgra", GST_VIDEO_FORMAT_BGRx},
};

GstVideoFormat frame_format(const char *pix_fmt)
{
    for (size_t i = 0; i < G_N_ELEMENTS(formats); i++)
        if (!strcmp(formats[i].pix_fmt, pix_fmt))
            return formats[i].format;
    return GST_VIDEO_FORMAT_UNKNOWN;
}

const char *frame_pix_fmt(GstVideoFormat format)
{
    for (size_t i = 0; i < G_N_ELEMENTS(formats); i++)
        if (formats[i].format == format)
            return formats[i].pix_fmt;
    return NULL;
}

const char *frame_nearest_pix_fmt(const char *pix_fmt)
{
    size_t i = 0;
    while (i < G_N_ELEMENTS(formats) && strcmp(formats[i].pix_fmt, pix_fmt))
        i++;
    while (i < G_N_ELEMENTS(formats) && formats[i].format == GST_VIDEO_FORMAT_UNKNOWN)
        i++;
    return i < G_N_ELEMENTS(formats) ? formats[i].pix_fmt : pix_fmt;
}

/* ---- description ---- */

/* Both numbers are ISO/IEC 23091-2's. What the stream does not say stays GStreamer's default. */
static void colour_describe(const struct pelton_colour *colour, GstVideoInfo *info)
{
    GstVideoColorimetry *c = &info->colorimetry;
    bool rgb = GST_VIDEO_INFO_IS_RGB(info);
    if (colour->range != PELTON_RANGE_UNKNOWN)
        c->range = colour->range == PELTON_RANGE_FULL || rgb ? GST_VIDEO_COLOR_RANGE_0_255
                                                             : GST_VIDEO_COLOR_RANGE_16_235;
    if (colour->primaries && colour->primaries != 2)
        c->primaries = gst_video_color_primaries_from_iso(colour->primaries);
    if (colour->transfer && colour->transfer != 2)
        c->transfer = gst_video_transfer_function_from_iso(colour->transfer);
    if (!rgb && colour->matrix && colour->matrix != 2)
        c->matrix = gst_video_color_matrix_from_iso(colour->matrix);
}

/* chroma_sample_loc_type 0 to 3 (annex E); GStreamer has no name for the bottom ones. */
static GstVideoChromaSite chroma_site(const struct pelton_frame *frame)
{
    static const GstVideoChromaSite sites[] = {
        GST_VIDEO_CHROMA_SITE_UNKNOWN, GST_VIDEO_CHROMA_SITE_H_COSITED, GST_VIDEO_CHROMA_SITE_NONE,
        GST_VIDEO_CHROMA_SITE_COSITED, GST_VIDEO_CHROMA_SITE_V_COSITED};
    return frame->colour.siting < G_N_ELEMENTS(sites) ? sites[frame->colour.siting]
                                                      : GST_VIDEO_CHROMA_SITE_UNKNOWN;
}

static void fields_describe(const struct pelton_frame *frame, GstVideoInfo *info)
{
    bool woven =
        frame->field_order == PELTON_TOP_FIRST || frame->field_order == PELTON_BOTTOM_FIRST;
    info->interlace_mode =
        woven ? GST_VIDEO_INTERLACE_MODE_INTERLEAVED : GST_VIDEO_INTERLACE_MODE_PROGRESSIVE;
    if (woven)
        GST_VIDEO_INFO_FIELD_ORDER(info) = frame->field_order == PELTON_TOP_FIRST
                                               ? GST_VIDEO_FIELD_ORDER_TOP_FIELD_FIRST
                                               : GST_VIDEO_FIELD_ORDER_BOTTOM_FIELD_FIRST;
}

bool frame_video_info(const struct pelton_frame *frame, GstVideoFormat wanted,
                      struct pelton_rational rate, GstVideoInfo *info)
{
    const char *name = frame_pix_fmt(wanted);
    bool fits = name && g_str_equal(name, frame->pix_fmt);
    GstVideoFormat format = fits ? wanted : frame_format(frame->pix_fmt);
    if (format == GST_VIDEO_FORMAT_UNKNOWN ||
        !gst_video_info_set_format(info, format, frame->width, frame->height))
        return false;
    if (frame->sar.num > 0 && frame->sar.den > 0) {
        info->par_n = frame->sar.num;
        info->par_d = frame->sar.den;
    }
    bool known = rate.num > 0 && rate.den > 0;
    info->fps_n = known ? rate.num : 0;
    info->fps_d = known ? rate.den : 1;
    colour_describe(&frame->colour, info);
    if (chroma_site(frame) != GST_VIDEO_CHROMA_SITE_UNKNOWN && GST_VIDEO_INFO_IS_YUV(info))
        info->chroma_site = chroma_site(frame);
    fields_describe(frame, info);
    return true;
}

/* ---- memory ---- */

/* A frame on loan to a buffer. */
struct lent_frame {
    struct stream_link *stream;
    struct pelton_frame frame;
};

static void lent_frame_return(gpointer data)
{
    struct lent_frame *lent = data;
    stream_link_release(lent->stream, &lent->frame);
    stream_link_return(lent->stream);
    stream_link_unref(lent->stream);
    g_free(lent);
}

static bool strides_are_plain(const struct pelton_frame *frame, const GstVideoInfo *info)
{
    for (guint i = 0; i < frame->planes; i++)
        if (frame->stride[i] != (guint)GST_VIDEO_INFO_PLANE_STRIDE(info, i) ||
            (gsize)(frame->data[i] - frame->data[0]) != GST_VIDEO_INFO_PLANE_OFFSET(info, i))
            return false;
    return true;
}

/* The planes of a frame lie one after the other in its slot. */
static gsize frame_extent(const struct pelton_frame *frame)
{
    guint last = frame->planes - 1;
    return frame->data[last] - frame->data[0] +
           (gsize)frame->stride[last] * (frame->plane_height[last] - 1) + frame->plane_width[last];
}

static GstBuffer *buffer_of_slot(struct stream_link *stream, const struct pelton_frame *frame,
                                 const GstVideoInfo *info)
{
    gsize offset[GST_VIDEO_MAX_PLANES] = {0};
    gint stride[GST_VIDEO_MAX_PLANES] = {0};
    struct lent_frame *lent = g_new(struct lent_frame, 1);
    lent->stream = stream_link_ref(stream);
    lent->frame = *frame;
    gsize size = frame_extent(frame);
    GstBuffer *buffer = gst_buffer_new_wrapped_full(
        GST_MEMORY_FLAG_READONLY, (gpointer)frame->data[0], size, 0, size, lent, lent_frame_return);
    for (guint i = 0; i < frame->planes; i++) {
        offset[i] = frame->data[i] - frame->data[0];
        stride[i] = frame->stride[i];
    }
    gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(info),
                                   frame->width, frame->height, frame->planes, offset, stride);
    return buffer;
}

static void planes_copy(GstVideoFrame *to, const struct pelton_frame *frame)
{
    for (guint i = 0; i < frame->planes; i++)
        for (guint y = 0; y < frame->plane_height[i]; y++)
            memcpy((guint8 *)GST_VIDEO_FRAME_PLANE_DATA(to, i) +
                       (gsize)y * GST_VIDEO_FRAME_PLANE_STRIDE(to, i),
                   frame->data[i] + (gsize)y * frame->stride[i], frame->plane_width[i]);
}

static GstBuffer *buffer_of_copy(const struct pelton_frame *frame, const GstVideoInfo *info)
{
    GstVideoFrame map;
    GstBuffer *buffer = gst_buffer_new_allocate(NULL, GST_VIDEO_INFO_SIZE(info), NULL);
    if (!buffer || !gst_video_frame_map(&map, info, buffer, GST_MAP_WRITE)) {
        gst_clear_buffer(&buffer);
        return NULL;
    }
    planes_copy(&map, frame);
    gst_video_frame_unmap(&map);
    return buffer;
}

static void flags_set(GstBuffer *buffer, const struct pelton_frame *frame)
{
    if (frame->flags & (PELTON_FRAME_CORRUPT | PELTON_FRAME_PLACEHOLDER))
        GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_CORRUPTED);
    if (frame->flags & PELTON_FRAME_DISCONT)
        GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DISCONT);
    if (frame->field_order == PELTON_TOP_FIRST || frame->field_order == PELTON_BOTTOM_FIRST)
        GST_BUFFER_FLAG_SET(buffer, GST_VIDEO_BUFFER_FLAG_INTERLACED);
    if (frame->field_order == PELTON_TOP_FIRST)
        GST_BUFFER_FLAG_SET(buffer, GST_VIDEO_BUFFER_FLAG_TFF);
}

GstBuffer *frame_buffer(struct stream_link *stream, const struct pelton_frame *frame,
                        const GstVideoInfo *info, bool plain)
{
    bool fits = !plain || strides_are_plain(frame, info);
    GstBuffer *buffer = NULL;
    if (fits && stream_link_lend(stream)) {
        buffer = buffer_of_slot(stream, frame, info);
    } else {
        buffer = buffer_of_copy(frame, info);
        stream_link_release(stream, frame);
    }
    if (buffer)
        flags_set(buffer, frame);
    return buffer;
}
