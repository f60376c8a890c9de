/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Step 3: the slice records, with their prediction weights (8.4.2.3) and scaling lists.
 */
#include "codec/arrays.h"
#include "codec/h264_error.h"
#include "codec/macroblock.h"
#include "codec/motion_derive.h"
#include "codec/slice_records.h"

#include <string.h>

static uint8_t weight_mode(const struct h264_slice *slice)
{
    if (slice->hdr.type == H264_P || slice->hdr.type == H264_SP)
        return slice->pps->weighted_pred_flag ? REC_WEIGHT_EXPLICIT : REC_WEIGHT_DEFAULT;
    if (slice->hdr.type == H264_B)
        return slice->pps->weighted_bipred_idc; /* 0 default, 1 explicit, 2 implicit */
    return REC_WEIGHT_DEFAULT;
}

/* Entries of the weight array that a slice takes. */
static uint32_t weight_entries(const struct h264_slice *slice)
{
    switch (weight_mode(slice)) {
    case REC_WEIGHT_EXPLICIT:
        return 6u * (slice->num_ref[0] + (slice->hdr.type == H264_B ? slice->num_ref[1] : 0u));
    case REC_WEIGHT_IMPLICIT: /* MBAFF: of frame macroblocks, then twice with both numbers doubled
                               */
        return (uint32_t)slice->num_ref[0] * slice->num_ref[1] * (slice->pic->mbaff ? 9u : 1u);
    default:
        return 0;
    }
}

static void explicit_fill(const struct h264_slice *slice, int16_t *out)
{
    int lists = slice->hdr.type == H264_B ? 2 : 1;
    for (int list = 0; list < lists; list++)
        for (unsigned i = 0; i < slice->num_ref[list]; i++)
            for (int component = 0; component < 3; component++) {
                int depth = slice->sps->bit_depth[component > 0];
                *out++ = slice->hdr.weight[list][i][component][0];
                *out++ = (int16_t)(slice->hdr.weight[list][i][component][1] * (1 << (depth - 8)));
            }
}

/* w1 of 8.4.2.3.1, implicit mode, from PicOrderCnt of currPicOrField, pic0 and pic1 */
static int16_t implicit_weight(int64_t current, int64_t poc0, int64_t poc1)
{
    int w1;
    if (poc0 == poc1)
        return 32;
    w1 = h264_dist_scale_factor(current - poc0, poc1 - poc0) >> 2;
    return (int16_t)(w1 < -64 || w1 > 128 ? 32 : w1);
}

static bool long_term(const struct h264_slice *slice, unsigned i, unsigned j)
{
    return slice->ref[0][i].long_term || slice->ref[1][j].long_term;
}

static int16_t *implicit_fill(const struct h264_slice *slice, int16_t *out)
{
    int64_t current = slice->pic->output_poc;
    for (unsigned i = 0; i < slice->num_ref[0]; i++)
        for (unsigned j = 0; j < slice->num_ref[1]; j++)
            *out++ = long_term(slice, i, j)
                         ? 32
                         : implicit_weight(current, slice->ref[0][i].poc, slice->ref[1][j].poc);
    return out;
}

/* Field macroblocks of parity `bottom` in an MBAFF frame: their reference indices name fields
 * (8.4.2.1). */
static int16_t *implicit_fill_field(const struct h264_slice *slice, unsigned bottom, int16_t *out)
{
    int64_t current = slice->pic->poc[bottom];
    for (unsigned i = 0; i < 2u * slice->num_ref[0]; i++)
        for (unsigned j = 0; j < 2u * slice->num_ref[1]; j++) {
            int64_t poc0 = slice->ref[0][i >> 1].field_poc[bottom ^ (i & 1)];
            int64_t poc1 = slice->ref[1][j >> 1].field_poc[bottom ^ (j & 1)];
            *out++ = long_term(slice, i >> 1, j >> 1) ? 32 : implicit_weight(current, poc0, poc1);
        }
    return out;
}

static void implicit_fill_tables(const struct h264_slice *slice, int16_t *out)
{
    out = implicit_fill(slice, out);
    for (unsigned bottom = 0; bottom < 2 && slice->pic->mbaff; bottom++)
        out = implicit_fill_field(slice, bottom, out);
}

/* Index of the scaling lists of slice i: those of the first slice with the same parameter sets. */
static uint32_t scaling_index(const struct h264_picture *pic, uint32_t i, uint32_t *count)
{
    const struct h264_slice *slice = &pic->slices[i];
    if (i > 0 && slice[-1].pps == slice->pps && slice[-1].sps == slice->sps) /* nearly always */
        return pic->arrays.rec_slices[i - 1].scaling;
    for (uint32_t k = 0; k < i; k++)
        if (pic->slices[k].pps == slice->pps && pic->slices[k].sps == slice->sps)
            return pic->arrays.rec_slices[k].scaling;
    return (*count)++;
}

/* The lists of a plane that is coded by itself take the place of those of Y (8.5.9). */
static void choose_plane(struct rec_scaling *s, unsigned plane)
{
    memmove(s->m4[0], s->m4[plane], sizeof(s->m4[0]));
    memmove(s->m4[3], s->m4[3 + plane], sizeof(s->m4[0]));
    memmove(s->m8[0], s->m8[2 * plane], sizeof(s->m8[0]));
    memmove(s->m8[1], s->m8[2 * plane + 1], sizeof(s->m8[0]));
}

/* QSY, and QSC of both chroma components (8.6.1): of 8-bit video only, as SP and SI slices are. */
static void slice_fill_qs(const struct h264_slice *slice, struct rec_slice *out)
{
    out->sp_for_switch = slice->hdr.sp_for_switch_flag;
    out->qs[0] = slice->hdr.qs;
    for (int i = 0; i < 2; i++) {
        int index = slice->hdr.qs + slice->pps->chroma_qp_offset[i];
        out->qs[1 + i] = (int8_t)h264_chroma_qpc[index < 0 ? 0 : index > 51 ? 51 : index];
    }
}

static void slice_fill(const struct h264_slice *slice, struct rec_slice *out)
{
    uint32_t scaling = out->scaling, weights = out->weights;
    *out = (struct rec_slice){
        .weights = weights,
        .scaling = scaling,
        .num_ref = {slice->num_ref[0], slice->num_ref[1]},
        .weight_mode = weight_mode(slice),
        .log2_denom = {slice->hdr.luma_log2_denom, slice->hdr.chroma_log2_denom},
        .filter_offset_a = slice->hdr.filter_offset_a,
        .filter_offset_b = slice->hdr.filter_offset_b,
        .slice_type = slice->hdr.type,
    };
    if (slice->hdr.type == H264_SP || slice->hdr.type == H264_SI)
        slice_fill_qs(slice, out);
}

int h264_fill_slices(struct h264_picture *pic)
{
    uint32_t weights = 0, scaling = 0;
    for (uint32_t i = 0; i < pic->slice_count; i++) {
        pic->arrays.rec_slices[i].weights = weights;
        pic->arrays.rec_slices[i].scaling = scaling_index(pic, i, &scaling);
        weights += weight_entries(&pic->slices[i]);
    }
    /* a colour plane of which every slice is lost: concealed macroblocks name lists, too, and use
     * none */
    if (!scaling)
        scaling = 1;
    pic->arrays.scaling = h264_alloc(pic->holder.allocator, scaling * sizeof(*pic->arrays.scaling));
    if (!pic->arrays.scaling)
        return H264_ERR_NOMEM;
    pic->arrays.scaling_count = scaling;
    memset(pic->arrays.scaling, 16, sizeof(*pic->arrays.scaling));
    if (weights) {
        pic->arrays.weights =
            h264_alloc(pic->holder.allocator, weights * sizeof(*pic->arrays.weights));
        if (!pic->arrays.weights)
            return H264_ERR_NOMEM;
        pic->arrays.weight_count = weights;
    }
    for (uint32_t i = 0; i < pic->slice_count; i++) {
        const struct h264_slice *slice = &pic->slices[i];
        struct rec_slice *out = &pic->arrays.rec_slices[i];
        slice_fill(slice, out);
        h264_pps_scaling(slice->sps, slice->pps, &pic->arrays.scaling[out->scaling]);
        choose_plane(&pic->arrays.scaling[out->scaling], pic->colour_plane);
        if (out->weight_mode == REC_WEIGHT_EXPLICIT)
            explicit_fill(slice, pic->arrays.weights + out->weights);
        else if (out->weight_mode == REC_WEIGHT_IMPLICIT)
            implicit_fill_tables(slice, pic->arrays.weights + out->weights);
    }
    /* The slice of concealed macroblocks is the last. conceal_motion.c chooses its references,
     * records_view.c gives them slots. */
    pic->arrays.rec_slices[pic->slice_count] = (struct rec_slice){.slice_type = H264_P};
    return H264_OK;
}
