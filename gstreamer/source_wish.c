/* SPDX-License-Identifier: BSD-2-Clause */
#include "gstreamer/source_wish.h"

#include "gstreamer/frame_buffer.h"

static void format_wish(GstStructure *s, const GstVideoInfo *own, struct source_wish *wish)
{
    const char *name = gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(own));
    gst_structure_fixate_field_string(s, "format", name);
    const char *chosen = gst_structure_get_string(s, "format");
    if (chosen && !g_str_equal(chosen, name))
        wish->format = gst_video_format_from_string(chosen);
}

/* The size nearest to the source's. Where one side is given, the other keeps the shape. */
static void size_wish(GstStructure *s, const GstVideoInfo *own, struct source_wish *wish)
{
    gint width = GST_VIDEO_INFO_WIDTH(own), height = GST_VIDEO_INFO_HEIGHT(own);
    gint given;
    if (gst_structure_get_int(s, "height", &given))
        width = MAX(1, gst_util_uint64_scale_int_round(width, given, height));
    gst_structure_fixate_field_nearest_int(s, "width", width);
    gst_structure_get_int(s, "width", &width);
    if (!gst_structure_get_int(s, "height", &given))
        height = MAX(1, gst_util_uint64_scale_int_round(height, width, GST_VIDEO_INFO_WIDTH(own)));
    gst_structure_fixate_field_nearest_int(s, "height", height);
    gst_structure_get_int(s, "height", &height);
    if (width != GST_VIDEO_INFO_WIDTH(own) || height != GST_VIDEO_INFO_HEIGHT(own)) {
        wish->width = width;
        wish->height = height;
    }
}

static void rate_wish(const GstStructure *s, const GstVideoInfo *own, struct source_wish *wish)
{
    gint num, den;
    if (!gst_structure_get_fraction(s, "framerate", &num, &den) || num <= 0)
        return;
    if (own->fps_n == 0 || gst_util_fraction_compare(num, den, own->fps_n, own->fps_d) < 0)
        wish->rate = (struct pelton_rational){num, den};
}

static bool peer_takes(GstCaps *peer, const GstVideoInfo *info)
{
    GstCaps *caps = gst_video_info_to_caps(info);
    bool takes = gst_caps_can_intersect(caps, peer);
    gst_caps_unref(caps);
    return takes;
}

/* own as it will be with the wish. */
static bool wished_info(const GstVideoInfo *own, const struct source_wish *wish, GstVideoInfo *out)
{
    GstVideoFormat format = wish->format ? wish->format : GST_VIDEO_INFO_FORMAT(own);
    gint width = wish->width ? (gint)wish->width : GST_VIDEO_INFO_WIDTH(own);
    gint height = wish->height ? (gint)wish->height : GST_VIDEO_INFO_HEIGHT(own);
    if (format == GST_VIDEO_FORMAT_UNKNOWN ||
        !gst_video_info_set_format(out, format, width, height))
        return false;
    out->fps_n = wish->rate.num ? wish->rate.num : own->fps_n;
    out->fps_d = wish->rate.num ? wish->rate.den : own->fps_d;
    return true;
}

bool source_wish_find(GstPad *pad, const GstVideoInfo *own, struct source_wish *wish)
{
    GstCaps *template = gst_pad_get_pad_template_caps(pad);
    GstCaps *peer = gst_pad_peer_query_caps(pad, template);
    bool found = peer_takes(peer, own);
    *wish = (struct source_wish){0};
    for (guint i = 0; !found && i < gst_caps_get_size(peer); i++) {
        GstStructure *s = gst_structure_copy(gst_caps_get_structure(peer, i));
        GstVideoInfo info;
        *wish = (struct source_wish){0};
        format_wish(s, own, wish);
        size_wish(s, own, wish);
        rate_wish(s, own, wish);
        gst_structure_free(s);
        found = wished_info(own, wish, &info) && peer_takes(peer, &info);
    }
    gst_caps_unref(peer);
    gst_caps_unref(template);
    return found;
}

void source_wish_apply(const struct source_wish *wish, struct pelton_open_params *params)
{
    if (wish->format)
        params->pix_fmt = frame_pix_fmt(wish->format);
    params->output.width = wish->width;
    params->output.height = wish->height;
    if (wish->rate.num)
        params->max_fps = (double)wish->rate.num / wish->rate.den;
}
