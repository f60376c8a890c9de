/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Slice header: choice (7.4.3) and syntax (7.3.3).
 */
#include "gen.h"

#include <string.h>

static bool is_intra(unsigned type)
{
    return type == H264_I || type == H264_SI;
}

/* modification_of_pic_nums_idc and its operand that lead from *pred to the picture (8.2.4.3.1):
 * either way around MaxPicNum. */
static struct h264_list_mod short_term_mod(const struct gen *g, struct rng *r, int32_t *pred,
                                           int32_t pic_num)
{
    int32_t field = g->pic.structure != REC_FRAME, max = 1 << (g->sps.log2_max_frame_num + field);
    int32_t target = pic_num < 0 ? pic_num + max : pic_num, diff = target - *pred;
    *pred = target;
    if (diff > 0 ? rng_one_in(r, 4) : !rng_one_in(r, 4)) {
        diff = diff < 0 ? -diff : max - diff;
        return (struct h264_list_mod){0, (uint32_t)(diff - 1)};
    }
    return (struct h264_list_mod){1, (uint32_t)(diff > 0 ? diff - 1 : max + diff - 1)};
}

/* ref_pic_list_modification() of a list of num entries; returns how many of its entries name
 * pictures for sure. */
static unsigned choose_modification(struct gen *g, struct rng *r, struct slice *s, unsigned list,
                                    unsigned num)
{
    struct picture *p = &g->pic;
    unsigned length = p->list_length[list], choices = p->ref_count + (length > p->ref_count);
    int32_t pred =
        p->structure == REC_FRAME ? (int32_t)p->frame_num : 2 * (int32_t)p->frame_num + 1;
    unsigned initial = num < length ? num : length, count, distinct = 0, named_view = 0;
    uint64_t named = 0;
    /* nothing but the base view's picture may be in it (H.8.2) */
    if (p->anchor && (p->ref_count || num > length)) {
        s->hdr.list_mod_count[list] = (uint8_t)num;
        for (unsigned i = 0; i < num; i++)
            s->hdr.list_mod[list][i] = (struct h264_list_mod){i ? 4 : 5, 0};
        return num;
    }
    if (!p->list_gaps && (!choices || !gen_use(g, r, F_REORDER, 2)))
        return initial;
    count = p->list_gaps ? num : 1 + rng_below(r, num < 5 ? num : 5);
    g->used |= F_REORDER;
    s->hdr.list_mod_count[list] = (uint8_t)count;
    for (unsigned i = 0; i < count; i++) {
        unsigned k = rng_below(r, choices);
        const struct ref_choice *ref = &p->refs[k];
        distinct += !(named >> k & 1);
        named |= (uint64_t)1 << k;
        /* the other view: picViewIdxLX goes from -1, or 0, to 0 (H.8.2.2.3) */
        if (k == p->ref_count)
            s->hdr.list_mod[list][i] =
                (struct h264_list_mod){named_view++ && rng_one_in(r, 2) ? 4 : 5, 0};
        else
            s->hdr.list_mod[list][i] = ref->long_term
                                           ? (struct h264_list_mod){2, (uint32_t)ref->pic_num}
                                           : short_term_mod(g, r, &pred, ref->pic_num);
    }
    count += p->list_gaps || initial < distinct ? 0 : initial - distinct;
    return count < num ? count : num;
}

static void choose_lists(struct gen *g, struct rng *r, struct slice *s)
{
    struct picture *p = &g->pic;
    unsigned most = p->structure == REC_FRAME ? 16 : 32, num, length;
    for (unsigned list = 0; list < (s->hdr.type == H264_B ? 2u : 1u); list++) {
        length = p->list_length[list];
        num = 1 + rng_below(r, length);
        if (g->odd && gen_has(g, F_REORDER) && rng_one_in(r, 4))
            num = 1 + rng_below(r, length + 3 < most ? length + 3 : most);
        if (s->hdr.type == H264_B && !s->hdr.direct_spatial_mv_pred_flag && num < length)
            num = length;
        if (rng_one_in(r, 3) && s->pps->num_ref_default[list] <= length &&
            s->pps->num_ref_default[list] >= num)
            num = s->pps->num_ref_default[list];
        s->hdr.num_ref[list] = (uint8_t)num;
        s->usable[list] = choose_modification(g, r, s, list, num);
        gen_not_ffmpeg(g, s->usable[list] < num, "empty-list-entries"); /* drops the slice */
        gen_not_ffmpeg(g, p->structure != REC_FRAME && num > 16, "many-fields");
        /* direct_8x8 in temporal mode may ask for every picture, which the list has where nothing
         * was pushed out */
        if (s->hdr.type == H264_B && !s->hdr.direct_spatial_mv_pred_flag && list == 0 &&
            s->hdr.list_mod_count[0]) {
            s->hdr.list_mod_count[0] = 0;
            s->usable[0] = length;
        }
    }
}

/* pred_weight_table(): in B slices no sum of two weights leaves -128 .. 127 (8.4.2.3.2) */
static void choose_weights(struct gen *g, struct rng *r, struct slice *s)
{
    struct h264_slice_header *h = &s->hdr;
    bool bi = h->type == H264_B;
    g->used |= F_EXPLICIT;
    h->luma_log2_denom = (uint8_t)rng_below(r, 8);
    h->chroma_log2_denom = (uint8_t)rng_below(r, 8);
    for (unsigned list = 0; list < 2; list++) {
        for (unsigned i = 0; i < h->num_ref[list]; i++) {
            for (unsigned c = 0; c < 3; c++) {
                unsigned denom = c ? h->chroma_log2_denom : h->luma_log2_denom;
                int inferred = 1 << denom, near = bi ? 63 : 127;
                bool sent = rng_one_in(r, 2) || (bi && denom == 7);
                if (c == 2) /* one flag for both */
                    sent = h->weight[list][i][1][0] != inferred || h->weight[list][i][1][1] ||
                           (bi && denom == 7);
                h->weight[list][i][c][0] =
                    (int16_t)(!sent ? inferred
                              : rng_one_in(r, 2)
                                  ? rng_range(r, -near - 1, near)
                                  : rng_range(r, inferred / 2, inferred > near ? near : inferred));
                h->weight[list][i][c][1] = (int16_t)(!sent              ? 0
                                                     : rng_one_in(r, 2) ? rng_range(r, -128, 127)
                                                                        : rng_range(r, -9, 9));
            }
        }
    }
}

static void choose_qp(struct gen *g, struct rng *r, struct slice *s)
{
    int lowest = -6 * (g->sps.bit_depth[0] - 8);
    s->hdr.qp = s->pps->pic_init_qp;
    if (!rng_one_in(r, 3))
        s->hdr.qp =
            (int8_t)rng_range(r, rng_one_in(r, 3) ? lowest : 12, rng_one_in(r, 3) ? 51 : 38);
    if (gen_has(g, F_LOSSLESS) && rng_one_in(r, 2))
        s->hdr.qp = (int8_t)lowest;
    s->hdr.qs = rng_one_in(r, 2) ? s->pps->pic_init_qs : (int8_t)rng_range(r, 0, 51);
    if (!s->pps->deblocking_filter_control_present_flag)
        return;
    if (gen_use(g, r, F_NODEBLOCK, 3))
        s->hdr.disable_deblocking_filter_idc =
            (uint8_t)rng_range(r, 1, s->hdr.field_pic_flag && !g->odd ? 1 : 2);
    gen_not_ffmpeg(g, s->hdr.field_pic_flag && s->hdr.disable_deblocking_filter_idc == 2,
                   "field-deblocking-2");
    if (s->hdr.disable_deblocking_filter_idc != 1 && gen_use(g, r, F_DEBLOCK, 1)) {
        s->hdr.filter_offset_a = (int8_t)(2 * rng_range(r, -6, 6));
        s->hdr.filter_offset_b = (int8_t)(2 * rng_range(r, -6, 6));
    }
}

void header_choose(struct gen *g, struct rng *r, struct slice *s, unsigned type,
                   const struct h264_pps *pps)
{
    struct picture *p = &g->pic;
    struct h264_slice_header *h = &s->hdr;
    bool temporal;
    memset(s, 0, sizeof(*s));
    s->pps = pps;
    h->type = (uint8_t)type;
    h->nal_ref_idc = p->nal_ref_idc;
    h->idr = p->idr;
    h->nal_unit_type = p->view ? 20 : p->idr ? 5 : 1;
    h->pps_id = pps->id;
    h->colour_plane_id = p->plane;
    h->field_pic_flag = p->structure != REC_FRAME;
    h->bottom_field_flag = p->structure == REC_BOTTOM;
    h->frame_num = p->frame_num;
    h->slice_group_change_cycle = p->group_cycle;
    h->cabac_init_idc = (uint8_t)rng_below(r, 3);
    h->sp_for_switch_flag = rng_one_in(r, 4);
    choose_qp(g, r, s);
    if (is_intra(type))
        return;
    temporal = type == H264_B && !p->view && gen_has(g, F_TEMPORAL) &&
               (!gen_has(g, F_SPATIAL) || rng_one_in(r, 2)) && dpb_allows_temporal(g);
    h->direct_spatial_mv_pred_flag = !temporal;
    choose_lists(g, r, s);
    /* it keeps the PicOrderCnt from before */
    gen_not_ffmpeg(g, type == H264_B && dpb_has_reset(g), "b-after-reset");
    /* it keeps the lists of one slice */
    gen_not_ffmpeg(g, temporal && dpb_has_sliced(g), "temporal-from-slices");
    if (type == H264_B ? pps->weighted_bipred_idc == 1 : pps->weighted_pred_flag)
        choose_weights(g, r, s);
    if (type == H264_B && pps->weighted_bipred_idc == 2)
        g->used |= F_IMPLICIT;
}

/* nal_unit_header_mvc_extension() (H.7.3.1.1) */
static void write_view(const struct gen *g, const struct slice *s, struct bit_writer *out)
{
    bit_writer_u(out, 1, 0);           /* svc_extension_flag */
    bit_writer_u(out, 1, !s->hdr.idr); /* non_idr_flag */
    bit_writer_u(out, 6, 0);           /* priority_id */
    bit_writer_u(out, 10, g->pic.view ? SECOND_VIEW_ID : 0);
    bit_writer_u(out, 3, 0); /* temporal_id */
    bit_writer_u(out, 1, g->pic.anchor);
    bit_writer_u(out, 1, !g->pic.view && g->pic.inter_view_flag);
    bit_writer_u(out, 1, 1); /* reserved_one_bit */
}

/* prefix_nal_unit_rbsp() has nothing of its own here (7.3.2.12). */
static void write_prefix(struct gen *g, const struct slice *s)
{
    struct bit_writer out = {0};
    bit_writer_u(&out, 1, 0);
    bit_writer_u(&out, 2, s->hdr.nal_ref_idc);
    bit_writer_u(&out, 5, 14);
    write_view(g, s, &out);
    bit_writer_nal(&g->out, &out);
    bit_writer_free(&out);
}

void header_write(struct gen *g, const struct slice *s, struct bit_writer *out)
{
    const struct picture *p = &g->pic;
    struct h264_slice_header h = s->hdr;
    h.idr_pic_id = p->idr_pic_id;
    h.poc_lsb = p->poc_lsb;
    h.delta_poc_bottom = p->delta_poc_bottom;
    h.no_output_of_prior_pics_flag = p->no_output_of_prior_pics;
    h.long_term_reference_flag = p->long_term_reference;
    h.adaptive_marking_flag = p->adaptive_marking;
    h.mmco_count = p->mmco_count;
    memcpy(h.delta_poc, p->delta_poc, sizeof(h.delta_poc));
    memcpy(h.mmco, p->mmco, sizeof(p->mmco));
    if (g->prefixes && (h.nal_unit_type == 1 || h.nal_unit_type == 5))
        write_prefix(g, s);
    write_nal_header(h.nal_ref_idc, h.nal_unit_type, out);
    if (h.nal_unit_type == 20)
        write_view(g, s, out);
    write_slice_header(&g->sps, s->pps, &h, out);
}
