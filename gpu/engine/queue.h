/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Queues by purpose. Each counts its submissions on a timeline of its own. Thread: any, for all
 * functions but gpu_queues_create and gpu_queues_free.
 */
#ifndef PELTON_GPU_QUEUE_H
#define PELTON_GPU_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <volk.h>

struct gpu;
struct gpu_params;

/* The purpose of a queue. Where a device lacks a queue for a purpose, its users share the main one.
 */
enum gpu_queue_use {
    GPU_QUEUE_MAIN, /* reconstruction, cameras, everything */
    GPU_QUEUE_UP,   /* copies to the device; by a copy engine where there is one */
    GPU_QUEUE_DOWN, /* copies to the host; by another one */
    /* long copies of buffers, which must not delay frames; by a third one, else on GPU_QUEUE_DOWN
     */
    GPU_QUEUE_FETCH,
    GPU_QUEUE_DELIVER, /* shaders that write to the host */
    /* long shaders. One queue: devices run queues of a kind in turns (docs/design/entropy-gpu.md)
     */
    GPU_QUEUE_BACKGROUND,
    GPU_QUEUE_USES
};
#define GPU_QUEUES GPU_QUEUE_USES

struct gpu_queue {
    struct gpu *g;
    enum gpu_queue_use use;
    VkQueue queue;
    uint32_t family, place; /* place: in its family */
    bool copies_only;       /* a copy engine */
    uint64_t tick_mask;     /* valid bits of a timestamp; 0: it has none */
    /* queue, submitted; where two uses are one VkQueue they have one lock */
    pthread_mutex_t own_lock, *lock;
    bool lock_made;       /* and the timeline */
    VkSemaphore timeline; /* counts submissions */
    uint64_t submitted;
};

/* A submission: done when the queue's timeline has reached the value. */
struct gpu_point {
    struct gpu_queue *queue;
    uint64_t value;
};

/* Choose the queues, create the device with them, open the main one. *device has all other fields
 * set. */
int gpu_queues_create(struct gpu *g, uint32_t main_family, const struct gpu_params *params,
                      VkDeviceCreateInfo *device);
void gpu_queues_free(struct gpu *g);
/* The queue for the purpose, perhaps shared with others. It lives as long as the device. */
int gpu_queue_get(struct gpu *g, enum gpu_queue_use use, struct gpu_queue **out);
/* Submit one command buffer. It starts when wait_queue (NULL: none) has reached wait_value, and
 * sees all writes until there. The timeline reaches *value when it is done. Submissions to one
 * queue start in order. */
int gpu_queue_submit(struct gpu_queue *q, VkCommandBuffer commands, struct gpu_queue *wait_queue,
                     uint64_t wait_value, uint64_t *value);
/* The same after `count` points, at most one of each queue. */
int gpu_queue_submit_after(struct gpu_queue *q, VkCommandBuffer commands,
                           const struct gpu_point *after, uint32_t count, uint64_t *value);
/* Wait until one of at most GPU_POINTS points is reached: 0. Returns 1 on timeout or without
 * points, or an error. */
#define GPU_POINTS 64
int gpu_points_wait(struct gpu *g, const struct gpu_point *points, uint32_t count,
                    uint64_t timeout_ns);
/* The same for one point. */
int gpu_queue_wait(struct gpu_queue *q, uint64_t value, uint64_t timeout_ns);
/* The timeline's value, or an error. */
int gpu_queue_completed(struct gpu_queue *q, uint64_t *value);

#endif
