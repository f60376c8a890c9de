/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a session needs of the GPU thread besides its pictures: a store and a pool before the first
 * one, its frames announced as they are finished, and everything taken from it again at its end or
 * once it is aborted.
 *
 * GPU thread, with the lock, which is dropped where pictures are unreferenced and pools freed. The
 * failure modes: no memory for its pictures or frames, or a format that it cannot be given out in,
 * fail that session alone; a lost device fails all (gpu_failed).
 */
#include "daemon/worker/feed/blur_rects.h"
#include "daemon/worker/feed/format.h"
#include "daemon/worker/feed/pixels.h"
#include "daemon/worker/steps/reconstruct.h"

#include <stdio.h>
#include <stdlib.h>

#define UNREF_MAX    64
#define MEASUREMENTS 3

#define POOLS_SLOTS 192 /* of all pools together, while each has at least */
#define LEAST_DEPTH 4
#define MOST_DEPTH  32
/* of a part of a file: others' frames come out while it decodes ahead, */
#define PART_DEPTH     256
#define PART_BYTES     (1u << 30) /* within so much memory */
#define SOFTWARE_DEPTH 8
#define LIVE_DEPTH     8

/* ---- announcing ---- */

static void output_announce(struct session *s, struct output *out)
{
    struct pool *pool = out->pool;
    bool shown = pool->memory && s->params.bench.transport == PELTON_SHM;
    subscription_post_format(&s->sub, pool);
    out->frame.epoch = pool->format.epoch;
    out->frame.dropped_decoder = s->dropped_decoder;
    const struct job *owner = out->pic->holder.user;
    for (unsigned i = PELTON_TRACE_PARSED; i <= PELTON_TRACE_MOTION_END; i++)
        out->frame.trace[i] = owner->frame.trace[i];
    if (owner->frame.corrupt) {
        out->frame.flags |= PELTON_FRAME_CORRUPT;
        s->stats.corrupt++;
    }
    s->stats.frames++;
    if (pool->memory)
        s->stats.bytes_delivered += pool->format.slot_size;
    if (shown)
        subscription_post_frame(&s->sub, pool, &out->frame, NULL);
    else if (pool->memory)
        pool_put(pool, out->frame.slot);
}

static bool output_finished(const struct output *out)
{
    const struct job *owner = out->pic->holder.user;
    if (out->state == OUTPUT_SUBMITTED && !out->pool->memory)
        return owner->frame.done == owner->frame.pictures;
    return out->state == OUTPUT_COMPLETE;
}

/* Frames in output order, as far as they are finished. Their pictures are to be unreferenced. */
static bool session_announce(struct session *s, struct h264_picture **unref, uint32_t *count)
{
    bool any = false;
    while (s->outputs && output_finished(s->outputs) && *count < UNREF_MAX) {
        struct output *out = s->outputs;
        s->outputs = out->next;
        if (!s->outputs)
            s->outputs_tail = &s->outputs;
        if (!out->drop)
            output_announce(s, out);
        unref[(*count)++] = out->pic;
        free(out->frame.side);
        free(out);
        any = true;
    }
    return any;
}

/* ---- tending to sessions ---- */

/* After abort nothing new is submitted: what waits counts as done, frames that are not being
 * written are forgotten. */
static bool session_discard(struct session *s, struct h264_picture **unref, uint32_t *count)
{
    bool any = false;
    for (struct job *job = s->window; job; job = job->next)
        if (job->state == JOB_READY) {
            job_done(job);
            any = true;
        }
    struct output **at = &s->outputs;
    while (*at && *count < UNREF_MAX) {
        struct output *out = *at;
        if (out->state != OUTPUT_QUEUED) {
            at = &out->next;
            continue;
        }
        *at = out->next;
        unref[(*count)++] = out->pic;
        free(out->frame.side);
        free(out);
        any = true;
    }
    for (at = &s->outputs; *at; at = &(*at)->next)
        ;
    s->outputs_tail = at;
    return any;
}

static void session_abort(struct session *s, int code, const char *what)
{
    char cause[256];
    snprintf(cause, sizeof(cause), "%.120s: %.125s", s->name, what);
    session_fail(s, code, cause, code == PELTON_ERR_NOMEM ? "decode fewer streams at once" : "");
    s->abort = true;
    atomic_store(&s->stop, true);
    uv_cond_broadcast(&s->room);
    workers_wake(s->engine, UINT_MAX);
    engine_wake_gpu(s->engine);
}

/* Of the oldest picture that waits for a store; NULL: none does. */
static const struct h264_sps *sps_of_next(const struct session *s)
{
    const struct job *job = s->waiting;
    if (s->ahead)
        return s->ahead;
    return job && job->state == JOB_READY ? job->pic->sps : NULL;
}

/* The oldest picture that waits decides which store the session uses. */
static bool session_ensure_store(struct engine *e, struct session *s)
{
    const struct h264_sps *sps = sps_of_next(s);
    if (!sps || store_serves(s, sps))
        return false;
    int err = store_attach(e, s, sps);
    if (err == STORE_LATER) {
        e->store_waits = true;
        return false;
    }
    if (err == GPU_ERR_LOST)
        gpu_failed(e, err);
    else if (err)
        session_abort(s, err == GPU_ERR_NOMEM ? PELTON_ERR_NOMEM : PELTON_ERR_OTHER,
                      err == GPU_ERR_NOMEM ? "no GPU memory for its pictures"
                                           : gpu_error_text(err));
    return true;
}

/* Many streams deliver few frames at a time each; and what a pool holds is pinned memory. */
static uint32_t pool_depth(const struct engine *e, const struct session *s, uint64_t slot_size)
{
    uint32_t depth = e->software          ? SOFTWARE_DEPTH
                     : s->params.realtime ? LIVE_DEPTH
                                          : POOLS_SLOTS / e->session_count;
    if (s->params.depth)
        return s->params.depth > 1024 ? 1024 : s->params.depth;
    if (s->stretch.count > 1 && !e->software && PART_BYTES / slot_size > depth)
        return PART_BYTES / slot_size > PART_DEPTH ? PART_DEPTH
                                                   : (uint32_t)(PART_BYTES / slot_size);
    return depth < LEAST_DEPTH ? LEAST_DEPTH : depth > MOST_DEPTH ? MOST_DEPTH : depth;
}

static bool session_start_pool(struct engine *e, struct session *s,
                               const struct feed_format *format, enum recon_format delivered)
{
    struct pixels pixels = {0};
    struct pool_params params = {.format = *format,
                                 .memory = s->params.bench.transport != PELTON_NONE,
                                 .delivered = (uint8_t)delivered};
    if (delivered == RECON_GRAY && pixels_by_name(format->pix_fmt, &pixels))
        params.grey_depth = pixels.depth;
    params.format.slots = pool_depth(e, s, format->slot_size);
    return subscription_pool_start(&s->sub, &params);
}

/* The first frame that waits decides the epoch. */
static bool session_ensure_pool(struct engine *e, struct session *s)
{
    struct output *out = s->outputs;
    struct feed_format format;
    enum recon_format delivered;
    char why[128];
    if (s->sub.maker.running)
        return false;
    while (out && out->state != OUTPUT_QUEUED)
        out = out->next;
    if (!out && !s->ahead)
        return false;
    if (!format_of(s, out ? out->pic->sps : s->ahead, out && out->pic->view, &format, &delivered)) {
        session_abort(s, PELTON_ERR_USAGE, "the stream cannot be given out in this pixel format");
        return true;
    }
    if (s->sub.pools && format_equal(&format, &s->sub.pools->format))
        return false;
    bool fields =
        out ? out->structure != REC_FRAME : s->params.fields && !s->ahead->frame_mbs_only_flag;
    if (!blur_admit(&s->params, &format, fields, why))
        session_abort(s, PELTON_ERR_USAGE, why);
    else if (!session_start_pool(e, s, &format, delivered))
        session_abort(s, PELTON_ERR_NOMEM, "no thread for its frames");
    return true;
}

/* What the first frame will need is there, and the stream thread may go on. */
static void session_end_ahead(struct session *s)
{
    if (s->ahead && (s->abort || (s->sub.pools && store_serves(s, s->ahead)))) {
        s->ahead = NULL;
        uv_cond_signal(&s->room);
    }
}

static bool session_names_retired(const struct session *s)
{
    for (const struct output *out = s->outputs; out; out = out->next)
        if (out->pool && out->pool->retired)
            return true;
    return false;
}

static bool session_may_end(const struct session *s)
{
    return s->thread_ended && !s->window && !s->outputs && !s->live_pictures && !s->sub.ended &&
           subscription_quiet(&s->sub);
}

/* Nothing is in flight any more. The loop thread may finish. */
static void session_give_up(struct engine *e, struct session *s)
{
    store_detach(s);
    e->measure |= e->params.timestamps && e->measured < MEASUREMENTS;
    subscription_end(&s->sub);
    s->ended_ns = now_ns();
    engine_notify(e);
}

bool session_tend(struct engine *e, struct session *s)
{
    struct h264_picture *unref[UNREF_MAX];
    uint32_t count = 0;
    bool any = subscription_pool_made(&s->sub);
    int err = any ? subscription_pool_adopt(&s->sub) : 0;
    if (err)
        session_abort(s, err, "no memory for its frames");
    if (s->abort)
        any |= session_discard(s, unref, &count);
    else
        any |= session_ensure_store(e, s) | session_ensure_pool(e, s);
    session_end_ahead(s);
    if (session_announce(s, unref, &count)) {
        if (s->sub.events)
            engine_notify(e);
        session_account_memory(s);
        any = true;
    }
    jobs_retire(s, unref, &count, UNREF_MAX);
    if (count) {
        uv_mutex_unlock(&e->lock);
        for (uint32_t i = 0; i < count; i++)
            h264_picture_unref(unref[i]);
        uv_mutex_lock(&e->lock);
    }
    if (!session_names_retired(s))
        any |= subscription_pools_free(&s->sub, false);
    if (session_may_end(s))
        session_give_up(e, s);
    else if (any && s->abort)
        engine_notify(e);
    return any || count;
}
