/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The Vulkan engine: device, memory, host buffers. Knows nothing of codecs; gpu/h264/recon.h is the
 * H.264 pass table on top of it. Thread: one thread at a time per struct gpu, unless a function
 * says otherwise.
 */
#ifndef PELTON_GPU_H
#define PELTON_GPU_H

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
const char *gpu_error_text(int error);

typedef void (*gpu_log_fn)(void *ctx, int level /* 0 error 1 warning 2 info 3 debug */,
                           const char *line);

enum gpu_kind {
    GPU_KIND_DISCRETE,
    GPU_KIND_INTEGRATED,
    GPU_KIND_VIRTUAL,
    GPU_KIND_SOFTWARE,
    GPU_KIND_OTHER
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
    /* VK_EXT_subgroup_size_control says that subgroup_size is the only one, and subgroups can be
     * full */
    bool fixed_subgroups;
    bool half_floats;  /* shaderFloat16 */
    bool shuffles;     /* of subgroups, by any and by relative places */
    bool usable;       /* has all that pelton needs */
    char missing[128]; /* first missing feature where not usable */
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
    /* values that shaders write (gpu/shaders/lib/debug.glsl) go to log at level 1; every submission
     * is waited for */
    bool debug;
    /* GPU_DEBUG_SHADERS of debug_shaders.h. NULL: `debug` only logs that there are none. */
    const struct gpu_debug_shaders *debug_shaders;
    gpu_log_fn log; /* NULL: silent */
    void *log_ctx;
};

/* The rule of gpu_params.device over a list: the index, or GPU_ERR_NO_DEVICE where nothing matches,
 * GPU_ERR_FEATURE where what matches is not usable (*unusable, where not NULL, says which). Pure;
 * exposed for tests and for `pelton doctor`. */
int gpu_choose(const struct gpu_device_info *infos, size_t count, const char *choice,
               size_t *unusable);
/* All devices of the machine; *out is malloc'd, the caller frees it. Thread: any. */
int gpu_list(struct gpu_device_info **out, size_t *count);
int gpu_open(const struct gpu_params *params, struct gpu **out);
void gpu_close(struct gpu *g); /* waits for the device; NULL allowed */
const struct gpu_device_info *gpu_info(const struct gpu *g);
/* that run beside the main one; 0: all work is done in turn */
unsigned gpu_background_queues(const struct gpu *g);
unsigned gpu_validation_messages(const struct gpu *g); /* how many the layer has printed */

/* Bytes read and written per second by a shader that copies device memory that is larger than its
 * caches (software: 16 MiB); takes a millisecond of the queue, of a software device a fraction of a
 * second, and waits for it. GPU_ERR_FEATURE where the queue has no timestamps.
 * gpu_params.timestamps is not needed. */
int gpu_bandwidth(struct gpu *g, double *bytes_per_second);

/* A little work, `steps` dependent operations of one small workgroup: devices take their clocks
 * down when they have nothing to do, and need a while to take them up again. gpu_pulse submits it
 * once more, unless the last one is not over; it does not wait. Thread: one at a time. Freed before
 * gpu_close. */
struct gpu_pulse;
int gpu_pulse_create(struct gpu *g, uint32_t steps, struct gpu_pulse **out);
int gpu_pulse(struct gpu_pulse *p);
void gpu_pulse_free(struct gpu_pulse *p); /* NULL allowed */

/* Host memory that the GPU writes frames into: a mapping of a memfd, page aligned (address and
 * size), alive until gpu_host_free. Imported by VK_EXT_external_memory_host; where that is missing
 * or refused, a staging buffer that is copied when a batch completes (direct = false). Thread of
 * gpu_host_import: any. */
struct gpu_host;
int gpu_host_import(struct gpu *g, void *memory, size_t size, struct gpu_host **out);
bool gpu_host_is_direct(const struct gpu_host *h);
void gpu_host_free(struct gpu_host *h); /* waits until no submitted batch uses it */

/* Host memory that the device copies uploads out of by itself: records whose pointers lie in an
 * arena are not packed by the CPU. Memory is 64-byte aligned at least, of undefined content, cached
 * for the host; what a batch names must stay as it is until the batch is done. All are freed before
 * gpu_close. Thread: any, for both. */
struct gpu_arena;
int gpu_arena_create(struct gpu *g, size_t size, struct gpu_arena **out, void **memory);
void gpu_arena_free(struct gpu_arena *a); /* NULL allowed */
/* The same of memory of the device: *memory is addresses behind which the host has nothing, so that
 * reading or writing there is a fault. gpu_entropy_fetch writes coefficients there, recon_submit
 * takes them from there; else they are as host memory in an arena. */
int gpu_arena_create_device(struct gpu *g, size_t size, struct gpu_arena **out, void **memory);
/* What lies there, or in any other arena, to other memory (tests). Waits. GPU_ERR_INVALID: it is
 * not in one arena. */
int gpu_arena_read(struct gpu *g, const void *memory, size_t size, void *out);
/* What data has to what lies there, in any arena (tests). Waits. GPU_ERR_INVALID: it is not in one
 * arena. */
int gpu_arena_write(struct gpu *g, void *memory, size_t size, const void *data);

#endif
