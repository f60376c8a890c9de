/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A picture's passes in their order, and the reference frames between pictures.
 */
#include "encode/reference/decide.h"

#include "encode/reference/cost.h"
#include "encode/reference/picture_work.h"
#include "encode/row_threads.h"

#include <stdlib.h>
#include <string.h>

struct decider {
    struct encoding encoding;
    struct encoding_limits limits;
    struct picture_work work;
    uint32_t accepted; /* references, of which an IDR picture uses none */
};

/* ---- life ---- */

static bool work_create_arrays(struct picture_work *w)
{
    size_t count = w->mb_count;
    bool good = true;
    w->mbs = calloc(count, sizeof(*w->mbs));
    w->motion = calloc(count, sizeof(*w->motion));
    w->field = calloc(count, sizeof(*w->field));
    w->last_motion = calloc(count, sizeof(*w->last_motion));
    w->levels = calloc(count, sizeof(*w->levels));
    w->intra = calloc(count, sizeof(*w->intra));
    w->coeffs = calloc(count * 24, sizeof(*w->coeffs));
    for (int i = 0; i < w->encoding->references; i++) {
        w->search[i] = calloc(count, sizeof(*w->search[i]));
        good = good && w->search[i];
    }
    return good && w->mbs && w->motion && w->field && w->last_motion && w->levels && w->intra &&
           w->coeffs;
}

static bool work_create_frames(struct picture_work *w)
{
    uint8_t format = w->encoding->chroma_format_idc;
    int width = 16 * (int)w->mb_width, height = 16 * (int)w->mb_height;
    bool good = luma_planes_create(&w->source_planes, width, height, false);
    w->source = ref_frame_create(w->mb_width, w->mb_height, format);
    w->unfiltered = ref_frame_create(w->mb_width, w->mb_height, format);
    w->rebuilt = ref_frame_create(w->mb_width, w->mb_height, format);
    for (int i = 0; i <= w->encoding->references; i++) {
        w->slot[i].frame = ref_frame_create(w->mb_width, w->mb_height, format);
        good =
            luma_planes_create(&w->slot[i].planes, width, height, true) && good && w->slot[i].frame;
    }
    return good && w->source && w->unfiltered && w->rebuilt;
}

struct decider *decider_create(const struct encoding *e, const struct encoding_limits *limits)
{
    struct decider *d = calloc(1, sizeof(*d));
    struct picture_work *w;
    if (!d)
        return NULL;
    d->encoding = *e;
    d->limits = *limits;
    w = &d->work;
    w->encoding = &d->encoding;
    w->limits = &d->limits;
    w->mb_width = limits->mb_width;
    w->mb_height = limits->mb_height;
    w->mb_count = w->mb_width * w->mb_height;
    w->level_max = limits->max_level;
    memset(&w->scaling, 16, sizeof(w->scaling));
    if (!work_create_arrays(w) || !work_create_frames(w)) {
        decider_free(d);
        return NULL;
    }
    return d;
}

static void work_free(struct picture_work *w)
{
    free(w->mbs);
    free(w->motion);
    free(w->field);
    free(w->last_motion);
    free(w->levels);
    free(w->intra);
    free(w->coeffs);
    for (int i = 0; i < ENCODING_REFERENCES; i++)
        free(w->search[i]);
    for (int i = 0; i < WORK_SLOTS; i++) {
        ref_frame_free(w->slot[i].frame);
        luma_planes_free(&w->slot[i].planes);
    }
    luma_planes_free(&w->source_planes);
    ref_frame_free(w->source);
    ref_frame_free(w->unfiltered);
    ref_frame_free(w->rebuilt);
}

void decider_free(struct decider *d)
{
    if (!d)
        return;
    row_threads_free(d->work.threads);
    work_free(&d->work);
    free(d);
}

void decider_use_threads(struct decider *d, unsigned count)
{
    row_threads_free(d->work.threads);
    d->work.threads = row_threads_create(count);
}

/* ---- a picture's input ---- */

/* Whole macroblocks: the last column and row repeat. */
static void source_load(struct picture_work *w, const struct decider_source *from)
{
    for (int c = 0; c < (w->encoding->chroma_format_idc ? 3 : 1); c++) {
        uint32_t width = c ? (w->encoding->width + 1) / 2 : w->encoding->width;
        uint32_t height = c ? (w->encoding->height + 1) / 2 : w->encoding->height;
        uint32_t size = c ? 8 : 16;
        for (uint32_t y = 0; y < w->mb_height * size; y++) {
            const uint8_t *row = from->plane[c] + (y < height ? y : height - 1) * from->stride[c];
            uint16_t *out = w->source->plane[c] + (size_t)y * w->source->stride[c];
            for (uint32_t x = 0; x < w->mb_width * size; x++)
                out[x] = row[x < width ? x : width - 1];
        }
    }
    luma_planes_load(&w->source_planes, w->source->plane[0], w->source->stride[0]);
}

/* Slices are runs of whole rows, as even as they can be. */
static void slices_begin(struct picture_work *w, bool idr)
{
    const struct encoding *e = w->encoding;
    w->slice_count = e->slices < w->mb_height ? e->slices : w->mb_height;
    for (uint32_t i = 0; i < w->slice_count; i++) {
        struct rec_slice *s = &w->slices[i];
        *s = (struct rec_slice){.slice_type = idr ? 2 : 0,
                                .filter_offset_a = (int8_t)(2 * e->filter_offset_a),
                                .filter_offset_b = (int8_t)(2 * e->filter_offset_b)};
        s->num_ref[0] = (uint8_t)(idr ? 0 : w->ref_count);
        for (uint32_t r = 0; r < s->num_ref[0]; r++)
            s->ref[0][r] = (uint16_t)REC_REF(w->ref_slot[r], REC_FRAME);
        for (uint32_t row = i * w->mb_height / w->slice_count;
             row < (i + 1) * w->mb_height / w->slice_count; row++)
            for (uint32_t x = 0; x < w->mb_width; x++)
                w->mbs[row * w->mb_width + x].slice = i;
    }
}

static uint8_t deblock_edges(const struct picture_work *w, const struct rec_mb *m, uint32_t x,
                             uint32_t y)
{
    bool top =
        y > 0 && (w->encoding->deblocking != 2 || m[-(ptrdiff_t)w->mb_width].slice == m->slice);
    if (w->encoding->deblocking == 1)
        return 0;
    return (uint8_t)(REC_DEBLOCK_INTERNAL | (x > 0 ? REC_DEBLOCK_LEFT : 0) |
                     (top ? REC_DEBLOCK_TOP : 0));
}

/* Neighbours in the same slice that were decoded before */
static uint8_t intra_neighbours_of(const struct picture_work *w, const struct rec_mb *m, uint32_t x,
                                   uint32_t y)
{
    bool above = y > 0 && m[-(ptrdiff_t)w->mb_width].slice == m->slice;
    return (uint8_t)((x > 0 ? REC_AVAIL_A : 0) | (above ? REC_AVAIL_B : 0) |
                     (above && x + 1 < w->mb_width ? REC_AVAIL_C : 0) |
                     (above && x > 0 ? REC_AVAIL_D : 0));
}

static void mb_set_qp(const struct picture_work *w, struct rec_mb *m, int qp)
{
    qp = qp < 0 ? 0 : qp > REC_MAX_QP ? REC_MAX_QP : qp;
    m->qp[0] = (int8_t)qp;
    m->qp[1] = m->qp[2] = (int8_t)work_chroma_qp(w, qp);
}

static void mbs_begin(struct picture_work *w, const int8_t *qp_offsets)
{
    for (uint32_t mb = 0; mb < w->mb_count; mb++) {
        uint32_t x = mb % w->mb_width, y = mb / w->mb_width;
        struct rec_mb *m = &w->mbs[mb];
        *m = (struct rec_mb){.slice = m->slice};
        mb_set_qp(w, m, w->qp + (qp_offsets ? qp_offsets[mb] : 0));
        m->deblock = deblock_edges(w, m, x, y);
        m->intra_avail = intra_neighbours_of(w, m, x, y);
        motion_clear(&w->motion[mb]);
    }
}

/* ---- the passes ---- */

static void swap_fields(struct picture_work *w)
{
    struct rec_motion *motion = w->motion;
    w->motion = w->field;
    w->field = motion;
}

static void search(struct picture_work *w)
{
    for (uint32_t ref = 0; ref < w->ref_count; ref++) {
        motion_search_whole(w, ref);
        motion_search_quarter(w, ref);
    }
}

static void decide_inter(struct picture_work *w)
{
    for (uint32_t mb = 0; mb < w->mb_count; mb++) {
        motion_clear(&w->motion[mb]);
        motion_set(&w->motion[mb], search_parts[0], 0, w->search[0][mb].part[0].mv);
    }
    swap_fields(w);
    inter_choose(w);
    swap_fields(w);
    inter_code(w);
    inter_mark_skipped(w);
}

static void decide_intra(struct picture_work *w)
{
    for (uint32_t mb = 0; mb < w->mb_count; mb++) {
        struct rec_mb *m = &w->mbs[mb];
        if (m->kind == REC_MB_INTER)
            continue;
        m->kind = w->intra[mb].kind;
        memcpy(m->intra_mode, w->intra[mb].modes, sizeof(m->intra_mode));
        m->intra_chroma_mode = w->intra[mb].chroma_mode;
        m->flags = m->kind == REC_MB_INTRA_8X8 ? REC_MB_TRANSFORM_8X8 : 0;
    }
    intra_code(w);
}

/* A macroblock without mb_qp_delta has the QP of the one before it in its slice (7.4.5). Its own
 * was not used. */
static void settle_qp(struct picture_work *w)
{
    for (uint32_t mb = 1; mb < w->mb_count; mb++) {
        struct rec_mb *m = &w->mbs[mb];
        bool has_delta = m->coded[0] | m->coded[1] | m->coded[2];
        if (!has_delta && m->kind != REC_MB_INTRA_16X16 && m[-1].slice == m->slice)
            mb_set_qp(w, m, m[-1].qp[0]);
    }
}

/* ---- records ---- */

/* blkIdx order to raster order: blocks 2 and 3 of each pair of quadrants change places with 4 and
 * 5 */
static uint16_t nonzero_of(unsigned coded)
{
    unsigned swap = (coded >> 2 ^ coded) & 0x0c0c;
    return (uint16_t)(coded ^ swap ^ swap << 2);
}

/* Coefficient blocks in address order, without gaps: sums of prefixes on a GPU */
static void records_pack(struct picture_work *w)
{
    w->coeff_block_count = 0;
    for (uint32_t mb = 0; mb < w->mb_count; mb++) {
        struct rec_mb *m = &w->mbs[mb];
        uint32_t coded = m->coded[0] | (uint32_t)m->coded[1] << 16 | (uint32_t)m->coded[2] << 20;
        m->coeff = w->coeff_block_count;
        m->nonzero = nonzero_of(m->coded[0]);
        for (int i = 0; i < 24; i++)
            if (coded >> i & 1)
                memcpy(w->coeffs[w->coeff_block_count++], w->levels[mb].block[i],
                       sizeof(w->coeffs[0]));
    }
}

/* A slot that no reference is in. An IDR picture uses none, but may be decided again as P. */
static uint8_t free_slot(const struct picture_work *w, uint32_t accepted)
{
    uint8_t slot = 0;
    for (uint32_t i = 0; i < accepted; i++)
        if (w->ref_slot[i] == slot) {
            slot++;
            i = UINT32_MAX; /* from the first again */
        }
    return slot;
}

static int rebuild(struct picture_work *w, const struct rec_view *view)
{
    struct ref_frame *frames[WORK_SLOTS];
    const char *reason;
    if (records_validate(view, WORK_SLOTS, &reason) < 0)
        return -1;
    for (int i = 0; i < WORK_SLOTS; i++)
        frames[i] = w->slot[i].frame;
    return ref_reconstruct(view, frames, WORK_SLOTS, w->rebuilt);
}

/* P_Skip everywhere: vectors that are predicted from zeros are zero (8.4.1.1). */
static void skip_all(struct picture_work *w)
{
    static const int16_t still[2] = {0, 0};
    for (uint32_t mb = 0; mb < w->mb_count; mb++) {
        w->mbs[mb].kind = REC_MB_INTER;
        w->mbs[mb].flags = REC_MB_SKIP;
        motion_set(&w->motion[mb], search_parts[0], 0, still);
    }
}

static void decide_all(struct picture_work *w, bool idr)
{
    search(w);
    intra_choose(w);
    if (!idr)
        decide_inter(w);
    decide_intra(w);
}

int decider_decide(struct decider *d, const struct decider_source *source,
                   const struct decider_wish *wish, struct rec_view *view)
{
    struct picture_work *w = &d->work;
    bool idr = wish->idr || d->accepted == 0;
    w->qp = wish->qp;
    w->lambda = cost_lambda(w->qp);
    w->lambda_ssd = cost_lambda_ssd(w->qp);
    w->ref_count = idr ? 0 : d->accepted;
    w->current_slot = free_slot(w, d->accepted);
    source_load(w, source);
    slices_begin(w, idr);
    mbs_begin(w, wish->qp_offsets);
    w->head = work_view(w).head;
    if (wish->skip && !idr)
        skip_all(w);
    else
        decide_all(w, idr);
    settle_qp(w);
    records_pack(w);
    *view = work_view(w);
    return rebuild(w, view);
}

/* The oldest reference goes when all are in use. */
void decider_accept(struct decider *d)
{
    struct picture_work *w = &d->work;
    uint32_t count = w->ref_count < w->encoding->references ? w->ref_count + 1 : w->ref_count;
    struct reference_frame *current = &w->slot[w->current_slot];
    luma_planes_load(&current->planes, current->frame->plane[0], current->frame->stride[0]);
    memmove(w->ref_slot + 1, w->ref_slot, (count - 1) * sizeof(w->ref_slot[0]));
    w->ref_slot[0] = w->current_slot;
    d->accepted = count;
    memcpy(w->last_motion, w->motion, w->mb_count * sizeof(*w->motion));
}

const struct ref_frame *decider_frame(const struct decider *d)
{
    return d->work.slot[d->work.current_slot].frame;
}

const struct picture_work *decider_work(const struct decider *d)
{
    return &d->work;
}
