/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Reference: the deblocking filter (8.7), in place, macroblocks in address order.
 */
#include "ref_internal.h"

int ref_alpha(int index_a)
{
    return ref_alpha_table[index_a];
}

int ref_beta(int index_b)
{
    return ref_beta_table[index_b];
}

int ref_tc0(int index_a, int bs)
{
    return ref_tc0_table[index_a][bs - 1];
}

/* One 4x4 block of the picture, for 8.7.2.1 */
struct block {
    const struct rec_mb *mb;
    const struct rec_motion *motion;
    const struct rec_slice *slice;
    int raster, quadrant;
};

static struct block block_at(const struct rec_view *view, int x, int y)
{
    uint32_t address = (uint32_t)(y / 16) * view->head.mb_width + (uint32_t)(x / 16);
    struct block b = {.mb = &view->mbs[address], .motion = view->motion ? &view->motion[address] : NULL};

    b.slice = &view->slices[b.mb->slice];
    b.raster = (y % 16 / 4) * 4 + x % 16 / 4;
    b.quadrant = (y % 16 / 8) * 2 + x % 16 / 8;
    return b;
}

/* Reference picture and vector of each prediction of a block; their number. Pictures are told apart by REC_REF, which is unique
 * in a frame picture whatever list or index names it. */
static int predictions(const struct block *b, uint16_t ref[2], const int16_t *mv[2])
{
    int n = 0;

    for (int list = 0; list < 2; list++) {
        int ref_idx = b->motion->ref_idx[list][b->quadrant];

        if (ref_idx < 0)
            continue;
        ref[n] = b->slice->ref[list][ref_idx];
        mv[n++] = b->motion->mv[list][b->raster];
    }
    return n;
}

/* A difference of at least 4 quarter samples in either direction */
static bool far(const int16_t *a, const int16_t *b)
{
    return abs(a[0] - b[0]) >= 4 || abs(a[1] - b[1]) >= 4;
}

/* The last conditions of 8.7.2.1: bS 1 by motion */
static bool motion_differs(const struct block *p, const struct block *q)
{
    uint16_t ref_p[2], ref_q[2];
    const int16_t *mv_p[2], *mv_q[2];
    int n = predictions(p, ref_p, mv_p);
    bool straight, crossed;

    if (n != predictions(q, ref_q, mv_q))
        return true;
    if (n == 1)
        return ref_p[0] != ref_q[0] || far(mv_p[0], mv_q[0]);
    straight = ref_p[0] == ref_q[0] && ref_p[1] == ref_q[1];
    crossed = ref_p[0] == ref_q[1] && ref_p[1] == ref_q[0];
    if (!straight && !crossed)
        return true;
    /* Where both pairings are possible (one picture used twice), either may be the one without a difference. */
    if (straight && !far(mv_p[0], mv_q[0]) && !far(mv_p[1], mv_q[1]))
        return false;
    return !(crossed && !far(mv_p[0], mv_q[1]) && !far(mv_p[1], mv_q[0]));
}

static bool switching(const struct block *b)
{
    return b->slice->slice_type >= 3; /* SP, SI */
}

int ref_deblock_strength(const struct rec_view *view, int px, int py, int qx, int qy)
{
    struct block p = block_at(view, px, py), q = block_at(view, qx, qy);

    if (ref_is_intra(p.mb) || ref_is_intra(q.mb) || switching(&p) || switching(&q))
        return p.mb != q.mb ? 4 : 3;
    if ((p.mb->nonzero >> p.raster & 1) || (q.mb->nonzero >> q.raster & 1))
        return 2;
    return motion_differs(&p, &q);
}

/* 8.7.2.4: bS 4, the side of v; v[0] is the sample at the edge, o the other side. */
static void filter_strong_side(const int v[4], const int o[4], bool strong, int out[3])
{
    out[0] = strong ? (v[2] + 2 * v[1] + 2 * v[0] + 2 * o[0] + o[1] + 4) >> 3 : (2 * v[1] + v[0] + o[1] + 2) >> 2;
    out[1] = strong ? (v[2] + v[1] + v[0] + o[0] + 2) >> 2 : v[1];
    out[2] = strong ? (2 * v[3] + 3 * v[2] + v[1] + v[0] + o[0] + 4) >> 3 : v[2];
}

/* 8.7.2.3: bS 1 to 3 */
static void filter_normal(const int p[4], const int q[4], int tc0, int beta, bool chroma, int bit_depth, int out_p[3],
                          int out_q[3])
{
    bool p_flat = abs(p[2] - p[0]) < beta, q_flat = abs(q[2] - q[0]) < beta;
    int tc = chroma ? tc0 + 1 : tc0 + p_flat + q_flat;
    int delta = ref_clip3(-tc, tc, (((q[0] - p[0]) * 4) + (p[1] - q[1]) + 4) >> 3);

    out_p[0] = ref_clip1(p[0] + delta, bit_depth);
    out_q[0] = ref_clip1(q[0] - delta, bit_depth);
    out_p[1] = p[1];
    out_q[1] = q[1];
    if (!chroma && p_flat)
        out_p[1] += ref_clip3(-tc0, tc0, (p[2] + ((p[0] + q[0] + 1) >> 1) - 2 * p[1]) >> 1);
    if (!chroma && q_flat)
        out_q[1] += ref_clip3(-tc0, tc0, (q[2] + ((p[0] + q[0] + 1) >> 1) - 2 * q[1]) >> 1);
    out_p[2] = p[2];
    out_q[2] = q[2];
}

void ref_deblock_line(uint16_t *s, int step, int bs, int qp_av, int offset_a, int offset_b, bool chroma, int bit_depth)
{
    int index_a = ref_clip3(0, 51, qp_av + offset_a), index_b = ref_clip3(0, 51, qp_av + offset_b);
    int alpha = ref_alpha(index_a) << (bit_depth - 8), beta = ref_beta(index_b) << (bit_depth - 8);
    int depth = chroma ? 2 : 4; /* chroma blocks may be 4 samples apart, and only p1..q1 matter */
    int p[4] = {0}, q[4] = {0}, out_p[3], out_q[3];

    for (int i = 0; i < depth; i++) {
        p[i] = s[-(i + 1) * step];
        q[i] = s[i * step];
    }
    if (bs == 0 || abs(p[0] - q[0]) >= alpha || abs(p[1] - p[0]) >= beta || abs(q[1] - q[0]) >= beta)
        return;
    if (bs < 4) {
        filter_normal(p, q, ref_tc0(index_a, bs) << (bit_depth - 8), beta, chroma, bit_depth, out_p, out_q);
    } else {
        bool small_step = !chroma && abs(p[0] - q[0]) < (alpha >> 2) + 2;

        filter_strong_side(p, q, small_step && abs(p[2] - p[0]) < beta, out_p);
        filter_strong_side(q, p, small_step && abs(q[2] - q[0]) < beta, out_q);
    }
    for (int i = 0; i < depth - 1; i++) {
        s[-(i + 1) * step] = (uint16_t)out_p[i];
        s[i * step] = (uint16_t)out_q[i];
    }
}

/* One edge of a macroblock in one component. position: distance from the macroblock's border in samples of the component. */
static void filter_edge(const struct rec_view *view, struct ref_frame *frame, uint32_t mb, int component, bool vertical,
                        int position)
{
    int mb_w = (int)ref_mb_width(view->head.chroma_format_idc, component);
    int mb_h = (int)ref_mb_height(view->head.chroma_format_idc, component);
    int scale_x = 16 / mb_w, scale_y = 16 / mb_h; /* SubWidthC, SubHeightC */
    int x0 = (int)(mb % view->head.mb_width) * mb_w, y0 = (int)(mb / view->head.mb_width) * mb_h;
    const struct rec_mb *q_mb = &view->mbs[mb];
    const struct rec_mb *p_mb = position > 0 ? q_mb : vertical ? q_mb - 1 : q_mb - view->head.mb_width;
    const struct rec_slice *slice = &view->slices[q_mb->slice];
    int qp_av = (p_mb->qp[component] + q_mb->qp[component] + 1) >> 1;
    bool chroma_style = component > 0 && view->head.chroma_format_idc != 3;

    for (int k = 0; k < (vertical ? mb_h : mb_w); k++) {
        int x = vertical ? x0 + position : x0 + k, y = vertical ? y0 + k : y0 + position;
        int lx = x * scale_x, ly = y * scale_y; /* the corresponding luma sample q0 */
        int bs = ref_deblock_strength(view, vertical ? lx - 1 : lx, vertical ? ly : ly - 1, lx, ly);
        uint32_t stride = frame->stride[component];

        ref_deblock_line(frame->plane[component] + (size_t)y * stride + x, vertical ? 1 : (int)stride, bs, qp_av,
                         slice->filter_offset_a, slice->filter_offset_b, chroma_style, ref_bit_depth(view, component));
    }
}

/* All edges of one direction of one component, in order */
static void filter_direction(const struct rec_view *view, struct ref_frame *frame, uint32_t mb, int component, bool vertical)
{
    const struct rec_mb *m = &view->mbs[mb];
    uint8_t format = view->head.chroma_format_idc;
    bool chroma_style = component > 0 && format != 3;
    int size = (int)(vertical ? ref_mb_width(format, component) : ref_mb_height(format, component));
    int spacing = !chroma_style && (m->flags & REC_MB_TRANSFORM_8X8) ? 8 : 4;

    if (m->deblock & (vertical ? REC_DEBLOCK_LEFT : REC_DEBLOCK_TOP))
        filter_edge(view, frame, mb, component, vertical, 0);
    for (int position = spacing; position < size && (m->deblock & REC_DEBLOCK_INTERNAL); position += spacing)
        filter_edge(view, frame, mb, component, vertical, position);
}

void ref_deblock_picture(const struct rec_view *view, struct ref_frame *frame)
{
    for (uint32_t mb = 0; mb < view->head.mb_count; mb++)
        for (int component = 0; component < 3; component++)
            if (ref_mb_width(view->head.chroma_format_idc, component)) {
                filter_direction(view, frame, mb, component, true);
                filter_direction(view, frame, mb, component, false);
            }
}
