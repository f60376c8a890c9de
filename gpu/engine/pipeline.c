/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Layouts and compute pipelines. The device keeps them: a second user of the same shader and
 * constants gets the first one's.
 *
 * Threads make what is wanted, and end when nothing is left. Whoever needs a pipeline at once makes
 * it, or waits for the thread that does.
 */
#include "gpu/engine/pipeline.h"

#include "gpu/engine/debug_values.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_THREADS 16

enum pipeline_state { PIPELINE_WAITS, PIPELINE_MAKING, PIPELINE_MADE, PIPELINE_REFUSED };

struct gpu_pipeline {
    struct gpu_pipeline *next;
    struct gpu_pipeline_want want;
    enum pipeline_state state;
    bool urgent; /* somebody waits for it */
    int err;     /* where it was refused */
    VkPipeline pipeline;
};

static int create_layout(struct gpu *g, struct gpu_layout *layout)
{
    int err = GPU_OK;
    const struct {
        uint32_t mask;
        VkDescriptorType type;
    } kinds[] = {{layout->bindings.buffers, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER},
                 {layout->bindings.images, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE},
                 {layout->bindings.uniforms, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER},
                 {layout->bindings.textures, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER}};
    VkDescriptorSetLayoutBinding bindings[32];
    uint32_t count = 0;
    for (uint32_t i = 0; i < 32; i++)
        for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
            if (kinds[k].mask & (1u << i))
                bindings[count++] =
                    (VkDescriptorSetLayoutBinding){.binding = i,
                                                   .descriptorCount = 1,
                                                   .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
                                                   .descriptorType = kinds[k].type};
    VkDescriptorSetLayoutCreateInfo set = {.sType =
                                               VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                           .bindingCount = count,
                                           .pBindings = bindings};
    VK(g, g->vk.vkCreateDescriptorSetLayout(g->device, &set, NULL, &layout->set));
    VkPushConstantRange push = {VK_SHADER_STAGE_COMPUTE_BIT, 0, layout->push_size};
    /* the third one of GPU_DEBUG_SET has the same shape */
    VkDescriptorSetLayout sets[3] = {layout->set, g->host_set, g->host_set};
    VkPipelineLayoutCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                       .setLayoutCount = g->debug ? 3 : 2,
                                       .pSetLayouts = sets,
                                       .pushConstantRangeCount = layout->push_size > 0,
                                       .pPushConstantRanges = &push};
    VK(g, g->vk.vkCreatePipelineLayout(g->device, &info, NULL, &layout->pipeline));
error:
    return err;
}

static int layout_get(struct gpu *g, const struct gpu_bindings *bindings, uint32_t push_size,
                      const struct gpu_layout **out)
{
    for (struct gpu_layout *l = g->kept.layouts; l; l = l->next) {
        if (!memcmp(&l->bindings, bindings, sizeof(*bindings)) && l->push_size == push_size) {
            *out = l;
            return GPU_OK;
        }
    }
    struct gpu_layout *layout = calloc(1, sizeof(*layout));
    if (!layout)
        return GPU_ERR_NOMEM;
    layout->bindings = *bindings;
    layout->push_size = push_size;
    layout->next = g->kept.layouts;
    g->kept.layouts = layout; /* half built, it is freed with the device */
    int err = create_layout(g, layout);
    if (err < 0) {
        layout->push_size = 0; /* never found again */
        return err;
    }
    *out = layout;
    return GPU_OK;
}

int gpu_layout_get(struct gpu *g, const struct gpu_bindings *bindings, uint32_t push_size,
                   const struct gpu_layout **out)
{
    pthread_mutex_lock(&g->kept.lock);
    int err = layout_get(g, bindings, push_size, out);
    pthread_mutex_unlock(&g->kept.lock);
    return err;
}

static int create_pipeline(struct gpu *g, const struct gpu_pipeline_want *w, VkPipeline *out)
{
    int err = GPU_OK;
    VkShaderModule module = VK_NULL_HANDLE;
    VkSpecializationMapEntry entries[8];
    for (uint32_t i = 0; i < w->constant_count; i++)
        entries[i] = (VkSpecializationMapEntry){i, i * 4, 4};
    VkSpecializationInfo special = {w->constant_count, entries, w->constant_count * 4,
                                    w->constants};
    VkShaderModuleCreateInfo module_info = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                            .codeSize = w->spirv_size,
                                            .pCode = w->spirv};
    VK(g, g->vk.vkCreateShaderModule(g->device, &module_info, NULL, &module));
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .flags =
                      w->whole ? VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT : 0,
                  .module = module,
                  .pName = "main",
                  .pSpecializationInfo = w->constant_count ? &special : NULL},
        .layout = w->layout->pipeline,
    };
    VK(g, g->vk.vkCreateComputePipelines(g->device, g->kept.cache, 1, &info, NULL, out));
error:
    g->vk.vkDestroyShaderModule(g->device, module, NULL);
    return err;
}

static struct gpu_pipeline *pipeline_find(struct gpu_pipeline *p, const struct gpu_pipeline_want *w)
{
    while (p && (p->want.layout != w->layout || p->want.spirv != w->spirv ||
                 p->want.whole != w->whole || p->want.constant_count != w->constant_count ||
                 memcmp(p->want.constants, w->constants, w->constant_count * 4) != 0))
        p = p->next;
    return p;
}

/* ---- making ---- */

/* The first of these that nobody makes yet; one that somebody waits for goes before. */
static struct gpu_pipeline *pipeline_waiting(struct gpu_pipeline *p)
{
    struct gpu_pipeline *first = NULL;
    for (; p; p = p->next) {
        if (p->state == PIPELINE_WAITS && p->urgent)
            return p;
        if (p->state == PIPELINE_WAITS && !first)
            first = p;
    }
    return first;
}

/* With the lock, dropped meanwhile. */
static void pipeline_compile(struct gpu *g, struct gpu_pipeline *p)
{
    p->state = PIPELINE_MAKING;
    pthread_mutex_unlock(&g->kept.lock);
    int64_t begun = gpu_clock_ns();
    int err = create_pipeline(g, &p->want, &p->pipeline);
    GPU_PIPELINE_LOG(g, begun, err, p->want.name);
    pthread_mutex_lock(&g->kept.lock);
    p->err = err;
    p->state = err < 0 ? PIPELINE_REFUSED : PIPELINE_MADE;
    pthread_cond_broadcast(&g->kept.made);
}

/* The last one out has the cache written. With the lock. */
static void pipelines_rest(struct gpu *g)
{
    if (g->kept.makers || !g->kept.saver.runs)
        return;
    g->kept.saver.grown = true;
    pthread_cond_signal(&g->kept.saver.wake);
}

static void *maker_main(void *ctx)
{
    struct gpu *g = ctx;
    struct gpu_pipeline *p;
    pthread_mutex_lock(&g->kept.lock);
    while (!g->kept.ends && (p = pipeline_waiting(g->kept.pipelines)) != NULL)
        pipeline_compile(g, p);
    g->kept.makers--;
    pipelines_rest(g);
    pthread_cond_broadcast(&g->kept.made);
    pthread_mutex_unlock(&g->kept.lock);
    return NULL;
}

/* Without a thread, whoever needs a pipeline makes it. With the lock. */
static void makers_start(struct gpu *g, uint32_t count)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t most = cores < 1 ? 1 : cores > MOST_THREADS ? MOST_THREADS : (uint32_t)cores;
    pthread_attr_t detached;
    pthread_t thread;
    if (pthread_attr_init(&detached))
        return;
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    while (count-- && g->kept.makers < most &&
           pthread_create(&thread, &detached, maker_main, g) == 0)
        g->kept.makers++;
    pthread_attr_destroy(&detached);
}

/* Finds or adds it; one that was refused is tried again. *waits counts those that nobody makes yet.
 * With the lock. */
static int pipeline_want(struct gpu *g, const struct gpu_pipeline_want *want, uint32_t *waits,
                         struct gpu_pipeline **out)
{
    struct gpu_pipeline_want w = *want;
    if (w.constant_count > 8)
        return GPU_ERR_INVALID;
    gpu_debug_shader(g, &w.spirv, &w.spirv_size);
    w.out = NULL;
    struct gpu_pipeline *p = pipeline_find(g->kept.pipelines, &w);
    if (!p) {
        struct gpu_pipeline **last = &g->kept.pipelines;
        p = calloc(1, sizeof(*p));
        if (!p)
            return GPU_ERR_NOMEM;
        while (*last)
            last = &(*last)->next;
        p->want = w;
        *last = p;
    } else if (p->state == PIPELINE_REFUSED) {
        p->state = PIPELINE_WAITS;
    }
    *waits += p->state == PIPELINE_WAITS;
    *out = p;
    return GPU_OK;
}

int gpu_pipelines_begin(struct gpu *g, const struct gpu_pipeline_want *wants, uint32_t n)
{
    int err = GPU_OK;
    uint32_t waits = 0;
    struct gpu_pipeline *p;
    pthread_mutex_lock(&g->kept.lock);
    for (uint32_t i = 0; i < n && err == GPU_OK; i++)
        err = pipeline_want(g, &wants[i], &waits, &p);
    makers_start(g, waits);
    pthread_mutex_unlock(&g->kept.lock);
    return err;
}

/* Makes those of these that nobody makes yet, and waits for the others. With the lock, dropped
 * meanwhile. */
static int pipelines_finish(struct gpu *g, struct gpu_pipeline **needed, uint32_t n)
{
    int err = GPU_OK;
    for (uint32_t i = 0; i < n; i++)
        if (needed[i]->state == PIPELINE_WAITS)
            pipeline_compile(g, needed[i]);
    for (uint32_t i = 0; i < n; i++) {
        while (needed[i]->state == PIPELINE_MAKING)
            pthread_cond_wait(&g->kept.made, &g->kept.lock);
        if (needed[i]->state == PIPELINE_WAITS) /* it was refused, and is wanted once more */
            pipeline_compile(g, needed[i]);
        err = needed[i]->state == PIPELINE_REFUSED ? needed[i]->err : err;
    }
    return err;
}

int gpu_pipelines_make(struct gpu *g, const struct gpu_pipeline_want *wants, uint32_t n)
{
    int err = GPU_OK;
    uint32_t waits = 0;
    int64_t begun = gpu_clock_ns();
    struct gpu_pipeline **needed = calloc(n + 1, sizeof(struct gpu_pipeline *));
    if (!needed)
        return GPU_ERR_NOMEM;
    pthread_mutex_lock(&g->kept.lock);
    for (uint32_t i = 0; i < n && err == GPU_OK; i++) {
        err = pipeline_want(g, &wants[i], &waits, &needed[i]);
        if (err == GPU_OK)
            needed[i]->urgent = true;
    }
    if (err == GPU_OK) {
        makers_start(g, waits > 1 ? waits - 1 : 0);
        err = pipelines_finish(g, needed, n);
    }
    for (uint32_t i = 0; i < n && err == GPU_OK; i++)
        if (wants[i].out)
            *wants[i].out = needed[i]->pipeline;
    if (waits)
        pipelines_rest(g);
    pthread_mutex_unlock(&g->kept.lock);
    if (waits)
        gpu_log_step(g, begun, "%u pipelines are there, %u of them new", n, waits);
    free(needed);
    return err;
}

int gpu_pipeline_get_whole(struct gpu *g, const struct gpu_layout *layout, const uint32_t *spirv,
                           size_t spirv_size, const uint32_t *constants, uint32_t constant_count,
                           bool whole, const char *name, VkPipeline *out)
{
    struct gpu_pipeline_want w = {.layout = layout,
                                  .spirv = spirv,
                                  .spirv_size = spirv_size,
                                  .constant_count = constant_count,
                                  .whole = whole,
                                  .name = name,
                                  .out = out};
    if (constant_count > 8)
        return GPU_ERR_INVALID;
    if (constant_count)
        memcpy(w.constants, constants, constant_count * 4);
    return gpu_pipelines_make(g, &w, 1);
}

int gpu_pipeline_get(struct gpu *g, const struct gpu_layout *layout, const uint32_t *spirv,
                     size_t spirv_size, const uint32_t *constants, uint32_t constant_count,
                     const char *name, VkPipeline *out)
{
    return gpu_pipeline_get_whole(g, layout, spirv, spirv_size, constants, constant_count, false,
                                  name, out);
}

void gpu_pipelines_free(struct gpu *g)
{
    pthread_mutex_lock(&g->kept.lock);
    g->kept.ends = true;
    while (g->kept.makers)
        pthread_cond_wait(&g->kept.made, &g->kept.lock);
    pthread_mutex_unlock(&g->kept.lock);
    while (g->kept.pipelines) {
        struct gpu_pipeline *p = g->kept.pipelines;
        g->kept.pipelines = p->next;
        g->vk.vkDestroyPipeline(g->device, p->pipeline, NULL);
        free(p);
    }
    while (g->kept.layouts) {
        struct gpu_layout *l = g->kept.layouts;
        g->kept.layouts = l->next;
        g->vk.vkDestroyPipelineLayout(g->device, l->pipeline, NULL);
        g->vk.vkDestroyDescriptorSetLayout(g->device, l->set, NULL);
        free(l);
    }
}
