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
    /* field macroblock; of an MBAFF frame, where reference indices name fields */
    bool field, fields_named;
    bool bottom;
};

static struct block block_at(const struct rec_view *view, int x, int y)
{
    int row;
    uint32_t address = ref_mb_at(view, x, y, &row);
    struct block b = {.mb = &view->mbs[address],
                      .motion = view->motion ? &view->motion[address] : NULL};
    b.slice = &view->slices[b.mb->slice];
    b.raster = row / 4 * 4 + x % 16 / 4;
    b.quadrant = row / 8 * 2 + x % 16 / 8;
    b.field = ref_is_field(view, address);
    b.fields_named = b.field && view->head.mbaff;
    b.bottom = address / view->head.mb_width & 1;
    return b;
}

/* Reference picture and vector of each prediction of a block; their number. Pictures are told apart
 * by REC_REF, which is unique whatever list or index names it; fields of different parity are
 * different pictures. */
static int predictions(const struct block *b, uint16_t ref[2], const int16_t *mv[2])
{
    int n = 0;
    for (int list = 0; list < 2; list++) {
        int ref_idx = b->motion->ref_idx[list][b->quadrant];
        if (ref_idx < 0)
            continue;
        ref[n] = b->slice->ref[list][b->fields_named ? ref_idx >> 1 : ref_idx];
        if (b->fields_named)
            ref[n] = (uint16_t)REC_REF(REC_REF_SLOT(ref[n]),
                                       b->bottom ^ (ref_idx & 1) ? REC_BOTTOM : REC_TOP);
        mv[n++] = b->motion->mv[list][b->raster];
    }
    return n;
}

/* A difference of at least 4 quarter samples in either direction, of a frame: vertically 2 of a
 * field */
static bool far(const int16_t *a, const int16_t *b, bool field)
{
    return abs(a[0] - b[0]) >= 4 || abs(a[1] - b[1]) >= (field ? 2 : 4);
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
        return ref_p[0] != ref_q[0] || far(mv_p[0], mv_q[0], p->field);
    straight = ref_p[0] == ref_q[0] && ref_p[1] == ref_q[1];
    crossed = ref_p[0] == ref_q[1] && ref_p[1] == ref_q[0];
    if (!straight && !crossed)
        return true;
    /* Where both pairings are possible (one picture used twice), either may be the one without a
     * difference. */
    if (straight && !far(mv_p[0], mv_q[0], p->field) && !far(mv_p[1], mv_q[1], p->field))
        return false;
    return !(crossed && !far(mv_p[0], mv_q[1], p->field) && !far(mv_p[1], mv_q[0], p->field));
}

static bool switching(const struct block *b)
{
    return b->slice->slice_type >= 3; /* SP, SI */
}

int ref_deblock_strength(const struct rec_view *view, int px, int py, int qx, int qy)
{
    struct block p = block_at(view, px, py), q = block_at(view, qx, qy);
    bool vertical = py == qy;
    if (ref_is_intra(p.mb) || ref_is_intra(q.mb) || switching(&p) || switching(&q))
        return p.mb != q.mb && (vertical || (!p.field && !q.field)) ? 4 : 3;
    if ((p.mb->nonzero >> p.raster & 1) || (q.mb->nonzero >> q.raster & 1))
        return 2;
    return p.field != q.field || motion_differs(&p, &q); /* mixedModeEdgeFlag */
}

/* 8.7.2.4: bS 4, the side of v; v[0] is the sample at the edge, o the other side. */
static void filter_strong_side(const int v[4], const int o[4], bool strong, int out[3])
{
    out[0] = strong ? (v[2] + 2 * v[1] + 2 * v[0] + 2 * o[0] + o[1] + 4) >> 3
                    : (2 * v[1] + v[0] + o[1] + 2) >> 2;
    out[1] = strong ? (v[2] + v[1] + v[0] + o[0] + 2) >> 2 : v[1];
    out[2] = strong ? (2 * v[3] + 3 * v[2] + v[1] + v[0] + o[0] + 4) >> 3 : v[2];
}

/* 8.7.2.3: bS 1 to 3 */
static void filter_normal(const int p[4], const int q[4], int tc0, int beta, bool chroma,
                          int bit_depth, int out_p[3], int out_q[3])
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

void ref_deblock_line(uint16_t *s, int step, int bs, int qp_av, int offset_a, int offset_b,
                      bool chroma, int bit_depth)
{
    int index_a = ref_clip3(0, 51, qp_av + offset_a), index_b = ref_clip3(0, 51, qp_av + offset_b);
    int alpha = ref_alpha(index_a) << (bit_depth - 8), beta = ref_beta(index_b) << (bit_depth - 8);
    int depth = chroma ? 2 : 4; /* chroma blocks may be 4 samples apart, and only p1..q1 matter */
    int p[4] = {0}, q[4] = {0}, out_p[3], out_q[3];
    for (int i = 0; i < depth; i++) {
        p[i] = s[-(i + 1) * step];
        q[i] = s[i * step];
    }
    if (bs == 0 || abs(p[0] - q[0]) >= alpha || abs(p[1] - p[0]) >= beta ||
        abs(q[1] - q[0]) >= beta)
        return;
    if (bs < 4) {
        filter_normal(p, q, ref_tc0(index_a, bs) << (bit_depth - 8), beta, chroma, bit_depth, out_p,
                      out_q);
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

/* One edge of one component of a macroblock. */
struct edge {
    const struct rec_view *view;
    struct ref_plane plane;
    uint32_t mb;
    int component;
    bool vertical;
    int position; /* distance from the macroblock's border in samples of the component */
    /* of a frame macroblock below a field macroblock pair: 0, then 1: its rows are filtered as two
     * fields */
    int other_row;
    bool as_fields;
};

/* The luma row of the macroblock whose strength counts for row k of a vertical edge. Beside a pair
 * of the other kind a row of subsampled chroma must stay in its own field or half. */
static int luma_row(const struct edge *e, int k)
{
    const struct rec_view *view = e->view;
    if (ref_place_of(view, e->mb, e->component).height == 16)
        return k;
    if (e->position == 0 && view->head.mbaff && ref_is_field(view, e->mb) &&
        !ref_is_field(view, e->mb - 1))
        return 2 * k;
    return k / 2 * 4 + k % 2;
}

/* Line k of the edge: strength, QP and filter */
static void filter_line(const struct edge *e, int k)
{
    const struct rec_view *view = e->view;
    const struct rec_slice *slice = &view->slices[view->mbs[e->mb].slice];
    struct ref_place at = ref_place_of(view, e->mb, e->component),
                     luma = ref_place_of(view, e->mb, 0);
    int step = e->as_fields ? 2 : at.step, scale_x = 16 / at.width, scale_y = 16 / at.height;
    int x = at.x + (e->vertical ? e->position : k);
    int y = at.y + (e->vertical ? k : e->position) * at.step + e->other_row;
    int qx = x * scale_x, qy = luma.y +
                               (e->vertical ? luma_row(e, k) : e->position * scale_y) * luma.step +
                               e->other_row;
    int px = e->vertical ? qx - 1 : qx, py = e->vertical ? qy : qy - step, row;
    const struct rec_mb *p = &view->mbs[ref_mb_at(view, px, py, &row)];
    int qp_av = (p->qp[e->component] + view->mbs[e->mb].qp[e->component] + 1) >> 1;
    ref_deblock_line(e->plane.samples + y * e->plane.stride + x,
                     e->vertical ? 1 : (int)e->plane.stride * step,
                     ref_deblock_strength(view, px, py, qx, qy), qp_av, slice->filter_offset_a,
                     slice->filter_offset_b, e->component > 0 && view->head.chroma_format_idc != 3,
                     ref_bit_depth(view, e->component));
}

static void filter_edge(const struct edge *e)
{
    struct ref_place at = ref_place_of(e->view, e->mb, e->component);
    for (int k = 0; k < (e->vertical ? at.height : at.width); k++)
        filter_line(e, k);
}

/* The top edge of a frame macroblock below a pair of field macroblocks: its top rows as two fields,
 * each against the field macroblock of its parity (8.7). */
static bool below_fields(const struct rec_view *view, uint32_t mb)
{
    uint32_t width = view->head.mb_width;
    return view->head.mbaff && !(mb / width & 1) && !ref_is_field(view, mb) &&
           ref_is_field(view, mb - width);
}

static void filter_border(struct edge e)
{
    if (!e.vertical && below_fields(e.view, e.mb)) {
        e.as_fields = true;
        filter_edge(&e);
        e.other_row = 1;
    }
    filter_edge(&e);
}

/* All edges of one direction of one component, in order */
static void filter_direction(const struct rec_view *view, struct ref_frame *frame, uint32_t mb,
                             int component, bool vertical)
{
    const struct rec_mb *m = &view->mbs[mb];
    struct ref_place at = ref_place_of(view, mb, component);
    bool chroma_style = component > 0 && view->head.chroma_format_idc != 3;
    int size = vertical ? at.width : at.height,
        spacing = !chroma_style && (m->flags & REC_MB_TRANSFORM_8X8) ? 8 : 4;
    struct edge e = {.view = view, .mb = mb, .component = component, .vertical = vertical};
    e.plane = ref_plane_of(frame, ref_plane_index(view, component), view->head.structure);
    if (m->deblock & (vertical ? REC_DEBLOCK_LEFT : REC_DEBLOCK_TOP))
        filter_border(e);
    for (e.position = spacing; e.position < size && (m->deblock & REC_DEBLOCK_INTERNAL);
         e.position += spacing)
        filter_edge(&e);
}

void ref_deblock_mb(const struct rec_view *view, uint32_t mb, struct ref_frame *frame)
{
    for (int component = 0; component < 3; component++)
        if (ref_mb_width(view->head.chroma_format_idc, component)) {
            filter_direction(view, frame, mb, component, true);
            filter_direction(view, frame, mb, component, false);
        }
}
