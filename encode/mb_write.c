/* SPDX-License-Identifier: BSD-2-Clause
 *
 * macroblock_layer() (7.3.5), skipped macroblocks, and what records say of neighbours.
 */
#include "encode/mb_writer.h"

/* ---- neighbours (6.4.9): those of the same slice, which is a run of addresses ---- */

struct mb_near {
    bool a, b, c, d;
};

static struct mb_near near_of(const struct mb_writer *w)
{
    uint32_t width = w->slice.view->head.mb_width, since = w->addr - w->slice.first;
    bool left = w->mb_x > 0, right = w->mb_x + 1 < width;
    return (struct mb_near){left && since >= 1, since >= width, right && since + 1 >= width,
                            left && since >= width + 1};
}

static void neighbours_find(struct mb_writer *w, struct mb_near near)
{
    uint32_t width = w->slice.view->head.mb_width;
    w->a = near.a ? &w->line[w->mb_x - 1] : &h264_edge_none[0];
    w->b = near.b ? &w->line[w->mb_x] : &h264_edge_none[0];
    if (!w->motion)
        return;
    w->walk.cur = NULL;
    w->walk.a = near.a ? w->motion - 1 : NULL;
    w->walk.b = near.b ? w->motion - width : NULL;
    w->walk.c = near.c ? w->motion - width + 1 : NULL;
    w->walk.d = near.d ? w->motion - width - 1 : NULL;
}

/* A neighbour that intra prediction may use (8.3.1.2) */
static bool serves_intra(const struct mb_writer *w, bool available, uint32_t back)
{
    return available && (!w->slice.pps->constrained_intra_pred_flag || mb_is_intra(w->mb - back));
}

/* Decoders derive intra_avail and deblock from what the stream says. */
static bool check_derived(struct mb_writer *w, struct mb_near near)
{
    uint32_t width = w->slice.view->head.mb_width;
    bool left = w->mb_x > 0, top = w->addr >= width;
    unsigned avail = serves_intra(w, near.a, 1) * REC_AVAIL_A +
                     serves_intra(w, near.b, width) * REC_AVAIL_B +
                     serves_intra(w, near.c, width - 1) * REC_AVAIL_C +
                     serves_intra(w, near.d, width + 1) * REC_AVAIL_D;
    unsigned deblock = REC_DEBLOCK_INTERNAL;
    if (w->slice.deblocking == 2) {
        left = near.a;
        top = near.b;
    }
    deblock |= (left ? REC_DEBLOCK_LEFT : 0u) | (top ? REC_DEBLOCK_TOP : 0u);
    if (w->mb->deblock != (w->slice.deblocking == 1 ? 0 : deblock))
        return mb_refuse(w, "deblock is not that of the slice");
    if (mb_is_intra(w->mb) && w->mb->intra_avail != avail)
        return mb_refuse(w, "intra_avail is not that of the slice");
    return true;
}

/* ---- macroblock_layer() ---- */

/* Samples of a component in raster order from coefficient blocks of 4x4 */
static bool load_samples(struct mb_writer *w, unsigned c, uint8_t *samples)
{
    const int16_t *blocks = mb_levels(w, c);
    unsigned size = c ? 8 : 16;
    for (unsigned y = 0; y < size; y++)
        for (unsigned x = 0; x < size; x++) {
            unsigned bx = x >> 2, by = y >> 2;
            unsigned blk =
                c ? by * 2 + bx : (bx & 1) | (by & 1) << 1 | (bx & 2) << 1 | (by & 2) << 2;
            int sample = blocks[blk * 16 + (y & 3) * 4 + (x & 3)];
            if (sample < 0 || sample > 255)
                return mb_refuse(w, "a sample of I_PCM beyond 8 bits");
            samples[y * size + x] = (uint8_t)sample;
        }
    return true;
}

static bool write_pcm(struct mb_writer *w)
{
    unsigned count = w->slice.view->head.chroma_format_idc ? 384 : 256;
    uint8_t samples[384];
    if (!load_samples(w, 0, samples))
        return false;
    if (count > 256 && (!load_samples(w, 1, samples + 256) || !load_samples(w, 2, samples + 320)))
        return false;
    if (mb_writer_cabac(w)) {
        bins_pcm(w->bins, samples, count);
    } else {
        bit_writer_zero_align(w->bits);
        bit_writer_bytes(w->bits, samples, count);
        memset(&w->edge.u.total, 16, sizeof(w->edge.u.total));
    }
    w->edge.flags |= EDGE_PCM | EDGE_NOT_I_NXN | EDGE_CBF_DC * 7;
    w->edge.cbp = 0x2f;
    if (mb_writer_cabac(w))
        w->edge.cbf[0] = w->edge.cbf[1] = w->edge.cbf[2] = CBF_ALL;
    w->last_delta = false;
    return true;
}

/* mb_qp_delta (7.4.5), and residual() */
static void write_rest(struct mb_writer *w)
{
    int delta = (w->mb->qp[0] - w->qp + 104) % 52;
    w->edge.cbp = w->plan.cbp;
    if (!w->plan.cbp && w->mb->kind != REC_MB_INTRA_16X16) {
        w->last_delta = false;
        return;
    }
    if (delta > 25)
        delta -= 52;
    put_qp_delta(w, delta);
    w->last_delta = delta != 0;
    w->qp = w->mb->qp[0];
    if (mb_writer_cabac(w))
        write_residual_cabac(w);
    else
        write_residual_cavlc(w);
}

static void edge_modes(struct mb_edge *edge, int8_t mode)
{
    memset(edge->mode_right, mode, sizeof(edge->mode_right));
    memset(edge->mode_bottom, mode, sizeof(edge->mode_bottom));
}

static void write_transform_flag(struct mb_writer *w)
{
    unsigned flag = w->plan.flags & REC_MB_TRANSFORM_8X8;
    put_transform_8x8(w, flag != 0);
    if (flag)
        w->edge.flags |= EDGE_TRANSFORM_8X8;
}

static bool write_intra(struct mb_writer *w)
{
    bool nxn = w->mb->kind == REC_MB_INTRA_4X4 || w->mb->kind == REC_MB_INTRA_8X8;
    w->edge.flags |= EDGE_INTRA | (nxn ? 0 : EDGE_NOT_I_NXN);
    edge_modes(&w->edge, 2);
    if (w->mb->kind == REC_MB_INTRA_PCM)
        return write_pcm(w);
    if (nxn && w->slice.pps->transform_8x8_mode_flag)
        write_transform_flag(w);
    if (nxn)
        write_intra_modes(w);
    if (w->slice.view->head.chroma_format_idc) {
        put_chroma_mode(w, w->mb->intra_chroma_mode);
        w->edge.flags |= w->mb->intra_chroma_mode ? EDGE_CHROMA_MODE : 0;
    }
    if (nxn)
        put_cbp(w);
    write_rest(w);
    return true;
}

/* No partition is less than 8x8. */
static bool whole_8x8(const struct mb_plan *plan)
{
    for (unsigned q = 0; q < 4; q++)
        if (plan->sub[q] != H264_SUB_8X8)
            return false;
    return true;
}

static void write_inter(struct mb_writer *w)
{
    edge_modes(&w->edge, w->slice.pps->constrained_intra_pred_flag ? MODE_NONE : 2);
    write_inter_pred(w);
    put_cbp(w);
    if (w->plan.cbp & 15 && w->slice.pps->transform_8x8_mode_flag && whole_8x8(&w->plan))
        write_transform_flag(w);
    write_rest(w);
}

static void write_skipped(struct mb_writer *w)
{
    edge_modes(&w->edge, w->slice.pps->constrained_intra_pred_flag ? MODE_NONE : 2);
    if (!mb_writer_cabac(w))
        w->skip_run++;
    w->last_delta = false;
}

static bool write_coded(struct mb_writer *w)
{
    w->edge.flags |= EDGE_CODED;
    if (w->slice.type == H264_P && !mb_writer_cabac(w)) {
        bit_writer_ue(w->bits, w->skip_run);
        w->skip_run = 0;
    }
    put_mb_type(w);
    if (mb_is_intra(w->mb))
        return write_intra(w);
    write_inter(w);
    return true;
}

bool write_macroblock(struct mb_writer *w)
{
    const struct rec_view *view = w->slice.view;
    struct mb_near near = near_of(w);
    bool skipped;
    w->mb = &view->mbs[w->addr];
    w->motion = view->motion ? &view->motion[w->addr] : NULL;
    neighbours_find(w, near);
    if (!check_derived(w, near) || !mb_plan_make(w))
        return false;
    memset(&w->edge, 0, sizeof(w->edge));
    w->edge.flags = EDGE_AVAILABLE | EDGE_NOT_DIRECT;
    skipped = w->plan.part == H264_PART_SKIP;
    if (mb_writer_cabac(w) && w->slice.type == H264_P)
        put_skip_flag(w, skipped);
    if (skipped)
        write_skipped(w);
    else if (!write_coded(w))
        return false;
    w->line[w->mb_x] = w->edge;
    w->addr++;
    if (++w->mb_x == view->head.mb_width)
        w->mb_x = 0;
    return true;
}
