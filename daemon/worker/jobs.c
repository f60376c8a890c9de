/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Codec jobs: entropy decoding per slice (step 2) and motion per picture (step 3), on the worker threads.
 *
 * Every slice of every picture in the look-ahead window may be taken at once; no worker waits for another, but one that follows
 * the slice of a live picture. Motion of a slice is derived with it where what it reads is there; a picture's motion job, for what is
 * left, is queued when its last slice is decoded and its colocated pictures have finished theirs (counters, never a blocking wait). A
 * session's oldest pictures go first, and sessions take turns: so each picture has its turn, and what has the lowest is done next, be it
 * entropy decoding or motion. With shuffle_seed the order is random over the window, which proves that it does not matter.
 */
#include "daemon/worker/entropy_gpu.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LIVE_SLICES 64 /* workers that are woken at once for a live picture */
#define FIRST_PICTURES 16 /* of a session: not the GPU's */
#define CHUNK_MBS 256 /* slices smaller than this are taken several at a time */
#define WATCH_BEFORE_NS 1000000 /* a worker is awake when the picture of a live stream is expected, from this long before */
#define WATCH_AFTER_NS 1000000
#define WATCH_GAP_NS 200000000 /* pictures that are further apart are not expected */

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

/* Takes up to most workers off the list of idle ones; they are to be signalled, with the lock or without it. */
static unsigned workers_take(struct engine *e, unsigned most, struct worker **out)
{
    unsigned n = 0;
    while (e->idle && n < most) {
        struct worker *w = e->idle;
        e->idle = w->next_idle;
        w->idle = false;
        out[n++] = w;
    }
    return n;
}

void workers_wake(struct engine *e, unsigned most)
{
    struct worker *w;
    for (unsigned i = 0; i < most && workers_take(e, 1, &w); i++)
        uv_cond_signal(&w->wake);
}

void job_set_state(struct job *job, enum job_state state)
{
    struct session *s = job->session;
    bool settles = job->state < JOB_SUBMITTED && state >= JOB_SUBMITTED;
    s->ready += state == JOB_READY;
    s->ready -= job->state == JOB_READY;
    job->state = state;
    if (settles && job != s->waiting) {
        s->frames_ahead += job->owner == job;
    } else if (settles) {
        while ((s->waiting = s->waiting->next) && s->waiting->state >= JOB_SUBMITTED)
            s->frames_ahead -= s->waiting->owner == s->waiting;
    }
}

static uint32_t motion_rank(const struct job *job)
{
    return job ? job->motion_rank : 0;
}

/* Two heaps into one (Knuth, The Art of Computer Programming, 5.2.3, leftist trees): as deep as the logarithm of their sizes. */
static struct job *motion_merge(struct job *a, struct job *b)
{
    if (!a || !b)
        return a ? a : b;
    struct job *top = b->turn < a->turn ? b : a;
    struct job *below = motion_merge(top->motion_right, top == a ? b : a), *left = top->motion_left;
    bool swap = motion_rank(left) < motion_rank(below);
    top->motion_left = swap ? below : left;
    top->motion_right = swap ? left : below;
    top->motion_rank = motion_rank(top->motion_right) + 1;
    return top;
}

static void motion_push(struct engine *e, struct job *job)
{
    job->motion_left = job->motion_right = NULL;
    job->motion_rank = 1;
    e->motion = motion_merge(e->motion, job);
    workers_wake(e, 1);
}

static struct job *motion_pop(struct engine *e)
{
    struct job *job = e->motion;
    e->motion = motion_merge(job->motion_left, job->motion_right);
    return job;
}

/* Nobody has begun with it, and nobody waits for it. */
static bool plain(const struct job *job)
{
    return !job->allocated && !job->urgent;
}

/* After prev; NULL: first. */
static void entropy_insert(struct engine *e, struct job *job, struct job *prev)
{
    struct job *next = prev ? prev->next_entropy : e->entropy;
    job->queued = true;
    job->session->queued += plain(job);
    job->prev_entropy = prev;
    job->next_entropy = next;
    *(prev ? &prev->next_entropy : &e->entropy) = job;
    *(next ? &next->prev_entropy : &e->entropy_last) = job;
    e->entropy_count++;
    e->entropy_bytes += job->bytes;
}

/* The workers have decoded so many pictures of the session that there must be some that the GPU has in work and that these wait for. */
static bool far_ahead(const struct engine *e, const struct session *s)
{
    return s->arrays >= s->arrays_most && !e->params.shuffle_seed && entropy_gpu_works(e);
}

/* Where the GPU decodes all that it can, the workers leave that to it. */
static bool for_workers(const struct engine *e, const struct job *job)
{
    return job->session->abort || ((!e->entropy_all || !job->offloads) && !(plain(job) && far_ahead(e, job->session)));
}

/* The last one in the queue whose turn is not after this one's. Most pictures come behind their session's last, or at an end. */
static struct job *entropy_before(const struct engine *e, const struct job *job)
{
    struct job *prev = job->session->last_queued, *next;
    if (prev && prev->turn > job->turn)
        prev = NULL;
    if (prev || job->turn <= e->turn_taken) {
        for (next = prev ? prev->next_entropy : e->entropy; next && next->turn <= job->turn; next = next->next_entropy)
            prev = next;
        return prev;
    }
    for (prev = e->entropy_last; prev && prev->turn > job->turn; prev = prev->prev_entropy)
        ;
    return prev;
}

/* Sessions take turns, a picture each, however far ahead each of them has read: one that comes or falls behind need not wait for
 * the others' look-ahead. What is decoded as it arrives goes before what is decoded ahead. */
static void entropy_push(struct engine *e, struct job *job)
{
    struct session *s = job->session;
    s->turn = s->turn < e->turn_taken ? e->turn_taken : s->turn + 1;
    job->turn = s->params.realtime ? 0 : s->turn;
    entropy_insert(e, job, entropy_before(e, job));
    s->last_queued = job;
    if (job->offloads)
        entropy_gpu_wake(e);
    if (!job->live && for_workers(e, job))
        workers_wake(e, 1);
}

void entropy_put(struct engine *e, struct job *job)
{
    job->urgent = true;
    entropy_insert(e, job, entropy_before(e, job));
    workers_wake(e, 1);
}

void entropy_remove(struct engine *e, struct job *job)
{
    *(job->prev_entropy ? &job->prev_entropy->next_entropy : &e->entropy) = job->next_entropy;
    *(job->next_entropy ? &job->next_entropy->prev_entropy : &e->entropy_last) = job->prev_entropy;
    job->queued = false;
    job->session->queued -= plain(job);
    if (job->session->last_queued == job)
        job->session->last_queued = NULL;
    e->entropy_count--;
    e->entropy_bytes -= job->bytes;
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

void job_decoded(struct engine *e, struct job *job)
{
    job->slices_left = 0;
    entropy_finished(e, job);
}

void job_fetched(struct engine *e, struct job *job, uint32_t units)
{
    job->fetched = units;
    motion_push(e, job);
}

void job_give_back(struct engine *e, struct job *job)
{
    job->offloads = false;
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

/* Arrays for the picture, and what its slices need to be followed. */
static int prepare_picture(struct job *job)
{
    struct rec_view view;
    int err = h264_picture_alloc(job->pic);
    if (err)
        return err;
    err = h264_picture_follow_begin(job->pic);
    if (err < 0)
        return err;
    if (err) {
        h264_picture_records(job->pic, &view);
        job->follows = records_validate_begin(&view, NULL) == 0;
    }
    return 0;
}

/* A picture of a live stream is decoded as it comes, unless the stream comes faster than that. Its arrays exist at once, so that
 * workers for all of its slices wake together; the GPU thread wakes meanwhile. */
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

/* With the lock, which it drops: to wake a thread takes a while, and the first one is not to wait for the lock meanwhile. */
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

/* Whether the GPU may entropy-decode it. A session's first pictures are waited for, as are a live stream's. */
static void note_offload(struct job *job)
{
    const struct session *s = job->session;
    const struct h264_picture *pic = job->pic;
    if (!h264_picture_offloads(pic))
        return;
    for (uint32_t i = 0; i < pic->slice_count; i++)
        if (entropy_slice_weight(&pic->slices[i]) > job->largest_slice)
            job->largest_slice = entropy_slice_weight(&pic->slices[i]);
    job->offloads = s->engine->params.entropy == ENGINE_ENTROPY_GPU || (!s->live && s->jobs >= FIRST_PICTURES);
}

int job_create(struct session *s, struct h264_picture *pic)
{
    struct engine *e = s->engine;
    struct job *job = calloc(1, sizeof *job);
    if (!job)
        return PELTON_ERR_NOMEM;
    job->pic = pic;
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
    pic->slot = -1;
    pic->user = job;
    pic->on_free = job_picture_freed;
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

static void motion_finished(struct engine *e, struct job *job)
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

struct followed {
    uint32_t mbs;
    struct rec_seen seen;
};

/* Motion and validation of a slice as far as it is decoded, until it ends. What is refused is left for the picture's motion job to
 * find. */
static void follow(struct h264_slice *slice, struct followed *out)
{
    uint32_t from, to;
    while (h264_slice_follow(slice, &from, &to)) {
        struct rec_view view;
        if (from == to) {
            spin_once();
            continue;
        }
        h264_picture_records(slice->pic, &view);
        if (records_validate_range(&view, from, to, &out->seen, NULL) == 0)
            out->mbs += to - from;
    }
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
    motion_finished(e, job);
}

/* What the GPU has decoded is looked at right before its motion is derived, which reads the same. */
static void run_import(struct engine *e, struct job *job)
{
    struct session *s = job->session;
    uint32_t units = job->fetched;
    bool skip = s->abort, good = true;
    job->fetched = 0;
    uv_mutex_unlock(&e->lock);
    double cpu = thread_cpu_seconds();
    if (!skip)
        good = h264_picture_import(job->pic, units);
    if (!good)
        h264_picture_free_arrays(job->pic);
    cpu = thread_cpu_seconds() - cpu;
    uv_mutex_lock(&e->lock);
    s->stats.cpu_motion += cpu;
    s->stats.gpu_entropy_pictures += good && !skip;
    if (good)
        job_decoded(e, job);
    else
        job_give_back(e, job);
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

/* Where a slice's motion needs nothing that is not there, it is derived at once, as its records are in the cache. */
static void run_slices(struct engine *e, struct worker *w, struct job *job, uint32_t from, uint32_t to)
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

static bool may_shuffle(const struct engine *e, const struct job *job)
{
    const struct session *s = job->session;
    return for_workers(e, job) && (s->source_waits || s->thread_ended || s->abort);
}

/* So that nobody has to look at all of the queue to find that. */
static bool all_far_ahead(const struct engine *e)
{
    uint32_t count = 0;
    for (const struct session *s = e->sessions; s; s = s->next)
        count += far_ahead(e, s) && !s->abort ? s->queued : 0;
    return count == e->entropy_count;
}

/* With shuffle_seed the window is let fill up first, then any picture of it may be next. */
static struct job *pick_entropy(struct engine *e, struct worker *w)
{
    struct job *first = e->entropy;
    if (first && !for_workers(e, first) && all_far_ahead(e))
        return NULL;
    while (first && !for_workers(e, first))
        first = first->next_entropy;
    if (!e->params.shuffle_seed || !first)
        return first;
    uint32_t eligible = 0;
    for (struct job *job = first; job; job = job->next_entropy)
        eligible += may_shuffle(e, job);
    if (!eligible)
        return NULL;
    uint32_t n = (uint32_t)(next_random(&w->random) % eligible);
    for (struct job *job = first; job; job = job->next_entropy)
        if (may_shuffle(e, job) && n-- == 0)
            return job;
    return NULL;
}

/* Arrays come as late as this, so that pictures that only wait in the window take no memory for them. The job is nobody
 * else's meanwhile, and then the first of the queue. After abort nothing is decoded into them. */
static void allocate(struct engine *e, struct job *job)
{
    struct session *s = job->session;
    bool skip = s->abort;
    job->counts = true;
    s->arrays++;
    entropy_remove(e, job);
    if (job->turn > e->turn_taken)
        e->turn_taken = job->turn;
    uv_mutex_unlock(&e->lock);
    int err = skip ? 0 : prepare_picture(job);
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
        struct job *next = motion_pop(e);
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

/* Until there is work. To wake a thread takes a while, and the core that it wakes on may have slowed down meanwhile; so the worker
 * that will be taken first is awake when the next picture of a live stream is expected. */
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
