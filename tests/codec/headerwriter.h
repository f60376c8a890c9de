/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Writes parameter sets and slice headers from a few fields; all others have plain values.
 */
#ifndef PELTON_TESTS_HEADERWRITER_H
#define PELTON_TESTS_HEADERWRITER_H

#include "bitwriter.h"
#include "codec/h264_params.h"

#include <stdbool.h>

struct sps_fields {
    /* the last: 0, as luma */
    unsigned profile_idc, constraint_flags, level_idc, id, chroma_format_idc, bit_depth,
        bit_depth_chroma;
    unsigned log2_max_frame_num, poc_type, log2_max_poc_lsb;
    int offset_for_non_ref_pic, offset_for_top_to_bottom_field;
    unsigned cycle;
    int offset_for_ref_frame[4];
    unsigned max_num_ref_frames, gaps_allowed, mb_width, mb_height, field_coding, mbaff,
        separate_planes;
    unsigned crop[4];
    /* Called for the body of the scaling matrix and of the VUI where not NULL. */
    void (*scaling)(struct bw *w);
    void (*vui)(struct bw *w);
};

/* 4 by 3 macroblocks, level 4: 16 frames of DPB. */
static inline struct sps_fields plain_sps(void)
{
    return (struct sps_fields){.profile_idc = 100,
                               .level_idc = 40,
                               .chroma_format_idc = 1,
                               .bit_depth = 8,
                               .log2_max_frame_num = 4,
                               .log2_max_poc_lsb = 4,
                               .max_num_ref_frames = 4,
                               .mb_width = 4,
                               .mb_height = 3};
}

/* seq_parameter_set_data() */
static inline void write_sps_data(struct bw *w, const struct sps_fields *f)
{
    bw_u(w, 8, f->profile_idc);
    bw_u(w, 8, f->constraint_flags);
    bw_u(w, 8, f->level_idc);
    bw_ue(w, f->id);
    if (f->profile_idc >= 100) {
        bw_ue(w, f->chroma_format_idc);
        if (f->chroma_format_idc == 3)
            bw_u(w, 1, f->separate_planes);
        bw_ue(w, f->bit_depth - 8);
        bw_ue(w, (f->bit_depth_chroma ? f->bit_depth_chroma : f->bit_depth) - 8);
        bw_u(w, 1, 0);
        bw_u(w, 1, f->scaling != NULL);
        if (f->scaling)
            f->scaling(w);
    }
    bw_ue(w, f->log2_max_frame_num - 4);
    bw_ue(w, f->poc_type);
    if (f->poc_type == 0) {
        bw_ue(w, f->log2_max_poc_lsb - 4);
    } else if (f->poc_type == 1) {
        bw_u(w, 1, 0);
        bw_se(w, f->offset_for_non_ref_pic);
        bw_se(w, f->offset_for_top_to_bottom_field);
        bw_ue(w, f->cycle);
        for (unsigned i = 0; i < f->cycle; i++)
            bw_se(w, f->offset_for_ref_frame[i & 3]);
    }
    bw_ue(w, f->max_num_ref_frames);
    bw_u(w, 1, f->gaps_allowed);
    bw_ue(w, f->mb_width - 1);
    bw_ue(w, f->mb_height - 1);
    bw_u(w, 1, !f->field_coding);
    if (f->field_coding)
        bw_u(w, 1, f->mbaff);
    bw_u(w, 1, 1); /* direct_8x8_inference_flag */
    bw_u(w, 1, f->crop[0] || f->crop[1] || f->crop[2] || f->crop[3]);
    if (f->crop[0] || f->crop[1] || f->crop[2] || f->crop[3])
        for (unsigned i = 0; i < 4; i++)
            bw_ue(w, f->crop[i]);
    bw_u(w, 1, f->vui != NULL);
    if (f->vui)
        f->vui(w);
}

static inline void write_sps(struct bw *w, const struct sps_fields *f)
{
    bw_u(w, 8, 0x67);
    write_sps_data(w, f);
    bw_trailing(w);
}

struct pps_fields {
    unsigned id, sps_id, cabac, bottom_poc, refs[2], weighted, bipred, deblocking_control,
        redundant, slice_groups;
    unsigned extension, transform_8x8;
    int init_qp_minus26;
    void (*scaling)(struct bw *w);
};

static inline void write_pps(struct bw *w, const struct pps_fields *f)
{
    bw_u(w, 8, 0x68);
    bw_ue(w, f->id);
    bw_ue(w, f->sps_id);
    bw_u(w, 1, f->cabac);
    bw_u(w, 1, f->bottom_poc);
    bw_ue(w, f->slice_groups);
    if (f->slice_groups)
        bw_ue(w, 1); /* slice_group_map_type: dispersed */
    bw_ue(w, f->refs[0] ? f->refs[0] - 1 : 0);
    bw_ue(w, f->refs[1] ? f->refs[1] - 1 : 0);
    bw_u(w, 1, f->weighted);
    bw_u(w, 2, f->bipred);
    bw_se(w, f->init_qp_minus26);
    bw_se(w, 0);
    bw_se(w, -2);
    bw_u(w, 1, f->deblocking_control);
    bw_u(w, 1, 0);
    bw_u(w, 1, f->redundant);
    if (f->extension) {
        bw_u(w, 1, f->transform_8x8);
        bw_u(w, 1, f->scaling != NULL);
        if (f->scaling)
            f->scaling(w);
        bw_se(w, 3);
    }
    bw_trailing(w);
}

/* Lists end with op 0 where an entry is unused: list modifications are written with op + 1. */
struct op {
    unsigned op;
    uint32_t a, b;
};

struct slice_fields {
    unsigned idr, ref_idc, first_mb, type, pps_id, frame_num, idr_pic_id, poc_lsb;
    int delta_poc;
    unsigned field; /* 0 frame, REC_TOP, REC_BOTTOM; only with field_coding */
    unsigned plane, partition, slice_id, cycle, cycle_bits;
    unsigned redundant_pic_cnt, num_ref[2];
    struct op mods[2][8]; /* op 1..3, 5, 6 for modification_of_pic_nums_idc 0..2, 4, 5 */
    unsigned long_term_reference;
    struct op mmco[8];
    unsigned data, data_bits; /* slice_data(); none: bits that tell slices apart */
    unsigned words;           /* of ones, behind the data */
    unsigned second_view; /* nal_unit_type 20, view_id 1; IDR pictures are its anchor pictures */
};

/* nal_unit_header_mvc_extension() (H.7.3.1.1) */
static inline void write_view(struct bw *w, unsigned idr, unsigned view_id,
                              unsigned inter_view_flag)
{
    bw_u(w, 1, 0);
    bw_u(w, 1, !idr);
    bw_u(w, 6, 0);
    bw_u(w, 10, view_id);
    bw_u(w, 3, 0);
    bw_u(w, 1, idr != 0); /* anchor_pic_flag */
    bw_u(w, 1, inter_view_flag);
    bw_u(w, 1, 1);
}

/* type is enum h264_slice_type; the sets tell what is present. */
static inline void write_slice(struct bw *w, const struct slice_fields *f,
                               const struct sps_fields *sps, const struct pps_fields *pps)
{
    bool inter = f->type != H264_I && f->type != H264_SI;
    bw_u(w, 1, 0);
    bw_u(w, 2, f->ref_idc);
    bw_u(w, 5, f->second_view ? 20 : f->idr ? 5 : f->partition ? 2 : 1);
    if (f->second_view)
        write_view(w, f->idr, 1, 0);
    bw_ue(w, f->first_mb);
    bw_ue(w, f->type);
    bw_ue(w, f->pps_id);
    if (sps->separate_planes)
        bw_u(w, 2, f->plane);
    bw_u(w, sps->log2_max_frame_num, f->frame_num);
    if (sps->field_coding) {
        bw_u(w, 1, f->field != 0);
        if (f->field)
            bw_u(w, 1, f->field == REC_BOTTOM);
    }
    if (f->idr)
        bw_ue(w, f->idr_pic_id);
    if (sps->poc_type == 0)
        bw_u(w, sps->log2_max_poc_lsb, f->poc_lsb);
    if (sps->poc_type == 0 && pps->bottom_poc && !f->field)
        bw_se(w, f->delta_poc);
    if (sps->poc_type == 1)
        bw_se(w, f->delta_poc);
    if (pps->redundant)
        bw_ue(w, f->redundant_pic_cnt);
    if (f->type == H264_B)
        bw_u(w, 1, 1);
    if (inter) {
        bw_u(w, 1, f->num_ref[0] != 0);
        if (f->num_ref[0])
            bw_ue(w, f->num_ref[0] - 1);
        if (f->num_ref[0] && f->type == H264_B)
            bw_ue(w, f->num_ref[1] - 1);
    }
    for (unsigned list = 0; inter && list <= (f->type == H264_B); list++) {
        bw_u(w, 1, f->mods[list][0].op != 0);
        for (unsigned i = 0; f->mods[list][i].op; i++) {
            bw_ue(w, f->mods[list][i].op - 1);
            bw_ue(w, f->mods[list][i].a);
        }
        if (f->mods[list][0].op)
            bw_ue(w, 3);
    }
    if (f->ref_idc && f->idr) {
        bw_u(w, 1, 0);
        bw_u(w, 1, f->long_term_reference);
    } else if (f->ref_idc) {
        bw_u(w, 1, f->mmco[0].op != 0);
        for (unsigned i = 0; f->mmco[i].op; i++) {
            bw_ue(w, f->mmco[i].op);
            if (f->mmco[i].op != 5)
                bw_ue(w, f->mmco[i].a);
            if (f->mmco[i].op == 3)
                bw_ue(w, f->mmco[i].b);
        }
        if (f->mmco[0].op)
            bw_ue(w, 0);
    }
    if (pps->cabac && inter)
        bw_ue(w, 0);
    bw_se(w, -pps->init_qp_minus26); /* QP 26 */
    if (f->type == H264_SP)
        bw_u(w, 1, 0); /* sp_for_switch_flag */
    if (f->type == H264_SP || f->type == H264_SI)
        bw_se(w, 0);
    bw_u(w, f->cycle_bits, f->cycle);
    if (f->partition)
        bw_ue(w, f->slice_id);
    if (f->data_bits)
        bw_u(w, f->data_bits, f->data);
    else
        bw_u(w, 16, 0x5555 + f->first_mb);
    for (unsigned i = 0; i < f->words; i++)
        bw_u(w, 32, UINT32_MAX);
    bw_trailing(w);
}

#endif
