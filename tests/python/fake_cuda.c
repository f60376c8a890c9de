/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The part of CUDA's driver API that python/pelton/_cuda.py calls, on a Vulkan device whose memory
 * the host can map: lavapipe. "Device addresses" are the host's, so that a test reads them. Work on
 * streams is never there. Yet an event is ready only at the third question, as if it were.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vulkan/vulkan.h>

enum { NO_ERROR = 0, INVALID = 1, NOT_READY = 600, QUESTIONS = 3 };

struct handle_desc { /* CUDA_EXTERNAL_MEMORY_HANDLE_DESC */
    unsigned type;
    union {
        int fd;
        struct {
            void *handle;
            const void *name;
        } win32;
    } handle;
    unsigned long long size;
    unsigned flags, reserved[16];
};
struct buffer_desc { /* CUDA_EXTERNAL_MEMORY_BUFFER_DESC */
    unsigned long long offset, size;
    unsigned flags, reserved[16];
};
_Static_assert(sizeof(struct handle_desc) == 104 && sizeof(struct buffer_desc) == 88, "CUDA's");

static VkInstance instance;
static VkPhysicalDevice physical;
static VkDevice device;
/* what is there, for the test */
int fake_imports, fake_contexts, fake_events, fake_recorded;
int fake_busy; /* the test says so: no event is ready until it is waited for */

int cuInit(unsigned flags)
{
    const float priority = 1;
    const char *const extensions[] = {VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME};
    uint32_t count = 1;
    VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                             .apiVersion = VK_API_VERSION_1_1};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                 .pApplicationInfo = &app};
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                     .queueCount = 1,
                                     .pQueuePriorities = &priority};
    VkDeviceCreateInfo created = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                  .queueCreateInfoCount = 1,
                                  .pQueueCreateInfos = &queue,
                                  .enabledExtensionCount = 1,
                                  .ppEnabledExtensionNames = extensions};
    if (device)
        return NO_ERROR;
    if (flags || vkCreateInstance(&info, NULL, &instance) < 0 ||
        vkEnumeratePhysicalDevices(instance, &count, &physical) < 0 || !count ||
        vkCreateDevice(physical, &created, NULL, &device) < 0)
        return INVALID;
    return NO_ERROR;
}

int cuGetErrorString(int error, const char **out)
{
    *out = error == INVALID ? "invalid argument" : "not ready";
    return NO_ERROR;
}

int cuDeviceGetCount(int *count)
{
    *count = 1;
    return NO_ERROR;
}

int cuDeviceGet(int *out, int ordinal)
{
    *out = 7 + ordinal;
    return ordinal == 0 ? NO_ERROR : INVALID;
}

int cuDeviceGetUuid(char uuid[16], int number)
{
    VkPhysicalDeviceIDProperties id = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
    VkPhysicalDeviceProperties2 p = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                     .pNext = &id};
    vkGetPhysicalDeviceProperties2(physical, &p);
    memcpy(uuid, id.deviceUUID, 16);
    uuid[0] = (char)(uuid[0] ^ (getenv("FAKE_OTHER_GPU") != NULL));
    return number == 7 ? NO_ERROR : INVALID;
}

int cuDevicePrimaryCtxRetain(void **context, int number)
{
    *context = &device;
    return number == 7 ? NO_ERROR : INVALID;
}

int cuCtxPushCurrent_v2(void *context)
{
    fake_contexts += context == &device;
    return context == &device ? NO_ERROR : INVALID;
}

int cuCtxPopCurrent_v2(void **context)
{
    *context = &device;
    return fake_contexts-- > 0 ? NO_ERROR : INVALID;
}

int cuCtxSynchronize(void)
{
    return fake_contexts == 1 ? NO_ERROR : INVALID;
}

/* ---- memory ---- */

int cuImportExternalMemory(void **out, const struct handle_desc *desc)
{
    VkImportMemoryFdInfoKHR import = {.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR,
                                      .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
                                      .fd = desc->handle.fd};
    VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                   .pNext = &import,
                                   .allocationSize = desc->size};
    VkDeviceMemory made;
    if (desc->type != 1 || fake_contexts != 1 || vkAllocateMemory(device, &memory, NULL, &made) < 0)
        return INVALID;
    fake_imports++;
    *out = (void *)made;
    return NO_ERROR;
}

int cuExternalMemoryGetMappedBuffer(uint64_t *address, void *memory, const struct buffer_desc *desc)
{
    void *map;
    if (desc->flags ||
        vkMapMemory(device, (VkDeviceMemory)memory, desc->offset, desc->size, 0, &map) < 0)
        return INVALID;
    *address = (uintptr_t)map;
    return NO_ERROR;
}

int cuMemFree_v2(uint64_t address)
{
    return address ? NO_ERROR : INVALID;
}

int cuDestroyExternalMemory(void *memory)
{
    fake_imports--;
    vkFreeMemory(device, (VkDeviceMemory)memory, NULL);
    return NO_ERROR;
}

/* ---- events ---- */

struct event {
    int questions;
};

int cuEventCreate(struct event **out, unsigned flags)
{
    *out = calloc(1, sizeof(**out));
    fake_events++;
    return *out && flags == 2 ? NO_ERROR : INVALID;
}

int cuEventRecord(struct event *event, void *stream)
{
    event->questions = 0;
    fake_recorded++;
    return stream && fake_contexts == 1 ? NO_ERROR : INVALID;
}

int cuEventQuery(struct event *event)
{
    return (fake_busy && event->questions <= QUESTIONS) || event->questions++ < QUESTIONS
               ? NOT_READY
               : NO_ERROR;
}

int cuEventSynchronize(struct event *event)
{
    event->questions = QUESTIONS + 1;
    return NO_ERROR;
}

int cuEventDestroy_v2(struct event *event)
{
    free(event);
    fake_events--;
    return NO_ERROR;
}
