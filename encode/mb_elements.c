/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Syntax elements of the macroblock layer except residual, in CAVLC (9.1) or in bins with the
 * increments that neighbours give (9.3.3.1.1).
 */
#include "encode/bin_elements.h"
#include "encode/mb_writer.h"

/* Neighbours A and B whose edges have a flag */
static unsigned flags_inc(const struct mb_writer *w, unsigned flag)
{
    return (unsigned)!!(w->a->flags & flag) + !!(w->b->flags & flag);
}

/* 9.3.3.1.1.1 */
void put_skip_flag(struct mb_writer *w, unsigned flag)
{
    bins_put(w->bins, 11 + flags_inc(w, EDGE_CODED), flag);
}

/* P_8x8ref0: all references are the first one, and none is sent. CAVLC alone has it. */
static bool is_ref0(const struct mb_writer *w)
{
    static const int8_t first[4] = {0};
    return w->plan.part == H264_PART_8X8 && !mb_writer_cabac(w) && w->slice.num_ref > 1 &&
           memcmp(w->motion->ref_idx[0], first, sizeof(first)) == 0;
}

void put_mb_type(struct mb_writer *w)
{
    unsigned type = w->plan.mb_type, intra = w->slice.type == H264_P && mb_is_intra(w->mb) ? 5 : 0;
    if (!mb_writer_cabac(w))
        bit_writer_ue(w->bits, type + intra + is_ref0(w));
    else if (w->slice.type == H264_P)
        bins_mb_type_p(w->bins, type + intra);
    else
        bins_mb_type_i(w->bins, flags_inc(w, EDGE_NOT_I_NXN), type);
}

void put_sub_mb_type(struct mb_writer *w, unsigned sub)
{
    if (mb_writer_cabac(w))
        bins_sub_mb_type_p(w->bins, sub);
    else
        bit_writer_ue(w->bits, sub);
}

void put_ref_idx(struct mb_writer *w, unsigned inc, unsigned value)
{
    if (w->slice.num_ref == 1 || is_ref0(w))
        return;
    if (mb_writer_cabac(w))
        bins_ref_idx(w->bins, inc, value);
    else
        bit_writer_te(w->bits, value, w->slice.num_ref - 1u);
}

void put_mvd(struct mb_writer *w, const unsigned sum[2], const int16_t mvd[2])
{
    for (unsigned i = 0; i < 2; i++)
        if (mb_writer_cabac(w))
            bins_mvd(w->bins, i, sum[i], mvd[i]);
        else
            bit_writer_se(w->bits, mvd[i]);
}

void put_intra_mode(struct mb_writer *w, int predicted, int mode)
{
    int rem = mode == predicted ? -1 : mode < predicted ? mode : mode - 1;
    if (mb_writer_cabac(w))
        bins_intra_mode(w->bins, rem);
    else if (rem < 0)
        bit_writer_u(w->bits, 1, 1);
    else
        bit_writer_u(w->bits, 4, (uint32_t)rem);
}

void put_chroma_mode(struct mb_writer *w, unsigned mode)
{
    if (mb_writer_cabac(w))
        bins_chroma_mode(w->bins, flags_inc(w, EDGE_CHROMA_MODE), mode);
    else
        bit_writer_ue(w->bits, mode);
}

/* 9.3.3.1.1.4: for luma a neighbouring 8x8 block counts when its bit is clear. */
static void bins_cbp(struct mb_writer *w)
{
    unsigned a = ~w->a->cbp, b = ~w->b->cbp, cbp = w->plan.cbp;
    bins_put(w->bins, 73 + (a >> 1 & 1) + (b >> 1 & 2), cbp & 1);
    bins_put(w->bins, 73u + !(cbp & 1) + (b >> 2 & 2), cbp >> 1 & 1);
    bins_put(w->bins, 73 + (a >> 3 & 1) + 2u * !(cbp & 1), cbp >> 2 & 1);
    bins_put(w->bins, 73u + !(cbp & 4) + 2u * !(cbp & 2), cbp >> 3 & 1);
    if (!w->slice.view->head.chroma_format_idc)
        return;
    a = w->a->cbp >> 4;
    b = w->b->cbp >> 4;
    bins_put(w->bins, 77u + (a != 0) + 2u * (b != 0), cbp > 15);
    if (cbp > 15)
        bins_put(w->bins, 81u + (a == 2) + 2u * (b == 2), cbp > 31);
}

void put_cbp(struct mb_writer *w)
{
    if (mb_writer_cabac(w))
        bins_cbp(w);
    else
        bit_writer_ue(w->bits, w->slice.codes->cbp[w->slice.view->head.chroma_format_idc == 1]
                                                  [!mb_is_intra(w->mb)][w->plan.cbp]);
}

void put_transform_8x8(struct mb_writer *w, unsigned flag)
{
    if (mb_writer_cabac(w))
        bins_put(w->bins, 399 + flags_inc(w, EDGE_TRANSFORM_8X8), flag);
    else
        bit_writer_u(w->bits, 1, flag);
}

void put_qp_delta(struct mb_writer *w, int delta)
{
    if (mb_writer_cabac(w))
        bins_qp_delta(w->bins, w->last_delta, delta);
    else
        bit_writer_se(w->bits, delta);
}
