/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The books of memory. See memory_use.h.
 */
#include "gpu/engine/memory_use.h"

#include "gpu/engine/vk.h"

void gpu_memory_held(const struct gpu *g, struct gpu_held *out)
{
    for (int i = 0; i < GPU_USES; i++) {
        out->device[i] = atomic_load(&g->books.device[i]);
        out->host[i] = atomic_load(&g->books.host[i]);
    }
}

void gpu_memory_limit(struct gpu *g, uint64_t bytes)
{
    atomic_store(&g->books.limit, bytes);
}

#define SPARE_LEAST (1u << 20) /* bytes: tables stay */

bool gpu_memory_fits(const struct gpu *g, uint64_t bytes)
{
    uint64_t wanted = atomic_load(&g->books.wanted);
    return gpu_books_fit(&g->books, atomic_load(&g->books.claimed) + wanted, bytes);
}

bool gpu_memory_has(const struct gpu *g, uint64_t bytes)
{
    return gpu_books_fit(&g->books, atomic_load(&g->books.claimed), bytes);
}

uint64_t gpu_memory_spare(const struct gpu *g)
{
    uint64_t spare = 0;
    for (int i = 0; i < GPU_USES; i++)
        spare += gpu_use_is_optional(i) ? atomic_load(&g->books.device[i]) : 0;
    return spare > SPARE_LEAST ? spare : 0;
}

void gpu_memory_want(struct gpu *g, uint64_t bytes)
{
    atomic_store(&g->books.wanted, bytes);
}

uint64_t gpu_memory_wanted(const struct gpu *g)
{
    return atomic_load(&g->books.wanted);
}

uint64_t gpu_memory_refused(const struct gpu *g)
{
    return atomic_load(&g->books.refused);
}
