/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Streams and the life of workers: what waits is handed over, what a dead worker had is handed to
 * the next one.
 *
 * The happy path is pump: start the workers that are wanted, send Open for each queued stream. A
 * stream stays with the worker that was chosen for it, so a death is the affair of one device and
 * its streams. The failure modes:
 * - The worker dies. Each stream it had gets a strike and, where its source can be read again,
 * waits for the next worker, which is told the first sequence still wanted; the subscriber sees a
 * new epoch and DISCONT. Where it cannot, it fails by name.
 * - One stream kills worker after worker. With several streams open nobody knows which it was, so
 * those with a strike are then opened one at a time, each on trial until it has passed the place
 * where it was, or stands still because its reader holds all slots, or TRIAL_MS have gone by. The
 * second strike, which only a stream that was alone or on trial can get, ends the stream; passing
 * the place forgives the first. Its source is then refused for a while (quarantine.h).
 * - Workers die too often (restart.h), or cannot be started: what waits is refused, never left
 * hanging.
 */
#include "daemon/broker/broker.h"

#include "daemon/log.h"

#include <stdio.h>
#include <unistd.h>

enum { TRIAL_MS = 500, PASSED_FRAMES = 32, STRIKES = 2 };

/* ---- handing over ---- */

static void stream_to_worker(struct stream *s)
{
    struct broker *b = s->broker;
    bool owned;
    int fd = source_descriptor(s, &owned);
    s->wid = ++b->last_wid;
    s->state = STREAM_OPEN;
    char *uri = s->open->uri, *name = s->open->name;
    uint32_t depth = s->open->depth;
    s->opened_ms = uv_now(&b->loop);
    s->sequence_base = s->live ? s->next_sequence : s->moved_base;
    s->open->resume_sequence = s->live ? 0 : s->next_sequence - s->moved_base;
    s->open->name = (char *)stream_name(s);
    s->open->depth = stream_pool_depth(s);
    s->open->uri = s->has_fd ? "" : uri; /* a path that was opened here goes on as its descriptor */
    channel_send(&s->worker->ch, s->probe ? WIRE_PROBE : WIRE_OPEN, 0, s->wid, s->body, &fd,
                 fd >= 0);
    s->open->uri = uri;
    s->open->name = name;
    s->open->depth = depth;
    if (owned)
        close(fd);
    source_sent(s);
}

/* Of that worker; NULL: of any, or of none yet. */
static struct stream *first_queued(struct broker *b, const struct worker *w)
{
    struct stream *s = b->streams;
    while (s && (s->state != STREAM_QUEUED || (w && s->worker != w)))
        s = s->next;
    return s;
}

/* A question that waits for the first worker. */
static bool first_unsent(const struct broker *b)
{
    const struct ask *a = b->asks;
    while (a && a->worker_request)
        a = a->next;
    return a != NULL;
}

static bool waits_for_worker(struct broker *b)
{
    return first_unsent(b) || first_queued(b, NULL);
}

void recovery_refuse(struct broker *b, const struct worker *w, const struct pelton_failure *failure)
{
    struct stream *s;
    if (!w || w == b->workers) /* the first answers for all */
        asks_refuse(b, failure);
    while ((s = first_queued(b, w)) != NULL) {
        stream_fail(s, failure->code, failure->hint, "%.100s: %.150s", stream_name(s),
                    failure->cause);
    }
}

bool recovery_have(struct worker *w)
{
    struct broker *b = w->broker;
    struct pelton_failure failure = {0};
    if (w->spawned)
        return worker_running(w); /* else it is about to be gone, and recovery comes here again */
    if (w->died && !restart_allowed(&w->restart, uv_now(&b->loop))) {
        failure.code = PELTON_ERR_WORKER_LOST;
        snprintf(failure.cause, sizeof(failure.cause),
                 "the decoding process died more than %llu times in %llu s",
                 (unsigned long long)w->restart.limit,
                 (unsigned long long)(w->restart.window_ms + 999) / 1000);
        wire_copy(failure.hint, sizeof(failure.hint),
                  "the daemon's log says how; try another device");
    } else if (worker_start(w, &failure) == 0) {
        w->died = false;
        return true;
    }
    recovery_refuse(b, b->devices == DEVICES_READY ? w : NULL, &failure);
    return false;
}

static void pump_worker(struct worker *w)
{
    struct stream *s;
    while (!w->trial && (s = first_queued(w->broker, w)) != NULL && recovery_have(w)) {
        stream_to_worker(s);
        if (s->strikes > 0) {
            w->trial = s;
            w->trial_ms = uv_now(&w->broker->loop);
        }
    }
}

void recovery_pump(struct broker *b)
{
    if (b->pumping || b->closing || !waits_for_worker(b))
        return;
    b->pumping = true;
    bool ready = devices_need(b);
    if (first_unsent(b) && (!ready || recovery_have(b->workers)))
        asks_send(b);
    if (ready) {
        for (struct stream *s = b->streams; s; s = s->next)
            if (s->state == STREAM_QUEUED && !s->worker)
                s->worker = devices_choose(s);
        for (unsigned i = 0; i < b->n_workers; i++)
            pump_worker(&b->workers[i]);
    }
    b->pumping = false;
}

/* ---- after a death ---- */

static void stream_survive(struct stream *s, bool alone)
{
    s->state = STREAM_QUEUED;
    s->restarts++;
    s->death_sequence = s->next_sequence;
    stream_keep_drops(s);
    s->discont = s->next_sequence > 0;
    if (alone || s->strikes == 0)
        s->strikes++;
}

/* Without frames that are counted nobody knows where to go on. */
static bool can_resume(const struct stream *s)
{
    return s->resumable && s->open->transport == PELTON_SHM;
}

/* True where the stream has ended here. */
static bool condemn(struct stream *s)
{
    if (s->strikes >= STRIKES) {
        struct quarantine_key key = quarantine_key_of(s->fd, s->open->uri);
        quarantine_add(&s->broker->quarantine, &key,
                       uv_now(&s->broker->loop) + s->broker->settings->limits.restart_window_ms);
        if (s->lost.code) {
            stream_fail(s, s->lost.code, s->lost.hint, "%s", s->lost.cause);
        } else {
            stream_fail(
                s, PELTON_ERR_WORKER_LOST, "please report this stream",
                "%.120s: the decoding process died twice at this stream, which is set aside",
                stream_name(s));
        }
        return true;
    }
    if (!s->probe && !can_resume(s)) {
        int code = s->lost.code ? s->lost.code : PELTON_ERR_WORKER_LOST;
        stream_fail(s, code, "open it again",
                    "%.120s: %s, and this source cannot be read a second time", stream_name(s),
                    s->lost.code ? "the device was lost" : "the decoding process died");
        return true;
    }
    if (s->probe && !s->resumable) {
        stream_fail(s, PELTON_ERR_WORKER_LOST, "open it again", "%.120s: the decoding process died",
                    stream_name(s));
        return true;
    }
    return false;
}

void recovery_worker_gone(struct worker *w)
{
    struct broker *b = w->broker;
    unsigned open = 0;
    struct stream *trial = w->trial;
    w->trial = NULL;
    w->died = true;
    b->device_known &= w != b->workers;
    for (struct stream *s = b->streams; s; s = s->next)
        open += s->worker == w && s->state == STREAM_OPEN;
    b->pumping = true; /* not before all are judged */
    for (struct stream *s = b->streams; s; s = s->next)
        if (s->worker == w && s->state == STREAM_OPEN)
            stream_survive(s, open == 1 || s == trial);
    for (struct stream *s = b->streams, *next; s; s = next) {
        next = s->next;
        if (s->worker == w && s->state == STREAM_QUEUED && s->restarts > 0 && !condemn(s)) {
            s->lost.code = 0;
            stream_state(s, PELTON__SOURCE_STATE__STATE__RESTARTING, "the decoding process died");
            named_state(s, PELTON__SOURCE_STATE__STATE__RESTARTING, "the decoding process died");
        }
    }
    b->pumping = false;
    asks_worker_lost(w);
    recovery_pump(b);
}

/* ---- trials ---- */

void recovery_progress(struct stream *s)
{
    struct worker *w = s->worker;
    bool passed = s->state == STREAM_ENDED || s->next_sequence >= s->death_sequence + PASSED_FRAMES;
    bool stands_still = s->pools && s->pools->held == s->pools->n_slots;
    if (passed)
        s->strikes = 0;
    if ((passed || stands_still) && w && w->trial == s) {
        w->trial = NULL;
        recovery_pump(s->broker);
    }
}

void recovery_check(struct broker *b, uint64_t now_ms)
{
    bool over = false;
    for (unsigned i = 0; i < b->n_workers; i++) {
        struct worker *w = &b->workers[i];
        if (w->trial && now_ms - w->trial_ms >= TRIAL_MS) {
            w->trial = NULL;
            over = true;
        }
    }
    if (over)
        recovery_pump(b);
}
