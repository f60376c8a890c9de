/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The life of gpu_encode: buffers, pipelines, queues; the times of passes.
 */
#include "gpu/encode/gpu_encode_internal.h"

#include "gpu/shaders/lib/cases.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SETS 65536 /* enc_picture.reference has 16 bits */

/* Bindings that all batches share */
#define SHARED                                                                                     \
    (1u << ENC_BIND_PLANES | 1u << ENC_BIND_LAST | 1u << ENC_BIND_QUANTISER | 1u << ENC_BIND_CODES)

uint64_t gpu_encode_frame_size(const struct gpu_encode *e)
{
    return 384 * encode_mb_count(&e->params);
}

static void encode_sizes(const struct gpu_encode_params *p, uint64_t sizes[ENC_BINDINGS])
{
    uint64_t mbs = encode_mb_count(p), all = mbs * p->pictures;
    sizes[ENC_BIND_PICTURES] = p->pictures * sizeof(struct enc_picture);
    sizes[ENC_BIND_FRAMES] = sizes[ENC_BIND_UNFILTERED] = 384 * all;
    sizes[ENC_BIND_PLANES] = p->sets * encode_set_size(p);
    sizes[ENC_BIND_LAST] = 2 * mbs * p->streams * sizeof(struct enc_last);
    sizes[ENC_BIND_SEARCH] = all * ENC_REFERENCES * sizeof(struct enc_search);
    sizes[ENC_BIND_MOTION] = 2 * all * sizeof(struct rec_motion);
    sizes[ENC_BIND_QUANTISER] = sizeof(p->quantiser);
    sizes[ENC_BIND_OFFSETS] = all;
    sizes[ENC_BIND_INTRA] = all * sizeof(struct enc_intra);
    sizes[ENC_BIND_MBS] = all * sizeof(struct rec_mb);
    sizes[ENC_BIND_LEVELS] = all * ENC_BLOCKS * 32;
    sizes[ENC_BIND_COEFFS] = all * ENC_BLOCKS * 32;
    sizes[ENC_BIND_TOTALS] = p->pictures * sizeof(struct enc_total);
    sizes[ENC_BIND_ANALYSIS] = all * sizeof(struct enc_analysis);
    sizes[ENC_BIND_TICKETS] = p->pictures * encode_tickets_size(p);
    sizes[ENC_BIND_RUNS] =
        p->pictures * ((mbs + ENC_RUN_MBS - 1) / ENC_RUN_MBS) * sizeof(struct enc_run);
    sizes[ENC_BIND_STRENGTHS] = all * STRENGTH_WORDS * 4;
    sizes[ENC_BIND_CODES] = sizeof(p->codes);
    sizes[ENC_BIND_SYNTAX] = all * sizeof(struct enc_syntax);
    sizes[ENC_BIND_PLACES] = all * sizeof(struct enc_place);
    for (int i = 0; i < ENC_BINDINGS; i++)
        sizes[i] = (sizes[i] + 15) / 16 * 16;
}

static bool is_shared(uint32_t binding)
{
    return SHARED >> binding & 1;
}

static int create_buffer(struct gpu_encode *e, uint32_t binding, struct gpu_buffer *out)
{
    const VkBufferUsageFlags usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                     VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                     VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    if (e->sizes[binding] > e->g->limits.maxStorageBufferRange)
        return GPU_ERR_FEATURE;
    return gpu_buffer_create(e->g, e->sizes[binding], usage, GPU_MEMORY_DEVICE, out);
}

static int create_buffers(struct gpu_encode *e)
{
    VkDescriptorSet sets[GPU_ENCODE_FLIGHT];
    int err = GPU_OK;
    encode_sizes(&e->params, e->sizes);
    TRY(gpu_sets_create(e->g, e->layout, GPU_ENCODE_FLIGHT, &e->descriptors, sets));
    for (uint32_t i = 0; i < ENC_BINDINGS; i++) {
        if (is_shared(i))
            TRY(create_buffer(e, i, &e->shared[i]));
        for (int k = 0; k < GPU_ENCODE_FLIGHT; k++) {
            struct encode_batch *b = &e->batches[k];
            if (!is_shared(i))
                TRY(create_buffer(e, i, &b->own[i]));
            b->device[i] = is_shared(i) ? e->shared[i].buffer : b->own[i].buffer;
        }
    }
    for (int k = 0; k < GPU_ENCODE_FLIGHT; k++) {
        e->batches[k].set = sets[k];
        gpu_set_write_all(e->g, sets[k], e->batches[k].device, ENC_BINDINGS);
    }
error:
    return err;
}

static bool pictures_create(struct encode_pictures *p, uint32_t count)
{
    p->pictures = calloc(count, sizeof(*p->pictures));
    p->sources = calloc(count, sizeof(*p->sources));
    p->analysis = calloc(count, sizeof(*p->analysis));
    return p->pictures && p->sources && p->analysis;
}

static void pictures_free(struct encode_pictures *p)
{
    free(p->pictures);
    free(p->sources);
    free(p->analysis);
}

static int create_batch(struct gpu_encode *e, struct encode_batch *b)
{
    uint32_t count = e->params.pictures;
    uint64_t up = encode_up_size(e) + 2 * e->sizes[ENC_BIND_PICTURES];
    int err = GPU_OK;
    b->encode = e;
    b->decisions = calloc(count, sizeof(*b->decisions));
    b->copied = calloc(count, sizeof(*b->copied));
    if (!b->decisions || !b->copied || !pictures_create(&b->now, count) ||
        !pictures_create(&b->ahead, count))
        return GPU_ERR_NOMEM;
    TRY(gpu_buffer_create(e->g, up, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, GPU_MEMORY_UPLOAD, &b->up));
    TRY(gpu_buffer_create(e->g, e->sizes[ENC_BIND_TOTALS], VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                          GPU_MEMORY_READBACK, &b->totals));
error:
    return err;
}

static int create_batches(struct gpu_encode *e)
{
    int err = GPU_OK;
    e->coeff_blocks = calloc(e->params.streams, sizeof(*e->coeff_blocks));
    e->stream_done = calloc(e->params.streams, sizeof(*e->stream_done));
    if (!e->coeff_blocks || !e->stream_done)
        return GPU_ERR_NOMEM;
    for (int i = 0; i < GPU_ENCODE_FLIGHT && err == GPU_OK; i++)
        err = create_batch(e, &e->batches[i]);
    return err;
}

/* Are the 32 threads of a workgroup a subgroup, with shuffles? */
static bool lanes_wanted(const struct gpu_encode *e)
{
    const struct gpu_device_info *info = &e->g->info;
    return info->shuffles && info->fixed_subgroups && info->subgroup_size == 32;
}

static const struct encode_shader *shader_of(const struct gpu_encode *e,
                                             const struct encode_pass *p)
{
    if (p->lanes.spirv && lanes_wanted(e))
        return &p->lanes;
    return p->half.spirv && e->g->info.half_floats && !e->params.no_halves ? &p->half : &p->plain;
}

static int create_pipelines(struct gpu_encode *e)
{
    struct gpu_pipeline_want wants[GPU_ENCODE_PASSES];
    assert(encode_pass_count + ENCODE_COPIES <= GPU_ENCODE_PASSES);
    for (uint32_t i = 0; i < encode_pass_count; i++) {
        const struct encode_pass *p = &encode_passes[i];
        const struct encode_shader *shader = shader_of(e, p);
        wants[i] = (struct gpu_pipeline_want){.layout = e->layout,
                                              .spirv = shader->spirv,
                                              .spirv_size = shader->size,
                                              .whole = shader == &p->lanes,
                                              .constant_count = p->constant_count,
                                              .name = p->name,
                                              .out = &e->pipelines[i]};
        memcpy(wants[i].constants, p->constants, sizeof(p->constants));
        if (p->wavefront == ENCODE_AT_ONCE && e->g->info.software)
            wants[i].constants[1] = 2;
    }
    return gpu_pipelines_make(e->g, wants, encode_pass_count);
}

/* Seconds of a submission's passes, for gpu_work_times */
struct pass_times {
    struct gpu_encode *encode;
    double all;
};

static void pass_add(void *ctx, uint32_t name, double seconds)
{
    struct pass_times *t = ctx;
    if (name >= GPU_ENCODE_PASSES)
        return;
    t->all += seconds;
    t->encode->seconds[name] += seconds;
}

/* gpu_work's done() */
static void encode_done(void *ctx, const struct gpu_submission *s)
{
    struct encode_batch *b = ctx;
    struct pass_times times = {.encode = b->encode};
    pthread_mutex_lock(&b->encode->times_lock);
    gpu_work_times(s, pass_add, &times);
    if (s->last.value == b->records.value)
        b->spent.passes = times.all;
    pthread_mutex_unlock(&b->encode->times_lock);
}

const char *gpu_encode_time(struct gpu_encode *e, uint32_t i, double *seconds)
{
    static const char *const copies[ENCODE_COPIES] = {"copies up", "copies down"};
    if (i >= encode_pass_count + ENCODE_COPIES)
        return NULL;
    pthread_mutex_lock(&e->times_lock);
    *seconds = e->seconds[i];
    pthread_mutex_unlock(&e->times_lock);
    return i < encode_pass_count ? encode_passes[i].name : copies[i - encode_pass_count];
}

/* Submissions of a batch: its records, the references, the rest of the coefficients */
static int create_work(struct gpu_encode *e, struct encode_batch *b, enum gpu_queue_use use)
{
    int err = gpu_queue_get(e->g, use, &b->queue);
    return err < 0 ? err
                   : gpu_work_create(e->g,
                                     &(struct gpu_work_params){.queues = {b->queue},
                                                               .depth = 3,
                                                               .stamps = GPU_ENCODE_PASSES,
                                                               .done = encode_done,
                                                               .ctx = b},
                                     &b->work);
}

static void batch_free(struct gpu_encode *e, struct encode_batch *b)
{
    gpu_work_free(b->work);
    for (int i = 0; i < ENC_BINDINGS; i++)
        gpu_buffer_free(e->g, &b->own[i]);
    gpu_buffer_free(e->g, &b->up);
    gpu_buffer_free(e->g, &b->totals);
    pictures_free(&b->now);
    pictures_free(&b->ahead);
    free(b->decisions);
    free(b->copied);
}

int gpu_encode_create(struct gpu *g, const struct gpu_encode_params *params,
                      struct gpu_encode **out)
{
    const struct gpu_bindings bindings = {.buffers = (1u << ENC_BINDINGS) - 1};
    int err = GPU_OK;
    struct gpu_encode *e;
    if (!params->mb_width || !params->mb_height || !params->pictures || !params->streams ||
        !params->sources || params->sets <= params->sources || params->sets > MOST_SETS)
        return GPU_ERR_INVALID;
    e = calloc(1, sizeof(*e));
    if (!e)
        return GPU_ERR_NOMEM;
    e->g = g;
    e->params = *params;
    if (!params->wavefront)
        e->params.wavefront = g->info.software ? ENCODE_DIAGONALS : ENCODE_AT_ONCE;
    pthread_mutex_init(&e->lock, NULL);
    pthread_mutex_init(&e->times_lock, NULL);
    TRY(gpu_layout_get(g, &bindings, sizeof(struct enc_args), &e->layout));
    TRY(encode_take_create(g, &bindings, &e->take));
    TRY(create_buffers(e));
    TRY(create_batches(e));
    TRY(create_pipelines(e));
    for (int i = 0; i < GPU_ENCODE_FLIGHT; i++)
        TRY(create_work(e, &e->batches[i], i ? GPU_QUEUE_DELIVER : GPU_QUEUE_MAIN));
    *out = e;
    return GPU_OK;
error:
    gpu_encode_free(e);
    return err;
}

void gpu_encode_free(struct gpu_encode *e)
{
    if (!e)
        return;
    for (int i = 0; i < GPU_ENCODE_FLIGHT; i++) /* each waits, before what all share goes */
        batch_free(e, &e->batches[i]);
    e->g->vk.vkDestroyDescriptorPool(e->g->device, e->descriptors, NULL);
    for (int i = 0; i < ENC_BINDINGS; i++)
        gpu_buffer_free(e->g, &e->shared[i]);
    gpu_buffer_free(e->g, &e->down);
    pthread_mutex_destroy(&e->times_lock);
    pthread_mutex_destroy(&e->lock);
    free(e->coeff_blocks);
    free(e->stream_done);
    free(e);
}
