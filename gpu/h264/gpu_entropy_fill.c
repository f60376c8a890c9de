/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Entropy decoding on the GPU: a free batch is filled with pictures and slices. What it has room
 * for is checked here, and all that the shader relies on.
 */
#include "gpu/h264/gpu_entropy_internal.h"

#define BYTES_ALIGN 16

/* ---- free batches ---- */

static bool batch_has_room(const struct gpu_entropy_batch *b, const struct entropy_room *room)
{
    return b->e && b->room.pictures >= room->pictures;
}

/* A free batch: one that has the room, else one that is not made yet, else any. */
static struct gpu_entropy_batch *free_batch(const struct gpu_entropy *e,
                                            const struct entropy_room *room)
{
    struct gpu_entropy_batch *found = NULL;
    for (uint32_t i = 0; i < e->batch_count; i++) {
        struct gpu_entropy_batch *b = &e->batches[i];
        if (b->state != BATCH_FREE)
            continue;
        if (batch_has_room(b, room))
            return b;
        found = !found || (found->e && !b->e) ? b : found;
    }
    return found;
}

uint64_t gpu_entropy_needs(const struct gpu_entropy *e, uint32_t pictures)
{
    const struct entropy_room room = gpu_entropy_room(e, pictures);
    const struct gpu_entropy_batch *b = free_batch(e, &room);
    if (!b || batch_has_room(b, &room))
        return 0;
    return gpu_entropy_room_bytes(&room) - (b->e ? gpu_entropy_room_bytes(&b->room) : 0);
}

uint64_t gpu_entropy_bytes(const struct gpu_entropy *e)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < e->batch_count; i++)
        sum += e->batches[i].e ? gpu_entropy_room_bytes(&e->batches[i].room) : 0;
    return sum;
}

/* Where there is no memory, with the room that it had. False: there is none for one more, and those
 * that are made must do. */
static bool batch_make(struct gpu_entropy *e, const struct entropy_room *room,
                       struct gpu_entropy_batch *b)
{
    const struct entropy_room had = b->room;
    const bool made = b->e != NULL;
    gpu_entropy_batch_free(b);
    if (gpu_entropy_batch_create(e, room, b) == GPU_OK)
        return true;
    gpu_entropy_batch_free(b);
    if (made && gpu_entropy_batch_create(e, &had, b) == GPU_OK)
        return true;
    gpu_entropy_batch_free(b);
    while (e->batch_count && !e->batches[e->batch_count - 1].e)
        e->batch_count--;
    return false;
}

struct gpu_entropy_batch *gpu_entropy_begin(struct gpu_entropy *e, uint32_t pictures)
{
    const struct entropy_room room = gpu_entropy_room(e, pictures);
    struct gpu_entropy_batch *b = free_batch(e, &room);
    if (!b)
        return NULL;
    if (!batch_has_room(b, &room) && !batch_make(e, &room, b))
        return NULL;
    b->state = BATCH_FILLING;
    b->picture_count = b->slice_count = b->mbs = b->coeff_blocks = b->packed_words = b->bytes =
        b->lines = b->reserved = b->rounds = b->weight = b->copy_count = b->codings = 0;
    b->staged = 0;
    b->resident = false;
    b->fetch = NULL;
    b->seconds = 0;
    return b;
}

uint32_t gpu_entropy_pictures(const struct gpu_entropy_batch *b)
{
    return b->room.pictures;
}

/* ---- pictures and slices ---- */

int gpu_entropy_add_picture(struct gpu_entropy_batch *b, uint32_t mb_count, uint32_t coeff_blocks,
                            uint32_t packed_words, uint32_t *picture)
{
    const struct entropy_room *p = &b->room;
    if (b->state != BATCH_FILLING || !mb_count)
        return GPU_ERR_INVALID;
    if (b->picture_count == p->pictures || mb_count > p->mbs - b->mbs ||
        coeff_blocks > p->coeff_blocks - b->coeff_blocks ||
        packed_words > p->packed_words - b->packed_words)
        return GPU_ERR_NOMEM;
    b->pictures[b->picture_count] = (struct batch_picture){.mb_base = b->mbs,
                                                           .mb_count = mb_count,
                                                           .coeff_block_base = b->coeff_blocks,
                                                           .coeff_block_most = coeff_blocks,
                                                           .packed_base = b->packed_words,
                                                           .packed_most = packed_words};
    b->packed_words += packed_words;
    b->mbs += mb_count;
    b->coeff_blocks += coeff_blocks;
    *picture = b->picture_count++;
    return GPU_OK;
}

uint8_t *gpu_entropy_slice_bytes(struct gpu_entropy_batch *b, size_t most)
{
    const struct entropy_room *p = &b->room;
    if (b->state != BATCH_FILLING || b->slice_count == p->slices || most > p->bytes - b->bytes)
        return NULL;
    b->reserved = (uint32_t)most;
    return b->up.map + p->slices * sizeof(struct ent_slice) + b->bytes;
}

static bool weights_valid(const struct ent_slice *s, size_t size)
{
    return s->most_weight &&
           (!s->weights || (s->weights < size && size - s->weights >= sizeof(struct rec_scaling)));
}

/* All that the shader relies on. */
static bool slice_valid(const struct ent_slice *s, const struct batch_picture *pic, size_t size)
{
    return s->size <= ENT_MAX_BYTES && s->size && s->start < s->size * 8 &&
           s->size + ENT_PADDING <= size && weights_valid(s, size) && s->first_mb >= pic->next_mb &&
           s->end_mb > s->first_mb && s->end_mb <= pic->mb_count && s->mb_width >= ENT_MIN_WIDTH &&
           s->mb_width <= ENT_MAX_WIDTH && s->type <= 2 && s->model <= 3 &&
           s->num_ref[0] <= REC_MAX_REFS && s->num_ref[1] <= REC_MAX_REFS &&
           (s->chroma_blocks == 0 || s->chroma_blocks == 4);
}

static enum entropy_coding entropy_coding(const struct ent_slice *s)
{
    return s->flags & ENT_CAVLC ? ENTROPY_CAVLC : ENTROPY_CABAC;
}

/* As the shader counts it; no more than this is decoded. */
static uint32_t slice_weight(const struct ent_slice *s)
{
    return s->size + ENT_MB_WEIGHT * (s->end_mb - s->first_mb);
}

int gpu_entropy_add_slice(struct gpu_entropy_batch *b, uint32_t picture,
                          const struct ent_slice *slice, size_t size)
{
    const struct entropy_room *p = &b->room;
    if (b->state != BATCH_FILLING || picture >= b->picture_count || size > b->reserved ||
        !slice_valid(slice, &b->pictures[picture], size))
        return GPU_ERR_INVALID;
    if (b->slice_count == p->slices)
        return GPU_ERR_NOMEM;
    struct batch_picture *pic = &b->pictures[picture];
    struct ent_slice s = *slice;
    uint32_t used = (uint32_t)(size + BYTES_ALIGN - 1) / BYTES_ALIGN * BYTES_ALIGN;
    s.word = b->bytes / 4;
    s.mb_base = pic->mb_base;
    s.coeff_block_base = pic->coeff_block_base;
    s.coeff_block_count = pic->coeff_block_most;
    s.picture = picture;
    s.packed_base = pic->packed_base;
    s.packed_count = pic->packed_most;
    s.picture_mbs = pic->mb_count;
    s.line = b->lines;
    b->codings |= 1u << entropy_coding(&s);
    b->lines += s.mb_width < s.end_mb - s.first_mb ? s.mb_width : s.end_mb - s.first_mb;
    b->slices[b->slice_count++] = (struct batch_slice){s, slice_weight(&s)};
    pic->gap |= s.first_mb != pic->next_mb;
    pic->next_mb = s.end_mb;
    b->bytes = used < p->bytes - b->bytes ? b->bytes + used : p->bytes;
    b->reserved = 0;
    return GPU_OK;
}
