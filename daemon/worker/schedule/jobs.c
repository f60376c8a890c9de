/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Codec jobs: a picture's steps 2 and 3, from its parsing until its reconstruction is done
 * (engine_internal.h). What waits is in job_queues.c, who works in workers.c.
 *
 * Every slice of every picture in the look-ahead window may be taken at once; no worker waits for
 * another, but one that follows the slice of a live picture. Motion of a slice is derived with it
 * where what it reads is there; a picture's motion job, for what is left, is queued when its last
 * slice is decoded and its colocated pictures have finished theirs (counters, never a blocking
 * wait).
 */
#include "daemon/worker/schedule/queues.h"

#include <stdlib.h>
#include <string.h>

#define LIVE_SLICES    64  /* workers that are woken at once for a live picture */
#define FIRST_PICTURES 16  /* of a session: not the GPU's */
#define CHUNK_MBS      256 /* slices smaller than this are taken several at a time */
/* pictures of a live stream that are further apart are not expected */
#define WATCH_GAP_NS 200000000

/* on_free: the last holder is gone, and with it the frame slot. Any thread, without the lock. */
static void job_picture_freed(struct h264_picture *pic)
{
    struct job *job = pic->holder.user;
    struct session *s = job->session;
    struct engine *e = s->engine;
    uv_mutex_lock(&e->lock);
    if (job->store && job->owner == job) {
        job->store->free_slots[job->store->free_count++] = pic->holder.slot;
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

void job_set_state(struct job *job, enum job_state state)
{
    struct session *s = job->session;
    bool settles = job->state < JOB_SUBMITTED && state >= JOB_SUBMITTED;
    s->ready += state == JOB_READY;
    s->ready -= job->state == JOB_READY;
    job->state = state;
    if (settles && job != s->waiting)
        s->frames_ahead += job->owner == job;
    else if (settles)
        while ((s->waiting = s->waiting->next) && s->waiting->state >= JOB_SUBMITTED)
            s->frames_ahead -= s->waiting->owner == s->waiting;
}

static int shuffle_slices(struct job *job, uint64_t seed)
{
    uint32_t n = job->pic->slice_count;
    job->slice_order = malloc((n ? n : 1) * sizeof(*job->slice_order));
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
    struct job *other = pic->holder.user;
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

/* Every slice was tried: its motion may begin when that of others, which concealment may read too,
 * is complete. */
void entropy_finished(struct engine *e, struct job *job)
{
    struct h264_picture *source;
    job_trace(job, PELTON_TRACE_ENTROPY_END);
    job->sends = job->sends && h264_picture_intact(job->pic, &job->units);
    if (h264_picture_conceal_source(job->pic, &source))
        wait_for_motion(job, source);
    if (--job->motion_waits == 0)
        motion_push(e, job);
}

void job_motion_finished(struct engine *e, struct job *job)
{
    job->motion_done = true;
    job_set_state(job, JOB_READY);
    job_trace(job, PELTON_TRACE_MOTION_END);
    for (struct job_wait *wait = job->waiters; wait; wait = wait->next)
        if (--wait->waiter->motion_waits == 0)
            motion_push(e, wait->waiter);
    job->waiters = NULL;
    engine_wake_gpu(e);
}

void job_decoded(struct engine *e, struct job *job)
{
    job->slices_left = 0;
    entropy_finished(e, job);
}

void job_fetched(struct engine *e, struct job *job, uint32_t units)
{
    job->fetched = units;
    job_trace(job, PELTON_TRACE_ENTROPY_END);
    if (--job->motion_waits == 0)
        motion_push(e, job);
}

void job_give_back(struct engine *e, struct job *job)
{
    job->offloads = job->derives = job->sends = false;
    job->motion_waits += job->motion_waits == 0; /* for its own entropy, again */
    job->fetched = job->slice_next = 0;
    job->slices_left = job->pic->slice_count;
    job->session->arrays -= job->counts;
    job->allocated = job->counts = false;
    entropy_keep(e, job, 0);
    entropy_put(e, job);
}

/* A non-existing picture has no slices and no motion: its samples are a copy. */
static void job_start(struct job *job)
{
    struct engine *e = job->session->engine;
    if (job->pic->non_existing || job->slices_left == 0) {
        job->motion_done = true;
        job->failed = true;
        job_set_state(job, JOB_READY);
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
    return owner == pic ? NULL : owner->holder.user;
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

int prepare_picture(struct job *job)
{
    int err = h264_picture_alloc(job->pic);
    return err ? err : prepare_following(job);
}

int prepare_following(struct job *job)
{
    struct rec_view view;
    int err = h264_picture_follow_begin(job->pic);
    if (err < 0)
        return err;
    if (err) {
        h264_picture_records(job->pic, &view);
        job->follows = records_validate_begin(&view, NULL) == 0;
    }
    return 0;
}

/* A picture of a live stream is decoded as it comes, unless the stream comes faster than that. Its
 * arrays exist at once, so that workers for all of its slices wake together; the GPU thread wakes
 * meanwhile. */
static int begin_live(struct job *job)
{
    struct session *s = job->session;
    struct engine *e = s->engine;
    uv_mutex_lock(&e->lock);
    job->live = s->live && s->window_busy < LIVE_PICTURES && job->slices_left;
    uv_mutex_unlock(&e->lock);
    if (!job->live)
        return 0;
    if (prepare_picture(job))
        return PELTON_ERR_NOMEM;
    job->allocated = true;
    return 0;
}

/* With the lock, which it drops: to wake a thread takes a while, and the first one is not to wait
 * for the lock meanwhile. */
static void start_live(struct job *job)
{
    struct engine *e = job->session->engine;
    struct worker *wake[LIVE_SLICES];
    uint32_t parts = (job->slices_left + job->slice_chunk - 1) / job->slice_chunk;
    unsigned n = workers_take(e, parts < LIVE_SLICES ? parts : LIVE_SLICES, wake);
    int64_t now = now_ns(), gap = now - job->session->live_ns;
    job->session->live_ns = e->live_ns = now;
    e->live_due_ns = gap <= WATCH_GAP_NS ? now + gap : 0;
    e->live_jobs++;
    atomic_store(&e->gpu_signal, true);
    uv_mutex_unlock(&e->lock);
    for (unsigned i = 0; i < n; i++)
        uv_cond_signal(&wake[i]->wake);
    uv_cond_signal(&e->gpu_work);
}

void job_settled(struct job *job)
{
    job->session->engine->live_jobs -= job->live;
    job->live = false;
}

/* Whether the GPU may entropy-decode it. A session's first pictures are waited for, as are a live
 * stream's. */
static void note_offload(struct job *job)
{
    const struct session *s = job->session;
    const struct h264_picture *pic = job->pic;
    if (!h264_picture_exports_entropy(pic))
        return;
    for (uint32_t i = 0; i < pic->slice_count; i++)
        if (entropy_slice_weight(&pic->slices[i]) > job->largest_slice)
            job->largest_slice = entropy_slice_weight(&pic->slices[i]);
    job->derives = h264_picture_exports_motion(pic);
    job->offloads =
        s->engine->params.entropy == ENGINE_ENTROPY_GPU || (!s->live && s->jobs >= FIRST_PICTURES);
}

int job_create(struct session *s, struct h264_picture *pic)
{
    struct engine *e = s->engine;
    struct job *job = calloc(1, sizeof(*job));
    if (!job)
        return PELTON_ERR_NOMEM;
    job->pic = pic;
    pic->holder.wants_map = e->entropy_gpu && !e->params.cpu_motion;
    job->session = s;
    job->bytes = pic->bytes_size;
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
    if (e->entropy_gpu && !job->live && !pic->non_existing)
        note_offload(job);
    pic->holder.slot = -1;
    pic->holder.user = job;
    pic->holder.on_free = job_picture_freed;
    uv_mutex_lock(&e->lock);
    join_frame(job);
    s->live_pictures++;
    s->window_busy++;
    s->jobs++;
    s->arrays_most = arrays_for(e, s->picture_bytes, e->session_count);
    *s->window_tail = job;
    s->window_tail = &job->next;
    s->waiting = s->waiting ? s->waiting : job;
    job_trace(job, PELTON_TRACE_PARSED);
    job_start(job);
    if (job->live) {
        start_live(job);
        return 0;
    }
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
