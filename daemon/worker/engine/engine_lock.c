/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The engine's lock, and the signals that leave with it.
 *
 * The schedule notes who has work (struct wakes). Threads are signalled after the lock is dropped:
 * to wake a thread takes a while, and it would have to wait for the lock at once.
 */
#include "daemon/worker/engine/engine.h"
#include "daemon/worker/engine/session_internal.h"
#include "daemon/worker/schedule/knobs.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define SIGNALS 64 /* coders that are signalled after the lock is dropped */
/* times that the lock is tried before the thread sleeps: it is held for microseconds, and a thread
 * that sleeps takes ten times as long to wake */
#define TRIES 16

struct signals {
    struct coder *coders[SIGNALS];
    unsigned count;
    bool device, gpu_coder;
};

/* They are to be signalled, with the lock or without it. */
static struct coder *coder_unidle(struct engine *e)
{
    struct coder *c = e->threads.idle;
    e->threads.idle = c->next_idle;
    e->schedule.idle--;
    c->idle = false;
    return c;
}

bool coder_is_next(const struct coder *c)
{
    const struct engine *e = c->engine;
    const struct schedule *s = &e->schedule;
    uint32_t most = tuned(s->setting.tuning.awake, LIVE_WATCH_CODERS), half = s->setting.coders / 2;
    uint32_t count = s->live.coders < most ? s->live.coders : most;
    const struct coder *next = e->threads.idle;
    count = count < half ? count : half;
    for (; next && next != c && count > 1; count--)
        next = next->next_idle;
    return next == c;
}

static void collect_coders(struct engine *e, struct signals *out)
{
    uint32_t *most = &e->schedule.wakes.coders;
    for (; *most && e->threads.idle; --*most) {
        struct coder *c = coder_unidle(e);
        if (out->count < SIGNALS)
            out->coders[out->count++] = c;
        else
            uv_cond_signal(&c->wake);
    }
    *most = 0;
}

static void signal_sources(struct wakes *wakes)
{
    while (wakes->sources) {
        struct window *w = wakes->sources;
        wakes->sources = w->next_woken;
        w->woken = false;
        uv_cond_signal(&session_of(w)->room);
    }
}

static void collect_signals(struct engine *e, struct signals *out)
{
    struct wakes *wakes = &e->schedule.wakes;
    out->count = 0;
    out->device = wakes->device;
    out->gpu_coder = wakes->gpu_coder && e->threads.gpu_coder_sleeps;
    if (wakes->device)
        atomic_store(&e->threads.device_signal, true);
    if (wakes->gpu_coder)
        e->threads.gpu_coder_sleeps = false;
    wakes->device = wakes->gpu_coder = false;
    if (wakes->coders)
        collect_coders(e, out);
    signal_sources(wakes);
}

static void send_signals(struct engine *e, const struct signals *s)
{
    for (unsigned i = 0; i < s->count; i++)
        uv_cond_signal(&s->coders[i]->wake);
    if (s->device)
        uv_cond_signal(&e->threads.device_work);
    if (s->gpu_coder)
        uv_cond_signal(&e->threads.gpu_coder_work);
}

int engine_lock_init(struct engine *e)
{
    struct engine_threads *t = &e->threads;
    if (uv_mutex_init(&e->lock))
        return PELTON_ERR_NOMEM;
    if (uv_cond_init(&t->device_work)) {
        uv_mutex_destroy(&e->lock);
        return PELTON_ERR_NOMEM;
    }
    if (uv_cond_init(&t->gpu_coder_work)) {
        uv_cond_destroy(&t->device_work);
        uv_mutex_destroy(&e->lock);
        return PELTON_ERR_NOMEM;
    }
    if (uv_cond_init(&t->pool_work)) {
        uv_cond_destroy(&t->gpu_coder_work);
        uv_cond_destroy(&t->device_work);
        uv_mutex_destroy(&e->lock);
        return PELTON_ERR_NOMEM;
    }
    return 0;
}

void engine_lock_destroy(struct engine *e)
{
    uv_cond_destroy(&e->threads.pool_work);
    uv_cond_destroy(&e->threads.gpu_coder_work);
    uv_cond_destroy(&e->threads.device_work);
    uv_mutex_destroy(&e->lock);
}

/* One call of eight sleeps up to a millisecond. Each thread has its own random numbers. */
static void engine_delay(const struct engine *e)
{
    static atomic_uint_fast64_t threads;
    static _Thread_local uint64_t random;
    if (!random)
        random = (e->params.delay_seed + atomic_fetch_add(&threads, 1)) * 0x9e3779b97f4a7c15u | 1;
    random = random * 6364136223846793005u + 1442695040888963407u;
    if (!(random >> 61))
        usleep((useconds_t)(random >> 33) % 1000);
}

void engine_lock(struct engine *e)
{
    struct lock_sums *sums = &e->threads.sums;
    if (e->params.delay_seed)
        engine_delay(e);
    if (uv_mutex_trylock(&e->lock)) {
        int64_t begin = now_ns();
        int tries = TRIES;
        while (tries && uv_mutex_trylock(&e->lock)) {
            spin_pause();
            tries--;
        }
        if (!tries)
            uv_mutex_lock(&e->lock);
        int64_t ns = now_ns() - begin;
        sums->waited++;
        sums->waited_ns += ns;
        sums->most_ns = ns > sums->most_ns ? ns : sums->most_ns;
    }
    sums->taken++;
}

void engine_lock_log(const struct engine *e)
{
    const struct lock_sums *sums = &e->threads.sums;
    char line[160];
    snprintf(line, sizeof(line),
             "the engine's lock: taken %" PRIu64 " times, waited for %" PRIu64
             " times, %.3f s in all, %.3f ms at most",
             sums->taken, sums->waited, 1e-9 * (double)sums->waited_ns,
             1e-6 * (double)sums->most_ns);
    engine_log(e, 2, line);
}

void engine_unlock(struct engine *e)
{
    struct signals s;
    collect_signals(e, &s);
    uv_mutex_unlock(&e->lock);
    send_signals(e, &s);
}

void engine_signal(struct engine *e)
{
    struct signals s;
    collect_signals(e, &s);
    send_signals(e, &s);
}

void engine_wait(struct engine *e, uv_cond_t *cond, uint64_t timeout_ns)
{
    engine_signal(e);
    if (timeout_ns)
        uv_cond_timedwait(cond, &e->lock, timeout_ns);
    else
        uv_cond_wait(cond, &e->lock);
}
