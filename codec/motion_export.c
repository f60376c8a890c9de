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

#include <stdlib.h>
#include <string.h>

bool h264_picture_exports_motion(const struct h264_picture *pic)
{
    if (!h264_picture_exports_entropy(pic))
        return false;
    for (uint32_t i = 0; i < pic->slice_count; i++) {
        const struct h264_slice *slice = &pic->slices[i];
        if (slice->hdr.type == H264_B &&
            (!slice->hdr.direct_spatial_mv_pred_flag || h264_slice_reads_records(slice)))
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

/* ---- what h264_picture_restore_motion needs ---- */

/* The first slice with the same map as slice i has: maybe i itself. */
static uint32_t first_with_map(const uint16_t *const *maps, uint32_t i)
{
    uint32_t first = 0;
    while (maps[first] != maps[i])
        first++;
    return first;
}

/* A copy of each map; maps: of the slices. */
static int keep_maps(struct h264_picture *pic, const uint16_t *const *maps)
{
    uint32_t count = 0, next = 0;
    for (uint32_t i = 0; i < pic->slice_count; i++)
        count += maps[i] && first_with_map(maps, i) == i;
    if (count && !(pic->kept.maps = h264_alloc(pic->holder.allocator, count * h264_map_bytes(pic))))
        return H264_ERR_NOMEM;
    pic->kept.map_count = count;
    for (uint32_t i = 0; i < pic->slice_count; i++) {
        uint32_t first = maps[i] ? first_with_map(maps, i) : 0;
        pic->slices[i].kept_map = NULL;
        if (maps[i] && first < i) {
            pic->slices[i].kept_map = pic->slices[first].kept_map;
        } else if (maps[i]) {
            uint16_t *copy = pic->kept.maps + (size_t)next++ * pic->mb_count;
            memcpy(copy, maps[i], h264_map_bytes(pic));
            pic->slices[i].kept_map = copy;
        }
    }
    return H264_OK;
}

int h264_picture_keep(struct h264_picture *pic)
{
    const uint16_t **maps = malloc((pic->slice_count + 1) * sizeof(*maps));
    if (!maps)
        return H264_ERR_NOMEM;
    for (uint32_t i = 0; i < pic->slice_count; i++)
        maps[i] = pic->slices[i].hdr.type == H264_B ? h264_colocated_map(&pic->slices[i]) : NULL;
    int error = keep_maps(pic, maps);
    pic->kept.bytes = error == H264_OK;
    free(maps);
    return error;
}

/* ---- */

int h264_picture_import_motion(struct h264_picture *pic, uint32_t coeff_blocks, unsigned kinds,
                               const struct h264_device_records *device_records, bool host)
{
    int error = h264_fill_slices(pic);
    if (!error && device_records && !host && pic->nal_ref_idc)
        error = h264_picture_keep(pic);
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
