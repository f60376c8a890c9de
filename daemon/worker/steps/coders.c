/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The coders: entropy decoding of slices, checks of what the GPU has decoded, motion.
 *
 * A coder takes work from the schedule, does it without the lock, and hands it back. No coder waits
 * for another, but one that follows the slice of a LIVE picture, and one that needs records which
 * another restores (records_needed.c). Thread: each its own.
 */
#include "daemon/worker/steps/coders.h"

#include "codec/h264_export.h"
#include "daemon/worker/schedule/knobs.h"
#include "daemon/worker/schedule/queues.h"
#include "daemon/worker/schedule/rows.h"
#include "daemon/worker/schedule/split.h"
#include "daemon/worker/engine/session_internal.h"
#include "daemon/worker/steps/admit.h"
#include "daemon/worker/steps/records_needed.h"
#include "proto/start_trace.h"

#include <pthread.h>
#include <stdlib.h>

/* ---- motion ---- */

struct followed {
    uint32_t mbs;
    bool bad; /* some are not among them */
    struct rec_seen seen;
};

/* Motion and checks of a slice as far as it is decoded; *any: there was something. False: it has
 * ended. Bad records are left for the picture's motion to find. */
static bool follow_some(struct h264_slice *slice, struct followed *out, bool *any)
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
    else
        out->bad = true;
    return more;
}

static void follow_slice(struct h264_slice *slice, struct followed *out)
{
    bool any;
    while (follow_some(slice, out, &any))
        if (!any)
            spin_once();
}

static void add_followed(struct picture *p, const struct followed *f)
{
    p->motion.followed += f->mbs;
    records_seen_add(&p->motion.seen, &f->seen);
}

/* The rest of steps 2 and 3 once all slices are decoded. */
static int finish_motion(struct coder *c, struct picture *p)
{
    struct rec_view view;
    int err = records_needed(c, p, true);
    if (err)
        return err;
    err = h264_picture_derive_motion(p->pic);
    if (err)
        return err;
    h264_picture_records(p->pic, &view);
    if (p->motion.followed == p->pic->mb_count)
        return records_validate_end(&view, &p->motion.seen, NULL);
    return records_validate_content(&view, NULL);
}

static void run_motion(struct coder *c, struct picture *p)
{
    struct engine *e = c->engine;
    bool skip = p->window->abort;
    engine_unlock(e);
    double cpu = thread_cpu_seconds();
    int err = skip ? 0 : finish_motion(c, p);
    cpu = thread_cpu_seconds() - cpu;
    engine_lock(e);
    session_of(p->window)->stats.cpu_motion += cpu;
    coder_motion_done(&e->schedule, p, err != 0, now_ns());
}

/* Row by row, as the cache still holds what was looked at: the GPU's records as they came, their
 * motion, and the records once more. */
static bool import_rows(struct picture *p)
{
    struct h264_picture *pic = p->pic;
    struct followed f = {0};
    bool any;
    h264_picture_import_entropy_begin(pic, p->motion.coeff_blocks);
    for (uint32_t i = 0; i < pic->slice_count; i++) {
        struct h264_slice *slice = &pic->slices[i];
        uint32_t to;
        for (uint32_t from = slice->hdr.first_mb; from < slice->end_mb; from = to) {
            to = slice->end_mb - from > pic->mb_width ? from + pic->mb_width : slice->end_mb;
            if (!h264_slice_import_entropy(slice, from, to))
                return false;
            follow_some(slice, &f, &any);
        }
    }
    add_followed(p, &f);
    return true;
}

/* *error: of its motion, as finish_motion. False: a coder has to decode it. */
static bool import_picture(struct coder *c, struct picture *p, int *error)
{
    bool per_slice, good = picture_begin_following(p, &per_slice) == 0;
    if (good && per_slice && records_needed(c, p, false) == 0)
        good = import_rows(p);
    else if (good)
        good = h264_picture_import_entropy(p->pic, p->motion.coeff_blocks);
    *error = good ? finish_motion(c, p) : 0;
    if (!good)
        h264_picture_free_arrays(p->pic);
    return good;
}

static void run_import(struct coder *c, struct picture *p)
{
    struct engine *e = c->engine;
    struct pelton_stats *stats = &session_of(p->window)->stats;
    bool skip = p->window->abort, good = true;
    int err = 0;
    engine_unlock(e);
    double cpu = thread_cpu_seconds();
    if (!skip)
        good = import_picture(c, p, &err);
    cpu = thread_cpu_seconds() - cpu;
    engine_lock(e);
    stats->cpu_motion += cpu;
    stats->gpu_entropy_pictures += good && !skip;
    stats->gpu_entropy_bytes += good && !skip ? p->entropy.bytes : 0;
    coder_import_done(&e->schedule, p, good, err != 0, now_ns());
}

/* ---- slices ---- */

static void slices_done(struct engine *e, struct picture *p, uint32_t count)
{
    struct h264_picture *source = NULL;
    bool intact = false;
    if (!coder_slices_done(p, count))
        return;
    START_TRACE_FIRST("first picture is entropy-decoded");
    window_grew(p);
    if (!p->window->abort) {
        intact = p->motion.by == BY_GPU && h264_picture_intact(p->pic, &p->motion.coeff_blocks);
        if (!h264_picture_conceal_source(p->pic, &source))
            source = NULL;
        if (source)
            window_read_records(p->window);
    }
    coder_decoded(&e->schedule, p, intact, source, now_ns());
}

/* The device may begin with the rows that are done. */
static void announce_rows(struct engine *e, struct picture *p, const struct followed *f)
{
    for (uint32_t rows; !f->bad && (rows = rows_more(&e->schedule, p, f->mbs));) {
        int64_t end = now_ns() + LIVE_ROWS_TEST_NS;
        engine_lock(e);
        rows_ready(&e->schedule, p, rows, &f->seen);
        while (rows_awaited(&e->schedule, p) && now_ns() < end) {
            engine_unlock(e);
            spin_once();
            engine_lock(e);
        }
        engine_unlock(e);
    }
}

static void run_follow(struct coder *c, struct picture *p)
{
    struct engine *e = c->engine;
    struct followed f = {0};
    bool any;
    rows_begin(&e->schedule, p);
    engine_unlock(e);
    double cpu = thread_cpu_seconds();
    bool may = records_needed(c, p, false) == 0;
    while (may && follow_some(&p->pic->slices[0], &f, &any))
        if (any)
            announce_rows(e, p, &f);
        else
            spin_once();
    cpu = thread_cpu_seconds() - cpu;
    engine_lock(e);
    session_of(p->window)->stats.cpu_motion += cpu;
    add_followed(p, &f);
    slices_done(e, p, 1);
}

struct slices_cost {
    double entropy, motion;
    uint64_t bytes;
};

/* Motion of a slice follows at once, if it needs nothing that is not there: its records are in the
 * cache. Without the lock. */
static void decode_slices(struct coder *c, const struct coder_work *w, struct followed *f,
                          struct slices_cost *cost)
{
    const uint32_t *order = w->picture->entropy.slice_order;
    bool follows = w->follows && !w->shared && records_needed(c, w->picture, false) == 0;
    for (uint32_t i = w->from; i < w->to; i++) {
        struct h264_slice *slice = &w->picture->pic->slices[order ? order[i] : i];
        double begin = thread_cpu_seconds();
        h264_slice_decode(slice, c->scratch);
        double middle = thread_cpu_seconds();
        if (follows)
            follow_slice(slice, f);
        cost->bytes += slice->nal_size;
        cost->entropy += middle - begin;
        cost->motion += thread_cpu_seconds() - middle;
    }
}

static void run_slices(struct coder *c, const struct coder_work *w)
{
    struct engine *e = c->engine;
    struct split *split = &e->schedule.split;
    struct pelton_stats *stats = &session_of(w->picture->window)->stats;
    struct followed f = {0};
    struct slices_cost cost = {0};
    bool skip = w->picture->window->abort;
    engine_unlock(e);
    if (!skip || w->shared)
        decode_slices(c, w, &f, &cost);
    engine_lock(e);
    stats->cpu_entropy += cost.entropy;
    stats->cpu_motion += cost.motion;
    split->cpu_spent += cost.entropy + cost.motion;
    if (cost.bytes)
        split_rate_add(&split->cpu_rate, cost.entropy + cost.motion, (double)cost.bytes);
    add_followed(w->picture, &f);
    slices_done(e, w->picture, w->to - w->from);
}

/* Then the first slices of the same picture. */
static void run_arrays(struct coder *c, struct picture *p)
{
    struct engine *e = c->engine;
    struct session *s = session_of(p->window);
    struct coder_work work;
    bool gpu = p->motion.by == BY_GPU, per_slice = false;
    engine_unlock(e);
    int err = gpu ? picture_alloc(p) : picture_make_arrays(p, &per_slice);
    engine_lock(e);
    p->can |= per_slice ? CAN_PER_SLICE : 0;
    if (err)
        session_abort(s, PELTON_ERR_NOMEM, "out of memory", "decode fewer streams at once");
    coder_arrays_done(&e->schedule, p, err != 0, &work);
    run_slices(c, &work);
}

/* ---- the thread ---- */

static bool coder_step(struct coder *c)
{
    struct engine *e = c->engine;
    struct coder_work work;
    coder_take(&e->schedule, &c->random, now_ns(), &work);
    switch (work.task) {
    case TASK_NONE:
        return false;
    case TASK_FOLLOW:
        run_follow(c, work.picture);
        return true;
    case TASK_ARRAYS:
        run_arrays(c, work.picture);
        return true;
    case TASK_SLICES:
        run_slices(c, &work);
        return true;
    case TASK_MOTION:
        run_motion(c, work.picture);
        return true;
    case TASK_IMPORT:
        run_import(c, work.picture);
        return true;
    }
    return false;
}

/* Until there is work. To wake a thread takes a while, and its core may have slowed down meanwhile.
 * So the coders that will be taken first are awake when the next LIVE picture is expected. */
static void coder_sleep(struct coder *c)
{
    struct engine *e = c->engine;
    engine_signal(e); /* for others: from now on the next signal may be for this one */
    c->idle = true;
    c->next_idle = e->threads.idle;
    e->threads.idle = c;
    e->schedule.idle++;
    while (c->idle) {
        int64_t due = e->schedule.live.due_ns, now = now_ns();
        if (!coder_is_next(c) || due + LIVE_WATCH_AFTER_NS <= now || !e->params.live_clocks) {
            engine_wait(e, &c->wake, 0);
        } else if (now < due - LIVE_WATCH_BEFORE_NS) {
            engine_wait(e, &c->wake, (uint64_t)(due - LIVE_WATCH_BEFORE_NS - now));
        } else {
            engine_unlock(e);
            while (atomic_load(&c->idle) && now_ns() < due + LIVE_WATCH_AFTER_NS)
                spin_once();
            engine_lock(e);
        }
    }
}

/* Another engine has its core. */
static bool coder_is_spare(const struct coder *c)
{
    const struct engine *e = c->engine;
    return (unsigned)(c - e->threads.coders) >= e->schedule.setting.coders;
}

/* Not among the idle, so that nobody wakes it in vain. Work that woke it goes to another one. */
static void coder_rest(struct coder *c)
{
    struct engine *e = c->engine;
    wake_coders(&e->schedule, 1);
    while (coder_is_spare(c) && !e->threads.stopping)
        engine_wait(e, &c->wake, 0);
}

static void coder_main(void *coder)
{
    struct coder *c = coder;
    struct engine *e = c->engine;
    pthread_setname_np(pthread_self(), "pelton-codec");
    thread_gives_way(CODER_NICE);
    engine_lock(e);
    while (!e->threads.stopping)
        if (coder_is_spare(c))
            coder_rest(c);
        else if (!coder_step(c))
            coder_sleep(c);
    engine_unlock(e);
}

static int coder_start(struct engine *e, struct coder *c, unsigned i)
{
    c->engine = e;
    c->random = e->params.shuffle_seed * 2 + 1 + i * 0x9e3779b97f4a7c15ull;
    c->scratch = h264_scratch_create();
    if (!c->scratch || uv_cond_init(&c->wake))
        return PELTON_ERR_NOMEM;
    if (uv_thread_create(&c->thread, coder_main, c)) {
        uv_cond_destroy(&c->wake);
        return PELTON_ERR_NOMEM;
    }
    e->threads.coders_started++;
    return 0;
}

int coders_start(struct engine *e)
{
    unsigned count = e->threads.cores;
    int err = 0;
    e->threads.coders = calloc(count, sizeof(*e->threads.coders));
    if (!e->threads.coders)
        return PELTON_ERR_NOMEM;
    for (unsigned i = 0; i < count && !err; i++)
        err = coder_start(e, &e->threads.coders[i], i);
    return err;
}

void coders_recall(struct engine *e)
{
    for (unsigned i = 0; i < e->threads.coders_started; i++)
        uv_cond_signal(&e->threads.coders[i].wake);
}

void coders_join(struct engine *e)
{
    engine_lock(e);
    coders_recall(e);
    engine_unlock(e);
    for (unsigned i = 0; i < e->threads.coders_started; i++)
        uv_thread_join(&e->threads.coders[i].thread);
}

void coders_free(struct engine *e)
{
    for (unsigned i = 0; i < e->threads.coders_started; i++)
        uv_cond_destroy(&e->threads.coders[i].wake);
    for (unsigned i = 0; e->threads.coders && i < e->threads.cores; i++)
        h264_scratch_free(e->threads.coders[i].scratch);
    free(e->threads.coders);
    e->threads.coders = NULL;
}
