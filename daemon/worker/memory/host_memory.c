/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Memory of picture arrays: free lists by size class.
 *
 * A running stream needs the same few sizes again and again, and neither calls malloc nor takes
 * page faults for them. Big blocks come from slabs. A slab is an arena: the GPU fetches records
 * from it without help of the CPU. The bytes that are cached are bounded. The rest goes back to the
 * heap, and a slab goes when nothing in it is in use. An account counts the bytes of one session.
 */
#include "daemon/worker/memory/host_memory.h"

#include <stdlib.h>
#include <string.h>

#define MEMORY_ALIGN 64
#define SLAB_BLOCK   65536u /* blocks of this size and more */
#define SLAB_HEAD    64u    /* before each block: its slab */
#define SLAB_COUNT   32u    /* blocks of a slab that is made when one block is needed */
/* blocks of the first of these; each next one has twice as many: a live stream needs few */
#define SLAB_FIRST 2u
/* bytes of one that is made ahead: each costs the driver's time */
#define LARGE_SLAB (256u << 20)

/* Blocks of one class. In its class's list while any is free. */
struct slab {
    struct slab *next, *prev;
    struct gpu_arena *arena;
    size_t block; /* bytes, head included */
    unsigned class, count, used;
    void *free_list;
};

/* Four classes per power of two: at most a quarter is wasted. */
static unsigned size_class(size_t size, size_t *rounded)
{
    if (size <= 256) {
        *rounded = 256;
        return 0;
    }
    unsigned shift = 63 - (unsigned)__builtin_clzll(size - 1); /* 2^shift <= size - 1 */
    size_t step = (size_t)1 << (shift - 2);
    size_t quarter = (size - 1 - ((size_t)1 << shift)) / step; /* 0..3 */
    *rounded = ((size_t)1 << shift) + (quarter + 1) * step;
    return 1 + (shift - 8) * 4 + (unsigned)quarter;
}

/* The size that size_class rounds to. */
static size_t class_size(unsigned class)
{
    unsigned shift = 8 + (class - 1) / 4;
    return class ? ((size_t)1 << shift) + ((class - 1) % 4 + 1) * ((size_t)1 << (shift - 2)) : 256;
}

static void heap_free(struct memory *m, void *block, size_t rounded)
{
    free(block);
    atomic_fetch_sub(&m->heap, rounded);
}

static void *heap_get(struct memory *m, size_t rounded)
{
    void *block = aligned_alloc(MEMORY_ALIGN, rounded);
    atomic_fetch_add(&m->heap, block ? rounded : 0);
    return block;
}

int memory_init(struct memory *m, uint64_t cache_limit)
{
    memset(m, 0, sizeof(*m));
    m->limit = cache_limit;
    if (uv_mutex_init(&m->lock))
        return -1;
    if (uv_mutex_init(&m->grows) == 0)
        return 0;
    uv_mutex_destroy(&m->lock);
    return -1;
}

static void slab_link(struct memory *m, struct slab *slab)
{
    slab->prev = NULL;
    slab->next = m->slabs[slab->class];
    if (slab->next)
        slab->next->prev = slab;
    m->slabs[slab->class] = slab;
}

static void slab_unlink(struct memory *m, struct slab *slab)
{
    *(slab->prev ? &slab->prev->next : &m->slabs[slab->class]) = slab->next;
    if (slab->next)
        slab->next->prev = slab->prev;
}

static void slab_free(struct slab *slab)
{
    gpu_arena_free(slab->arena);
    free(slab);
}

void memory_free(struct memory *m)
{
    for (unsigned c = 0; c < MEMORY_CLASSES; c++) {
        while (m->free_list[c]) {
            void *block = m->free_list[c];
            memcpy(&m->free_list[c], block, sizeof(void *));
            free(block);
        }
        for (struct slab *slab = m->slabs[c], *next; slab; slab = next) {
            next = slab->next;
            slab_free(slab);
        }
    }
    uv_mutex_destroy(&m->grows);
    uv_mutex_destroy(&m->lock);
}

/* The heap's blocks of a class. With the lock. */
static void *blocks_remove(struct memory *m, unsigned class)
{
    void *list = m->free_list[class];
    for (void *block = list; block; memcpy(&block, block, sizeof(void *)))
        m->cached -= class_size(class);
    m->free_list[class] = NULL;
    return list;
}

/* Slabs of a class without used blocks, as a list. With the lock. */
static struct slab *slabs_remove(struct memory *m, unsigned class)
{
    struct slab *list = NULL;
    for (struct slab *slab = m->slabs[class], *next; slab; slab = next) {
        next = slab->next;
        if (slab->used)
            continue;
        slab_unlink(m, slab);
        m->cached -= (uint64_t)slab->count * (slab->block - SLAB_HEAD);
        m->slab_blocks[class] -= slab->count;
        slab->next = list;
        list = slab;
    }
    m->slab_steps[class] = 0;
    return list;
}

void memory_trim(struct memory *m)
{
    for (unsigned c = 0; c < MEMORY_CLASSES; c++) {
        uv_mutex_lock(&m->lock);
        void *blocks = blocks_remove(m, c);
        struct slab *slabs = slabs_remove(m, c);
        uv_mutex_unlock(&m->lock);
        while (blocks) {
            void *block = blocks;
            memcpy(&blocks, block, sizeof(void *));
            heap_free(m, block, class_size(c));
        }
        while (slabs) {
            struct slab *slab = slabs;
            slabs = slab->next;
            slab_free(slab);
        }
    }
}

uint64_t memory_heap(const struct memory *m)
{
    return atomic_load(&m->heap);
}

/* Without the lock: the device may take its time. */
static struct slab *slab_create(struct memory *m, unsigned class, size_t rounded, size_t bytes,
                                uint32_t most)
{
    struct slab *slab = calloc(1, sizeof(*slab));
    uint8_t *memory;
    void *base;
    if (!slab)
        return NULL;
    slab->class = class;
    slab->block = rounded + SLAB_HEAD;
    slab->count = (unsigned)(bytes / slab->block);
    slab->count = slab->count > most ? most : slab->count ? slab->count : 1;
    if (gpu_arena_create(m->gpu, slab->count * slab->block, &slab->arena, &base)) {
        free(slab);
        return NULL;
    }
    memory = base;
    for (unsigned i = slab->count; i-- > 0;) {
        uint8_t *block = memory + i * slab->block + SLAB_HEAD;
        memcpy(block - SLAB_HEAD, &slab, sizeof(void *));
        memcpy(block, &slab->free_list, sizeof(void *));
        slab->free_list = block;
    }
    return slab;
}

/* One more slab of a class. */
static bool slab_add(struct memory *m, unsigned class, size_t rounded, size_t bytes, uint32_t most)
{
    struct slab *slab = slab_create(m, class, rounded, bytes, most);
    if (!slab)
        return false;
    uv_mutex_lock(&m->lock);
    slab_link(m, slab);
    m->slab_blocks[slab->class] += slab->count;
    m->cached += (uint64_t)slab->count * (slab->block - SLAB_HEAD);
    uv_mutex_unlock(&m->lock);
    return true;
}

uint32_t memory_missing(struct memory *m, size_t size, uint32_t count)
{
    size_t rounded;
    unsigned class = size_class(size, &rounded);
    if (!m->gpu || rounded < SLAB_BLOCK)
        return 0;
    uv_mutex_lock(&m->lock);
    uint32_t there = m->slab_blocks[class];
    uv_mutex_unlock(&m->lock);
    return there < count ? count - there : 0;
}

bool memory_provide(struct memory *m, size_t size, uint32_t count)
{
    size_t rounded;
    unsigned class = size_class(size, &rounded);
    uint32_t missing = memory_missing(m, size, count);
    uv_mutex_lock(&m->lock);
    bool full = m->cached >= m->limit;
    uv_mutex_unlock(&m->lock);
    return missing && !full &&
           slab_add(m, class, rounded, LARGE_SLAB, missing > SLAB_COUNT ? missing : SLAB_COUNT);
}

/* NULL: no slab has a free block. */
static void *slab_take(struct memory *m, unsigned class, size_t rounded)
{
    void *block = NULL;
    uv_mutex_lock(&m->lock);
    struct slab *slab = m->slabs[class];
    if (slab) {
        block = slab->free_list;
        memcpy(&slab->free_list, block, sizeof(void *));
        m->cached -= rounded;
        m->slab_blocks[class]--;
        if (++slab->used == slab->count)
            slab_unlink(m, slab);
    }
    uv_mutex_unlock(&m->lock);
    return block;
}

/* small: all that a live stream needs is made once, and twice as much would be in vain. */
static bool slab_grow(struct memory *m, unsigned class, size_t rounded, bool small)
{
    uv_mutex_lock(&m->lock);
    uint32_t most = small ? SLAB_FIRST : SLAB_FIRST << m->slab_steps[class];
    m->slab_steps[class] += !small && most < SLAB_COUNT;
    uv_mutex_unlock(&m->lock);
    return slab_add(m, class, rounded, m->slab_bytes, most);
}

/* Coders that find no block at the same time wait for one slab. A driver pins memory one piece at a
 * time, and sixteen coders with a slab each kept the first picture waiting for 0.3 s. */
static void *slab_get(struct memory *m, unsigned class, size_t rounded, bool small)
{
    void *block = slab_take(m, class, rounded);
    if (block)
        return block;
    uv_mutex_lock(&m->grows);
    do {
        block = slab_take(m, class, rounded);
    } while (!block && slab_grow(m, class, rounded, small));
    uv_mutex_unlock(&m->grows);
    return block;
}

static void slab_put(struct memory *m, void *block, size_t rounded)
{
    struct slab *slab;
    memcpy(&slab, (uint8_t *)block - SLAB_HEAD, sizeof(void *));
    uv_mutex_lock(&m->lock);
    if (slab->used-- == slab->count)
        slab_link(m, slab);
    memcpy(block, &slab->free_list, sizeof(void *));
    slab->free_list = block;
    m->cached += rounded;
    m->slab_blocks[slab->class]++;
    bool drop = slab->used == 0 && m->cached > m->limit;
    if (drop) {
        slab_unlink(m, slab);
        m->cached -= (uint64_t)slab->count * rounded;
        m->slab_blocks[slab->class] -= slab->count;
    }
    uv_mutex_unlock(&m->lock);
    if (drop)
        slab_free(slab);
}

static void *memory_get(const struct account *a, size_t size, bool arena, size_t *rounded)
{
    struct memory *m = a->memory;
    if (size > SIZE_MAX / 4)
        return NULL;
    unsigned c = size_class(size, rounded);
    void *block = NULL;
    if (arena && m->gpu && *rounded >= SLAB_BLOCK)
        return slab_get(m, c, *rounded, a->small);
    uv_mutex_lock(&m->lock);
    if (m->free_list[c]) {
        block = m->free_list[c];
        memcpy(&m->free_list[c], block, sizeof(void *));
        m->cached -= *rounded;
    }
    uv_mutex_unlock(&m->lock);
    return block ? block : heap_get(m, *rounded);
}

static void memory_put(struct memory *m, void *block, size_t size, bool arena, size_t *rounded)
{
    unsigned c = size_class(size, rounded);
    if (arena && m->gpu && *rounded >= SLAB_BLOCK) {
        slab_put(m, block, *rounded);
        return;
    }
    uv_mutex_lock(&m->lock);
    bool keep = m->cached + *rounded <= m->limit;
    if (keep) {
        memcpy(block, &m->free_list[c], sizeof(void *));
        m->free_list[c] = block;
        m->cached += *rounded;
    }
    uv_mutex_unlock(&m->lock);
    if (!keep)
        heap_free(m, block, *rounded);
}

static void *account_take(struct account *a, size_t size, bool arena)
{
    size_t rounded;
    void *block = memory_get(a, size, arena, &rounded);
    if (block) {
        atomic_fetch_add(&a->used, rounded);
        atomic_fetch_add(&a->refs, 1);
    }
    return block;
}

static void account_give(struct account *a, void *block, size_t size, bool arena)
{
    size_t rounded;
    if (!block)
        return;
    memory_put(a->memory, block, size, arena, &rounded);
    atomic_fetch_sub(&a->used, rounded);
    account_unref(a);
}

static void *account_get(void *ctx, size_t size)
{
    return account_take(ctx, size, true);
}

static void account_put(void *ctx, void *block, size_t size)
{
    account_give(ctx, block, size, true);
}

/* Bytes of access units are of any size: a slab for each new class would be made and pinned while a
 * live stream waits for it. */
static void *account_get_bytes(void *ctx, size_t size)
{
    return account_take(ctx, size, false);
}

static void account_put_bytes(void *ctx, void *block, size_t size)
{
    account_give(ctx, block, size, false);
}

struct account *account_create(struct memory *m)
{
    struct account *a = calloc(1, sizeof(*a));
    if (!a)
        return NULL;
    a->bytes = (struct h264_allocator){account_get_bytes, account_put_bytes, a, NULL};
    a->allocator = (struct h264_allocator){account_get, account_put, a, &a->bytes};
    a->memory = m;
    atomic_init(&a->used, 0);
    atomic_init(&a->refs, 1);
    return a;
}

void account_unref(struct account *a)
{
    if (a && atomic_fetch_sub(&a->refs, 1) == 1)
        free(a);
}
