/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The codec workers: entropy decoding of slices, what the GPU has decoded, motion. Thread: each its
 * own; the lock is not held while a worker works.
 */
#include "daemon/worker/schedule/queues.h"

#include <pthread.h>

/* a worker is awake when the picture of a live stream is expected, from this long before */
#define WATCH_BEFORE_NS 1000000
#define WATCH_AFTER_NS  1000000

struct followed {
    uint32_t mbs;
    struct rec_seen seen;
};

/* Motion and validation of a slice as far as it is decoded; *any: it was. False once it has ended.
 * What is refused is left for the picture's motion job to find. */
static bool follow_part(struct h264_slice *slice, struct followed *out, bool *any)
{
    struct rec_view view;
    uint32_t from, to;
    bool more = h264_slice_follow(slice, &from, &to);
    *any = from != to;
    if (!*any)
        return more;
    h264_picture_records(slice->pic, &view);
    if (records_validate_range(&view, from, to, &out->seen, NULL) == 0)
        out->mbs += to - from;
    return more;
}

static void follow(struct h264_slice *slice, struct followed *out)
{
    bool any;
    while (follow_part(slice, out, &any))
        if (!any)
            spin_once();
}

static void note_followed(struct job *job, const struct followed *f)
{
    job->followed += f->mbs;
    records_seen_add(&job->seen, &f->seen);
}

/* What is left of steps 2 and 3 when all slices are decoded. */
static int finish_motion(struct job *job)
{
    struct rec_view view;
    int err = h264_picture_derive_motion(job->pic);
    if (err)
        return err;
    h264_picture_records(job->pic, &view);
    if (job->followed == job->pic->mb_count)
        return records_validate_end(&view, &job->seen, NULL);
    return records_validate_content(&view, NULL);
}

static void run_motion(struct engine *e, struct job *job)
{
    struct session *s = job->session;
    bool skip = s->abort;
    job_trace(job, PELTON_TRACE_MOTION_BEGIN);
    uv_mutex_unlock(&e->lock);
    double cpu = thread_cpu_seconds();
    int err = skip ? 0 : finish_motion(job);
    cpu = thread_cpu_seconds() - cpu;
    uv_mutex_lock(&e->lock);
    s->stats.cpu_motion += cpu;
    if (err)
        job->failed = true; /* marked when it is submitted */
    job_motion_finished(e, job);
}

/* Row by row, as what was looked at is in the cache then: the GPU's records as they came, their
 * motion, and they once more. */
static bool import_rows(struct job *job)
{
    struct h264_picture *pic = job->pic;
    struct followed f = {0};
    bool any;
    h264_picture_import_entropy_begin(pic, job->fetched);
    for (uint32_t i = 0; i < pic->slice_count; i++) {
        struct h264_slice *slice = &pic->slices[i];
        uint32_t to;
        for (uint32_t from = slice->hdr.first_mb; from < slice->end_mb; from = to) {
            to = slice->end_mb - from > pic->mb_width ? from + pic->mb_width : slice->end_mb;
            if (!h264_slice_import_entropy(slice, from, to))
                return false;
            follow_part(slice, &f, &any);
        }
    }
    note_followed(job, &f);
    return true;
}

/* What the GPU has decoded. *error: of its motion, as finish_motion says. False: it has to be
 * decoded here. */
static bool import(struct job *job, int *error)
{
    bool good =
        prepare_following(job) == 0 &&
        (job->follows ? import_rows(job) : h264_picture_import_entropy(job->pic, job->fetched));
    *error = good ? finish_motion(job) : 0;
    if (good)
        return true;
    h264_picture_free_arrays(job->pic);
    job->follows = false;
    return false;
}

static void run_import(struct engine *e, struct job *job)
{
    struct session *s = job->session;
    bool skip = s->abort, good = true;
    int err = 0;
    job_trace(job, PELTON_TRACE_MOTION_BEGIN);
    uv_mutex_unlock(&e->lock);
    double cpu = thread_cpu_seconds();
    if (!skip)
        good = import(job, &err);
    cpu = thread_cpu_seconds() - cpu;
    uv_mutex_lock(&e->lock);
    s->stats.cpu_motion += cpu;
    s->stats.gpu_entropy_pictures += good && !skip;
    if (!good) {
        job_give_back(e, job);
        return;
    }
    job->slices_left = job->fetched = 0;
    job->failed |= err != 0; /* marked when it is submitted */
    job_motion_finished(e, job);
}

static void slices_done(struct engine *e, struct job *job, uint32_t count)
{
    job->slices_left -= count;
    if (job->slices_left == 0)
        entropy_finished(e, job);
}

/* Another worker derives the motion of a live picture's only slice while this one decodes it. */
static void share_slice(struct engine *e, struct job *job)
{
    job->slices_left++; /* the other one's part */
    job->next_follow = e->follow;
    e->follow = job;
    workers_wake(e, 1);
}

static void run_follow(struct engine *e, struct job *job)
{
    struct followed f = {0};
    uv_mutex_unlock(&e->lock);
    double cpu = thread_cpu_seconds();
    follow(&job->pic->slices[0], &f);
    cpu = thread_cpu_seconds() - cpu;
    uv_mutex_lock(&e->lock);
    job->session->stats.cpu_motion += cpu;
    note_followed(job, &f);
    slices_done(e, job, 1);
}

/* Where a slice's motion needs nothing that is not there, it is derived at once, as its records are
 * in the cache. */
static void run_slices(struct engine *e, struct worker *w, struct job *job, uint32_t from,
                       uint32_t to)
{
    struct session *s = job->session;
    struct followed f = {0};
    bool skip = s->abort, follows = job->follows && job->motion_waits == 1;
    bool shared = follows && !skip && job->live && job->pic->slice_count == 1;
    double entropy = 0, motion = 0;
    uint64_t bytes = 0;
    if (shared)
        share_slice(e, job);
    uv_mutex_unlock(&e->lock);
    for (uint32_t i = from; i < to && !skip; i++) {
        struct h264_slice *slice = &job->pic->slices[job->slice_order ? job->slice_order[i] : i];
        double begin = thread_cpu_seconds();
        h264_slice_decode(slice, w->scratch);
        double middle = thread_cpu_seconds();
        if (follows && !shared)
            follow(slice, &f);
        bytes += slice->nal_size;
        entropy += middle - begin;
        motion += thread_cpu_seconds() - middle;
    }
    uv_mutex_lock(&e->lock);
    s->stats.cpu_entropy += entropy;
    s->stats.cpu_motion += motion;
    e->cpu_spent += entropy + motion;
    if (bytes)
        entropy_rate_add(&e->cpu_rate, entropy + motion, (double)bytes);
    note_followed(job, &f);
    slices_done(e, job, to - from);
}

/* Arrays come as late as this, so that pictures that only wait in the window take no memory for
 * them. The job is nobody else's meanwhile, and then the first of the queue. After abort nothing is
 * decoded into them. */
static void allocate(struct engine *e, struct job *job)
{
    struct session *s = job->session;
    bool skip = s->abort;
    job->counts = true;
    job->sends = job->derives && job->pic->mb_count <= e->derives && !job->live;
    s->arrays++;
    entropy_remove(e, job);
    if (job->turn > e->turn_taken)
        e->turn_taken = job->turn;
    uv_mutex_unlock(&e->lock);
    int err = skip ? 0 : job->sends ? h264_picture_alloc(job->pic) : prepare_picture(job);
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
        workers_wake(e, (job->slices_left - 1) / job->slice_chunk);
}

static bool worker_step(struct engine *e, struct worker *w)
{
    if (e->follow) {
        struct job *job = e->follow;
        e->follow = job->next_follow;
        run_follow(e, job);
        return true;
    }
    struct job *job = pick_entropy(e, w);
    if (e->motion && (!job || e->params.shuffle_seed || e->motion->turn <= job->turn)) {
        struct job *next = motion_pop(&e->motion);
        (next->fetched ? run_import : run_motion)(e, next);
        return true;
    }
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

/* Until there is work. To wake a thread takes a while, and the core that it wakes on may have
 * slowed down meanwhile; so the worker that will be taken first is awake when the next picture of a
 * live stream is expected. */
static void worker_sleep(struct engine *e, struct worker *w)
{
    w->idle = true;
    w->next_idle = e->idle;
    e->idle = w;
    while (w->idle) {
        int64_t due = e->live_due_ns, now = now_ns();
        if (w != e->idle || due + WATCH_AFTER_NS <= now || e->params.let_clocks_fall) {
            uv_cond_wait(&w->wake, &e->lock);
        } else if (now < due - WATCH_BEFORE_NS) {
            uv_cond_timedwait(&w->wake, &e->lock, (uint64_t)(due - WATCH_BEFORE_NS - now));
        } else {
            uv_mutex_unlock(&e->lock);
            while (atomic_load(&w->idle) && now_ns() < due + WATCH_AFTER_NS)
                spin_once();
            uv_mutex_lock(&e->lock);
        }
    }
}

void worker_main(void *worker)
{
    struct worker *w = worker;
    struct engine *e = w->engine;
    pthread_setname_np(pthread_self(), "pelton-codec");
    uv_mutex_lock(&e->lock);
    while (!e->stopping) {
        if (worker_step(e, w))
            continue;
        worker_sleep(e, w);
    }
    uv_mutex_unlock(&e->lock);
}
