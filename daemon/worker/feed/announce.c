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

static bool post(struct session *s, enum event_kind kind, struct pool *pool,
                 const struct session_frame *frame)
{
    struct event *ev = calloc(1, sizeof(*ev));
    if (!ev)
        return false;
    ev->kind = kind;
    ev->pool = pool;
    if (frame)
        ev->frame = *frame;
    subscription_post(&s->sub, ev);
    return true;
}

static void announce_frame(struct session *s, struct output *out)
{
    struct pool *pool = out->pool;
    bool shown = pool->memory && s->params.bench.transport == PELTON_SHM;
    if (!pool->announced)
        pool->announced = post(s, EVENT_FORMAT, pool, NULL);
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
    if (shown && post(s, EVENT_FRAME, pool, &out->frame)) {
        pool->slots[out->frame.slot].state = POOL_HELD;
        out->frame.side = NULL; /* the event's */
    } else if (pool->memory)
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
static bool announce(struct session *s, struct h264_picture **unref, uint32_t *count)
{
    bool any = false;
    while (s->outputs && output_finished(s->outputs) && *count < UNREF_MAX) {
        struct output *out = s->outputs;
        s->outputs = out->next;
        if (!s->outputs)
            s->outputs_tail = &s->outputs;
        if (!out->drop)
            announce_frame(s, out);
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
static bool discard(struct session *s, struct h264_picture **unref, uint32_t *count)
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

static void fail_session(struct session *s, int code, const char *what)
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
static bool ensure_store(struct engine *e, struct session *s)
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
        fail_session(s, err == GPU_ERR_NOMEM ? PELTON_ERR_NOMEM : PELTON_ERR_OTHER,
                     err == GPU_ERR_NOMEM ? "no GPU memory for its pictures" : gpu_error_text(err));
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

/* A pool has been made: it is the session's current one. */
static void take_pool(struct engine *e, struct session *s)
{
    int err = 0;
    struct pool *pool = pool_maker_result(s, &err);
    if (err) {
        fail_session(s, err, "no memory for its frames");
        return;
    }
    s->sub.epoch++;
    if (s->sub.pools)
        s->sub.pools->retired = true;
    pool->next = s->sub.pools;
    s->sub.pools = pool;
}

/* The first frame that waits decides the epoch. */
static bool ensure_pool(struct engine *e, struct session *s)
{
    struct output *out = s->outputs;
    struct session_format format;
    enum recon_format delivered;
    char why[128];
    if (s->sub.maker.running)
        return false;
    while (out && out->state != OUTPUT_QUEUED)
        out = out->next;
    if (!out && !s->ahead)
        return false;
    if (!format_of(s, out ? out->pic->sps : s->ahead, out && out->pic->view, &format, &delivered)) {
        fail_session(s, PELTON_ERR_USAGE, "the stream cannot be given out in this pixel format");
        return true;
    }
    if (s->sub.pools && format_equal(&format, &s->sub.pools->format))
        return false;
    bool fields =
        out ? out->structure != REC_FRAME : s->params.fields && !s->ahead->frame_mbs_only_flag;
    if (!blur_admit(s, &format, fields, why)) {
        fail_session(s, PELTON_ERR_USAGE, why);
        return true;
    }
    format.epoch = s->sub.epoch + 1;
    format.slots = pool_depth(e, s, format.slot_size);
    if (!pool_maker_start(s, &format, delivered))
        fail_session(s, PELTON_ERR_NOMEM, "no thread for its frames");
    return true;
}

/* What the first frame will need is there, and the stream thread may go on. */
static void end_ahead(struct session *s)
{
    if (s->ahead && (s->abort || (s->sub.pools && store_serves(s, s->ahead)))) {
        s->ahead = NULL;
        uv_cond_signal(&s->room);
    }
}

/* Frees pools of former epochs that nobody uses, or all of them. */
static bool collect_pools(struct engine *e, struct session *s, bool all)
{
    bool any = false;
    for (struct pool **at = &s->sub.pools; *at;) {
        struct pool *pool = *at;
        if (!all && (!pool->retired || pool->busy || pool->events)) {
            at = &pool->next;
            continue;
        }
        *at = pool->next;
        uv_mutex_unlock(&e->lock);
        pool_free(pool);
        uv_mutex_lock(&e->lock);
        any = true;
    }
    return any;
}

static bool names_retired(const struct session *s)
{
    for (const struct output *out = s->outputs; out; out = out->next)
        if (out->pool && out->pool->retired)
            return true;
    return false;
}

static bool may_release(const struct session *s)
{
    if (!s->thread_ended || s->window || s->outputs || s->live_pictures || s->sub.events ||
        s->sub.released || s->sub.maker.running)
        return false;
    for (const struct pool *p = s->sub.pools; p; p = p->next)
        if (p->events)
            return false;
    return true;
}

bool session_tend(struct engine *e, struct session *s)
{
    struct h264_picture *unref[UNREF_MAX];
    uint32_t count = 0;
    bool any = s->sub.maker.running && s->sub.maker.done;
    if (any)
        take_pool(e, s);
    if (s->abort)
        any |= discard(s, unref, &count);
    else
        any |= ensure_store(e, s) | ensure_pool(e, s);
    end_ahead(s);
    if (announce(s, unref, &count)) {
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
    if (!names_retired(s))
        any |= collect_pools(e, s, false);
    if (may_release(s)) {
        collect_pools(e, s, true);
        store_detach(s);
        e->measure |= e->params.timestamps && e->measured < MEASUREMENTS;
        s->sub.released = true;
        session_maybe_end(s);
    } else if (any && s->abort) {
        engine_notify(e);
    }
    return any || count;
}
