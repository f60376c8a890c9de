/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a stream is: information for who opened or probed it, and why it is not supported.
 */
#include "codec/h264_stream.h"
#include "daemon/worker/source/stream_internal.h"
#include "daemon/worker/steps/format.h"
#include "daemon/worker/feed/pixels.h"

#include <stdio.h>

#define PROBE_UNITS 250      /* access units that a probe for side data reads, */
#define PROBE_NS    NS_PER_S /* and how long it waits for them */

/* Twice as many pictures of half the height: times count in half units. */
static void info_of_fields(struct stream *st)
{
    struct pelton_info *info = &st->info;
    info->height /= 2;
    if (st->half_ticks || info->time_base.den > INT32_MAX / 2 ||
        info->frame_rate.num > INT32_MAX / 2 || info->avg_frame_rate.num > INT32_MAX / 2)
        return;
    st->half_ticks = true;
    info->time_base.den *= 2;
    info->frame_rate.num *= 2;
    info->avg_frame_rate.num *= 2;
    info->start_pts *= info->start_pts != INT64_MIN ? 2 : 1;
    info->frames *= info->frames > 0 ? 2 : 1;
}

static void info_from_sps(struct stream *st)
{
    const struct h264_sps *sps = h264_stream_sps(st->codec);
    if (!sps)
        return;
    struct pelton_info *info = &st->info;
    info->coded_width = sps->mb_width * 16u;
    info->coded_height = sps->mb_height * 16u;
    info->width = info->coded_width - sps->crop_left - sps->crop_right;
    info->height = info->coded_height - sps->crop_top - sps->crop_bottom;
    info->level = sps->level_idc;
    struct pixels pixels;
    pixels_of(sps, &pixels);
    snprintf(info->pix_fmt, sizeof(info->pix_fmt), "%s", pixels.name);
    if (st->session->params.fields && !sps->frame_mbs_only_flag)
        info_of_fields(st);
    if (info->sar.num == 0 && sps->vui_present && sps->vui.sar_width)
        info->sar = (struct pelton_rational){sps->vui.sar_width, sps->vui.sar_height};
    info->colour = format_colour(st->session, sps);
    info->vui = side_vui(sps);
}

void stream_drain_probe(struct stream *st)
{
    struct h264_picture *pic;
    while ((pic = h264_stream_next_decode(st->codec)))
        h264_picture_unref(pic);
    while ((pic = h264_stream_next_output(st->codec))) {
        if (!st->session->sub.info_ready)
            side_probe_add(&st->probe, pic);
        h264_picture_unref(pic);
    }
}

bool stream_probed(const struct stream *st)
{
    return !st->session->params.side_data || st->tag >= PROBE_UNITS ||
           now_ns() - st->probe.start_ns > PROBE_NS;
}

void stream_give_info(struct stream *st, bool supported, const char *element, const char *what)
{
    struct session *s = st->session;
    if (st->codec)
        info_from_sps(st);
    if (s->probe_only && !s->sub.info_ready) {
        if (st->codec) {
            h264_stream_flush(st->codec);
            stream_drain_probe(st);
        }
        side_probe_end(&st->probe);
    }
    st->info.supported = supported;
    snprintf(st->info.unsupported_element, sizeof(st->info.unsupported_element), "%s", element);
    snprintf(st->info.unsupported_what, sizeof(st->info.unsupported_what), "%s", what);
    uv_mutex_lock(&st->engine->lock);
    bool first = !s->sub.info_ready;
    if (first) {
        s->sub.info = st->info;
        s->probe_sei = st->probe.out;
        subscription_post_info(&s->sub);
    }
    uv_mutex_unlock(&st->engine->lock);
    if (first)
        engine_notify(st->engine);
}

void stream_stop_unsupported(struct stream *st)
{
    char cause[256];
    const char *element = st->diag.element ? st->diag.element : "stream",
               *what = st->diag.what ? st->diag.what : "not supported";
    snprintf(cause, sizeof(cause), "%.100s: %.50s %lld: %.80s", st->session->name, element,
             (long long)st->diag.value, what);
    stream_give_info(st, false, element, what);
    st->unsupported = true;
    st->failed = true;
    if (!st->session->probe_only)
        stream_report_failure(st, PELTON_ERR_UNSUPPORTED, cause,
                              "FFmpeg may decode it; pelton probe shows what the stream uses");
}
