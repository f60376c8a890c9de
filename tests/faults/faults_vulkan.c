/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Vulkan calls that fail. The program opens this library in place of the loader; each function that
 * can fail is handed out with a wrapper.
 *
 * PELTON_FAULT_OF:
 *   host_memory, device_memory   one call of any function
 *   lost                         one submission, and all that comes after it in that process
 *   lost_device                  the same, until the process opens a device again
 *   timeout                      one wait
 */
#include "tests/faults/faults.h"
#include "tests/gpu/failing_calls.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <vulkan/vulkan.h>

static atomic_bool lost;
static VkDevice opened; /* the last one */
static PFN_vkDeviceWaitIdle device_wait_idle;

/* A device that is lost executes nothing more: what is in flight ends before the program knows. */
static void lose(void)
{
    device_wait_idle(opened);
    atomic_store(&lost, true);
}

/* VK_SUCCESS: the call is to be made. */
static VkResult fault_result(const char *name, const void *caller)
{
    bool submits = strcmp(name, "vkQueueSubmit") == 0,
         waits = strcmp(name, "vkWaitSemaphores") == 0;
    if (fault_of("lost") || fault_of("lost_device")) {
        if (fault_here(submits, name, caller))
            lose();
        if (fault_of("lost_device") && strcmp(name, "vkCreateInstance") == 0)
            atomic_store(&lost, false);
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

/* Besides those of the tests of a device. */
#define OTHER_CALLS(CALL)                                                                          \
    CREATING_CALL(CALL, vkCreateDescriptorSetLayout, VkDescriptorSetLayoutCreateInfo,              \
                  VkDescriptorSetLayout)                                                           \
    CREATING_CALL(CALL, vkCreatePipelineLayout, VkPipelineLayoutCreateInfo, VkPipelineLayout)      \
    CREATING_CALL(CALL, vkCreatePipelineCache, VkPipelineCacheCreateInfo, VkPipelineCache)         \
    CREATING_CALL(CALL, vkCreateSampler, VkSamplerCreateInfo, VkSampler)                           \
    CALL(vkCreateInstance,                                                                         \
         (const VkInstanceCreateInfo *i, const VkAllocationCallbacks *a, VkInstance *o),           \
         (i, a, o))                                                                                \
    CALL(vkEnumeratePhysicalDevices, (VkInstance i, uint32_t * n, VkPhysicalDevice * o),           \
         (i, n, o))                                                                                \
    CALL(vkEnumerateDeviceExtensionProperties,                                                     \
         (VkPhysicalDevice p, const char *l, uint32_t *n, VkExtensionProperties *o), (p, l, n, o)) \
    CALL(vkCreateDevice,                                                                           \
         (VkPhysicalDevice p, const VkDeviceCreateInfo *i, const VkAllocationCallbacks *a,         \
          VkDevice *o),                                                                            \
         (p, i, a, o))                                                                             \
    CALL(vkCreateComputePipelines,                                                                 \
         (VkDevice d, VkPipelineCache c, uint32_t n, const VkComputePipelineCreateInfo *i,         \
          const VkAllocationCallbacks *a, VkPipeline *o),                                          \
         (d, c, n, i, a, o))                                                                       \
    CALL(vkBindBufferMemory, (VkDevice d, VkBuffer b, VkDeviceMemory m, VkDeviceSize o),           \
         (d, b, m, o))                                                                             \
    CALL(vkBindImageMemory, (VkDevice d, VkImage i, VkDeviceMemory m, VkDeviceSize o),             \
         (d, i, m, o))                                                                             \
    CALL(vkGetMemoryHostPointerPropertiesEXT,                                                      \
         (VkDevice d, VkExternalMemoryHandleTypeFlagBits t, const void *p,                         \
          VkMemoryHostPointerPropertiesEXT *o),                                                    \
         (d, t, p, o))                                                                             \
    CALL(vkResetCommandPool, (VkDevice d, VkCommandPool p, VkCommandPoolResetFlags f), (d, p, f))  \
    CALL(vkWaitSemaphores, (VkDevice d, const VkSemaphoreWaitInfo *i, uint64_t ns), (d, i, ns))    \
    CALL(vkGetSemaphoreCounterValue, (VkDevice d, VkSemaphore s, uint64_t * o), (d, s, o))         \
    CALL(vkDeviceWaitIdle, (VkDevice d), (d))                                                      \
    CALL(vkGetPipelineCacheData, (VkDevice d, VkPipelineCache c, size_t * n, void *o), (d, c, n, o))

FAILING_CALLS(WRAPPED)
OTHER_CALLS(WRAPPED)

#define ENTRY(name, parameters, arguments)                                                         \
    {#name, (PFN_vkVoidFunction)fault_##name, (PFN_vkVoidFunction *)&real_##name},
static const struct {
    const char *name;
    PFN_vkVoidFunction wrapper, *real;
} wrappers[] = {FAILING_CALLS(ENTRY) OTHER_CALLS(ENTRY)};

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
    opened = d;
    device_wait_idle = (PFN_vkDeviceWaitIdle)device_function(d, "vkDeviceWaitIdle");
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
    return fault_of("lost") || fault_of("lost_device") || fault_of("timeout") ||
           fault_of("host_memory") || fault_of("device_memory");
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
