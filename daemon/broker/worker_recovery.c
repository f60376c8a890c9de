/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What becomes of streams whose worker has died: see worker_recovery.h.
 *
 * Each stream that the worker had gets a strike. If its source can be read again, it waits for the
 * next worker, which is told the first sequence number still wanted; the subscriber sees a new
 * epoch and DISCONT. If not, it fails by name.
 *
 * One stream may kill worker after worker. With several streams open nobody knows which one did.
 * Streams with a strike are therefore opened one at a time, each on trial. A trial ends
 * when the stream has passed the place of the death, or TRIAL_MS after the worker has its device.
 * It also ends when the stream stands still because its reader holds all slots. Passing the place
 * takes the strike away. Only a stream that was alone or on trial can get a second strike. It is
 * then ended, and its source is refused for a while (quarantine.h).
 *
 * Where the machine is busy a killer may outlast its trial, and die in that of another one. So a
 * death in a trial strikes nobody while a stream is open whose time ran out. The next trials are
 * longer, and one of these deaths decides.
 *
 * Some deaths are nobody's fault and give no strike: those before the worker has its device, and
 * those by SIGBUS, where a disk has no room for a page that is mapped. The limit of restarts ends
 * them.
 */
#include "daemon/broker/worker_recovery.h"

#include "daemon/broker/ask.h"
#include "daemon/broker/broker_stream.h"
#include "daemon/broker/devices.h"
#include "daemon/broker/named.h"
#include "daemon/broker/stream_delivery.h"
#include "daemon/broker/stream_messages.h"

#include <signal.h>

enum { TRIAL_MS = 500, LONG_TRIAL_MS = 4000, PASSED_FRAMES = 32, STRIKES = 2 };

/* ---- after a death ---- */

static bool death_by_stream(const struct worker_process *w)
{
    return w->ready && w->signal != SIGBUS;
}

static void stream_survive(struct broker_stream *s, bool by_stream, bool alone)
{
    struct stream_delivery *d = &s->delivery;
    stream_enter(s, STREAM_QUEUED);
    s->deaths.outlasted = false;
    s->deaths.restarts++;
    s->deaths.death_sequence = d->next_sequence;
    delivery_keep_drops(d);
    d->discont = d->next_sequence > 0;
    if (by_stream && (alone || s->deaths.strikes == 0))
        s->deaths.strikes++;
}

/* Nobody knows where to go on in a stream without frames that are counted. A probe begins anew. */
bool recovery_can_resume(const struct broker_stream *s)
{
    uint32_t transport = s->source.open->transport;
    return s->source.resumable &&
           (s->probe || transport == PELTON_SHM || transport == PELTON_DEVICE);
}

static void stream_quarantine(struct broker_stream *s, uint64_t now_ms)
{
    const struct pelton_failure *lost = &s->deaths.lost;
    struct broker *b = s->broker;
    struct quarantine_key key = quarantine_key_of(s->source.fd, s->source.open->uri);
    quarantine_add(&b->quarantine, &key, now_ms + b->settings->limits.restart_window_ms);
    if (lost->code)
        stream_fail(s, lost->code, lost->hint, "%s", lost->cause);
    else
        stream_fail(s, PELTON_ERR_WORKER_LOST, "please report this stream",
                    "%.120s: the decoding process died twice at this stream, which is set aside",
                    stream_name(s));
}

static void stream_give_up(struct broker_stream *s)
{
    const struct pelton_failure *lost = &s->deaths.lost;
    if (s->probe)
        stream_fail(s, PELTON_ERR_WORKER_LOST, "open it again", "%.120s: the decoding process died",
                    stream_name(s));
    else
        stream_fail(s, lost->code ? lost->code : PELTON_ERR_WORKER_LOST, "open it again",
                    "%.120s: %s, and this source cannot be read a second time", stream_name(s),
                    lost->code ? "the device was lost" : "the decoding process died");
}

static void stream_judge(struct broker_stream *s, uint64_t now_ms)
{
    if (s->deaths.strikes >= STRIKES) {
        stream_quarantine(s, now_ms);
    } else if (!recovery_can_resume(s)) {
        stream_give_up(s);
    } else {
        s->deaths.lost.code = 0;
        stream_send_state(s, PELTON__SOURCE_STATE__STATE__RESTARTING, "the decoding process died");
        named_state(s, PELTON__SOURCE_STATE__STATE__RESTARTING, "the decoding process died");
    }
}

static unsigned open_streams(const struct worker_process *w)
{
    unsigned n = 0;
    for (const struct broker_stream *s = w->broker->streams; s; s = s->next)
        n += s->worker == w && s->state == STREAM_OPEN;
    return n;
}

/* Another stream than the one on trial may be guilty as well. */
static bool death_in_doubt(const struct worker_process *w)
{
    const struct broker_stream *s = w->broker->streams;
    while (s && (s->worker != w || s->state != STREAM_OPEN || s == w->trial || !s->deaths.strikes ||
                 !s->deaths.outlasted))
        s = s->next;
    return s && death_by_stream(w) && !w->long_trials;
}

static void worker_death(struct worker_process *w, uint64_t now_ms)
{
    struct broker *b = w->broker;
    bool doubt = death_in_doubt(w), alone = open_streams(w) == 1;
    const struct broker_stream *trial = doubt ? NULL : w->trial;
    w->trial = NULL;
    w->long_trials = doubt;
    w->died = true;
    w->spawned = w->gone = false;
    b->devices->known &= w != b->workers;
    for (struct broker_stream *s = b->streams; s; s = s->next) {
        if (s->worker == w && s->state == STREAM_OPEN) {
            stream_survive(s, death_by_stream(w), alone || s == trial);
            stream_judge(s, now_ms);
        }
    }
    asks_worker_lost(w);
    broker_changed(b);
}

void recovery_deaths(struct broker *b, uint64_t now_ms)
{
    for (unsigned i = 0; i < b->n_workers; i++)
        if (b->workers[i].gone)
            worker_death(&b->workers[i], now_ms);
}

/* ---- trials ---- */

static bool has_passed(const struct broker_stream *s)
{
    return s->delivery.next_sequence >= s->deaths.death_sequence + PASSED_FRAMES;
}

static bool trial_is_over(struct worker_process *w, uint64_t now_ms)
{
    struct broker_stream *s = w->trial;
    if (s->state != STREAM_OPEN || has_passed(s) || delivery_stands_still(&s->delivery))
        return true;
    if (!w->ready)
        w->trial_ms = now_ms;
    s->deaths.outlasted = now_ms - w->trial_ms >= (w->long_trials ? LONG_TRIAL_MS : TRIAL_MS);
    return s->deaths.outlasted;
}

void recovery_progress(struct broker *b, uint64_t now_ms)
{
    for (unsigned i = 0; i < b->n_workers; i++)
        if (b->workers[i].trial && trial_is_over(&b->workers[i], now_ms))
            b->workers[i].trial = NULL;
    for (struct broker_stream *s = b->streams; s; s = s->next)
        if (s->deaths.strikes && has_passed(s))
            s->deaths.strikes = 0;
}
