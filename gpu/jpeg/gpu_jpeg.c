/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Batches of JPEG files: buffers, batches in flight, results.
 *
 * The host writes headers, the device scans. A submission brings as many bytes of each scan to the
 * host as the largest one of the batch before had for its blocks, and some more. Where a scan is
 * longer, a second submission brings the rest.
 */
#include "gpu/jpeg/gpu_jpeg.h"

#include "gpu/engine/pipeline.h"
#include "gpu/jpeg/jpeg_batch.h"
#include "jpeg/jpeg_blocks.h"

#include <stdlib.h>

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
    if (name >= JPEG_PASSES + JPEG_COPIES)
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
    static const char *const copies[JPEG_COPIES] = {"copies up", "copies down"};
    if (i >= JPEG_PASSES + JPEG_COPIES)
        return NULL;
    pthread_mutex_lock(&j->times_lock);
    *seconds = j->seconds[i];
    pthread_mutex_unlock(&j->times_lock);
    return i < JPEG_PASSES ? jpeg_passes[i].name : copies[i - JPEG_PASSES];
}

static int create_work(struct gpu_jpeg *j, struct jpeg_batch *b, enum gpu_queue_use use)
{
    int err = gpu_queue_get(j->g, use, &b->queue);
    return err < 0 ? err
                   : gpu_work_create(j->g,
                                     &(struct gpu_work_params){.queues = {b->queue},
                                                               .depth = 2,
                                                               .stamps = JPEG_PASSES + JPEG_COPIES,
                                                               .done = jpeg_done,
                                                               .ctx = j},
                                     &b->work);
}

static void batch_free(struct gpu_jpeg *j, struct jpeg_batch *b)
{
    gpu_work_free(b->work);
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
    TRY(gpu_layout_get(g, &(struct gpu_bindings){.buffers = (1u << JPEG_BINDINGS) - 1}, 0,
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

/* ---- batches ---- */

int gpu_jpeg_submit(struct gpu_jpeg *j, const struct gpu_jpeg_picture *pictures, uint32_t count,
                    uint32_t *batch)
{
    uint32_t at = 0;
    int err = GPU_ERR_INVALID;
    if (!count || count > j->params.pictures)
        return GPU_ERR_INVALID;
    for (uint32_t i = 0; i < count; i++)
        if (!jpeg_picture_valid(j, &pictures[i]))
            return GPU_ERR_INVALID;
    pthread_mutex_lock(&j->lock);
    while (at < GPU_JPEG_FLIGHT && j->batches[at].busy)
        at++;
    if (at < GPU_JPEG_FLIGHT) {
        struct jpeg_batch *b = &j->batches[at];
        b->count = count;
        err = jpeg_batch_submit(j, b, pictures);
        b->busy = err == GPU_OK;
    }
    pthread_mutex_unlock(&j->lock);
    if (err == GPU_OK)
        *batch = at;
    return err;
}

static int point_wait(struct gpu_jpeg *j, struct jpeg_batch *b)
{
    int err = gpu_points_wait(j->g, &b->end, 1, UINT64_MAX);
    return err < 0 ? err : gpu_work_poll(b->work);
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
        more |= totals[i] > b->copied[i] && totals[i] <= jpeg_scan_room(j, &pictures[i]);
    }
    if (more)
        err = jpeg_batch_submit_rest(j, b, pictures, totals);
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
        if (total <= jpeg_scan_room(j, &pictures[i]))
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
    return err != GPU_OK ? err : gpu_jpeg_wait(j, batch, pictures);
}
