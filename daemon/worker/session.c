/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Sessions as the loop thread sees them: open, events, release, end.
 *
 * The happy path is session_open -> the stream thread runs -> events arrive by engine_notify ->
 * on_end. The failure modes are a source that cannot be opened, an unsupported stream, a lost GPU
 * (session_fail from any thread) and session_close at any moment. A session ends when all of these
 * hold: the stream thread has ended, no picture lives, no output waits, pools and store are given
 * up by the GPU thread (released), and all events have been called back.
 */
#include "daemon/worker/engine_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *copy_string(const char *text, bool *failed)
{
    char *copy = text ? strdup(text) : NULL;
    *failed |= text && !copy;
    return copy;
}

static void session_free(struct session *s)
{
    while (s->sub.events) {
        struct event *ev = s->sub.events;
        s->sub.events = ev->next;
        free(ev->frame.side);
        free(ev);
    }
    free(s->probe_sei.first);
    if (s->fd >= 0)
        close(s->fd);
    account_unref(s->account);
    uv_cond_destroy(&s->room);
    free(s->uri);
    free(s->name);
    free(s->pix_fmt);
    free(s);
}

static struct session *session_new(struct engine *e, const struct pelton_open_params *params)
{
    struct session *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    bool failed = uv_cond_init(&s->room) != 0;
    s->engine = e;
    s->params = *params;
    s->fd = params->uri ? -1 : params->fd;
    s->uri = copy_string(params->uri, &failed);
    s->name = copy_string(params->name  ? params->name
                          : params->uri ? params->uri
                                        : "input",
                          &failed);
    s->pix_fmt = copy_string(params->pix_fmt, &failed);
    s->window_tail = &s->window;
    s->outputs_tail = &s->outputs;
    s->sub.events_tail = &s->sub.events;
    s->opened_ns = now_ns();
    s->account = account_create(&e->memory);
    if (failed || !s->account) {
        s->fd = -1; /* stays the caller's */
        session_free(s);
        return NULL;
    }
    return s;
}

int session_open(struct engine *e, const struct pelton_open_params *params,
                 struct wire_stretch stretch, uint64_t resume_sequence, bool probe_only,
                 const struct session_callbacks *callbacks, void *ctx, struct session **out)
{
    struct session *s = session_new(e, params);
    if (!s)
        return PELTON_ERR_NOMEM;
    s->stretch = stretch;
    s->resume_sequence = resume_sequence;
    s->probe_only = probe_only;
    s->sub.callbacks = *callbacks;
    s->sub.ctx = ctx;
    uv_mutex_lock(&e->lock);
    if (uv_thread_create(&s->thread, stream_thread_main, s)) {
        uv_mutex_unlock(&e->lock);
        s->fd = -1;
        session_free(s);
        return PELTON_ERR_NOMEM;
    }
    s->thread_started = true;
    s->next = e->sessions;
    e->sessions = s;
    e->session_count++;
    uv_mutex_unlock(&e->lock);
    *out = s;
    return 0;
}

void session_fail(struct session *s, int code, const char *cause, const char *hint)
{
    if (s->sub.has_failure)
        return;
    s->sub.has_failure = true;
    s->sub.failure.code = code;
    snprintf(s->sub.failure.cause, sizeof(s->sub.failure.cause), "%s", cause);
    snprintf(s->sub.failure.hint, sizeof(s->sub.failure.hint), "%s", hint);
}

void subscription_post(struct subscription *sub, struct event *ev)
{
    ev->next = NULL;
    if (ev->pool)
        ev->pool->events++;
    *sub->events_tail = ev;
    sub->events_tail = &ev->next;
}

/* Nothing is in flight any more: what the GPU thread owned is gone, the loop thread may finish. */
void session_maybe_end(struct session *s)
{
    if (s->sub.end_posted || !s->sub.released)
        return;
    s->sub.end_posted = true;
    s->ended_ns = now_ns();
    engine_notify(s->engine);
}

void session_release(struct session *s, uint32_t epoch, uint32_t slot, uint32_t generation)
{
    struct engine *e = s->engine;
    uv_mutex_lock(&e->lock);
    for (struct pool *p = s->sub.pools; p; p = p->next)
        if (p->format.epoch == epoch && slot < p->format.slots &&
            p->slots[slot].state == POOL_HELD && p->slots[slot].generation == generation) {
            pool_put(p, slot);
            engine_wake_gpu(e);
        }
    uv_mutex_unlock(&e->lock);
}

static void add_times(struct recon_times *sum, const struct recon_times *now,
                      const struct recon_times *base, uint64_t pictures)
{
    uint64_t all = now->pictures - base->pictures;
    double share = all ? (double)pictures / (double)all : 0;
    for (unsigned i = 0; i < RECON_STAGES; i++)
        sum->seconds[i] += share * (now->seconds[i] - base->seconds[i]);
    sum->upload_bytes += (uint64_t)(share * (double)(now->upload_bytes - base->upload_bytes));
    sum->deliver_bytes += (uint64_t)(share * (double)(now->deliver_bytes - base->deliver_bytes));
}

/* A store's times are of all sessions that share it: each is charged by its part of the pictures.
 */
void session_account_gpu(struct session *s, struct recon_times *out)
{
    struct recon_times sum = s->gpu_sum;
    if (s->store)
        add_times(&sum, &s->store->times, &s->gpu_base, s->gpu_pictures);
    *out = sum;
}

static uint64_t pools_bytes(const struct session *s)
{
    uint64_t bytes = 0;
    for (const struct pool *p = s->sub.pools; p; p = p->next)
        bytes += p->format.memfd_size;
    return bytes;
}

static uint64_t host_bytes(struct session *s)
{
    return atomic_load(&s->account->used) + pools_bytes(s);
}

static uint64_t gpu_bytes(const struct session *s)
{
    uint64_t entropy = s->stats.gpu_entropy_pictures
                           ? entropy_gpu_memory(s->engine) / s->engine->session_count
                           : 0;
    return entropy + (s->store ? s->store->memory / s->store->slots * s->quota : 0);
}

void session_account_memory(struct session *s)
{
    uint64_t host = host_bytes(s), gpu = gpu_bytes(s);
    s->peak_host = host > s->peak_host ? host : s->peak_host;
    s->peak_gpu = gpu > s->peak_gpu ? gpu : s->peak_gpu;
}

/* Memory: what is held now; after the end, the most that was. */
static void fill_stats(struct session *s, struct pelton_stats *out)
{
    struct recon_times gpu;
    session_account_gpu(s, &gpu);
    *out = s->stats;
    out->dropped = s->dropped_decoder;
    out->wall = 1e-9 * (double)((s->ended_ns ? s->ended_ns : now_ns()) - s->opened_ns);
    out->memory_host = s->ended_ns ? s->peak_host : host_bytes(s);
    out->memory_gpu = s->ended_ns ? s->peak_gpu : gpu_bytes(s);
    out->bytes_uploaded = gpu.upload_bytes;
    out->device_bandwidth = s->engine->bandwidth;
    out->gpu_upload = gpu.seconds[RECON_UPLOAD];
    out->gpu_classify = gpu.seconds[RECON_CLASSIFY];
    out->gpu_residual = gpu.seconds[RECON_RESIDUAL];
    out->gpu_inter = gpu.seconds[RECON_INTER];
    out->gpu_intra = gpu.seconds[RECON_INTRA];
    out->gpu_deblock = gpu.seconds[RECON_DEBLOCK];
    out->gpu_deliver = gpu.seconds[RECON_DELIVER];
}

void session_stats(struct session *s, struct pelton_stats *out)
{
    uv_mutex_lock(&s->engine->lock);
    fill_stats(s, out);
    uv_mutex_unlock(&s->engine->lock);
}

void session_close(struct session *s)
{
    struct engine *e = s->engine;
    uv_mutex_lock(&e->lock);
    s->sub.closing = s->abort = true;
    atomic_store(&s->stop, true);
    uv_cond_broadcast(&s->room);
    workers_wake(e, UINT_MAX);
    engine_wake_gpu(e);
    uv_mutex_unlock(&e->lock);
}

static void call_event(struct session *s, const struct event *ev)
{
    if (ev->kind == EVENT_FORMAT && s->sub.callbacks.on_format)
        s->sub.callbacks.on_format(s->sub.ctx, &ev->pool->format);
    else if (ev->kind == EVENT_FRAME && s->sub.callbacks.on_frame)
        s->sub.callbacks.on_frame(s->sub.ctx, &ev->frame);
    else if (ev->kind == EVENT_STATE && s->sub.callbacks.on_state)
        s->sub.callbacks.on_state(s->sub.ctx, ev->running, ev->cause);
}

/* Info, then all events. After session_close nothing but on_end is called. */
static void dispatch_events(struct session *s)
{
    struct engine *e = s->engine;
    uv_mutex_lock(&e->lock);
    bool info = s->sub.info_ready && !s->sub.info_sent;
    s->sub.info_sent |= info;
    struct event *events = s->sub.events;
    s->sub.events = NULL;
    s->sub.events_tail = &s->sub.events;
    bool quiet = s->sub.closing;
    uv_mutex_unlock(&e->lock);
    if (info && !quiet && s->sub.callbacks.on_info)
        s->sub.callbacks.on_info(s->sub.ctx, &s->info,
                                 s->probe_only && s->params.side_data ? &s->probe_sei : NULL);
    bool any = events != NULL;
    for (struct event *ev = events; ev; ev = ev->next)
        if (!s->sub.closing) /* a callback may close it */
            call_event(s, ev);
    if (any && s->live)
        atomic_store(&e->awake_until_ns, 0);
    uv_mutex_lock(&e->lock);
    while (events) {
        struct event *ev = events;
        events = ev->next;
        if (ev->pool)
            ev->pool->events--;
        free(ev->frame.side);
        free(ev);
    }
    if (any)
        engine_wake_gpu(e);
    uv_mutex_unlock(&e->lock);
}

static void session_end(struct session *s)
{
    struct engine *e = s->engine;
    struct pelton_stats stats;
    uv_thread_join(&s->thread);
    uv_mutex_lock(&e->lock);
    struct session **at = &e->sessions;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    e->session_count--;
    fill_stats(s, &stats);
    uv_mutex_unlock(&e->lock);
    if (s->sub.callbacks.on_end)
        s->sub.callbacks.on_end(s->sub.ctx, &s->sub.failure, &stats);
    session_free(s);
}

/* One session at a time, from the start again after each end: callbacks may open and close
 * sessions. */
static bool end_one(struct engine *e)
{
    struct session *ended = NULL;
    uv_mutex_lock(&e->lock);
    for (struct session *s = e->sessions; s && !ended; s = s->next)
        if (s->sub.end_posted && !s->sub.events)
            ended = s;
    uv_mutex_unlock(&e->lock);
    if (ended)
        session_end(ended);
    return ended != NULL;
}

void sessions_dispatch(struct engine *e)
{
    /* Sessions are added and removed on this thread only, at the head of the list or in end_one. */
    uv_mutex_lock(&e->lock);
    for (struct session *s = e->sessions; s; s = s->next)
        s->sub.news = s->sub.events || (s->sub.info_ready && !s->sub.info_sent);
    uv_mutex_unlock(&e->lock);
    for (struct session *s = e->sessions; s; s = s->next)
        if (s->sub.news)
            dispatch_events(s);
    while (end_one(e))
        ;
}
