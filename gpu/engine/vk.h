/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Vulkan's functions, the VK() macro, and the device. The engine's other headers each have one
 * concern: queue.h, work.h, barrier_record.h, buffers.h, images.h, arena.h, host_buffer.h,
 * pipeline.h, pipeline_cache.h, descriptors.h, debug_values.h.
 */
#ifndef PELTON_GPU_VK_H
#define PELTON_GPU_VK_H

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <volk.h>

#include "gpu/engine/barrier.h"
#include "gpu/engine/gpu.h"
#include "gpu/engine/gpu_clock.h"
#include "gpu/engine/memory_use.h"
#include "gpu/engine/queue.h"

/* Do a Vulkan call. On failure log the call, its result, file and line, set the local `err`, and
 * jump to the local label `error`. */
#define VK(g, call)                                                                                \
    do {                                                                                           \
        VkResult vk_result_ = (call);                                                              \
        if (vk_result_ < 0) {                                                                      \
            err = gpu_vk_failed(g, vk_result_, #call, __FILE__, __LINE__);                         \
            goto error;                                                                            \
        }                                                                                          \
    } while (0)

/* Call a function of gpu/. On failure set the local `err` and jump to the local label `error`. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        err = (call);                                                                              \
        if (err < 0)                                                                               \
            goto error;                                                                            \
    } while (0)

struct gpu_instance {
    VkInstance handle;
    VkDebugUtilsMessengerEXT messenger;
    atomic_uint messages; /* of the layer and of the audit */
};

/* Arenas by address, under the lock. */
struct gpu_arena_list {
    pthread_mutex_t lock;
    bool lock_made;
    struct gpu_arena **all;
    size_t count, capacity;
    /* by queue: the latest submission into device arenas that the host has found complete */
    uint64_t written[GPU_QUEUES];
};

/* The thread that writes compiled pipelines to disk; under the lock of gpu_kept. */
struct gpu_saver {
    pthread_t thread;
    pthread_cond_t wake;
    bool runs;
    bool grown, ends; /* there is something to write; it shall end */
    size_t saved;     /* bytes of data in the file; the thread's own */
};

/* Layouts and pipelines that the device keeps, under the lock. */
struct gpu_kept {
    pthread_mutex_t lock;
    bool lock_made;
    struct gpu_layout *layouts;
    struct gpu_pipeline *pipelines; /* in the order in which they were wanted */
    pthread_cond_t made;            /* a pipeline was, or a maker has ended */
    uint32_t makers;                /* threads */
    bool ends;                      /* no more are made */
    VkPipelineCache cache;          /* may be null; the driver locks it */
    struct gpu_saver saver;
};

struct gpu {
    gpu_log_fn log;
    void *log_ctx;
    struct gpu_instance instance;

    VkPhysicalDevice physical;
    struct gpu_device_info info;
    VkPhysicalDeviceLimits limits;
    VkPhysicalDeviceMemoryProperties memory;
    uint64_t host_alignment; /* of imported memory; 0: no import */
    bool unified; /* all device memory is host memory: staging copies would be idle work */
    bool timestamps;

    VkDevice device;
    struct VolkDeviceTable vk;
    atomic_bool lost;

    uint32_t family;                            /* of the main queue */
    struct gpu_queue queues[GPU_QUEUES], *main; /* main: the first */
    uint32_t queue_count;
    uint32_t families[GPU_QUEUES], family_count; /* buffers and images are shared among these */

    pthread_mutex_t lock; /* hosts, queues that start */
    bool lock_made;
    struct gpu_host *hosts;
    size_t hosts_pending; /* rectangles that these have to copy yet */
    struct gpu_arena_list arenas;
    struct gpu_kept kept;
    struct gpu_books books;                /* who holds memory */
    struct gpu_canaries *canaries;         /* NULL: none */
    struct gpu_barrier_drop *barrier_drop; /* the same */
    struct barrier_watch barrier_watch;

    VkDescriptorSetLayout host_set;                /* one storage buffer */
    struct gpu_debug *debug;                       /* NULL: no --gpu-debug */
    const struct gpu_debug_shaders *debug_shaders; /* and with it these two */
    VkDescriptorSet debug_set;
    /* called after each submission; NULL: not needed */
    void (*submitted)(struct gpu_queue *q, uint64_t value);
    /* called for memory that was made, and for memory that is about to go; NULL: no canaries */
    int (*memory_made)(struct gpu *g, VkDeviceMemory memory, uint32_t type,
                       const struct gpu_holding *holding);
    void (*memory_goes)(struct gpu *g, VkDeviceMemory memory);
};

/* instance.c. Thread: any. */
void gpu_log(const struct gpu *g, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A step that began then, by gpu_clock_ns, has ended: a line at level 3, with its time. */
__attribute__((format(printf, 3, 4))) static inline void gpu_log_step(const struct gpu *g,
                                                                      int64_t begun_ns,
                                                                      const char *format, ...)
{
    double ms = 1e-6 * (double)(gpu_clock_ns() - begun_ns);
    char line[256];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    gpu_log(g, 3, "%s, %.1f ms", line, ms);
}

/* Log a failed call and return its enum gpu_error. VK_ERROR_DEVICE_LOST marks the device as lost;
 * every later call then returns GPU_ERR_LOST. */
int gpu_vk_failed(struct gpu *g, VkResult result, const char *call, const char *file, int line);

#endif
