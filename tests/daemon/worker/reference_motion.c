/* SPDX-License-Identifier: BSD-2-Clause
 *
 * gpu/h264/gpu_motion.h for tests of the worker. A thread derives each batch by the CPU's own step
 * 3, after a delay. So batches overtake each other as on a device. It knows a picture only from
 * gpu_motion_add and builds it anew from that.
 *
 * Environment:
 * - PELTON_TEST_ENTROPY_SEED changes the delays.
 * - PELTON_TEST_MOTION_BATCHES=N has memory for N batches only.
 * - PELTON_TEST_MOTION_PICTURES=N has memory for N pictures in each batch.
 * - PELTON_TEST_BAD_MOTION=N: every N-th picture is DER_BAD, with noise in place of its results.
 * - PELTON_TEST_LOSE_MOTION=N: all batches from the N-th on fail.
 */
#include "codec/abi/motion_abi.h"
#include "codec/h264.h"
#include "codec/h264_export.h"
#include "daemon/worker/schedule/xorshift.h"
#include "gpu/h264/gpu_motion.h"
#include "tests/daemon/worker/reference.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_DELAY_US 3000

struct part {
    struct gpu_motion_picture given; /* slices and maps: copies */
    struct der_slice *slices;
    uint16_t **maps;
    bool spoil;
    uint32_t said;
    uint32_t (*used)[2]; /* of each slice */
};

enum phase { PHASE_FREE, PHASE_FILLING, PHASE_WORKING, PHASE_DONE };

struct gpu_motion_batch {
    struct gpu_motion *owner;
    enum phase phase;
    bool lost;
    uint32_t count, mbs, slices;
    struct part *parts;
    pthread_t thread;
    unsigned delay_us;
    uint64_t random;
    atomic_bool over;
};

struct gpu_motion {
    struct gpu_motion_params params;
    uint64_t random;
    unsigned long lose_from, bad_of, begun, added;
    uint32_t batch_count, picture_count;
    struct gpu_motion_batch batches[];
};

int gpu_motion_create(struct gpu *g, const struct gpu_motion_params *params,
                      struct gpu_motion **out)
{
    struct gpu_motion *m = calloc(1, sizeof(*m) + params->batches * sizeof(m->batches[0]));
    if (!m)
        return GPU_ERR_NOMEM;
    m->params = *params;
    m->random = reference_number("PELTON_TEST_ENTROPY_SEED", 0) * 2 + 0x2545f4914f6cdd1dull;
    m->bad_of = reference_number("PELTON_TEST_BAD_MOTION", 0);
    m->lose_from = reference_number("PELTON_TEST_LOSE_MOTION", 0);
    m->batch_count = (uint32_t)reference_number("PELTON_TEST_MOTION_BATCHES", params->batches);
    m->picture_count = (uint32_t)reference_number("PELTON_TEST_MOTION_PICTURES", params->pictures);
    for (uint32_t i = 0; i < params->batches; i++) {
        m->batches[i].owner = m;
        m->batches[i].parts = calloc(params->pictures, sizeof(*m->batches[i].parts));
        if (!m->batches[i].parts)
            abort();
    }
    *out = m;
    return GPU_OK;
}

int gpu_motion_prepare(struct gpu_motion *m)
{
    return m ? GPU_OK : GPU_ERR_INVALID;
}

void gpu_motion_trim(struct gpu_motion *m)
{
}

void gpu_motion_free(struct gpu_motion *m)
{
    for (uint32_t i = 0; m && i < m->params.batches; i++) {
        gpu_motion_end(&m->batches[i]);
        free(m->batches[i].parts);
    }
    free(m);
}

struct gpu_motion_batch *gpu_motion_begin(struct gpu_motion *m)
{
    for (uint32_t i = 0; i < m->batch_count && i < m->params.batches; i++) {
        struct gpu_motion_batch *b = &m->batches[i];
        if (b->phase != PHASE_FREE)
            continue;
        b->phase = PHASE_FILLING;
        b->count = b->mbs = b->slices = 0;
        b->random = next_random(&m->random);
        b->delay_us = (unsigned)(next_random(&m->random) % MOST_DELAY_US);
        b->lost = m->lose_from && ++m->begun >= m->lose_from;
        return b;
    }
    return NULL;
}

static bool slices_valid(const struct gpu_motion_picture *p)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < p->head.slice_count; i++) {
        if (p->slices[i].first_mb != next || p->slices[i].end_mb <= next ||
            p->slices[i].type > H264_I)
            return false;
        next = p->slices[i].end_mb;
    }
    return next == p->head.mb_count && next > 0 && p->head.mb_width > 0 &&
           next % p->head.mb_width == 0;
}

static void *copy(const void *from, size_t size)
{
    void *to = malloc(size);
    if (!to)
        abort();
    return memcpy(to, from, size);
}

int gpu_motion_add(struct gpu_motion_batch *b, const struct gpu_motion_picture *picture,
                   uint32_t *index)
{
    struct gpu_motion *m = b->owner;
    const struct der_picture *head = &picture->head;
    if (b->phase != PHASE_FILLING || !picture->mbs || !picture->motion || !picture->syntax ||
        !slices_valid(picture))
        return GPU_ERR_INVALID;
    if (b->count == m->picture_count || b->count == m->params.pictures ||
        head->mb_count > m->params.mbs - b->mbs || head->slice_count > m->params.slices - b->slices)
        return GPU_ERR_NOMEM;
    struct part *part = &b->parts[b->count];
    *part =
        (struct part){.given = *picture,
                      .slices = copy(picture->slices, head->slice_count * sizeof(*part->slices))};
    part->maps = calloc(head->slice_count, sizeof(*part->maps));
    part->used = calloc(head->slice_count, sizeof(*part->used));
    if (!part->maps || !part->used)
        abort();
    for (uint32_t i = 0; i < head->slice_count; i++)
        part->maps[i] =
            picture->maps[i] ? copy(picture->maps[i], head->mb_count * sizeof(uint16_t)) : NULL;
    part->spoil = m->bad_of && ++m->added % m->bad_of == 0;
    b->mbs += head->mb_count;
    b->slices += head->slice_count;
    *index = b->count++;
    return GPU_OK;
}

/* ---- a picture as step 3 wants it ---- */

struct built {
    struct h264_sps sps;
    struct h264_picture pic, *colocated; /* one for each slice */
    struct rec_slice *rec_slices;
    struct rec_scaling scaling;
};

static void build_slice(struct built *t, const struct part *part, uint32_t i)
{
    const struct der_slice *from = &part->slices[i];
    struct h264_slice *to = &t->pic.slices[i];
    *to = (struct h264_slice){.pic = &t->pic,
                              .index = i,
                              .sps = &t->sps,
                              .end_mb = from->end_mb,
                              .num_ref = {from->num_ref[0], from->num_ref[1]}};
    to->hdr = (struct h264_slice_header){.first_mb = from->first_mb,
                                         .type = from->type,
                                         .direct_spatial_mv_pred_flag = 1,
                                         .num_ref = {from->num_ref[0], from->num_ref[1]}};
    to->motion_mb = from->first_mb;
    t->rec_slices[i] = (struct rec_slice){.num_ref = {from->num_ref[0], from->num_ref[1]},
                                          .slice_type = from->type};
    if (!part->maps[i])
        return; /* no picture: nothing counts as still */
    t->colocated[i] = (struct h264_picture){.structure = t->pic.structure,
                                            .mb_width = t->pic.mb_width,
                                            .mb_height = t->pic.mb_height,
                                            .mb_count = t->pic.mb_count,
                                            .arrays.motion = t->pic.arrays.motion,
                                            .arrays.col_zero = part->maps[i],
                                            .motion_done = 1};
    to->ref[1][0].pic = &t->colocated[i];
    to->ref[1][0].structure = t->pic.structure;
}

static struct built *build(const struct part *part)
{
    const struct gpu_motion_picture *given = &part->given;
    const size_t n = given->head.mb_count, slices = given->head.slice_count;
    bool field = part->slices[0].field;
    struct built *t = calloc(1, sizeof(*t));
    if (!t)
        abort();
    t->sps.chroma_format_idc = given->head.chroma_blocks ? 1 : 0;
    t->sps.bit_depth[0] = t->sps.bit_depth[1] = 8;
    t->sps.direct_8x8_inference_flag = part->slices[0].corners;
    t->sps.mb_height = (uint32_t)n / given->head.mb_width * (field ? 2 : 1);
    t->pic = (struct h264_picture){.sps = &t->sps,
                                   .structure = field ? REC_TOP : REC_FRAME,
                                   .mb_width = given->head.mb_width,
                                   .mb_height = t->sps.mb_height,
                                   .mb_count = (uint32_t)n,
                                   .slice_count = (uint32_t)slices,
                                   .arrays.coeff_block_capacity = given->head.coeff_blocks,
                                   .arrays.scaling = &t->scaling,
                                   .arrays.scaling_count = 1};
    t->pic.arrays.mbs = copy(given->mbs, n * sizeof(*t->pic.arrays.mbs));
    t->pic.arrays.motion = copy(given->motion, n * sizeof(*t->pic.arrays.motion));
    t->pic.arrays.syntax = copy(given->syntax, n * sizeof(*t->pic.arrays.syntax));
    t->pic.arrays.col_zero = calloc(n, sizeof(*t->pic.arrays.col_zero));
    t->pic.slices = calloc(slices, sizeof(*t->pic.slices));
    t->colocated = calloc(slices, sizeof(*t->colocated));
    t->rec_slices = calloc(slices, sizeof(*t->rec_slices));
    if (!t->pic.arrays.col_zero || !t->pic.slices || !t->colocated || !t->rec_slices)
        abort();
    t->pic.arrays.rec_slices = t->rec_slices;
    t->pic.arrays.coeffs = t->pic.arrays.mbs; /* there are some: only their number is looked at */
    for (uint32_t i = 0; i < slices; i++)
        build_slice(t, part, i);
    return t;
}

static void built_free(struct built *t)
{
    free(t->pic.arrays.mbs);
    free(t->pic.arrays.motion);
    free(t->pic.arrays.syntax);
    free(t->pic.arrays.col_zero);
    free(t->pic.slices);
    free(t->colocated);
    free(t->rec_slices);
    free(t);
}

static uint32_t kinds_of(struct h264_picture *pic)
{
    uint32_t kinds = 0;
    for (uint32_t i = 0; i < pic->mb_count; i++)
        kinds |= (pic->arrays.mbs[i].kind == REC_MB_INTER ? DER_INTER : DER_INTRA) |
                 (pic->arrays.mbs[i].deblock ? DER_DEBLOCK : 0u);
    pic->arrays.has_inter = (kinds & DER_INTER) != 0;
    pic->arrays.has_intra = (kinds & DER_INTRA) != 0;
    pic->arrays.has_deblock = (kinds & DER_DEBLOCK) != 0;
    return kinds;
}

static uint32_t derive(struct h264_picture *pic, uint32_t coeff_blocks)
{
    struct rec_view view;
    if (!h264_picture_import_entropy(pic, coeff_blocks))
        return DER_BAD;
    for (uint32_t i = 0; i < pic->slice_count; i++) {
        uint32_t from, to;
        h264_slice_follow(&pic->slices[i], &from, &to);
    }
    uint32_t kinds = kinds_of(pic);
    h264_picture_records(pic, &view);
    return records_validate_content(&view, NULL) == 0 ? kinds : DER_BAD;
}

/* ---- the work ---- */

static void put(void *to, const void *from, size_t size)
{
    if (to)
        memcpy(to, from, size);
}

static void noise(void *to, size_t size, uint64_t *random)
{
    uint8_t *at = to;
    for (size_t i = 0; to && i < size; i++)
        at[i] = (uint8_t)(next_random(random) >> 32);
}

/* What a picture that is DER_BAD may leave. */
static void put_noise(const struct gpu_motion_picture *p, uint64_t *random)
{
    const size_t n = p->head.mb_count;
    noise(p->to_mbs, n * sizeof(*p->to_mbs), random);
    noise(p->to_motion, n * sizeof(*p->to_motion), random);
    noise(p->to_still, n * sizeof(*p->to_still), random);
    if (p->final_mbs != p->mbs)
        noise((void *)p->final_mbs, n * sizeof(struct rec_mb), random);
    noise((void *)p->final_motion, n * sizeof(struct rec_motion), random);
}

static void put_results(struct part *part, const struct h264_picture *pic)
{
    const struct gpu_motion_picture *p = &part->given;
    const size_t n = p->head.mb_count;
    put(p->to_mbs, pic->arrays.mbs, n * sizeof(*pic->arrays.mbs));
    put(p->to_motion, pic->arrays.motion, n * sizeof(*pic->arrays.motion));
    put(p->to_still, pic->arrays.col_zero, n * sizeof(*pic->arrays.col_zero));
    put((void *)p->final_mbs, pic->arrays.mbs, n * sizeof(*pic->arrays.mbs));
    put((void *)p->final_motion, pic->arrays.motion, n * sizeof(*pic->arrays.motion));
    for (uint32_t i = 0; i < pic->slice_count; i++)
        h264_slice_used(&pic->slices[i], part->used[i]);
}

static void *work(void *batch)
{
    struct gpu_motion_batch *b = batch;
    usleep(b->delay_us);
    for (uint32_t i = 0; i < b->count; i++) {
        struct part *part = &b->parts[i];
        struct built *t = build(part);
        part->said =
            part->spoil || b->lost ? DER_BAD : derive(&t->pic, part->given.head.coeff_blocks);
        if (part->said & DER_BAD)
            put_noise(&part->given, &b->random);
        else
            put_results(part, &t->pic);
        built_free(t);
    }
    atomic_store(&b->over, true);
    return NULL;
}

int gpu_motion_submit(struct gpu_motion_batch *b)
{
    if (b->phase != PHASE_FILLING || !b->count)
        return GPU_ERR_INVALID;
    atomic_store(&b->over, false);
    b->phase = PHASE_WORKING;
    if (pthread_create(&b->thread, NULL, work, b))
        abort();
    return GPU_OK;
}

int gpu_motion_poll(struct gpu_motion_batch *b)
{
    if (b->lost) /* and until it is ended it writes to its targets */
        return GPU_ERR_NOMEM;
    if (b->phase == PHASE_WORKING && !atomic_load(&b->over))
        return 1;
    if (b->phase == PHASE_WORKING)
        pthread_join(b->thread, NULL);
    b->phase = PHASE_DONE;
    return GPU_OK;
}

uint32_t gpu_motion_result(const struct gpu_motion_batch *b, uint32_t index)
{
    return index < b->count ? b->parts[index].said : DER_BAD;
}

void gpu_motion_used(const struct gpu_motion_batch *b, uint32_t index, uint32_t slice,
                     uint32_t used[2])
{
    memcpy(used, b->parts[index].used[slice], sizeof(b->parts[index].used[slice]));
}

void gpu_motion_end(struct gpu_motion_batch *b)
{
    if (!b || b->phase == PHASE_FREE)
        return;
    if (b->phase == PHASE_WORKING)
        pthread_join(b->thread, NULL);
    for (uint32_t i = 0; i < b->count; i++) {
        for (uint32_t k = 0; k < b->parts[i].given.head.slice_count; k++)
            free(b->parts[i].maps[k]);
        free(b->parts[i].maps);
        free(b->parts[i].used);
        free(b->parts[i].slices);
    }
    b->phase = PHASE_FREE;
}

double gpu_motion_seconds(const struct gpu_motion_batch *b)
{
    return 1e-6 * b->delay_us;
}

/* Nothing crosses a bus. */
uint64_t gpu_motion_host_bytes(const struct gpu_motion_batch *b, uint32_t index)
{
    return 0;
}
