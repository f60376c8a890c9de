/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Batches of the encoder's passes: their submissions, and what comes of them.
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

#include <string.h>

#define BLOCKS_MORE 1024 /* of 32 bytes: they take a microsecond */
#define ASK_NS      300000

/* ---- submissions ---- */

/* With the lock, as all that records */
static int encode_begin(struct encode_batch *b, struct gpu_submission **s)
{
    int err = gpu_work_begin(b->work, UINT64_MAX, s);
    return err < 0 ? err : gpu_work_record(*s, 0);
}

/* The same for the first submission of a batch, which may have to wait for another queue */
static int encode_begin_first(struct gpu_encode *e, struct encode_batch *b,
                              struct gpu_submission **s)
{
    int err = encode_begin(b, s);
    if (err < 0)
        return err;
    gpu_work_depend(*s, e->filled);
    for (uint32_t i = 0; i < b->count; i++)
        gpu_work_depend(*s, e->stream_done[b->stream[i]]);
    return GPU_OK;
}

static int encode_submit(struct encode_batch *b, struct gpu_submission *s)
{
    int64_t begun = gpu_clock_ns();
    int err = gpu_work_submit(s);
    b->spent.submits += 1e-9 * (double)(gpu_clock_ns() - begun);
    return err;
}

/* The streams of a batch wait for its last submission. */
static void batch_submitted(struct gpu_encode *e, struct encode_batch *b, struct gpu_point point)
{
    for (uint32_t i = 0; i < b->count; i++)
        e->stream_done[b->stream[i]] = point;
    e->newest = b;
}

static int submit_references(struct gpu_encode *e, struct encode_batch *b,
                             const struct gpu_encode_result *results,
                             const struct gpu_encode_ahead *ahead)
{
    struct gpu_submission *s;
    int err = GPU_OK;
    TRY(encode_begin(b, &s));
    encode_record_group(e, s, b, ENCODE_DEBLOCK, false);
    for (uint32_t i = 0; i < b->count; i++)
        if (results[i].frame && !encode_record_frame(e, s, b, i, results[i].frame))
            return GPU_ERR_INVALID;
    encode_record_group(e, s, b, ENCODE_REFERENCES, false);
    if (ahead)
        TRY(encode_record_ahead(e, s, b, ahead));
    gpu_work_sync_host(s, ENCODE_RESULTS);
    TRY(encode_submit(b, s));
    b->references = s->last;
error:
    return err;
}

/* ---- decisions ---- */

static bool is_reference(const struct gpu_encode *e, uint32_t set)
{
    return set >= e->params.sources && set < e->params.sets;
}

static bool pictures_valid(const struct gpu_encode *e, const struct enc_picture *pictures,
                           uint32_t count)
{
    const struct gpu_encode_params *p = &e->params;
    bool good = count > 0 && count <= p->pictures;
    for (uint32_t i = 0; good && i < count; i++) {
        const struct enc_picture *picture = &pictures[i];
        uint32_t used = picture->flags & ENC_SKIP_ALL ? 1 : picture->ref_count;
        good = picture->source < p->sources && picture->last < 2 * p->streams &&
               picture->kept < 2 * p->streams && picture->qp <= REC_MAX_QP &&
               picture->ref_count <= ENC_REFERENCES && is_reference(e, picture->pending);
        for (uint32_t r = 0; good && r < used; r++)
            good = is_reference(e, picture->reference[r]);
    }
    return good;
}

static bool source_valid(const struct gpu_encode *e, const struct enc_picture *picture)
{
    return picture->source < e->params.sources && picture->kept < 2 * e->params.streams &&
           (picture->before == ENC_NO_SET || picture->before < e->params.sources);
}

static bool sources_valid(const struct gpu_encode *e, const struct enc_picture *pictures,
                          uint32_t count)
{
    bool good = count > 0 && count <= e->params.pictures;
    for (uint32_t i = 0; good && i < count; i++)
        good = source_valid(e, &pictures[i]);
    return good;
}

static bool ahead_valid(const struct gpu_encode *e, const struct gpu_encode_ahead *ahead,
                        uint32_t count)
{
    bool good = true;
    for (uint32_t i = 0; ahead && good && i < count; i++)
        good = !ahead[i].analysis || source_valid(e, &ahead[i].picture);
    return good;
}

static void record_offsets(struct gpu_encode *e, struct gpu_submission *s, struct encode_batch *b,
                           const int8_t *const *offsets, uint64_t *at)
{
    uint64_t mbs = encode_mb_count(&e->params);
    gpu_work_sync(s, BARRIER_TRANSFER, 0, 1u << ENC_BIND_OFFSETS);
    e->g->vk.vkCmdFillBuffer(s->commands, b->device[ENC_BIND_OFFSETS], 0, VK_WHOLE_SIZE, 0);
    for (uint32_t i = 0; offsets && i < b->count; i++)
        if (offsets[i])
            encode_record_input(e, s, b, ENC_BIND_OFFSETS, i * mbs, offsets[i], mbs, at);
}

/* Coefficient blocks from `from` on, up to `to` */
static bool record_coeffs(struct gpu_encode *e, struct gpu_submission *s,
                          const struct encode_batch *b, uint32_t picture, uint32_t from,
                          uint32_t to, const struct gpu_encode_result *result)
{
    uint64_t room = encode_mb_count(&e->params) * ENC_BLOCKS * 32;
    return from >= to ||
           encode_record_result(e, s, b, ENC_BIND_COEFFS, picture * room + 32ull * from,
                                32ull * (to - from), result->coeffs + from);
}

/* A quarter more than the stream's pictures of late had, and some. What they are short of takes a
 * submission that waits for references. */
static uint32_t coeffs_expected(const struct gpu_encode *e, uint32_t stream)
{
    uint64_t most = encode_mb_count(&e->params) * ENC_BLOCKS;
    uint64_t some = (uint64_t)e->coeff_blocks[stream] * 5 / 4 + BLOCKS_MORE;
    return (uint32_t)(some < most ? some : most);
}

static bool data_wanted(const struct encode_batch *b, uint32_t picture)
{
    return b->pictures[picture].flags & (ENC_CAVLC | ENC_BINS);
}

/* Macroblocks and motion of a picture */
static bool record_mbs(struct gpu_encode *e, struct gpu_submission *s, const struct encode_batch *b,
                       uint32_t picture, const struct gpu_encode_result *result)
{
    uint64_t mbs = encode_mb_count(&e->params), mb_bytes = mbs * sizeof(struct rec_mb),
             motion = mbs * sizeof(struct rec_motion);
    return encode_record_result(e, s, b, ENC_BIND_MBS, picture * mb_bytes, mb_bytes, result->mbs) &&
           encode_record_result(e, s, b, ENC_BIND_MOTION, picture * motion, motion, result->motion);
}

static int record_results(struct gpu_encode *e, struct gpu_submission *s, struct encode_batch *b,
                          const struct gpu_encode_result *results)
{
    bool records = false;
    for (uint32_t i = 0; i < b->count; i++)
        records |= !data_wanted(b, i);
    if (records)
        encode_record_group(e, s, b, ENCODE_PACK, false);
    for (uint32_t i = 0; i < b->count; i++) {
        b->copied[i] = coeffs_expected(e, b->stream[i]);
        if ((!data_wanted(b, i) && !record_mbs(e, s, b, i, &results[i])) ||
            !record_coeffs(e, s, b, i, 0, b->copied[i], &results[i]))
            return GPU_ERR_INVALID;
    }
    gpu_work_sync(s, BARRIER_TRANSFER, 1u << ENC_BIND_TOTALS, ENCODE_RESULTS);
    encode_record_copy(e, s, b->device[ENC_BIND_TOTALS], 0, b->totals.buffer, 0,
                       b->count * sizeof(struct enc_total));
    gpu_work_sync_host(s, ENCODE_RESULTS);
    gpu_work_stamp(s, encode_pass_count + ENCODE_STAMP_DOWN);
    return GPU_OK;
}

static int submit_records(struct gpu_encode *e, struct encode_batch *b,
                          const struct gpu_encode_source *sources, const int8_t *const *offsets,
                          const struct gpu_encode_result *results)
{
    uint64_t at = 0;
    struct gpu_submission *s;
    bool any_p = false, any_load = false;
    int err = GPU_OK;
    for (uint32_t i = 0; i < b->count; i++) {
        any_p |= b->pictures[i].ref_count > 0;
        any_load |= !(b->pictures[i].flags & ENC_LOADED);
    }
    TRY(encode_begin_first(e, b, &s));
    if (!e->filled.value) {
        encode_record_input(e, s, b, ENC_BIND_QUANTISER, 0, e->params.quantiser,
                            sizeof(e->params.quantiser), &at);
        encode_record_input(e, s, b, ENC_BIND_CODES, 0, &e->params.codes, sizeof(e->params.codes),
                            &at);
    }
    encode_record_input(e, s, b, ENC_BIND_PICTURES, 0, b->pictures, b->count * sizeof(*b->pictures),
                        &at);
    TRY(encode_record_sources(e, s, b, sources));
    record_offsets(e, s, b, offsets, &at);
    gpu_work_sync(s, BARRIER_TRANSFER, 0, 1u << ENC_BIND_TICKETS);
    e->g->vk.vkCmdFillBuffer(s->commands, b->device[ENC_BIND_TICKETS], 0,
                             b->count * encode_tickets_size(&e->params), 0);
    gpu_work_stamp(s, encode_pass_count + ENCODE_STAMP_UP);
    if (any_load)
        encode_record_group(e, s, b, ENCODE_PLANES, false);
    encode_record_group(e, s, b, ENCODE_DECISIONS, any_p);
    TRY(record_results(e, s, b, results));
    TRY(encode_submit(b, s));
    b->records = s->last;
    e->filled = e->filled.value ? e->filled : s->last;
error:
    return err;
}

/* A batch that is free, with its pictures; NULL: there is none. With the lock */
static struct encode_batch *batch_begin(struct gpu_encode *e, const struct enc_picture *pictures,
                                        uint32_t count)
{
    uint32_t i = 0;
    while (i < GPU_ENCODE_FLIGHT && e->batches[i].busy)
        i++;
    if (i == GPU_ENCODE_FLIGHT)
        return NULL;
    struct encode_batch *b = &e->batches[i];
    b->count = count;
    b->spent = (struct gpu_encode_spent){0};
    for (uint32_t k = 0; k < count; k++) {
        b->stream[k] = pictures[k].kept / 2;
        b->pictures[k] = pictures[k];
    }
    return b;
}

int gpu_encode_submit(struct gpu_encode *e, const struct enc_picture *pictures, uint32_t count,
                      const struct gpu_encode_source *sources, const int8_t *const *offsets,
                      const struct gpu_encode_result *results, const struct gpu_encode_ahead *ahead,
                      uint32_t *batch)
{
    int err = GPU_OK;
    int64_t begun = gpu_clock_ns();
    if (!pictures_valid(e, pictures, count) || !ahead_valid(e, ahead, count))
        return GPU_ERR_INVALID;
    pthread_mutex_lock(&e->lock);
    struct encode_batch *b = batch_begin(e, pictures, count);
    if (!b)
        err = GPU_ERR_INVALID;
    TRY(err);
    TRY(submit_records(e, b, sources, offsets, results));
    err = submit_references(e, b, results, ahead);
    if (err < 0 && !atomic_load(&e->g->lost))
        gpu_work_drain(b->work); /* it still writes records */
    TRY(err);
    batch_submitted(e, b, b->references);
    b->busy = true;
    b->submitted_ns = gpu_clock_ns();
    b->spent.recorded = 1e-9 * (double)(b->submitted_ns - begun);
    *batch = (uint32_t)(b - e->batches);
error:
    pthread_mutex_unlock(&e->lock);
    return err;
}

static int point_wait(struct gpu_encode *e, struct encode_batch *b, const struct gpu_point *point)
{
    int err = gpu_points_wait(e->g, point, 1, UINT64_MAX);
    return err < 0 ? err : gpu_work_poll(b->work);
}

static bool result_has_data(const struct gpu_encode *e, const struct gpu_encode_result *result)
{
    return result->total.units <= encode_mb_count(&e->params) * ENC_BLOCKS;
}

/* Blocks or units that a picture has in the room of coefficients */
static uint32_t result_blocks(const struct gpu_encode *e, const struct gpu_encode_result *result)
{
    return result_has_data(e, result) ? result->total.units : result->total.blocks;
}

/* The slice data of a picture found no room: then its records are to come, all of them. */
static bool records_missing(const struct gpu_encode *e, const struct encode_batch *b,
                            uint32_t picture, const struct gpu_encode_result *result)
{
    return data_wanted(b, picture) && !result_has_data(e, result);
}

/* What was not expected: more coefficients, or records; *point: when they are there. With the lock
 */
static int submit_rest(struct gpu_encode *e, struct encode_batch *b,
                       const struct gpu_encode_result *results, struct gpu_point *point)
{
    struct gpu_submission *s;
    bool pack = false;
    int err = GPU_OK;
    TRY(encode_begin(b, &s));
    for (uint32_t i = 0; i < b->count; i++)
        pack |= records_missing(e, b, i, &results[i]);
    if (pack)
        encode_record_group(e, s, b, ENCODE_PACK, false);
    for (uint32_t i = 0; i < b->count; i++) {
        bool records = records_missing(e, b, i, &results[i]);
        if ((records && !record_mbs(e, s, b, i, &results[i])) ||
            !record_coeffs(e, s, b, i, records ? 0 : b->copied[i], result_blocks(e, &results[i]),
                           &results[i]))
            return GPU_ERR_INVALID;
    }
    gpu_work_sync_host(s, ENCODE_RESULTS);
    gpu_work_stamp(s, encode_pass_count + ENCODE_STAMP_DOWN);
    TRY(gpu_work_submit(s));
    *point = s->last;
error:
    return err;
}

/* The numbers of coefficients are known. */
static int take_totals(struct gpu_encode *e, struct encode_batch *b,
                       struct gpu_encode_result *results)
{
    const struct enc_total *totals = (const struct enc_total *)b->totals.map;
    struct gpu_point point;
    bool more = false;
    int err = GPU_OK;
    pthread_mutex_lock(&e->lock);
    for (uint32_t i = 0; i < b->count; i++) {
        uint32_t blocks, *late = &e->coeff_blocks[b->stream[i]];
        results[i].total = totals[i];
        results[i].coeff_block_count = totals[i].blocks;
        blocks = result_blocks(e, &results[i]);
        *late -= *late / 16;
        *late = blocks > *late ? blocks : *late;
        more |= blocks > b->copied[i] || records_missing(e, b, i, &results[i]);
    }
    if (more)
        err = submit_rest(e, b, results, &point);
    pthread_mutex_unlock(&e->lock);
    return more && err == GPU_OK ? point_wait(e, b, &point) : err;
}

/* To wake a thread takes a while. So for one picture the host sleeps until shortly before it is
 * due, and then asks for a short time. With more of them, cores have other work. */
static int records_wait(struct gpu_encode *e, struct encode_batch *b)
{
    int64_t due = b->submitted_ns + b->lone_ns, now = gpu_clock_ns();
    uint64_t completed = 0;
    int err = 1;
    if (b->count > 1 || e->g->info.software)
        return point_wait(e, b, &b->records);
    if (now < due - ASK_NS)
        err = gpu_points_wait(e->g, &b->records, 1, (uint64_t)(due - ASK_NS - now));
    while (err == 1 && now < due + ASK_NS) {
        err = gpu_queue_completed(b->records.queue, &completed);
        err = err < 0 ? err : completed < b->records.value;
        now = gpu_clock_ns();
    }
    if (err >= 0)
        err = point_wait(e, b, &b->records);
    b->lone_ns += (gpu_clock_ns() - b->submitted_ns - b->lone_ns) / 8;
    return err;
}

int gpu_encode_wait(struct gpu_encode *e, uint32_t batch, struct gpu_encode_result *results)
{
    struct encode_batch *b = &e->batches[batch];
    bool frames = false;
    int err = GPU_OK;
    TRY(records_wait(e, b));
    int64_t came_ns = gpu_clock_ns();
    TRY(take_totals(e, b, results));
    b->spent.ran = 1e-9 * (double)(came_ns - b->submitted_ns);
    b->spent.rest = 1e-9 * (double)(gpu_clock_ns() - came_ns);
    for (uint32_t i = 0; i < b->count; i++) {
        results[i].spent = b->spent;
        frames |= results[i].frame != NULL;
    }
    if (frames)
        TRY(point_wait(e, b, &b->references));
error:
    pthread_mutex_lock(&e->lock);
    b->busy = false;
    pthread_mutex_unlock(&e->lock);
    return err;
}

/* ---- analysis ---- */

static int submit_analysis(struct gpu_encode *e, struct encode_batch *b,
                           const struct gpu_encode_source *sources,
                           struct enc_analysis *const *results)
{
    uint64_t at = 0;
    struct gpu_submission *s;
    int err = GPU_OK;
    TRY(encode_begin_first(e, b, &s));
    encode_record_input(e, s, b, ENC_BIND_PICTURES, 0, b->pictures, b->count * sizeof(*b->pictures),
                        &at);
    TRY(encode_record_sources(e, s, b, sources));
    gpu_work_stamp(s, encode_pass_count + ENCODE_STAMP_UP);
    if (!encode_record_analysis(e, s, b, results))
        return GPU_ERR_INVALID;
    gpu_work_sync_host(s, ENCODE_RESULTS);
    gpu_work_stamp(s, encode_pass_count + ENCODE_STAMP_DOWN);
    TRY(gpu_work_submit(s));
    b->records = s->last;
error:
    return err;
}

int gpu_encode_analyse(struct gpu_encode *e, const struct enc_picture *pictures, uint32_t count,
                       const struct gpu_encode_source *sources, struct enc_analysis *const *results)
{
    int err = GPU_OK;
    if (!sources_valid(e, pictures, count))
        return GPU_ERR_INVALID;
    pthread_mutex_lock(&e->lock);
    struct encode_batch *b = batch_begin(e, pictures, count);
    err = b ? submit_analysis(e, b, sources, results) : GPU_ERR_INVALID;
    if (err == GPU_OK) {
        batch_submitted(e, b, b->records);
        b->busy = true;
    }
    pthread_mutex_unlock(&e->lock);
    TRY(err);
    err = point_wait(e, b, &b->records);
    pthread_mutex_lock(&e->lock);
    b->busy = false;
    pthread_mutex_unlock(&e->lock);
error:
    return err;
}

int gpu_encode_wait_stream(struct gpu_encode *e, uint32_t stream)
{
    pthread_mutex_lock(&e->lock);
    struct gpu_point point = e->stream_done[stream];
    pthread_mutex_unlock(&e->lock);
    return point.value ? gpu_points_wait(e->g, &point, 1, UINT64_MAX) : GPU_OK;
}

int gpu_encode_decide(struct gpu_encode *e, const struct enc_picture *pictures, uint32_t count,
                      const struct gpu_encode_source *sources, const int8_t *const *offsets,
                      struct gpu_encode_result *results)
{
    uint32_t batch;
    int err = gpu_encode_submit(e, pictures, count, sources, offsets, results, NULL, &batch);
    return err < 0 ? err : gpu_encode_wait(e, batch, results);
}

int gpu_encode_read(struct gpu_encode *e, uint32_t binding, uint64_t offset, uint64_t size,
                    void *out)
{
    struct gpu_submission *s;
    int err = GPU_OK;
    if (binding >= ENC_BINDINGS || offset > e->sizes[binding] || size > e->sizes[binding] - offset)
        return GPU_ERR_INVALID;
    pthread_mutex_lock(&e->lock);
    struct encode_batch *b = e->newest ? e->newest : &e->batches[0];
    if (size > e->down.size) {
        gpu_buffer_free(e->g, &e->down);
        TRY(gpu_buffer_create(e->g, size, VK_BUFFER_USAGE_TRANSFER_DST_BIT, GPU_MEMORY_READBACK,
                              &e->down));
    }
    TRY(encode_begin(b, &s));
    gpu_work_sync(s, BARRIER_TRANSFER, 1u << binding, ENCODE_RESULTS);
    encode_record_copy(e, s, b->device[binding], offset, e->down.buffer, 0, size);
    gpu_work_sync_host(s, ENCODE_RESULTS);
    TRY(gpu_work_submit(s));
    TRY(gpu_work_drain(b->work));
    memcpy(out, e->down.map, size);
error:
    pthread_mutex_unlock(&e->lock);
    return err;
}
