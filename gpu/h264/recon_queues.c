/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The queues of a store. Of a wide batch the copies up, reconstruction and deliveries are
 * submissions of their own, each on its queue: while one batch is reconstructed, the next one's
 * records come in and the last one's frames leave. Semaphores order what belongs to one batch, and
 * a picture that takes the slot of a frame waits until it has left. A single picture with nothing
 * else in flight, as of a live stream, is one submission: there is nothing beside which it could
 * run, and every semaphore takes its time.
 */
#include "gpu/h264/recon_internal.h"

static const enum gpu_queue_use uses[RECON_PARTS] = {[RECON_PART_UP] = GPU_QUEUE_UP,
                                                     [RECON_PART_MAIN] = GPU_QUEUE_MAIN,
                                                     [RECON_PART_DELIVER] = GPU_QUEUE_DELIVER,
                                                     [RECON_PART_DOWN] = GPU_QUEUE_DOWN};

int recon_queues_open(struct recon *r)
{
    int err = GPU_OK;
    r->tick_mask = UINT64_MAX;
    for (int i = 0; i < RECON_PARTS; i++) {
        TRY(gpu_queue_open(r->g, uses[i], &r->queues[i]));
        if (r->queues[i]->tick_mask)
            r->tick_mask &= r->queues[i]->tick_mask;
    }
error:
    return err;
}

void recon_queues_close(struct recon *r)
{
    for (int i = 0; i < RECON_PARTS; i++)
        gpu_queue_close(r->queues[i]);
}

static bool has_queues(const struct recon *r)
{
    for (int i = 0; i < RECON_PARTS; i++)
        if (i != RECON_PART_MAIN && r->queues[i] == r->g->main)
            return false;
    return true;
}

/* Blurred deliveries share a buffer, which only the main queue knows. */
bool recon_chunk_parts(struct recon *r, const struct recon_chunk *chunk)
{
    bool gains = chunk->shape.pictures > 1 || chunk->delivery_count > 1;
    for (uint32_t i = 0; i < chunk->delivery_count; i++)
        if (chunk->deliveries[i].blur_count)
            return false;
    pthread_mutex_lock(&r->lock);
    for (uint32_t i = 0; i < r->flight_count; i++)
        gains |= r->flights[i].busy;
    pthread_mutex_unlock(&r->lock);
    return gains && has_queues(r);
}

/* A copy engine has nothing else to do. */
bool recon_deliver_by_copy(const struct recon *r, const struct recon_chunk *chunk)
{
    return r->deliver_by_copy || (chunk->parts && r->queues[RECON_PART_DOWN]->copies_only);
}

static uint64_t *slot_read(struct recon *r, uint32_t slot, int part)
{
    return &r->slot_reads[2 * (size_t)slot + (part == RECON_PART_DOWN)];
}

/* Deliveries that still read slots which the chunk writes. */
static uint32_t add_readers(struct recon *r, const struct recon_chunk *chunk,
                            struct gpu_point *after, uint32_t count)
{
    for (int part = RECON_PART_DELIVER; part <= RECON_PART_DOWN; part++) {
        uint64_t latest = 0;
        for (uint32_t i = 0; i < chunk->picture_count; i++) {
            uint64_t *value = slot_read(r, chunk->pictures[i].slot, part);
            latest = *value > latest ? *value : latest;
            *value = 0;
        }
        if (latest)
            after[count++] = (struct gpu_point){r->queues[part], latest};
    }
    return count;
}

static void note_readers(struct recon *r, const struct recon_chunk *chunk, int part, uint64_t value)
{
    for (uint32_t i = 0; i < chunk->delivery_count; i++)
        *slot_read(r, chunk->deliveries[i].slot, part) = value;
}

int recon_parts_submit(struct recon *r, struct recon_flight *f, const struct recon_chunk *chunk,
                       struct gpu_point *last, bool *main_sent)
{
    struct gpu_point sent[RECON_PARTS], after[GPU_QUEUES];
    uint32_t sent_count = 0;
    int err = GPU_OK;
    for (int part = 0; part < RECON_PARTS; part++) {
        uint32_t count = 0;
        if (!f->parts[part].used)
            continue;
        if (part == RECON_PART_MAIN)
            count = add_readers(r, chunk, after, count);
        else if (part != RECON_PART_UP && r->main_value)
            after[count++] = (struct gpu_point){r->g->main, r->main_value};
        if (part != RECON_PART_UP && f->parts[RECON_PART_UP].used)
            after[count++] = sent[0];
        else if (part <= RECON_PART_MAIN && f->resident) /* the part with the copies up */
            count = gpu_arena_writers(r->g, after, count);
        sent[sent_count].queue = r->queues[part];
        TRY(gpu_queue_submit_after(r->queues[part], f->parts[part].commands, after, count,
                                   &sent[sent_count].value));
        if (part == RECON_PART_MAIN) {
            r->main_value = sent[sent_count].value;
            *main_sent = true;
        } else if (part != RECON_PART_UP) {
            note_readers(r, chunk, part, sent[sent_count].value);
        }
        sent_count++;
    }
    *last = sent[sent_count - 1];
    return GPU_OK;
error:
    while (sent_count-- && !atomic_load(&r->g->lost))
        gpu_queue_wait(sent[sent_count].queue, sent[sent_count].value, UINT64_MAX);
    return err;
}
