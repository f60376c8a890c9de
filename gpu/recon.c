/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Submission and completion of batches.
 *
 * The happy path: a call becomes one submission (more where it does not fit one), each in the next flight of the ring; the last one
 * carries the ticket. A flight is busy until somebody, in any thread, finds the timeline past its value; then its times are added,
 * frames that pass through staging are copied, and the ticket is done.
 * The failure modes: a call with invalid arguments submits nothing; an error while recording leaves what was submitted before
 * running and gives no ticket; a lost device makes every later call fail with GPU_ERR_LOST.
 */
#include "gpu/recon_internal.h"

/* With lock held. */
static int reap(struct recon *r)
{
    uint64_t completed = 0;
    bool any = false;
    for (uint32_t i = 0; i < r->flight_count; i++)
        any |= r->flights[i].busy;
    if (!any)
        return GPU_OK;
    int err = gpu_completed(r->g, &completed);
    if (err < 0)
        return err;
    gpu_hosts_flush(r->g, completed);
    for (uint32_t i = 0; i < r->flight_count; i++) {
        struct recon_flight *f = &r->flights[i];
        if (!f->busy || f->value > completed)
            continue;
        recon_times_add(r, f);
        f->busy = false;
        if (f->ticket > r->done)
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

int recon_wait(struct recon *r, uint64_t ticket, uint64_t timeout_ns)
{
    uint64_t value = 0;
    pthread_mutex_lock(&r->lock);
    int err = ticket > r->submitted ? GPU_ERR_INVALID : GPU_OK;
    bool done = ticket <= r->done;
    for (uint32_t i = 0; i < r->flight_count; i++)
        if (r->flights[i].busy && r->flights[i].ticket == ticket)
            value = r->flights[i].value;
    pthread_mutex_unlock(&r->lock);
    if (err < 0 || done)
        return err;
    err = gpu_wait(r->g, value, timeout_ns);
    if (err)
        return err;
    pthread_mutex_lock(&r->lock);
    err = reap(r);
    pthread_mutex_unlock(&r->lock);
    return err;
}

/* The next flight, idle. */
static int acquire_flight(struct recon *r, struct recon_flight **out)
{
    struct recon_flight *f = &r->flights[r->next_flight];
    pthread_mutex_lock(&r->lock);
    int err = reap(r);
    bool busy = f->busy;
    uint64_t value = f->value;
    pthread_mutex_unlock(&r->lock);
    if (err == GPU_OK && busy) {
        err = gpu_wait(r->g, value, UINT64_MAX);
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
    bool fields = (p->rows == REC_TOP || p->rows == REC_BOTTOM) && (p->rows_from == REC_TOP || p->rows_from == REC_BOTTOM);
    return (!p->rows && !p->rows_from) || (fields && r->params.interlaced);
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
           h->chroma_format_idc == recon_chroma_format(q) && h->bit_depth[0] == q->bit_depth[0] && h->bit_depth[1] == q->bit_depth[1] &&
           h->coeff_bytes * 16u == r->unit_bytes && (v->motion || !h->has_inter);
}

static int check_call(const struct recon *r, const struct recon_picture *pictures, uint32_t n, const struct recon_delivery *deliveries, uint32_t m)
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
        err = recon_deliver_prepare(r, &deliveries[i], &item);
        if (err < 0)
            gpu_log(r->g, 0, "delivery %u of a batch lies outside its frame or its host memory", i);
    }
    return err;
}

static void note_submitted(struct recon *r, struct recon_flight *f, const struct recon_chunk *chunk, uint64_t value, bool last)
{
    pthread_mutex_lock(&r->lock);
    f->busy = true;
    f->value = value;
    f->ticket = last ? ++r->submitted : 0;
    r->next_flight = (r->next_flight + 1) % r->flight_count;
    r->times.pictures += chunk->picture_count;
    r->times.deliveries += chunk->delivery_count;
    r->times.batches += last;
    r->times.upload_bytes += f->upload_bytes;
    for (uint32_t i = 0; i < chunk->delivery_count; i++)
        for (uint32_t k = 0; k < r->items[i].rect_count; k++)
            r->times.deliver_bytes += (uint64_t)r->items[i].rects[k].bytes * r->items[i].rects[k].rows;
    pthread_mutex_unlock(&r->lock);
}

static int submit_chunk(struct recon *r, const struct recon_chunk *chunk, bool last)
{
    struct recon_flight *f = NULL;
    uint64_t value = 0;
    struct barrier_state before = r->barriers;
    int err = GPU_OK;
    TRY(recon_deliver_plan(r, chunk));
    TRY(acquire_flight(r, &f));
    TRY(recon_flight_grow(r, f, chunk->bytes));
    recon_chunk_pack(r, f, chunk);
    TRY(recon_record(r, f, chunk));
    TRY(gpu_submit(r->g, f->commands, &value));
    recon_deliver_submitted(r, chunk, value);
    note_submitted(r, f, chunk, value, last);
    return GPU_OK;
error:
    r->barriers = before;
    return err;
}

static uint64_t last_value(struct recon *r)
{
    uint64_t value = 0;
    pthread_mutex_lock(&r->lock);
    for (uint32_t i = 0; i < r->flight_count; i++)
        if (r->flights[i].busy && r->flights[i].value > value)
            value = r->flights[i].value;
    pthread_mutex_unlock(&r->lock);
    return value;
}

int recon_submit(struct recon *r, const struct recon_picture *pictures, uint32_t n, const struct recon_delivery *deliveries, uint32_t m,
                 uint64_t *ticket)
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
        gpu_wait(r->g, last_value(r), UINT64_MAX); /* earlier parts of the call still read its records */
    return err;
}
