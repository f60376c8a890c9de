/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Compiled pipelines from one process to the next.
 */
#include "gpu/engine/pipeline_cache.h"

#include "gpu/engine/cache_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shaders/shaders_hash.h"

static const char magic[8] = "peltonP1";

enum pipeline_cache_file pipeline_cache_check(const void *file, size_t size,
                                              const struct pipeline_cache_key *key)
{
    struct pipeline_cache_head head;
    if (size < sizeof(head))
        return PIPELINE_CACHE_DAMAGED;
    memcpy(&head, file, sizeof(head));
    if (memcmp(head.magic, magic, sizeof(magic)) != 0 || head.size != size - sizeof(head) ||
        head.checksum != cache_checksum((const uint8_t *)file + sizeof(head), head.size))
        return PIPELINE_CACHE_DAMAGED;
    return memcmp(&head.key, key, sizeof(*key)) ? PIPELINE_CACHE_FOREIGN : PIPELINE_CACHE_GOOD;
}

void pipeline_cache_head_fill(struct pipeline_cache_head *head,
                              const struct pipeline_cache_key *key, const void *data, uint64_t size)
{
    memset(head, 0, sizeof(*head));
    memcpy(head->magic, magic, sizeof(magic));
    head->key = *key;
    head->size = size;
    head->checksum = cache_checksum(data, size);
}

static void key_fill(const struct gpu *g, struct pipeline_cache_key *key)
{
    VkPhysicalDeviceProperties p;
    vkGetPhysicalDeviceProperties(g->physical, &p);
    memset(key, 0, sizeof(*key));
    memcpy(key->uuid, p.pipelineCacheUUID, sizeof(key->uuid));
    key->vendor = p.vendorID;
    key->device = p.deviceID;
    key->driver = p.driverVersion;
    key->shaders = SHADERS_HASH;
}

static void file_name(const struct gpu *g, char name[64])
{
    snprintf(name, 64, "pipelines-%s.bin", g->info.uuid);
}

/* The file's data, at *offset of the returned memory; NULL: no usable file. */
static uint8_t *file_load(struct gpu *g, size_t *size)
{
    char name[64];
    struct pipeline_cache_key key;
    key_fill(g, &key);
    file_name(g, name);
    uint8_t *file = cache_file_read(name, PIPELINE_CACHE_MOST, size);
    if (!file) {
        if (errno != ENOENT)
            gpu_log(g, 2, "%s is not used: %s", name, strerror(errno));
        return NULL;
    }
    enum pipeline_cache_file state = pipeline_cache_check(file, *size, &key);
    if (state == PIPELINE_CACHE_GOOD)
        return file;
    gpu_log(g, 2, "%s is %s: it will be replaced", name,
            state == PIPELINE_CACHE_FOREIGN ? "of another driver or build" : "damaged");
    free(file);
    return NULL;
}

/* Write the file if the cache grew since the last time. */
static void cache_save(struct gpu *g)
{
    char name[64], path[CACHE_PATH];
    struct pipeline_cache_key key;
    struct pipeline_cache_head head;
    size_t size = 0;
    if (atomic_load(&g->lost) ||
        g->vk.vkGetPipelineCacheData(g->device, g->kept.cache, &size, NULL) != VK_SUCCESS ||
        size == g->kept.saver.saved || size > PIPELINE_CACHE_MOST - sizeof(head))
        return;
    uint8_t *file = malloc(sizeof(head) + size);
    /* VK_INCOMPLETE: another thread compiled meanwhile; then this file waits for the next time */
    if (file && g->vk.vkGetPipelineCacheData(g->device, g->kept.cache, &size,
                                             file + sizeof(head)) == VK_SUCCESS) {
        key_fill(g, &key);
        file_name(g, name);
        pipeline_cache_head_fill(&head, &key, file + sizeof(head), size);
        memcpy(file, &head, sizeof(head));
        if (cache_file_write(name, file, sizeof(head) + size, path) < 0)
            gpu_log(g, 2, "compiled pipelines are not kept: %s: %s", *path ? path : name,
                    strerror(errno));
        g->kept.saver.saved = size;
    }
    free(file);
}

static void *saver_run(void *ctx)
{
    struct gpu *g = ctx;
    struct gpu_saver *saver = &g->kept.saver;
    pthread_mutex_lock(&g->kept.lock);
    while (!saver->ends || saver->grown) {
        if (!saver->grown) {
            pthread_cond_wait(&saver->wake, &g->kept.lock);
            continue;
        }
        saver->grown = false;
        pthread_mutex_unlock(&g->kept.lock);
        cache_save(g);
        pthread_mutex_lock(&g->kept.lock);
    }
    pthread_mutex_unlock(&g->kept.lock);
    return NULL;
}

static void saver_start(struct gpu *g)
{
    struct gpu_saver *saver = &g->kept.saver;
    if (pthread_cond_init(&saver->wake, NULL))
        return;
    saver->runs = pthread_create(&saver->thread, NULL, saver_run, g) == 0;
    if (!saver->runs)
        pthread_cond_destroy(&saver->wake);
}

void pipeline_cache_open(struct gpu *g, bool on_disk)
{
    const size_t head = sizeof(struct pipeline_cache_head);
    size_t size = 0;
    uint8_t *file = on_disk ? file_load(g, &size) : NULL;
    VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                      .initialDataSize = file ? size - head : 0,
                                      .pInitialData = file ? file + head : NULL};
    if (g->vk.vkCreatePipelineCache(g->device, &info, NULL, &g->kept.cache) != VK_SUCCESS)
        g->kept.cache = VK_NULL_HANDLE;
    g->kept.saver.saved = file ? size - head : 0;
    free(file);
    if (on_disk && g->kept.cache)
        saver_start(g);
}

void pipeline_cache_flush(struct gpu *g)
{
    struct gpu_saver *saver = &g->kept.saver;
    if (!saver->runs)
        return;
    pthread_mutex_lock(&g->kept.lock);
    saver->grown |= g->kept.makers > 0; /* else they would say so when they are done */
    saver->ends = true;
    saver->runs = false; /* for those who would wake it */
    pthread_cond_signal(&saver->wake);
    pthread_mutex_unlock(&g->kept.lock);
    pthread_join(saver->thread, NULL);
    pthread_cond_destroy(&saver->wake);
}

void pipeline_cache_close(struct gpu *g)
{
    pipeline_cache_flush(g);
    g->vk.vkDestroyPipelineCache(g->device, g->kept.cache, NULL);
    g->kept.cache = VK_NULL_HANDLE;
}
