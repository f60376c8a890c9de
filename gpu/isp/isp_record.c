/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One submission's command buffer: upload; develop and finish, group after group; then the copies
 * into the readers' memory.
 */
#include "gpu/engine/debug_values.h"
#include "gpu/isp/isp_internal.h"

#include <stdlib.h>

static void add_seconds(void *ctx, uint32_t name, double seconds)
{
    ((struct isp *)ctx)->times.seconds[name] += seconds;
}

void isp_times_add(struct isp *isp, const struct gpu_submission *s)
{
    isp->times.frames += isp->flights[s->index].count;
    isp->times.batches++;
    gpu_work_times(s, add_seconds, isp);
}

static int room_for(struct isp_flight *f, size_t regions)
{
    if (f->region_capacity >= regions)
        return GPU_OK;
    VkBufferCopy *grown = realloc(f->regions, regions * sizeof(*grown));
    if (!grown)
        return GPU_ERR_NOMEM;
    f->regions = grown;
    f->region_capacity = regions;
    return GPU_OK;
}

/* Rows of one stride to rows of another: one region where both are the same. */
static int copy_rows(struct isp *isp, struct isp_flight *f, VkBuffer from, uint64_t from_at,
                     uint32_t from_stride, VkBuffer to, uint64_t to_at, uint32_t to_stride,
                     uint32_t row_bytes, uint32_t rows)
{
    bool whole = from_stride == to_stride;
    uint32_t count = whole ? 1 : rows;
    int err = room_for(f, count);
    if (err < 0)
        return err;
    for (uint32_t i = 0; i < count; i++)
        f->regions[i] = (VkBufferCopy){from_at + (uint64_t)i * from_stride,
                                       to_at + (uint64_t)i * to_stride, row_bytes};
    if (whole)
        f->regions[0].size = (uint64_t)from_stride * (rows - 1) + row_bytes;
    isp->g->vk.vkCmdCopyBuffer(f->s->commands, from, to, count, f->regions);
    return GPU_OK;
}

static int record_upload(struct isp *isp, struct isp_flight *f)
{
    struct gpu *g = isp->g;
    const uint32_t uploaded = ISP_BIT(ISP_BIND_RAW) | ISP_BIT(ISP_BIND_ARGS);
    int err = GPU_OK;
    /* the flight's buffers are idle, so what happened to them before is over */
    gpu_work_forget(f->s, uploaded | ISP_BIT(ISP_BIND_OUTPUT) | ISP_BIT(ISP_BIND_STATISTICS) |
                              ISP_BIT(ISP_RES_READBACK) | ISP_BIT(ISP_RES_HOST));
    if (f->measured) {
        g->vk.vkCmdFillBuffer(f->s->commands, f->statistics.buffer, 0,
                              4ull * ISP_STATISTICS_WORDS * f->count, 0);
        barrier_accessed(f->s->barriers, BARRIER_TRANSFER, 0, ISP_BIT(ISP_BIND_STATISTICS));
    }
    if (g->unified)
        return GPU_OK;
    VkBufferCopy region = {0, 0, f->count * sizeof(struct isp_args)};
    g->vk.vkCmdCopyBuffer(f->s->commands, f->staging.buffer, f->upload.buffer, 1, &region);
    for (uint32_t i = 0; i < f->count && err == GPU_OK; i++) {
        const struct isp_item *item = &f->items[i];
        const struct isp_camera *c = item->frame.camera;
        uint64_t at = ISP_ARGS_AREA + item->raw_at;
        bool fetched = item->fetch.buffer;
        err = copy_rows(isp, f, fetched ? item->fetch.buffer : f->staging.buffer,
                        fetched ? item->fetch.offset : at,
                        fetched ? item->frame.raw_stride : c->raw_stride, f->upload.buffer, at,
                        c->raw_stride, isp_row_bytes(&c->params), isp_raw_rows(&c->params));
    }
    barrier_accessed(f->s->barriers, BARRIER_TRANSFER, 0, uploaded);
    return err;
}

/* Frames [i, end) from i on that one dispatch does. */
static uint32_t run_length(const struct isp_flight *f, uint32_t i, uint32_t end)
{
    uint32_t n = 1;
    while (i + n < end && f->items[i + n].frame.camera == f->items[i].frame.camera &&
           !f->items[i + n].frame.statistics == !f->items[i].frame.statistics)
        n++;
    return n;
}

static void dispatch(struct isp *isp, struct isp_flight *f, VkPipeline pipeline, uint32_t first,
                     uint32_t frames, uint32_t x, uint32_t y, uint32_t z)
{
    struct gpu *g = isp->g;
    const struct isp_camera *c = f->items[first].frame.camera;
    VkDescriptorSet sets[2] = {f->set, c->set};
    g->vk.vkCmdBindPipeline(f->s->commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    g->vk.vkCmdBindDescriptorSets(f->s->commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                                  isp->layout->pipeline, 0, 2, sets, 0, NULL);
    const uint32_t range[2] = {first, first + frames};
    g->vk.vkCmdPushConstants(f->s->commands, isp->layout->pipeline, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                             8, range);
    g->vk.vkCmdDispatch(f->s->commands, x, y, z);
}

static uint32_t groups(uint32_t size, uint32_t tile)
{
    return (size + tile - 1) / tile;
}

static void dispatch_develop(struct isp *isp, struct isp_flight *f, uint32_t first, uint32_t n)
{
    const struct isp_camera *c = f->items[first].frame.camera;
    bool measured = f->items[first].frame.statistics != NULL,
         narrow = !c->fused && isp_edge_directed(&c->params);
    if (c->fused && !measured)
        return;
    uint32_t x = groups(c->params.width, narrow ? 32 : ISP_TILE_X),
             y = groups(c->params.height, c->fused ? ISP_TILE_Y : 16);
    if (c->fused)
        dispatch(isp, f, c->develop[measured], first, n, n, x, y);
    else
        dispatch(isp, f, c->develop[measured], first, n, x, y, n);
}

/* Fused: frames first, so that those that use a tile of the map do so at a time. */
static void dispatch_finish(struct isp *isp, struct isp_flight *f, uint32_t first, uint32_t n)
{
    const struct isp_camera *c = f->items[first].frame.camera;
    uint32_t width = c->args.out_width, height = c->args.out_height;
    if (c->fused)
        dispatch(isp, f, c->finish, first, n, groups(n, ISP_FUSED_FRAMES),
                 groups(width, ISP_FUSED_X), groups(height, ISP_FUSED_Y));
    else
        dispatch(isp, f, c->finish, first, n, groups(width, ISP_BLOCK_X),
                 groups(height, ISP_BLOCK_Y), n);
}

/* Develop, and what belongs to it, of frames [begin, end) */
static void record_develop(struct isp *isp, struct isp_flight *f, uint32_t begin, uint32_t end)
{
    for (uint32_t i = begin, n; i < end; i += n) {
        n = run_length(f, i, end);
        dispatch_develop(isp, f, i, n);
    }
}

/* Where all frames are fused, develop only counts. It then comes last, without a barrier, and fills
 * the idle time at the end of the pictures. */
static void record_group(struct isp *isp, struct isp_flight *f, uint32_t begin, uint32_t end)
{
    const uint32_t args = ISP_BIT(ISP_BIND_ARGS), rgb = ISP_BIT(ISP_BIND_RGB),
                   raw = ISP_BIT(ISP_BIND_RAW);
    const uint32_t counted = ISP_BIT(ISP_BIND_STATISTICS);
    bool developed = false; /* in isp.rgb */
    for (uint32_t i = begin; i < end; i++)
        developed |= !f->items[i].frame.camera->fused;
    if (developed) {
        gpu_work_sync(f->s, BARRIER_COMPUTE, raw | args, rgb | counted);
        record_develop(isp, f, begin, end);
        isp_denoise_record(isp, f, begin, end);
        gpu_work_stamp(f->s, ISP_STAGE_DEVELOP);
    }
    gpu_work_sync(f->s, BARRIER_COMPUTE, (developed ? rgb : 0) | raw | args,
                  ISP_BIT(ISP_BIND_OUTPUT) | (developed ? 0 : counted));
    for (uint32_t i = begin, n; i < end; i += n) {
        n = run_length(f, i, end);
        dispatch_finish(isp, f, i, n);
    }
    if (!developed)
        record_develop(isp, f, begin, end);
    gpu_work_stamp(f->s, ISP_STAGE_FINISH);
}

static int record_delivery(struct isp *isp, struct isp_flight *f)
{
    struct gpu *g = isp->g;
    const uint32_t results = ISP_BIT(ISP_RES_READBACK) | ISP_BIT(ISP_RES_HOST);
    int err = GPU_OK;
    gpu_work_sync(f->s, BARRIER_TRANSFER, ISP_BIT(ISP_BIND_OUTPUT) | ISP_BIT(ISP_BIND_STATISTICS),
                  results);
    for (uint32_t i = 0; i < f->count; i++) {
        const struct isp_item *item = &f->items[i];
        const struct isp_camera *c = item->frame.camera;
        for (uint32_t k = 0; k < c->planes && err == GPU_OK; k++)
            err = copy_rows(isp, f, f->output.buffer, item->out_at + c->out_offset[k],
                            c->out_stride[k], gpu_host_buffer(item->frame.host),
                            item->frame.offset[k], item->frame.stride[k], c->row_bytes[k],
                            c->rows[k]);
    }
    VkBufferCopy statistics = {0, 0, 4ull * ISP_STATISTICS_WORDS * f->count};
    if (f->measured)
        g->vk.vkCmdCopyBuffer(f->s->commands, f->statistics.buffer, f->readback.buffer, 1,
                              &statistics);
    gpu_work_stamp(f->s, ISP_STAGE_DELIVER);
    gpu_work_sync_host(f->s, results);
    return err;
}

int isp_record(struct isp *isp, struct isp_flight *f)
{
    struct gpu *g = isp->g;
    int err = GPU_OK;
    TRY(gpu_work_record(f->s, 0));
    gpu_debug_bind(g, f->s->commands, isp->layout);
    TRY(record_upload(isp, f));
    gpu_work_stamp(f->s, ISP_STAGE_UPLOAD);
    for (uint32_t i = 0, end; i < f->count; i = end) {
        for (end = i + 1; end < f->count && !f->items[end].starts_group; end++)
            ;
        record_group(isp, f, i, end);
    }
    isp_blur_record(isp, f); /* nothing else stands between a picture and its readers */
    TRY(record_delivery(isp, f));
error:
    return err;
}
