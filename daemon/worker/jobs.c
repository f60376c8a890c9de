/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Codec jobs: entropy decoding per slice (step 2) and motion per picture (step 3), on the worker threads.
 *
 * Every slice of every picture in the look-ahead window may be taken at once; no worker waits for another. A picture's motion
 * job is queued when its last slice is decoded and its colocated pictures have finished theirs (counters, never a blocking
 * wait). A session's oldest pictures go first, and sessions take turns; with shuffle_seed the order is random over the window, which proves that it does not matter.
 */
#include "daemon/worker/engine_internal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_MBS 256 /* slices smaller than this are taken several at a time */

static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

/* on_free: the last holder is gone, and with it the frame slot. Any thread, without the lock. */
static void job_picture_freed(struct h264_picture *pic)
{
    struct job *job = pic->user;
    struct session *s = job->session;
    struct engine *e = s->engine;
    uv_mutex_lock(&e->lock);
    if (job->store && job->owner == job) {
        job->store->free_slots[job->store->free_count++] = pic->slot;
        job->store->live--;
        s->held -= job->seat == s->seat;
    }
    s->live_pictures--;
    engine_wake_gpu(e);
    uv_mutex_unlock(&e->lock);
    free(job->slice_order);
    free(job);
}

void job_trace(struct job *job, enum pelton_trace_point point)
{
    job->owner->frame.trace[point] = now_ns();
}

static void motion_push(struct engine *e, struct job *job)
{
    job->next_motion = NULL;
    if (e->motion_last)
        e->motion_last->next_motion = job;
    else
        e->motion = job;
    e->motion_last = job;
    uv_cond_signal(&e->work);
}

/* After prev; NULL: first. */
static void entropy_insert(struct engine *e, struct job *job, struct job *prev)
{
    struct job *next = prev ? prev->next_entropy : e->entropy;
    job->queued = true;
    job->prev_entropy = prev;
    job->next_entropy = next;
    *(prev ? &prev->next_entropy : &e->entropy) = job;
    *(next ? &next->prev_entropy : &e->entropy_last) = job;
    e->entropy_count++;
}

/* Sessions take turns, a picture each, however far ahead each of them has read: one that comes or falls behind need not wait for
 * the others' look-ahead. What is decoded as it arrives goes before what is decoded ahead. */
static void entropy_push(struct engine *e, struct job *job)
{
    struct session *s = job->session;
    struct job *prev = e->entropy_last;
    s->turn = s->turn < e->turn_taken ? e->turn_taken : s->turn + 1;
    job->turn = s->params.realtime ? 0 : s->turn;
    while (prev && prev->turn > job->turn)
        prev = prev->prev_entropy;
    entropy_insert(e, job, prev);
    if (job->allocated && job->slices_left > job->slice_chunk)
        uv_cond_broadcast(&e->work);
    else
        uv_cond_signal(&e->work);
}

static void entropy_remove(struct engine *e, struct job *job)
{
    *(job->prev_entropy ? &job->prev_entropy->next_entropy : &e->entropy) = job->next_entropy;
    *(job->next_entropy ? &job->next_entropy->prev_entropy : &e->entropy_last) = job->prev_entropy;
    job->queued = false;
    e->entropy_count--;
}

static int shuffle_slices(struct job *job, uint64_t seed)
{
    uint32_t n = job->pic->slice_count;
    job->slice_order = malloc((n ? n : 1) * sizeof *job->slice_order);
    if (!job->slice_order)
        return PELTON_ERR_NOMEM;
    uint64_t state = (seed + job->pic->id * 0x9e3779b97f4a7c15ull) | 1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t j = (uint32_t)(next_random(&state) % (i + 1));
        job->slice_order[i] = job->slice_order[j];
        job->slice_order[j] = i;
    }
    return 0;
}

static void wait_for_motion(struct job *job, const struct h264_picture *pic)
{
    struct job *other = pic->user;
    if (!other || other == job || other->motion_done)
        return;
    struct job_wait *wait = &job->waits[job->wait_count++];
    wait->waiter = job;
    wait->next = other->waiters;
    other->waiters = wait;
    job->motion_waits++;
}

static void register_waits(struct job *job)
{
    struct h264_picture *col[32];
    uint32_t n = h264_picture_colocated(job->pic, col);
    for (uint32_t i = 0; i < n; i++)
        wait_for_motion(job, col[i]);
}

/* Every slice was tried: its motion may begin when that of others, which concealment may read too, is complete. */
static void entropy_finished(struct engine *e, struct job *job)
{
    struct h264_picture *source;
    job_trace(job, PELTON_TRACE_ENTROPY_END);
    if (h264_picture_conceal_source(job->pic, &source))
        wait_for_motion(job, source);
    if (--job->motion_waits == 0)
        motion_push(e, job);
}

/* A non-existing picture has no slices and no motion: its samples are a copy. */
static void job_start(struct job *job)
{
    struct engine *e = job->session->engine;
    if (job->pic->non_existing || job->slices_left == 0) {
        job->motion_done = true;
        job->failed = true;
        job->state = JOB_READY;
        engine_wake_gpu(e);
        return;
    }
    job->motion_waits = 1;
    register_waits(job);
    entropy_push(e, job);
}

/* The job whose frame slot pic shares; pic holds that one's picture. */
static struct job *find_owner(const struct h264_picture *pic)
{
    const struct h264_picture *owner = pic->plane0 ? pic->plane0 : pic;
    owner = owner->first_field ? owner->first_field : owner;
    return owner == pic ? NULL : owner->user;
}

static void join_frame(struct job *job)
{
    const struct h264_picture *pic = job->pic;
    struct job *owner = find_owner(pic);
    job->owner = owner ? owner : job;
    job->owner->frame.pictures++;
    for (unsigned i = 0; i < 2; i++)
        if (pic->structure & (i ? REC_BOTTOM : REC_TOP))
            job->owner->frame.poc[i] = pic->poc[i];
}

bool frame_submitted(const struct job *owner)
{
    return owner->frame.submitted == owner->frame.pictures;
}

bool frame_is_single_field(const struct job *owner)
{
    return owner->pic->structure != REC_FRAME && !owner->pic->paired;
}

/* A picture of a live stream is decoded as it comes, unless the stream comes faster than that. Its arrays exist at once, so that
 * workers for all of its slices wake together; the GPU thread wakes meanwhile. */
static int begin_live(struct job *job)
{
    struct session *s = job->session;
    struct engine *e = s->engine;
    uv_mutex_lock(&e->lock);
    job->live = s->live && s->window_busy < LIVE_PICTURES && !e->software && job->slices_left;
    uv_mutex_unlock(&e->lock);
    if (!job->live)
        return 0;
    if (h264_picture_alloc(job->pic))
        return PELTON_ERR_NOMEM;
    job->allocated = true;
    return 0;
}

void job_settled(struct job *job)
{
    job->session->engine->live_jobs -= job->live;
    job->live = false;
}

int job_create(struct session *s, struct h264_picture *pic)
{
    struct engine *e = s->engine;
    struct job *job = calloc(1, sizeof *job);
    if (!job)
        return PELTON_ERR_NOMEM;
    job->pic = pic;
    job->session = s;
    job->slices_left = pic->non_existing ? 0 : pic->slice_count;
    job->slice_chunk = 1;
    if (e->params.shuffle_seed && shuffle_slices(job, e->params.shuffle_seed)) {
        free(job);
        return PELTON_ERR_NOMEM;
    }
    if (!e->params.shuffle_seed && pic->mb_count)
        job->slice_chunk += (uint32_t)((uint64_t)CHUNK_MBS * pic->slice_count / pic->mb_count);
    if (begin_live(job)) {
        free(job->slice_order);
        free(job);
        return PELTON_ERR_NOMEM;
    }
    pic->slot = -1;
    pic->user = job;
    pic->on_free = job_picture_freed;
    uv_mutex_lock(&e->lock);
    join_frame(job);
    e->live_jobs += job->live;
    if (job->live)
        engine_wake_gpu(e);
    s->live_pictures++;
    s->window_busy++;
    *s->window_tail = job;
    s->window_tail = &job->next;
    job_trace(job, PELTON_TRACE_PARSED);
    job_start(job);
    uv_mutex_unlock(&e->lock);
    return 0;
}

void jobs_retire(struct session *s, struct h264_picture **unref, uint32_t *count, uint32_t max)
{
    while (s->window && s->window->state == JOB_DONE && *count < max) {
        struct job *job = s->window;
        s->window = job->next;
        if (!s->window)
            s->window_tail = &s->window;
        unref[(*count)++] = job->pic;
    }
}

static void motion_finished(struct engine *e, struct job *job)
{
    job->motion_done = true;
    job->state = JOB_READY;
    job_trace(job, PELTON_TRACE_MOTION_END);
    for (struct job_wait *wait = job->waiters; wait; wait = wait->next)
        if (--wait->waiter->motion_waits == 0)
            motion_push(e, wait->waiter);
    job->waiters = NULL;
    engine_wake_gpu(e);
}

static void run_motion(struct engine *e, struct job *job)
{
    struct session *s = job->session;
    bool skip = s->abort;
    job_trace(job, PELTON_TRACE_MOTION_BEGIN);
    uv_mutex_unlock(&e->lock);
    double cpu = thread_cpu_seconds();
    struct rec_view view;
    int err = skip ? 0 : h264_picture_derive_motion(job->pic);
    if (!skip && !err) {
        h264_picture_records(job->pic, &view);
        err = records_validate_content(&view, NULL);
    }
    cpu = thread_cpu_seconds() - cpu;
    uv_mutex_lock(&e->lock);
    s->stats.cpu_motion += cpu;
    if (err)
        job->failed = true; /* marked when it is submitted */
    motion_finished(e, job);
}

static void run_slices(struct engine *e, struct worker *w, struct job *job, uint32_t from, uint32_t to)
{
    struct session *s = job->session;
    bool skip = s->abort;
    uv_mutex_unlock(&e->lock);
    double cpu = thread_cpu_seconds();
    for (uint32_t i = from; i < to && !skip; i++)
        h264_slice_decode(&job->pic->slices[job->slice_order ? job->slice_order[i] : i], w->scratch);
    cpu = thread_cpu_seconds() - cpu;
    uv_mutex_lock(&e->lock);
    s->stats.cpu_entropy += cpu;
    job->slices_left -= to - from;
    if (job->slices_left == 0)
        entropy_finished(e, job);
}

/* With shuffle_seed the window is let fill up first, then any picture of it may be next. */
static struct job *pick_entropy(struct engine *e, struct worker *w)
{
    if (!e->params.shuffle_seed || !e->entropy)
        return e->entropy;
    uint32_t eligible = 0;
    for (struct job *job = e->entropy; job; job = job->next_entropy)
        eligible += job->session->source_waits || job->session->thread_ended || job->session->abort;
    if (!eligible)
        return NULL;
    uint32_t n = (uint32_t)(next_random(&w->random) % eligible);
    for (struct job *job = e->entropy; job; job = job->next_entropy)
        if ((job->session->source_waits || job->session->thread_ended || job->session->abort) && n-- == 0)
            return job;
    return NULL;
}

/* Arrays come as late as this, so that pictures that only wait in the window take no memory for them. The job is nobody
 * else's meanwhile, and then the first of the queue. After abort nothing is decoded into them. */
static void allocate(struct engine *e, struct job *job)
{
    struct session *s = job->session;
    bool skip = s->abort;
    entropy_remove(e, job);
    if (job->turn > e->turn_taken)
        e->turn_taken = job->turn;
    uv_mutex_unlock(&e->lock);
    int err = skip ? 0 : h264_picture_alloc(job->pic);
    uv_mutex_lock(&e->lock);
    job->allocated = true;
    if (err) {
        session_fail(s, PELTON_ERR_NOMEM, "out of memory", "decode fewer streams at once");
        s->abort = true;
        atomic_store(&s->stop, true);
        uv_cond_broadcast(&s->room);
    }
    entropy_insert(e, job, NULL);
    if (job->slices_left > job->slice_chunk)
        uv_cond_broadcast(&e->work);
}

static bool worker_step(struct engine *e, struct worker *w)
{
    if (e->motion) {
        struct job *job = e->motion;
        e->motion = job->next_motion;
        if (!e->motion)
            e->motion_last = NULL;
        run_motion(e, job);
        return true;
    }
    struct job *job = pick_entropy(e, w);
    if (!job)
        return false;
    if (job->slice_next == 0)
        job_trace(job, PELTON_TRACE_ENTROPY_BEGIN);
    if (!job->allocated)
        allocate(e, job);
    uint32_t from = job->slice_next, end = job->pic->slice_count;
    uint32_t to = end - from > job->slice_chunk ? from + job->slice_chunk : end;
    job->slice_next = to;
    if (to == end)
        entropy_remove(e, job);
    run_slices(e, w, job, from, to);
    return true;
}

void worker_main(void *worker)
{
    struct worker *w = worker;
    struct engine *e = w->engine;
    pthread_setname_np(pthread_self(), "pelton-codec");
    uv_mutex_lock(&e->lock);
    while (!e->stopping)
        if (!worker_step(e, w))
            uv_cond_wait(&e->work, &e->lock);
    uv_mutex_unlock(&e->lock);
}
