/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Neighbouring macroblocks in MBAFF frames (6.4.10, 6.4.12.2, Table 6-4). The line holds the edges
 * of pairs. Where a neighbouring pair is of the other kind, frame or field, an edge is mixed from
 * its macroblocks: row by row on the left, with vectors and reference indices rescaled for the
 * contexts that see them (9.3.3.1.1.6, 9.3.3.1.1.7).
 */
#include "codec/macroblock.h"

/* p->addr is the top macroblock of a pair: the pairs around it, and the inferred
 * mb_field_decoding_flag (7.4.4). */
void h264_mbaff_begin(struct mb_parser *p)
{
    struct mb_mbaff *m = &p->mbaff;
    uint32_t w = p->mb_width, x = p->mb_x, pair = p->addr >> 1;
    const struct mb_pair *at = &m->line[x];
    bool left = x > 0, right = x + 1 < w, above = pair >= w;
    m->a = left && at[-1].pair == pair - 1 ? at - 1 : NULL;
    m->b = above && at->pair == pair - w ? at : NULL;
    m->c = above && right && at[1].pair == pair - w + 1 ? at + 1 : NULL;
    m->d.pair = ADDR_NONE;
    m->d.flags[0] = m->d.flags[1] = 0;
    if (above && left && m->replaced.pair == pair - w - 1) {
        m->d = m->replaced;
    } else if (above && left && at[-1].pair == pair - w - 1) {
        m->d.field = at[-1].field;
        m->d.flags[0] = at[-1].mb[0].flags;
        m->d.flags[1] = at[-1].mb[1].flags;
    }
    m->inferred = m->a ? m->a->field : m->b ? m->b->field : 0;
}

/* Above neighbours take the pair's top macroblock only where both are field macroblocks of the top
 * field. */
static unsigned row_above(const struct mb_parser *p, unsigned field)
{
    return p->field && !p->mbaff.bottom && field ? 0 : 1;
}

void h264_mbaff_select(struct mb_parser *p, unsigned bottom, unsigned field)
{
    struct mb_mbaff *m = &p->mbaff;
    const struct mb_pair *a = m->a;
    m->bottom = (uint8_t)bottom;
    if (p->field != field) {
        p->field = (uint8_t)field;
        for (int list = 0; list < 2; list++)
            p->num_ref[list] = (uint8_t)(p->slice->hdr.num_ref[list] << field);
    }
    p->addr = (p->addr & ~1u) | bottom;
    p->index = ((p->addr >> 1) / p->mb_width * 2 + bottom) * p->mb_width + p->mb_x;
    if (!a) {
        p->near.a = p->near.a_lower = &h264_edge_none[0];
    } else if (a->field == field) {
        p->near.a = p->near.a_lower = &a->mb[bottom];
    } else {
        p->near.a = &a->mb[0];
        p->near.a_lower = &a->mb[field];
    }
    if (!field && bottom)
        p->near.b = &m->cur.mb[0];
    else
        p->near.b = m->b ? &m->b->mb[row_above(p, m->b->field)] : &h264_edge_none[0];
}

/* Availability of the left column: a frame macroblock sees both macroblocks of a field pair in
 * turn, the bottom one in the odd rows. */
static unsigned avail_left(const struct mb_parser *p)
{
    const struct mb_pair *a = p->mbaff.a;
    bool top, bottom;
    if (!a)
        return 0;
    top = h264_edge_serves_intra(p, a->mb[0].flags);
    bottom = h264_edge_serves_intra(p, a->mb[1].flags);
    if (a->field == p->field)
        return (p->mbaff.bottom ? bottom : top) ? REC_AVAIL_A : 0;
    if (p->field)
        return (top ? REC_AVAIL_A_UPPER : 0) | (bottom ? REC_AVAIL_A_LOWER : 0);
    return top && bottom ? REC_AVAIL_A : bottom ? REC_AVAIL_D8 : 0;
}

static unsigned flags_c(const struct mb_parser *p)
{
    const struct mb_mbaff *m = &p->mbaff;
    if (!m->c || (m->bottom && !p->field))
        return 0;
    return m->c->mb[row_above(p, m->c->field)].flags;
}

static unsigned flags_d(const struct mb_parser *p)
{
    const struct mb_mbaff *m = &p->mbaff;
    if (m->bottom && !p->field) /* row 15 of the pair to the left */
        return m->a ? m->a->mb[m->a->field].flags : 0;
    return m->d.flags[row_above(p, m->d.field)];
}

static unsigned deblock_edges(const struct mb_parser *p)
{
    unsigned idc = p->slice->hdr.disable_deblocking_filter_idc, edges = REC_DEBLOCK_INTERNAL;
    if (idc == 1)
        return 0;
    if (p->mb_x > 0 && (p->mbaff.a || idc == 0))
        edges |= REC_DEBLOCK_LEFT;
    if (!p->field && p->mbaff.bottom)
        edges |= REC_DEBLOCK_TOP;
    else if (p->addr >> 1 >= p->mb_width && (p->mbaff.b || idc == 0))
        edges |= REC_DEBLOCK_TOP;
    return edges;
}

/* Table 6-4, left column: the row of blocks of the neighbour that row y of h is beside. */
static unsigned row_left(const struct mb_parser *p, unsigned y, unsigned h)
{
    if (p->field)
        return y < h / 2 ? 2 * y : 2 * y - h;
    return (y + (p->mbaff.bottom ? h : 0)) >> 1;
}

static void mix_mvd(const struct mb_parser *p, const uint8_t from[2], uint8_t to[2])
{
    unsigned y = p->field ? from[1] / 2u : from[1] * 2u;
    to[0] = from[0];
    to[1] = (uint8_t)(y < 255 ? y : 255);
}

/* Reference indices greater than 0, of an edge in a pair of the other kind, as this macroblock
 * counts them. */
static unsigned refs_seen(const struct mb_parser *p, const struct mb_pair *pair,
                          const struct mb_edge *edge)
{
    return p->field ? edge->ref_gt0 : pair->ref_gt1[edge - pair->mb];
}

/* coded_block_flag and total_coeff of component c, w x h blocks */
static void mix_component(struct mb_parser *p, unsigned c, unsigned w, unsigned h)
{
    struct mb_edge *e = &p->mbaff.mixed[0];
    e->cbf[c] = 0;
    for (unsigned y = 0; y < h; y++) {
        const struct mb_edge *from = y < h / 2 ? p->near.a : p->near.a_lower;
        unsigned row = row_left(p, y, h);
        if (p->format.cabac_mode)
            e->cbf[c] |= (from->cbf[c] >> CBF_BIT(w - 1, row) & 1) << CBF_BIT(w - 1, y);
        else
            e->u.total.right[c][y] = from->u.total.right[c][row];
    }
}

static void mix_left(struct mb_parser *p)
{
    struct mb_edge *e = &p->mbaff.mixed[0];
    /* quadrants */
    unsigned upper = 1 + (row_left(p, 0, 4) & 2), lower = 1 + (row_left(p, 2, 4) & 2);
    unsigned refs[2] = {refs_seen(p, p->mbaff.a, p->near.a),
                        refs_seen(p, p->mbaff.a, p->near.a_lower)},
             chroma_w = p->format.chroma_blocks == 16 ? 4 : 2;

    *e = *p->near.a;
    e->cbp = (uint8_t)((p->near.a->cbp & 0xf0) | (p->near.a->cbp >> upper & 1) << 1 |
                       (p->near.a_lower->cbp >> lower & 1) << 3);
    e->ref_gt0 = 0;
    for (unsigned list = 0; list < 2; list++)
        e->ref_gt0 |= (uint8_t)((refs[0] >> (list * 4 + upper) & 1) << (list * 4 + 1) |
                                (refs[1] >> (list * 4 + lower) & 1) << (list * 4 + 3));
    for (unsigned y = 0; y < 4; y++) {
        const struct mb_edge *from = y < 2 ? p->near.a : p->near.a_lower;
        unsigned row = row_left(p, y, 4);
        e->mode_right[y] = from->mode_right[row];
        for (unsigned list = 0; list < 2 && p->format.cabac_mode; list++)
            mix_mvd(p, from->u.mvd.right[list][row], e->u.mvd.right[list][y]);
    }
    mix_component(p, 0, 4, 4);
    for (unsigned c = 1; c < 3 && p->format.chroma_blocks; c++)
        mix_component(p, c, chroma_w, p->format.chroma_blocks / chroma_w);
    p->near.a = e;
}

void h264_mbaff_left_of_intra(struct mb_parser *p)
{
    struct mb_edge *e = &p->mbaff.mixed[0];
    const struct mb_edge *from[2] = {&p->mbaff.a->mb[0], p->near.a_lower};
    unsigned chroma_w = p->format.chroma_blocks == 16 ? 4 : 2;
    for (unsigned c = 0; c < 3; c++) {
        unsigned h = c ? p->format.chroma_blocks / chroma_w : 4;
        for (unsigned y = 0; y < h; y++)
            if (!(from[y >= h / 2]->flags & EDGE_INTRA))
                e->u.total.right[c][y] = 0;
    }
}

static void mix_above(struct mb_parser *p)
{
    struct mb_edge *e = &p->mbaff.mixed[1];
    *e = *p->near.b;
    e->ref_gt0 = (uint8_t)refs_seen(p, p->mbaff.b, p->near.b);
    for (unsigned list = 0; list < 2 && p->format.cabac_mode; list++)
        for (unsigned x = 0; x < 4; x++)
            mix_mvd(p, p->near.b->u.mvd.bottom[list][x], e->u.mvd.bottom[list][x]);
    p->near.b = e;
}

/* After h264_mbaff_select: all that the macroblock's syntax needs. */
void h264_mbaff_find(struct mb_parser *p)
{
    struct mb_mbaff *m = &p->mbaff;
    unsigned avail = avail_left(p);
    if (h264_edge_serves_intra(p, p->near.b->flags))
        avail |= REC_AVAIL_B;
    if (h264_edge_serves_intra(p, flags_c(p)))
        avail |= REC_AVAIL_C;
    if (h264_edge_serves_intra(p, flags_d(p)))
        avail |= REC_AVAIL_D;
    p->intra_avail = (uint8_t)avail;
    p->deblock = (uint8_t)deblock_edges(p);
    m->ref_gt1 = 0;
    if (m->a && m->a->field != p->field)
        mix_left(p);
    if (m->b && m->b->field != p->field && (p->field || !m->bottom))
        mix_above(p);
}

/* The macroblock is complete; with the bottom one the pair takes the place of the pair above. */
void h264_mbaff_publish(struct mb_parser *p)
{
    struct mb_mbaff *m = &p->mbaff;
    struct mb_pair *slot = &m->line[p->mb_x];
    m->cur.mb[m->bottom] = p->edge;
    m->cur.ref_gt1[m->bottom] = m->ref_gt1;
    if (!m->bottom)
        return;
    m->replaced.pair = slot->pair;
    m->replaced.field = slot->field;
    m->replaced.flags[0] = slot->mb[0].flags;
    m->replaced.flags[1] = slot->mb[1].flags;
    m->cur.pair = p->addr >> 1;
    m->cur.field = p->field;
    *slot = m->cur;
}
