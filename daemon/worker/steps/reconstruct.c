/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The GPU thread: submits batches and completes them.
 *
 * It goes round: complete what has finished -> tend to the sessions (session_tend.c) -> submit; and
 * sleeps when a round changed nothing, on the oldest batch in flight or on gpu_work. The failure
 * mode is a lost device: every session fails, and whatever was in flight counts as finished, so
 * that all of it can be taken down.
 */
#include "daemon/worker/steps/entropy_gpu.h"
#include "daemon/worker/steps/reconstruct.h"
#include "daemon/worker/schedule/batch.h"

#include <pthread.h>

#define WAIT_NS  100000u   /* for a batch, before looking for new work again */
#define FULL_NS  1000000u  /* the same while no batch can be submitted anyway */
#define STORE_NS 10000000u /* while a session waits for slots of a store */
/* on a picture of a live stream, as a thread that sleeps takes a tenth of a millisecond to wake */
#define SPIN_NS     20000000u
#define PULSE_NS    1000000u /* between two pulses */
#define PULSE_STEPS 200000u  /* docs/performance.md: half of that is not enough for an H200 */

void gpu_fail_all(struct engine *e, int code, const char *cause, const char *hint)
{
    for (struct session *s = e->sessions; s; s = s->next) {
        session_fail(s, code, cause, hint);
        s->abort = true;
        atomic_store(&s->stop, true);
        uv_cond_broadcast(&s->room);
    }
    workers_wake(e, UINT_MAX);
}

void gpu_failed(struct engine *e, int error)
{
    char cause[256];
    snprintf(cause, sizeof(cause), "GPU %.100s: %.100s", e->device->name, gpu_error_text(error));
    if (error == GPU_ERR_LOST)
        e->gpu_lost = true;
    gpu_fail_all(e,
                 error == GPU_ERR_LOST    ? PELTON_ERR_GPU_LOST
                 : error == GPU_ERR_NOMEM ? PELTON_ERR_NOMEM
                                          : PELTON_ERR_OTHER,
                 cause, error == GPU_ERR_LOST ? "the worker has to be restarted" : "");
}

/* ---- completion ---- */

void job_done(struct job *job)
{
    struct session *s = job->session;
    job_set_state(job, JOB_DONE);
    job_settled(job);
    entropy_keep(s->engine, job, 0);
    job->owner->frame.done++;
    s->window_busy--;
    if (job->counts) {
        s->arrays--;
        if (s->engine->entropy_gpu)
            workers_wake(s->engine, 1);
    }
    uv_cond_signal(&s->room);
}

static int64_t gpu_ns(const struct recon_times *before, const struct recon_times *after)
{
    double seconds = 0;
    for (unsigned i = 0; i < RECON_STAGES; i++)
        seconds += after->seconds[i] - before->seconds[i];
    return (int64_t)(seconds * 1e9);
}

/* What only reconstruction needed goes first, without the lock; then the states change. */
static void complete_batch(struct engine *e, struct batch *b)
{
    uv_mutex_unlock(&e->lock);
    for (uint32_t i = 0; i < b->n; i++)
        if (b->jobs[i])
            h264_picture_done(b->jobs[i]->pic);
    struct recon_times times;
    recon_times(b->store->recon, &times);
    int64_t now = now_ns(), gpu = gpu_ns(&b->store->times, &times);
    uv_mutex_lock(&e->lock);
    b->store->times = times;
    for (uint32_t i = 0; i < b->n; i++)
        if (b->jobs[i])
            job_done(b->jobs[i]);
    for (uint32_t i = 0; i < b->m; i++) {
        b->outputs[i].output->state = OUTPUT_COMPLETE;
        b->outputs[i].output->frame.decoded_ns = now;
        b->outputs[i].output->frame.trace[PELTON_TRACE_GPU] = gpu;
    }
    batch_put(b);
}

static bool complete(struct engine *e, struct store *st)
{
    bool any = false;
    uint64_t done = e->gpu_lost ? UINT64_MAX : st->first ? recon_done(st->recon) : 0;
    while (st->first && st->first->ticket <= done) {
        struct batch *b = st->first;
        st->first = b->next;
        if (!st->first)
            st->last = NULL;
        st->in_flight--;
        st->idle_since = e->serial;
        complete_batch(e, b);
        any = true;
    }
    return any;
}

/* ---- submission ---- */

/* Slots into records that have passed the rest of the validator (workers.c); a picture that fails
 * is copied from a reference. */
static void prepare(struct batch *b, uint32_t i)
{
    struct job *job = b->jobs[i];
    struct recon_picture *p = &b->pictures[i];
    const char *reason;
    *p = (struct recon_picture){
        .view = &b->views[i], .slot = (uint32_t)job->pic->holder.slot, .copy_from = UINT32_MAX};
    if (!job->failed && (h264_picture_view(job->pic, &b->views[i]) ||
                         records_validate_slots(&b->views[i], b->store->slots, &reason)))
        job->failed = true;
    if (!job->failed)
        return;
    if (!job->pic->non_existing)
        h264_picture_damage(job->pic);
    copy_instead(job, p);
}

static void charge_submit(struct batch *b, double cpu)
{
    for (uint32_t i = 0; i < b->n; i++)
        if (b->jobs[i])
            b->jobs[i]->session->stats.cpu_submit += cpu / b->n;
}

/* The reader of a live stream will have to be told soon. */
static bool expects_frame(const struct engine *e, const struct batch *b)
{
    for (uint32_t i = 0; i < b->m && !e->software; i++)
        if (b->outputs[i].session->live && b->outputs[i].session->window_busy <= LIVE_PICTURES)
            return true;
    return false;
}

static bool submit(struct engine *e, struct store *st)
{
    struct batch *b = e->gpu_lost ? NULL : scheduler_collect(e, st);
    if (!b)
        return false;
    int64_t begin = now_ns();
    double cpu = thread_cpu_seconds();
    if (b->n) {
        uv_mutex_unlock(&e->lock);
        for (uint32_t i = 0; i < b->n; i++)
            if (b->jobs[i])
                prepare(b, i);
        uv_mutex_lock(&e->lock);
        for (uint32_t i = 0; i < b->n; i++)
            if (b->jobs[i])
                b->jobs[i]->owner->frame.corrupt |= b->jobs[i]->pic->damage.corrupt;
    }
    scheduler_deliveries(e, b);
    if (!b->n && !b->m) {
        batch_put(b);
        return false;
    }
    e->serial++;
    uv_mutex_unlock(&e->lock);
    int err = recon_submit(st->recon, b->pictures, b->n, b->deliveries, b->m, &b->ticket);
    int64_t end = now_ns();
    uv_mutex_lock(&e->lock);
    for (uint32_t i = 0; i < b->m; i++) {
        b->outputs[i].output->frame.trace[PELTON_TRACE_SUBMIT_BEGIN] = begin;
        b->outputs[i].output->frame.trace[PELTON_TRACE_SUBMIT_END] = end;
    }
    if (expects_frame(e, b))
        engine_expect(e);
    charge_submit(b, thread_cpu_seconds() - cpu);
    if (err) {
        b->ticket = 0; /* counts as finished */
        gpu_failed(e, err);
    }
    b->next = NULL;
    if (st->last)
        st->last->next = b;
    else
        st->first = b;
    st->last = b;
    st->in_flight++;
    return true;
}

/* ---- the thread ---- */

static bool round_once(struct engine *e)
{
    bool any = false;
    e->store_waits = false;
    for (struct store *st = e->stores; st; st = st->next)
        any |= complete(e, st);
    for (struct session *s = e->sessions; s; s = s->next)
        any |= session_tend(e, s);
    for (struct store *st = e->stores; st; st = st->next)
        any |= submit(e, st);
    return any;
}

/* After the first sessions: by then the device's clocks are up. The best time counts. */
static void measure_bandwidth(struct engine *e)
{
    double bandwidth = 0;
    e->measure = false;
    e->measured++;
    if (e->gpu_lost)
        return;
    uv_mutex_unlock(&e->lock);
    int err = gpu_bandwidth(e->gpu, &bandwidth);
    uv_mutex_lock(&e->lock);
    if (err == GPU_OK && bandwidth > e->bandwidth)
        e->bandwidth = bandwidth;
}

static void spin(struct engine *e)
{
    int64_t end = now_ns() + SPIN_NS;
    uv_mutex_unlock(&e->lock);
    while (!atomic_load(&e->gpu_signal) && now_ns() < end)
        spin_once();
    uv_mutex_lock(&e->lock);
}

/* Between the pictures of a live stream: the device's clocks stay up by a little work now and then,
 * none while a picture is decoded. False where that is not needed, and the thread may sleep. */
static bool doze(struct engine *e)
{
    if (e->params.let_clocks_fall || e->device->kind != GPU_KIND_DISCRETE || e->gpu_lost ||
        !e->live_ns || now_ns() - e->live_ns > LIVE_NS)
        return false;
    uv_mutex_unlock(&e->lock);
    int err = e->pulse ? GPU_OK : gpu_pulse_create(e->gpu, PULSE_STEPS, &e->pulse);
    err = err < 0 ? err : gpu_pulse(e->pulse);
    uv_mutex_lock(&e->lock);
    if (err == GPU_ERR_LOST)
        gpu_failed(e, err);
    else if (err < 0)
        e->params.let_clocks_fall = true; /* streams go on without */
    else if (!e->gpu_signal)
        uv_cond_timedwait(&e->gpu_work, &e->lock, PULSE_NS);
    return true;
}

/* CPU time of the GPU thread belongs to all sessions alike. */
static void charge_thread(struct engine *e, double seconds, double waits)
{
    for (struct session *s = e->sessions; s; s = s->next) {
        s->stats.cpu_device += seconds / e->session_count;
        s->stats.cpu_wait += waits / e->session_count;
    }
}

static void sleep_until_news(struct engine *e)
{
    struct store *busy = NULL;
    for (struct store *st = e->stores; st; st = st->next)
        if (st->first && (!busy || st->first->serial < busy->first->serial))
            busy = st;
    if (!busy) {
        if (e->live_jobs && !e->software)
            spin(e);
        if (!e->gpu_signal && doze(e))
            return;
        if (!e->gpu_signal && e->store_waits)
            uv_cond_timedwait(&e->gpu_work, &e->lock, STORE_NS);
        else if (!e->gpu_signal)
            uv_cond_wait(&e->gpu_work, &e->lock);
        return;
    }
    uint64_t ticket = busy->first->ticket;
    bool full = busy->in_flight >= scheduler_batches(e) && !e->stores->next;
    uv_mutex_unlock(&e->lock);
    double cpu = thread_cpu_seconds();
    int err = recon_wait(busy->recon, ticket, full ? FULL_NS : WAIT_NS);
    cpu = thread_cpu_seconds() - cpu;
    uv_mutex_lock(&e->lock);
    charge_thread(e, 0, cpu);
    if (err < 0)
        gpu_failed(e, err);
}

void gpu_thread_main(void *engine)
{
    struct engine *e = engine;
    pthread_setname_np(pthread_self(), "pelton-gpu");
    uv_mutex_lock(&e->lock);
    while (!e->gpu_stop) {
        double cpu = thread_cpu_seconds();
        atomic_store(&e->gpu_signal, false);
        if (e->measure)
            measure_bandwidth(e);
        if (!round_once(e))
            sleep_until_news(e);
        charge_thread(e, thread_cpu_seconds() - cpu, 0);
    }
    store_collect(e, true);
    uv_mutex_unlock(&e->lock);
    gpu_pulse_free(e->pulse);
}
