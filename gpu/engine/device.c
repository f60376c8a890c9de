/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Opening and closing of the device. A lost device stays lost: every later call returns
 * GPU_ERR_LOST, and closing does not wait.
 */
#include "gpu/engine/barrier_drop.h"
#include "gpu/engine/buffers.h"
#include "gpu/engine/canaries.h"
#include "gpu/engine/debug_values.h"
#include "gpu/engine/driver_cache.h"
#include "gpu/engine/instance.h"
#include "gpu/engine/pipeline.h"
#include "gpu/engine/pipeline_cache.h"

#include <stdlib.h>
#include <string.h>

static int create_device(struct gpu *g, const struct gpu_probe *probe,
                         const struct gpu_params *params)
{
    int err = GPU_OK;
    VkPhysicalDeviceSubgroupSizeControlFeaturesEXT control = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES_EXT,
        .computeFullSubgroups = VK_TRUE};
    VkPhysicalDeviceVulkan12Features v12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
        .pNext = g->info.fixed_subgroups ? &control : NULL,
        .storageBuffer8BitAccess = VK_TRUE,
        .shaderInt8 = VK_TRUE,
        .scalarBlockLayout = VK_TRUE,
        .timelineSemaphore = VK_TRUE,
        .hostQueryReset = VK_TRUE,
        .shaderFloat16 = g->info.half_floats,
    };
    VkPhysicalDeviceVulkan11Features v11 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
        .pNext = &v12,
        .storageBuffer16BitAccess = VK_TRUE};
    VkPhysicalDeviceFeatures2 features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
        .pNext = &v11,
        .features = {.shaderInt16 = VK_TRUE,
                     .shaderStorageImageExtendedFormats = VK_TRUE,
                     .robustBufferAccess = probe->robust && !params->no_robustness}};
    const char *extensions[3];
    uint32_t extension_count = 0;
    if (probe->host_alignment)
        extensions[extension_count++] = VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME;
    if (g->info.external_memory_fd)
        extensions[extension_count++] = VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME;
    if (g->info.fixed_subgroups)
        extensions[extension_count++] = VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME;
    VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                               .pNext = &features,
                               .enabledExtensionCount = extension_count,
                               .ppEnabledExtensionNames = extensions};
    TRY(gpu_queues_create(g, probe->family, params, &info));
    VkDescriptorSetLayoutBinding binding = {.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                            .descriptorCount = 1,
                                            .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    VkDescriptorSetLayoutCreateInfo layout = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = 1,
        .pBindings = &binding};
    VK(g, g->vk.vkCreateDescriptorSetLayout(g->device, &layout, NULL, &g->host_set));
error:
    return err;
}

/* Is every heap of the device the host's memory? Then the host writes where the device reads. Tests
 * ask for staging all the same. */
static bool is_unified(const struct gpu *g)
{
    const char *staging = getenv("PELTON_STAGING");
    if (staging && !strcmp(staging, "1"))
        return false;
    if (g->info.kind != GPU_KIND_SOFTWARE && g->info.kind != GPU_KIND_INTEGRATED)
        return false;
    return gpu_memory_type(g, ~0u,
                           VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT |
                               VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                               VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                           0, 0) != UINT32_MAX;
}

static int choose_device(struct gpu *g, const char *choice)
{
    VkPhysicalDevice *devices = NULL;
    struct gpu_device_info *infos = NULL;
    uint32_t count = 0;
    int64_t begun = gpu_clock_ns();
    int err = gpu_probe_all(g, &devices, &infos, &count);
    gpu_log_step(g, begun, "%u devices are found", count);
    if (err == GPU_ERR_NO_DEVICE)
        gpu_log(g, 0, "no Vulkan driver finds a device");
    if (err < 0)
        return err;
    size_t unusable = 0;
    err = gpu_choose(infos, count, choice, &unusable);
    if (err >= 0)
        g->physical = devices[err];
    else if (err == GPU_ERR_FEATURE)
        gpu_log(g, 0, "%s lacks %s", infos[unusable].name, infos[unusable].missing);
    else
        gpu_log(g, 0, "no Vulkan device matches \"%s\"", choice ? choice : "auto");
    free(devices);
    free(infos);
    return err < 0 ? err : GPU_OK;
}

int gpu_open(const struct gpu_params *params, struct gpu **out)
{
    int err = GPU_ERR_NOMEM;
    struct gpu_probe probe;
    struct gpu *g = calloc(1, sizeof(*g));
    if (!g)
        return GPU_ERR_NOMEM;
    g->log = params->log;
    g->log_ctx = params->log_ctx;
    if (pthread_mutex_init(&g->lock, NULL))
        goto error;
    g->lock_made = true;
    if (pthread_mutex_init(&g->kept.lock, NULL))
        goto error;
    if (pthread_cond_init(&g->kept.made, NULL)) {
        pthread_mutex_destroy(&g->kept.lock);
        goto error;
    }
    g->kept.lock_made = true;
    if (pthread_mutex_init(&g->arenas.lock, NULL))
        goto error;
    g->arenas.lock_made = true;
    const char *env = getenv("PELTON_VALIDATION");
    TRY(gpu_barrier_drop_open(g, getenv("PELTON_DROP_BARRIER")));
    TRY(gpu_instance_open(g, params->validation || (env && !strcmp(env, "1"))));
    TRY(choose_device(g, params->device));
    gpu_probe(g->physical, &probe);
    g->info = probe.info;
    g->limits = probe.limits;
    g->host_alignment = probe.host_alignment;
    g->family = probe.family;
    g->timestamps = params->timestamps && probe.timestamp_bits;
    vkGetPhysicalDeviceMemoryProperties(g->physical, &g->memory);
    g->unified = is_unified(g);
    int64_t begun = gpu_clock_ns();
    TRY(create_device(g, &probe, params));
    if (!driver_cache_reserve())
        gpu_log(g, 1, "the cache folder is full, and the driver uses it");
    gpu_log_step(g, begun, "device is made, with %u queues of %u families", g->queue_count,
                 g->family_count);
    begun = gpu_clock_ns();
    pipeline_cache_open(g, params->keep_pipelines);
    gpu_log_step(g, begun, "cache of pipelines is read, %zu bytes", g->kept.saver.saved);
    if (params->canaries)
        TRY(gpu_canaries_open(g, params->canaries));
    if (params->debug)
        TRY(gpu_debug_open(g, params->debug_shaders));
    gpu_log(g, 2, "device %s (%s)%s", g->info.name, g->info.driver,
            g->info.software ? ", software" : "");
    *out = g;
    return GPU_OK;
error:
    gpu_close(g);
    return err;
}

void gpu_leave(struct gpu *g)
{
    pipeline_cache_flush(g);
    gpu_canaries_changed(g);
}

void gpu_close(struct gpu *g)
{
    if (!g)
        return;
    if (g->device) {
        if (!atomic_load(&g->lost))
            g->vk.vkDeviceWaitIdle(g->device);
        gpu_debug_close(g);
        gpu_canaries_close(g);
        gpu_pipelines_free(g);
        pipeline_cache_close(g);
        g->vk.vkDestroyDescriptorSetLayout(g->device, g->host_set, NULL);
        gpu_queues_free(g);
        g->vk.vkDestroyDevice(g->device, NULL);
    }
    gpu_barrier_drop_close(g);
    gpu_instance_close(g);
    if (g->kept.lock_made) {
        pthread_cond_destroy(&g->kept.made);
        pthread_mutex_destroy(&g->kept.lock);
    }
    if (g->arenas.lock_made)
        pthread_mutex_destroy(&g->arenas.lock);
    if (g->lock_made)
        pthread_mutex_destroy(&g->lock);
    free(g->arenas.all);
    free(g);
}

const struct gpu_device_info *gpu_info(const struct gpu *g)
{
    return &g->info;
}

unsigned gpu_validation_messages(const struct gpu *g)
{
    return atomic_load(&((struct gpu *)g)->instance.messages);
}
