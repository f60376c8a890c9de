/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Sessions as the loop thread sees them: open, events, release, end.
 *
 * The happy path is session_open -> the stream thread runs -> events arrive by engine_notify ->
 * on_end. The failure modes are a source that cannot be opened, an unsupported stream, a lost GPU
 * (session_fail from any thread) and session_close at any moment. A session ends when all of these
 * hold: the stream thread has ended, no picture lives, no output waits, pools and store are given
 * up by the device's thread, and all events have been called back.
 */
#include "codec/parameter_sets.h"
#include "daemon/stretch_table.h"
#include "daemon/worker/engine/session_internal.h"
#include "daemon/worker/steps/store.h"

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

/* NULL: it is empty, or there is no memory. */
static void *copy_list(const void *list, uint32_t count, size_t size, bool *failed)
{
    void *copy = count ? malloc(count * size) : NULL;
    if (copy)
        memcpy(copy, list, count * size);
    *failed |= count && !copy;
    return copy;
}

static void session_free(struct session *s)
{
    subscription_clear(&s->sub);
    stretch_table_unmap(s->table);
    free(s->probe_sei.first);
    if (s->fd >= 0)
        close(s->fd);
    account_unref(s->account);
    h264_sps_unref(s->ahead);
    uv_cond_destroy(&s->room);
    free(s->uri);
    free(s->name);
    free(s->pix_fmt);
    free((void *)s->params.wanted);
    free((void *)s->params.wanted_us);
    free(s);
}

/* The GPU thread makes a session's frames, or its stream thread. */
static void session_wake(void *session)
{
    struct session *s = session;
    if (s->lavc) {
        uv_cond_signal(&s->room);
        return;
    }
    wake_window(&s->window);
    engine_signal(s->engine); /* its callers know the bare lock only */
}

/* The loop thread has something to call back. With the lock. */
static void session_note(void *session)
{
    struct session *s = session;
    struct engine *e = s->engine;
    if (s->place.noted)
        return;
    s->place.noted = true;
    s->place.next_noted = NULL;
    *e->noted_tail = s;
    e->noted_tail = &s->place.next_noted;
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
    s->params.wanted =
        copy_list(params->wanted, params->n_wanted, sizeof(*params->wanted), &failed);
    s->params.wanted_us =
        copy_list(params->wanted_us, params->n_wanted_us, sizeof(*params->wanted_us), &failed);
    s->opened_ns = now_ns();
    s->account = account_create(&e->memory);
    if (failed || !s->account) {
        s->fd = -1; /* stays the caller's */
        session_free(s);
        return NULL;
    }
    return s;
}

/* With the lock. */
static void session_link(struct engine *e, struct session *s)
{
    s->place.link = &e->sessions;
    s->place.next = e->sessions;
    if (s->place.next)
        s->place.next->place.link = &s->place.next;
    e->sessions = s;
    e->session_count++;
}

/* A callback may have closed it since. With the lock; no other thread notes it any more. */
static void session_unlink(struct engine *e, struct session *s)
{
    struct session **at = &e->noted;
    *s->place.link = s->place.next;
    if (s->place.next)
        s->place.next->place.link = s->place.link;
    e->session_count--;
    if (!s->place.noted)
        return;
    while (*at != s)
        at = &(*at)->place.next_noted;
    *at = s->place.next_noted;
    if (!*at)
        e->noted_tail = at;
}

int session_open(struct engine *e, const struct pelton_open_params *params,
                 const struct session_extra *extra, const struct feed_callbacks *callbacks,
                 void *ctx, struct session **out)
{
    struct session *s = session_new(e, params);
    if (!s)
        return PELTON_ERR_NOMEM;
    bool probe_only = extra->probe_only;
    s->stretch = extra->stretch;
    s->table = extra->table;
    s->join_bytes = extra->join_bytes;
    s->resume_sequence = extra->resume_sequence;
    s->probe_only = probe_only;
    s->shared = extra->shared;
    s->inside = extra->inside;
    s->encodings = extra->encodings;
    s->lavc = e->lavc || (params->encoded && !probe_only);
    subscription_init(&s->sub,
                      &(struct subscription_owner){&e->lock, s->lavc ? NULL : e->gpu, session_wake,
                                                   session_note, s},
                      callbacks, ctx);
    s->sub.user = extra->user;
    s->sub.probe_sei = probe_only && params->side_data ? &s->probe_sei : NULL;
    s->window.realtime = params->realtime;
    s->window.both_views = params->views == PELTON_VIEWS_BOTH;
    engine_lock(e);
    window_open(&s->window, &e->schedule);
    s->base.cpu = e->threads.device_cpu;
    session_link(e, s);
    engine_unlock(e);
    if (uv_thread_create(&s->thread, stream_thread_main, s) == 0) { /* takes 0.2 ms */
        *out = s;
        return 0;
    }
    engine_lock(e);
    session_unlink(e, s);
    window_close(&s->window);
    engine_unlock(e);
    s->fd = -1; /* stays the caller's, as the table */
    s->table = NULL;
    session_free(s);
    return PELTON_ERR_NOMEM;
}

void session_release(struct session *s, uint32_t epoch, uint32_t slot, uint32_t generation)
{
    subscription_release(&s->sub, epoch, slot, generation);
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
    struct slots *slots = s->window.slots.of;
    if (slots)
        add_times(&sum, &store_of(slots)->times, &s->base.gpu, s->window.slots.pictures);
    *out = sum;
}

static uint64_t host_bytes(struct session *s)
{
    return atomic_load(&s->account->used) + subscription_bytes(&s->sub, false);
}

static uint64_t gpu_bytes(const struct session *s)
{
    const struct engine *e = s->engine;
    struct slots *slots = s->window.slots.of;
    uint64_t bytes = subscription_bytes(&s->sub, true);
    bytes += s->stats.gpu_entropy_pictures ? e->entropy_bytes / e->session_count : 0;
    if (slots)
        bytes += store_of(slots)->memory / slots->count * slots_quota(&s->window);
    return bytes;
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
    out->cpu_device = s->engine->threads.device_cpu.works - s->base.cpu.works;
    out->cpu_wait = s->engine->threads.device_cpu.waits - s->base.cpu.waits;
    out->dropped = s->dropped_decoder;
    out->libavcodec = s->lavc && !s->probe_only && !s->params.encoded;
    out->wall = 1e-9 * (double)((s->ended_ns ? s->ended_ns : now_ns()) - s->opened_ns);
    out->memory_host = s->ended_ns ? s->peak_host : host_bytes(s);
    out->memory_gpu = s->ended_ns ? s->peak_gpu : gpu_bytes(s);
    engine_memory(s->engine, out);
    out->bytes_uploaded = gpu.upload_bytes;
    out->bytes_over_bus += gpu.upload_bytes + (out->libavcodec ? 0 : out->bytes_delivered);
    out->device_bandwidth = s->engine->bandwidth.bytes_per_second;
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
    engine_lock(s->engine);
    fill_stats(s, out);
    engine_unlock(s->engine);
}

void session_close(struct session *s)
{
    struct engine *e = s->engine;
    engine_lock(e);
    s->sub.closing = true;
    session_note(s); /* nothing else may happen before its end */
    session_give_up(s);
    engine_unlock(e);
}

static void session_dispatch(struct session *s)
{
    bool any = subscription_dispatch(&s->sub);
    if (any && s->window.live)
        atomic_store(&s->engine->loop.awake_until_ns, 0);
}

static void session_end(struct session *s)
{
    struct engine *e = s->engine;
    struct pelton_stats stats;
    uv_thread_join(&s->thread);
    engine_lock(e);
    session_unlink(e, s);
    window_close(&s->window);
    fill_stats(s, &stats);
    engine_unlock(e);
    subscription_call_end(&s->sub, &stats);
    session_free(s);
}

/* The sessions with something to call back. With the lock. */
static struct session *take_noted(struct engine *e)
{
    struct session *first = e->noted;
    for (struct session *s = first; s; s = s->place.next_noted) {
        s->place.next_due = s->place.next_noted; /* others may note it again meanwhile */
        s->place.ends = s->sub.ended;
        s->place.noted = false;
    }
    e->noted = NULL;
    e->noted_tail = &e->noted;
    return first;
}

/* Callbacks may open and close sessions. Sessions end on this thread only. */
void sessions_dispatch(struct engine *e)
{
    engine_lock(e);
    struct session *due = take_noted(e);
    engine_unlock(e);
    for (struct session *s = due; s; s = s->place.next_due)
        session_dispatch(s);
    while (due) {
        struct session *s = due;
        due = s->place.next_due;
        if (s->place.ends)
            session_end(s);
    }
}
