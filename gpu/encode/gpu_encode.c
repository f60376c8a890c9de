/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Batches of the encoder's passes: their submissions. What comes of them: gpu_encode_wait.c
 *
 * A batch is two submissions. The first one decides and brings the records to the host, with as
 * many coefficients as the streams had the last time, and some more. The second one makes
 * references of the reconstructions, while the host writes bits. Where there were more
 * coefficients, a third one brings them.
 *
 * Each batch in flight has buffers and a queue of its own where the device has two: so the copies
 * of one run beside the passes of the other. Planes and the motion of the picture before are those
 * of streams. A batch begins after all batches that its streams were in.
 */
#include "gpu/encode/gpu_encode_internal.h"

#define BLOCKS_MORE 1024 /* of 32 bytes: they take a microsecond */

/* ---- what may be asked for ---- */

static bool is_reference(const struct gpu_encode *e, uint32_t set)
{
    return set >= e->params.sources && set < e->params.sets;
}

static bool decision_valid(const struct gpu_encode *e, const struct enc_picture *picture)
{
    const struct gpu_encode_params *p = &e->params;
    uint32_t used = picture->flags & ENC_SKIP_ALL ? 1 : picture->ref_count;
    bool good = picture->source < p->sources && picture->last < 2 * p->streams &&
                picture->kept < 2 * p->streams && picture->qp <= REC_MAX_QP &&
                picture->ref_count <= ENC_REFERENCES && is_reference(e, picture->pending);
    for (uint32_t r = 0; good && r < used; r++)
        good = is_reference(e, picture->reference[r]);
    return good;
}

static bool look_valid(const struct gpu_encode *e, const struct enc_picture *picture)
{
    return picture->source < e->params.sources && picture->kept < 2 * e->params.streams &&
           (picture->before == ENC_NO_SET || picture->before < e->params.sources);
}

static bool decisions_valid(const struct gpu_encode *e,
                            struct gpu_encode_decision *const *decisions, uint32_t count)
{
    bool good = count > 0 && count <= e->params.pictures;
    for (uint32_t i = 0; good && i < count; i++)
        good = decision_valid(e, &decisions[i]->picture) &&
               (!decisions[i]->ahead.analysis || look_valid(e, &decisions[i]->ahead.picture));
    return good;
}

static bool looks_valid(const struct gpu_encode *e, const struct gpu_encode_look *const *looks,
                        uint32_t count)
{
    bool good = count > 0 && count <= e->params.pictures;
    for (uint32_t i = 0; good && i < count; i++)
        good = look_valid(e, &looks[i]->picture);
    return good;
}

/* ---- submissions ---- */

int encode_begin(struct encode_batch *b, struct gpu_submission **s)
{
    int err = gpu_work_begin(b->work, UINT64_MAX, s);
    return err < 0 ? err : gpu_work_record(*s, 0);
}

/* The same for the first submission of a batch, which may have to wait for another queue */
static int encode_begin_first(struct encode_batch *b, struct gpu_submission **s)
{
    struct gpu_encode *e = b->encode;
    int err = encode_begin(b, s);
    if (err < 0)
        return err;
    gpu_work_depend(*s, e->filled);
    for (uint32_t i = 0; i < b->now.count; i++)
        gpu_work_depend(*s, e->stream_done[encode_stream(b, i)]);
    return GPU_OK;
}

static int encode_submit(struct encode_batch *b, struct gpu_submission *s)
{
    int64_t begun = gpu_clock_ns();
    int err = gpu_work_submit(s);
    b->spent.submits += 1e-9 * (double)(gpu_clock_ns() - begun);
    return err;
}

static void record_pictures(struct encode_batch *b, struct gpu_submission *s, uint64_t *at)
{
    encode_record_input(b, s, ENC_BIND_PICTURES, 0, b->now.pictures,
                        b->now.count * sizeof(*b->now.pictures), at);
}

static void record_offsets(struct encode_batch *b, struct gpu_submission *s, uint64_t *at)
{
    struct gpu_encode *e = b->encode;
    uint64_t mbs = encode_mb_count(&e->params);
    gpu_work_sync(s, BARRIER_TRANSFER, 0, 1u << ENC_BIND_OFFSETS);
    e->g->vk.vkCmdFillBuffer(s->commands, b->device[ENC_BIND_OFFSETS], 0, VK_WHOLE_SIZE, 0);
    for (uint32_t i = 0; i < b->now.count; i++)
        if (b->decisions[i]->offsets)
            encode_record_input(b, s, ENC_BIND_OFFSETS, i * mbs, b->decisions[i]->offsets, mbs, at);
}

/* All that a batch begins with */
static int record_inputs(struct encode_batch *b, struct gpu_submission *s)
{
    struct gpu_encode *e = b->encode;
    const struct gpu_encode_params *p = &e->params;
    uint64_t at = 0;
    if (!e->filled.value) {
        encode_record_input(b, s, ENC_BIND_QUANTISER, 0, p->quantiser, sizeof(p->quantiser), &at);
        encode_record_input(b, s, ENC_BIND_CODES, 0, &p->codes, sizeof(p->codes), &at);
    }
    record_pictures(b, s, &at);
    int err = encode_record_sources(b, s, &b->now);
    if (err < 0)
        return err;
    record_offsets(b, s, &at);
    gpu_work_sync(s, BARRIER_TRANSFER, 0, 1u << ENC_BIND_TICKETS);
    e->g->vk.vkCmdFillBuffer(s->commands, b->device[ENC_BIND_TICKETS], 0,
                             b->now.count * encode_tickets_size(p), 0);
    gpu_work_stamp(s, encode_pass_count + ENCODE_STAMP_UP);
    return GPU_OK;
}

/* A quarter more than the stream's pictures of late had, and some. What they are short of takes a
 * submission that waits for references. */
static uint32_t coeffs_expected(const struct gpu_encode *e, uint32_t stream)
{
    uint64_t most = encode_mb_count(&e->params) * ENC_BLOCKS;
    uint64_t some = (uint64_t)e->coeff_blocks[stream] * 5 / 4 + BLOCKS_MORE;
    return (uint32_t)(some < most ? some : most);
}

static int record_results(struct encode_batch *b, struct gpu_submission *s)
{
    bool records = false;
    for (uint32_t i = 0; i < b->now.count; i++)
        records |= !encode_data_wanted(b, i);
    if (records)
        encode_record_group(b, s, &b->now, ENCODE_PACK);
    for (uint32_t i = 0; i < b->now.count; i++) {
        b->copied[i] = coeffs_expected(b->encode, encode_stream(b, i));
        if ((!encode_data_wanted(b, i) && !encode_record_mbs(b, s, i)) ||
            !encode_record_coeffs(b, s, i, 0, b->copied[i]))
            return GPU_ERR_INVALID;
    }
    gpu_work_sync(s, BARRIER_TRANSFER, 1u << ENC_BIND_TOTALS, ENCODE_RESULTS);
    encode_record_copy(b->encode, s, b->device[ENC_BIND_TOTALS], 0, b->totals.buffer, 0,
                       b->now.count * sizeof(struct enc_total));
    gpu_work_sync_host(s, ENCODE_RESULTS);
    gpu_work_stamp(s, encode_pass_count + ENCODE_STAMP_DOWN);
    return GPU_OK;
}

static int submit_records(struct encode_batch *b)
{
    struct gpu_encode *e = b->encode;
    struct gpu_submission *s;
    bool any_load = false;
    int err = GPU_OK;
    for (uint32_t i = 0; i < b->now.count; i++)
        any_load |= !(b->now.pictures[i].flags & ENC_LOADED);
    TRY(encode_begin_first(b, &s));
    TRY(record_inputs(b, s));
    if (any_load)
        encode_record_group(b, s, &b->now, ENCODE_PLANES);
    encode_record_group(b, s, &b->now, ENCODE_DECISIONS);
    TRY(record_results(b, s));
    TRY(encode_submit(b, s));
    b->records = s->last;
    e->filled = e->filled.value ? e->filled : s->last;
error:
    return err;
}

static int submit_references(struct encode_batch *b)
{
    struct gpu_submission *s;
    int err = GPU_OK;
    TRY(encode_begin(b, &s));
    encode_record_group(b, s, &b->now, ENCODE_DEBLOCK);
    for (uint32_t i = 0; i < b->now.count; i++)
        if (b->decisions[i]->result.frame && !encode_record_frame(b, s, i))
            return GPU_ERR_INVALID;
    encode_record_group(b, s, &b->now, ENCODE_REFERENCES);
    TRY(encode_record_ahead(b, s));
    gpu_work_sync_host(s, ENCODE_RESULTS);
    TRY(encode_submit(b, s));
    b->references = s->last;
error:
    return err;
}

static int submit_analysis(struct encode_batch *b)
{
    uint64_t at = 0;
    struct gpu_submission *s;
    int err = GPU_OK;
    TRY(encode_begin_first(b, &s));
    record_pictures(b, s, &at);
    TRY(encode_record_sources(b, s, &b->now));
    gpu_work_stamp(s, encode_pass_count + ENCODE_STAMP_UP);
    if (!encode_record_analysis(b, s, &b->now))
        return GPU_ERR_INVALID;
    gpu_work_sync_host(s, ENCODE_RESULTS);
    gpu_work_stamp(s, encode_pass_count + ENCODE_STAMP_DOWN);
    TRY(gpu_work_submit(s));
    b->records = s->last;
error:
    return err;
}

/* ---- batches ---- */

static void pictures_add(struct encode_pictures *p, const struct enc_picture *picture,
                         const struct gpu_encode_source *source, struct enc_analysis *analysis)
{
    p->pictures[p->count] = *picture;
    p->sources[p->count] = source;
    p->analysis[p->count++] = analysis;
}

/* A batch that is free, without pictures; NULL: there is none. With the lock */
static struct encode_batch *batch_begin(struct gpu_encode *e)
{
    uint32_t i = 0;
    while (i < GPU_ENCODE_FLIGHT && e->batches[i].busy)
        i++;
    if (i == GPU_ENCODE_FLIGHT)
        return NULL;
    struct encode_batch *b = &e->batches[i];
    b->now.count = b->ahead.count = 0;
    b->spent = (struct gpu_encode_spent){0};
    return b;
}

/* The streams of a batch wait for its last submission. */
static void batch_submitted(struct encode_batch *b, struct gpu_point point)
{
    struct gpu_encode *e = b->encode;
    for (uint32_t i = 0; i < b->now.count; i++)
        e->stream_done[encode_stream(b, i)] = point;
    e->newest = b;
    b->busy = true;
}

int gpu_encode_submit(struct gpu_encode *e, struct gpu_encode_decision *const *decisions,
                      uint32_t count, uint32_t *batch)
{
    int err = GPU_OK;
    int64_t begun = gpu_clock_ns();
    if (!decisions_valid(e, decisions, count))
        return GPU_ERR_INVALID;
    pthread_mutex_lock(&e->lock);
    struct encode_batch *b = batch_begin(e);
    TRY(b ? GPU_OK : GPU_ERR_INVALID);
    for (uint32_t i = 0; i < count; i++) {
        const struct gpu_encode_look *ahead = &decisions[i]->ahead;
        b->decisions[i] = decisions[i];
        pictures_add(&b->now, &decisions[i]->picture, &decisions[i]->source, NULL);
        if (ahead->analysis)
            pictures_add(&b->ahead, &ahead->picture, &ahead->source, ahead->analysis);
    }
    TRY(submit_records(b));
    err = submit_references(b);
    if (err < 0 && !atomic_load(&e->g->lost))
        gpu_work_drain(b->work); /* it still writes records */
    TRY(err);
    batch_submitted(b, b->references);
    b->submitted_ns = gpu_clock_ns();
    b->spent.recorded = 1e-9 * (double)(b->submitted_ns - begun);
    *batch = (uint32_t)(b - e->batches);
error:
    pthread_mutex_unlock(&e->lock);
    return err;
}

int gpu_encode_decide(struct gpu_encode *e, struct gpu_encode_decision *const *decisions,
                      uint32_t count)
{
    uint32_t batch;
    int err = gpu_encode_submit(e, decisions, count, &batch);
    return err < 0 ? err : gpu_encode_wait(e, batch);
}

int gpu_encode_analyse(struct gpu_encode *e, const struct gpu_encode_look *const *looks,
                       uint32_t count)
{
    int err = GPU_OK;
    if (!looks_valid(e, looks, count))
        return GPU_ERR_INVALID;
    pthread_mutex_lock(&e->lock);
    struct encode_batch *b = batch_begin(e);
    for (uint32_t i = 0; b && i < count; i++)
        pictures_add(&b->now, &looks[i]->picture, &looks[i]->source, looks[i]->analysis);
    err = b ? submit_analysis(b) : GPU_ERR_INVALID;
    if (err == GPU_OK)
        batch_submitted(b, b->records);
    pthread_mutex_unlock(&e->lock);
    if (err < 0)
        return err;
    err = encode_wait(b, &b->records);
    encode_release(b);
    return err;
}
