/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The pictures of a stream: their structure, output order (8.2.1), frame_num (7.4.3) and the kinds
 * of slices they may have.
 */
#include "gen.h"

#include <string.h>

/* FrameNumOffset (8-6, 8-11) */
static void step_frame_num(struct gen *g, uint32_t frame_num)
{
    if (g->pic.idr || g->prev_mmco5)
        g->frame_num_offset = 0;
    if (g->prev_mmco5)
        g->prev_frame_num = 0;
    if (!g->pic.idr && g->prev_frame_num > frame_num)
        g->frame_num_offset += 1u << g->sps.log2_max_frame_num;
    g->prev_frame_num = frame_num;
    g->prev_mmco5 = false;
}

/* expectedPicOrderCnt of type 1 (8.2.1.2), tempPicOrderCnt of type 2 (8.2.1.3) */
static int expected_poc(const struct gen *g)
{
    const struct h264_sps *sps = &g->sps;
    int n = (int)(g->frame_num_offset + g->pic.frame_num), cycle = sps->num_ref_frames_in_poc_cycle,
        expected = 0;
    if (sps->poc_type == 2)
        return g->pic.idr ? 0 : 2 * n - !g->pic.nal_ref_idc;
    n = cycle ? n - (!g->pic.nal_ref_idc && n > 0) : 0;
    for (int i = 0; i < n; i++)
        expected += sps->offset_for_ref_frame[i % cycle];
    return expected + (g->pic.nal_ref_idc ? 0 : sps->offset_for_non_ref_pic);
}

/* PicOrderCnt of the frame's fields as wished, or as the type dictates; and the syntax elements
 * that give them. */
static void set_poc(struct gen *g, int top, int difference)
{
    struct picture *p = &g->pic;
    const struct h264_sps *sps = &g->sps;
    bool field = p->structure != REC_FRAME,
         explicit_bottom = p->pps[0]->bottom_field_pic_order_in_frame_present_flag;
    int expected = sps->poc_type ? expected_poc(g) : 0, t2b = sps->offset_for_top_to_bottom_field;
    if (sps->poc_type == 2 || (sps->poc_type == 1 && sps->delta_pic_order_always_zero_flag)) {
        p->poc[0] = expected;
        p->poc[1] = expected + (sps->poc_type == 1 ? t2b : 0);
        return;
    }
    if (!field && !explicit_bottom)
        difference = sps->poc_type ? t2b : 0;
    if (p->idr && difference < 0) /* the smaller one is 0 (8.2.1) */
        top = -difference;
    p->poc[0] = top;
    p->poc[1] = top + difference;
    p->delta_poc_bottom = difference;
    p->poc_lsb = (uint32_t)p->poc[p->structure == REC_BOTTOM] & ((1u << sps->log2_max_poc_lsb) - 1);
    p->delta_poc[0] = p->structure == REC_BOTTOM ? p->poc[1] - expected - t2b : top - expected;
    p->delta_poc[1] = difference - t2b;
}

static void choose_types(struct gen *g)
{
    static const uint8_t kinds[5] = {1 << H264_P, 1 << H264_B, 1 << H264_P | 1 << H264_I,
                                     1 << H264_B | 1 << H264_I, 1 << H264_I};
    struct picture *p = &g->pic;
    struct rng *r = &p->rng;
    uint8_t allowed = 1 << H264_I;
    if (p->list_length[0])
        allowed |= (uint8_t)(gen_has(g, F_P) ? 1 << H264_P : 0);
    if (p->list_length[0] && p->list_length[1])
        allowed |= (uint8_t)(gen_has(g, F_B) ? 1 << H264_B : 0);
    /* its colocated picture may be the first field */
    if (!g->odd && p->second_field && p->nal_ref_idc)
        allowed &= (uint8_t) ~(1 << H264_B);
    do {
        p->types = kinds[rng_one_in(r, 6) ? 4 : rng_below(r, gen_has(g, F_MIXED) ? 4 : 2)];
        if (gen_has(g, F_MIXED) && rng_one_in(r, 3))
            p->types = (uint8_t)(1 + rng_below(r, 7));
        p->types &= allowed;
        if (!g->odd && p->types & 1 << H264_P) /* the strength of edges between P and B slices */
            p->types &= (uint8_t) ~(1 << H264_B);
        if (allowed == 1 << H264_I)
            p->types = allowed;
    } while (!p->types);
    if (p->types & 1 << H264_P && gen_has(g, F_SP) && rng_one_in(r, 2))
        p->types |= 1 << H264_SP;
    if (gen_has(g, F_SI) && rng_one_in(r, 3))
        p->types |= 1 << H264_SI;
    gen_not_ffmpeg(g, p->second_field && p->nal_ref_idc && p->types & 1 << H264_B,
                   "b-second-field");
}

static void choose_sets(struct gen *g)
{
    unsigned pair = g->pps_count == 4 ? rng_below(&g->pic.rng, 2) * 2 : 0;
    g->pic.pps_count = g->odd && g->pps_count > 1 && rng_one_in(&g->pic.rng, 4) ? 2 : 1;
    pair += g->pic.pps_count == 1 && g->pps_count > 1 ? rng_below(&g->pic.rng, 2) : 0;
    g->pic.pps[0] = &g->pps[pair];
    g->pic.pps[1] = &g->pps[pair + g->pic.pps_count - 1];
}

/* Needed after memory_management_control_operation 5, as the next picture may look like another
 * slice (7.4.1.2.4). */
static void write_delimiter(struct gen *g)
{
    struct bit_writer s = {0};
    bit_writer_u(&s, 8, 9);
    bit_writer_u(&s, 3, 7); /* primary_pic_type: any */
    bit_writer_trailing(&s);
    bit_writer_nal(&g->out, &s);
    bit_writer_free(&s);
}

static void write_empty(struct gen *g, unsigned type)
{
    struct bit_writer s = {0};
    bit_writer_u(&s, 8, type);
    bit_writer_nal(&g->out, &s);
    bit_writer_free(&s);
}

/* filler_data_rbsp() after a picture (7.3.2.7) */
static void maybe_filler(struct gen *g)
{
    struct rng r = rng_fork(g->pic.rng, 99);
    struct bit_writer s = {0};
    if (!gen_use(g, &r, F_UNITS, 3))
        return;
    bit_writer_u(&s, 8, 12);
    for (unsigned n = rng_below(&r, 20); n; n--)
        bit_writer_u(&s, 8, 0xff);
    bit_writer_trailing(&s);
    bit_writer_nal(&g->out, &s);
    bit_writer_free(&s);
}

/* Of the same access unit, with the same marking: the base view's picture is one more entry of its
 * lists (H.8.2.1). */
static void code_second_view(struct gen *g)
{
    struct picture *p = &g->pic;
    p->view = 1;
    for (unsigned list = 0; list < 2; list++) {
        bool inter_view = p->inter_view_flag && g->view_refs[p->anchor] >> list & 1;
        p->list_length[list] = p->anchor && !inter_view ? 0 : p->ref_count + inter_view;
    }
    p->rng = rng_fork(p->rng, 3);
    choose_types(g);
    picture_write(g);
}

/* One picture: g->pic has its identity; its place in the order of output is (top, difference). */
static void code_picture(struct gen *g, unsigned structure, int top, int difference)
{
    struct picture *p = &g->pic;
    bool field = structure != REC_FRAME;
    struct rng aside = rng_fork(p->rng, 4);
    p->structure = (uint8_t)structure;
    p->mbaff = !field && g->sps.mb_adaptive_frame_field_flag;
    p->width = g->sps.mb_width;
    p->height = (unsigned)g->sps.mb_height >> field;
    p->mb_count = p->width * p->height;
    p->anchor = p->idr || (!field && p->nal_ref_idc && gen_has(g, F_MVC) && gen_has(g, F_MMCO) &&
                           dpb_can_clear(g) && rng_one_in(&aside, 6));
    if (!p->idr && (g->delimiters || p->mmco5)) /* of IDR pictures before the parameter sets */
        write_delimiter(g);
    if (!p->second_field || g->prev_mmco5)
        step_frame_num(g, p->frame_num);
    set_poc(g, top, difference);
    dpb_prepare(g);
    sei_write(g);
    p->view = 0;
    p->list_length[0] = p->list_length[1] = p->anchor ? 0 : p->ref_count;
    p->inter_view_flag = !g->prefixes || !rng_one_in(&aside, 4);
    choose_types(g);
    g->used |= field ? F_FIELDS : p->mbaff ? F_MBAFF : 0;
    gen_not_ffmpeg(g, p->mbaff && p->pps[0]->constrained_intra_pred_flag,
                   "mbaff-constrained-intra");
    picture_write(g);
    p->predicts = p->types & ~(1u << H264_I | 1u << H264_SI);
    p->several_slices = p->slice_count > 1;
    if (gen_use(g, &p->rng, F_MVC, 1))
        code_second_view(g);
    maybe_filler(g);
    dpb_finish(g);
    if (!p->nal_ref_idc)
        return;
    if (p->mmco5) {
        g->prev_mmco5 = g->was_reset = true;
        p->frame_num = 0;
    }
    g->prev_ref_frame_num = p->frame_num;
    g->prev_ref_poc = p->mmco5 ? 0 : p->poc[structure == REC_BOTTOM];
}

/* A frame, two fields, or one. */
static void code_frame(struct gen *g, bool idr, int top, int difference)
{
    struct picture *p = &g->pic;
    bool fields = gen_has(g, F_FIELDS) && (rng_one_in(&p->rng, 2) || g->must_reset);
    unsigned first = rng_one_in(&p->rng, 3) ? REC_BOTTOM : REC_TOP;
    if (g->must_reset)
        first = REC_FRAME - g->lone_field;
    p->idr = idr;
    p->second_field = 0;
    choose_sets(g);
    if (!fields) {
        code_picture(g, REC_FRAME, top, difference);
        g->lone_field = 0;
        return;
    }
    if (idr && g->sps.poc_type != 2 &&
        !(g->sps.poc_type == 1 && g->sps.delta_pic_order_always_zero_flag))
        difference = first == REC_TOP ? 1 : -1; /* the IDR field is first in the order of output */
    if (idr && first == REC_BOTTOM && g->sps.poc_type == 1 &&
        g->sps.delta_pic_order_always_zero_flag)
        first = REC_TOP;
    code_picture(g, first, top, difference);
    g->must_reset = false;
    g->lone_field = 0;
    /* A frame picture cannot name it to make room: it must be able to slide out. */
    if (p->nal_ref_idc && !gen_has(g, F_LONGTERM) && gen_use(g, &p->rng, F_UNPAIRED, 4)) {
        gen_not_ffmpeg(g, true, "unpaired-field");
        g->lone_field = (uint8_t)first;
        return;
    }
    if (p->mmco5) { /* its POC is 0 now (8.2.1) */
        difference = first == REC_TOP ? 1 : -1;
        top = first == REC_TOP ? 0 : 1;
    }
    p->idr = 0;
    p->second_field = 1;
    p->rng = rng_fork(p->rng, 2);
    choose_sets(g);
    code_picture(g, REC_FRAME - first, idr ? p->poc[0] : top, difference);
}

/* A gap in frame_num (8.2.5.2), where marking has room for it. */
static void maybe_gap(struct gen *g)
{
    unsigned shorts = 0, frames = 1 + rng_below(&g->pic.rng, 3),
             max = 1u << g->sps.log2_max_frame_num;
    for (unsigned i = 0; i < g->dpb.count; i++)
        shorts += g->dpb.frames[i].short_term != 0;
    if (!g->sps.gaps_in_frame_num_allowed ||
        (!shorts && g->dpb.count >= g->sps.max_num_ref_frames) ||
        !gen_use(g, &g->pic.rng, F_GAPS, 3))
        return;
    gen_not_ffmpeg(g, true, "gaps");
    for (unsigned i = 0; i < frames; i++) {
        step_frame_num(g, (g->prev_ref_frame_num + 1) % max);
        dpb_gap(g, 1);
    }
}

/* The next frame could lie half of MaxPicOrderCntLsb behind the last reference (8.2.1.1). */
static bool must_refer(const struct gen *g)
{
    int furthest = (g->group_end - 1 + (int)g->reorder) * g->poc_step + 1;
    return g->sps.poc_type == 0 && furthest - g->prev_ref_poc >= 1 << (g->sps.log2_max_poc_lsb - 1);
}

static void start_frame(struct gen *g, unsigned index, bool idr)
{
    struct picture *p = &g->pic;
    bool chained =
        g->sps.poc_type == 2 || (g->sps.poc_type == 1 && g->sps.delta_pic_order_always_zero_flag);
    p->rng = rng_fork(g->rng, 1000 + index);
    p->idr = idr;
    p->nal_ref_idc = (uint8_t)(idr || !rng_one_in(&p->rng, 3) ? 1 + rng_below(&p->rng, 3) : 0);
    if ((g->poc_step == 2 && g->sps.poc_type == 0) || (chained && g->prev_was_non_ref) ||
        (!p->nal_ref_idc && must_refer(g)))
        p->nal_ref_idc = 1;
    g->prev_was_non_ref = !p->nal_ref_idc;
    g->frame_count = index;
    if (idr) {
        g->prev_ref_frame_num = 0;
        p->frame_num = 0;
        p->idr_pic_id = g->idr_pic_id++ % 3;
        return;
    }
    if (g->lone_field && g->may_reset && g->sps.poc_type == 0 && gen_use(g, &p->rng, F_MMCO, 2)) {
        /* As its second field would, but a field with operation 5 is none (3.30): both stand alone.
         */
        p->frame_num = g->prev_ref_frame_num;
        p->nal_ref_idc = 1;
        g->prev_was_non_ref = false;
        g->must_reset = true;
        return;
    }
    maybe_gap(g);
    p->frame_num = (g->prev_ref_frame_num + 1) % (1u << g->sps.log2_max_frame_num);
}

/* n frames whose places in the order of output are a permutation of the next n. */
static void code_group(struct gen *g, unsigned index, unsigned n)
{
    unsigned slots[4] = {0, 1, 2, 3};
    struct rng r = rng_fork(g->rng, 5000 + index);
    for (unsigned i = n; i > 1; i--) {
        unsigned k = rng_below(&r, i), t = slots[i - 1];
        slots[i - 1] = slots[k];
        slots[k] = t;
    }
    /* Not in stereo streams: whether the base view's picture, as a reference of the second one, has
     * its POC from before is open. */
    g->may_reset = n == 1 && (g->odd || !gen_has(g, F_B)) && !gen_has(g, F_MVC);
    g->was_reset = false;
    g->group_end = g->next_slot + (int)n;
    for (unsigned i = 0; i < n; i++) {
        start_frame(g, index + i, false);
        code_frame(g, false, (g->next_slot + (int)slots[i]) * g->poc_step,
                   g->poc_step == 2 || rng_one_in(&r, 2) ? 1 : -1);
    }
    g->next_slot += (int)n;
    if (g->was_reset)
        g->next_slot = 1;
}

static void code_idr(struct gen *g, unsigned index)
{
    struct rng aside = rng_fork(g->rng, 7000 + index);
    bool again = !index; /* the parameter sets */
    if (index && gen_use(g, &aside, F_UNITS, 2))
        write_empty(g, 10); /* end_of_seq_rbsp() */
    if (g->delimiters)
        write_delimiter(g);
    if (index && gen_use(g, &aside, F_RESIZE, 2)) {
        /* it drops frames that wait for output */
        gen_not_ffmpeg(g, g->reorder > 1 || !g->sps.vui_present, "size-change");
        sets_choose(g, true);
        again = true;
    } else if (index && gen_use(g, &g->rng, F_SETS, 2)) {
        sets_choose(g, false);
        again = true;
    }
    if (again)
        sets_write(g);
    g->pic.no_output_of_prior_pics = index && g->odd && gen_use(g, &aside, F_UNITS, 3);
    /* pelton shows them all the same */
    gen_not_ffmpeg(g, g->pic.no_output_of_prior_pics, "no-output-of-prior-pics");
    g->used |= index ? F_IDRS : 0;
    start_frame(g, index, true);
    code_frame(g, true, 0, rng_one_in(&g->pic.rng, 2));
    g->next_slot = 1;
}

static void choose_views(struct gen *g)
{
    struct rng aside = rng_fork(g->rng, 8000);
    g->prefixes = gen_has(g, F_MVC) ? rng_one_in(&aside, 2) : gen_use(g, &aside, F_UNITS, 4);
    for (unsigned anchor = 0; anchor < 2; anchor++)
        g->view_refs[anchor] = (uint8_t)(rng_one_in(&aside, 3) ? rng_below(&aside, 4) : 3);
}

void gen_stream(struct gen *g)
{
    unsigned frames = 2 + rng_below(&g->rng, rng_one_in(&g->rng, 8) ? 24 : 7), n;
    if (g->limits.frames)
        frames = g->limits.frames;
    g->delimiters = rng_one_in(&g->rng, 3);
    g->odd = rng_one_in(&g->rng, 4);
    cavlc_codes_build(&g->codes);
    choose_views(g);
    sets_choose(g, true);
    for (unsigned i = 0; i < frames; i += n) {
        struct rng r = rng_fork(g->rng, 9000 + i);
        n = 1;
        if (i == 0 || g->profile->intra || (gen_has(g, F_IDRS) && rng_one_in(&r, 5))) {
            code_idr(g, i);
            continue;
        }
        n = 1 + rng_below(&r, g->reorder);
        n = n < frames - i ? n : frames - i;
        code_group(g, i, n);
    }
    if (gen_use(g, &g->rng, F_UNITS, 2))
        write_empty(g, 11); /* end_of_stream_rbsp() */
    sets_free(g);
}
