/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Values out of shaders (--gpu-debug): the buffer that shaders write to, and printing. Every
 * submission is waited for, so that values come in the order of the work. Without --gpu-debug no
 * pipeline and no layout has the buffer.
 */
#include "gpu/engine/debug_values.h"

#include "gpu/engine/barrier_record.h"
#include "gpu/engine/buffers.h"
#include "gpu/engine/debug_shaders.h"
#include "gpu/engine/descriptors.h"
#include "gpu/engine/work.h"

#define DEBUG_TEXT
#include "gpu/shaders/lib/debug_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES (DEBUG_HEAD + DEBUG_CAPACITY * 32u)

struct gpu_debug {
    struct gpu_buffer values, copy;
    VkDescriptorPool pool;
    atomic_bool reading; /* a thread prints; values of other submissions wait */
};

enum { VALUES = 1, COPY = 2 }; /* resources */

/* Copy the values for the host, then clear them for the next submission. */
static void record_copy(struct gpu *g, VkCommandBuffer commands, void *ctx)
{
    const struct gpu_debug *d = ctx;
    struct barrier_state state = {0};
    VkBufferCopy region = {0, 0, BYTES};
    barrier_accessed(&state, BARRIER_COMPUTE, 0, VALUES);
    gpu_sync(g, commands, &state, BARRIER_TRANSFER, VALUES, COPY);
    g->vk.vkCmdCopyBuffer(commands, d->values.buffer, d->copy.buffer, 1, &region);
    gpu_sync_host(g, commands, &state, COPY);
    gpu_sync(g, commands, &state, BARRIER_TRANSFER, 0, VALUES);
    g->vk.vkCmdFillBuffer(commands, d->values.buffer, 0, DEBUG_HEAD, 0);
    gpu_sync(g, commands, &state, BARRIER_COMPUTE, VALUES, VALUES);
}

static void print_value(const struct gpu *g, const uint32_t v[8])
{
    uint32_t pass = v[0] >> 16, name = v[0] & 0x7fff;
    char text[32];
    float f;
    memcpy(&f, &v[3], sizeof(f));
    if (pass >= g->debug_shaders->count || name >= DEBUG_NAMES)
        return; /* a driver that lost a write */
    if (v[0] & DEBUG_FLOAT)
        snprintf(text, sizeof(text), "%.6g", (double)f);
    else
        snprintf(text, sizeof(text), "%d", (int)v[3]);
    gpu_log(g, 1, "gpu-debug: %s, picture %u, workgroup %u,%u,%u, thread %u: %s = %s",
            g->debug_shaders->rows[pass].name, v[1], v[4], v[5], v[6], v[2], debug_names[name],
            text);
}

static void print_copy(const struct gpu *g)
{
    const struct gpu_debug *d = g->debug;
    uint32_t count, v[8];
    memcpy(&count, d->copy.map, sizeof(count));
    uint32_t shown = count < DEBUG_CAPACITY ? count : DEBUG_CAPACITY;
    for (uint32_t i = 0; i < shown; i++) {
        memcpy(v, d->copy.map + DEBUG_HEAD + (size_t)i * sizeof(v), sizeof(v));
        print_value(g, v);
    }
    if (count > shown)
        gpu_log(g, 1, "gpu-debug: %u more values found no room", count - shown);
}

/* Wait for the submission and log the values that its shaders wrote. The submission of the copy
 * comes here too, and returns at once. */
static void print_values(struct gpu_queue *q, uint64_t value)
{
    struct gpu *g = q->g;
    struct gpu_debug *d = g->debug;
    if (!d || atomic_exchange(&d->reading, true))
        return;
    if (gpu_queue_wait(q, value, UINT64_MAX) == 0 && gpu_run(g, record_copy, d) == GPU_OK)
        print_copy(g);
    atomic_store(&d->reading, false);
}

int gpu_debug_open(struct gpu *g, const struct gpu_debug_shaders *shaders)
{
    int err = GPU_OK;
    if (!shaders) {
        gpu_log(g, 1,
                "gpu-debug: this build has no debug shaders; cmake -DPELTON_SHADER_DEBUG=ON makes "
                "one that has");
        return GPU_OK;
    }
    struct gpu_debug *d = calloc(1, sizeof(*d));
    if (!d)
        return GPU_ERR_NOMEM;
    g->debug_shaders = shaders;
    g->debug = d;
    TRY(gpu_buffer_create(g, BYTES,
                          VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                              VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                          GPU_MEMORY_DEVICE, &d->values));
    TRY(gpu_buffer_create(g, BYTES, VK_BUFFER_USAGE_TRANSFER_DST_BIT, GPU_MEMORY_READBACK,
                          &d->copy));
    TRY(gpu_host_sets_create(g, 1, &d->pool, &g->debug_set));
    gpu_set_write_all(g, g->debug_set, &d->values.buffer, 1);
    err = gpu_run(g, record_copy, d);
    g->submitted = print_values;
error:
    return err;
}

void gpu_debug_close(struct gpu *g)
{
    struct gpu_debug *d = g->debug;
    if (!d)
        return;
    g->vk.vkDestroyDescriptorPool(g->device, d->pool, NULL);
    gpu_buffer_free(g, &d->values);
    gpu_buffer_free(g, &d->copy);
    free(d);
    g->debug = NULL;
    g->debug_shaders = NULL;
    g->submitted = NULL;
}
