/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Step 3 on the GPU, the part of the CPU. It selects pictures whose motion the GPU can derive,
 * exports their slices (codec/abi/motion_abi.h), and imports the arrays that the GPU wrote.
 */
#include "codec/abi/motion_abi.h"
#include "codec/arrays.h"
#include "codec/h264_error.h"
#include "codec/h264_export.h"
#include "codec/motion_derive.h"
#include "codec/slice_records.h"

/* Of the colocated picture, or it is for another kind: blocks of fields of frames and of frames of
 * fields lie elsewhere (Table 8-6). */
static bool has_no_map(const struct h264_slice *slice)
{
    const struct h264_picture *col = slice->num_ref[1] ? slice->ref[1][0].pic : NULL;
    return col && (!h264_picture_has_map(col) ||
                   (col->structure == REC_FRAME) != (slice->pic->structure == REC_FRAME));
}

bool h264_picture_exports_motion(const struct h264_picture *pic)
{
    if (!h264_picture_exports_entropy(pic))
        return false;
    for (uint32_t i = 0; i < pic->slice_count; i++) {
        const struct h264_slice *slice = &pic->slices[i];
        if (slice->hdr.type == H264_B &&
            (!slice->hdr.direct_spatial_mv_pred_flag || has_no_map(slice)))
            return false;
    }
    return true;
}

bool h264_picture_intact(const struct h264_picture *pic, uint32_t *coeff_blocks)
{
    uint32_t used = atomic_load_explicit(&pic->arrays.coeff_block_count, memory_order_relaxed);
    for (uint32_t i = 0; i < pic->slice_count; i++) {
        const struct h264_slice *slice = &pic->slices[i];
        if (slice->status < 0 || slice->lost_partition || slice->out_of_range ||
            slice->mbs_decoded != slice->end_mb - slice->hdr.first_mb)
            return false;
    }
    if (used > pic->arrays.coeff_block_capacity ||
        used > pic->mb_count * h264_coeff_blocks_per_mb(pic->sps))
        return false;
    *coeff_blocks = used;
    return true;
}

/* Of the list: what ref_idx may name (7.4.3) and exists. */
static uint8_t list_entries(const struct h264_slice *slice, unsigned list)
{
    return slice->num_ref[list] < slice->hdr.num_ref[list] ? slice->num_ref[list]
                                                           : slice->hdr.num_ref[list];
}

void h264_slice_export_motion(const struct h264_slice *slice, struct der_slice *out,
                              const uint16_t **map)
{
    *out = (struct der_slice){
        .first_mb = slice->hdr.first_mb,
        .end_mb = slice->end_mb,
        .map = DER_NO_MAP,
        .type = slice->hdr.type,
        .num_ref = {list_entries(slice, 0), list_entries(slice, 1)},
        .corners = slice->pic->sps->direct_8x8_inference_flag,
        .transform_8x8 = slice->pps->transform_8x8_mode_flag,
        .bypass = slice->sps->qpprime_y_zero_transform_bypass_flag,
        .field = slice->hdr.field_pic_flag,
    };
    *map = slice->hdr.type == H264_B ? h264_colocated_map(slice) : NULL;
}

/* As h264_slice_decode and step 3 leave it. */
static void slice_derived(struct h264_slice *slice)
{
    slice->status = H264_OK;
    slice->mbs_decoded = slice->end_mb - slice->hdr.first_mb;
    slice->lost_partition = slice->out_of_range = slice->doubted = 0;
    slice->motion_lost = 0;
    slice->motion_mb = slice->end_mb;
    atomic_store_explicit(&slice->ready, slice->end_mb | H264_SLICE_ENDED, memory_order_release);
}

int h264_picture_import_motion(struct h264_picture *pic, uint32_t coeff_blocks, unsigned kinds,
                               const struct h264_device_records *device_records, bool host)
{
    int error = h264_fill_slices(pic);
    if (error < 0)
        return error;
    for (uint32_t i = 0; i < pic->slice_count; i++)
        slice_derived(&pic->slices[i]);
    atomic_store_explicit(&pic->arrays.coeff_block_count, coeff_blocks, memory_order_relaxed);
    if (pic->damage.previous) /* it is only for what no slice covers */
        h264_picture_unref(pic->damage.previous);
    pic->damage.previous = NULL;
    pic->arrays.has_intra = (kinds & DER_INTRA) != 0;
    pic->arrays.has_inter = (kinds & DER_INTER) != 0;
    pic->arrays.has_deblock = (kinds & DER_DEBLOCK) != 0;
    pic->arrays.used_known = 1;
    if (device_records)
        pic->arrays.device_records = *device_records;
    if (device_records && !host)
        h264_picture_drop_records(pic);
    pic->motion_done = 1;
    return H264_OK;
}
