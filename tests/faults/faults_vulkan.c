/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Vulkan calls that fail. The program opens this library in place of the loader; each function that
 * can fail is handed out with a wrapper.
 *
 * PELTON_FAULT_OF:
 *   host_memory, device_memory   one call of any function
 *   lost                         one submission, and all that comes after it in that process
 *   timeout                      one wait
 */
#include "tests/faults/faults.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <vulkan/vulkan.h>

static atomic_bool lost;

/* VK_SUCCESS: the call is to be made. */
static VkResult fault_result(const char *name, const void *caller)
{
    bool submits = strcmp(name, "vkQueueSubmit") == 0,
         waits = strcmp(name, "vkWaitSemaphores") == 0;
    if (fault_of("lost")) {
        if (fault_here(submits, name, caller))
            atomic_store(&lost, true);
        return atomic_load(&lost) ? VK_ERROR_DEVICE_LOST : VK_SUCCESS;
    }
    if (fault_here(fault_of("host_memory"), name, caller))
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    if (fault_here(fault_of("device_memory"), name, caller))
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    return fault_here(fault_of("timeout") && waits, name, caller) ? VK_TIMEOUT : VK_SUCCESS;
}

#define WRAPPED(name, parameters, arguments)                                                       \
    static PFN_##name real_##name;                                                                 \
    static VKAPI_ATTR VkResult VKAPI_CALL fault_##name parameters                                  \
    {                                                                                              \
        VkResult result = fault_result(#name, CALLER);                                             \
        return result == VK_SUCCESS ? real_##name arguments : result;                              \
    }
#define CREATED(name, info, object)                                                                \
    WRAPPED(name, (VkDevice d, const info *i, const VkAllocationCallbacks *a, object *o),          \
            (d, i, a, o))

CREATED(vkAllocateMemory, VkMemoryAllocateInfo, VkDeviceMemory)
CREATED(vkCreateBuffer, VkBufferCreateInfo, VkBuffer)
CREATED(vkCreateImage, VkImageCreateInfo, VkImage)
CREATED(vkCreateImageView, VkImageViewCreateInfo, VkImageView)
CREATED(vkCreateCommandPool, VkCommandPoolCreateInfo, VkCommandPool)
CREATED(vkCreateDescriptorPool, VkDescriptorPoolCreateInfo, VkDescriptorPool)
CREATED(vkCreateDescriptorSetLayout, VkDescriptorSetLayoutCreateInfo, VkDescriptorSetLayout)
CREATED(vkCreatePipelineLayout, VkPipelineLayoutCreateInfo, VkPipelineLayout)
CREATED(vkCreatePipelineCache, VkPipelineCacheCreateInfo, VkPipelineCache)
CREATED(vkCreateQueryPool, VkQueryPoolCreateInfo, VkQueryPool)
CREATED(vkCreateSampler, VkSamplerCreateInfo, VkSampler)
CREATED(vkCreateSemaphore, VkSemaphoreCreateInfo, VkSemaphore)
CREATED(vkCreateShaderModule, VkShaderModuleCreateInfo, VkShaderModule)
WRAPPED(vkCreateInstance,
        (const VkInstanceCreateInfo *i, const VkAllocationCallbacks *a, VkInstance *o), (i, a, o))
WRAPPED(vkEnumeratePhysicalDevices, (VkInstance i, uint32_t *n, VkPhysicalDevice *o), (i, n, o))
WRAPPED(vkEnumerateDeviceExtensionProperties,
        (VkPhysicalDevice p, const char *l, uint32_t *n, VkExtensionProperties *o), (p, l, n, o))
WRAPPED(vkCreateDevice,
        (VkPhysicalDevice p, const VkDeviceCreateInfo *i, const VkAllocationCallbacks *a,
         VkDevice *o),
        (p, i, a, o))
WRAPPED(vkCreateComputePipelines,
        (VkDevice d, VkPipelineCache c, uint32_t n, const VkComputePipelineCreateInfo *i,
         const VkAllocationCallbacks *a, VkPipeline *o),
        (d, c, n, i, a, o))
WRAPPED(vkMapMemory,
        (VkDevice d, VkDeviceMemory m, VkDeviceSize o, VkDeviceSize s, VkMemoryMapFlags f,
         void **p),
        (d, m, o, s, f, p))
WRAPPED(vkBindBufferMemory, (VkDevice d, VkBuffer b, VkDeviceMemory m, VkDeviceSize o),
        (d, b, m, o))
WRAPPED(vkBindImageMemory, (VkDevice d, VkImage i, VkDeviceMemory m, VkDeviceSize o), (d, i, m, o))
WRAPPED(vkGetMemoryHostPointerPropertiesEXT,
        (VkDevice d, VkExternalMemoryHandleTypeFlagBits t, const void *p,
         VkMemoryHostPointerPropertiesEXT *o),
        (d, t, p, o))
WRAPPED(vkAllocateDescriptorSets,
        (VkDevice d, const VkDescriptorSetAllocateInfo *i, VkDescriptorSet *o), (d, i, o))
WRAPPED(vkAllocateCommandBuffers,
        (VkDevice d, const VkCommandBufferAllocateInfo *i, VkCommandBuffer *o), (d, i, o))
WRAPPED(vkBeginCommandBuffer, (VkCommandBuffer c, const VkCommandBufferBeginInfo *i), (c, i))
WRAPPED(vkEndCommandBuffer, (VkCommandBuffer c), (c))
WRAPPED(vkResetCommandPool, (VkDevice d, VkCommandPool p, VkCommandPoolResetFlags f), (d, p, f))
WRAPPED(vkQueueSubmit, (VkQueue q, uint32_t n, const VkSubmitInfo *i, VkFence f), (q, n, i, f))
WRAPPED(vkWaitSemaphores, (VkDevice d, const VkSemaphoreWaitInfo *i, uint64_t ns), (d, i, ns))
WRAPPED(vkGetSemaphoreCounterValue, (VkDevice d, VkSemaphore s, uint64_t *o), (d, s, o))
WRAPPED(vkDeviceWaitIdle, (VkDevice d), (d))
WRAPPED(vkGetPipelineCacheData, (VkDevice d, VkPipelineCache c, size_t *n, void *o), (d, c, n, o))

#define ENTRY(name)                                                                                \
    {                                                                                              \
        #name, (PFN_vkVoidFunction)fault_##name, (PFN_vkVoidFunction *)&real_##name                \
    }
static const struct {
    const char *name;
    PFN_vkVoidFunction wrapper, *real;
} wrappers[] = {ENTRY(vkAllocateMemory),
                ENTRY(vkCreateBuffer),
                ENTRY(vkCreateImage),
                ENTRY(vkCreateImageView),
                ENTRY(vkCreateCommandPool),
                ENTRY(vkCreateDescriptorPool),
                ENTRY(vkCreateDescriptorSetLayout),
                ENTRY(vkCreatePipelineLayout),
                ENTRY(vkCreatePipelineCache),
                ENTRY(vkCreateQueryPool),
                ENTRY(vkCreateSampler),
                ENTRY(vkCreateSemaphore),
                ENTRY(vkCreateShaderModule),
                ENTRY(vkCreateInstance),
                ENTRY(vkEnumeratePhysicalDevices),
                ENTRY(vkEnumerateDeviceExtensionProperties),
                ENTRY(vkCreateDevice),
                ENTRY(vkCreateComputePipelines),
                ENTRY(vkMapMemory),
                ENTRY(vkBindBufferMemory),
                ENTRY(vkBindImageMemory),
                ENTRY(vkGetMemoryHostPointerPropertiesEXT),
                ENTRY(vkAllocateDescriptorSets),
                ENTRY(vkAllocateCommandBuffers),
                ENTRY(vkBeginCommandBuffer),
                ENTRY(vkEndCommandBuffer),
                ENTRY(vkResetCommandPool),
                ENTRY(vkQueueSubmit),
                ENTRY(vkWaitSemaphores),
                ENTRY(vkGetSemaphoreCounterValue),
                ENTRY(vkDeviceWaitIdle),
                ENTRY(vkGetPipelineCacheData)};

static PFN_vkVoidFunction wrapped(const char *name, PFN_vkVoidFunction real)
{
    for (size_t i = 0; real && i < sizeof(wrappers) / sizeof(*wrappers); i++) {
        if (strcmp(wrappers[i].name, name) == 0) {
            *wrappers[i].real = real;
            return wrappers[i].wrapper;
        }
    }
    return real;
}

static PFN_vkGetInstanceProcAddr instance_function;
static PFN_vkGetDeviceProcAddr device_function;

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_wrapped(VkDevice d, const char *name)
{
    return wrapped(name, device_function(d, name));
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetInstanceProcAddr(VkInstance instance,
                                                               const char *name)
{
    PFN_vkVoidFunction real = instance_function(instance, name);
    if (real && strcmp(name, "vkGetDeviceProcAddr") == 0) {
        device_function = (PFN_vkGetDeviceProcAddr)real;
        return (PFN_vkVoidFunction)device_wrapped;
    }
    return wrapped(name, real);
}

static bool of_vulkan(void)
{
    return fault_of("lost") || fault_of("timeout") || fault_of("host_memory") ||
           fault_of("device_memory");
}

/* This library in place of the loader. */
void *dlopen(const char *path, int flags)
{
    static void *(*next)(const char *, int);
    static int own;
    Dl_info here;
    if (!next)
        next = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    void *module = next(path, flags);
    if (!module || !path || !strstr(path, "libvulkan.so") || !of_vulkan() || !dladdr(&own, &here))
        return module;
    instance_function = (PFN_vkGetInstanceProcAddr)dlsym(module, "vkGetInstanceProcAddr");
    return next(here.dli_fname, RTLD_NOW);
}
