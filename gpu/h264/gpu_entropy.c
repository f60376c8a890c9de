/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Entropy decoding on the GPU: batches that decode, in rounds (gpu_entropy_round.c).
 * gpu_entropy_fill.c comes before it, gpu_entropy_fetch.c after it.
 */
#include "gpu/h264/gpu_entropy_internal.h"

#include <stdlib.h>
#include <string.h>

static int compare_slices(const void *a, const void *b)
{
    const struct batch_slice *s = a, *t = b;
    if (s->weight != t->weight)
        return s->weight < t->weight ? 1 : -1;
    return (s->slice.word > t->slice.word) - (s->slice.word < t->slice.word);
}

/* The heaviest first. Slices of like weight share a subgroup, which lasts as long as the longest of
 * them. */
static void write_slices(struct gpu_entropy_batch *b)
{
    qsort(b->slices, b->slice_count, sizeof(*b->slices), compare_slices);
    for (uint32_t i = 0; i < b->slice_count; i++)
        memcpy(b->up.map + i * sizeof(struct ent_slice), &b->slices[i].slice,
               sizeof(struct ent_slice));
}

int gpu_entropy_submit(struct gpu_entropy_batch *b)
{
    if (b->state != BATCH_FILLING || !b->slice_count)
        return GPU_ERR_INVALID;
    write_slices(b);
    b->live = b->slice_count;
    b->state = BATCH_DECODING;
    return gpu_entropy_rounds(b->e);
}

int gpu_entropy_poll(struct gpu_entropy_batch *b)
{
    int err = GPU_OK;
    if (b->state == BATCH_DECODING) {
        TRY(gpu_work_poll(b->e->work));
        TRY(gpu_entropy_rounds(b->e));
    } else if (b->state == BATCH_FETCHING) {
        TRY(gpu_work_poll(b->work));
    }
    if (b->state == BATCH_DECODING || b->state == BATCH_FETCHING)
        return 1;
    return b->state == BATCH_DECODED || b->state == BATCH_FETCHED ? GPU_OK : GPU_ERR_INVALID;
error:
    return err;
}

int gpu_entropy_wait(struct gpu_entropy *e, uint64_t timeout_ns)
{
    struct gpu_point points[GPU_POINTS];
    const uint64_t due = gpu_entropy_due_ns(e);
    uint32_t count = gpu_work_oldest(e->work, &points[0]);
    for (uint32_t i = 0; i < e->batch_count && count < GPU_POINTS; i++)
        if (e->batches[i].state == BATCH_FETCHING)
            count += gpu_work_oldest(e->batches[i].work, &points[count]);
    if (due && due < timeout_ns)
        timeout_ns = due;
    return gpu_points_wait(e->g, points, count, timeout_ns);
}

bool gpu_entropy_picture_ok(const struct gpu_entropy_batch *b, uint32_t picture,
                            uint32_t *coeff_blocks)
{
    if (b->state < BATCH_DECODED || picture >= b->picture_count || b->pictures[picture].failed)
        return false;
    *coeff_blocks = b->pictures[picture].coeff_blocks;
    return true;
}

uint32_t gpu_entropy_packed_words(const struct gpu_entropy_batch *b, uint32_t picture)
{
    if (b->state < BATCH_DECODED || picture >= b->picture_count || b->pictures[picture].failed)
        return 0;
    return b->pictures[picture].packed_words;
}

bool gpu_entropy_picture_full(const struct gpu_entropy_batch *b, uint32_t picture)
{
    if (b->state < BATCH_DECODED || picture >= b->picture_count)
        return false;
    const struct batch_picture *pic = &b->pictures[picture];
    return pic->failed && pic->coeff_blocks > pic->coeff_block_most;
}

double gpu_entropy_seconds(const struct gpu_entropy_batch *b)
{
    return b->state < BATCH_DECODED ? 0 : b->seconds;
}

void gpu_entropy_end(struct gpu_entropy_batch *b)
{
    if (!b)
        return;
    const enum entropy_state state = b->state;
    b->state = BATCH_FREE; /* no target is written any more */
    b->fetch = NULL;
    if (state == BATCH_DECODING) /* on a lost device nothing runs */
        gpu_work_drain(b->e->work);
    else if (state == BATCH_FETCHING)
        gpu_work_drain(b->work);
}
