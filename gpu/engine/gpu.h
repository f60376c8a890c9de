/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The Vulkan engine: device, memory, host buffers. It knows nothing of codecs; gpu/h264/recon.h,
 * gpu_entropy.h, gpu_motion.h and gpu/isp/isp.h stand on top of it.
 *
 * Thread: several threads may use one struct gpu at once. "Any" means that a function may run in
 * any thread beside all others. Objects (pulse, host, arena) are freed when no other thread uses
 * them. The log function is called from all of these threads.
 */
#ifndef PELTON_GPU_H
#define PELTON_GPU_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gpu_error {
    GPU_OK = 0,
    GPU_ERR_NO_DEVICE = -1, /* nothing matches the choice, or no Vulkan loader or driver */
    GPU_ERR_NOMEM = -2,     /* host or device memory */
    GPU_ERR_LOST = -3,      /* VK_ERROR_DEVICE_LOST: the process has to be restarted */
    GPU_ERR_FEATURE = -4,   /* the device lacks something that is needed; the log names it */
    GPU_ERR_VULKAN = -5,    /* any other Vulkan error; the log has call, result, file, line */
    GPU_ERR_INVALID = -6    /* arguments or records */
};
const char *gpu_error_text(int error); /* thread: any */

typedef void (*gpu_log_fn)(void *ctx, int level /* 0 error 1 warning 2 info 3 debug */,
                           const char *line);

enum gpu_kind {
    GPU_KIND_DISCRETE,
    GPU_KIND_INTEGRATED,
    GPU_KIND_VIRTUAL,
    GPU_KIND_SOFTWARE,
    GPU_KIND_OTHER
};

/* Names of a device for other APIs and other processes. */
struct gpu_identity {
    uint8_t device_uuid[16], driver_uuid[16], luid[8];
    bool luid_valid;
};

struct gpu_device_info {
    char name[256];
    char uuid[37];    /* deviceUUID, lower-case hex with dashes */
    char driver[256]; /* driverName driverInfo */
    enum gpu_kind kind;
    bool software; /* kind is GPU_KIND_SOFTWARE: VK_PHYSICAL_DEVICE_TYPE_CPU */
    uint32_t api_version, vendor_id, device_id, subgroup_size;
    uint64_t memory_bytes;     /* largest device-local heap */
    uint32_t image_layers;     /* maxImageArrayLayers */
    bool external_memory_host; /* VK_EXT_external_memory_host */
    /* VK_KHR_external_memory_fd: buffers can be exported as opaque descriptors; whether each needs
     * an allocation that is dedicated to it */
    bool external_memory_fd, external_dedicated;
    struct gpu_identity identity;
    /* VK_EXT_subgroup_size_control says that subgroup_size is the only one, and subgroups can be
     * full */
    bool fixed_subgroups;
    bool half_floats;  /* shaderFloat16 */
    bool shuffles;     /* of subgroups, by any and by relative places */
    bool usable;       /* has all that pelton needs */
    char missing[128]; /* first missing feature where not usable */
};

/* What memory is held for. */
enum gpu_use {
    GPU_USE_OTHER,
    GPU_USE_SLOTS,    /* frame slots */
    GPU_USE_BATCHES,  /* reconstruction: uploads, staging, scratch, unfiltered pictures */
    GPU_USE_ENTROPY,  /* batches of entropy decoding */
    GPU_USE_RESIDENT, /* their results, in device arenas */
    GPU_USE_MOTION,   /* batches of motion derivation */
    GPU_USE_ARRAYS,   /* host arenas */
    GPU_USE_POOLS,    /* gpu_host_import, staging included, and gpu_host_export */
    GPU_USE_CAMERAS,  /* development of camera frames */
    GPU_USES,
    /* beside one of these: the budget never refuses it; it belongs to a promise */
    GPU_USE_NEEDED = 0x100,
    GPU_USE_PROMISED = 0x200
};

/* Bytes by enum gpu_use. */
struct gpu_held {
    uint64_t device[GPU_USES], host[GPU_USES];
};

struct gpu;
struct gpu_debug_shaders;

struct gpu_params {
    /* "auto", "gpu", "cpu", a part of a name, or a UUID; NULL = auto (a hardware device, else
     * software) */
    const char *device;
    /* Khronos layer with synchronization validation where installed; messages go to log at level 0
     */
    bool validation;
    bool timestamps; /* per-pass GPU times */
    /* no queue for long work beside the main one, and none for long copies: each takes a driver 20
     * ms to make */
    bool no_background;
    /* Tests: no robust buffer access; and bytes of this pattern round all memory, 0: none
     * (canaries.h). A byte that changes is told at level 0. */
    bool no_robustness;
    uint32_t canaries;
    /* keep compiled pipelines in the user's cache folder, for the next process */
    bool keep_pipelines;
    /* values that shaders write (gpu/shaders/lib/debug.glsl) go to log at level 1; every submission
     * is waited for */
    bool debug;
    /* GPU_DEBUG_SHADERS of debug_shaders.h. NULL: `debug` only logs that there are none. */
    const struct gpu_debug_shaders *debug_shaders;
    gpu_log_fn log; /* NULL: silent */
    void *log_ctx;
};

/* Apply the rule of gpu_params.device to a list. Returns the index; GPU_ERR_NO_DEVICE where nothing
 * matches; GPU_ERR_FEATURE where the match is not usable, and then *unusable (NULL allowed) is its
 * index. Pure; for tests and `pelton doctor`. Thread: any. */
int gpu_choose(const struct gpu_device_info *infos, size_t count, const char *choice,
               size_t *unusable);
/* All devices of the machine. The caller frees *out. Thread: any. */
int gpu_list(struct gpu_device_info **out, size_t *count);
/* Thread: any. */
int gpu_open(const struct gpu_params *params, struct gpu **out);
/* Waits for the device. All objects of the device are freed before. NULL allowed. Thread: any, when
 * no other thread uses the device. */
void gpu_close(struct gpu *g);
/* The process is about to end by _exit: compiled pipelines are written, nothing is freed. Thread:
 * any, beside others. */
void gpu_leave(struct gpu *g);
/* Valid until gpu_close. Thread: any. */
const struct gpu_device_info *gpu_info(const struct gpu *g);
/* There is a queue for long work beside the main one. Else all work is done in turn. Thread: any.
 */
bool gpu_has_background(const struct gpu *g);
/* The number of messages that the validation layer has printed. Thread: any. */
unsigned gpu_validation_messages(const struct gpu *g);
/* The number of canaries that were found changed so far; compares all. Thread: any. */
unsigned gpu_canaries_changed(struct gpu *g);

/* Who holds how much memory of this device, and host memory for it. Thread: any. */
void gpu_memory_held(const struct gpu *g, struct gpu_held *out);
/* Bytes of the device's memory that no process uses: by VK_EXT_memory_budget, else all of it.
 * Thread: any. */
uint64_t gpu_memory_free(const struct gpu *g);
/* The user's own bound for what it holds of the device, 0: none. What does not fit is refused with
 * GPU_ERR_NOMEM, but for what is needed, for cameras, and for a few kilobytes. Thread: any. */
void gpu_memory_limit(struct gpu *g, uint64_t bytes);
/* So many bytes more are within it, beside those that a stream waits for; without these. */
bool gpu_memory_fits(const struct gpu *g, uint64_t bytes);
bool gpu_memory_has(const struct gpu *g, uint64_t bytes);
/* Bytes held by those who can do without. */
uint64_t gpu_memory_spare(const struct gpu *g);
/* A stream waits for so many bytes: who can do without takes no more, and gives back. 0: none. */
void gpu_memory_want(struct gpu *g, uint64_t bytes);
uint64_t gpu_memory_wanted(const struct gpu *g);
/* How often memory was refused for the bound. */
uint64_t gpu_memory_refused(const struct gpu *g);

/* Bytes read and written per second by a shader that copies device memory larger than its caches
 * (software: 16 MiB). Waits: a millisecond of the main queue, on a software device a fraction of a
 * second. GPU_ERR_FEATURE where the queue has no timestamps; gpu_params.timestamps is not needed.
 * Thread: any. */
int gpu_bandwidth(struct gpu *g, double *bytes_per_second);
/* Additions and exclusive ors of 32 bits per second, in all threads together. As gpu_bandwidth: it
 * waits for some milliseconds of the main queue. */
int gpu_operations(struct gpu *g, double *per_second);

/* A little work: `steps` dependent operations of one small workgroup. An idle device lowers its
 * clocks and needs a while to raise them. gpu_pulse submits the work again unless the last one is
 * still running; it does not wait. Thread: any, one at a time per pulse. */
struct gpu_pulse;
int gpu_pulse_create(struct gpu *g, uint32_t steps, struct gpu_pulse **out);
int gpu_pulse(struct gpu_pulse *p);
void gpu_pulse_free(struct gpu_pulse *p); /* waits for it; NULL allowed */

/* Host memory that the GPU writes frames into: a mapping of a memfd, page aligned in address and
 * size, which stays until gpu_host_free. It is imported by VK_EXT_external_memory_host. Where that
 * is missing or refused, a staging buffer is copied when a batch completes (direct is false).
 * Thread: any. */
struct gpu_host;
int gpu_host_import(struct gpu *g, void *memory, size_t size, struct gpu_host **out);
bool gpu_host_is_direct(const struct gpu_host *h);

/* Device memory in place of host memory, which other processes import by its descriptor. */
struct gpu_export {
    int fd;               /* opaque, the caller's */
    uint64_t size;        /* of the allocation */
    uint32_t memory_type; /* index */
    bool dedicated;       /* VkMemoryDedicatedAllocateInfo */
};
/* All bytes are zero. Waits for that. GPU_ERR_FEATURE: the device cannot. Thread: any. */
int gpu_host_export(struct gpu *g, uint64_t size, struct gpu_host **out,
                    struct gpu_export *exported);
/* `count` ranges of `size` bytes become repetitions of a word. Offset, size and step, which is from
 * range to range, are multiples of four. */
struct gpu_host_fill {
    uint64_t offset, size, step;
    uint32_t count, word;
};
/* Waits. Thread: any. */
int gpu_host_fill(struct gpu_host *h, const struct gpu_host_fill *fill);
/* Waits until no submitted batch uses it. Thread: any, when no other thread submits batches that
 * use it. */
void gpu_host_free(struct gpu_host *h);

/* Makes the pages of a mapping that is there to be written. It returns early once *stop is set;
 * stop NULL: never. GPU_ERR_NOMEM; GPU_ERR_FEATURE: a system before Linux 5.14 makes them on first
 * use. Thread: any. */
int gpu_pages_make(void *memory, size_t size, const atomic_bool *stop);

/* Host memory that the device copies uploads from: the CPU does not pack records whose pointers lie
 * in an arena. Memory is at least 64-byte aligned, of undefined content, cached for the host. It
 * must not change until the batches that name it are done. All are freed before gpu_close. Thread:
 * any. */
struct gpu_arena;
int gpu_arena_create(struct gpu *g, size_t size, struct gpu_arena **out, void **memory);
void gpu_arena_free(struct gpu_arena *a); /* NULL allowed */
/* An arena in device memory. *memory is an address range without host memory: a host access faults.
 * Fetches of entropy decoding and motion derivation write there, recon_submit reads there. Thread:
 * any. */
int gpu_arena_create_device(struct gpu *g, size_t size, struct gpu_arena **out, void **memory);
/* Copy bytes of any arena to other memory (tests). Waits. GPU_ERR_INVALID: they are not in one
 * arena. Thread: any. */
int gpu_arena_read(struct gpu *g, const void *memory, size_t size, void *out);
/* Copy data into any arena (tests). Waits. GPU_ERR_INVALID: the bytes are not in one arena. Thread:
 * any. */
int gpu_arena_write(struct gpu *g, void *memory, size_t size, const void *data);

#endif
