/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Batches on the device: collected by the schedule, prepared and submitted here, and completed.
 *
 * The failure modes are a device that refuses a batch, and one that is lost with batches in flight.
 * Then every session fails. Such a batch counts as finished, so that all of it can be taken down;
 * its frames are never given out.
 */
#include "daemon/worker/steps/reconstruct.h"

#include "daemon/worker/schedule/rows.h"
#include "proto/start_trace.h"

/* ---- completion ---- */

/* Their windows move on, or their frames leave. With the lock. */
static void submission_note(struct submission *sub)
{
    for (uint32_t i = 0; i < sub->batch.count; i++)
        if (sub->batch.entries[i].picture)
            note_window(sub->batch.entries[i].picture->window);
    for (uint32_t i = 0; i < sub->delivery_count; i++)
        note_window(&sub->to[i].session->window);
}

static int64_t gpu_ns(const struct recon_times *before, const struct recon_times *after)
{
    double seconds = 0;
    for (unsigned i = 0; i < RECON_STAGES; i++)
        seconds += after->seconds[i] - before->seconds[i];
    return (int64_t)(seconds * 1e9);
}

/* Of a batch that was not done. With the lock. */
static void delivery_forget(struct delivery *d)
{
    d->output.drop = true;
    pool_put(d->pool, d->frame.slot);
}

/* What only reconstruction needed goes first, without the lock; then the stages change. */
static void submission_complete(struct engine *e, struct store *st, struct submission *sub,
                                bool done)
{
    const struct batch *b = &sub->batch;
    engine_unlock(e);
    if (b->count)
        START_TRACE_FIRST("first batch is done");
    h264_picture_unref(sub->begun);
    sub->begun = NULL;
    for (uint32_t i = 0; i < b->count; i++)
        if (b->entries[i].picture)
            h264_picture_done(b->entries[i].picture->pic);
    struct recon_times times;
    recon_times(st->recon, &times);
    int64_t now = now_ns(), gpu = gpu_ns(&st->times, &times);
    engine_lock(e);
    st->times = times;
    recon_step_seconds(st->recon, e->threads.device_sums.submitting);
    device_sums_batch(&e->threads.device_sums, b, sub->delivery_count);
    submission_note(sub);
    for (uint32_t i = 0; i < b->count; i++)
        if (b->entries[i].picture)
            picture_move(b->entries[i].picture, EDGE_COMPLETE);
    for (uint32_t i = 0; i < sub->delivery_count; i++) {
        struct delivery *d = sub->to[i].delivery;
        d->output.state = OUTPUT_COMPLETE;
        d->frame.decoded_ns = now;
        d->frame.trace[PELTON_TRACE_GPU] = gpu;
        if (!done)
            delivery_forget(d);
    }
    sub->next = st->spare;
    st->spare = sub;
}

bool store_complete(struct engine *e, struct store *st)
{
    bool any = false;
    uint64_t done = st->first ? recon_done(st->recon) : 0;
    while (st->first && (e->gpu_lost || st->first->ticket <= done)) {
        struct submission *sub = st->first;
        st->first = sub->next;
        if (!st->first)
            st->last = NULL;
        st->slots.in_flight--;
        st->slots.idle_since = e->schedule.serial;
        submission_complete(e, st, sub, !sub->refused && sub->ticket <= done);
        any = true;
    }
    return any;
}

/* ---- submission ---- */

static struct recon_picture copy_picture(const struct batch_copy *copy)
{
    return (struct recon_picture){.slot = copy->slot,
                                  .copy_from = copy->from,
                                  .rows = copy->rows,
                                  .rows_from = copy->rows_from,
                                  .planes = copy->planes};
}

/* Slots into records that are checked already but for these. A picture that fails becomes a copy.
 * Without the lock: SUBMITTED pictures are this thread's. */
static void submission_prepare(struct submission *sub, uint32_t i, uint32_t slots)
{
    struct picture *p = sub->batch.entries[i].picture;
    struct rec_view *view = &sub->views[i];
    const char *reason;
    sub->pictures[i] = copy_picture(&sub->batch.entries[i].copy);
    if (!p)
        return;
    if (p->outcome == OUTCOME_WHOLE &&
        (h264_picture_view(p->pic, view) || records_validate_slots(view, slots, &reason)))
        picture_spoil(p);
    if (p->outcome == OUTCOME_WHOLE) {
        sub->pictures[i].view = view;
        sub->pictures[i].first_row = rows_done(p);
    } else if (!p->pic->non_existing)
        h264_picture_damage(p->pic);
}

/* With the lock, dropped meanwhile. */
static void submission_prepare_all(struct engine *e, struct submission *sub)
{
    const struct batch *b = &sub->batch;
    uint32_t slots = b->slots->count;
    engine_unlock(e);
    for (uint32_t i = 0; i < b->count; i++)
        submission_prepare(sub, i, slots);
    engine_lock(e);
    for (uint32_t i = 0; i < b->count; i++) {
        const struct picture *p = b->entries[i].picture;
        if (p)
            p->owner->frame.corrupt |= p->pic->damage.corrupt;
    }
}

static void submission_charge(const struct submission *sub, double cpu)
{
    const struct batch *b = &sub->batch;
    for (uint32_t i = 0; i < b->count; i++)
        if (b->entries[i].picture)
            session_of(b->entries[i].picture->window)->stats.cpu_submit += cpu / b->count;
}

/* The reader of a live stream will have to be told soon. */
static bool submission_is_awaited(const struct engine *e, const struct submission *sub)
{
    for (uint32_t i = 0; i < sub->delivery_count && !e->software; i++) {
        const struct window *w = &sub->to[i].session->window;
        if (w->live && w->busy <= WINDOW_LIVE_PICTURES)
            return true;
    }
    return false;
}

/* The spare one that was filled is in flight. */
static void store_append(struct store *st, struct submission *sub)
{
    submission_note(sub);
    st->spare = sub->next;
    sub->next = NULL;
    if (st->last)
        st->last->next = sub;
    else
        st->first = sub;
    st->last = sub;
    st->slots.in_flight++;
}

/* A spare one, collected and prepared; NULL: nothing is to be done. There are as many as may be in
 * flight. With the lock, dropped meanwhile. */
static struct submission *submission_collect(struct engine *e, struct store *st)
{
    struct submission *sub = st->spare;
    sub->delivery_count = 0;
    batch_collect(&e->schedule, &st->slots, &sub->batch);
    if (sub->batch.count)
        submission_prepare_all(e, sub);
    submission_deliver(e, sub);
    return sub->batch.count || sub->delivery_count ? sub : NULL;
}

/* False: the picture has to wait for its own batch. Without the lock: records before end_row are
 * final. */
static bool rows_prepare(const struct store *st, const struct recon_picture *rows,
                         struct rec_view *view)
{
    const char *reason;
    view->coeff_block_count = h264_view_blocks_until(view, rows->end_row * view->head.mb_width);
    return records_validate_slots(view, st->slots.count, &reason) == 0 &&
           recon_takes_rows(st->recon, view);
}

bool store_submit_rows(struct engine *e, struct store *st)
{
    struct submission *sub = st->spare;
    struct picture *p = rows_take(&e->schedule, &st->slots);
    if (!p)
        return false;
    int err = GPU_OK;
    bool good = h264_picture_view_rows(p->pic, &p->rows.seen, &sub->views[0]) == 0;
    sub->pictures[0] = (struct recon_picture){.view = &sub->views[0],
                                              .slot = (uint32_t)p->pic->holder.slot,
                                              .first_row = p->rows.submitted,
                                              .end_row = p->rows.ready};
    engine_unlock(e);
    good = good && rows_prepare(st, &sub->pictures[0], &sub->views[0]);
    if (good)
        err = recon_submit(st->recon, sub->pictures, 1, NULL, 0, &sub->ticket);
    engine_lock(e);
    p->rows.refused = !good;
    if (!good)
        return true;
    p->rows.submitted = sub->pictures[0].end_row;
    sub->begun = h264_picture_ref(p->pic);
    sub->batch.count = sub->delivery_count = 0;
    sub->batch.serial = e->schedule.serial;
    sub->awaited = !e->software;
    sub->refused = err != 0;
    if (err)
        sub->ticket = 0;
    store_append(st, sub);
    START_TRACE_FIRST("first rows of a picture are submitted");
    if (err)
        engine_device_failed(e, err);
    return true;
}

bool store_submit(struct engine *e, struct store *st)
{
    int64_t begin = now_ns();
    double cpu = thread_cpu_seconds();
    struct submission *sub = submission_collect(e, st);
    if (!sub)
        return false;
    e->schedule.serial++;
    device_sums_step(&e->threads.device_sums, DEVICE_SUBMITS);
    engine_unlock(e);
    int err = recon_submit(st->recon, sub->pictures, sub->batch.count, sub->deliveries,
                           sub->delivery_count, &sub->ticket);
    int64_t end = now_ns();
    engine_lock(e);
    device_sums_step(&e->threads.device_sums, DEVICE_COLLECTS);
    for (uint32_t i = 0; i < sub->delivery_count; i++) {
        sub->to[i].delivery->frame.trace[PELTON_TRACE_SUBMIT_BEGIN] = begin;
        sub->to[i].delivery->frame.trace[PELTON_TRACE_SUBMIT_END] = end;
    }
    sub->awaited = submission_is_awaited(e, sub);
    if (sub->awaited)
        engine_expect(e);
    submission_charge(sub, thread_cpu_seconds() - cpu);
    sub->refused = err != 0;
    if (err)
        sub->ticket = 0; /* counts as finished */
    store_append(st, sub);
    START_TRACE_FIRST("first batch is submitted");
    if (err)
        engine_device_failed(e, err);
    return true;
}
