/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Layouts and compute pipelines. The device keeps them: a second user of the same shader and
 * constants gets the first one's.
 */
#include "gpu/engine/pipeline.h"

#include "gpu/engine/debug_values.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_THREADS 16

struct gpu_pipeline {
    struct gpu_pipeline *next;
    struct gpu_pipeline_want want;
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
                                       .pushConstantRangeCount = 1,
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

struct making {
    struct gpu *g;
    struct gpu_pipeline **missing;
    uint32_t count;
    atomic_uint next;
    atomic_int err;
};

static void *pipelines_compile(void *ctx)
{
    struct making *m = ctx;
    for (uint32_t i; (i = atomic_fetch_add(&m->next, 1)) < m->count;) {
        int64_t begun = gpu_clock_ns();
        int err = create_pipeline(m->g, &m->missing[i]->want, &m->missing[i]->pipeline);
        gpu_log_step(m->g, begun, "pipeline %s", m->missing[i]->want.name);
        if (err < 0) {
            gpu_log(m->g, 0, "no pipeline for the pass %s", m->missing[i]->want.name);
            atomic_store(&m->err, err);
        }
    }
    return NULL;
}

static void pipelines_compile_in_threads(struct making *m)
{
    pthread_t threads[MOST_THREADS];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t count = 0, most = cores < 1              ? 1
                               : cores > MOST_THREADS ? MOST_THREADS
                                                      : (uint32_t)cores;
    while (count + 1 < most && count + 1 < m->count &&
           pthread_create(&threads[count], NULL, pipelines_compile, m) == 0)
        count++;
    pipelines_compile(m);
    while (count)
        pthread_join(threads[--count], NULL);
}

int gpu_pipelines_make(struct gpu *g, const struct gpu_pipeline_want *wants, uint32_t n)
{
    struct gpu_pipeline *made = NULL, **missing = calloc(n + 1, sizeof(struct gpu_pipeline *));
    struct making m = {.g = g, .missing = missing, .err = GPU_OK};
    if (!missing)
        return GPU_ERR_NOMEM;
    pthread_mutex_lock(&g->kept.lock);
    for (uint32_t i = 0; i < n && atomic_load(&m.err) == GPU_OK; i++) {
        struct gpu_pipeline_want w = wants[i];
        if (w.constant_count > 8) {
            m.err = GPU_ERR_INVALID;
            break;
        }
        gpu_debug_shader(g, &w.spirv, &w.spirv_size);
        w.out = NULL;
        if (pipeline_find(g->kept.pipelines, &w) || pipeline_find(made, &w))
            continue;
        struct gpu_pipeline *p = calloc(1, sizeof(*p));
        if (!p) {
            m.err = GPU_ERR_NOMEM;
            break;
        }
        *p = (struct gpu_pipeline){.next = made, .want = w};
        made = missing[m.count++] = p;
    }
    pthread_mutex_unlock(&g->kept.lock);
    int64_t begun = gpu_clock_ns();
    if (m.count && m.err == GPU_OK) {
        pipelines_compile_in_threads(&m);
        gpu_log_step(g, begun, "%u of %u pipelines are made", m.count, n);
    }
    /* another thread may have made the same: then there are two */
    pthread_mutex_lock(&g->kept.lock);
    for (uint32_t i = 0; i < m.count; i++) {
        if (missing[i]->pipeline) {
            missing[i]->next = g->kept.pipelines;
            g->kept.pipelines = missing[i];
        } else {
            free(missing[i]);
        }
    }
    for (uint32_t i = 0; i < n && m.err == GPU_OK; i++) {
        struct gpu_pipeline_want w = wants[i];
        gpu_debug_shader(g, &w.spirv, &w.spirv_size);
        if (w.out)
            *w.out = pipeline_find(g->kept.pipelines, &w)->pipeline;
    }
    if (m.count && g->kept.saver.runs) {
        g->kept.saver.grown = true;
        pthread_cond_signal(&g->kept.saver.wake);
    }
    pthread_mutex_unlock(&g->kept.lock);
    free(missing);
    return m.err;
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
