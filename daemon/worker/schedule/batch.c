/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Which pictures and deliveries make the next batch of a store. Everything here runs with the lock
 * held.
 *
 * A picture may go when its motion is derived and every picture it reads was submitted in an
 * earlier batch: batches execute in the order of submission. So a batch holds pictures that do not
 * refer to each other, of any session and any GOP of the store.
 */
#include "daemon/worker/schedule/batch.h"

#include <stdlib.h>

#define MOST_LOOK 1024 /* pictures of a session from the oldest that waits on */

static struct batch *batch_take(struct store *st)
{
    struct batch *b = st->spare;
    if (b) {
        st->spare = b->next;
        b->n = b->m = 0;
        return b;
    }
    b = calloc(1, sizeof(*b));
    if (!b)
        return NULL;
    b->store = st;
    b->jobs = calloc(st->width, sizeof(*b->jobs));
    b->pictures = calloc(st->width, sizeof(*b->pictures));
    b->views = calloc(st->width, sizeof(*b->views));
    b->next = NULL;
    if (!b->jobs || !b->pictures || !b->views) {
        free(b->jobs);
        free(b->pictures);
        free(b->views);
        free(b);
        return NULL;
    }
    return b;
}

void batch_put(struct batch *b)
{
    b->next = b->store->spare;
    b->store->spare = b;
}

/* Its references were submitted before batch `serial`. A reference that cannot be read from this
 * store makes the picture a copy. */
static bool references_submitted(struct job *job, const struct store *st, uint64_t serial)
{
    for (uint32_t i = 0; i < job->pic->refs_held_count; i++) {
        const struct job *ref = job->pic->refs_held[i]->holder.user;
        if (!ref) {
            job->failed = true;
            continue;
        }
        /* concealment holds one picture of a frame and reads all */
        const struct frame_state *frame = &ref->owner->frame;
        if (ref->state < JOB_SUBMITTED || ref->batch == serial)
            return false;
        if (ref->owner != job->owner && (!frame_submitted(ref->owner) || frame->batch == serial))
            return false;
        if (ref->store != st)
            job->failed = true;
    }
    return true;
}

/* The rows of a field whose other one never came stand for both. */
static void fill_other_field(struct batch *b, struct job *owner)
{
    uint32_t slot = (uint32_t)owner->pic->holder.slot;
    b->pictures[b->n] = (struct recon_picture){.slot = slot,
                                               .copy_from = slot,
                                               .rows = REC_FRAME - owner->pic->structure,
                                               .rows_from = owner->pic->structure};
    b->jobs[b->n++] = NULL;
    owner->frame.filled = true;
    owner->frame.batch = b->serial;
}

/* Of the frames it reads, all of which were submitted before: damaged pictures may read both fields
 * of a frame that has but one. They do after a batch that fills in the other one, so that they
 * never see what the slot held before. It is known that no field follows, as this picture did; only
 * one of the other view may come between two fields, and reads no other parity than its own
 * (codec/stream_view.c). */
static bool fields_filled(const struct job *job, struct batch *b)
{
    bool filled = true;
    for (uint32_t i = 0; i < job->pic->refs_held_count; i++) {
        const struct h264_picture *pic = job->pic->refs_held[i];
        const struct job *ref = pic->holder.user;
        if (!ref || ref->owner == job->owner || pic->view != job->pic->view ||
            ref->store != b->store || !frame_is_single_field(ref->owner))
            continue;
        if (!ref->owner->frame.filled && b->n < b->store->width)
            fill_other_field(b, ref->owner);
        filled &= ref->owner->frame.filled && ref->owner->frame.batch < b->serial;
    }
    return filled;
}

static bool in_flight(const struct session *s)
{
    for (const struct job *job = s->window; job; job = job->next)
        if (job->state == JOB_SUBMITTED)
            return true;
    return false;
}

/* No completion and no reader will free a slot: the stream keeps more pictures than its DPB size
 * allows. */
static bool starved(const struct session *s)
{
    if (in_flight(s))
        return false;
    const struct job *head = s->outputs ? s->outputs->pic->holder.user : NULL;
    return !head || !frame_submitted(head);
}

/* Whether a picture of s may take a slot; store.c has the rule. The oldest one then takes it. */
static bool claim_slot(struct session *s, struct store *st, bool oldest)
{
    uint32_t ahead = s->frames_ahead, in_order = s->held > ahead ? s->held - ahead : 0;
    if (!oldest)
        return s->held < s->quota && ahead < s->quota - s->base &&
               st->free_count > st->owed + st->kept;
    if (in_order < s->base && st->free_count) {
        st->owed -= st->owed > 0;
        return true;
    }
    if (s->held < s->quota && st->free_count > st->owed)
        return true;
    if (!starved(s))
        return false;
    if (st->free_count)
        return true;
    if (st->live == s->held) {
        session_fail(s, PELTON_ERR_OTHER, "no frame slot is left for the stream", "");
        s->abort = true;
        atomic_store(&s->stop, true);
    }
    return false;
}

/* A free slot, or that of the picture's frame. */
static void take_slot(struct store *st, struct job *job)
{
    job->store = st;
    if (job->owner != job) {
        job->pic->holder.slot = job->owner->pic->holder.slot;
        return;
    }
    job->seat = job->session->seat;
    job->pic->holder.slot = st->free_slots[--st->free_count];
    st->live++;
    job->session->held++;
}

static void take(struct batch *b, struct job *job)
{
    if (!job->store)
        take_slot(b->store, job);
    job_set_state(job, JOB_SUBMITTED);
    job_settled(job);
    job->batch = job->owner->frame.batch = b->serial;
    job->owner->frame.submitted++;
    job->session->gpu_pictures++;
    b->jobs[b->n++] = job;
}

/* A damaged stream's P or B picture without any reference reads its own slot (h264_picture_view),
 * which holds whatever was there before, perhaps a frame of another stream: its slot becomes grey
 * first, by a batch before its own. */
static bool needs_fill(const struct job *job)
{
    if (job->store || job->failed || job->pic->refs_held_count)
        return false;
    for (uint32_t i = 0; i < job->pic->slice_count; i++)
        if (job->pic->slices[i].hdr.type != H264_I)
            return true;
    return false;
}

/* A copy writes what the picture itself would: rows of its field, its plane. */
static void copy_part(const struct h264_picture *pic, struct recon_picture *p)
{
    p->rows = p->rows_from = pic->structure == REC_FRAME ? 0 : pic->structure;
    p->planes = pic->sps->separate_colour_plane_flag && !pic->non_existing
                    ? (uint8_t)(1 << pic->colour_plane)
                    : 0;
}

/* The batch does not name the job: it may be discarded before the batch is done. */
static void fill(struct batch *b, struct job *job)
{
    take_slot(b->store, job);
    job->batch = b->serial;
    b->pictures[b->n] =
        (struct recon_picture){.slot = (uint32_t)job->pic->holder.slot, .copy_from = UINT32_MAX};
    copy_part(job->pic, &b->pictures[b->n]);
    b->jobs[b->n++] = NULL;
}

static void collect_jobs(struct session *s, struct batch *b, uint32_t most)
{
    uint32_t ready = s->ready, look = MOST_LOOK;
    most = most > b->store->width - b->n ? b->store->width : b->n + most;
    for (struct job *job = s->waiting; job && ready && look && b->n < most;
         job = job->next, look--) {
        bool oldest = job == s->waiting;
        if (job->state != JOB_READY)
            continue;
        ready--;
        if (!store_serves(s, job->pic->sps))
            return;
        if (!references_submitted(job, b->store, b->serial) ||
            (b->store->key.interlaced && !fields_filled(job, b)))
            continue;
        if (job->batch == b->serial)
            return;
        if (job->owner->store ? job->owner->store != b->store : job->owner != job)
            continue; /* the first picture of the frame goes first */
        if (!job->owner->store && !claim_slot(s, b->store, oldest))
            return;
        if (needs_fill(job)) {
            if (oldest)
                fill(b, job);
            return;
        }
        take(b, job);
    }
}

void copy_instead(const struct job *job, struct recon_picture *out)
{
    *out = (struct recon_picture){.slot = (uint32_t)job->pic->holder.slot, .copy_from = UINT32_MAX};
    copy_part(job->pic, out);
    for (uint32_t i = 0; i < job->pic->refs_held_count; i++) {
        const struct h264_picture *from = job->pic->refs_held[i];
        const struct job *ref = from->holder.user;
        if (!ref || ref->store != job->store || ref->batch == job->batch)
            continue;
        out->copy_from = (uint32_t)from->holder.slot;
        if (out->rows && from->structure != REC_FRAME)
            out->rows_from = from->structure;
        return;
    }
}

/* By a batch after the field's own and before the delivery. */
static bool wants_other_field(const struct session *s, const struct output *out,
                              const struct batch *b)
{
    const struct job *job = out->pic->holder.user;
    return out->state == OUTPUT_QUEUED && out->structure == REC_FRAME &&
           frame_is_single_field(job) && !job->frame.filled && frame_submitted(job) &&
           job->store == b->store && job->frame.batch < b->serial && s->sub.pools &&
           s->sub.pools->memory;
}

static void collect_single_fields(struct session *s, struct batch *b)
{
    for (struct output *out = s->outputs; out && b->n < b->store->width; out = out->next) {
        struct job *job = out->pic->holder.user;
        if (wants_other_field(s, out, b))
            fill_other_field(b, job);
    }
}

uint32_t scheduler_batches(const struct engine *e)
{
    bool fewer = e->software;
    for (const struct session *s = e->sessions; s && !fewer; s = s->next)
        fewer = s->live;
    return BATCHES_IN_FLIGHT - fewer;
}

struct batch *scheduler_collect(struct engine *e, struct store *st)
{
    if (st->in_flight >= scheduler_batches(e))
        return NULL;
    struct batch *b = batch_take(st);
    if (!b)
        return NULL;
    b->serial = e->serial + 1;
    st->owed = slots_owed(e, st);
    uint32_t count = 0, at = 0;
    for (struct session *s = e->sessions; s; s = s->next) {
        count += s->store == st && !s->abort && s->ready;
        /* also of a session that has gone on to another store */
        if (!s->abort && st->key.interlaced)
            collect_single_fields(s, b);
    }
    if (!count)
        return b;
    uint32_t share = (st->width + count - 1) / count, first = e->turn++ % count;
    /* Each session its share, starting with another one each time; then whoever has more. */
    for (int pass = 0; pass < 3 && b->n < st->width; pass++) {
        at = 0;
        for (struct session *s = e->sessions; s; s = s->next) {
            if (s->store != st || s->abort || !s->ready)
                continue;
            bool mine = pass == 0 ? at >= first : pass == 1 ? at < first : true;
            at++;
            if (mine)
                collect_jobs(s, b, pass == 2 ? st->width : share);
        }
    }
    return b;
}

/* ---- deliveries ---- */

static void deliver(struct batch *b, struct session *s, struct output *out, struct pool *pool,
                    uint32_t slot)
{
    const struct feed_format *f = &pool->format;
    const struct h264_sps *sps = out->pic->sps;
    struct recon_delivery *d = &b->deliveries[b->m];
    *d = (struct recon_delivery){.slot = (uint32_t)out->pic->holder.slot,
                                 .host = pool->host,
                                 .crop_x = sps->crop_left,
                                 .crop_y = sps->crop_top,
                                 .width = f->width,
                                 .height = f->height,
                                 .format = (enum recon_format)pool->delivered,
                                 .structure = out->structure};
    if (out->structure != REC_FRAME)
        d->crop_y /= 2;
    format_blur(s, d);
    for (uint32_t p = 0; p < f->planes; p++) {
        d->offset[p] = slot * f->slot_size + f->plane_offset[p];
        d->stride[p] = f->stride[p];
    }
    out->pool = pool;
    out->state = OUTPUT_SUBMITTED;
    out->frame.slot = slot;
    out->frame.generation = pool->slots[slot].generation;
    b->outputs[b->m].session = s;
    b->outputs[b->m].output = out;
    b->m++;
}

static void drop_output(struct session *s, struct output *out)
{
    out->state = OUTPUT_COMPLETE;
    out->drop = true;
    s->dropped_decoder++;
    engine_wake_gpu(s->engine);
}

/* Applies the stream's on_error. True: the frame is not delivered. */
static bool refuse_corrupt(struct session *s, struct output *out)
{
    if (!((const struct job *)out->pic->holder.user)->frame.corrupt)
        return false;
    if (s->params.on_error == PELTON_ON_ERROR_DROP) {
        drop_output(s, out);
        return true;
    }
    if (s->params.on_error == PELTON_ON_ERROR_FAIL) {
        char cause[200];
        snprintf(cause, sizeof(cause), "%.120s: frame %llu is damaged", s->name,
                 (unsigned long long)out->frame.sequence);
        session_fail(s, PELTON_ERR_DECODE, cause, "--on-error show or drop goes on after damage");
        s->abort = true;
        atomic_store(&s->stop, true);
        uv_cond_broadcast(&s->room);
        workers_wake(s->engine, UINT_MAX);
        engine_wake_gpu(s->engine);
        return true;
    }
    return false;
}

/* The frames of s whose turn has come, as far as pictures, slots of the pool and the batch reach.
 */
static void collect_outputs(struct session *s, struct batch *b)
{
    for (struct output *out = s->outputs; out && b->m < BATCH_DELIVERIES && !s->abort;
         out = out->next) {
        const struct job *job = out->pic->holder.user;
        struct feed_format format;
        enum recon_format delivered;
        uint32_t slot;
        if (out->state != OUTPUT_QUEUED)
            continue;
        if (!frame_submitted(job) || job->store != b->store || !s->sub.pools)
            return;
        if (s->sub.pools->memory && out->structure == REC_FRAME && frame_is_single_field(job) &&
            !job->frame.filled)
            return;
        if (refuse_corrupt(s, out))
            continue;
        if (!format_of(s, out->pic->sps, out->pic->view, &format, &delivered) ||
            !format_equal(&format, &s->sub.pools->format))
            return;
        if (!s->sub.pools->memory) { /* PELTON_NONE: done when the picture is */
            out->pool = s->sub.pools;
            out->state = OUTPUT_SUBMITTED;
            engine_wake_gpu(s->engine); /* it may be done already */
        } else if (pool_take(s->sub.pools, &slot)) {
            deliver(b, s, out, s->sub.pools, slot);
        } else if (s->params.policy == PELTON_LOSSLESS ||
                   s->params.bench.transport == PELTON_READBACK) {
            return;
        } else {
            drop_output(s, out);
        }
    }
}

void scheduler_deliveries(struct engine *e, struct batch *b)
{
    for (struct session *s = e->sessions; s; s = s->next)
        collect_outputs(s, b);
}
