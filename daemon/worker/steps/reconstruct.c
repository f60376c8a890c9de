/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The device's thread.
 *
 * It goes round: complete what has finished -> tend to the sessions (announce.h) -> submit. It
 * sleeps when a round changed nothing, on the oldest batch in flight or until it is woken. The
 * failure mode is a lost device: every session fails, and all in flight counts as finished, so that
 * it can be taken down.
 */
#include "daemon/worker/steps/reconstruct.h"

#include "daemon/worker/schedule/knobs.h"
#include "daemon/worker/steps/admit.h"
#include "daemon/worker/steps/announce.h"
#include "daemon/worker/steps/pool_ends.h"
#include "daemon/worker/steps/store_attach.h"

#include <malloc.h>
#include <pthread.h>

/* Those that were noted before this round; each may be noted again meanwhile. */
static bool sessions_tend(struct engine *e)
{
    struct unref unref = {.count = 0};
    bool any = false;
    for (uint32_t left = e->schedule.noted_count; left; left--) {
        struct window *w = window_take_noted(&e->schedule);
        struct session *s = w ? session_of(w) : NULL;
        if (!s || s->lavc)
            continue;
        window_due(w);
        any |= session_tend(e, s, &unref);
        if (unref.count < DEVICE_UNREF / 2)
            continue;
        pictures_unref(e, unref.pictures, unref.count);
        unref.count = 0;
    }
    pictures_unref(e, unref.pictures, unref.count);
    return any;
}

static bool device_round(struct engine *e)
{
    struct device_sums *sums = &e->threads.device_sums;
    bool any = false;
    e->schedule.store_waits = false;
    device_sums_step(sums, DEVICE_COMPLETES);
    for (struct slots *st = e->schedule.stores; st; st = st->next)
        any |= store_complete(e, store_of(st));
    device_sums_step(sums, DEVICE_TENDS);
    any |= sessions_tend(e);
    if (!e->schedule.store_waits)
        stores_want_nothing(e);
    uint32_t most = batches_most(&e->schedule);
    device_sums_step(sums, DEVICE_COLLECTS);
    windows_rest(&e->schedule);
    for (struct slots *st = e->schedule.stores; st; st = st->next)
        any |= store_grow(e, store_of(st));
    for (struct slots *st = e->schedule.stores; st; st = st->next)
        any |=
            st->in_flight < most && !st->held_back && !e->gpu_lost && store_submit(e, store_of(st));
    for (struct slots *st = e->schedule.stores; st; st = st->next)
        any |= !st->in_flight && !st->held_back && !e->gpu_lost && /* a batch must find room */
               store_submit_rows(e, store_of(st));
    return any;
}

/* ---- idleness ---- */

/* Host memory is the sessions' together. With the lock, dropped meanwhile. */
static bool host_tend(struct engine *e, int64_t now)
{
    struct engine_idle *idle = &e->idle;
    if (e->sessions) {
        idle->since_ns = 0;
        idle->given = false;
        return true;
    }
    idle->since_ns = idle->since_ns ? idle->since_ns : now;
    if (idle->given || now - idle->since_ns < e->idle_ns)
        return !idle->given;
    idle->given = true;
    engine_unlock(e);
    memory_trim(&e->memory);
    malloc_trim(0);
    engine_lock(e);
    return false;
}

/* With the lock, dropped meanwhile. */
static void memory_tend(struct engine *e)
{
    int64_t now = now_ns();
    e->idle.due |= e->sessions != NULL;
    if (now < e->idle.look_ns)
        return;
    e->idle.look_ns = now + e->idle_ns / MEMORY_IDLE_LOOKS;
    bool host = host_tend(e, now), stores = stores_tend(e, now), pools = pools_tend(e, now);
    e->idle.due = host || stores || pools;
}

/* After the first sessions: by then the device's clocks are up. The best time counts. */
static void measure_bandwidth(struct engine *e)
{
    struct engine_bandwidth *b = &e->bandwidth;
    double bandwidth = 0;
    b->due = false;
    b->measured++;
    if (e->gpu_lost)
        return;
    engine_unlock(e);
    int err = gpu_bandwidth(e->gpu, &bandwidth);
    engine_lock(e);
    if (err == GPU_OK && bandwidth > b->bytes_per_second)
        b->bytes_per_second = bandwidth;
}

/* ---- sleep ---- */

/* For a LIVE picture: a thread that sleeps takes a tenth of a millisecond to wake. */
static void device_spin(struct engine *e)
{
    int64_t end = now_ns() + LIVE_SPIN_NS;
    engine_unlock(e);
    while (!atomic_load(&e->threads.device_signal) && now_ns() < end)
        spin_once();
    engine_lock(e);
}

/* Between the pictures of a live stream. The device's clocks stay up by a little work now and then,
 * none while a picture is decoded. False: that is not needed, and the thread may sleep. */
static bool device_doze(struct engine *e)
{
    int64_t last = e->schedule.live.last_ns;
    if (!e->params.live_clocks || e->device->kind != GPU_KIND_DISCRETE || e->gpu_lost || !last ||
        now_ns() - last > LIVE_ASLEEP_NS)
        return false;
    engine_unlock(e);
    int err = e->pulse ? GPU_OK : gpu_pulse_create(e->gpu, LIVE_PULSE_STEPS, &e->pulse);
    err = err < 0 ? err : gpu_pulse(e->pulse);
    engine_lock(e);
    if (err == GPU_ERR_LOST)
        engine_device_failed(e, err);
    else if (err < 0)
        e->params.live_clocks = false; /* streams go on without */
    else if (!e->threads.device_signal)
        engine_wait(e, &e->threads.device_work, LIVE_PULSE_NS);
    return true;
}

/* CPU time of this thread belongs to all sessions alike. */
static void charge_sessions(struct engine *e, double seconds, double waits)
{
    if (!e->session_count)
        return;
    e->threads.device_cpu.works += seconds / e->session_count;
    e->threads.device_cpu.waits += waits / e->session_count;
}

/* The store whose oldest batch is the oldest of all; NULL: nothing is in flight. */
static struct store *oldest_in_flight(const struct engine *e)
{
    struct store *oldest = NULL;
    for (struct slots *slots = e->schedule.stores; slots; slots = slots->next) {
        struct store *st = store_of(slots);
        if (st->first && (!oldest || st->first->batch.serial < oldest->first->batch.serial))
            oldest = st;
    }
    return oldest;
}

static void sleep_without_batches(struct engine *e)
{
    atomic_bool *signal = &e->threads.device_signal;
    if (e->schedule.live.pictures && !e->software)
        device_spin(e);
    if (!*signal && device_doze(e))
        return;
    uint64_t look = e->idle.due ? (uint64_t)e->idle_ns / MEMORY_IDLE_LOOKS + 1 : 0;
    if (!*signal)
        engine_wait(e, &e->threads.device_work, e->schedule.store_waits ? DEVICE_STORE_NS : look);
}

/* A batch of a live stream takes little longer than a thread that sleeps takes to wake. False: it
 * takes too long to stay awake. */
static bool watch_batch(struct engine *e, struct store *st, uint64_t ticket)
{
    int64_t end = now_ns() + LIVE_EXPECT_NS;
    while (now_ns() < end) {
        if (recon_done(st->recon) >= ticket || atomic_load(&e->threads.device_signal))
            return true;
        spin_once();
    }
    return false;
}

static void sleep_until_news(struct engine *e)
{
    struct store *busy = oldest_in_flight(e);
    engine_signal(e);
    if (!busy) {
        device_sums_step(&e->threads.device_sums, e->sessions ? DEVICE_WAITS_ALL : DEVICE_RESTS);
        sleep_without_batches(e);
        return;
    }
    uint64_t ticket = busy->first->ticket;
    bool awaited = busy->first->awaited, all = busy->slots.in_flight >= batches_most(&e->schedule),
         full = all && !e->schedule.stores->next;
    device_sums_step(&e->threads.device_sums, all ? DEVICE_WAITS_ROOM : DEVICE_WAITS_MORE);
    engine_unlock(e);
    double cpu = thread_cpu_seconds();
    int err = 0;
    if (!awaited || !watch_batch(e, busy, ticket))
        err = recon_wait(busy->recon, ticket, full ? DEVICE_FULL_NS : DEVICE_WAIT_NS);
    cpu = thread_cpu_seconds() - cpu;
    engine_lock(e);
    charge_sessions(e, 0, cpu);
    if (err < 0)
        engine_device_failed(e, err);
}

void device_thread_main(void *engine)
{
    struct engine *e = engine;
    pthread_setname_np(pthread_self(), "pelton-gpu");
    double cpu = thread_cpu_seconds();
    engine_lock(e);
    while (!e->threads.stopping) {
        atomic_store(&e->threads.device_signal, false);
        device_sums_step(&e->threads.device_sums, DEVICE_TENDS);
        if (e->bandwidth.due)
            measure_bandwidth(e);
        memory_tend(e);
        if (!device_round(e) && !pools_free_one(e, POOLS_LEFT))
            sleep_until_news(e);
        double end = thread_cpu_seconds();
        charge_sessions(e, end - cpu, 0);
        cpu = end;
    }
    store_collect(e, true);
    engine_unlock(e);
    gpu_pulse_free(e->pulse);
}
