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
#include "gpu/h264/recon_internal.h"

/* gpu_work's done(). */
void recon_chunk_done(void *ctx, const struct gpu_submission *s)
{
    struct recon *r = ctx;
    const struct recon_flight *f = &r->flights[s->index];
    gpu_hosts_flush(r->g, s->last.queue, s->last.value);
    pthread_mutex_lock(&r->lock);
    recon_times_add(r, s);
    if (f->ticket)
        r->done = f->ticket;
    pthread_mutex_unlock(&r->lock);
}

/* gpu_work's submitted(). */
void recon_chunk_submitted(void *ctx, const struct gpu_submission *s)
{
    struct recon *r = ctx;
    struct recon_flight *f = &r->flights[s->index];
    const struct recon_chunk *chunk = f->chunk;
    recon_deliver_submitted(r, chunk, &s->last);
    pthread_mutex_lock(&r->lock);
    f->ticket = f->ends ? ++r->submitted : 0;
    r->times.pictures += chunk->picture_count;
    r->times.deliveries += chunk->delivery_count;
    r->times.batches += f->ends;
    r->times.upload_bytes += f->upload_bytes;
    for (uint32_t i = 0; i < chunk->delivery_count; i++)
        for (uint32_t k = 0; k < r->items[i].rect_count; k++)
            r->times.deliver_bytes +=
                (uint64_t)r->items[i].rects[k].bytes * r->items[i].rects[k].rows;
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

static int check_call(const struct recon *r, const struct recon_picture *pictures, uint32_t n,
                      const struct recon_delivery *deliveries, uint32_t m)
{
    int err = GPU_OK;
    struct recon_item item;
    for (uint32_t i = 0; i < n; i++) {
        if (!picture_valid(r, &pictures[i])) {
            gpu_log(r->g, 0, "picture %u of a batch does not fit its frame store", i);
            return GPU_ERR_INVALID;
        }
    }
    for (uint32_t i = 0; i < m && err == GPU_OK; i++) {
        err = recon_deliver_prepare(r, &deliveries[i], false, &item);
        if (err < 0)
            gpu_log(r->g, 0, "delivery %u of a batch lies outside its frame or its host memory", i);
    }
    return err;
}

static int submit_chunk(struct recon *r, struct recon_chunk *chunk, bool last)
{
    struct gpu_submission *s = NULL;
    int err = GPU_OK;
    TRY(gpu_work_begin(r->work, UINT64_MAX, &s));
    struct recon_flight *f = &r->flights[s->index];
    f->s = s;
    f->chunk = chunk;
    f->ends = last;
    chunk->parts = recon_chunk_parts(r, chunk);
    TRY(recon_deliver_plan(r, chunk));
    TRY(recon_flight_grow(r, f, chunk->bytes));
    recon_chunk_pack(r, f, chunk);
    TRY(recon_record(r, f, chunk));
    TRY(gpu_work_submit(s));
    recon_parts_submitted(r, chunk);
error:
    return err;
}

int recon_submit(struct recon *r, const struct recon_picture *pictures, uint32_t n,
                 const struct recon_delivery *deliveries, uint32_t m, uint64_t *ticket)
{
    if (atomic_load(&r->g->lost))
        return GPU_ERR_LOST;
    int err = check_call(r, pictures, n, deliveries, m);
    bool last = false;
    while (err == GPU_OK && !last) {
        struct recon_chunk chunk;
        recon_chunk_plan(r, pictures, n, deliveries, m, &chunk);
        last = chunk.picture_count == n && chunk.delivery_count == m;
        err = submit_chunk(r, &chunk, last);
        pictures += chunk.picture_count;
        n -= chunk.picture_count;
        deliveries += chunk.delivery_count;
        m -= chunk.delivery_count;
    }
    if (err == GPU_OK)
        *ticket = r->submitted;
    else if (!atomic_load(&r->g->lost))
        gpu_work_drain(r->work); /* earlier chunks of the call still read its records */
    return err;
}
