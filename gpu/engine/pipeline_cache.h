/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The device's VkPipelineCache, kept in the user's cache folder as pipelines-UUID.bin. The file is
 * valid for one device UUID, one driver and one set of shaders. A file of others, or a damaged
 * one, is ignored and replaced. A driver may crash on damaged data, so the file has a checksum.
 * Thread: the one that opens or closes the device.
 */
#ifndef PELTON_PIPELINE_CACHE_H
#define PELTON_PIPELINE_CACHE_H

#include "gpu/engine/vk.h"

enum pipeline_cache_file {
    PIPELINE_CACHE_GOOD,
    PIPELINE_CACHE_FOREIGN, /* of another device, driver or set of shaders */
    PIPELINE_CACHE_DAMAGED
};

#define PIPELINE_CACHE_MOST (256u << 20)

/* What a file is valid for; compared as bytes. */
struct pipeline_cache_key {
    uint8_t uuid[VK_UUID_SIZE]; /* pipelineCacheUUID: device and driver */
    uint32_t vendor, device, driver, reserved;
    uint64_t shaders; /* SHADERS_HASH of the build */
};

/* The file's head, in the host's byte order: the file does not leave the machine. */
struct pipeline_cache_head {
    char magic[8]; /* "peltonP1" */
    struct pipeline_cache_key key;
    uint64_t size, checksum; /* of the data behind the head */
};

/* Pure; for tests too. */
enum pipeline_cache_file pipeline_cache_check(const void *file, size_t size,
                                              const struct pipeline_cache_key *key);
void pipeline_cache_head_fill(struct pipeline_cache_head *head,
                              const struct pipeline_cache_key *key, const void *data,
                              uint64_t size);

/* Make g->kept.cache, with the file's content where `on_disk` and the file is good. Without a
 * cache the device works as well: no error. */
void pipeline_cache_open(struct gpu *g, bool on_disk);
/* Waits for the thread that writes the file. That thread writes whenever pipelines were compiled
 * (gpu_saver.grown), as the process may be killed. Logs what fails. */
void pipeline_cache_close(struct gpu *g);
/* Waits for that thread alone. It does not wait for pipelines that are being compiled. */
void pipeline_cache_flush(struct gpu *g);

#endif
