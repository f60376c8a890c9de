/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The queues of a store. A wide batch has three submissions, each on its own queue: copies up,
 * reconstruction, deliveries. While one batch is reconstructed, the next one's records arrive and
 * the last one's frames leave. Semaphores order the parts of one batch. A picture that reuses the
 * slot of a frame waits until the frame has left.
 *
 * A single picture with nothing else in flight, as in a live stream, is one submission. Nothing
 * could run beside it, and every semaphore takes time.
 */
#include "gpu/h264/recon_internal.h"

static const enum gpu_queue_use uses[RECON_PARTS] = {[RECON_PART_UP] = GPU_QUEUE_UP,
                                                     [RECON_PART_MAIN] = GPU_QUEUE_MAIN,
                                                     [RECON_PART_DELIVER] = GPU_QUEUE_DELIVER,
                                                     [RECON_PART_DOWN] = GPU_QUEUE_DOWN};

int recon_queues_open(struct recon *r)
{
    int err = GPU_OK;
    for (int i = 0; i < RECON_PARTS && err == GPU_OK; i++)
        err = gpu_queue_open(r->g, uses[i], &r->queues[i]);
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
    return (gains || gpu_work_oldest(r->work, &(struct gpu_point){0})) && has_queues(r);
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
static void depend_readers(struct recon *r, struct gpu_submission *s,
                           const struct recon_chunk *chunk)
{
    for (int part = RECON_PART_DELIVER; part <= RECON_PART_DOWN; part++) {
        uint64_t latest = 0;
        for (uint32_t i = 0; i < chunk->picture_count; i++) {
            uint64_t *value = slot_read(r, chunk->pictures[i].slot, part);
            latest = *value > latest ? *value : latest;
            *value = 0;
        }
        gpu_work_depend(s, (struct gpu_point){r->queues[part], latest});
    }
}

static void depend_arenas(struct recon *r, struct gpu_submission *s)
{
    struct gpu_point writers[GPU_QUEUES];
    uint32_t count = gpu_arena_writers(r->g, writers);
    for (uint32_t i = 0; i < count; i++)
        gpu_work_depend(s, writers[i]);
}

void recon_part_depend(struct recon *r, struct recon_flight *f, const struct recon_chunk *chunk,
                       enum recon_part part)
{
    bool copies_up = part == RECON_PART_UP || (part == RECON_PART_MAIN && !chunk->parts);
    if (part != RECON_PART_UP)
        gpu_work_depend_part(f->s, RECON_PART_UP);
    if (copies_up && f->resident)
        depend_arenas(r, f->s);
    if (part == RECON_PART_MAIN)
        depend_readers(r, f->s, chunk);
    if (part > RECON_PART_MAIN) {
        gpu_work_depend(f->s, gpu_work_last(r->work, RECON_PART_MAIN));
        gpu_work_depend_part(f->s, RECON_PART_MAIN);
    }
}

void recon_parts_submitted(struct recon *r, const struct recon_chunk *chunk)
{
    const int part = chunk->shaded ? RECON_PART_DELIVER : RECON_PART_DOWN;
    for (uint32_t i = 0; chunk->parts && i < chunk->delivery_count; i++)
        *slot_read(r, chunk->deliveries[i].slot, part) = gpu_work_last(r->work, part).value;
}
