/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Privacy blur of developed pictures: two passes over the finished planes on the device, so no
 * other pass knows of it. The arithmetic is that of deliveries (recon_deliver.c).
 */
#include "gpu/engine/descriptors.h"
#include "gpu/isp/isp_internal.h"
#include "gpu/shaders/lib/isp_blur.h"

#include <stddef.h>

#include "shaders/isp_blur.spv.h"
#include "shaders/isp_blur_cells.spv.h"

_Static_assert(ISP_BLURS == BLUR_RECTS, "the same in the shader");
_Static_assert(offsetof(struct isp_blur, cells) <= 65536, "what vkCmdUpdateBuffer takes");

#define JOIN_X 64
#define JOIN_Y 4

static int create_sets(struct isp *isp)
{
    VkDescriptorSet sets[ISP_MAX_FLIGHT];
    if (isp->blur_descriptors)
        return GPU_OK;
    int err =
        gpu_sets_create(isp->g, isp->blur_layout, isp->flight_count, &isp->blur_descriptors, sets);
    for (uint32_t i = 0; i < isp->flight_count && err == GPU_OK; i++)
        isp->flights[i].blur_set = sets[i];
    return err;
}

int isp_blur_prepare(struct isp *isp)
{
    struct gpu *g = isp->g;
    const struct gpu_bindings bindings = {.buffers =
                                              ISP_BIT(ISP_BLUR_OUTPUT) | ISP_BIT(ISP_BLUR_FRAMES)};
    int err = GPU_OK;
    if (isp->blur.buffer)
        return GPU_OK;
    TRY(gpu_layout_get(g, &bindings, 4, &isp->blur_layout));
    TRY(gpu_pipeline_get(g, isp->blur_layout, shader_isp_blur_cells, sizeof(shader_isp_blur_cells),
                         NULL, 0, "isp blur cells", &isp->blur_cells));
    TRY(gpu_pipeline_get(g, isp->blur_layout, shader_isp_blur, sizeof(shader_isp_blur), NULL, 0,
                         "isp blur", &isp->blur_join));
    TRY(create_sets(isp));
    TRY(gpu_buffer_create_for(g, GPU_USE_CAMERAS, isp->width * sizeof(struct isp_blur),
                              VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                              GPU_MEMORY_DEVICE, &isp->blur));
error:
    return err;
}

void isp_blur_free(struct isp *isp)
{
    gpu_buffer_free(isp->g, &isp->blur);
    isp->g->vk.vkDestroyDescriptorPool(isp->g->device, isp->blur_descriptors, NULL);
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t cells_of(uint32_t size)
{
    uint32_t n = smaller(size / BLUR_CELL, BLUR_SIDE);
    return n ? n : 1;
}

/* A chroma sample that belongs to any luma sample inside is inside. */
static struct recon_blur_rect in_planes(const struct isp_rect *r, const struct isp_args *args)
{
    uint32_t right = r->x + smaller(r->width, args->out_width - r->x),
             bottom = r->y + smaller(r->height, args->out_height - r->y);
    return (struct recon_blur_rect){.x = {r->x, r->x / 2},
                                    .y = {r->y, r->y / 2},
                                    .width = {right - r->x, (right + 1) / 2 - r->x / 2},
                                    .height = {bottom - r->y, (bottom + 1) / 2 - r->y / 2},
                                    .columns = cells_of(right - r->x),
                                    .rows = cells_of(bottom - r->y)};
}

static struct isp_blur blur_of(const struct isp_item *item)
{
    const struct isp_camera *c = item->frame.camera;
    const struct isp_params *p = &c->params;
    bool wide = p->format == ISP_P010 || p->format == ISP_RGB48,
         pairs = p->format == ISP_NV12 || p->format == ISP_P010;
    struct isp_blur out = {.count = p->blur_count,
                           .planes = c->planes,
                           .bits = wide ? 16 : 8,
                           .shift = p->format == ISP_P010 ? 6 : 0};
    for (uint32_t i = 0, first = 0; i < c->planes; i++) {
        uint32_t components = i == 0 ? isp_components(p->format) : pairs ? 2 : 1;
        out.plane[i] =
            (struct isp_blur_plane){.offset = (uint32_t)((item->out_at + c->out_offset[i]) / 4),
                                    .stride = c->out_stride[i] / 4,
                                    .rows = c->rows[i],
                                    .width = c->row_bytes[i] / (wide ? 2 : 1) / components,
                                    .components = components,
                                    .first = first,
                                    .kind = i > 0};
        first += components;
    }
    for (uint32_t i = 0; i < p->blur_count; i++)
        out.rects[i] = in_planes(&p->blur[i], &c->args);
    return out;
}

static void write_set(struct isp *isp, const struct isp_flight *f)
{
    gpu_set_write_all(
        isp->g, f->blur_set,
        (VkBuffer[2]){[ISP_BLUR_OUTPUT] = f->output.buffer, [ISP_BLUR_FRAMES] = isp->blur.buffer},
        2);
}

static void blur_bind(struct isp *isp, struct isp_flight *f, VkPipeline pipeline)
{
    struct gpu *g = isp->g;
    g->vk.vkCmdBindPipeline(f->s->commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    g->vk.vkCmdBindDescriptorSets(f->s->commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                                  isp->blur_layout->pipeline, 0, 1, &f->blur_set, 0, NULL);
}

static void record_cells(struct isp *isp, struct isp_flight *f, uint32_t index)
{
    const struct isp_params *p = &f->items[index].frame.camera->params;
    /* Y, Cb and Cr of three planes or two are as many as R, G and B of one. */
    uint32_t colours = isp_components(p->format), components = p->format == ISP_GRAY8 ? 1
                                                               : colours == 4         ? 4
                                                                                      : 3;
    isp->g->vk.vkCmdPushConstants(f->s->commands, isp->blur_layout->pipeline,
                                  VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, &index);
    isp->g->vk.vkCmdDispatch(f->s->commands, BLUR_SIDE * BLUR_SIDE, p->blur_count, components);
}

static void record_join(struct isp *isp, struct isp_flight *f, uint32_t index)
{
    const struct isp_camera *c = f->items[index].frame.camera;
    uint32_t words = 0, rows = 0;
    for (uint32_t i = 0; i < c->planes; i++) {
        words = c->out_stride[i] / 4 > words ? c->out_stride[i] / 4 : words;
        rows += c->rows[i];
    }
    isp->g->vk.vkCmdPushConstants(f->s->commands, isp->blur_layout->pipeline,
                                  VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, &index);
    isp->g->vk.vkCmdDispatch(f->s->commands, (words + JOIN_X - 1) / JOIN_X,
                             (rows + JOIN_Y - 1) / JOIN_Y, 1);
}

void isp_blur_record(struct isp *isp, struct isp_flight *f)
{
    const uint32_t output = ISP_BIT(ISP_BIND_OUTPUT), blur = ISP_BIT(ISP_RES_BLUR);
    uint32_t list[ISP_MAX_WIDTH], n = 0;
    for (uint32_t i = 0; i < f->count; i++)
        if (f->items[i].frame.camera->params.blur_count)
            list[n++] = i;
    if (!n)
        return;
    write_set(isp, f);
    gpu_work_sync(f->s, BARRIER_TRANSFER, 0, blur);
    for (uint32_t i = 0; i < n; i++) {
        struct isp_blur args = blur_of(&f->items[list[i]]);
        isp->g->vk.vkCmdUpdateBuffer(f->s->commands, isp->blur.buffer, list[i] * sizeof(args),
                                     offsetof(struct isp_blur, cells), &args);
    }
    gpu_work_sync(f->s, BARRIER_COMPUTE, output | blur, blur);
    blur_bind(isp, f, isp->blur_cells);
    for (uint32_t i = 0; i < n; i++)
        record_cells(isp, f, list[i]);
    gpu_work_sync(f->s, BARRIER_COMPUTE, blur, output);
    blur_bind(isp, f, isp->blur_join);
    for (uint32_t i = 0; i < n; i++)
        record_join(isp, f, list[i]);
}
