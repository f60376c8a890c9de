/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files of gpu/ share: Vulkan's functions, the VK() macro, the device and what hangs off
 * it.
 */
#ifndef PELTON_GPU_VK_H
#define PELTON_GPU_VK_H

#include <pthread.h>
#include <stdatomic.h>
#include <volk.h>

#include "gpu/engine/gpu.h"

/* Do a Vulkan call; on failure log call, result, file and line, set the local `err` and jump to the
 * local label `error`. */
#define VK(g, call)                                                                                \
    do {                                                                                           \
        VkResult vk_result_ = (call);                                                              \
        if (vk_result_ < 0) {                                                                      \
            err = gpu_vk_failed(g, vk_result_, #call, __FILE__, __LINE__);                         \
            goto error;                                                                            \
        }                                                                                          \
    } while (0)

/* Jump to the local label `error` with the local `err` set where a gpu function fails. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        err = (call);                                                                              \
        if (err < 0)                                                                               \
            goto error;                                                                            \
    } while (0)

/* Masks of bindings in set 0. */
struct gpu_bindings {
    uint32_t buffers, images, uniforms, textures; /* textures with their sampler */
};

/* One descriptor set layout and the pipeline layout {set 0: this, set 1: a gpu_host}. Shared by all
 * users of equal masks. */
struct gpu_layout {
    struct gpu_layout *next;
    struct gpu_bindings bindings;
    uint32_t push_size;
    VkDescriptorSetLayout set;
    VkPipelineLayout pipeline;
};

/* A shader with these constants, ids 0..; whole: its subgroups must be full, which
 * gpu.info.fixed_subgroups allows. */
struct gpu_pipeline_want {
    const struct gpu_layout *layout;
    const uint32_t *spirv;
    size_t spirv_size;
    uint32_t constants[8], constant_count;
    bool whole;
    const char *name; /* for the log; not kept */
};

struct gpu_pipeline {
    struct gpu_pipeline *next;
    struct gpu_pipeline_want want;
    VkPipeline pipeline;
};

/* What a queue is for. Uses that the device has no queue for share the main one. */
enum gpu_queue_use {
    GPU_QUEUE_MAIN, /* reconstruction, cameras, everything */
    GPU_QUEUE_UP,   /* copies to the device; by a copy engine where there is one */
    GPU_QUEUE_DOWN, /* copies to the host; by another one */
    /* copies of buffers that take longer than frames should wait; by a third one, else on the queue
     * for copies to the host */
    GPU_QUEUE_FETCH,
    GPU_QUEUE_DELIVER, /* shaders that write to the host */
    /* shaders that may take their time; several queues, each user gets one of those with the fewest
     */
    GPU_QUEUE_BACKGROUND,
    GPU_QUEUE_USES
};
#define GPU_QUEUES 13

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
    uint32_t users; /* under gpu.lock */
};

/* Something submitted: done when the queue's timeline has reached the value. */
struct gpu_point {
    struct gpu_queue *queue;
    uint64_t value;
};

struct gpu {
    gpu_log_fn log;
    void *log_ctx;
    atomic_uint validation_messages;
    VkInstance instance;
    VkDebugUtilsMessengerEXT messenger;
    PFN_vkCmdBeginDebugUtilsLabelEXT label_begin; /* NULL without validation */
    PFN_vkCmdEndDebugUtilsLabelEXT label_end;

    VkPhysicalDevice physical;
    struct gpu_device_info info;
    VkPhysicalDeviceLimits limits;
    VkPhysicalDeviceMemoryProperties memory;
    uint64_t host_alignment; /* of imported memory; 0: no import */
    bool unified; /* all device memory is host memory: staging copies would be idle work */

    VkDevice device;
    struct VolkDeviceTable vk;
    uint32_t family;                            /* of the main queue */
    struct gpu_queue queues[GPU_QUEUES], *main; /* main: the first */
    uint32_t queue_count;
    uint32_t families[GPU_QUEUES], family_count; /* buffers and images are shared among these */
    bool timestamps;

    pthread_mutex_t lock; /* hosts, users of queues */
    bool lock_made;
    pthread_mutex_t arena_lock; /* arenas */
    bool arena_lock_made;
    struct gpu_arena **arenas; /* by address */
    size_t arena_count, arena_capacity;
    /* by queue: the latest submission into arenas of the device that was found complete */
    uint64_t arena_written[GPU_QUEUES];
    atomic_bool lost;

    VkDescriptorSetLayout host_set;
    struct gpu_debug *debug; /* NULL: no --gpu-debug */
    struct gpu_layout *layouts;
    struct gpu_pipeline *pipelines;
    pthread_mutex_t made_lock; /* layouts, pipelines */
    bool made_lock_made;
    struct gpu_host *hosts;
};

/* instance.c */
void gpu_log(const struct gpu *g, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int gpu_vk_failed(struct gpu *g, VkResult result, const char *call, const char *file, int line);
const char *gpu_vk_text(VkResult result);
int gpu_instance_open(struct gpu *g, bool validation);
void gpu_instance_close(struct gpu *g);

/* choose.c: everything about one physical device that pelton asks for */
struct gpu_probe {
    struct gpu_device_info info;
    VkPhysicalDeviceLimits limits;
    uint64_t host_alignment;
    uint32_t family;
    uint32_t timestamp_bits;
    bool robust;
};
void gpu_probe(VkPhysicalDevice physical, struct gpu_probe *out);
/* *out is malloc'd, one for each of *count devices. */
int gpu_probe_all(struct gpu *g, VkPhysicalDevice **devices, struct gpu_device_info **infos,
                  uint32_t *count);

/* queue.c */
/* Choose the queues, create the device with them, open the main one. *device has everything but
 * queues. */
int gpu_queues_create(struct gpu *g, uint32_t main_family, VkDeviceCreateInfo *device);
void gpu_queues_free(struct gpu *g);
/* A queue for the use, perhaps shared with others; command pools are made for its family. Buffers
 * and images of memory.c may be used on all queues. Thread: any, for all functions of queues. */
int gpu_queue_open(struct gpu *g, enum gpu_queue_use use, struct gpu_queue **out);
void gpu_queue_close(struct gpu_queue *q); /* NULL allowed; it does not wait */
/* Submit one command buffer, which starts when wait_queue (NULL: none) has reached wait_value and
 * then sees all that was written until there. *value is what the timeline reaches when it is done;
 * submissions to one queue start in order. */
int gpu_queue_submit(struct gpu_queue *q, VkCommandBuffer commands, struct gpu_queue *wait_queue,
                     uint64_t wait_value, uint64_t *value);
/* The same after count points, at most one of each queue. */
int gpu_queue_submit_after(struct gpu_queue *q, VkCommandBuffer commands,
                           const struct gpu_point *after, uint32_t count, uint64_t *value);
/* Until one of count points is reached: 0, 1 on timeout or where there are none, or an error.
 * GPU_POINTS at most */
#define GPU_POINTS 64
int gpu_points_wait(struct gpu *g, const struct gpu_point *points, uint32_t count,
                    uint64_t timeout_ns);
/* The same of one. */
int gpu_queue_wait(struct gpu_queue *q, uint64_t value, uint64_t timeout_ns);
/* The timeline's value; an error as a negative code. */
int gpu_queue_completed(struct gpu_queue *q, uint64_t *value);
/* The same of the main queue. */
int gpu_submit(struct gpu *g, VkCommandBuffer commands, uint64_t *value);
int gpu_wait(struct gpu *g, uint64_t value, uint64_t timeout_ns);
int gpu_completed(struct gpu *g, uint64_t *value);

/* device.c */
/* Record by a callback into a command buffer of its own, submit, wait. */
int gpu_run(struct gpu *g, void (*record)(struct gpu *g, VkCommandBuffer commands, void *ctx),
            void *ctx);
/* The same after count points, at most one of each queue. */
int gpu_run_after(struct gpu *g, const struct gpu_point *after, uint32_t count,
                  void (*record)(struct gpu *g, VkCommandBuffer commands, void *ctx), void *ctx);
void gpu_label_begin(struct gpu *g, VkCommandBuffer commands, const char *name);
void gpu_label_end(struct gpu *g, VkCommandBuffer commands);

/* debug.c: values out of shaders. All of it does nothing without gpu_params.debug. */
#define GPU_DEBUG_SET 2
int gpu_debug_open(struct gpu *g, const struct gpu_debug_shaders *shaders); /* NULL: says so */
void gpu_debug_close(struct gpu *g);
/* the compilation that writes them, where there is one */
void gpu_debug_shader(const struct gpu *g, const uint32_t **spirv, size_t *size);
/* Once a command buffer, for the pipelines of the layout. */
void gpu_debug_bind(struct gpu *g, VkCommandBuffer commands, const struct gpu_layout *layout);
/* Wait for the submission and log what its shaders wrote. */
void gpu_debug_print(struct gpu_queue *q, uint64_t value);

/* memory.c */
enum gpu_memory {
    GPU_MEMORY_DEVICE,   /* device local */
    GPU_MEMORY_UPLOAD,   /* mapped, coherent; written in order, never read by the host */
    GPU_MEMORY_READBACK, /* mapped, coherent, cached where possible */
    GPU_MEMORY_SHARED    /* mapped and device local; only where gpu.unified */
};

struct gpu_buffer {
    VkBuffer buffer;
    VkDeviceMemory memory;
    uint64_t size;
    uint8_t *map;
};

/* An image array of 32-bit texels, or of pairs of them, in VK_IMAGE_LAYOUT_GENERAL for ever, with a
 * view of all layers. */
struct gpu_image {
    VkImage image;
    VkDeviceMemory memory;
    VkImageView view;
    uint32_t width, height, layers, texel_bytes;
    uint32_t grey[2];
    uint64_t bytes;
};

VkSharingMode gpu_sharing(const struct gpu *g); /* of buffers and images, with gpu.families */
uint32_t gpu_memory_type(const struct gpu *g, uint32_t bits, VkMemoryPropertyFlags required,
                         VkMemoryPropertyFlags wanted,
                         VkMemoryPropertyFlags unwanted); /* UINT32_MAX: none */
int gpu_buffer_create(struct gpu *g, uint64_t size, VkBufferUsageFlags usage, enum gpu_memory kind,
                      struct gpu_buffer *out);
/* Of memory that stays the caller's and outlives the buffer; GPU_ERR_FEATURE where the device
 * cannot, or size or address are not multiples of its alignment. In host.c. */
int gpu_buffer_import(struct gpu *g, void *memory, uint64_t size, VkBufferUsageFlags usage,
                      struct gpu_buffer *out);
void gpu_buffer_free(struct gpu *g, struct gpu_buffer *buffer);
/* Four samples a texel, of 8 bits or, wide, 16; grey at first, which is half of what depth bits
 * hold. */
int gpu_image_create(struct gpu *g, uint32_t width, uint32_t height, uint32_t layers,
                     uint32_t depth, bool wide, struct gpu_image *out);
void gpu_image_free(struct gpu *g, struct gpu_image *image);

/* arena.c */
/* The buffer that memory[size] lies in; false where no arena holds it. Thread: any, for all three.
 */
struct gpu_place {
    VkBuffer buffer;
    uint64_t offset;
    bool device; /* the host has nothing at these addresses */
};
bool gpu_arena_find(struct gpu *g, const void *memory, uint64_t size, struct gpu_place *out);
/* A submission that wrote into arenas of the device is complete, as the host has seen. */
void gpu_arena_written(struct gpu *g, const struct gpu_point *point);
/* What a submission that reads there has to come after, so that it sees what was written: added to
 * points[count], which have room for GPU_QUEUES and at most one of each queue. Returns how many
 * there are then. */
uint32_t gpu_arena_writers(struct gpu *g, struct gpu_point *points, uint32_t count);

/* sync.c: record the barrier in front of a command that accesses the resources of the masks reads
 * and writes from a stage of enum barrier_stage, and note the access. What the host does after the
 * submission is ordered by the timeline: noted as no access. */
struct barrier_state;
struct barrier_need;
void gpu_barrier_record(struct gpu *g, VkCommandBuffer commands, struct barrier_state *state,
                        const struct barrier_need *need);
void gpu_sync(struct gpu *g, VkCommandBuffer commands, struct barrier_state *state, int stage,
              uint32_t reads, uint32_t writes);
void gpu_sync_host(struct gpu *g, VkCommandBuffer commands, struct barrier_state *state,
                   uint32_t reads);

/* pipeline.c */
int gpu_layout_get(struct gpu *g, const struct gpu_bindings *bindings, uint32_t push_size,
                   const struct gpu_layout **out);

/* commands.c. A pool with one command buffer for the queue; recorded anew from begin on, once what
 * was submitted before is through. */
int gpu_commands_create(struct gpu *g, const struct gpu_queue *queue, VkCommandPool *pool,
                        VkCommandBuffer *commands);
int gpu_commands_begin(struct gpu *g, VkCommandPool pool, VkCommandBuffer commands);
/* All that stages `from` wrote is there for accesses of stages `to`. */
void gpu_commands_barrier(struct gpu *g, VkCommandBuffer commands, VkPipelineStageFlags from,
                          VkAccessFlags wrote, VkPipelineStageFlags to, VkAccessFlags accesses);
/* A set of whole storage buffers, binding i being buffers[i], in a pool of its own. After an error
 * *pool may be there, for the caller to destroy. */
int gpu_buffer_set_create(struct gpu *g, const struct gpu_layout *layout, const VkBuffer *buffers,
                          uint32_t count, VkDescriptorPool *pool, VkDescriptorSet *set);
/* A set whose binding 0 is all of a storage buffer, alone in a pool that is the caller's. */
int gpu_set_create(struct gpu *g, VkDescriptorSetLayout layout, const struct gpu_buffer *buffer,
                   VkDescriptorPool *pool_out, VkDescriptorSet *set_out);
/* Make those that are not there yet, several at once on as many cores: drivers compile for up to
 * seconds. Those made stay, after an error too. */
int gpu_pipelines_make(struct gpu *g, const struct gpu_pipeline_want *wants, uint32_t n);
/* Of those kept, or made. */
int gpu_pipeline_get_whole(struct gpu *g, const struct gpu_layout *layout, const uint32_t *spirv,
                           size_t spirv_size, const uint32_t *constants, uint32_t constant_count,
                           bool whole, const char *name, VkPipeline *out);
int gpu_pipeline_get(struct gpu *g, const struct gpu_layout *layout, const uint32_t *spirv,
                     size_t spirv_size, const uint32_t *constants, uint32_t constant_count,
                     const char *name, VkPipeline *out);
void gpu_pipelines_free(struct gpu *g);

/* pulse.c: its work, into a command buffer of another's */
struct gpu_pulse;
void gpu_pulse_record(const struct gpu_pulse *p, VkCommandBuffer commands);

/* host.c */
/* The part of a host that a storage buffer descriptor can reach. */
struct gpu_window {
    uint64_t offset; /* of its first byte in the host */
    VkDescriptorSet set;
    uint32_t index;
};
/* The window that holds bytes [begin, end). GPU_ERR_INVALID where they are outside the host or
 * wider than any window. */
int gpu_host_window(const struct gpu_host *h, uint64_t begin, uint64_t end, struct gpu_window *out);
VkBuffer gpu_host_buffer(const struct gpu_host *h);
/* A rectangle that the submission of `point` writes; where h is not direct it is copied to the
 * host's memory when that is done. Room for it was made by gpu_host_reserve. Called with gpu.lock
 * held. */
struct gpu_rect {
    uint64_t offset;
    uint32_t stride, bytes, rows;
};
int gpu_host_reserve(struct gpu_host *h, size_t rects);
void gpu_host_written(struct gpu_host *h, const struct gpu_rect *rects, size_t count,
                      const struct gpu_point *point);
/* Copy what submissions to the queue up to completed have written to hosts that are not direct.
 * Thread: any. */
void gpu_hosts_flush(struct gpu *g, const struct gpu_queue *queue, uint64_t completed);

#endif
