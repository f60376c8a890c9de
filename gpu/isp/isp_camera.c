/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One camera: its table on the device, its pipelines, the layout of its frames.
 */
#include "gpu/engine/barrier_record.h"
#include "gpu/engine/descriptors.h"
#include "gpu/isp/isp_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shaders/isp_develop.spv.h"
#include "shaders/isp_edge.spv.h"
#include "shaders/isp_finish.spv.h"
#include "shaders/isp_fused.spv.h"
#include "shaders/isp_picture.spv.h"
#include "shaders/isp_statistics.spv.h"

static uint32_t padded(uint32_t bytes, uint32_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* A thread writes 4 pixels, so rows on the device have a multiple of that. */
static void lay_out(struct isp_camera *c)
{
    uint32_t at = 0;
    c->raw_stride = padded(isp_row_bytes(&c->params), 16);
    c->raw_bytes = c->raw_stride * isp_raw_rows(&c->params);
    c->planes = isp_planes(&c->params, c->row_bytes, c->rows);
    for (uint32_t i = 0; i < c->planes; i++) {
        uint64_t wide = (uint64_t)c->row_bytes[i] * ((c->args.out_width + 3) / 4 * 4);
        c->out_stride[i] =
            padded((uint32_t)((wide + c->args.out_width - 1) / c->args.out_width), ISP_STRIDE);
        c->out_offset[i] = at;
        at += c->out_stride[i] * c->rows[i];
    }
    c->out_bytes = at;
    c->args.raw_stride = c->raw_stride / 4;
    for (uint32_t i = 0; i < c->planes; i++)
        c->args.plane_stride[i] = c->out_stride[i] / 4;
}

struct table_copy {
    VkBuffer from, to;
    uint64_t bytes;
};

static void record_table(struct gpu *g, VkCommandBuffer commands, void *ctx)
{
    const struct table_copy *copy = ctx;
    VkBufferCopy region = {0, 0, copy->bytes};
    struct barrier_state state = {0};
    gpu_sync(g, commands, &state, BARRIER_TRANSFER, 0, 1);
    g->vk.vkCmdCopyBuffer(commands, copy->from, copy->to, 1, &region);
    gpu_sync(g, commands, &state, BARRIER_COMPUTE, 1, 0);
}

static int upload_table(struct isp_camera *c, const uint32_t *table, uint64_t bytes)
{
    struct gpu *g = c->isp->g;
    struct gpu_buffer staging = {0};
    int err = GPU_OK;
    const VkBufferUsageFlags shader = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    TRY(gpu_buffer_create_for(g, GPU_USE_CAMERAS, bytes, shader | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                              GPU_MEMORY_DEVICE, &c->table));
    TRY(gpu_buffer_create_for(g, GPU_USE_CAMERAS, bytes, VK_BUFFER_USAGE_TRANSFER_SRC_BIT,
                              GPU_MEMORY_READBACK, &staging));
    memcpy(staging.map, table, bytes);
    struct table_copy copy = {staging.buffer, c->table.buffer, bytes};
    TRY(gpu_run(g, record_table, &copy));
error:
    gpu_buffer_free(g, &staging);
    return err;
}

/* Fused where that can be. */
static int create_table(struct isp_camera *c, const struct isp_params *params)
{
    struct gpu *g = c->isp->g;
    int err = GPU_OK;
    uint32_t *table = NULL;
    bool filled = false;
    uint64_t bytes = 0;
    for (c->fused = c->isp->fuse && isp_may_fuse(params); !filled; c->fused = c->fused && filled) {
        bytes = 4 * isp_table_words(params, c->fused, &c->args);
        if (bytes > g->limits.maxStorageBufferRange) {
            gpu_log(g, 0, "a lens map of %llu bytes exceeds the device's buffers",
                    (unsigned long long)bytes);
            err = GPU_ERR_FEATURE;
            goto error;
        }
        free(table);
        table = calloc(1, bytes);
        if (!table)
            return GPU_ERR_NOMEM;
        filled = isp_table_fill(params, c->fused, &c->args, table, &c->rect);
    }
    err = upload_table(c, table, bytes);
error:
    free(table);
    return err;
}

static int develop_pipeline(struct isp_camera *c, bool statistics, VkPipeline *out)
{
    const struct isp_params *p = &c->params;
    struct isp *isp = c->isp;
    uint32_t pack = p->packing == ISP_MIPI ? p->depth : p->depth > 8;
    const uint32_t develop[] = {p->order, pack, p->defect != 0, p->demosaic, statistics},
                   count[] = {p->order, pack, 0, 0, 1};
    const uint32_t picture[] = {p->packing, 0, 0, 0, statistics};
    if (c->fused)
        return gpu_pipeline_get(isp->g, isp->layout, shader_isp_statistics,
                                sizeof(shader_isp_statistics), count, 5, "isp statistics", out);
    if (p->order == ISP_YUV)
        return gpu_pipeline_get(isp->g, isp->layout, shader_isp_picture, sizeof(shader_isp_picture),
                                picture, 5, "isp picture", out);
    if (isp_edge_directed(p))
        return gpu_pipeline_get(isp->g, isp->layout, shader_isp_edge, sizeof(shader_isp_edge),
                                develop, 5, "isp edge", out);
    return gpu_pipeline_get(isp->g, isp->layout, shader_isp_develop, sizeof(shader_isp_develop),
                            develop, 5, "isp develop", out);
}

static int finish_pipeline(struct isp_camera *c, VkPipeline *out)
{
    const struct isp_params *p = &c->params;
    struct isp *isp = c->isp;
    uint32_t pack = p->packing == ISP_MIPI ? p->depth : p->depth > 8,
             demosaic = p->order == ISP_MONO ? 0 : p->demosaic;
    bool curve = p->tone != ISP_TONE_LINEAR && p->format != ISP_RGB48;
    const uint32_t fused[] = {p->order,
                              pack,
                              isp_sampling(p),
                              demosaic,
                              p->format,
                              curve,
                              isp_has_matrix(p),
                              c->rect | (uint32_t)(p->full_range || p->format == ISP_GRAY8) << 24 |
                                  (uint32_t)(p->matrix == ISP_MATRIX_BT601) << 25};
    if (c->fused)
        return gpu_pipeline_get(isp->g, isp->layout, shader_isp_fused, sizeof(shader_isp_fused),
                                fused, 8, "isp fused", out);
    const uint32_t finish[] = {isp_sampling(p), p->format, curve, isp_has_matrix(p)};
    return gpu_pipeline_get(isp->g, isp->layout, shader_isp_finish, sizeof(shader_isp_finish),
                            finish, 4, "isp finish", out);
}

int isp_camera_pipelines(struct isp_camera *c, bool statistics)
{
    int err = GPU_OK;
    if (!c->develop[statistics] && (statistics || !c->fused))
        TRY(develop_pipeline(c, statistics, &c->develop[statistics]));
    if (!c->finish)
        TRY(finish_pipeline(c, &c->finish));
error:
    return err;
}

int isp_camera_create(struct isp *isp, const struct isp_params *params, struct isp_camera **out,
                      char why[ISP_WHY])
{
    int err = isp_params_check(params, why);
    if (err < 0)
        return err;
    if (atomic_load(&isp->g->lost))
        return GPU_ERR_LOST;
    struct isp_camera *c = calloc(1, sizeof(*c));
    if (!c)
        return GPU_ERR_NOMEM;
    c->isp = isp;
    c->params = *params;
    c->params.tone_table = NULL;
    isp_table_args(params, &c->args);
    lay_out(c);
    TRY(create_table(c, params));
    TRY(isp_reserve(isp, c->raw_bytes, c->out_bytes, isp_developed_pixels(c)));
    TRY(isp_denoise_prepare(isp, params->denoise > 0));
    TRY(gpu_host_sets_create(isp->g, 1, &c->descriptors, &c->set));
    gpu_set_write_all(isp->g, c->set, &c->table.buffer, 1);
    TRY(isp_camera_pipelines(c, true));
    if (params->blur_count)
        TRY(isp_blur_prepare(isp));
    TRY(isp_camera_pipelines(c, false)); /* not when the second reader of a running camera comes */
    *out = c;
    return GPU_OK;
error:
    isp_camera_free(c);
    return err;
}

void isp_camera_free(struct isp_camera *c)
{
    if (!c)
        return;
    struct isp *isp = c->isp;
    if (c->used)
        gpu_work_drain(
            isp->work); /* flights name their frames' cameras until they are found complete */
    if (c->descriptors)
        isp->g->vk.vkDestroyDescriptorPool(isp->g->device, c->descriptors, NULL);
    gpu_buffer_free(isp->g, &c->table);
    free(c);
}
