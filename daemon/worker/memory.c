/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Memory of picture arrays: free lists by size class, so that a running stream neither calls malloc nor takes page
 * faults for the same few sizes again and again. What is cached is bounded; the rest goes back to the heap. An account counts
 * what one session holds.
 */
#include "daemon/worker/engine_internal.h"

#include <stdlib.h>
#include <string.h>

#define MEMORY_ALIGN 64

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

int memory_init(struct memory *m, uint64_t cache_limit)
{
    memset(m, 0, sizeof *m);
    m->limit = cache_limit;
    return uv_mutex_init(&m->lock) == 0 ? 0 : PELTON_ERR_NOMEM;
}

void memory_free(struct memory *m)
{
    for (unsigned c = 0; c < MEMORY_CLASSES; c++)
        while (m->free_list[c]) {
            void *block = m->free_list[c];
            memcpy(&m->free_list[c], block, sizeof(void *));
            free(block);
        }
    uv_mutex_destroy(&m->lock);
}

static void *memory_get(struct memory *m, size_t size, size_t *rounded)
{
    if (size > SIZE_MAX / 4)
        return NULL;
    unsigned c = size_class(size, rounded);
    void *block = NULL;
    uv_mutex_lock(&m->lock);
    if (m->free_list[c]) {
        block = m->free_list[c];
        memcpy(&m->free_list[c], block, sizeof(void *));
        m->cached -= *rounded;
    }
    uv_mutex_unlock(&m->lock);
    return block ? block : aligned_alloc(MEMORY_ALIGN, *rounded);
}

static void memory_put(struct memory *m, void *block, size_t size, size_t *rounded)
{
    unsigned c = size_class(size, rounded);
    uv_mutex_lock(&m->lock);
    bool keep = m->cached + *rounded <= m->limit;
    if (keep) {
        memcpy(block, &m->free_list[c], sizeof(void *));
        m->free_list[c] = block;
        m->cached += *rounded;
    }
    uv_mutex_unlock(&m->lock);
    if (!keep)
        free(block);
}

static void *account_get(void *ctx, size_t size)
{
    struct account *a = ctx;
    size_t rounded;
    void *block = memory_get(a->memory, size, &rounded);
    if (block) {
        atomic_fetch_add(&a->used, rounded);
        atomic_fetch_add(&a->refs, 1);
    }
    return block;
}

static void account_put(void *ctx, void *block, size_t size)
{
    struct account *a = ctx;
    size_t rounded;
    if (!block)
        return;
    memory_put(a->memory, block, size, &rounded);
    atomic_fetch_sub(&a->used, rounded);
    account_unref(a);
}

struct account *account_create(struct memory *m)
{
    struct account *a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    a->allocator = (struct h264_allocator){account_get, account_put, a};
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
