/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Queues: the choice of a device's queues, submission. The first queue is the main
 * one, which can run everything. The others exist where the device has enough queues; else their
 * users share the main one. Each queue counts its submissions on its own timeline. So one
 * comparison tells that a submission is done, and one queue waits for another by a value.
 *
 * PELTON_QUEUES in the environment is for tests. "one" opens only the main queue. "split" gives
 * every purpose its own timeline on the main queue of a device that has no other; so waits across
 * queues can be tested on any device.
 */
#include "gpu/engine/vk.h"

#include <stdlib.h>
#include <string.h>

#define FAMILIES            32
#define MAIN_PRIORITY       1.0f
#define BACKGROUND_PRIORITY 0.0f
/* other capabilities that a queue of copies may have */
#define COPIES_ONLY (VK_QUEUE_TRANSFER_BIT | VK_QUEUE_SPARSE_BINDING_BIT | VK_QUEUE_PROTECTED_BIT)

/* While queues are chosen. */
struct families {
    VkQueueFamilyProperties properties[FAMILIES];
    uint32_t count;
    uint32_t taken[FAMILIES];
    float priorities[FAMILIES][GPU_QUEUES];
};

static bool is_compute(const VkQueueFamilyProperties *p)
{
    return p->queueFlags & VK_QUEUE_COMPUTE_BIT;
}

/* A family of copy engines, which need no shader core and know any rectangle of an image. */
static bool is_copying(const VkQueueFamilyProperties *p)
{
    const VkExtent3D *grain = &p->minImageTransferGranularity;
    return (p->queueFlags & VK_QUEUE_TRANSFER_BIT) &&
           !(p->queueFlags & ~(VkQueueFlags)COPIES_ONLY) && grain->width == 1 &&
           grain->height == 1 && grain->depth == 1;
}

static bool is_transferring(const VkQueueFamilyProperties *p)
{
    return p->queueFlags & VK_QUEUE_TRANSFER_BIT;
}

/* A queue of a family of the kind is left: which family, else UINT32_MAX. */
static uint32_t find_family(const struct families *f,
                            bool (*kind)(const VkQueueFamilyProperties *p), uint32_t without)
{
    for (uint32_t i = 0; i < f->count; i++)
        if (kind(&f->properties[i]) && !(f->properties[i].queueFlags & without) &&
            f->taken[i] < f->properties[i].queueCount && f->taken[i] < GPU_QUEUES)
            return i;
    return UINT32_MAX;
}

/* One more queue; its place in its family is noted in `place` until the device is there. */
static void queue_add(struct gpu *g, struct families *f, uint32_t family, enum gpu_queue_use use)
{
    struct gpu_queue *q = &g->queues[g->queue_count++];
    const uint32_t bits = f->properties[family].timestampValidBits;
    q->g = g;
    q->use = use;
    q->family = family;
    q->place = f->taken[family];
    q->copies_only = !is_compute(&f->properties[family]);
    q->tick_mask = bits >= 64 ? UINT64_MAX : (1ull << bits) - 1;
    f->priorities[family][f->taken[family]++] =
        use == GPU_QUEUE_BACKGROUND ? BACKGROUND_PRIORITY : MAIN_PRIORITY;
}

/* One of copy engines where there are some, else one that computes too. */
static void queue_add_copying(struct gpu *g, struct families *f, enum gpu_queue_use use)
{
    uint32_t family = find_family(f, is_copying, 0);
    if (family == UINT32_MAX)
        family = find_family(f, is_compute, 0);
    if (family != UINT32_MAX)
        queue_add(g, f, family, use);
}

/* Buffers can be copied by the families of other engines too, such as those for video. */
static void queue_add_fetching(struct gpu *g, struct families *f)
{
    uint32_t family = find_family(f, is_copying, 0);
    if (family == UINT32_MAX)
        family = find_family(f, is_transferring, VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT);
    if (family != UINT32_MAX)
        queue_add(g, f, family, GPU_QUEUE_FETCH);
}

/* Of a family that only computes where there is one: devices run those beside the main queue, while
 * the others of the main queue's family may have to wait for it. */
static uint32_t computing_family(const struct families *f)
{
    bool beside = false;
    for (uint32_t i = 0; i < f->count; i++)
        beside |=
            is_compute(&f->properties[i]) && !(f->properties[i].queueFlags & VK_QUEUE_GRAPHICS_BIT);
    return find_family(f, is_compute, beside ? VK_QUEUE_GRAPHICS_BIT : 0);
}

static void queue_add_computing(struct gpu *g, struct families *f, enum gpu_queue_use use)
{
    uint32_t family = computing_family(f);
    if (family != UINT32_MAX)
        queue_add(g, f, family, use);
}

static void queues_split_main(struct gpu *g, struct families *f)
{
    for (int use = GPU_QUEUE_MAIN + 1; use < GPU_QUEUE_USES; use++) {
        queue_add(g, f, g->queues[0].family, (enum gpu_queue_use)use);
        f->taken[g->queues[0].family]--;
        g->queues[g->queue_count - 1].place = 0;
    }
}

static void queues_choose(struct gpu *g, uint32_t main_family, const struct gpu_params *params,
                          struct families *f)
{
    const char *env = getenv("PELTON_QUEUES");
    f->count = FAMILIES;
    vkGetPhysicalDeviceQueueFamilyProperties(g->physical, &f->count, f->properties);
    queue_add(g, f, main_family, GPU_QUEUE_MAIN);
    if (env && !strcmp(env, "one"))
        return;
    queue_add_copying(g, f, GPU_QUEUE_UP);
    queue_add_copying(g, f, GPU_QUEUE_DOWN);
    if (!params->no_background)
        queue_add_fetching(g, f);
    queue_add_computing(g, f, GPU_QUEUE_DELIVER);
    if (!params->no_background)
        queue_add_computing(g, f, GPU_QUEUE_BACKGROUND);
    if (g->queue_count == 1 && env && !strcmp(env, "split"))
        queues_split_main(g, f);
}

int gpu_queues_create(struct gpu *g, uint32_t main_family, const struct gpu_params *params,
                      VkDeviceCreateInfo *device)
{
    int err = GPU_OK;
    struct families f = {0};
    VkDeviceQueueCreateInfo infos[FAMILIES];
    queues_choose(g, main_family, params, &f);
    device->queueCreateInfoCount = 0;
    device->pQueueCreateInfos = infos;
    for (uint32_t i = 0; i < f.count; i++) {
        if (!f.taken[i])
            continue;
        infos[device->queueCreateInfoCount++] =
            (VkDeviceQueueCreateInfo){.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                      .queueFamilyIndex = i,
                                      .queueCount = f.taken[i],
                                      .pQueuePriorities = f.priorities[i]};
        g->families[g->family_count++] = i;
    }
    VK(g, vkCreateDevice(g->physical, device, NULL, &g->device));
    volkLoadDeviceTable(&g->vk, g->device);
    for (uint32_t i = 0; i < g->queue_count; i++) {
        struct gpu_queue *q = &g->queues[i];
        g->vk.vkGetDeviceQueue(g->device, q->family, q->place, &q->queue);
        q->lock = i && q->queue == g->queues[0].queue ? &g->queues[0].own_lock : &q->own_lock;
    }
    TRY(gpu_queue_get(g, GPU_QUEUE_MAIN, &g->main));
error:
    device->pQueueCreateInfos = NULL;
    return err;
}

void gpu_queues_free(struct gpu *g)
{
    for (uint32_t i = 0; i < g->queue_count; i++)
        if (g->queues[i].lock_made) {
            g->vk.vkDestroySemaphore(g->device, g->queues[i].timeline, NULL);
            pthread_mutex_destroy(&g->queues[i].own_lock);
        }
}

/* Nobody has asked for it before. */
static int queue_start(struct gpu *g, struct gpu_queue *q)
{
    int err = GPU_OK;
    VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    VkSemaphoreCreateInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                       .pNext = &type};
    VK(g, g->vk.vkCreateSemaphore(g->device, &semaphore, NULL, &q->timeline));
    if (pthread_mutex_init(&q->own_lock, NULL)) {
        g->vk.vkDestroySemaphore(g->device, q->timeline, NULL);
        return GPU_ERR_NOMEM;
    }
    q->lock_made = true;
error:
    return err;
}

/* NULL: the device has none. */
static struct gpu_queue *queue_find(struct gpu *g, enum gpu_queue_use use)
{
    for (uint32_t i = 0; i < g->queue_count; i++)
        if (g->queues[i].use == use)
            return &g->queues[i];
    return NULL;
}

int gpu_queue_get(struct gpu *g, enum gpu_queue_use use, struct gpu_queue **out)
{
    int err = GPU_OK;
    pthread_mutex_lock(&g->lock);
    struct gpu_queue *q = queue_find(g, use);
    if (!q && use == GPU_QUEUE_FETCH)
        q = queue_find(g, GPU_QUEUE_DOWN);
    q = q ? q : &g->queues[0];
    if (!q->lock_made)
        err = queue_start(g, q);
    if (err == GPU_OK)
        *out = q;
    pthread_mutex_unlock(&g->lock);
    return err;
}

bool gpu_has_background(const struct gpu *g)
{
    for (uint32_t i = 0; i < g->queue_count; i++)
        if (g->queues[i].use == GPU_QUEUE_BACKGROUND)
            return true;
    return false;
}

int gpu_queue_submit_after(struct gpu_queue *q, VkCommandBuffer commands,
                           const struct gpu_point *after, uint32_t count, uint64_t *value)
{
    struct gpu *g = q->g;
    int err = GPU_OK;
    VkSemaphore semaphores[GPU_QUEUES];
    VkPipelineStageFlags stages[GPU_QUEUES];
    uint64_t values[GPU_QUEUES];
    uint32_t waits = 0;
    if (atomic_load(&g->lost))
        return GPU_ERR_LOST;
    for (uint32_t i = 0; i < count; i++) {
        semaphores[waits] = after[i].queue->timeline;
        stages[waits] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
        values[waits++] = after[i].value;
    }
    pthread_mutex_lock(q->lock);
    uint64_t next = q->submitted + 1;
    VkTimelineSemaphoreSubmitInfo timeline = {.sType =
                                                  VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                              .waitSemaphoreValueCount = waits,
                                              .pWaitSemaphoreValues = values,
                                              .signalSemaphoreValueCount = 1,
                                              .pSignalSemaphoreValues = &next};
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                           .pNext = &timeline,
                           .commandBufferCount = 1,
                           .pCommandBuffers = &commands,
                           .waitSemaphoreCount = waits,
                           .pWaitSemaphores = semaphores,
                           .pWaitDstStageMask = stages,
                           .signalSemaphoreCount = 1,
                           .pSignalSemaphores = &q->timeline};
    VK(g, g->vk.vkQueueSubmit(q->queue, 1, &submit, VK_NULL_HANDLE));
    q->submitted = next;
    *value = next;
error:
    pthread_mutex_unlock(q->lock);
    if (err == GPU_OK && g->submitted)
        g->submitted(q, next);
    return err;
}

int gpu_queue_submit(struct gpu_queue *q, VkCommandBuffer commands, struct gpu_queue *wait_queue,
                     uint64_t wait_value, uint64_t *value)
{
    struct gpu_point after = {wait_queue, wait_value};
    return gpu_queue_submit_after(q, commands, &after, wait_queue ? 1 : 0, value);
}

int gpu_points_wait(struct gpu *g, const struct gpu_point *points, uint32_t count,
                    uint64_t timeout_ns)
{
    int err = GPU_OK;
    VkSemaphore semaphores[GPU_POINTS];
    uint64_t values[GPU_POINTS];
    if (atomic_load(&g->lost))
        return GPU_ERR_LOST;
    if (count > GPU_POINTS)
        return GPU_ERR_INVALID;
    if (!count)
        return 1;
    for (uint32_t i = 0; i < count; i++) {
        semaphores[i] = points[i].queue->timeline;
        values[i] = points[i].value;
    }
    VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                .flags = VK_SEMAPHORE_WAIT_ANY_BIT,
                                .semaphoreCount = count,
                                .pSemaphores = semaphores,
                                .pValues = values};
    VkResult result = g->vk.vkWaitSemaphores(g->device, &info, timeout_ns);
    if (result == VK_TIMEOUT)
        return 1;
    VK(g, result);
error:
    return err;
}

int gpu_queue_wait(struct gpu_queue *q, uint64_t value, uint64_t timeout_ns)
{
    return gpu_points_wait(q->g, &(struct gpu_point){q, value}, 1, timeout_ns);
}

int gpu_queue_completed(struct gpu_queue *q, uint64_t *value)
{
    struct gpu *g = q->g;
    int err = GPU_OK;
    uint64_t v = 0;
    if (atomic_load(&g->lost))
        return GPU_ERR_LOST;
    VK(g, g->vk.vkGetSemaphoreCounterValue(g->device, q->timeline, &v));
    *value = v;
error:
    return err;
}
