/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Neighbouring macroblocks (6.4.9 to 6.4.12) of a frame without MBAFF: A to the left, B above, C above right, D above left.
 * Available are macroblocks of the same slice, which without slice groups and arbitrary slice order are those from
 * first_mb_in_slice on.
 */
#include "codec/macroblock.h"

const struct mb_edge h264_edge_none[2] = {
    {.cbp = 0x0f, .mode_right = {MODE_NONE, MODE_NONE, MODE_NONE, MODE_NONE},
     .mode_bottom = {MODE_NONE, MODE_NONE, MODE_NONE, MODE_NONE}},
    {.flags = EDGE_CBF_DC * 7, .cbp = 0x0f, .mode_right = {MODE_NONE, MODE_NONE, MODE_NONE, MODE_NONE},
     .mode_bottom = {MODE_NONE, MODE_NONE, MODE_NONE, MODE_NONE}, .cbf = {CBF_ALL, CBF_ALL, CBF_ALL}},
};

/* Neighbours, availability for intra prediction (8.3.1.2) and the edges that deblocking visits (8.7) of macroblock p->addr. */
void h264_neighbours_find(struct mb_parser *p)
{
    const struct h264_slice_header *hdr = &p->slice->hdr;
    uint32_t w = p->mb_width, x = p->mb_x, since = p->addr - p->first_mb;
    bool a = x > 0 && since >= 1, b = since >= w;
    bool c = x + 1 < w && since + 1 >= w, d = x > 0 && since >= w + 1; /* C is w - 1, D w + 1 macroblocks back */
    unsigned need = p->pps->constrained_intra_pred_flag ? EDGE_INTRA : EDGE_AVAILABLE;
    unsigned avail = 0, deblock = 0;

    p->a = a ? &p->line[x - 1] : &h264_edge_none[0];
    p->b = b ? &p->line[x] : &h264_edge_none[0];
    if (p->a->flags & need)
        avail |= REC_AVAIL_A;
    if (p->b->flags & need)
        avail |= REC_AVAIL_B;
    if (c && p->line[x + 1].flags & need)
        avail |= REC_AVAIL_C;
    if (d && p->d_flags & need)
        avail |= REC_AVAIL_D;
    p->intra_avail = (uint8_t)avail;
    if (hdr->disable_deblocking_filter_idc != 1) {
        bool within = hdr->disable_deblocking_filter_idc == 2;

        deblock = REC_DEBLOCK_INTERNAL;
        if (x > 0 && (a || !within))
            deblock |= REC_DEBLOCK_LEFT;
        if (p->addr >= w && (b || !within))
            deblock |= REC_DEBLOCK_TOP;
    }
    p->deblock = (uint8_t)deblock;
}

/* The macroblock is complete: its edge takes the place of the one above. */
void h264_neighbours_publish(struct mb_parser *p)
{
    struct mb_edge *slot = &p->line[p->mb_x];

    p->d_flags = slot->flags;
    *slot = p->edge;
}
