/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Intra macroblocks: predicted from unfiltered samples, transformed, quantised and reconstructed.
 * The only pass whose macroblocks wait for each other: the wavefront of intra reconstruction.
 */
#include "encode/reference/intra_blocks.h"

#include <string.h>

/* A component of the macroblock that is coded */
struct intra_target {
    struct picture_work *w;
    uint32_t mb;
    const uint16_t *source;
    ptrdiff_t source_stride;
    uint16_t *out;
    struct intra_place place; /* the same samples, as prediction reads them */
    struct block_coder coder;
};

static struct intra_target target_of(struct picture_work *w, uint32_t mb, int component)
{
    struct rec_mb *m = &w->mbs[mb];
    uint16_t *out = work_samples(w, w->unfiltered, mb, component);
    return (struct intra_target){
        .w = w,
        .mb = mb,
        .source = work_samples(w, w->source, mb, component),
        .source_stride = (ptrdiff_t)w->source->stride[component],
        .out = out,
        .place = {out, (ptrdiff_t)w->unfiltered->stride[component], m->intra_avail},
        .coder = block_coder_at(m->qp[component], true, w->level_max),
    };
}

static void residual_take(const struct intra_target *t, int x, int y, int size,
                          const uint16_t *pred, int32_t *r)
{
    for (int j = 0; j < size; j++)
        for (int i = 0; i < size; i++)
            r[j * size + i] = t->source[(y + j) * t->source_stride + x + i] - pred[j * size + i];
}

static void samples_put(const struct intra_target *t, int x, int y, int size, const uint16_t *pred,
                        const int32_t *r)
{
    for (int j = 0; j < size; j++)
        for (int i = 0; i < size; i++) {
            int v = pred[j * size + i] + r[j * size + i];
            t->out[(y + j) * t->place.stride + x + i] = (uint16_t)(v < 0 ? 0 : v > 255 ? 255 : v);
        }
}

static unsigned code_nxn(const struct intra_target *t, const struct rec_mb *m, int size)
{
    int16_t(*level)[16] = t->w->levels[t->mb].block;
    unsigned coded = 0;
    for (int blk = 0; blk < 16; blk += size * size / 16) {
        int x = 4 * ((blk & 1) + (blk >> 1 & 2)), y = 4 * ((blk >> 1 & 1) + (blk >> 2 & 2));
        int mode = (int)(m->intra_mode[blk >> 3] >> 4 * (blk & 7) & 15);
        struct ref_neighbours n = intra_neighbours(&t->place, x, y, size, size);
        uint16_t pred[64];
        int32_t r[64];
        if (size == 4)
            ref_intra_4x4(mode, &n, 8, pred);
        else
            ref_intra_8x8(mode, &n, 8, pred);
        residual_take(t, x, y, size, pred, r);
        coded |= (size == 4 ? levels_4x4(&t->coder, r, level + blk, r)
                            : levels_8x8(&t->coder, r, level + blk, r))
                 << blk;
        samples_put(t, x, y, size, pred, r);
    }
    return coded;
}

static unsigned code_16x16(const struct intra_target *t, const struct rec_mb *m)
{
    struct ref_neighbours n = intra_neighbours(&t->place, 0, 0, 16, 16);
    uint16_t pred[256];
    int32_t r[256];
    unsigned coded;
    ref_intra_16x16((int)(m->intra_mode[0] & 15), &n, 8, pred);
    residual_take(t, 0, 0, 16, pred, r);
    coded = levels_luma_16x16(&t->coder, r, t->w->levels[t->mb].block, r);
    samples_put(t, 0, 0, 16, pred, r);
    return coded;
}

static unsigned code_chroma(const struct intra_target *t, const struct rec_mb *m, int component)
{
    struct ref_neighbours n = intra_neighbours(&t->place, 0, 0, 16, 8);
    uint16_t pred[64];
    int32_t r[64];
    unsigned coded;
    ref_intra_chroma(m->intra_chroma_mode, &n, 8, 8, pred);
    residual_take(t, 0, 0, 8, pred, r);
    coded = levels_chroma(&t->coder, r, t->w->levels[t->mb].block + 12 + 4 * component, r);
    samples_put(t, 0, 0, 8, pred, r);
    return coded;
}

static void code_mb(struct picture_work *w, uint32_t mb)
{
    struct intra_target luma = target_of(w, mb, 0);
    struct rec_mb *m = &w->mbs[mb];
    if (m->kind == REC_MB_INTRA_16X16)
        m->coded[0] = (uint16_t)code_16x16(&luma, m);
    else
        m->coded[0] = (uint16_t)code_nxn(&luma, m, m->kind == REC_MB_INTRA_8X8 ? 8 : 4);
    for (int component = 1; component < 3 && w->encoding->chroma_format_idc; component++) {
        struct intra_target chroma = target_of(w, mb, component);
        m->coded[component] = (uint16_t)code_chroma(&chroma, m, component);
    }
}

void intra_code(struct picture_work *w)
{
    for (uint32_t mb = 0; mb < w->mb_count; mb++)
        if (w->mbs[mb].kind != REC_MB_INTER)
            code_mb(w, mb);
}
