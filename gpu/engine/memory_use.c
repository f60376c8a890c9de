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

bool gpu_memory_fits(const struct gpu *g, uint64_t bytes)
{
    uint64_t limit = atomic_load(&g->books.limit), held = 0;
    for (int i = 0; i < GPU_USES; i++)
        held += atomic_load(&g->books.device[i]);
    return !limit || (held <= limit && bytes <= limit - held);
}
