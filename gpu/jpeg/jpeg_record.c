/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a batch of JPEG files submits: frames and jobs, passes, copies of scans.
 */
#include "gpu/jpeg/jpeg_batch.h"

#include "gpu/engine/arena.h"
#include "gpu/engine/host_buffer.h"
#include "gpu/shaders/lib/jpeg_args.h"
#include "jpeg/jpeg_blocks.h"

#include <string.h>

/* Resource of barriers beside the bindings: memory that the host reads */
#define RESULTS (1u << JPEG_BINDINGS)
#define BIT(i)  (1u << (i))

/* ---- pictures to jobs ---- */

static bool planes_inside(const struct gpu_jpeg_picture *p, const struct jpeg_shape *shape)
{
    for (uint32_t c = 0; c < shape->components; c++) {
        uint64_t rows = shape->plane_size[c][1] - 1;
        uint64_t end = p->offset[c] + rows * p->stride[c] + shape->plane_size[c][0];
        if (end > p->frame_size)
            return false;
    }
    return true;
}

bool jpeg_picture_valid(const struct gpu_jpeg *j, const struct gpu_jpeg_picture *p)
{
    struct jpeg_shape shape;
    char why[JPEG_WHY];
    if (jpeg_check(&p->settings, why) < 0 || p->frame_size > j->params.frame_size)
        return false;
    jpeg_shape_of(&p->settings, &shape);
    return (uint64_t)shape.mcus[0] * shape.mcus[1] * shape.mcu_blocks <= j->blocks &&
           shape.mcus[1] <= j->rows && planes_inside(p, &shape);
}

static void job_fill_frame(const struct gpu_jpeg *j, const struct gpu_jpeg_picture *p,
                           const struct jpeg_shape *shape, uint32_t index, struct jpeg_job *job)
{
    for (uint32_t c = 0; c < shape->components; c++) {
        job->plane[c] = (uint32_t)(index * j->frame_room) + p->offset[c];
        job->stride[c] = p->stride[c];
        job->width[c] = shape->plane_size[c][0];
        job->height[c] = shape->plane_size[c][1];
    }
    memcpy(job->luma, p->settings.colours.luma, sizeof(job->luma));
    memcpy(job->chroma, p->settings.colours.chroma, sizeof(job->chroma));
    job->black = p->settings.colours.black;
}

static void job_fill(const struct gpu_jpeg *j, const struct gpu_jpeg_picture *p,
                     const struct jpeg_shape *shape, uint32_t index, struct jpeg_job *job)
{
    uint16_t quantiser[2][64];
    *job = (struct jpeg_job){
        .components = shape->components,
        .sampling = {shape->sampling[0], shape->sampling[1]},
        .mcus = {shape->mcus[0], shape->mcus[1]},
        .mcu_blocks = shape->mcu_blocks,
        .first_block = index * j->blocks,
        .first_row = index * j->rows,
        .first_code = index * j->blocks * JPEG_CODE_WORDS,
        .file = (uint32_t)(index * j->file_room),
        .file_room = (uint32_t)j->file_room,
    };
    job_fill_frame(j, p, shape, index, job);
    jpeg_quantiser_fill(p->settings.quality, quantiser);
    for (int t = 0; t < 2; t++)
        for (int k = 0; k < 64; k++)
            job->step[t][jpeg_zigzag[k]] = (uint8_t)quantiser[t][k];
}

static void tables_fill(struct jpeg_tables *out)
{
    struct jpeg_huffman huffman;
    jpeg_huffman_fill(&huffman);
    memcpy(out->dc, huffman.dc, sizeof(out->dc));
    memcpy(out->ac, huffman.ac, sizeof(out->ac));
    for (uint32_t k = 0; k < 64; k++)
        out->place[jpeg_zigzag[k]] = k;
}

/* ---- recording ---- */

static void record_copy(struct gpu_jpeg *j, struct gpu_submission *s, VkBuffer from,
                        uint64_t from_at, VkBuffer to, uint64_t to_at, uint64_t size)
{
    j->g->vk.vkCmdCopyBuffer(s->commands, from, to, 1, &(VkBufferCopy){from_at, to_at, size});
}

static int frame_find(struct gpu_jpeg *j, const struct gpu_jpeg_picture *p, struct gpu_place *out)
{
    struct gpu_window window = {0};
    if (!p->host)
        return gpu_arena_find(j->g, p->frame, p->frame_size, out) ? GPU_OK : GPU_ERR_INVALID;
    int err = gpu_host_window(p->host, p->host_offset, p->host_offset + p->frame_size, &window);
    *out = (struct gpu_place){.buffer = window.buffer, .offset = p->host_offset};
    return err;
}

static int record_frames(struct gpu_jpeg *j, struct gpu_submission *s, struct jpeg_batch *b,
                         const struct gpu_jpeg_picture *pictures)
{
    struct gpu_point writers[GPU_QUEUES];
    bool any_device = false;
    gpu_work_sync(s, BARRIER_TRANSFER, 0, BIT(JPEG_BIND_FRAMES));
    for (uint32_t i = 0; i < b->count; i++) {
        struct gpu_place from;
        int err = frame_find(j, &pictures[i], &from);
        if (err < 0)
            return err;
        any_device |= from.device;
        record_copy(j, s, from.buffer, from.offset, b->device[JPEG_BIND_FRAMES].buffer,
                    i * j->frame_room, pictures[i].frame_size);
    }
    for (uint32_t i = 0, n = any_device ? gpu_arena_writers(j->g, writers) : 0; i < n; i++)
        gpu_work_depend(s, writers[i]);
    return GPU_OK;
}

/* Tables and jobs. Returns the greatest number of workgroups in x, by grid. */
static void record_jobs(struct gpu_jpeg *j, struct gpu_submission *s, struct jpeg_batch *b,
                        const struct gpu_jpeg_picture *pictures, uint32_t most[2])
{
    uint64_t tables = j->sizes[JPEG_BIND_TABLES];
    struct jpeg_job *jobs = (struct jpeg_job *)(b->up.map + tables);
    most[JPEG_GRID_BLOCKS] = most[JPEG_GRID_ROW] = 0;
    tables_fill((struct jpeg_tables *)b->up.map);
    for (uint32_t i = 0; i < b->count; i++) {
        struct jpeg_shape shape;
        struct jpeg_job job;
        jpeg_shape_of(&pictures[i].settings, &shape);
        job_fill(j, &pictures[i], &shape, i, &job);
        jobs[i] = job;
        b->blocks[i] = shape.mcus[0] * shape.mcus[1] * shape.mcu_blocks;
        uint32_t groups = (b->blocks[i] + JPEG_TRANSFORM_BLOCKS - 1) / JPEG_TRANSFORM_BLOCKS;
        if (groups > most[JPEG_GRID_BLOCKS])
            most[JPEG_GRID_BLOCKS] = groups;
        if (shape.mcus[1] > most[JPEG_GRID_ROW])
            most[JPEG_GRID_ROW] = shape.mcus[1];
    }
    gpu_work_sync(s, BARRIER_TRANSFER, 0, BIT(JPEG_BIND_JOBS) | BIT(JPEG_BIND_TABLES));
    record_copy(j, s, b->up.buffer, 0, b->device[JPEG_BIND_TABLES].buffer, 0, tables);
    record_copy(j, s, b->up.buffer, tables, b->device[JPEG_BIND_JOBS].buffer, 0,
                b->count * sizeof(struct jpeg_job));
}

static void record_passes(struct gpu_jpeg *j, struct gpu_submission *s, const struct jpeg_batch *b,
                          const uint32_t most[2])
{
    j->g->vk.vkCmdBindDescriptorSets(s->commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                                     j->layout->pipeline, 0, 1, &b->set, 0, NULL);
    for (uint32_t i = 0; i < JPEG_PASSES; i++) {
        const struct jpeg_pass *p = &jpeg_passes[i];
        gpu_work_sync(s, BARRIER_COMPUTE, p->reads, p->writes);
        j->g->vk.vkCmdBindPipeline(s->commands, VK_PIPELINE_BIND_POINT_COMPUTE, j->pipelines[i]);
        j->g->vk.vkCmdDispatch(s->commands, most[p->grid], 1, b->count);
        gpu_work_stamp(s, i);
    }
}

/* Bytes [from, to) of a scan behind its header */
static int record_scan(struct gpu_jpeg *j, struct gpu_submission *s, const struct jpeg_batch *b,
                       uint32_t index, const struct gpu_jpeg_picture *p, uint64_t from, uint64_t to)
{
    uint8_t header[JPEG_HEADER];
    uint64_t size = jpeg_header(&p->settings, header);
    struct gpu_place place;
    if (from >= to)
        return GPU_OK;
    if (!gpu_arena_find(j->g, p->out + size + from, to - from, &place) || place.device)
        return GPU_ERR_INVALID;
    record_copy(j, s, b->device[JPEG_BIND_FILES].buffer, index * j->file_room + from, place.buffer,
                place.offset, to - from);
    return GPU_OK;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t jpeg_scan_room(const struct gpu_jpeg *j, const struct gpu_jpeg_picture *p)
{
    uint8_t header[JPEG_HEADER];
    uint64_t size = jpeg_header(&p->settings, header);
    return p->room > size ? smaller(p->room - size, j->file_room) : 0;
}

static int record_results(struct gpu_jpeg *j, struct gpu_submission *s, struct jpeg_batch *b,
                          const struct gpu_jpeg_picture *pictures)
{
    int err = GPU_OK;
    gpu_work_sync(s, BARRIER_TRANSFER, BIT(JPEG_BIND_TOTALS) | BIT(JPEG_BIND_FILES), RESULTS);
    record_copy(j, s, b->device[JPEG_BIND_TOTALS].buffer, 0, b->totals.buffer, 0, 4ull * b->count);
    for (uint32_t i = 0; i < b->count; i++) {
        uint64_t expected = (uint64_t)(j->block_bytes * 1.25 * b->blocks[i]);
        b->copied[i] = (uint32_t)smaller(expected, jpeg_scan_room(j, &pictures[i]));
        TRY(record_scan(j, s, b, i, &pictures[i], 0, b->copied[i]));
    }
    gpu_work_sync_host(s, RESULTS);
    gpu_work_stamp(s, JPEG_PASSES + JPEG_STAMP_DOWN);
error:
    return err;
}

static int batch_begin(struct jpeg_batch *b, struct gpu_submission **s)
{
    int err = gpu_work_begin(b->work, UINT64_MAX, s);
    return err < 0 ? err : gpu_work_record(*s, 0);
}

int jpeg_batch_submit(struct gpu_jpeg *j, struct jpeg_batch *b,
                      const struct gpu_jpeg_picture *pictures)
{
    struct gpu_submission *s;
    uint32_t most[2];
    int err = GPU_OK;
    TRY(batch_begin(b, &s));
    TRY(record_frames(j, s, b, pictures));
    record_jobs(j, s, b, pictures, most);
    gpu_work_stamp(s, JPEG_PASSES + JPEG_STAMP_UP);
    record_passes(j, s, b, most);
    TRY(record_results(j, s, b, pictures));
    TRY(gpu_work_submit(s));
    b->end = s->last;
error:
    return err;
}

int jpeg_batch_submit_rest(struct gpu_jpeg *j, struct jpeg_batch *b,
                           const struct gpu_jpeg_picture *pictures, const uint32_t *totals)
{
    struct gpu_submission *s;
    int err = GPU_OK;
    TRY(batch_begin(b, &s));
    gpu_work_sync(s, BARRIER_TRANSFER, BIT(JPEG_BIND_FILES), RESULTS);
    for (uint32_t i = 0; i < b->count; i++)
        if (totals[i] <= jpeg_scan_room(j, &pictures[i]))
            TRY(record_scan(j, s, b, i, &pictures[i], b->copied[i], totals[i]));
    gpu_work_sync_host(s, RESULTS);
    gpu_work_stamp(s, JPEG_PASSES + JPEG_STAMP_DOWN);
    TRY(gpu_work_submit(s));
    b->end = s->last;
error:
    return err;
}
