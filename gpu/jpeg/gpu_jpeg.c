/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Batches of JPEG files: buffers, recording, results.
 *
 * The host writes headers, the device scans. A submission brings as many bytes of each scan to the
 * host as the largest one of the batch before had for its blocks, and some more. Where a scan is
 * longer, a second submission brings the rest.
 */
#include "gpu/jpeg/gpu_jpeg.h"

#include "gpu/engine/arena.h"
#include "gpu/engine/buffers.h"
#include "gpu/engine/descriptors.h"
#include "gpu/engine/host_buffer.h"
#include "gpu/engine/pipeline.h"
#include "gpu/engine/work.h"
#include "gpu/jpeg/jpeg_passes.h"
#include "gpu/shaders/lib/jpeg_args.h"
#include "jpeg/jpeg_blocks.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Timestamps after those of passes */
enum { STAMP_UP, STAMP_DOWN, COPIES };
/* Resource of barriers beside the bindings: memory that the host reads */
#define RESULTS (1u << JPEG_BINDINGS)
#define BIT(i)  (1u << (i))

struct jpeg_batch {
    bool busy;
    uint32_t count;
    struct gpu_queue *queue;
    struct gpu_work *work;
    struct gpu_buffer device[JPEG_BINDINGS];
    VkDescriptorSet set;
    struct gpu_buffer up, totals; /* of the host: tables and jobs; bytes of scans */
    struct gpu_point end;
    uint32_t *copied; /* by picture: bytes of its scan that are brought */
    uint32_t *blocks;
};

struct gpu_jpeg {
    struct gpu *g;
    struct gpu_jpeg_params params;
    uint32_t blocks, rows; /* of a picture at most */
    uint64_t frame_room;   /* of a picture in FRAMES */
    uint64_t file_room;    /* in FILES */
    uint64_t sizes[JPEG_BINDINGS];
    const struct gpu_layout *layout;
    VkPipeline pipelines[JPEG_PASSES];
    VkDescriptorPool descriptors;
    struct jpeg_batch batches[GPU_JPEG_FLIGHT];
    double block_bytes;   /* of the newest batch: of a scan */
    pthread_mutex_t lock; /* of recording, batches[].busy, block_bytes */
    pthread_mutex_t times_lock;
    double seconds[JPEG_PASSES + COPIES];
};

/* ---- life ---- */

static uint64_t aligned(uint64_t v)
{
    return (v + 15) / 16 * 16;
}

static void jpeg_sizes(struct gpu_jpeg *j)
{
    const struct gpu_jpeg_params *p = &j->params;
    struct jpeg_settings s = {.width = p->width, .height = p->height, .sampling = p->sampling};
    struct jpeg_shape shape;
    uint64_t *sizes = j->sizes, n = p->pictures;
    jpeg_shape_of(&s, &shape);
    j->blocks = shape.mcus[0] * shape.mcus[1] * shape.mcu_blocks;
    j->rows = (p->height + 7) / 8;
    j->frame_room = aligned(p->frame_size + 4); /* a word more is read */
    /* as for codes: a scan would have to be the worst one, with two of five bytes 0xff, to be
     * larger; then it has no size */
    j->file_room = aligned((uint64_t)j->blocks * JPEG_CODE_WORDS * 4 + 4ull * j->rows);
    sizes[JPEG_BIND_JOBS] = n * sizeof(struct jpeg_job);
    sizes[JPEG_BIND_TABLES] = sizeof(struct jpeg_tables);
    sizes[JPEG_BIND_FRAMES] = n * j->frame_room;
    sizes[JPEG_BIND_LEVELS] = n * j->blocks * JPEG_BLOCK_WORDS * 4;
    sizes[JPEG_BIND_MASKS] = n * j->blocks * 8;
    sizes[JPEG_BIND_CODES] = n * j->blocks * JPEG_CODE_WORDS * 4;
    sizes[JPEG_BIND_ROWS] = n * j->rows * sizeof(struct jpeg_row);
    sizes[JPEG_BIND_FILES] = n * j->file_room;
    sizes[JPEG_BIND_TOTALS] = n * 4;
    for (int i = 0; i < JPEG_BINDINGS; i++)
        sizes[i] = aligned(sizes[i]);
}

/* Places in buffers have 32 bits. */
static bool sizes_possible(const struct gpu_jpeg *j)
{
    for (int i = 0; i < JPEG_BINDINGS; i++)
        if (j->sizes[i] > j->g->limits.maxStorageBufferRange || j->sizes[i] > UINT32_MAX)
            return false;
    return true;
}

static int create_buffers(struct gpu_jpeg *j)
{
    const VkBufferUsageFlags usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                     VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                     VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    VkDescriptorSet sets[GPU_JPEG_FLIGHT];
    int err = GPU_OK;
    TRY(gpu_sets_create(j->g, j->layout, GPU_JPEG_FLIGHT, &j->descriptors, sets));
    for (int k = 0; k < GPU_JPEG_FLIGHT; k++) {
        struct jpeg_batch *b = &j->batches[k];
        VkBuffer all[JPEG_BINDINGS];
        for (int i = 0; i < JPEG_BINDINGS; i++) {
            TRY(gpu_buffer_create(j->g, j->sizes[i], usage, GPU_MEMORY_DEVICE, &b->device[i]));
            all[i] = b->device[i].buffer;
        }
        TRY(gpu_buffer_create(j->g, j->sizes[JPEG_BIND_JOBS] + j->sizes[JPEG_BIND_TABLES],
                              VK_BUFFER_USAGE_TRANSFER_SRC_BIT, GPU_MEMORY_UPLOAD, &b->up));
        TRY(gpu_buffer_create(j->g, j->sizes[JPEG_BIND_TOTALS], VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                              GPU_MEMORY_READBACK, &b->totals));
        b->set = sets[k];
        gpu_set_write_all(j->g, b->set, all, JPEG_BINDINGS);
        b->copied = calloc(j->params.pictures, sizeof(*b->copied));
        b->blocks = calloc(j->params.pictures, sizeof(*b->blocks));
        if (!b->copied || !b->blocks)
            return GPU_ERR_NOMEM;
    }
error:
    return err;
}

static int create_pipelines(struct gpu_jpeg *j)
{
    struct gpu_pipeline_want wants[JPEG_PASSES];
    for (uint32_t i = 0; i < JPEG_PASSES; i++)
        wants[i] = (struct gpu_pipeline_want){.layout = j->layout,
                                              .spirv = jpeg_passes[i].spirv,
                                              .spirv_size = jpeg_passes[i].spirv_size,
                                              .name = jpeg_passes[i].name,
                                              .out = &j->pipelines[i]};
    return gpu_pipelines_make(j->g, wants, JPEG_PASSES);
}

static void pass_add(void *ctx, uint32_t name, double seconds)
{
    struct gpu_jpeg *j = ctx;
    if (name >= JPEG_PASSES + COPIES)
        return;
    pthread_mutex_lock(&j->times_lock);
    j->seconds[name] += seconds;
    pthread_mutex_unlock(&j->times_lock);
}

/* gpu_work's done() */
static void jpeg_done(void *ctx, const struct gpu_submission *s)
{
    gpu_work_times(s, pass_add, ctx);
}

const char *gpu_jpeg_time(struct gpu_jpeg *j, uint32_t i, double *seconds)
{
    static const char *const copies[COPIES] = {"copies up", "copies down"};
    if (i >= JPEG_PASSES + COPIES)
        return NULL;
    pthread_mutex_lock(&j->times_lock);
    *seconds = j->seconds[i];
    pthread_mutex_unlock(&j->times_lock);
    return i < JPEG_PASSES ? jpeg_passes[i].name : copies[i - JPEG_PASSES];
}

static int create_work(struct gpu_jpeg *j, struct jpeg_batch *b, enum gpu_queue_use use)
{
    int err = gpu_queue_open(j->g, use, &b->queue);
    return err < 0 ? err
                   : gpu_work_create(j->g,
                                     &(struct gpu_work_params){.queues = {b->queue},
                                                               .depth = 2,
                                                               .stamps = JPEG_PASSES + COPIES,
                                                               .done = jpeg_done,
                                                               .ctx = j},
                                     &b->work);
}

static void batch_free(struct gpu_jpeg *j, struct jpeg_batch *b)
{
    gpu_work_free(b->work);
    gpu_queue_close(b->queue);
    for (int i = 0; i < JPEG_BINDINGS; i++)
        gpu_buffer_free(j->g, &b->device[i]);
    gpu_buffer_free(j->g, &b->up);
    gpu_buffer_free(j->g, &b->totals);
    free(b->copied);
    free(b->blocks);
}

static bool params_valid(const struct gpu_jpeg_params *p)
{
    struct jpeg_settings s = {
        .width = p->width, .height = p->height, .sampling = p->sampling, .quality = 1};
    char why[JPEG_WHY];
    return p->pictures && p->frame_size && jpeg_check(&s, why) == 0;
}

int gpu_jpeg_create(struct gpu *g, const struct gpu_jpeg_params *params, struct gpu_jpeg **out)
{
    int err = GPU_OK;
    struct gpu_jpeg *j;
    if (!params_valid(params))
        return GPU_ERR_INVALID;
    j = calloc(1, sizeof(*j));
    if (!j)
        return GPU_ERR_NOMEM;
    j->g = g;
    j->params = *params;
    pthread_mutex_init(&j->lock, NULL);
    pthread_mutex_init(&j->times_lock, NULL);
    jpeg_sizes(j);
    TRY(sizes_possible(j) ? GPU_OK : GPU_ERR_FEATURE);
    TRY(gpu_layout_get(g, &(struct gpu_bindings){.buffers = BIT(JPEG_BINDINGS) - 1}, 0,
                       &j->layout));
    TRY(create_buffers(j));
    TRY(create_pipelines(j));
    for (int i = 0; i < GPU_JPEG_FLIGHT; i++)
        TRY(create_work(j, &j->batches[i], i ? GPU_QUEUE_DELIVER : GPU_QUEUE_MAIN));
    *out = j;
    return GPU_OK;
error:
    gpu_jpeg_free(j);
    return err;
}

void gpu_jpeg_free(struct gpu_jpeg *j)
{
    if (!j)
        return;
    for (int i = 0; i < GPU_JPEG_FLIGHT; i++)
        batch_free(j, &j->batches[i]);
    j->g->vk.vkDestroyDescriptorPool(j->g->device, j->descriptors, NULL);
    pthread_mutex_destroy(&j->times_lock);
    pthread_mutex_destroy(&j->lock);
    free(j);
}

const struct gpu_jpeg_params *gpu_jpeg_params_of(const struct gpu_jpeg *j)
{
    return &j->params;
}

/* ---- pictures ---- */

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

static bool picture_valid(const struct gpu_jpeg *j, const struct gpu_jpeg_picture *p)
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

/* Bytes that a scan may have in its file */
static uint64_t scan_room(const struct gpu_jpeg *j, const struct gpu_jpeg_picture *p)
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
        b->copied[i] = (uint32_t)smaller(expected, scan_room(j, &pictures[i]));
        TRY(record_scan(j, s, b, i, &pictures[i], 0, b->copied[i]));
    }
    gpu_work_sync_host(s, RESULTS);
    gpu_work_stamp(s, JPEG_PASSES + STAMP_DOWN);
error:
    return err;
}

static int batch_begin(struct jpeg_batch *b, struct gpu_submission **s)
{
    int err = gpu_work_begin(b->work, UINT64_MAX, s);
    return err < 0 ? err : gpu_work_record(*s, 0);
}

static int batch_submit(struct gpu_jpeg *j, struct jpeg_batch *b,
                        const struct gpu_jpeg_picture *pictures)
{
    struct gpu_submission *s;
    uint32_t most[2];
    int err = GPU_OK;
    TRY(batch_begin(b, &s));
    TRY(record_frames(j, s, b, pictures));
    record_jobs(j, s, b, pictures, most);
    gpu_work_stamp(s, JPEG_PASSES + STAMP_UP);
    record_passes(j, s, b, most);
    TRY(record_results(j, s, b, pictures));
    TRY(gpu_work_submit(s));
    b->end = s->last;
error:
    return err;
}

int gpu_jpeg_submit(struct gpu_jpeg *j, const struct gpu_jpeg_picture *pictures, uint32_t count,
                    uint32_t *batch)
{
    uint32_t at = 0;
    int err = GPU_ERR_INVALID;
    if (!count || count > j->params.pictures)
        return GPU_ERR_INVALID;
    for (uint32_t i = 0; i < count; i++)
        if (!picture_valid(j, &pictures[i]))
            return GPU_ERR_INVALID;
    pthread_mutex_lock(&j->lock);
    while (at < GPU_JPEG_FLIGHT && j->batches[at].busy)
        at++;
    if (at < GPU_JPEG_FLIGHT) {
        struct jpeg_batch *b = &j->batches[at];
        b->count = count;
        err = batch_submit(j, b, pictures);
        b->busy = err == GPU_OK;
    }
    pthread_mutex_unlock(&j->lock);
    if (err == GPU_OK)
        *batch = at;
    return err;
}

/* ---- results ---- */

static int point_wait(struct gpu_jpeg *j, struct jpeg_batch *b)
{
    int err = gpu_points_wait(j->g, &b->end, 1, UINT64_MAX);
    return err < 0 ? err : gpu_work_poll(b->work);
}

/* Scans that are longer than was expected */
static int submit_rest(struct gpu_jpeg *j, struct jpeg_batch *b,
                       const struct gpu_jpeg_picture *pictures, const uint32_t *totals)
{
    struct gpu_submission *s;
    int err = GPU_OK;
    TRY(batch_begin(b, &s));
    gpu_work_sync(s, BARRIER_TRANSFER, BIT(JPEG_BIND_FILES), RESULTS);
    for (uint32_t i = 0; i < b->count; i++)
        if (totals[i] <= scan_room(j, &pictures[i]))
            TRY(record_scan(j, s, b, i, &pictures[i], b->copied[i], totals[i]));
    gpu_work_sync_host(s, RESULTS);
    gpu_work_stamp(s, JPEG_PASSES + STAMP_DOWN);
    TRY(gpu_work_submit(s));
    b->end = s->last;
error:
    return err;
}

static int take_rest(struct gpu_jpeg *j, struct jpeg_batch *b,
                     const struct gpu_jpeg_picture *pictures)
{
    const uint32_t *totals = (const uint32_t *)b->totals.map;
    bool more = false;
    int err = GPU_OK;
    pthread_mutex_lock(&j->lock);
    j->block_bytes = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        double bytes = (double)totals[i] / b->blocks[i];
        j->block_bytes = bytes > j->block_bytes ? bytes : j->block_bytes;
        more |= totals[i] > b->copied[i] && totals[i] <= scan_room(j, &pictures[i]);
    }
    if (more)
        err = submit_rest(j, b, pictures, totals);
    pthread_mutex_unlock(&j->lock);
    return more && err == GPU_OK ? point_wait(j, b) : err;
}

int gpu_jpeg_wait(struct gpu_jpeg *j, uint32_t batch, struct gpu_jpeg_picture *pictures)
{
    struct jpeg_batch *b = &j->batches[batch];
    int err = GPU_OK;
    TRY(point_wait(j, b));
    TRY(take_rest(j, b, pictures));
    for (uint32_t i = 0; i < b->count; i++) {
        uint32_t total = ((const uint32_t *)b->totals.map)[i];
        pictures[i].size = 0;
        if (total <= scan_room(j, &pictures[i]))
            pictures[i].size = jpeg_header(&pictures[i].settings, pictures[i].out) + total;
    }
error:
    pthread_mutex_lock(&j->lock);
    b->busy = false;
    pthread_mutex_unlock(&j->lock);
    return err;
}

int gpu_jpeg_encode(struct gpu_jpeg *j, struct gpu_jpeg_picture *pictures, uint32_t count)
{
    uint32_t batch;
    int err = gpu_jpeg_submit(j, pictures, count, &batch);
    return err < 0 ? err : gpu_jpeg_wait(j, batch, pictures);
}
