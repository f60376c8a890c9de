/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Batches of the encoder's passes: buffers, recording, results.
 *
 * A batch is two submissions. The first one decides and brings the records to the host, with as
 * many coefficients as the streams had the last time, and some more. The second one makes
 * references of the reconstructions, while the host writes bits. Where there were more
 * coefficients, a third one brings them.
 *
 * Each batch in flight has buffers and a queue of its own where the device has two: so the copies
 * of one run beside the passes of the other. Planes and the motion of the picture before are those
 * of streams. A batch begins after all batches that its streams were in.
 */
#include "gpu/encode/gpu_encode.h"

#include "gpu/encode/encode_table.h"
#include "gpu/encode/encode_take.h"
#include "gpu/engine/arena.h"
#include "gpu/engine/buffers.h"
#include "gpu/engine/descriptors.h"
#include "gpu/engine/pipeline.h"
#include "gpu/engine/work.h"
#include "gpu/shaders/lib/cases.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PASSES 48
#define MOST_SETS  65536 /* enc_picture.reference has 16 bits */
/* Timestamps after those of passes */
enum { STAMP_UP, STAMP_DOWN, COPIES };
/* Resource of barriers beside the bindings: memory that the host reads */
#define RESULTS (1u << ENC_BINDINGS)

/* Bindings that all batches share */
#define SHARED                                                                                     \
    (1u << ENC_BIND_PLANES | 1u << ENC_BIND_LAST | 1u << ENC_BIND_QUANTISER | 1u << ENC_BIND_CODES)

/* Of a batch in flight */
struct encode_batch {
    bool busy;
    uint32_t count;
    struct gpu_queue *queue;
    struct gpu_work *work;
    struct gpu_buffer own[ENC_BINDINGS]; /* but those that are shared */
    VkBuffer device[ENC_BINDINGS];
    VkDescriptorSet set;
    struct gpu_buffer up, totals;         /* of the host: small inputs; numbers of coefficients */
    struct gpu_point records, references; /* the ends of both submissions */
    uint32_t *stream, *copied;            /* by picture; coefficient blocks that are brought */
    struct enc_picture *pictures;
};

struct gpu_encode {
    struct gpu *g;
    struct gpu_encode_params params;
    const struct gpu_layout *layout;
    VkPipeline pipelines[MAX_PASSES];
    struct encode_take take;
    struct gpu_buffer shared[ENC_BINDINGS];
    uint64_t sizes[ENC_BINDINGS];
    struct gpu_buffer down; /* of the host: of gpu_encode_read */
    VkDescriptorPool descriptors;
    struct encode_batch batches[GPU_ENCODE_FLIGHT];
    struct encode_batch *newest;   /* the batch that was submitted last */
    uint32_t *coeff_blocks;        /* of each stream's picture before */
    struct gpu_point *stream_done; /* the end of each stream's last batch */
    struct gpu_point filled;       /* the quantiser's tables are on the device */
    /* of recording, batches[].busy, newest, coeff_blocks, stream_done, filled */
    pthread_mutex_t lock;
    pthread_mutex_t times_lock;
    double seconds[MAX_PASSES];
};

/* ---- life ---- */

static uint64_t mb_count(const struct gpu_encode_params *p)
{
    return (uint64_t)p->mb_width * p->mb_height;
}

static uint64_t set_size(const struct gpu_encode_params *p)
{
    uint64_t w = 16ull * p->mb_width, h = 16ull * p->mb_height;
    return ENC_SET_SIZE(w, h);
}

uint64_t gpu_encode_frame_size(const struct gpu_encode *e)
{
    return 384 * mb_count(&e->params);
}

static void encode_sizes(const struct gpu_encode_params *p, uint64_t sizes[ENC_BINDINGS])
{
    uint64_t mbs = mb_count(p), all = mbs * p->pictures;
    sizes[ENC_BIND_PICTURES] = p->pictures * sizeof(struct enc_picture);
    sizes[ENC_BIND_FRAMES] = sizes[ENC_BIND_UNFILTERED] = 384 * all;
    sizes[ENC_BIND_PLANES] = p->sets * set_size(p);
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
    sizes[ENC_BIND_TICKETS] = 4 * (1 + all);
    sizes[ENC_BIND_CODINGS] = all * sizeof(struct enc_codings);
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

static int create_batches(struct gpu_encode *e)
{
    uint64_t up = e->sizes[ENC_BIND_PICTURES] + e->sizes[ENC_BIND_OFFSETS] +
                  e->sizes[ENC_BIND_QUANTISER] + e->sizes[ENC_BIND_CODES] +
                  4ull * e->params.pictures;
    int err = GPU_OK;
    e->coeff_blocks = calloc(e->params.streams, sizeof(*e->coeff_blocks));
    e->stream_done = calloc(e->params.streams, sizeof(*e->stream_done));
    for (int i = 0; i < GPU_ENCODE_FLIGHT; i++) {
        struct encode_batch *b = &e->batches[i];
        b->stream = calloc(e->params.pictures, sizeof(*b->stream));
        b->copied = calloc(e->params.pictures, sizeof(*b->copied));
        b->pictures = calloc(e->params.pictures, sizeof(*b->pictures));
        if (!b->stream || !b->copied || !b->pictures || !e->coeff_blocks || !e->stream_done)
            return GPU_ERR_NOMEM;
        TRY(gpu_buffer_create(e->g, up, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, GPU_MEMORY_UPLOAD,
                              &b->up));
        TRY(gpu_buffer_create(e->g, e->sizes[ENC_BIND_TOTALS], VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                              GPU_MEMORY_READBACK, &b->totals));
    }
error:
    return err;
}

/* A power of two */
static uint32_t threads_at_most(const struct gpu *g)
{
    uint32_t n = 1024;
    while (n > g->limits.maxComputeWorkGroupInvocations || n > g->limits.maxComputeWorkGroupSize[0])
        n /= 2;
    return n;
}

static int create_pipelines(struct gpu_encode *e)
{
    struct gpu_pipeline_want wants[MAX_PASSES];
    for (uint32_t i = 0; i < encode_pass_count; i++) {
        const struct encode_pass *p = &encode_passes[i];
        bool halves = p->half_spirv && e->g->info.half_floats && !e->params.no_halves;
        wants[i] =
            (struct gpu_pipeline_want){.layout = e->layout,
                                       .spirv = halves ? p->half_spirv : p->spirv,
                                       .spirv_size = halves ? p->half_spirv_size : p->spirv_size,
                                       .constant_count = p->constant_count,
                                       .name = p->name,
                                       .out = &e->pipelines[i]};
        memcpy(wants[i].constants, p->constants, sizeof(p->constants));
        if (p->wavefront == ENCODE_AT_ONCE && e->g->info.software)
            wants[i].constants[1] = 2;
        if (p->widest)
            wants[i].constants[0] = threads_at_most(e->g);
    }
    return gpu_pipelines_make(e->g, wants, encode_pass_count);
}

static void pass_add(void *ctx, uint32_t name, double seconds)
{
    struct gpu_encode *e = ctx;
    if (name >= MAX_PASSES)
        return;
    pthread_mutex_lock(&e->times_lock);
    e->seconds[name] += seconds;
    pthread_mutex_unlock(&e->times_lock);
}

/* gpu_work's done() */
static void encode_done(void *ctx, const struct gpu_submission *s)
{
    gpu_work_times(s, pass_add, ctx);
}

const char *gpu_encode_time(struct gpu_encode *e, uint32_t i, double *seconds)
{
    static const char *const copies[COPIES] = {"copies up", "copies down"};
    if (i >= encode_pass_count + COPIES)
        return NULL;
    pthread_mutex_lock(&e->times_lock);
    *seconds = e->seconds[i];
    pthread_mutex_unlock(&e->times_lock);
    return i < encode_pass_count ? encode_passes[i].name : copies[i - encode_pass_count];
}

/* Submissions of a batch: its records, the references, the rest of the coefficients */
static int create_work(struct gpu_encode *e, struct encode_batch *b, enum gpu_queue_use use)
{
    int err = gpu_queue_open(e->g, use, &b->queue);
    return err < 0 ? err
                   : gpu_work_create(e->g,
                                     &(struct gpu_work_params){.queues = {b->queue},
                                                               .depth = 3,
                                                               .stamps = MAX_PASSES,
                                                               .done = encode_done,
                                                               .ctx = e},
                                     &b->work);
}

static void batch_free(struct gpu_encode *e, struct encode_batch *b)
{
    gpu_work_free(b->work);
    gpu_queue_close(b->queue);
    for (int i = 0; i < ENC_BINDINGS; i++)
        gpu_buffer_free(e->g, &b->own[i]);
    gpu_buffer_free(e->g, &b->up);
    gpu_buffer_free(e->g, &b->totals);
    free(b->stream);
    free(b->copied);
    free(b->pictures);
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

/* ---- recording ---- */

static void record_copy(struct gpu_encode *e, struct gpu_submission *s, VkBuffer from,
                        uint64_t from_at, VkBuffer to, uint64_t to_at, uint64_t size)
{
    e->g->vk.vkCmdCopyBuffer(s->commands, from, to, 1, &(VkBufferCopy){from_at, to_at, size});
}

static void record_pass(struct gpu_encode *e, struct gpu_submission *s, uint32_t index,
                        uint32_t pictures)
{
    const struct encode_pass *p = &encode_passes[index];
    struct enc_args args = {e->params.mb_width, e->params.mb_height, pictures, 0};
    uint32_t steps = encode_pass_steps(p, args.mb_width, args.mb_height), xyz[3];
    encode_pass_grid(p, args.mb_width, args.mb_height, pictures, xyz);
    e->g->vk.vkCmdBindPipeline(s->commands, VK_PIPELINE_BIND_POINT_COMPUTE, e->pipelines[index]);
    for (args.step = p->step; args.step < p->step + steps; args.step++) {
        gpu_work_sync(s, BARRIER_COMPUTE, p->reads, p->writes);
        e->g->vk.vkCmdPushConstants(s->commands, e->layout->pipeline, VK_SHADER_STAGE_COMPUTE_BIT,
                                    0, sizeof(args), &args);
        e->g->vk.vkCmdDispatch(s->commands, xyz[0], xyz[1], xyz[2]);
    }
    gpu_work_stamp(s, index);
}

static bool pass_wanted(const struct gpu_encode *e, const struct encode_batch *b,
                        const struct encode_pass *p, bool any_p)
{
    uint32_t flags = 0;
    for (uint32_t i = 0; i < b->count; i++)
        flags |= b->pictures[i].flags;
    return (any_p || !p->of_p) && (!p->wavefront || p->wavefront == e->params.wavefront) &&
           (!p->coding || p->coding & flags);
}

static void record_group(struct gpu_encode *e, struct gpu_submission *s,
                         const struct encode_batch *b, enum encode_group group, bool any_p)
{
    e->g->vk.vkCmdBindDescriptorSets(s->commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                                     e->layout->pipeline, 0, 1, &b->set, 0, NULL);
    for (uint32_t i = 0; i < encode_pass_count; i++)
        if (encode_passes[i].group == group && pass_wanted(e, b, &encode_passes[i], any_p))
            record_pass(e, s, i, b->count);
}

/* With the lock, as all that records */
static int encode_begin(struct encode_batch *b, struct gpu_submission **s)
{
    int err = gpu_work_begin(b->work, UINT64_MAX, s);
    return err < 0 ? err : gpu_work_record(*s, 0);
}

/* The same for the first submission of a batch, which may have to wait for another queue */
static int encode_begin_first(struct gpu_encode *e, struct encode_batch *b,
                              struct gpu_submission **s)
{
    int err = encode_begin(b, s);
    if (err < 0)
        return err;
    gpu_work_depend(*s, e->filled);
    for (uint32_t i = 0; i < b->count; i++)
        gpu_work_depend(*s, e->stream_done[b->stream[i]]);
    return GPU_OK;
}

/* The streams of a batch wait for its last submission. */
static void batch_submitted(struct gpu_encode *e, struct encode_batch *b, struct gpu_point point)
{
    for (uint32_t i = 0; i < b->count; i++)
        e->stream_done[b->stream[i]] = point;
    e->newest = b;
}

/* Small input of the host to a binding; *at: where up has room */
static void record_input(struct gpu_encode *e, struct gpu_submission *s, struct encode_batch *b,
                         uint32_t binding, uint64_t to, const void *from, uint64_t size,
                         uint64_t *at)
{
    memcpy(b->up.map + *at, from, size);
    gpu_work_sync(s, BARRIER_TRANSFER, 0, 1u << binding);
    record_copy(e, s, b->up.buffer, *at, b->device[binding], to, size);
    *at += (size + 3) / 4 * 4;
}

/* Chroma of a frame goes into its set as it is; luma is there for encode_load. */
static int record_frame(struct gpu_encode *e, struct gpu_submission *s,
                        const struct encode_batch *b, uint32_t picture, const uint8_t *frame)
{
    struct gpu_place from;
    uint64_t luma = 256 * mb_count(&e->params), w = 16ull * e->params.mb_width,
             h = 16ull * e->params.mb_height, set = b->pictures[picture].source;
    if (!gpu_arena_find(e->g, frame, luma / 2 * 3, &from) || from.device)
        return GPU_ERR_INVALID;
    gpu_work_sync(s, BARRIER_TRANSFER, 0, 1u << ENC_BIND_FRAMES | 1u << ENC_BIND_PLANES);
    record_copy(e, s, from.buffer, from.offset, b->device[ENC_BIND_FRAMES], picture * luma / 2 * 3,
                luma);
    record_copy(e, s, from.buffer, from.offset + luma, b->device[ENC_BIND_PLANES],
                set * set_size(&e->params) + ENC_CHROMA_AT(w, h), luma / 2);
    return GPU_OK;
}

/* Sources that are not loaded */
static int record_sources(struct gpu_encode *e, struct gpu_submission *s,
                          const struct encode_batch *b, const struct gpu_encode_source *sources)
{
    int err = GPU_OK;
    for (uint32_t i = 0; i < b->count && err == GPU_OK; i++)
        if (!(b->pictures[i].flags & ENC_LOADED) && !sources[i].host)
            err = record_frame(e, s, b, i, sources[i].frame);
    return err < 0 ? err
                   : encode_take_record(e->g, &e->take, &e->params, s, b->set, b->pictures,
                                        b->count, sources);
}

/* ---- references ---- */

/* Bytes of a binding to memory of the host that lies in an arena */
static bool record_result(struct gpu_encode *e, struct gpu_submission *s,
                          const struct encode_batch *b, uint32_t binding, uint64_t from,
                          uint64_t size, const void *to)
{
    struct gpu_place place;
    if (!gpu_arena_find(e->g, to, size, &place) || place.device)
        return false;
    gpu_work_sync(s, BARRIER_TRANSFER, 1u << binding, RESULTS);
    record_copy(e, s, b->device[binding], from, place.buffer, place.offset, size);
    return true;
}

/* A reconstruction: luma, then chroma of its set */
static bool record_frame_result(struct gpu_encode *e, struct gpu_submission *s,
                                const struct encode_batch *b, uint32_t i, uint8_t *to)
{
    uint64_t luma = 256 * mb_count(&e->params), w = 16ull * e->params.mb_width,
             h = 16ull * e->params.mb_height, set = b->pictures[i].pending;
    return record_result(e, s, b, ENC_BIND_FRAMES, i * luma / 2 * 3, luma, to) &&
           record_result(e, s, b, ENC_BIND_PLANES, set * set_size(&e->params) + ENC_CHROMA_AT(w, h),
                         luma / 2, to + luma);
}

static int submit_references(struct gpu_encode *e, struct encode_batch *b,
                             const struct gpu_encode_result *results)
{
    struct gpu_submission *s;
    int err = GPU_OK;
    TRY(encode_begin(b, &s));
    record_group(e, s, b, ENCODE_DEBLOCK, false);
    for (uint32_t i = 0; i < b->count; i++)
        if (results[i].frame && !record_frame_result(e, s, b, i, results[i].frame))
            return GPU_ERR_INVALID;
    record_group(e, s, b, ENCODE_REFERENCES, false);
    gpu_work_sync_host(s, RESULTS);
    TRY(gpu_work_submit(s));
    b->references = s->last;
error:
    return err;
}

/* ---- decisions ---- */

static bool is_reference(const struct gpu_encode *e, uint32_t set)
{
    return set >= e->params.sources && set < e->params.sets;
}

static bool pictures_valid(const struct gpu_encode *e, const struct enc_picture *pictures,
                           uint32_t count)
{
    const struct gpu_encode_params *p = &e->params;
    bool good = count > 0 && count <= p->pictures;
    for (uint32_t i = 0; good && i < count; i++) {
        const struct enc_picture *picture = &pictures[i];
        uint32_t used = picture->flags & ENC_SKIP_ALL ? 1 : picture->ref_count;
        good = picture->source < p->sources && picture->last < 2 * p->streams &&
               picture->kept < 2 * p->streams && picture->qp <= REC_MAX_QP &&
               picture->ref_count <= ENC_REFERENCES && is_reference(e, picture->pending);
        for (uint32_t r = 0; good && r < used; r++)
            good = is_reference(e, picture->reference[r]);
    }
    return good;
}

static void record_offsets(struct gpu_encode *e, struct gpu_submission *s, struct encode_batch *b,
                           const int8_t *const *offsets, uint64_t *at)
{
    uint64_t mbs = mb_count(&e->params);
    gpu_work_sync(s, BARRIER_TRANSFER, 0, 1u << ENC_BIND_OFFSETS);
    e->g->vk.vkCmdFillBuffer(s->commands, b->device[ENC_BIND_OFFSETS], 0, VK_WHOLE_SIZE, 0);
    for (uint32_t i = 0; offsets && i < b->count; i++)
        if (offsets[i])
            record_input(e, s, b, ENC_BIND_OFFSETS, i * mbs, offsets[i], mbs, at);
}

/* Coefficient blocks from `from` on, up to `to` */
static bool record_coeffs(struct gpu_encode *e, struct gpu_submission *s,
                          const struct encode_batch *b, uint32_t picture, uint32_t from,
                          uint32_t to, const struct gpu_encode_result *result)
{
    uint64_t room = mb_count(&e->params) * ENC_BLOCKS * 32;
    return from >= to || record_result(e, s, b, ENC_BIND_COEFFS, picture * room + 32ull * from,
                                       32ull * (to - from), result->coeffs + from);
}

/* A quarter more than the stream's picture before had */
static uint32_t coeffs_expected(const struct gpu_encode *e, uint32_t stream)
{
    uint64_t most = mb_count(&e->params) * ENC_BLOCKS;
    uint64_t some = (uint64_t)e->coeff_blocks[stream] * 5 / 4;
    return (uint32_t)(some < most ? some : most);
}

static bool data_wanted(const struct encode_batch *b, uint32_t picture)
{
    return b->pictures[picture].flags & (ENC_CAVLC | ENC_BINS);
}

/* Macroblocks and motion of a picture */
static bool record_mbs(struct gpu_encode *e, struct gpu_submission *s, const struct encode_batch *b,
                       uint32_t picture, const struct gpu_encode_result *result)
{
    uint64_t mbs = mb_count(&e->params), mb_bytes = mbs * sizeof(struct rec_mb),
             motion = mbs * sizeof(struct rec_motion);
    return record_result(e, s, b, ENC_BIND_MBS, picture * mb_bytes, mb_bytes, result->mbs) &&
           record_result(e, s, b, ENC_BIND_MOTION, picture * motion, motion, result->motion);
}

static int record_results(struct gpu_encode *e, struct gpu_submission *s, struct encode_batch *b,
                          const struct gpu_encode_result *results)
{
    for (uint32_t i = 0; i < b->count; i++) {
        b->copied[i] = coeffs_expected(e, b->stream[i]);
        if ((!data_wanted(b, i) && !record_mbs(e, s, b, i, &results[i])) ||
            !record_coeffs(e, s, b, i, 0, b->copied[i], &results[i]))
            return GPU_ERR_INVALID;
    }
    gpu_work_sync(s, BARRIER_TRANSFER, 1u << ENC_BIND_TOTALS, RESULTS);
    record_copy(e, s, b->device[ENC_BIND_TOTALS], 0, b->totals.buffer, 0,
                b->count * sizeof(struct enc_total));
    gpu_work_sync_host(s, RESULTS);
    gpu_work_stamp(s, encode_pass_count + STAMP_DOWN);
    return GPU_OK;
}

static int submit_records(struct gpu_encode *e, struct encode_batch *b,
                          const struct gpu_encode_source *sources, const int8_t *const *offsets,
                          const struct gpu_encode_result *results)
{
    uint64_t at = 0;
    struct gpu_submission *s;
    bool any_p = false, any_load = false;
    int err = GPU_OK;
    for (uint32_t i = 0; i < b->count; i++) {
        any_p |= b->pictures[i].ref_count > 0;
        any_load |= !(b->pictures[i].flags & ENC_LOADED);
    }
    TRY(encode_begin_first(e, b, &s));
    if (!e->filled.value) {
        record_input(e, s, b, ENC_BIND_QUANTISER, 0, e->params.quantiser,
                     sizeof(e->params.quantiser), &at);
        record_input(e, s, b, ENC_BIND_CODES, 0, &e->params.codes, sizeof(e->params.codes), &at);
    }
    record_input(e, s, b, ENC_BIND_PICTURES, 0, b->pictures, b->count * sizeof(*b->pictures), &at);
    TRY(record_sources(e, s, b, sources));
    record_offsets(e, s, b, offsets, &at);
    gpu_work_sync(s, BARRIER_TRANSFER, 0, 1u << ENC_BIND_TICKETS);
    e->g->vk.vkCmdFillBuffer(s->commands, b->device[ENC_BIND_TICKETS], 0, VK_WHOLE_SIZE, 0);
    gpu_work_stamp(s, encode_pass_count + STAMP_UP);
    if (any_load)
        record_group(e, s, b, ENCODE_PLANES, false);
    record_group(e, s, b, ENCODE_DECISIONS, any_p);
    TRY(record_results(e, s, b, results));
    TRY(gpu_work_submit(s));
    b->records = s->last;
    e->filled = e->filled.value ? e->filled : s->last;
error:
    return err;
}

/* A batch that is free, with its pictures; NULL: there is none. With the lock */
static struct encode_batch *batch_begin(struct gpu_encode *e, const struct enc_picture *pictures,
                                        uint32_t count)
{
    uint32_t i = 0;
    while (i < GPU_ENCODE_FLIGHT && e->batches[i].busy)
        i++;
    if (i == GPU_ENCODE_FLIGHT)
        return NULL;
    struct encode_batch *b = &e->batches[i];
    b->count = count;
    for (uint32_t k = 0; k < count; k++) {
        b->stream[k] = pictures[k].kept / 2;
        b->pictures[k] = pictures[k];
    }
    return b;
}

int gpu_encode_submit(struct gpu_encode *e, const struct enc_picture *pictures, uint32_t count,
                      const struct gpu_encode_source *sources, const int8_t *const *offsets,
                      const struct gpu_encode_result *results, uint32_t *batch)
{
    int err = GPU_OK;
    if (!pictures_valid(e, pictures, count))
        return GPU_ERR_INVALID;
    pthread_mutex_lock(&e->lock);
    struct encode_batch *b = batch_begin(e, pictures, count);
    if (!b)
        err = GPU_ERR_INVALID;
    TRY(err);
    TRY(submit_records(e, b, sources, offsets, results));
    err = submit_references(e, b, results);
    if (err < 0 && !atomic_load(&e->g->lost))
        gpu_work_drain(b->work); /* it still writes records */
    TRY(err);
    batch_submitted(e, b, b->references);
    b->busy = true;
    *batch = (uint32_t)(b - e->batches);
error:
    pthread_mutex_unlock(&e->lock);
    return err;
}

static int point_wait(struct gpu_encode *e, struct encode_batch *b, const struct gpu_point *point)
{
    int err = gpu_points_wait(e->g, point, 1, UINT64_MAX);
    return err < 0 ? err : gpu_work_poll(b->work);
}

static bool result_has_data(const struct gpu_encode *e, const struct gpu_encode_result *result)
{
    return result->total.units <= mb_count(&e->params) * ENC_BLOCKS;
}

/* Blocks or units that a picture has in the room of coefficients */
static uint32_t result_blocks(const struct gpu_encode *e, const struct gpu_encode_result *result)
{
    return result_has_data(e, result) ? result->total.units : result->total.blocks;
}

/* The slice data of a picture found no room: then its records are to come, all of them. */
static bool records_missing(const struct gpu_encode *e, const struct encode_batch *b,
                            uint32_t picture, const struct gpu_encode_result *result)
{
    return data_wanted(b, picture) && !result_has_data(e, result);
}

/* What was not expected: more coefficients, or records; *point: when they are there. With the lock
 */
static int submit_rest(struct gpu_encode *e, struct encode_batch *b,
                       const struct gpu_encode_result *results, struct gpu_point *point)
{
    struct gpu_submission *s;
    int err = GPU_OK;
    TRY(encode_begin(b, &s));
    for (uint32_t i = 0; i < b->count; i++) {
        bool records = records_missing(e, b, i, &results[i]);
        if ((records && !record_mbs(e, s, b, i, &results[i])) ||
            !record_coeffs(e, s, b, i, records ? 0 : b->copied[i], result_blocks(e, &results[i]),
                           &results[i]))
            return GPU_ERR_INVALID;
    }
    gpu_work_sync_host(s, RESULTS);
    gpu_work_stamp(s, encode_pass_count + STAMP_DOWN);
    TRY(gpu_work_submit(s));
    *point = s->last;
error:
    return err;
}

/* The numbers of coefficients are known. */
static int take_totals(struct gpu_encode *e, struct encode_batch *b,
                       struct gpu_encode_result *results)
{
    const struct enc_total *totals = (const struct enc_total *)b->totals.map;
    struct gpu_point point;
    bool more = false;
    int err = GPU_OK;
    pthread_mutex_lock(&e->lock);
    for (uint32_t i = 0; i < b->count; i++) {
        uint32_t blocks;
        results[i].total = totals[i];
        results[i].coeff_block_count = totals[i].blocks;
        e->coeff_blocks[b->stream[i]] = blocks = result_blocks(e, &results[i]);
        more |= blocks > b->copied[i] || records_missing(e, b, i, &results[i]);
    }
    if (more)
        err = submit_rest(e, b, results, &point);
    pthread_mutex_unlock(&e->lock);
    return more && err == GPU_OK ? point_wait(e, b, &point) : err;
}

int gpu_encode_wait(struct gpu_encode *e, uint32_t batch, struct gpu_encode_result *results)
{
    struct encode_batch *b = &e->batches[batch];
    bool frames = false;
    int err = GPU_OK;
    TRY(point_wait(e, b, &b->records));
    TRY(take_totals(e, b, results));
    for (uint32_t i = 0; i < b->count; i++)
        frames |= results[i].frame != NULL;
    if (frames)
        TRY(point_wait(e, b, &b->references));
error:
    pthread_mutex_lock(&e->lock);
    b->busy = false;
    pthread_mutex_unlock(&e->lock);
    return err;
}

/* ---- analysis ---- */

static bool sources_valid(const struct gpu_encode *e, const struct enc_picture *pictures,
                          uint32_t count)
{
    bool good = count > 0 && count <= e->params.pictures;
    for (uint32_t i = 0; good && i < count; i++)
        good = pictures[i].source < e->params.sources && pictures[i].kept < 2 * e->params.streams &&
               (pictures[i].before == ENC_NO_SET || pictures[i].before < e->params.sources);
    return good;
}

static int submit_analysis(struct gpu_encode *e, struct encode_batch *b,
                           const struct gpu_encode_source *sources,
                           struct enc_analysis *const *results)
{
    uint64_t at = 0, size = mb_count(&e->params) * sizeof(struct enc_analysis);
    struct gpu_submission *s;
    int err = GPU_OK;
    TRY(encode_begin_first(e, b, &s));
    record_input(e, s, b, ENC_BIND_PICTURES, 0, b->pictures, b->count * sizeof(*b->pictures), &at);
    TRY(record_sources(e, s, b, sources));
    gpu_work_stamp(s, encode_pass_count + STAMP_UP);
    record_group(e, s, b, ENCODE_PLANES, false);
    record_group(e, s, b, ENCODE_ANALYSIS, false);
    for (uint32_t i = 0; i < b->count; i++)
        if (!record_result(e, s, b, ENC_BIND_ANALYSIS, i * size, size, results[i]))
            return GPU_ERR_INVALID;
    gpu_work_sync_host(s, RESULTS);
    gpu_work_stamp(s, encode_pass_count + STAMP_DOWN);
    TRY(gpu_work_submit(s));
    b->records = s->last;
error:
    return err;
}

int gpu_encode_analyse(struct gpu_encode *e, const struct enc_picture *pictures, uint32_t count,
                       const struct gpu_encode_source *sources, struct enc_analysis *const *results)
{
    int err = GPU_OK;
    if (!sources_valid(e, pictures, count))
        return GPU_ERR_INVALID;
    pthread_mutex_lock(&e->lock);
    struct encode_batch *b = batch_begin(e, pictures, count);
    err = b ? submit_analysis(e, b, sources, results) : GPU_ERR_INVALID;
    if (err == GPU_OK) {
        batch_submitted(e, b, b->records);
        b->busy = true;
    }
    pthread_mutex_unlock(&e->lock);
    TRY(err);
    err = point_wait(e, b, &b->records);
    pthread_mutex_lock(&e->lock);
    b->busy = false;
    pthread_mutex_unlock(&e->lock);
error:
    return err;
}

int gpu_encode_decide(struct gpu_encode *e, const struct enc_picture *pictures, uint32_t count,
                      const struct gpu_encode_source *sources, const int8_t *const *offsets,
                      struct gpu_encode_result *results)
{
    uint32_t batch;
    int err = gpu_encode_submit(e, pictures, count, sources, offsets, results, &batch);
    return err < 0 ? err : gpu_encode_wait(e, batch, results);
}

int gpu_encode_read(struct gpu_encode *e, uint32_t binding, uint64_t offset, uint64_t size,
                    void *out)
{
    struct gpu_submission *s;
    int err = GPU_OK;
    if (binding >= ENC_BINDINGS || offset > e->sizes[binding] || size > e->sizes[binding] - offset)
        return GPU_ERR_INVALID;
    pthread_mutex_lock(&e->lock);
    struct encode_batch *b = e->newest ? e->newest : &e->batches[0];
    if (size > e->down.size) {
        gpu_buffer_free(e->g, &e->down);
        TRY(gpu_buffer_create(e->g, size, VK_BUFFER_USAGE_TRANSFER_DST_BIT, GPU_MEMORY_READBACK,
                              &e->down));
    }
    TRY(encode_begin(b, &s));
    gpu_work_sync(s, BARRIER_TRANSFER, 1u << binding, RESULTS);
    record_copy(e, s, b->device[binding], offset, e->down.buffer, 0, size);
    gpu_work_sync_host(s, RESULTS);
    TRY(gpu_work_submit(s));
    TRY(gpu_work_drain(b->work));
    memcpy(out, e->down.map, size);
error:
    pthread_mutex_unlock(&e->lock);
    return err;
}
