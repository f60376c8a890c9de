/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The device's thread cares for a session: a store and a pool before the first picture, frames
 * announced as they are finished, and everything taken back at its end or after abort.
 *
 * With the lock, which is dropped to unreference pictures and to free pools. The failure modes are
 * no memory for pictures or frames, and a format that cannot be made: they fail that session alone.
 * A lost device fails all.
 */
#include "daemon/worker/steps/announce.h"

#include "codec/parameter_sets.h"
#include "daemon/worker/feed/blur_rects.h"
#include "daemon/worker/steps/format.h"
#include "daemon/worker/feed/pixels.h"
#include "daemon/worker/steps/pool_ends.h"
#include "daemon/worker/steps/store.h"
#include "daemon/worker/steps/store_attach.h"
#include "proto/start_trace.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- announcing ---- */

_Static_assert((int)TRACE_PARSED == (int)PELTON_TRACE_PARSED &&
                   (int)TRACE_MOTION_END == (int)PELTON_TRACE_MOTION_END,
               "the schedule's points are the first ones of the reader's");

static void delivery_announce(struct session *s, struct delivery *to)
{
    struct pool *pool = to->pool;
    enum pelton_transport transport = s->params.bench.transport;
    bool shown = pool_has_slots(pool) && (transport == PELTON_SHM || transport == PELTON_DEVICE);
    subscription_post_format(&s->sub, pool);
    to->frame.epoch = pool->format.epoch;
    to->frame.dropped_decoder = s->dropped_decoder;
    const struct picture *owner = to->output.pic->holder.user;
    for (unsigned i = 0; i < PICTURE_TRACES; i++)
        to->frame.trace[i] = owner->frame.trace[i];
    if (owner->frame.corrupt || to->output.pic->damage.second_lost) {
        to->frame.flags |= PELTON_FRAME_CORRUPT;
        s->stats.corrupt++;
    }
    s->stats.frames++;
    if (pool->memory) /* the device's own memory needs no bus */
        s->stats.bytes_delivered += pool->format.slot_size;
    if (shown)
        session_post_frame(s, pool, &to->frame);
    else if (pool_has_slots(pool))
        pool_put(pool, to->frame.slot);
}

static bool delivery_finished(const struct delivery *to)
{
    const struct picture *owner = to->output.pic->holder.user;
    if (to->output.state == OUTPUT_SUBMITTED && !pool_has_slots(to->pool))
        return owner->frame.done == owner->frame.pictures;
    return to->output.state == OUTPUT_COMPLETE;
}

static void delivery_free(struct delivery *to, struct unref *unref)
{
    unref->pictures[unref->count++] = to->output.pic;
    free(to->frame.side);
    free(to);
}

/* Frames in output order, as far as they are finished. */
static bool session_announce(struct session *s, struct unref *unref)
{
    struct window *w = &s->window;
    bool any = false;
    while (w->outputs && delivery_finished(delivery_of(w->outputs)) &&
           unref->count < DEVICE_UNREF) {
        struct delivery *to = delivery_of(w->outputs);
        w->outputs = to->output.next;
        if (!w->outputs)
            w->outputs_tail = &w->outputs;
        if (!to->output.drop)
            delivery_announce(s, to);
        delivery_free(to, unref);
        any = true;
    }
    return any;
}

/* ---- tending to sessions ---- */

/* After abort nothing new is submitted: what waits counts as done, and frames that are not being
 * written are forgotten. */
static bool session_discard(struct session *s, struct unref *unref)
{
    bool any = window_discard(&s->window);
    while (unref->count < DEVICE_UNREF) {
        struct output *out = window_drop_output(&s->window);
        if (!out)
            break;
        delivery_free(delivery_of(out), unref);
        any = true;
    }
    return any;
}

static void session_fail_by(struct session *s, int code, const char *what)
{
    char cause[256];
    snprintf(cause, sizeof(cause), "%.120s: %.125s", s->name, what);
    session_abort(s, code, cause, session_hint(code));
}

/* Of the oldest picture that waits for a store; NULL: none does. */
static const struct h264_sps *sps_of_next(const struct session *s)
{
    const struct picture *p = s->window.waiting;
    if (s->ahead)
        return s->ahead;
    return p && p->stage == PICTURE_READY ? p->pic->sps : NULL;
}

/* Frames before the oldest picture that waits are to be handed out, or may come. */
static bool session_shows_earlier(const struct session *s)
{
    const struct output *out = s->window.outputs;
    return !s->window.source_ended ||
           (out && (out->state != OUTPUT_QUEUED || frame_submitted(out->pic->holder.user)));
}

/* The source ends there. It still hands over the frames that it has. */
static void session_note_store_error(struct session *s, int error)
{
    s->store_error = error;
    atomic_store(&s->stop, true);
    wake_source(&s->window);
}

/* Once the frames before are handed out. */
static bool session_fail_by_store(struct session *s)
{
    bool memory = s->store_error == GPU_ERR_NOMEM;
    if (session_shows_earlier(s))
        return false;
    session_fail_by(s, memory ? PELTON_ERR_NOMEM : PELTON_ERR_OTHER,
                    memory ? "no GPU memory for its pictures" : gpu_error_text(s->store_error));
    return true;
}

static void session_drop_ahead(struct session *s)
{
    h264_sps_unref(s->ahead);
    s->ahead = NULL;
    wake_source(&s->window);
}

/* The oldest picture that waits decides which store the session uses. A store that cannot be made
 * ahead is tried again for that picture: whether one comes is not known yet. */
static bool session_ensure_store(struct engine *e, struct session *s)
{
    const struct h264_sps *sps = sps_of_next(s);
    if (!sps || slots_serve(&s->window, sps))
        return false;
    if (s->store_error)
        return session_fail_by_store(s);
    int err = store_attach(s, sps);
    if (err == STORE_LATER) {
        e->schedule.store_waits = true;
        note_window(&s->window); /* it may come without a word */
        return false;
    }
    if (err == GPU_ERR_LOST)
        engine_device_failed(e, err);
    else if (err && s->ahead)
        session_drop_ahead(s);
    else if (err)
        session_note_store_error(s, err);
    return true;
}

/* The stream's share of the host memory for pools. */
static uint32_t pool_fit(const struct engine *e, uint64_t slot_size)
{
    uint64_t budget = e->schedule.setting.pool_budget,
             fit = budget / e->session_count / (slot_size ? slot_size : 1);
    return !budget || fit > POOL_DEPTH_STRETCH ? POOL_DEPTH_STRETCH : (uint32_t)fit;
}

/* Pools in device memory take less where the user's bound is near. */
static uint32_t pool_fit_device(const struct engine *e, uint64_t slot_size)
{
    uint32_t fit = POOL_DEPTH_MOST;
    while (fit > POOL_DEPTH_LEAST && !gpu_memory_fits(e->gpu, fit * slot_size))
        fit /= 2;
    return fit;
}

/* Many streams deliver few frames at a time each; and what a pool holds is pinned memory. */
static uint32_t pool_depth(const struct engine *e, const struct session *s, uint64_t slot_size)
{
    bool device = s->params.bench.transport == PELTON_DEVICE;
    uint32_t most = POOL_DEPTH_MOST,
             fit = device ? pool_fit_device(e, slot_size) : pool_fit(e, slot_size);
    uint32_t depth = e->software          ? POOL_DEPTH_SOFTWARE
                     : s->params.realtime ? POOL_DEPTH_LIVE
                                          : POOLS_SLOTS / e->session_count;
    if (s->params.depth)
        return s->params.depth > 1024 ? 1024 : s->params.depth;
    if (s->params.encoded) /* as many pictures take less memory */
        return fit > POOL_DEPTH_MOST    ? POOL_DEPTH_MOST
               : fit > POOL_DEPTH_LEAST ? fit
                                        : POOL_DEPTH_LEAST;
    if (s->stretch.count > 1 && !e->software && POOL_STRETCH_BYTES / slot_size > depth) {
        most = POOL_DEPTH_STRETCH;
        depth = POOL_STRETCH_BYTES / slot_size > most ? most
                                                      : (uint32_t)(POOL_STRETCH_BYTES / slot_size);
    }
    depth = depth > most ? most : depth;
    depth = depth > fit ? fit : depth;
    return depth < POOL_DEPTH_LEAST ? POOL_DEPTH_LEAST : depth;
}

/* Chroma planes that no source plane gives. */
static uint8_t grey_of_conversion(const struct feed_format *f)
{
    bool missing = f->wish.kind == CONVERSION_PLANES && f->wish.chroma && !f->source.chroma;
    return missing ? f->wish.depth : 0;
}

/* Frames that there will be at most; UINT64_MAX: nobody knows. */
static uint64_t frames_most(const struct pelton_open_params *p)
{
    uint64_t wanted = p->n_wanted_us;
    for (uint32_t i = 0; i < p->n_wanted; i++)
        wanted += p->wanted[i].count;
    if (p->fields || p->views == PELTON_VIEWS_BOTH)
        return UINT64_MAX;
    if (!wanted || p->loop)
        wanted = UINT64_MAX;
    return p->max_frames && p->max_frames < wanted ? p->max_frames : wanted;
}

/* Whole batches: the reader holds one, one waits for it, and one is filled. Large ones take long to
 * fill, so none waits. A clip of one batch needs no other. */
static uint32_t pool_batches(const struct session *s, uint32_t slots, uint32_t batch, uint64_t most)
{
    uint32_t least = s->params.depth || batch > POOL_DEPTH_MOST ? 2 : 3,
             batches = (slots + batch - 1) / batch;
    uint64_t whole = most / batch + (most % batch > 0);
    batches = batches < least ? least : batches;
    return batch * (whole < batches ? (uint32_t)whole : batches);
}

bool session_start_pool(struct session *s, const struct feed_format *format,
                        enum recon_format delivered)
{
    struct pixels pixels = {0};
    struct pool_params params = {.format = *format,
                                 .memory = s->params.bench.transport != PELTON_NONE,
                                 .device = s->params.bench.transport == PELTON_DEVICE,
                                 .delivered = (uint8_t)delivered};
    if (format->converts)
        params.grey_depth = grey_of_conversion(format);
    else if (delivered == RECON_GRAY && pixels_by_name(format->pix_fmt, &pixels))
        params.grey_depth = pixels.depth;
    uint64_t most = frames_most(&s->params);
    params.format.slots = pool_depth(s->engine, s, format->slot_size);
    if (!s->params.depth && most < params.format.slots)
        params.format.slots = (uint32_t)most;
    if (s->params.output.batch > 1) {
        params.format.batch = s->params.output.batch;
        params.format.slots = pool_batches(s, params.format.slots, params.format.batch, most);
    }
    struct pool *kept = s->lavc ? NULL : pools_take_kept(s->engine, s->sub.user.reader, &params);
    if (!kept)
        return subscription_pool_start(&s->sub, &params);
    subscription_pool_reuse(&s->sub, kept, &params.format);
    return true;
}

/* The first frame that waits decides the epoch. Drops the lock. */
static bool session_ensure_pool(struct engine *e, struct session *s)
{
    struct output *out = s->window.outputs;
    struct feed_format format;
    enum recon_format delivered;
    char why[OUTPUT_WHY];
    if (subscription_pool_making(&s->sub))
        return false;
    while (out && out->state != OUTPUT_QUEUED)
        out = out->next;
    if (!out && !s->ahead)
        return false;
    const struct h264_sps *sps = out ? out->pic->sps : s->ahead;
    bool view = out && out->pic->view;
    if (s->sub.pools && s->sub.pools->fits[view] == sps->serial)
        return false;
    if (!format_of(s, sps, view, &format, &delivered, why)) {
        session_fail_by(s, PELTON_ERR_USAGE, why);
        return true;
    }
    /* the device cannot write into a pool that was made without it */
    if (s->sub.pools && (!pool_has_slots(s->sub.pools) || s->sub.pools->parts[0].host) &&
        format_equal(&format, &s->sub.pools->format)) {
        s->sub.pools->fits[view] = sps->serial;
        return false;
    }
    if (!subscription_maker_free(&s->sub, true))
        return false;
    START_TRACE_FIRST("first pool of frames is wanted");
    bool fields = out ? out->structure != REC_FRAME : s->params.fields && !sps->frame_mbs_only_flag;
    if (!blur_admit(&s->params, &format, fields, why))
        session_fail_by(s, PELTON_ERR_USAGE, why);
    else if (!session_start_pool(s, &format, delivered))
        session_fail_by(s, PELTON_ERR_NOMEM, "no thread for its frames");
    return true;
}

/* What the first frame will need is there. The stream thread of a live stream may go on. */
static void session_end_ahead(struct session *s)
{
    if (s->ahead && (s->window.abort || (s->sub.pools && slots_serve(&s->window, s->ahead))))
        session_drop_ahead(s);
}

static bool session_names_retired(const struct session *s)
{
    for (struct output *out = s->window.outputs; out; out = out->next)
        if (delivery_of(out)->pool && delivery_of(out)->pool->retired)
            return true;
    return false;
}

/* A reader in this process uses the memory of slots. */
static bool session_is_used(const struct session *s)
{
    bool used = false;
    for (const struct pool *p = s->inside ? s->sub.pools : NULL; p; p = p->next)
        used |= p->busy > 0;
    return used;
}

/* Drops the lock. */
static bool session_may_end(struct session *s)
{
    const struct window *w = &s->window;
    return w->source_ended && !w->first && !w->outputs && !w->pictures && !s->sub.ended &&
           subscription_quiet(&s->sub) && !session_is_used(s);
}

/* Nothing is in flight any more. The loop thread may finish. */
static void session_end_work(struct engine *e, struct session *s)
{
    struct engine_bandwidth *b = &e->bandwidth;
    store_detach(s);
    b->due |= e->params.timestamps && b->measured < DEVICE_MEASUREMENTS;
    pools_leave(e, &s->sub);
    session_end_subscription(s);
    start_trace("the work of a stream has ended");
    engine_notify(e);
}

static void session_fail_unexported(struct session *s)
{
    char cause[256];
    snprintf(cause, sizeof(cause), "%.80s: %.100s cannot share its memory with other processes",
             s->name, s->engine->device->name);
    session_abort(s, PELTON_ERR_NO_DEVICE, cause,
                  "its driver lacks VK_KHR_external_memory_fd; read frames in host memory");
}

/* The pool that was being made becomes the current one. */
static bool session_adopt_pool(struct session *s)
{
    if (!subscription_pool_made(&s->sub))
        return false;
    int err = subscription_pool_adopt(&s->sub);
    START_TRACE_FIRST("first pool of frames is made");
    if (err == PELTON_ERR_NO_DEVICE)
        session_fail_unexported(s);
    else if (err)
        session_fail_by(s, err, "no memory for its frames");
    s->window.has_pool = s->sub.pools && pool_has_slots(s->sub.pools);
    return true;
}

static void session_retire(struct session *s, struct unref *unref)
{
    while (unref->count < DEVICE_UNREF) {
        struct h264_picture *pic = window_retire(&s->window);
        if (!pic)
            return;
        unref->pictures[unref->count++] = pic;
    }
}

bool session_tend(struct engine *e, struct session *s, struct unref *unref)
{
    if (s->sub.ended) /* the loop thread may free it as soon as the lock is dropped */
        return false;
    uint32_t before = unref->count;
    bool any = session_adopt_pool(s);
    if (s->window.starves && !s->window.abort)
        session_fail_by(s, PELTON_ERR_NOMEM,
                        "it keeps more pictures than the device has memory for");
    if (s->window.abort)
        any |= session_discard(s, unref);
    else
        /* both: a thread makes the pool meanwhile */
        any |= (int)session_ensure_pool(e, s) | (int)session_ensure_store(e, s);
    if (!s->window.abort && session_adopt_pool(s)) { /* so that the first batch delivers too */
        session_ensure_pool(e, s);
        any = true;
    }
    session_end_ahead(s);
    if (session_announce(s, unref)) {
        if (s->sub.events)
            engine_notify(e);
        session_account_memory(s);
        any = true;
    }
    session_retire(s, unref);
    bool former = s->sub.pools && s->sub.pools->next;
    if (former && !session_names_retired(s))
        any |= subscription_pools_free(&s->sub, false);
    any |= unref->count > before;
    if (any)
        note_window(&s->window);
    if (session_may_end(s))
        session_end_work(e, s);
    else if (any && s->window.abort)
        engine_notify(e);
    return any;
}
