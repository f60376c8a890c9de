/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What comes of a batch: its records or slice data, with a third submission where more came than
 * was expected; and what tests read.
 */
#include "gpu/encode/gpu_encode_internal.h"

#include <string.h>

#define ASK_NS 300000

int encode_wait(struct encode_batch *b, const struct gpu_point *point)
{
    int err = gpu_points_wait(b->encode->g, point, 1, UINT64_MAX);
    return err < 0 ? err : gpu_work_poll(b->work);
}

void encode_release(struct encode_batch *b)
{
    pthread_mutex_lock(&b->encode->lock);
    b->busy = false;
    pthread_mutex_unlock(&b->encode->lock);
}

/* The slice data of a picture found no room: then its records are to come, all of them. */
static bool records_missing(const struct encode_batch *b, uint32_t i)
{
    return encode_data_wanted(b, i) && !b->decisions[i]->result.coded;
}

/* Blocks or units that a picture has in the room of coefficients */
static uint32_t result_blocks(const struct gpu_encode_result *result)
{
    return result->coded ? result->total.units : result->total.blocks;
}

/* What was not expected: more coefficients, or records; *point: when they are there. With the lock
 */
static int submit_rest(struct encode_batch *b, struct gpu_point *point)
{
    struct gpu_submission *s;
    bool pack = false;
    int err = GPU_OK;
    TRY(encode_begin(b, &s));
    for (uint32_t i = 0; i < b->now.count; i++)
        pack |= records_missing(b, i);
    if (pack)
        encode_record_group(b, s, &b->now, ENCODE_PACK);
    for (uint32_t i = 0; i < b->now.count; i++) {
        bool records = records_missing(b, i);
        if ((records && !encode_record_mbs(b, s, i)) ||
            !encode_record_coeffs(b, s, i, records ? 0 : b->copied[i],
                                  result_blocks(&b->decisions[i]->result)))
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
static int take_totals(struct encode_batch *b)
{
    struct gpu_encode *e = b->encode;
    const struct enc_total *totals = (const struct enc_total *)b->totals.map;
    struct gpu_point point;
    bool more = false;
    int err = GPU_OK;
    pthread_mutex_lock(&e->lock);
    for (uint32_t i = 0; i < b->now.count; i++) {
        struct gpu_encode_result *result = &b->decisions[i]->result;
        uint32_t blocks, *late = &e->coeff_blocks[encode_stream(b, i)];
        result->total = totals[i];
        result->coded = totals[i].units <= encode_mb_count(&e->params) * ENC_BLOCKS;
        result->coeff_block_count = totals[i].blocks;
        blocks = result_blocks(result);
        *late -= *late / 16;
        *late = blocks > *late ? blocks : *late;
        more |= blocks > b->copied[i] || records_missing(b, i);
    }
    if (more)
        err = submit_rest(b, &point);
    pthread_mutex_unlock(&e->lock);
    return more && err == GPU_OK ? encode_wait(b, &point) : err;
}

/* To wake a thread takes a while. So for one picture the host sleeps until shortly before it is
 * due, and then asks for a short time. With more of them, cores have other work. */
static int records_wait(struct encode_batch *b)
{
    struct gpu *g = b->encode->g;
    int64_t due = b->submitted_ns + b->lone_ns, now = gpu_clock_ns();
    uint64_t completed = 0;
    int err = 1;
    if (b->now.count > 1 || g->info.software)
        return encode_wait(b, &b->records);
    if (now < due - ASK_NS)
        err = gpu_points_wait(g, &b->records, 1, (uint64_t)(due - ASK_NS - now));
    while (err == 1 && now < due + ASK_NS) {
        err = gpu_queue_completed(b->records.queue, &completed);
        err = err < 0 ? err : completed < b->records.value;
        now = gpu_clock_ns();
    }
    if (err >= 0)
        err = encode_wait(b, &b->records);
    b->lone_ns += (gpu_clock_ns() - b->submitted_ns - b->lone_ns) / 8;
    return err;
}

int gpu_encode_wait(struct gpu_encode *e, uint32_t batch)
{
    struct encode_batch *b = &e->batches[batch];
    bool frames = false;
    int err = GPU_OK;
    TRY(records_wait(b));
    int64_t came_ns = gpu_clock_ns();
    TRY(take_totals(b));
    b->spent.ran = 1e-9 * (double)(came_ns - b->submitted_ns);
    b->spent.rest = 1e-9 * (double)(gpu_clock_ns() - came_ns);
    for (uint32_t i = 0; i < b->now.count; i++) {
        b->decisions[i]->result.spent = b->spent;
        frames |= b->decisions[i]->result.frame != NULL;
    }
    if (frames)
        TRY(encode_wait(b, &b->references));
error:
    encode_release(b);
    return err;
}

int gpu_encode_wait_stream(struct gpu_encode *e, uint32_t stream)
{
    pthread_mutex_lock(&e->lock);
    struct gpu_point point = e->stream_done[stream];
    pthread_mutex_unlock(&e->lock);
    return point.value ? gpu_points_wait(e->g, &point, 1, UINT64_MAX) : GPU_OK;
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
