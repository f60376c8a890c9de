/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Submission and completion of batches.
 *
 * The happy path: a call becomes one chunk (more where it does not fit one), each in the next
 * flight of the ring; the last one carries the ticket. A flight is busy until somebody, in any
 * thread, finds the timeline past its last submission and those of the flights before it over; then
 * its times are added, frames that pass through staging are copied, and the ticket is done. The
 * failure modes: a call with invalid arguments submits nothing; an error while recording leaves
 * what was submitted before running and gives no ticket; a lost device makes every later call fail
 * with GPU_ERR_LOST.
 */
#include "gpu/h264/recon_internal.h"

/* In the order of submission, which is the order of tickets: a later flight that is done already
 * waits. With lock held. */
static int reap(struct recon *r)
{
    for (uint32_t i = 0; i < r->flight_count; i++) {
        /* oldest first */
        struct recon_flight *f = &r->flights[(r->next_flight + i) % r->flight_count];
        uint64_t completed = 0;
        if (!f->busy)
            continue;
        int err = gpu_queue_completed(f->last.queue, &completed);
        if (err < 0)
            return err;
        if (completed < f->last.value)
            return GPU_OK;
        gpu_hosts_flush(r->g, f->last.queue, completed);
        recon_times_add(r, f);
        f->busy = false;
        if (f->ticket)
            r->done = f->ticket;
    }
    return GPU_OK;
}

uint64_t recon_done(struct recon *r)
{
    pthread_mutex_lock(&r->lock);
    reap(r);
    uint64_t done = r->done;
    pthread_mutex_unlock(&r->lock);
    return done;
}

/* The oldest flight that is busy. */
static bool oldest_point(struct recon *r, struct gpu_point *out)
{
    for (uint32_t i = 0; i < r->flight_count; i++) {
        const struct recon_flight *f = &r->flights[(r->next_flight + i) % r->flight_count];
        if (!f->busy)
            continue;
        *out = f->last;
        return true;
    }
    return false;
}

/* Nobody waits longer than timeout_ns for each flight before it. */
int recon_wait(struct recon *r, uint64_t ticket, uint64_t timeout_ns)
{
    int err = GPU_OK;
    pthread_mutex_lock(&r->lock);
    if (ticket > r->submitted)
        err = GPU_ERR_INVALID;
    while (err == GPU_OK && r->done < ticket) {
        struct gpu_point point;
        bool busy = oldest_point(r, &point);
        pthread_mutex_unlock(&r->lock);
        err = busy ? gpu_queue_wait(point.queue, point.value, timeout_ns) : GPU_ERR_INVALID;
        pthread_mutex_lock(&r->lock);
        if (err == GPU_OK)
            err = reap(r);
    }
    pthread_mutex_unlock(&r->lock);
    return err;
}

/* The next flight, which is the oldest, idle. */
static int acquire_flight(struct recon *r, struct recon_flight **out)
{
    struct recon_flight *f = &r->flights[r->next_flight];
    pthread_mutex_lock(&r->lock);
    int err = reap(r);
    bool busy = f->busy;
    struct gpu_point last = f->last;
    pthread_mutex_unlock(&r->lock);
    if (err == GPU_OK && busy) {
        err = gpu_queue_wait(last.queue, last.value, UINT64_MAX);
        pthread_mutex_lock(&r->lock);
        if (err == GPU_OK)
            err = reap(r);
        pthread_mutex_unlock(&r->lock);
    }
    if (err == GPU_OK)
        *out = f;
    return err;
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

static void note_submitted(struct recon *r, struct recon_flight *f, const struct recon_chunk *chunk,
                           const struct gpu_point *point, bool last)
{
    pthread_mutex_lock(&r->lock);
    f->busy = true;
    f->last = *point;
    f->ticket = last ? ++r->submitted : 0;
    r->next_flight = (r->next_flight + 1) % r->flight_count;
    r->times.pictures += chunk->picture_count;
    r->times.deliveries += chunk->delivery_count;
    r->times.batches += last;
    r->times.upload_bytes += f->upload_bytes;
    for (uint32_t i = 0; i < chunk->delivery_count; i++)
        for (uint32_t k = 0; k < r->items[i].rect_count; k++)
            r->times.deliver_bytes +=
                (uint64_t)r->items[i].rects[k].bytes * r->items[i].rects[k].rows;
    pthread_mutex_unlock(&r->lock);
}

static int submit_chunk(struct recon *r, struct recon_chunk *chunk, bool last)
{
    struct recon_flight *f = NULL;
    struct gpu_point point;
    struct barrier_state before = r->barriers;
    bool main_sent = false;
    int err = GPU_OK;
    TRY(acquire_flight(r, &f));
    chunk->parts = recon_chunk_parts(r, chunk);
    TRY(recon_deliver_plan(r, chunk));
    TRY(recon_flight_grow(r, f, chunk->bytes));
    recon_chunk_pack(r, f, chunk);
    TRY(recon_record(r, f, chunk));
    TRY(recon_parts_submit(r, f, chunk, &point, &main_sent));
    recon_deliver_submitted(r, chunk, &point);
    note_submitted(r, f, chunk, &point, last);
    return GPU_OK;
error:
    if (!main_sent)
        r->barriers = before;
    return err;
}

/* Nothing of r runs any more. */
static void drain(struct recon *r)
{
    int err = GPU_OK;
    pthread_mutex_lock(&r->lock);
    struct gpu_point point;
    while (err == GPU_OK && oldest_point(r, &point)) {
        pthread_mutex_unlock(&r->lock);
        err = gpu_queue_wait(point.queue, point.value, UINT64_MAX);
        pthread_mutex_lock(&r->lock);
        if (err == GPU_OK)
            err = reap(r);
    }
    pthread_mutex_unlock(&r->lock);
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
        drain(r); /* earlier chunks of the call still read its records */
    return err;
}
