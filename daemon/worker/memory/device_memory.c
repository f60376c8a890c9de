/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Device memory in blocks of any size: a block takes the first gap that is large enough.
 *
 * The host cannot write into the gaps, so lists beside the memory hold them. Each list has room for
 * all gaps that its blocks can leave, so giving back never fails. Pieces stay until the end.
 */
#include "daemon/worker/memory/device_memory.h"
#include "codec/h264_allocator.h"

#include <stdlib.h>
#include <string.h>
#include <uv.h>

#define PIECES 64  /* of the limit */
#define ALIGN  256 /* of blocks, and of pieces */

struct gap {
    uint64_t at, size;
};

/* Gaps by address; no two touch, so there is at most one more of them than blocks. */
struct piece {
    struct gpu_arena *arena;
    uint8_t *base;
    uint64_t size;
    struct gap *gaps;
    uint32_t gap_count, gap_capacity, blocks;
};

struct resident {
    struct h264_allocator allocator;
    struct gpu *gpu;
    uint64_t piece_bytes;
    uv_mutex_t grows; /* one piece at a time; what add_piece changes is changed under both locks */
    uv_mutex_t lock;
    struct piece pieces[PIECES];
    uint32_t piece_count;
    bool full; /* there are no more pieces */
    uint64_t held, used, most;
};

static uint64_t round_up(uint64_t size)
{
    return (size + ALIGN - 1) / ALIGN * ALIGN;
}

static bool reserve_gaps(struct piece *p)
{
    if (p->gap_capacity > p->blocks + 1)
        return true;
    uint32_t capacity = 2 * p->gap_capacity + 16;
    struct gap *grown = realloc(p->gaps, capacity * sizeof(*grown));
    if (!grown)
        return false;
    p->gaps = grown;
    p->gap_capacity = capacity;
    return true;
}

static void remove_gap(struct piece *p, uint32_t at)
{
    p->gap_count--;
    memmove(&p->gaps[at], &p->gaps[at + 1], (p->gap_count - at) * sizeof(p->gaps[0]));
}

static void *piece_take(struct piece *p, uint64_t size)
{
    for (uint32_t i = 0; i < p->gap_count; i++) {
        struct gap *gap = &p->gaps[i];
        if (gap->size < size)
            continue;
        if (!reserve_gaps(p))
            return NULL;
        gap = &p->gaps[i]; /* the list may have moved */
        void *block = p->base + gap->at;
        gap->at += size;
        gap->size -= size;
        if (!gap->size)
            remove_gap(p, i);
        p->blocks++;
        return block;
    }
    return NULL;
}

static void piece_give(struct piece *p, uint64_t at, uint64_t size)
{
    uint32_t low = 0, high = p->gap_count; /* low: the first gap behind the block */
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (p->gaps[middle].at > at)
            high = middle;
        else
            low = middle + 1;
    }
    bool before = low > 0 && p->gaps[low - 1].at + p->gaps[low - 1].size == at;
    bool behind = low < p->gap_count && at + size == p->gaps[low].at;
    p->blocks--;
    if (before && behind) {
        p->gaps[low - 1].size += size + p->gaps[low].size;
        remove_gap(p, low);
    } else if (before) {
        p->gaps[low - 1].size += size;
    } else if (behind) {
        p->gaps[low] = (struct gap){at, p->gaps[low].size + size};
    } else {
        memmove(&p->gaps[low + 1], &p->gaps[low], (p->gap_count - low) * sizeof(p->gaps[0]));
        p->gaps[low] = (struct gap){at, size};
        p->gap_count++;
    }
}

static void *resident_take(struct resident *r, uint64_t size)
{
    void *block = NULL;
    uv_mutex_lock(&r->lock);
    for (uint32_t i = 0; i < r->piece_count && !block; i++)
        block = piece_take(&r->pieces[i], size);
    if (block) {
        r->used += size;
        r->most = r->used > r->most ? r->used : r->most;
    }
    uv_mutex_unlock(&r->lock);
    return block;
}

/* The driver may take its time: with the lock `grows` alone. */
static bool resident_add_piece(struct resident *r)
{
    struct piece p = {.size = r->piece_bytes};
    void *base = NULL;
    if (r->full || !gpu_memory_fits(r->gpu, p.size))
        return false;
    uint64_t before = gpu_memory_refused(r->gpu);
    bool made =
        reserve_gaps(&p) && gpu_arena_create_device(r->gpu, p.size, &p.arena, &base) == GPU_OK;
    if (made) {
        p.base = base;
        p.gaps[p.gap_count++] = (struct gap){0, p.size};
    } else {
        free(p.gaps);
    }
    bool refused = gpu_memory_refused(r->gpu) != before; /* for now */
    uv_mutex_lock(&r->lock);
    if (made) {
        r->pieces[r->piece_count++] = p;
        r->held += p.size;
    }
    r->full = (!made && !refused) || r->piece_count == PIECES;
    uv_mutex_unlock(&r->lock);
    return made;
}

static void *resident_get(void *ctx, size_t size)
{
    struct resident *r = ctx;
    if (!size || size > r->piece_bytes)
        return NULL;
    void *block = resident_take(r, round_up(size));
    if (block)
        return block;
    uv_mutex_lock(&r->grows);
    block = resident_take(r, round_up(size)); /* there may be a new piece by now */
    if (!block && resident_add_piece(r))
        block = resident_take(r, round_up(size));
    uv_mutex_unlock(&r->grows);
    return block;
}

bool resident_short(struct resident *r, uint64_t bytes)
{
    uv_mutex_lock(&r->lock);
    bool is_short =
        !r->full && r->held - r->used < bytes && gpu_memory_fits(r->gpu, r->piece_bytes);
    uv_mutex_unlock(&r->lock);
    return is_short;
}

bool resident_provide(struct resident *r, uint64_t bytes)
{
    uv_mutex_lock(&r->grows);
    bool added = resident_short(r, bytes) && resident_add_piece(r);
    uv_mutex_unlock(&r->grows);
    return added;
}

static void resident_put(void *ctx, void *memory, size_t size)
{
    struct resident *r = ctx;
    uv_mutex_lock(&r->lock);
    for (uint32_t i = 0; i < r->piece_count; i++) {
        struct piece *p = &r->pieces[i];
        uint64_t at = (uint64_t)((uintptr_t)memory - (uintptr_t)p->base);
        if (at < p->size) {
            piece_give(p, at, round_up(size));
            break;
        }
    }
    r->used -= round_up(size);
    uv_mutex_unlock(&r->lock);
}

/* One piece without blocks leaves the list. With both locks. */
static bool resident_remove_empty(struct resident *r, struct piece *out)
{
    for (uint32_t i = 0; i < r->piece_count; i++) {
        if (r->pieces[i].blocks)
            continue;
        *out = r->pieces[i];
        r->pieces[i] = r->pieces[--r->piece_count];
        r->held -= out->size;
        r->full = false;
        return true;
    }
    return false;
}

void resident_trim(struct resident *r)
{
    struct piece p;
    if (!r)
        return;
    uv_mutex_lock(&r->grows);
    for (bool any = true; any;) {
        uv_mutex_lock(&r->lock);
        any = resident_remove_empty(r, &p);
        uv_mutex_unlock(&r->lock);
        if (any) {
            gpu_arena_free(p.arena);
            free(p.gaps);
        }
    }
    uv_mutex_unlock(&r->grows);
}

struct resident *resident_create(struct gpu *gpu, uint64_t limit)
{
    struct resident *r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    r->allocator = (struct h264_allocator){resident_get, resident_put, r, NULL};
    r->gpu = gpu;
    r->piece_bytes = limit / PIECES / ALIGN * ALIGN;
    if (uv_mutex_init(&r->lock)) {
        free(r);
        return NULL;
    }
    if (uv_mutex_init(&r->grows)) {
        uv_mutex_destroy(&r->lock);
        free(r);
        return NULL;
    }
    return r;
}

void resident_free(struct resident *r)
{
    if (!r)
        return;
    for (uint32_t i = 0; i < r->piece_count; i++) {
        gpu_arena_free(r->pieces[i].arena);
        free(r->pieces[i].gaps);
    }
    uv_mutex_destroy(&r->grows);
    uv_mutex_destroy(&r->lock);
    free(r);
}

const struct h264_allocator *resident_allocator(struct resident *r)
{
    return &r->allocator;
}

uint64_t resident_bytes(struct resident *r, uint64_t *most)
{
    if (!r) {
        *most = 0;
        return 0;
    }
    uv_mutex_lock(&r->lock);
    uint64_t held = r->held;
    *most = r->most;
    uv_mutex_unlock(&r->lock);
    return held;
}
