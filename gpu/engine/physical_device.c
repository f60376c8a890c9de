/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The devices of the machine: their properties, and the choice of one.
 */
#include "gpu/engine/instance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool matches(const struct gpu_device_info *info, const char *choice)
{
    if (!strcmp(choice, "auto"))
        return true;
    if (!strcmp(choice, "gpu"))
        return !info->software;
    if (!strcmp(choice, "cpu"))
        return info->software;
    return !strcasecmp(info->uuid, choice) || strcasestr(info->name, choice);
}

/* Smaller is better; GPU_KIND_* are in order of preference. */
static int rank(const struct gpu_device_info *info)
{
    return (int)info->kind + (info->usable ? 0 : 16);
}

int gpu_choose(const struct gpu_device_info *infos, size_t count, const char *choice,
               size_t *unusable)
{
    if (!choice || !*choice)
        choice = "auto";
    int best = -1;
    for (size_t i = 0; i < count; i++)
        if (matches(&infos[i], choice) && (best < 0 || rank(&infos[i]) < rank(&infos[best])))
            best = (int)i;
    if (best < 0)
        return GPU_ERR_NO_DEVICE;
    if (infos[best].usable)
        return best;
    if (unusable)
        *unusable = (size_t)best;
    return GPU_ERR_FEATURE;
}

static enum gpu_kind kind_of(VkPhysicalDeviceType type)
{
    switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
        return GPU_KIND_DISCRETE;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
        return GPU_KIND_INTEGRATED;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
        return GPU_KIND_VIRTUAL;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
        return GPU_KIND_SOFTWARE;
    default:
        return GPU_KIND_OTHER;
    }
}

static bool has_extension(VkPhysicalDevice physical, const char *name)
{
    uint32_t count = 0;
    if (vkEnumerateDeviceExtensionProperties(physical, NULL, &count, NULL) < 0 || !count)
        return false;
    VkExtensionProperties *list = calloc(count, sizeof(*list));
    bool found = false;
    if (list && vkEnumerateDeviceExtensionProperties(physical, NULL, &count, list) >= 0)
        for (uint32_t i = 0; i < count && !found; i++)
            found = !strcmp(list[i].extensionName, name);
    free(list);
    return found;
}

/* The first compute family, one with timestamps before one without. */
static uint32_t compute_family(VkPhysicalDevice physical, uint32_t *timestamp_bits)
{
    VkQueueFamilyProperties families[32];
    uint32_t count = 32, found = UINT32_MAX;
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
    for (uint32_t i = 0; i < count; i++) {
        if (!(families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) || !families[i].queueCount)
            continue;
        if (found != UINT32_MAX &&
            (families[found].timestampValidBits || !families[i].timestampValidBits))
            continue;
        found = i;
        *timestamp_bits = families[i].timestampValidBits;
    }
    return found;
}

static const char *missing_feature(VkPhysicalDevice physical, const VkPhysicalDeviceLimits *limits,
                                   const VkPhysicalDeviceSubgroupProperties *subgroup, bool *robust)
{
    VkPhysicalDeviceVulkan12Features v12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
    VkPhysicalDeviceVulkan11Features v11 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, .pNext = &v12};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                          .pNext = &v11};
    vkGetPhysicalDeviceFeatures2(physical, &features);
    *robust = features.features.robustBufferAccess;
    const VkSubgroupFeatureFlags operations = VK_SUBGROUP_FEATURE_BASIC_BIT |
                                              VK_SUBGROUP_FEATURE_BALLOT_BIT |
                                              VK_SUBGROUP_FEATURE_ARITHMETIC_BIT;
    const struct {
        bool has;
        const char *name;
    } needed[] = {
        {features.features.shaderInt16, "shaderInt16"},
        {features.features.shaderStorageImageExtendedFormats, "shaderStorageImageExtendedFormats"},
        {v11.storageBuffer16BitAccess, "storageBuffer16BitAccess"},
        {v12.storageBuffer8BitAccess, "storageBuffer8BitAccess"},
        {v12.shaderInt8, "shaderInt8"},
        {v12.scalarBlockLayout, "scalarBlockLayout"},
        {v12.timelineSemaphore, "timelineSemaphore"},
        {v12.hostQueryReset, "hostQueryReset"},
        {(subgroup->supportedOperations & operations) == operations,
         "subgroup ballot and arithmetic"},
        {subgroup->supportedStages & VK_SHADER_STAGE_COMPUTE_BIT, "subgroups in compute shaders"},
        {limits->maxPerStageDescriptorStorageBuffers >= 16, "16 storage buffers per stage"},
        {limits->maxPerStageDescriptorStorageImages >= 6, "6 storage images per stage"},
        {limits->maxComputeSharedMemorySize >= 32768, "32 KiB of shared memory"},
        {limits->maxComputeWorkGroupInvocations >= 256, "256 invocations per workgroup"},
    };
    for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++)
        if (!needed[i].has)
            return needed[i].name;
    return NULL;
}

/* Is the size of subgroups always the same, and can a pipeline ask that they be full? */
static bool has_fixed_subgroups(VkPhysicalDevice physical)
{
    VkPhysicalDeviceSubgroupSizeControlFeaturesEXT control = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES_EXT};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                          .pNext = &control};
    VkPhysicalDeviceSubgroupSizeControlPropertiesEXT sizes = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES_EXT};
    VkPhysicalDeviceProperties2 properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &sizes};
    if (!has_extension(physical, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME))
        return false;
    vkGetPhysicalDeviceFeatures2(physical, &features);
    vkGetPhysicalDeviceProperties2(physical, &properties);
    return control.computeFullSubgroups && sizes.minSubgroupSize == sizes.maxSubgroupSize;
}

static bool has_half_floats(VkPhysicalDevice physical)
{
    VkPhysicalDeviceVulkan12Features v12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                          .pNext = &v12};
    vkGetPhysicalDeviceFeatures2(physical, &features);
    return v12.shaderFloat16;
}

static void format_uuid(const uint8_t uuid[16], char out[37])
{
    char *p = out;
    for (int i = 0; i < 16; i++)
        p += snprintf(p, (size_t)(out + 37 - p),
                      i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", uuid[i]);
}

/* Buffers as readers of other processes import them. */
static void probe_export(VkPhysicalDevice physical, struct gpu_device_info *info)
{
    const VkPhysicalDeviceExternalBufferInfo wanted = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO,
        .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
        .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkExternalBufferProperties found = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES};
    const char *off = getenv("PELTON_NO_EXPORT"); /* tests ask for a device without it */
    if ((off && !strcmp(off, "1")) ||
        !has_extension(physical, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME))
        return;
    vkGetPhysicalDeviceExternalBufferProperties(physical, &wanted, &found);
    VkExternalMemoryFeatureFlags features = found.externalMemoryProperties.externalMemoryFeatures;
    info->external_memory_fd = features & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT;
    info->external_dedicated = features & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT;
}

static void probe_identity(const VkPhysicalDeviceIDProperties *id, struct gpu_identity *out)
{
    memcpy(out->device_uuid, id->deviceUUID, sizeof(out->device_uuid));
    memcpy(out->driver_uuid, id->driverUUID, sizeof(out->driver_uuid));
    memcpy(out->luid, id->deviceLUID, sizeof(out->luid));
    out->luid_valid = id->deviceLUIDValid;
}

static uint64_t device_memory(VkPhysicalDevice physical)
{
    VkPhysicalDeviceMemoryProperties memory;
    uint64_t largest = 0;
    vkGetPhysicalDeviceMemoryProperties(physical, &memory);
    for (uint32_t i = 0; i < memory.memoryHeapCount; i++)
        if ((memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) &&
            memory.memoryHeaps[i].size > largest)
            largest = memory.memoryHeaps[i].size;
    return largest;
}

void gpu_probe(VkPhysicalDevice physical, struct gpu_probe *out)
{
    VkPhysicalDeviceProperties basic;
    vkGetPhysicalDeviceProperties(physical, &basic);
    bool v12 = basic.apiVersion >= VK_API_VERSION_1_2,
         import = has_extension(physical, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
    VkPhysicalDeviceExternalMemoryHostPropertiesEXT host = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT};
    VkPhysicalDeviceDriverProperties driver = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES,
        .pNext = import ? &host : NULL};
    VkPhysicalDeviceSubgroupProperties subgroup = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES, .pNext = &driver};
    VkPhysicalDeviceIDProperties id = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES,
                                       .pNext = &subgroup};
    VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                       .pNext = &id};
    const VkSubgroupFeatureFlags shuffles =
        VK_SUBGROUP_FEATURE_SHUFFLE_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT;
    *out = (struct gpu_probe){.limits = basic.limits, .family = UINT32_MAX};
    const char *missing = v12 ? NULL : "Vulkan 1.2";
    if (v12) {
        vkGetPhysicalDeviceProperties2(physical, &all);
        missing = missing_feature(physical, &basic.limits, &subgroup, &out->robust);
        out->family = compute_family(physical, &out->timestamp_bits);
        if (out->family == UINT32_MAX)
            missing = "a compute queue";
        out->host_alignment = import ? host.minImportedHostPointerAlignment : 0;
    }
    struct gpu_device_info *info = &out->info;
    snprintf(info->name, sizeof(info->name), "%s", basic.deviceName);
    snprintf(info->driver, sizeof(info->driver), "%.120s %.120s", driver.driverName,
             driver.driverInfo);
    snprintf(info->missing, sizeof(info->missing), "%s", missing ? missing : "");
    format_uuid(id.deviceUUID, info->uuid);
    info->kind = kind_of(basic.deviceType);
    info->software = info->kind == GPU_KIND_SOFTWARE;
    info->api_version = basic.apiVersion;
    info->vendor_id = basic.vendorID;
    info->device_id = basic.deviceID;
    info->subgroup_size = subgroup.subgroupSize;
    info->memory_bytes = device_memory(physical);
    info->image_layers = basic.limits.maxImageArrayLayers;
    info->external_memory_host = import;
    if (v12)
        probe_export(physical, info);
    probe_identity(&id, &info->identity);
    info->fixed_subgroups = v12 && has_fixed_subgroups(physical);
    info->half_floats = v12 && has_half_floats(physical);
    info->shuffles = (subgroup.supportedOperations & shuffles) == shuffles;
    info->usable = !missing;
}

int gpu_probe_all(struct gpu *g, VkPhysicalDevice **devices, struct gpu_device_info **infos,
                  uint32_t *count)
{
    int err = GPU_OK;
    uint32_t n = 0;
    VkPhysicalDevice *list = NULL;
    struct gpu_device_info *out = NULL;
    VK(g, vkEnumeratePhysicalDevices(g->instance.handle, &n, NULL));
    err = GPU_ERR_NO_DEVICE;
    if (!n)
        goto error;
    err = GPU_ERR_NOMEM;
    list = calloc(n, sizeof(*list));
    out = calloc(n, sizeof(*out));
    if (!list || !out)
        goto error;
    VK(g, vkEnumeratePhysicalDevices(g->instance.handle, &n, list));
    for (uint32_t i = 0; i < n; i++) {
        struct gpu_probe probe;
        gpu_probe(list[i], &probe);
        out[i] = probe.info;
    }
    *devices = list;
    *infos = out;
    *count = n;
    return GPU_OK;
error:
    free(list);
    free(out);
    return err;
}

uint64_t gpu_memory_free(const struct gpu *g)
{
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
    VkPhysicalDeviceMemoryProperties2 memory = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2, .pNext = &budget};
    uint64_t most = 0;
    if (!has_extension(g->physical, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME))
        return g->info.memory_bytes;
    vkGetPhysicalDeviceMemoryProperties2(g->physical, &memory);
    for (uint32_t i = 0; i < memory.memoryProperties.memoryHeapCount; i++) {
        uint64_t left = budget.heapBudget[i] > budget.heapUsage[i]
                            ? budget.heapBudget[i] - budget.heapUsage[i]
                            : 0;
        bool device =
            memory.memoryProperties.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT;
        most = device && left > most ? left : most;
    }
    return most < g->info.memory_bytes ? most : g->info.memory_bytes;
}

int gpu_list(struct gpu_device_info **out, size_t *count)
{
    struct gpu g = {0};
    VkPhysicalDevice *devices = NULL;
    uint32_t n = 0;
    int err = gpu_instance_open(&g, false);
    if (err < 0)
        return err;
    err = gpu_probe_all(&g, &devices, out, &n);
    if (err == GPU_OK)
        *count = n;
    free(devices);
    gpu_instance_close(&g);
    return err;
}
