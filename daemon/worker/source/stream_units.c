/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The happy path is units_open, then drain and feed for each access unit. A unit goes into a slot
 * of the pool. Parameter sets that change, and a unit larger than a slot, begin a new epoch.
 *
 * The failure modes are: no memory for a pool (the session fails), a unit beyond the limits (it is
 * dropped), and a slow reader. Nobody can decode after a gap. So the next unit after a drop is a
 * key picture, and all in between are counted as dropped.
 */
#include "codec/h264_stream.h"
#include "daemon/worker/source/live_source.h"
#include "daemon/worker/source/stream_internal.h"
#include "daemon/worker/source/thread_frames.h"
#include "daemon/worker/source/unit_sets.h"
#include "daemon/worker/steps/format.h"

#include <stdlib.h>
#include <string.h>

enum {
    SLOT_LEAST = 1 << 16, /* bytes of a slot */
    SLOT_ROOM = 2,        /* a slot takes so many times the unit that it was made for */
    KEY_RESERVE = 1       /* slots that are kept free for a key picture, but for lossless readers */
};

/* ---- parameter sets ---- */

static void sets_replace(struct stream *st, uint8_t *sets, size_t size)
{
    struct units *u = &st->units;
    free(u->sets);
    u->sets = sets;
    u->sets_size = size;
    u->sets_changed = true;
}

void units_open(struct stream *st)
{
    const AVCodecParameters *par = st->source.stream->codecpar;
    struct units *u = &st->units;
    size_t size = par->extradata_size > 0 ? (size_t)par->extradata_size : 0;
    *u = (struct units){.awaits_key = true, .poc_step = 2};
    if (!size || size > UNIT_SETS_BYTES)
        return;
    uint8_t *sets = malloc(size);
    if (!sets) {
        stream_report_failure(st, PELTON_ERR_NOMEM, "out of memory", "");
        return;
    }
    memcpy(sets, par->extradata, size);
    u->nal_length = unit_nal_length(sets, size);
    sets_replace(st, sets, size);
}

void units_close(struct units *u)
{
    free(u->sets);
    u->sets = NULL;
}

/* Those of a key picture count where they are new. */
static void units_look(struct stream *st, bool *key)
{
    struct units *u = &st->units;
    const AVPacket *p = st->packet;
    struct unit_sets found;
    size_t told_size, size;
    const uint8_t *told = av_packet_get_side_data(p, AV_PKT_DATA_NEW_EXTRADATA, &told_size);
    if (told && told_size && told_size <= UNIT_SETS_BYTES) {
        uint8_t *copy = malloc(told_size);
        if (copy) {
            memcpy(copy, told, told_size);
            u->nal_length = unit_nal_length(copy, told_size);
            sets_replace(st, copy, told_size);
        }
    }
    unit_sets_find(&found, p->data, (size_t)p->size, u->nal_length);
    *key = found.idr || u->entry || (p->flags & AV_PKT_FLAG_KEY);
    if (!found.n_sps || unit_sets_known(&found, u->sets, u->sets_size))
        return;
    uint8_t *sets = unit_sets_write(&found, u->nal_length, &size);
    if (sets)
        sets_replace(st, sets, size);
}

/* ---- step 1 ---- */

static void units_note_picture(struct stream *st, const struct h264_picture *pic)
{
    struct units *u = &st->units;
    if (pic->tag != st->tag || pic->non_existing || pic->view)
        return;
    u->entry |= pic->idr || pic->recovery.present;
    u->has_poc = true;
    u->poc = pic->output_poc;
    if (u->poc & 1 && pic->structure == REC_FRAME)
        u->poc_step = 1;
}

void units_drain(struct stream *st)
{
    struct h264_picture *pic;
    while ((pic = h264_stream_next_decode(st->codec))) {
        units_note_picture(st, pic);
        h264_picture_done(pic);
        h264_picture_unref(pic);
    }
    while ((pic = h264_stream_next_output(st->codec)))
        h264_picture_unref(pic);
}

/* ---- times ---- */

/* A byte stream has none: decoding times are counted, and presentation follows the picture order
 * count since the last IDR picture. */
static void units_count_times(struct stream *st, struct feed_frame *f)
{
    struct units *u = &st->units;
    const struct timestamps *t = &st->times;
    int64_t duration = st->packet->duration ? st->packet->duration : t->default_duration;
    f->dts = u->next_dts;
    u->next_dts += duration;
    if (u->has_poc && u->poc == 0)
        u->idr_dts = f->dts;
    f->pts = f->dts;
    if (u->has_poc && t->announced)
        f->pts = u->idr_dts + (u->poc / u->poc_step + t->announced) * duration;
    f->pts = f->pts < f->dts ? f->dts : f->pts;
}

static int64_t units_time(const struct stream *st, int64_t ts)
{
    return ts == AV_NOPTS_VALUE ? TIMESTAMPS_NONE : ts + st->loop_offset;
}

static void units_times(struct stream *st, struct feed_frame *f)
{
    const AVPacket *p = st->packet;
    f->duration = p->duration;
    if (p->pts == AV_NOPTS_VALUE && p->dts == AV_NOPTS_VALUE) {
        units_count_times(st, f);
        return;
    }
    f->pts = units_time(st, p->pts);
    f->dts = units_time(st, p->dts);
    int64_t begin = p->dts != AV_NOPTS_VALUE ? p->dts : p->pts,
            end = (p->pts != AV_NOPTS_VALUE ? p->pts : p->dts) + p->duration;
    if (st->loop_begin == TIMESTAMPS_NONE)
        st->loop_begin = st->loop_end = begin;
    st->loop_end = end > st->loop_end ? end : st->loop_end;
}

/* False: the unit lies behind the part that is wanted. */
static bool units_wanted(struct stream *st, const struct feed_frame *f)
{
    int64_t ts = f->dts != TIMESTAMPS_NONE ? f->dts : f->pts;
    const struct session *s = st->session;
    if (ts != TIMESTAMPS_NONE && st->end_pts != TIMESTAMPS_NONE && ts >= st->end_pts) {
        st->enough = true;
        return false;
    }
    st->frames++;
    st->enough |= s->params.max_frames && st->frames >= s->params.max_frames;
    return true;
}

/* ---- pool ---- */

static struct feed_format units_format(const struct stream *st, size_t bytes)
{
    const struct session *s = st->session;
    const AVCodecParameters *par = st->source.stream->codecpar;
    const struct h264_sps *sps = h264_stream_sps(st->codec);
    const struct units *u = &st->units;
    struct feed_format f = {.memfd = -1,
                            .pix_fmt = "h264",
                            .width = par->width > 0 ? (uint32_t)par->width : 1,
                            .height = par->height > 0 ? (uint32_t)par->height : 1,
                            .time_base = s->sub.info.time_base,
                            .sar = s->container_sar,
                            .orientation = s->orientation,
                            .encoded = true,
                            .nal_length = u->nal_length,
                            .sets = u->sets,
                            .sets_size = (uint32_t)u->sets_size};
    if (sps) {
        f.width = sps->mb_width * 16u - sps->crop_left - sps->crop_right;
        f.height = sps->mb_height * 16u - sps->crop_top - sps->crop_bottom;
        f.colour = format_colour(s, sps);
        f.vui = side_vui(sps);
    }
    f.slot_size = bytes * SLOT_ROOM > SLOT_LEAST ? bytes * SLOT_ROOM : SLOT_LEAST;
    feed_format_close(&f);
    return f;
}

/* NULL: the session has failed. With the lock, dropped meanwhile. */
static struct pool *units_pool(struct stream *st, size_t bytes)
{
    struct session *s = st->session;
    struct units *u = &st->units;
    if (!s->sub.pools || u->sets_changed || bytes > s->sub.pools->format.slot_size) {
        struct feed_format format = units_format(st, bytes);
        if (s->sub.pools && format.slot_size < s->sub.pools->format.slot_size)
            format.slot_size = s->sub.pools->format.slot_size;
        thread_frames_replace(s, &format, RECON_GRAY);
        u->sets_changed = false;
    }
    return s->window.abort ? NULL : s->sub.pools;
}

/* False: no slot may be had. Units that were there before their reader wait for it. With the lock,
 * dropped meanwhile. */
static bool units_slot(struct stream *st, struct pool *pool, bool key, uint32_t *slot)
{
    struct session *s = st->session;
    bool waits = s->params.policy == PELTON_LOSSLESS || st->source.behind;
    uint32_t reserve = waits || key ? 0 : KEY_RESERVE;
    while (pool->ready - pool->busy <= reserve && !s->window.abort) {
        if (!waits && pool_whole(pool))
            return false;
        engine_wait(s->engine, &s->room, 0);
    }
    return !s->window.abort && pool_take(pool, slot);
}

/* ---- a unit ---- */

/* With the lock. */
static void units_post(struct stream *st, struct pool *pool, struct feed_frame *f)
{
    struct session *s = st->session;
    f->epoch = pool->format.epoch;
    f->generation = pool->slots[f->slot].generation;
    f->decoded_ns = now_ns();
    f->dropped_source = st->source.dropped;
    f->dropped_decoder = s->dropped_decoder;
    f->dropped_client = s->dropped_late;
    f->camera = st->packet->opaque_ref ? (void *)st->packet->opaque_ref->data : NULL;
    s->stats.frames++;
    s->stats.bytes_delivered += f->bytes;
    session_post_frame(s, pool, f);
    session_account_memory(s);
}

/* False: no slot was free. */
static bool units_deliver(struct stream *st, struct feed_frame *f)
{
    struct session *s = st->session;
    engine_lock(st->engine);
    struct pool *pool = units_pool(st, (size_t)st->packet->size);
    bool taken = pool && units_slot(st, pool, f->flags & PELTON_FRAME_KEY, &f->slot);
    if (taken) {
        engine_unlock(st->engine);
        memcpy((uint8_t *)pool->memory + f->slot * pool->format.slot_size, st->packet->data,
               f->bytes);
        engine_lock(st->engine);
        units_post(st, pool, f);
        if (pool->next)
            subscription_pools_free(&s->sub, false);
    } else {
        s->dropped_late++;
    }
    engine_unlock(st->engine);
    engine_notify(st->engine);
    return taken;
}

void units_feed(struct stream *st, bool too_large)
{
    struct units *u = &st->units;
    struct session *s = st->session;
    bool key;
    units_look(st, &key);
    struct feed_frame f = {.bytes = (uint64_t)st->packet->size,
                           .received_ns =
                               st->source.captured_ns ? st->source.captured_ns : now_ns()};
    units_times(st, &f);
    u->entry = u->has_poc = false;
    if ((u->awaits_key && !key && !st->pictures) || !units_wanted(st, &f))
        return; /* nothing has been given yet: no reader misses it */
    stream_give_info(st, true, "", "");
    f.sequence = f.number = st->sequence++;
    f.flags = (key ? PELTON_FRAME_KEY : 0) | (st->discontinuity ? PELTON_FRAME_DISCONT : 0);
    if (f.sequence < s->resume_sequence && !st->source.live) {
        u->awaits_key = false;
        st->pictures++;
        return;
    }
    if (too_large || (u->awaits_key && !key)) {
        engine_lock(st->engine);
        s->dropped_decoder += too_large;
        s->dropped_late += !too_large;
        engine_unlock(st->engine);
        u->awaits_key = true;
        return;
    }
    st->discontinuity = false;
    u->awaits_key = !units_deliver(st, &f);
    if (u->awaits_key && st->source.live)
        live_ask_for_key(st->source.live);
    st->pictures++;
}
