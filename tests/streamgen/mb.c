/* SPDX-License-Identifier: BSD-2-Clause
 *
 * macroblock_layer() (7.3.5): the choice of a macroblock's type and its consequences.
 */
#include "mbw.h"

#include "codec/macroblock.h"

#include <string.h>

#define MB_HEADROOM 128 /* bits of macroblock_layer() beyond those of its samples (A.3.1) */

static void begin(struct mbw *w, enum mb_kind kind)
{
    uint8_t field = w->mb->field;
    *w->mb = (struct mb){.slice = w->number, .kind = (uint8_t)kind, .field = field};
    memset(w->mb->ref, -1, sizeof(w->mb->ref));
}

bool wants_skip(struct mbw *w)
{
    return w->type != H264_I && gen_use(w->g, &w->rng, F_SKIP, 4);
}

void write_skipped(struct mbw *w)
{
    begin(w, MB_SKIP);
    w->last_delta = false;
    if (w->type == H264_B)
        w->g->used |= w->slice->hdr.direct_spatial_mv_pred_flag ? F_SPATIAL : F_TEMPORAL;
}

/* How many numbers of inter types come before mb_type of intra macroblocks. */
static unsigned intra_base(const struct mbw *w)
{
    return w->type == H264_P ? 5 : w->type == H264_B ? 23 : w->si;
}

static void put_samples(struct mbw *w, struct bit_writer *s)
{
    static const uint16_t chroma_samples[4] = {0, 128, 256, 512};
    unsigned counts[2] = {256, chroma_samples[w->chroma_array_type]}, kind = rng_below(&w->rng, 4);
    for (unsigned c = 0; c < 2; c++) {
        unsigned depth = w->sps->bit_depth[c], flat = rng_below(&w->rng, 1u << depth);
        for (unsigned i = 0; i < counts[c]; i++) {
            uint32_t v = rng_below(&w->rng, 1u << depth);
            /* smooth ones are what the deblocking filter works on; zeros need emulation prevention
             */
            if (kind == 0)
                v = flat;
            else if (kind == 1)
                v = (flat + i / 8) >> 1;
            else if (kind == 2)
                v = v & 1 ? v : 0;
            bit_writer_u(s, depth, v);
        }
    }
}

/* I_PCM: in the slice's data, or in partition B. */
static void write_pcm(struct mbw *w)
{
    struct bit_writer *s = w->out[w->partitioned ? 1 : 0];
    w->g->used |= F_PCM;
    gen_not_ffmpeg(w->g, w->sps->bit_depth[0] > 8, "deep-pcm"); /* qPp in the deblocking filter */
    put_mb_type(w, intra_base(w) + 25);
    begin(w, MB_PCM);
    code_bins(w);
    bit_writer_zero_align(s);
    put_samples(w, s);
    cabac_coder_begin(&w->cabac);
    memset(w->mb->total, 16, sizeof(w->mb->total));
    w->mb->cbp = 0x2f;
    w->last_delta = false;
}

/* QPY of this macroblock, where it has mb_qp_delta (7.4.5) */
static int choose_qp(struct mbw *w)
{
    int offset = 6 * (w->sps->bit_depth[0] - 8);
    if (gen_has(w->g, F_LOSSLESS) && w->sps->qpprime_y_zero_transform_bypass_flag &&
        rng_one_in(&w->rng, 3))
        return -offset;
    if (!gen_use(w->g, &w->rng, F_QP, 4))
        return w->qp;
    return rng_one_in(&w->rng, 3) ? rng_range(&w->rng, -offset, 51)
                                  : rng_range(&w->rng, w->qp > 2 - offset ? w->qp - 2 : -offset,
                                              w->qp < 49 ? w->qp + 2 : 51);
}

/* mb_qp_delta and residual(). An 8x8 block in CABAC has a level: QP falls to where one is within
 * its bounds. */
static void write_rest(struct mbw *w)
{
    int offset = 6 * (w->sps->bit_depth[0] - 8), range = 52 + offset, qp = choose_qp(w), delta;
    if (!w->mb->cbp && w->mb->kind != MB_I16X16) {
        w->last_delta = false;
        return;
    }
    if (w->mb->t8x8 && w->g->max_weight > 16 && qp > 20)
        qp = 20;
    delta = (qp - w->qp + 2 * range) % range;
    if (delta > 25 + offset / 2)
        delta -= range;
    put_qp_delta(w, delta);
    w->last_delta = delta != 0;
    w->qp = qp;
    if (w->sps->qpprime_y_zero_transform_bypass_flag && qp == -offset)
        w->g->used |= F_LOSSLESS;
    write_residual(w);
}

static unsigned choose_cbp(struct mbw *w)
{
    bool chroma = w->chroma_array_type == 1 || w->chroma_array_type == 2;
    if (w->sparse || rng_one_in(&w->rng, 4))
        return 0;
    return rng_below(&w->rng, 16) | (chroma ? rng_below(&w->rng, 3) << 4 : 0);
}

static void write_16x16(struct mbw *w)
{
    bool chroma = w->chroma_array_type == 1 || w->chroma_array_type == 2;
    unsigned mode, cbp;
    w->mb->kind = MB_I16X16; /* what SI neighbours serve depends on it */
    do {
        mode = rng_below(&w->rng, 4);
    } while (!intra_16x16_allowed(w, mode));
    cbp = w->sparse ? 0
                    : (rng_one_in(&w->rng, 2) ? 15 : 0) | (chroma ? rng_below(&w->rng, 3) << 4 : 0);
    put_mb_type(w, intra_base(w) + 1 + mode + 4 * (cbp >> 4) + (cbp & 15 ? 12 : 0));
    begin(w, MB_I16X16);
    w->mb->cbp = (uint8_t)cbp;
    w->g->used |= F_I16X16;
    write_chroma_mode(w);
    write_rest(w);
}

static void write_nxn(struct mbw *w, bool si, bool t8x8)
{
    put_mb_type(w, si ? 0 : intra_base(w));
    begin(w, si ? MB_SI : t8x8 ? MB_I8X8 : MB_I4X4);
    w->g->used |= si ? F_SI : t8x8 ? F_I8X8 | F_T8X8 : F_I4X4;
    if (!si && w->pps->transform_8x8_mode_flag)
        put_transform_8x8(w, t8x8);
    w->mb->t8x8 = t8x8;
    write_intra_modes(w, t8x8);
    write_chroma_mode(w);
    w->mb->cbp = (uint8_t)choose_cbp(w);
    put_cbp(w);
    write_rest(w);
}

static void write_intra(struct mbw *w)
{
    unsigned kinds[5], n = 0;
    if (gen_has(w->g, F_I4X4))
        kinds[n++] = MB_I4X4;
    if (gen_has(w->g, F_I8X8) && w->pps->transform_8x8_mode_flag)
        kinds[n++] = MB_I8X8;
    if (gen_has(w->g, F_I16X16) || !n)
        kinds[n++] = MB_I16X16;
    if (w->si)
        kinds[n++] = MB_SI;
    if (gen_has(w->g, F_PCM) && rng_one_in(&w->rng, 24) &&
        (w->g->odd || w->sps->bit_depth[0] == 8)) {
        write_pcm(w);
        return;
    }
    n = kinds[rng_below(&w->rng, n)];
    if (n == MB_I16X16)
        write_16x16(w);
    else
        write_nxn(w, n == MB_SI, n == MB_I8X8);
}

/* Whether transform_size_8x8_flag is present, coded_block_pattern aside (7.3.5). */
static bool whole_8x8(const struct mbw *w, const struct mb_inter_type *type,
                      const uint8_t sub_types[4])
{
    const struct mb_sub_type *table = w->type == H264_B ? h264_sub_mb_type_b : h264_sub_mb_type_p;
    if (type->part == H264_PART_DIRECT)
        return w->sps->direct_8x8_inference_flag;
    for (unsigned q = 0; q < 4 && type->part == H264_PART_8X8; q++) {
        unsigned sub = table[sub_types[q]].sub;
        if (sub == H264_SUB_DIRECT ? !w->sps->direct_8x8_inference_flag : sub != H264_SUB_8X8)
            return false;
    }
    return true;
}

static void write_inter_macroblock(struct mbw *w)
{
    unsigned types = w->type == H264_B ? 23
                     : w->cabac_mode   ? 4
                                       : 5,
             type = rng_below(&w->rng, types);
    const struct mb_inter_type *t;
    uint8_t sub_types[4] = {0};
    if (rng_one_in(&w->rng, 4))
        type = w->type == H264_B ? 22 : 3;
    t = w->type == H264_B ? &h264_mb_type_b[type] : &h264_mb_type_p[type];
    if (t->part == H264_PART_8X8 && !gen_has(w->g, F_SUB)) {
        type = 1;
        t = w->type == H264_B ? &h264_mb_type_b[1] : &h264_mb_type_p[1];
    }
    for (unsigned q = 0; q < 4 && t->part == H264_PART_8X8; q++)
        sub_types[q] = (uint8_t)rng_below(&w->rng, w->type == H264_B ? 13 : 4);
    put_mb_type(w, type);
    begin(w, t->part == H264_PART_DIRECT ? MB_DIRECT : MB_INTER);
    w->g->used |= t->part == H264_PART_8X8 ? F_SUB : 0;
    if (w->type == H264_B && (t->part == H264_PART_DIRECT || t->part == H264_PART_8X8))
        w->g->used |= w->slice->hdr.direct_spatial_mv_pred_flag ? F_SPATIAL : F_TEMPORAL;
    write_inter(w, type, sub_types);
    w->mb->cbp = (uint8_t)choose_cbp(w);
    put_cbp(w);
    if (w->mb->cbp & 15 && w->pps->transform_8x8_mode_flag && whole_8x8(w, t, sub_types)) {
        unsigned flag = gen_use(w->g, &w->rng, F_T8X8, 2);
        put_transform_8x8(w, flag);
        w->mb->t8x8 = (uint8_t)flag;
    }
    write_rest(w);
}

static void write_any(struct mbw *w)
{
    if (w->type == H264_I || rng_one_in(&w->rng, 4))
        write_intra(w);
    else
        write_inter_macroblock(w);
}

void code_bins(struct mbw *w)
{
    cabac_code(&w->cabac, w->bins.codes, w->bins.count, w->out[0]);
    w->bins.count = 0;
}

/* What bins that are not coded yet will take: they are coded aside. A carry has a byte to go to. */
static size_t bits_of_bins(const struct mbw *w)
{
    struct cabac_coder aside = w->cabac;
    struct bit_writer out = {0};
    size_t bits;
    bit_writer_u(&out, 8, 0);
    cabac_code(&aside, w->bins.codes, w->bins.count, &out);
    bits = out.bits - 8 + cabac_coder_pending(&aside) - cabac_coder_pending(&w->cabac);
    bit_writer_free(&out);
    return bits;
}

static size_t bits_written(const struct mbw *w)
{
    size_t bits = w->cabac_mode ? bits_of_bins(w) : 0;
    for (unsigned i = 0; i < 3; i++)
        bits += w->out[i] ? w->out[i]->bits : 0;
    return bits;
}

void write_macroblock(struct mbw *w)
{
    static const uint16_t chroma_samples[4] = {0, 128, 256, 512};
    size_t most = MB_HEADROOM + 256u * w->sps->bit_depth[0] +
                  (size_t)chroma_samples[w->chroma_array_type] * w->sps->bit_depth[1];
    size_t before, at[3];
    struct mbw saved;
    struct mb saved_mb = *w->mb;
    code_bins(w);
    before = bits_written(w);
    saved = *w;
    for (unsigned i = 0; i < 3; i++)
        at[i] = w->out[i] ? w->out[i]->bits : 0;
    write_any(w);
    if (bits_written(w) - before <= most || w->mb->kind == MB_PCM)
        return;
    *w = saved;
    *w->mb = saved_mb;
    for (unsigned i = 0; i < 3; i++)
        if (w->out[i])
            w->out[i]->bits = at[i];
    w->sparse = true;
    write_any(w);
    w->sparse = false;
}
