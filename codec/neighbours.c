/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Neighbouring macroblocks (6.4.9 to 6.4.12) of a field, or of a frame without MBAFF: A to the
 * left, B above, C above right, D above left. Macroblocks of the same slice are available (6.4.8).
 * Without slice groups these are the addresses from first_mb_in_slice on. With slice groups the
 * line keeps the address of each edge.
 */
#include "codec/macroblock.h"

const struct mb_edge h264_edge_none[2] = {
    {.cbp = 0x0f,
     .mode_right = {MODE_NONE, MODE_NONE, MODE_NONE, MODE_NONE},
     .mode_bottom = {MODE_NONE, MODE_NONE, MODE_NONE, MODE_NONE}},
    {.flags = EDGE_CBF_DC * 7,
     .cbp = 0x0f,
     .mode_right = {MODE_NONE, MODE_NONE, MODE_NONE, MODE_NONE},
     .mode_bottom = {MODE_NONE, MODE_NONE, MODE_NONE, MODE_NONE},
     .cbf = {CBF_ALL, CBF_ALL, CBF_ALL}},
};

/* a, b: whether A and B are available; c, d: flags of C and D, 0 where not available. */
static inline void set_neighbours(struct mb_parser *p, bool a, bool b, unsigned c, unsigned d)
{
    unsigned avail, left = p->mb_x > 0, top = p->addr >= p->mb_width;
    p->near.a = p->near.a_lower = a ? &p->line.edges[p->mb_x - 1] : &h264_edge_none[0];
    p->near.b = b ? &p->line.edges[p->mb_x] : &h264_edge_none[0];
    avail = h264_edge_serves_intra(p, p->near.a->flags) * REC_AVAIL_A;
    avail |= h264_edge_serves_intra(p, p->near.b->flags) * REC_AVAIL_B;
    avail |= h264_edge_serves_intra(p, c) * REC_AVAIL_C;
    avail |= h264_edge_serves_intra(p, d) * REC_AVAIL_D;
    p->intra_avail = (uint8_t)avail;
    if (p->format.deblock_idc == 2) { /* within the slice */
        left = a;
        top = b;
    }
    p->deblock =
        (uint8_t)(p->format.deblock_idc == 1
                      ? 0
                      : REC_DEBLOCK_INTERNAL | left * REC_DEBLOCK_LEFT | top * REC_DEBLOCK_TOP);
}

static __attribute__((noinline)) void find_in_group(struct mb_parser *p)
{
    uint32_t w = p->mb_width, x = p->mb_x, addr = p->addr;
    const uint32_t *at = p->line.addr;
    bool left = x > 0, right = x + 1 < w, above = addr >= w;
    unsigned d = 0;
    if (left && above) /* still in the line, where A is of another slice */
        d = at[x - 1] == addr - w - 1        ? p->line.edges[x - 1].flags
            : p->near.d_addr == addr - w - 1 ? p->near.d_flags
                                             : 0;
    set_neighbours(p, left && at[x - 1] == addr - 1, above && at[x] == addr - w,
                   right && above && at[x + 1] == addr - w + 1 ? p->line.edges[x + 1].flags : 0, d);
}

/* Neighbours, availability for intra prediction (8.3.1.2) and the edges that deblocking visits
 * (8.7) of macroblock p->addr. */
void h264_neighbours_find(struct mb_parser *p)
{
    uint32_t w = p->mb_width, x = p->mb_x, since = p->addr - p->first_mb;
    /* C is w - 1, D w + 1 macroblocks back */
    bool c = x + 1 < w && since + 1 >= w, d = x > 0 && since >= w + 1;

    p->index = p->addr;
    if (p->groups)
        find_in_group(p);
    else
        set_neighbours(p, x > 0 && since >= 1, since >= w, c ? p->line.edges[x + 1].flags : 0,
                       d ? p->near.d_flags : 0);
}

/* The macroblock is complete: its edge takes the place of the one above. */
void h264_neighbours_publish(struct mb_parser *p)
{
    struct mb_edge *slot = &p->line.edges[p->mb_x];
    p->near.d_flags = slot->flags;
    *slot = p->edge;
}

void h264_neighbours_publish_group(struct mb_parser *p)
{
    h264_neighbours_publish(p);
    p->near.d_addr = p->line.addr[p->mb_x];
    p->line.addr[p->mb_x] = p->addr;
}
