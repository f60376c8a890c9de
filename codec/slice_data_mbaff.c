/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Step 2: slice_data() (7.3.4) of MBAFF frames, pair by pair. mb_field_decoding_flag belongs to the
 * pair: its first macroblock that is not skipped carries the flag. A skipped top macroblock takes
 * the flag that its bottom macroblock carries (7.4.4).
 */
#include "codec/cabac.h"
#include "codec/h264_error.h"
#include "codec/macroblock.h"

static bool parse_macroblock(struct mb_parser *p, bool skipped)
{
    h264_mbaff_find(p);
    if (!skipped)
        return h264_macroblock(p);
    h264_macroblock_skip(p);
    return true;
}

/* mb_skip_run and what becomes of it between two macroblocks. */
struct skip_run {
    uint32_t left;
    bool known; /* no mb_skip_run stands before the next macroblock */
    bool last;  /* the slice ends with these skipped macroblocks */
};

/* Whether the next macroblock is skipped. */
static bool next_is_skipped(struct mb_parser *p, struct skip_run *run)
{
    if (p->format.slice_type == H264_I)
        return false;
    if (!run->known) {
        run->left = h264_bits_ue(&p->bits);
        run->known = true;
        run->last = run->left && !h264_bits_more_data(&p->bits);
    }
    if (run->left) {
        run->left--;
        return true;
    }
    run->known = false;
    return false;
}

/* Returns whether the slice goes on, or a negative error. */
static int pair_cavlc(struct mb_parser *p, struct skip_run *run)
{
    struct h264_bits *b = &p->bits;
    bool skipped = next_is_skipped(p, run);
    unsigned field = p->mbaff.inferred;
    if (!skipped)
        field = h264_bits_flag(b);
    else if (!run->left && !run->last) /* the bottom macroblock has it next */
        field = h264_bits_peek(b, 1);
    h264_mbaff_select(p, 0, field);
    if (h264_bits_overrun(b) || !parse_macroblock(p, skipped))
        return H264_ERR_DATA;
    if (skipped ? run->last && !run->left : !h264_bits_more_data(b))
        return H264_ERR_DATA;
    if (!next_is_skipped(p, run)) {
        if (skipped)
            h264_bits_flag(b);
        skipped = false;
    } else {
        skipped = true;
    }
    h264_mbaff_select(p, 1, field);
    if (h264_bits_overrun(b) || !parse_macroblock(p, skipped))
        return H264_ERR_DATA;
    return skipped ? !run->last || run->left : h264_bits_more_data(b);
}

int h264_slice_data_mbaff_cavlc(struct mb_parser *p)
{
    struct skip_run run = {0};
    int more;
    do {
        if (p->addr >= p->end_mb)
            return H264_ERR_DATA;
        h264_mbaff_begin(p);
        more = pair_cavlc(p, &run);
        if (more < 0)
            return more;
        p->mbs_decoded += 2;
        mb_next_pair(p);
    } while (more);
    return H264_OK;
}

static int pair_cabac(struct mb_parser *p)
{
    bool inter = p->format.slice_type != H264_I, skipped[2] = {false, false};
    unsigned field = p->mbaff.inferred;
    h264_mbaff_select(p, 0, field);
    if (inter && h264_cabac_mb_skip_flag(p)) {
        skipped[0] = true;
        p->mbaff.cur.mb[0] = p->line.skipped;
        h264_mbaff_select(p, 1, field);
        skipped[1] = h264_cabac_mb_skip_flag(p);
    }
    if (!skipped[1])
        field = h264_cabac_mb_field_decoding_flag(p);
    h264_mbaff_select(p, 0, field);
    if (!parse_macroblock(p, skipped[0]))
        return H264_ERR_DATA;
    h264_mbaff_select(p, 1, field);
    if (inter && !skipped[0])
        skipped[1] = h264_cabac_mb_skip_flag(p);
    if (!parse_macroblock(p, skipped[1]) || h264_cabac_overrun(&p->cabac.e))
        return H264_ERR_DATA;
    return H264_OK;
}

int h264_slice_data_mbaff_cabac(struct mb_parser *p)
{
    do {
        int error;
        if (p->addr >= p->end_mb)
            return H264_ERR_DATA;
        h264_mbaff_begin(p);
        error = pair_cabac(p);
        if (error)
            return error;
        p->mbs_decoded += 2;
        mb_next_pair(p);
    } while (!h264_cabac_terminate(&p->cabac.e));
    return H264_OK;
}
