/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a picture's frames look like to readers: size, aspect, colour. A change of any of it begins
 * a new epoch.
 */
#include "daemon/worker/steps/format.h"

#include "daemon/worker/feed/pixels.h"
#include "daemon/worker/source/side_data.h"

#include <stdio.h>
#include <string.h>

#define UNSPECIFIED 2 /* H.273 */

/* Where nobody says: BT.709 from 720 lines on, BT.601 below (525 lines: SMPTE 170M, 625: BT.470BG),
 * limited range. */
static struct pelton_colour assumed_colour(uint32_t height)
{
    uint8_t code = height >= 720 ? 1 : height == 576 || height == 288 ? 5 : 6;
    return (struct pelton_colour){.primaries = code,
                                  .transfer = height >= 720 ? 1 : 6,
                                  .matrix = code,
                                  .range = PELTON_RANGE_LIMITED,
                                  .source = PELTON_COLOUR_ASSUMED};
}

static bool has_description(const struct pelton_colour *c)
{
    return c->primaries != UNSPECIFIED || c->transfer != UNSPECIFIED || c->matrix != UNSPECIFIED;
}

struct pelton_colour format_colour(const struct session *s, const struct h264_sps *sps)
{
    const struct h264_vui *vui = &sps->vui;
    struct pelton_colour colour =
        assumed_colour(sps->mb_height * 16u - sps->crop_top - sps->crop_bottom);
    bool signal = sps->vui_present && vui->video_signal_type_present;
    if (s->has_container_colour)
        colour = s->container_colour;
    else if (signal)
        colour.primaries = colour.transfer = colour.matrix = UNSPECIFIED;
    if (colour.siting == 0)
        colour.siting = 1; /* left, the standard's default (chroma_loc_info_present_flag 0) */
    if (signal) {
        colour.range = vui->full_range ? PELTON_RANGE_FULL : PELTON_RANGE_LIMITED;
        /* libavformat gives a range that it has from the bitstream as the container's */
        if (!has_description(&colour) || vui->colour_description_present ||
            !s->has_container_colour)
            colour.source = PELTON_COLOUR_BITSTREAM;
    }
    if (signal && vui->colour_description_present) {
        colour.primaries = vui->colour_primaries;
        colour.transfer = vui->transfer;
        colour.matrix = vui->matrix;
    }
    if (sps->vui_present && vui->chroma_loc_present)
        colour.siting = (uint8_t)(vui->chroma_loc_top + 1); /* FFmpeg's numbers: 0 is unknown */
    return colour;
}

static bool same_layout(const struct feed_format *a, const struct feed_format *b)
{
    return a->width == b->width && a->height == b->height && !strcmp(a->pix_fmt, b->pix_fmt);
}

/* The planes of frames that leave as they are decoded. */
static bool format_plain(const struct session *s, const struct h264_sps *sps, struct feed_format *f,
                         enum recon_format *delivered)
{
    struct pixels pixels;
    if (!pixels_choose(s->pix_fmt, sps, &pixels, delivered) &&
        (!s->params.any_pix_fmt || !pixels_choose(NULL, sps, &pixels, delivered)))
        return false;
    pixels_layout(&pixels, f->picture_width, f->picture_height, f);
    return true;
}

/* The planes of frames that are converted. A reader that takes any format gets its size in the
 * stream's own. */
static bool format_converted(const struct session *s, const struct h264_sps *sps,
                             struct feed_format *f, enum recon_format *delivered,
                             char why[OUTPUT_WHY])
{
    const struct pelton_output *output = &s->params.output;
    struct pixels own;
    pixels_of(sps, &own);
    f->source = (struct conversion_source){.width = f->picture_width,
                                           .height = f->picture_height,
                                           .chroma = sps->chroma_format_idc,
                                           .depth = {sps->bit_depth[0], sps->bit_depth[1]},
                                           .matrix = f->colour.matrix,
                                           .siting = f->colour.siting,
                                           .full_range = f->colour.range == PELTON_RANGE_FULL};
    bool made = output_wish(s->pix_fmt, output, &own, &f->wish, why) &&
                conversion_settle(&f->source, &f->wish, why);
    if (!made && s->params.any_pix_fmt)
        made = output_wish(NULL, output, &own, &f->wish, why) &&
               conversion_settle(&f->source, &f->wish, why);
    if (!made)
        return false;
    f->converts = true;
    *delivered = own.planes;
    output_format(output, f);
    return true;
}

/* A wish for RGB alone is met where that is possible. Else a reader that takes any format gets the
 * stream's own. */
static bool format_planes(const struct session *s, const struct h264_sps *sps,
                          struct feed_format *f, enum recon_format *delivered, char why[OUTPUT_WHY])
{
    bool changes = output_changes(&s->params.output);
    if ((changes || output_is_rgb(s->pix_fmt)) && format_converted(s, sps, f, delivered, why))
        return true;
    return !changes && format_plain(s, sps, f, delivered);
}

bool format_of(const struct session *s, const struct h264_sps *sps, bool second_view,
               struct feed_format *out, enum recon_format *delivered, char why[OUTPUT_WHY])
{
    struct feed_format f = {.picture_width = sps->mb_width * 16u - sps->crop_left - sps->crop_right,
                            .picture_height =
                                sps->mb_height * 16u - sps->crop_top - sps->crop_bottom,
                            .memfd = -1};
    snprintf(why, OUTPUT_WHY, "the stream cannot be given out in this pixel format");
    if (s->params.fields && !sps->frame_mbs_only_flag)
        f.picture_height /= 2; /* cropping is in units of two rows (7-21, 7-22) */
    f.time_base = s->sub.info.time_base;
    f.sar = s->container_sar.num ? s->container_sar : (struct pelton_rational){0, 1};
    if (!f.sar.num && sps->vui_present && sps->vui.sar_width && sps->vui.sar_height)
        f.sar = (struct pelton_rational){sps->vui.sar_width, sps->vui.sar_height};
    f.colour = format_colour(s, sps);
    f.orientation = s->orientation;
    f.vui = side_vui(sps);
    if (!format_planes(s, sps, &f, delivered, why))
        return false;
    /* shown as the base view is */
    if (second_view && s->sub.pools && same_layout(&f, &s->sub.pools->format)) {
        f.sar = s->sub.pools->format.sar;
        f.colour = s->sub.pools->format.colour;
        f.vui = s->sub.pools->format.vui;
        f.source.matrix = s->sub.pools->format.source.matrix;
    }
    *out = f;
    return true;
}

static bool same_rational(struct pelton_rational a, struct pelton_rational b)
{
    return a.num == b.num && a.den == b.den;
}

static bool same_vui(const struct pelton_vui *a, const struct pelton_vui *b)
{
    return a->present == b->present && a->video_format == b->video_format &&
           a->overscan == b->overscan && a->fixed_frame_rate == b->fixed_frame_rate &&
           a->num_units_in_tick == b->num_units_in_tick && a->time_scale == b->time_scale &&
           a->reorder_frames == b->reorder_frames && a->hrd == b->hrd &&
           a->pic_struct == b->pic_struct;
}

/* One conversion serves both. */
static bool same_source(const struct conversion_source *a, const struct conversion_source *b)
{
    return a->width == b->width && a->height == b->height && a->chroma == b->chroma &&
           a->depth[0] == b->depth[0] && a->depth[1] == b->depth[1] && a->matrix == b->matrix &&
           a->siting == b->siting && a->full_range == b->full_range;
}

bool format_equal(const struct feed_format *a, const struct feed_format *b)
{
    if (a->converts != b->converts || (a->converts && !same_source(&a->source, &b->source)))
        return false;
    return same_layout(a, b) && same_rational(a->sar, b->sar) && a->orientation == b->orientation &&
           !memcmp(&a->colour, &b->colour, sizeof(a->colour)) && same_vui(&a->vui, &b->vui);
}
