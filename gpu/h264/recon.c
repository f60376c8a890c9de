/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Submission and completion of batches.
 *
 * The happy path: a call becomes one chunk, or more where it does not fit one. Each chunk is a
 * submission of the ring; the last one carries the ticket. When a submission is complete, its times
 * are added, frames that pass through staging are copied, and its ticket is done. Failures: a call
 * with invalid arguments submits nothing; an error while recording leaves earlier chunks running
 * and gives no ticket; a lost device makes every later call fail with GPU_ERR_LOST.
 */
#include "gpu/engine/gpu_clock.h"
#include "gpu/h264/recon_internal.h"

#include <string.h>

/* ---- time ---- */

/* The time between two timestamps belongs to the commands between them. Queues work in parallel, so
 * the sum over all stages may exceed the elapsed time. */
static void add_seconds(void *ctx, uint32_t name, double seconds)
{
    struct recon *r = ctx;
    const uint32_t stage = name & 0xff, pass = name >> 8;
    r->times.seconds[stage] += seconds;
    if (pass < RECON_MAX_PASSES)
        r->pass_seconds[pass] += seconds;
}

void recon_pass_times(struct recon *r, double seconds[RECON_MAX_PASSES])
{
    pthread_mutex_lock(&r->lock);
    memcpy(seconds, r->pass_seconds, sizeof(r->pass_seconds));
    pthread_mutex_unlock(&r->lock);
}

void recon_step_seconds(struct recon *r, double seconds[RECON_STEPS])
{
    for (int i = 0; i < RECON_STEPS; i++) {
        seconds[i] += r->step_seconds[i];
        r->step_seconds[i] = 0;
    }
}

void recon_times(struct recon *r, struct recon_times *out)
{
    pthread_mutex_lock(&r->lock);
    *out = r->times;
    pthread_mutex_unlock(&r->lock);
}

/* ---- completion ---- */

/* gpu_work's done(). */
void recon_chunk_done(void *ctx, const struct gpu_submission *s)
{
    struct recon *r = ctx;
    const struct recon_flight *f = &r->flights[s->index];
    gpu_hosts_flush(r->g, s->last.queue, s->last.value);
    pthread_mutex_lock(&r->lock);
    gpu_work_times(s, add_seconds, r);
    if (f->ticket)
        r->done = f->ticket;
    pthread_mutex_unlock(&r->lock);
}

static uint64_t item_bytes(const struct recon_item *item)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < item->rect_count; i++)
        bytes += (uint64_t)item->rects[i].bytes * item->rects[i].rows;
    return bytes;
}

/* gpu_work's submitted(). */
void recon_chunk_submitted(void *ctx, const struct gpu_submission *s)
{
    struct recon *r = ctx;
    struct recon_flight *f = &r->flights[s->index];
    const struct recon_chunk *chunk = f->chunk;
    for (uint32_t i = 0; i < chunk->delivery_count; i++)
        gpu_host_written(chunk->items[i].host, chunk->items[i].rects, chunk->items[i].rect_count,
                         &s->last);
    /* the last part delivers */
    const int part = chunk->shaded ? RECON_PART_DELIVER : RECON_PART_DOWN;
    for (uint32_t i = 0; chunk->parts && i < chunk->delivery_count; i++)
        *recon_slot_read(r, chunk->items[i].args.slot, part) = s->last.value;
    pthread_mutex_lock(&r->lock);
    f->ticket = f->ends ? ++r->submitted : 0;
    r->times.pictures += chunk->shape.unfinished ? 0 : chunk->picture_count;
    r->times.deliveries += chunk->delivery_count;
    r->times.batches += f->ends;
    r->times.upload_bytes += f->upload_bytes;
    for (uint32_t i = 0; i < chunk->delivery_count; i++)
        r->times.deliver_bytes += item_bytes(&chunk->items[i]);
    pthread_mutex_unlock(&r->lock);
}

static uint64_t recon_ticket_done(struct recon *r)
{
    pthread_mutex_lock(&r->lock);
    uint64_t done = r->done;
    pthread_mutex_unlock(&r->lock);
    return done;
}

uint64_t recon_done(struct recon *r)
{
    gpu_work_poll(r->work);
    return recon_ticket_done(r);
}

static bool recon_ticket_exists(struct recon *r, uint64_t ticket)
{
    pthread_mutex_lock(&r->lock);
    bool exists = ticket <= r->submitted;
    pthread_mutex_unlock(&r->lock);
    return exists;
}

/* Nobody waits longer than timeout_ns for each submission before it. */
int recon_wait(struct recon *r, uint64_t ticket, uint64_t timeout_ns)
{
    if (!recon_ticket_exists(r, ticket))
        return GPU_ERR_INVALID;
    for (;;) {
        struct gpu_point point;
        bool busy = gpu_work_oldest(r->work, &point);
        if (recon_ticket_done(r) >= ticket)
            return GPU_OK;
        int err = busy ? gpu_work_wait(r->work, timeout_ns) : GPU_ERR_INVALID;
        if (err)
            return err;
    }
}

/* All rows, or those of one field each. */
static bool rows_valid(const struct recon *r, const struct recon_picture *p)
{
    bool fields = (p->rows == REC_TOP || p->rows == REC_BOTTOM) &&
                  (p->rows_from == REC_TOP || p->rows_from == REC_BOTTOM);
    return (!p->rows && !p->rows_from) || (fields && r->params.interlaced);
}

/* Coefficients in the device's own memory can only be taken as they are. */
static bool coeff_blocks_packable(const struct recon *r, const struct rec_view *v)
{
    struct gpu_place place;
    if (v->packed)
        return v->packed_words >= v->head.mb_count && !r->wide;
    return recon_packed_blocks(r, v) == v->coeff_block_count ||
           !gpu_arena_find(r->g, v->coeffs, 1, &place) || !place.device;
}

static bool picture_valid(const struct recon *r, const struct recon_picture *p)
{
    const struct recon_params *q = &r->params;
    const struct rec_view *v = p->view;
    if (p->slot >= q->slots)
        return false;
    if (!v)
        return (p->copy_from < q->slots || p->copy_from == COPY_FILL) && rows_valid(r, p);
    const struct rec_picture *h = &v->head;
    uint32_t mbs = q->mb_width * q->mb_height / (h->structure == REC_FRAME ? 1 : 2);
    if (!q->interlaced && (h->structure != REC_FRAME || h->mbaff))
        return false;
    return h->mb_width == q->mb_width && h->mb_height == q->mb_height && h->mb_count == mbs &&
           (!h->colour_plane || q->separate_planes) &&
           h->chroma_format_idc == recon_chroma_format(q) && h->bit_depth[0] == q->bit_depth[0] &&
           h->bit_depth[1] == q->bit_depth[1] && h->coeff_bytes * 16u == r->coeff_block_bytes &&
           (v->motion || !h->has_inter) && coeff_blocks_packable(r, v);
}

/* So many rows of a picture, without anything else. */
static bool part_valid(const struct recon *r, const struct recon_picture *p, uint32_t n, uint32_t m)
{
    return n == 1 && m == 0 && p->view && p->first_row < p->end_row &&
           p->end_row < r->params.mb_height && !r->worst.generic_format && !p->view->packed &&
           recon_packed_blocks(r, p->view) == p->view->coeff_block_count;
}

/* Checks pictures, and prepares deliveries. */
static int check_call(struct recon *r, const struct recon_picture *pictures, uint32_t n,
                      const struct recon_delivery *deliveries, uint32_t m)
{
    uint32_t i = 0, k = 0;
    while (i < n && picture_valid(r, &pictures[i]) &&
           (!pictures[i].end_row || part_valid(r, &pictures[i], n, m)))
        i++;
    int err = i < n ? GPU_ERR_INVALID : recon_deliver_prepare(r, deliveries, m, &k);
    if (err == GPU_ERR_INVALID)
        gpu_log(r->g, 0, "%s %u of a batch %s", i < n ? "picture" : "delivery", i < n ? i : k,
                i < n ? "does not fit its frame store"
                      : "lies outside its frame or its host memory");
    return err;
}

/* Check, then for each chunk: plan, prepare, pack, record as data, play. */
int recon_submit(struct recon *r, const struct recon_picture *pictures, uint32_t n,
                 const struct recon_delivery *deliveries, uint32_t m, uint64_t *ticket)
{
    if (atomic_load(&r->g->lost))
        return GPU_ERR_LOST;
    int err = check_call(r, pictures, n, deliveries, m);
    if (err < 0)
        goto error;
    struct recon_item *items = r->items;
    double *steps = r->step_seconds;
    for (bool last = false; !last;) {
        struct recon_chunk chunk;
        struct gpu_submission *s = NULL;
        int64_t since = gpu_clock_ns();
        TRY(gpu_work_begin(r->work, UINT64_MAX, &s));
        gpu_clock_add(&steps[RECON_STEP_BEGIN], &since);
        struct recon_flight *f = &r->flights[s->index];
        uint64_t room = r->upload_capacity;
        f->s = s;
        f->chunk = &chunk;
        do {
            recon_chunk_plan(r, room, pictures, n, items, m, &chunk);
            recon_deliver_plan(r, f, &chunk);
            TRY(recon_prepare(r, f, &chunk, &room));
        } while (err == RECON_NARROWER);
        last = chunk.picture_count == n && chunk.delivery_count == m;
        f->ends = last;
        gpu_clock_add(&steps[RECON_STEP_PREPARE], &since);
        recon_chunk_pack(r, f, &chunk);
        gpu_clock_add(&steps[RECON_STEP_PACK], &since);
        recon_record(r, f, &chunk);
        gpu_clock_add(&steps[RECON_STEP_RECORD], &since);
        TRY(gpu_work_play(f->s, &r->steps));
        gpu_clock_add(&steps[RECON_STEP_PLAY], &since);
        if (chunk.shape.pictures) {
            r->begun.slot = pictures[0].slot;
            r->begun.rows = chunk.shape.unfinished ? chunk.row_end : 0;
        }
        pictures += chunk.picture_count;
        n -= chunk.picture_count;
        items += chunk.delivery_count;
        m -= chunk.delivery_count;
    }
    *ticket = r->submitted;
    return GPU_OK;
error:
    r->begun.rows = 0;
    if (!atomic_load(&r->g->lost))
        gpu_work_drain(r->work); /* earlier chunks of the call still read its records */
    return err;
}
