/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Streams of an encoder on a GPU: their references, and the records of a picture as the writer of
 * slices takes them. What a picture starts from follows encode/reference/decide.c.
 */
#include "gpu/encode/gpu_encoder.h"

#include "encode/analysis.h"
#include "encode/reference/cost.h"
#include "encode/slice_writer.h"
#include "gpu/encode/encode_copier.h"
#include "gpu/encode/encode_store.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STREAMS 8

/* Macroblocks of a picture whose slice data may be wanted: with more of them, sums of bits might
 * not fit 32 bits. A macroblock has 20,000 at most. */
#define MOST_CODED 131072

struct store_list {
    struct encode_store *store;
    struct store_list *next;
};

struct gpu_encoder {
    struct gpu *g;
    struct gpu_encoder_params params;
    pthread_mutex_t lock;
    struct store_list *stores;
    struct encode_copier *copier;
};

/* A stream */
struct gpu_decider {
    struct encode_store *store;
    struct encode_copier *copier;
    uint32_t stream;
    const struct encoding *encoding;
    const struct encoding_limits *limits;
    uint32_t mb_count, slice_count;
    uint32_t accepted; /* references, of which an IDR picture uses none */
    uint32_t turn;     /* of the picture that is decided: pictures accepted so far */
    uint32_t ref_count;
    struct gpu_arena *arena; /* of the source and the records */
    uint8_t *source;         /* whole macroblocks */
    uint8_t coding;          /* ENC_CAVLC or ENC_BINS; 0: records are wanted */
    struct rec_slice slices[ENCODING_SLICES];
    struct slice_data data[ENCODING_SLICES];
    struct rec_scaling scaling;
    struct gpu_encode_result result;
    struct rec_view view;
    struct enc_analysis *analysis; /* by macroblock */
    bool loaded;                   /* the picture's source is on the device */
    bool ahead;                    /* the next picture is looked at with this one */
};

/* ---- life ---- */

int gpu_encoder_create(struct gpu *g, const struct gpu_encoder_params *params,
                       struct gpu_encoder **out)
{
    struct gpu_encoder *e = calloc(1, sizeof(*e));
    if (!e || !(e->copier = encode_copier_create())) {
        free(e);
        return GPU_ERR_NOMEM;
    }
    e->g = g;
    e->params = *params;
    e->params.streams = params->streams ? params->streams : STREAMS;
    e->params.pictures = params->pictures ? params->pictures : e->params.streams;
    pthread_mutex_init(&e->lock, NULL);
    *out = e;
    return GPU_OK;
}

void gpu_encoder_free(struct gpu_encoder *e)
{
    if (!e)
        return;
    while (e->stores) {
        struct store_list *next = e->stores->next;
        encode_store_free(e->stores->store);
        free(e->stores);
        e->stores = next;
    }
    encode_copier_free(e->copier);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

void gpu_encoder_count(struct gpu_encoder *e, struct gpu_encoder_counts *out)
{
    *out = (struct gpu_encoder_counts){0};
    pthread_mutex_lock(&e->lock);
    for (struct store_list *l = e->stores; l; l = l->next)
        encode_store_count(l->store, out);
    pthread_mutex_unlock(&e->lock);
}

/* A place in a store of this size; with the lock */
static int encoder_place(struct gpu_encoder *e, const struct encode_store_params *params,
                         struct gpu_decider *d)
{
    struct store_list *l;
    int err;
    for (l = e->stores; l; l = l->next)
        if (encode_store_fits(l->store, params) && encode_store_enter(l->store, &d->stream)) {
            d->store = l->store;
            return GPU_OK;
        }
    l = calloc(1, sizeof(*l));
    if (!l)
        return GPU_ERR_NOMEM;
    err = encode_store_create(e->g, params, &l->store);
    if (err < 0) {
        free(l);
        return err;
    }
    l->next = e->stores;
    e->stores = l;
    d->store = l->store;
    return encode_store_enter(d->store, &d->stream) ? GPU_OK : GPU_ERR_INVALID;
}

/* The device reads and writes all of it. Records and coefficients are multiples of 8 bytes. */
static int decider_create_arrays(struct gpu_decider *d, struct gpu *g, bool frames)
{
    size_t mbs = d->mb_count, source = 384 * mbs, coeffs = mbs * ENC_BLOCKS * 32;
    size_t records = mbs * sizeof(struct rec_mb), motion = mbs * sizeof(struct rec_motion);
    size_t analysis = mbs * sizeof(struct enc_analysis);
    size_t all = source + coeffs + records + motion + analysis;
    void *memory;
    int err = gpu_arena_create(g, all + (frames ? source : 0), &d->arena, &memory);
    if (err < 0)
        return err;
    d->source = memory;
    d->result.coeffs = (void *)(d->source + source);
    d->result.mbs = (void *)(d->source + source + coeffs);
    d->result.motion = (void *)(d->source + source + coeffs + records);
    d->analysis = (void *)(d->source + all - analysis);
    if (frames)
        d->result.frame = d->source + all;
    return GPU_OK;
}

static void gpu_decider_end(void *ctx)
{
    struct gpu_decider *d = ctx;
    if (d->ahead)
        encode_store_wait(d->store, d->stream); /* it writes into the arena */
    if (d->store)
        encode_store_leave(d->store, d->stream);
    gpu_arena_free(d->arena);
    free(d);
}

static int decider_place(struct gpu_encoder *e, struct gpu_decider *d)
{
    struct encode_store_params params = {.mb_width = d->limits->mb_width,
                                         .mb_height = d->limits->mb_height,
                                         .chroma_format_idc = d->encoding->chroma_format_idc,
                                         .references = d->encoding->references,
                                         .streams = e->params.streams,
                                         .pictures = e->params.pictures};
    int err;
    pthread_mutex_lock(&e->lock);
    err = encoder_place(e, &params, d);
    pthread_mutex_unlock(&e->lock);
    return err;
}

/* ---- a picture's input ---- */

/* Frames of the device are read by encode_take. */
static struct gpu_encode_source source_load(struct gpu_decider *d,
                                            const struct decider_source *from)
{
    if (from->device)
        return *from->device;
    encode_copier_run(d->copier, d->encoding, d->limits, from, d->source);
    return (struct gpu_encode_source){.frame = d->source};
}

/* The same for its analysis and its decisions */
static struct enc_picture source_head(const struct gpu_decider *d, uint32_t turn)
{
    return (struct enc_picture){
        .source = 2 * d->stream + turn % 2,
        .before = turn ? 2 * d->stream + (turn + 1) % 2 : ENC_NO_SET,
        .last = 2 * d->stream + (turn + 1) % 2,
        .kept = 2 * d->stream + turn % 2,
    };
}

/* Frames of the host would need a second place to be copied to. */
static struct gpu_encode_look ahead_of(const struct gpu_decider *d,
                                       const struct decider_source *next)
{
    if (!next || !next->device)
        return (struct gpu_encode_look){0};
    return (struct gpu_encode_look){
        .picture = source_head(d, d->turn + 1), .source = *next->device, .analysis = d->analysis};
}

static struct enc_picture picture_head(const struct gpu_decider *d, const struct decider_wish *wish)
{
    const struct encoding *e = d->encoding;
    struct enc_picture p = source_head(d, d->turn);
    p.qp = (uint32_t)wish->qp;
    p.ref_count = wish->skip ? 0 : d->ref_count;
    for (uint32_t r = 0; r < p.ref_count; r++)
        p.reference[r] = (uint16_t)encode_store_set(d->store, d->stream, d->turn - 1 - r);
    if (wish->skip)
        p.reference[0] = (uint16_t)encode_store_set(d->store, d->stream, d->turn - 1);
    p.pending = encode_store_set(d->store, d->stream, d->turn);
    p.lambda = cost_lambda(wish->qp);
    p.lambda_ssd = cost_lambda_ssd(wish->qp);
    p.mv_max[0] = (uint16_t)d->limits->mv_x;
    p.mv_max[1] = (uint16_t)d->limits->mv_y;
    p.level_max = d->limits->max_level;
    p.chroma_qp_offset = e->chroma_qp_offset;
    p.flags = (uint8_t)((e->transform_8x8 ? ENC_TRANSFORM_8X8 : 0) | (d->loaded ? ENC_LOADED : 0) |
                        (e->chroma_format_idc ? ENC_CHROMA : 0) | (wish->skip ? ENC_SKIP_ALL : 0) |
                        d->coding);
    p.slices = e->slices;
    p.deblocking = e->deblocking;
    p.filter_offset[0] = (int8_t)(2 * e->filter_offset_a);
    p.filter_offset[1] = (int8_t)(2 * e->filter_offset_b);
    return p;
}

/* ---- records ---- */

static void slices_fill(struct gpu_decider *d)
{
    const struct encoding *e = d->encoding;
    d->slice_count = e->slices < d->limits->mb_height ? e->slices : d->limits->mb_height;
    for (uint32_t i = 0; i < d->slice_count; i++) {
        struct rec_slice *s = &d->slices[i];
        *s = (struct rec_slice){.slice_type = d->ref_count ? 0 : 2,
                                .num_ref = {(uint8_t)d->ref_count},
                                .filter_offset_a = (int8_t)(2 * e->filter_offset_a),
                                .filter_offset_b = (int8_t)(2 * e->filter_offset_b)};
        for (uint32_t r = 0; r < d->ref_count; r++)
            s->ref[0][r] = (uint16_t)REC_REF(
                encode_store_slot(d->store, d->stream, d->turn - 1 - r), REC_FRAME);
    }
}

/* Where each slice's data are: whole units, one slice after the other */
static void data_fill(struct gpu_decider *d)
{
    uint32_t size = d->coding == ENC_CAVLC ? ENC_UNIT_BITS : ENC_UNIT_CODES, unit = 0;
    for (uint32_t i = 0; i < d->slice_count; i++) {
        uint32_t row = i * d->limits->mb_height / d->slice_count;
        uint8_t deblocking = d->encoding->deblocking;
        d->data[i] = (struct slice_data){
            .first_mb = row * d->limits->mb_width,
            .deblocking = (uint8_t)(deblocking == 2 && i == 0 ? 0 : deblocking),
            .qp = (int8_t)d->result.total.qp[i],
            .data = d->result.coeffs + unit,
            .count = d->result.total.count[i],
        };
        unit += (d->result.total.count[i] + size - 1) / size;
    }
}

static void view_begin(struct gpu_decider *d)
{
    struct rec_picture *head = &d->view.head;
    d->view = (struct rec_view){
        .slices = d->slices,
        .scaling = &d->scaling,
        .slice_count = d->slice_count,
        .scaling_count = 1,
    };
    *head = (struct rec_picture){
        .slot = encode_store_slot(d->store, d->stream, d->turn),
        .mb_width = d->limits->mb_width,
        .mb_height = d->limits->mb_height,
        .structure = REC_FRAME,
        .chroma_format_idc = d->encoding->chroma_format_idc,
        .bit_depth = {8, 8},
        .coeff_bytes = 2,
        .mb_count = d->mb_count,
    };
}

static void records_fill(struct gpu_decider *d)
{
    struct rec_picture *head = &d->view.head;
    d->view.mbs = d->result.mbs;
    d->view.motion = d->result.motion;
    d->view.coeffs = d->result.coeffs;
    d->view.coeff_block_count = d->result.coeff_block_count;
    for (uint32_t i = 0; i < d->mb_count; i++) {
        head->has_inter |= d->result.mbs[i].kind == REC_MB_INTER;
        head->has_intra |= d->result.mbs[i].kind != REC_MB_INTER;
        head->has_deblock |= d->result.mbs[i].deblock != 0;
    }
}

/* ---- the calls ---- */

/* An enum decider_error of an enum gpu_error */
static int decider_error(int err)
{
    return err == GPU_ERR_INVALID ? DECIDER_INVALID
           : err == GPU_ERR_NOMEM ? DECIDER_NOMEM
           : err < 0              ? DECIDER_LOST
                                  : 0;
}

static int gpu_decide(void *ctx, const struct decider_source *source,
                      const struct decider_wish *wish, struct rec_view *view)
{
    struct gpu_decider *d = ctx;
    struct gpu_encode_decision job = {
        .offsets = wish->qp_offsets, .result = d->result, .ahead = ahead_of(d, source->next)};
    d->ref_count = wish->idr ? 0 : d->accepted;
    if (!d->loaded)
        job.source = source_load(d, source);
    slices_fill(d);
    job.picture = picture_head(d, wish);
    int err = decider_error(encode_store_decide(d->store, &job));
    if (err < 0)
        return err;
    d->loaded = true;
    d->ahead |= job.ahead.analysis != NULL;
    d->result = job.result;
    view_begin(d);
    if (d->result.coded)
        data_fill(d);
    else
        records_fill(d);
    *view = d->view;
    bool bad = !d->result.coded && records_validate_content(&d->view, NULL) < 0;
    return bad ? DECIDER_INVALID : 0;
}

static const struct slice_data *gpu_data(void *ctx)
{
    const struct gpu_decider *d = ctx;
    return d->result.coded ? d->data : NULL;
}

static int source_analyse(struct gpu_decider *d, const struct decider_source *source)
{
    const struct gpu_encode_look look = {.picture = source_head(d, d->turn),
                                         .source = source_load(d, source),
                                         .analysis = d->analysis};
    return encode_store_analyse(d->store, &look);
}

static int gpu_analyse(void *ctx, const struct decider_source *source, struct analysis_costs *costs,
                       int8_t *qp_offsets)
{
    struct gpu_decider *d = ctx;
    int err = decider_error(d->ahead ? encode_store_wait(d->store, d->stream)
                                     : source_analyse(d, source));
    if (err < 0)
        return err;
    d->loaded = true;
    d->ahead = false;
    *costs = (struct analysis_costs){0};
    for (uint32_t i = 0; i < d->mb_count; i++) {
        costs->intra += d->analysis[i].intra;
        costs->inter += d->analysis[i].inter;
        qp_offsets[i] = d->analysis[i].qp_offset;
    }
    return 0;
}

/* The device has made a reference of it already. */
static void gpu_accept(void *ctx)
{
    struct gpu_decider *d = ctx;
    d->turn++;
    d->loaded = false;
    d->accepted =
        d->ref_count < d->encoding->references ? d->ref_count + 1 : d->encoding->references;
}

const uint8_t *gpu_decider_frame(const void *ctx)
{
    return ((const struct gpu_decider *)ctx)->result.frame;
}

const struct gpu_encode_spent *gpu_decider_spent(const void *ctx)
{
    return &((const struct gpu_decider *)ctx)->result.spent;
}

int gpu_decider_begin(void *ctx, const struct encoding *e, const struct encoding_limits *limits,
                      struct decider_calls *out, char *why)
{
    struct gpu_decider *d = calloc(1, sizeof(*d));
    struct gpu_encoder *encoder = ctx;
    int err = GPU_ERR_NOMEM;
    if (d) {
        d->copier = encoder->copier;
        d->encoding = e;
        d->limits = limits;
        d->mb_count = limits->mb_width * limits->mb_height;
        if (!encoder->params.records && d->mb_count <= MOST_CODED)
            d->coding = e->cabac ? ENC_BINS : ENC_CAVLC;
        memset(&d->scaling, 16, sizeof(d->scaling));
        err = decider_create_arrays(d, encoder->g, encoder->params.frames);
        err = err < 0 ? err : decider_place(encoder, d);
    }
    if (err < 0) {
        snprintf(why, ENCODING_WHY, "the device has no room for the encoder: %s",
                 gpu_error_text(err));
        if (d)
            gpu_decider_end(d);
        return -1;
    }
    *out = (struct decider_calls){.ctx = d,
                                  .analyse = gpu_analyse,
                                  .decide = gpu_decide,
                                  .data = gpu_data,
                                  .accept = gpu_accept,
                                  .end = gpu_decider_end};
    return 0;
}
