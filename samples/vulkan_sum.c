/* SPDX-License-Identifier: BSD-2-Clause
 *
 * vulkan_sum SOURCE [PIX_FMT]: prints each frame's sequence and the sum of its bytes. SOURCE is a
 * file or source:NAME. Frames stay in memory of the GPU. This program imports that memory by
 * Vulkan, once an epoch, and copies each frame on the GPU into a buffer of its own. Uses the daemon
 * at $PELTON_SOCKET where that is set, else a private one. Build: cc vulkan_sum.c $(pkg-config
 * --cflags --libs pelton vulkan)
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pelton.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vulkan/vulkan.h>

/* A software device compiles its shaders before the first frame. */
enum { PATIENCE_MS = 120000 };

static int fail(const char *what)
{
    fprintf(stderr, "vulkan_sum: %s\n", what);
    return -1;
}

static int complain(const struct pelton *conn)
{
    const struct pelton_failure *f = pelton_failure(conn);
    fprintf(stderr, "vulkan_sum: %s\n", f->cause);
    if (f->hint[0])
        fprintf(stderr, "hint: %s\n", f->hint);
    return -1;
}

struct vulkan_memory {
    VkBuffer buffer;
    VkDeviceMemory memory;
};

struct vulkan {
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    uint32_t family;
    VkQueue queue;
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkFence fence;
    struct vulkan_memory copy; /* a slot, where the host can read it */
    const uint8_t *map;
    struct vulkan_memory frames; /* imported, of this epoch */
    uint32_t epoch;
};

/* ---- the device of the daemon ---- */

static int find_physical(struct vulkan *v, const struct pelton_device_memory *m)
{
    VkPhysicalDevice all[16];
    uint32_t count = 16;
    VkResult rc = vkEnumeratePhysicalDevices(v->instance, &count, all);
    for (uint32_t i = 0; rc >= 0 && i < count; i++) {
        VkPhysicalDeviceIDProperties id = {.sType =
                                               VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
        VkPhysicalDeviceProperties2 p = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                         .pNext = &id};
        vkGetPhysicalDeviceProperties2(all[i], &p);
        if (!memcmp(id.deviceUUID, m->device_uuid, VK_UUID_SIZE) &&
            !memcmp(id.driverUUID, m->driver_uuid, VK_UUID_SIZE)) {
            v->physical = all[i];
            return 0;
        }
    }
    return fail("no Vulkan device here is the daemon's, or its driver is another");
}

/* Queues that compute can also copy. */
static int find_family(struct vulkan *v)
{
    VkQueueFamilyProperties all[32];
    uint32_t count = 32;
    vkGetPhysicalDeviceQueueFamilyProperties(v->physical, &count, all);
    for (v->family = 0; v->family < count; v->family++)
        if (all[v->family].queueFlags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT))
            return 0;
    return fail("the device has no queue");
}

static int open_device(struct vulkan *v, const struct pelton_device_memory *m)
{
    const float priority = 1;
    const char *const extensions[] = {VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME};
    VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                             .apiVersion = VK_API_VERSION_1_1};
    VkInstanceCreateInfo instance = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                     .pApplicationInfo = &app};
    if (vkCreateInstance(&instance, NULL, &v->instance) < 0)
        return fail("there is no Vulkan");
    if (find_physical(v, m) < 0 || find_family(v) < 0)
        return -1;
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                     .queueFamilyIndex = v->family,
                                     .queueCount = 1,
                                     .pQueuePriorities = &priority};
    VkDeviceCreateInfo device = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                 .queueCreateInfoCount = 1,
                                 .pQueueCreateInfos = &queue,
                                 .enabledExtensionCount = 1,
                                 .ppEnabledExtensionNames = extensions};
    if (vkCreateDevice(v->physical, &device, NULL, &v->device) < 0)
        return fail("the device cannot be opened, or imports no memory");
    vkGetDeviceQueue(v->device, v->family, 0, &v->queue);
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                    .queueFamilyIndex = v->family};
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    if (vkCreateCommandPool(v->device, &pool, NULL, &v->pool) < 0 ||
        vkCreateFence(v->device, &fence, NULL, &v->fence) < 0)
        return fail("no command pool");
    VkCommandBufferAllocateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandPool = v->pool,
                                            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                            .commandBufferCount = 1};
    return vkAllocateCommandBuffers(v->device, &commands, &v->commands) < 0 ? fail("no commands")
                                                                            : 0;
}

/* ---- memory ---- */

static void memory_free(struct vulkan *v, struct vulkan_memory *m)
{
    vkDestroyBuffer(v->device, m->buffer, NULL);
    vkFreeMemory(v->device, m->memory, NULL);
    *m = (struct vulkan_memory){0};
}

/* The library keeps its descriptor, and Vulkan takes over a duplicate. */
static int import_frames(struct vulkan *v, const struct pelton_device_memory *m)
{
    const VkExternalMemoryHandleTypeFlagBits handle = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, .handleTypes = handle};
    VkBufferCreateInfo buffer = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                 .pNext = &external,
                                 .size = m->buffer_size,
                                 .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                          VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                          VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    memory_free(v, &v->frames);
    if (vkCreateBuffer(v->device, &buffer, NULL, &v->frames.buffer) < 0)
        return fail("no buffer for the frames");
    VkMemoryDedicatedAllocateInfo dedicated = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, .buffer = v->frames.buffer};
    VkImportMemoryFdInfoKHR import = {.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR,
                                      .pNext = m->dedicated ? &dedicated : NULL,
                                      .handleType = handle,
                                      .fd = fcntl(m->fd, F_DUPFD_CLOEXEC, 3)};
    VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                   .pNext = &import,
                                   .allocationSize = m->allocation_size,
                                   .memoryTypeIndex = m->memory_type};
    if (import.fd < 0 || vkAllocateMemory(v->device, &memory, NULL, &v->frames.memory) < 0) {
        if (import.fd >= 0)
            close(import.fd);
        return fail("the frames' memory cannot be imported");
    }
    if (vkBindBufferMemory(v->device, v->frames.buffer, v->frames.memory, 0) < 0)
        return fail("the frames' memory does not fit the buffer");
    v->epoch = m->epoch;
    return 0;
}

static uint32_t host_memory_type(const struct vulkan *v, uint32_t bits)
{
    const VkMemoryPropertyFlags wanted =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkPhysicalDeviceMemoryProperties p;
    vkGetPhysicalDeviceMemoryProperties(v->physical, &p);
    for (uint32_t i = 0; i < p.memoryTypeCount; i++)
        if ((bits >> i & 1) && (p.memoryTypes[i].propertyFlags & wanted) == wanted)
            return i;
    return UINT32_MAX;
}

static int make_copy(struct vulkan *v, uint64_t size)
{
    VkBufferCreateInfo buffer = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                 .size = size,
                                 .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkMemoryRequirements needs;
    void *map;
    memory_free(v, &v->copy);
    if (vkCreateBuffer(v->device, &buffer, NULL, &v->copy.buffer) < 0)
        return fail("no buffer for a copy");
    vkGetBufferMemoryRequirements(v->device, v->copy.buffer, &needs);
    VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                   .allocationSize = needs.size,
                                   .memoryTypeIndex = host_memory_type(v, needs.memoryTypeBits)};
    if (memory.memoryTypeIndex == UINT32_MAX ||
        vkAllocateMemory(v->device, &memory, NULL, &v->copy.memory) < 0 ||
        vkBindBufferMemory(v->device, v->copy.buffer, v->copy.memory, 0) < 0 ||
        vkMapMemory(v->device, v->copy.memory, 0, VK_WHOLE_SIZE, 0, &map) < 0)
        return fail("no memory for a copy");
    v->map = map;
    return 0;
}

/* ---- frames ---- */

/* The daemon's GPU has written the frame already; this GPU work is over when the fence is. */
static int copy_slot(struct vulkan *v, uint64_t offset, uint64_t size)
{
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    VkBufferCopy region = {.srcOffset = offset, .size = size};
    VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                               .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                               .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                           .commandBufferCount = 1,
                           .pCommandBuffers = &v->commands};
    vkBeginCommandBuffer(v->commands, &begin);
    vkCmdCopyBuffer(v->commands, v->frames.buffer, v->copy.buffer, 1, &region);
    vkCmdPipelineBarrier(v->commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0,
                         1, &barrier, 0, NULL, 0, NULL);
    if (vkEndCommandBuffer(v->commands) < 0 || vkResetFences(v->device, 1, &v->fence) < 0 ||
        vkQueueSubmit(v->queue, 1, &submit, v->fence) < 0 ||
        vkWaitForFences(v->device, 1, &v->fence, VK_TRUE, UINT64_MAX) < 0)
        return fail("the device is lost");
    return 0;
}

static int sum_frame(struct vulkan *v, const struct pelton_frame *f,
                     const struct pelton_device_memory *m)
{
    uint64_t sum = 0;
    if (!v->device && open_device(v, m) < 0)
        return -1;
    if (v->epoch != m->epoch && (import_frames(v, m) < 0 || make_copy(v, m->slot_size) < 0))
        return -1;
    uint64_t slot = f->slot * m->slot_size;
    if (copy_slot(v, slot, m->slot_size) < 0)
        return -1;
    for (uint32_t p = 0; p < f->planes; p++)
        for (uint32_t y = 0; y < f->plane_height[p]; y++) {
            const uint8_t *row = v->map + (m->offset[p] - slot) + (size_t)y * f->stride[p];
            for (uint32_t x = 0; x < f->plane_width[p]; x++)
                sum += row[x];
        }
    printf("%" PRIu64 " %" PRIu64 "%s\n", f->sequence, sum,
           f->flags & PELTON_FRAME_CORRUPT ? " corrupt" : "");
    return 0;
}

static int sum_stream(struct vulkan *v, struct pelton *conn, const char *path, const char *pix_fmt)
{
    struct pelton_open_params params;
    struct pelton_stream *stream = NULL;
    struct pelton_frame frame;
    struct pelton_device_memory memory;
    pelton_open_params_init(&params);
    if (strncmp(path, "source:", 7) == 0)
        params.uri = path;
    else
        params.fd = open(path, O_RDONLY | O_CLOEXEC);
    params.name = path;
    params.pix_fmt = pix_fmt;
    params.bench.transport = PELTON_DEVICE;
    if (!params.uri && params.fd < 0) {
        fprintf(stderr, "vulkan_sum: %s: %s\n", path, strerror(errno));
        return -1;
    }
    int rc = pelton_open(conn, &params, PATIENCE_MS, NULL, &stream), bad = 0;
    while (!bad && rc >= 0 && (rc = pelton_next(stream, PATIENCE_MS, &frame)) > 0) {
        rc = pelton_device_memory(stream, &frame, &memory);
        bad = rc < 0 ? 0 : sum_frame(v, &frame, &memory);
        pelton_release(stream, &frame);
    }
    if (rc < 0)
        complain(conn);
    pelton_stream_close(stream);
    if (params.fd >= 0)
        close(params.fd);
    return rc < 0 || bad ? -1 : 0;
}

static void close_device(struct vulkan *v)
{
    if (v->device) {
        memory_free(v, &v->frames);
        memory_free(v, &v->copy);
        vkDestroyFence(v->device, v->fence, NULL);
        vkDestroyCommandPool(v->device, v->pool, NULL);
        vkDestroyDevice(v->device, NULL);
    }
    if (v->instance)
        vkDestroyInstance(v->instance, NULL);
}

int main(int argc, char **argv)
{
    struct pelton *conn = NULL;
    struct vulkan v = {0};
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: %s FILE|source:NAME [PIX_FMT]\n", argv[0]);
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    int rc = getenv("PELTON_SOCKET") ? pelton_connect(NULL, 5000, &conn)
                                     : pelton_spawn(NULL, 30000, &conn);
    rc = rc < 0 ? complain(NULL) : sum_stream(&v, conn, argv[1], argc > 2 ? argv[2] : NULL);
    close_device(&v);
    pelton_close(conn);
    return rc < 0;
}
