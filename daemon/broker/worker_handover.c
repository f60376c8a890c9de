/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Queued streams and questions are handed to workers: see worker_handover.h.
 *
 * The happy path is: choose a worker for each new stream, start the workers that are wanted, send
 * Open for each queued stream. A stream stays with the worker that was chosen for it, so a death
 * concerns one device and its streams. The failure modes are a worker that cannot be started, or
 * has died too often (restart.h), and a device that cannot be opened. Then everything that waits
 * for it is refused; nothing is left hanging.
 */
#include "daemon/broker/worker_handover.h"

#include "daemon/broker/ask.h"
#include "daemon/broker/broker_stream.h"
#include "daemon/broker/devices.h"
#include "daemon/broker/open_fields.h"
#include "daemon/broker/opened_source.h"
#include "daemon/broker/shared_file.h"
#include "daemon/broker/stream_delivery.h"
#include "daemon/broker/worker_link.h"
#include "proto/start_trace.h"

#include <stdio.h>
#include <unistd.h>

/* Of that worker; NULL: of any, or of none yet. */
static struct broker_stream *first_queued(const struct broker *b, const struct worker_process *w)
{
    struct broker_stream *s = b->streams;
    while (s && (s->state != STREAM_QUEUED || (w && s->worker != w)))
        s = s->next;
    return s;
}

/* w NULL: everything that waits. */
static void handover_refuse(struct broker *b, const struct worker_process *w,
                            const struct pelton_failure *failure)
{
    struct broker_stream *s;
    if (!w || w == b->workers) /* the first answers for all */
        asks_refuse(b, failure);
    while ((s = first_queued(b, w)) != NULL)
        stream_fail(s, failure->code, failure->hint, "%.100s: %.150s", stream_name(s),
                    failure->cause);
}

static void describe_deaths(const struct restart_policy *p, struct pelton_failure *out)
{
    out->code = PELTON_ERR_WORKER_LOST;
    snprintf(out->cause, sizeof(out->cause),
             "the decoding process died more than %llu times in %llu s",
             (unsigned long long)p->limit, (unsigned long long)(p->window_ms + 999) / 1000);
    wire_copy(out->hint, sizeof(out->hint), "the daemon's log says how; try another device");
}

/* Whether it runs, started where needed. Everything that waits for one that cannot is refused. */
static bool worker_have(struct worker_process *w, uint64_t now_ms)
{
    struct broker *b = w->broker;
    struct pelton_failure failure = {0};
    if (w->spawned)
        return worker_running(w); /* else it is about to be gone, and the step comes here again */
    if (w->died && !restart_allowed(&w->restart, now_ms)) {
        b->quotas.refused[QUOTA_RESTARTS]++;
        describe_deaths(&w->restart, &failure);
    } else if (worker_start(w, &failure) == 0) {
        w->died = false;
        return true;
    }
    handover_refuse(b, b->devices->state == DEVICES_READY ? w : NULL, &failure);
    return false;
}

/* True: streams may be given out. */
static bool devices_ready(struct broker *b, uint64_t now_ms)
{
    static const struct pelton_failure wrong = {
        PELTON_ERR_NO_DEVICE, "a device's name is too long, or there are more than 16", ""};
    if (b->devices->state == DEVICES_READY)
        return true;
    if (b->devices->state == DEVICES_WRONG) {
        handover_refuse(b, NULL, &wrong);
        return false;
    }
    for (unsigned i = 0; i < devices_awaited(b); i++)
        if (worker_have(&b->workers[i], now_ms))
            devices_ask(&b->workers[i]);
    return false;
}

void workers_warm_up(struct broker *b, uint64_t now_ms)
{
    if (devices_ready(b, now_ms))
        worker_have(b->workers, now_ms);
}

/* Sends Open or Probe. */
static void stream_to_worker(struct broker_stream *s, uint64_t now_ms)
{
    Pelton__Open *o = s->source.open;
    struct stream_delivery *d = &s->delivery;
    char *uri = o->uri, *name = o->name;
    uint32_t depth = o->depth;
    struct open_fields fields;
    bool owned;
    int fds[2] = {source_descriptor(s, &owned), s->source.table};
    s->wid = ++s->broker->last_wid;
    s->retry.opened_ms = now_ms;
    s->short_of_memory = false;
    d->sequence_base = s->source.live ? d->next_sequence : d->moved_base;
    o->resume_sequence = s->source.live ? 0 : d->next_sequence - d->moved_base;
    o->name = (char *)stream_name(s);
    o->depth = delivery_pool_depth(s);
    o->uri = s->source.has_fd ? "" : uri; /* a path that was opened here goes as its descriptor */
    open_fields_attach(s, &fields);
    worker_send(s->worker, s->probe ? WIRE_PROBE : WIRE_OPEN, 0, s->wid, s->source.body, fds,
                fds[0] < 0   ? 0
                : fds[1] < 0 ? 1
                             : 2);
    open_fields_detach(s, &fields);
    o->uri = uri;
    o->name = name;
    o->depth = depth;
    if (owned)
        close(fds[0]);
    source_sent(s);
    START_TRACE_FIRST("first stream to the worker");
    stream_enter(s, STREAM_OPEN);
}

/* Streams with a strike are opened one at a time (worker_recovery.c). */
static void worker_feed(struct worker_process *w, uint64_t now_ms)
{
    struct broker_stream *s = first_queued(w->broker, w);
    for (; s && !w->trial; s = s->next) {
        if (s->state != STREAM_QUEUED || s->worker != w || shared_file_waits(s, now_ms))
            continue;
        if (!worker_have(w, now_ms))
            return;
        stream_to_worker(s, now_ms);
        if (s->deaths.strikes > 0) {
            w->trial = s;
            w->trial_ms = now_ms;
        }
    }
}

void worker_handover(struct broker *b, uint64_t now_ms)
{
    struct pelton_failure failure = b->devices->failure;
    b->devices->failure.code = 0;
    if (failure.code)
        handover_refuse(b, NULL, &failure);
    bool questions = asks_want_worker(b);
    if (questions || first_queued(b, NULL)) {
        bool ready = devices_ready(b, now_ms);
        if (questions && ready)
            worker_have(b->workers, now_ms);
        for (struct broker_stream *s = b->streams; ready && s; s = s->next)
            if (s->state == STREAM_QUEUED && !s->worker)
                s->worker = devices_choose(s, now_ms);
        for (unsigned i = 0; ready && i < b->n_workers; i++)
            worker_feed(&b->workers[i], now_ms);
    }
    asks_send(b);
}
