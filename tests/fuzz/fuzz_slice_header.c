/* SPDX-License-Identifier: BSD-2-Clause
 *
 * libFuzzer target: slice headers against parameter sets that the input varies too. The first eight
 * bytes are fields of the sets.
 */
#include "fuzz.h"

#include "codec/bits.h"
#include "codec/slice_header.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void vary(const uint8_t *v, struct h264_sps *sps, struct h264_pps *pps)
{
    sps->log2_max_frame_num = 4 + v[0] % 13;
    sps->poc_type = v[1] % 3;
    sps->log2_max_poc_lsb = 4 + v[1] / 3 % 13;
    sps->delta_pic_order_always_zero_flag = v[1] >> 7;
    sps->frame_mbs_only_flag = v[2] & 1;
    sps->max_num_ref_frames = v[2] / 2 % 17;
    sps->chroma_format_idc = v[3] & 3;
    sps->separate_colour_plane_flag = v[3] >> 7;
    sps->bit_depth[0] = sps->bit_depth[1] = 8 + (v[3] >> 2 & 7) % 7;
    sps->mb_width = 1 + v[4] % 20;
    sps->map_height = sps->mb_height = 1 + v[5] % 20;
    sps->max_dpb_frames = 16;
    pps->num_slice_groups = 1;
    pps->num_ref_default[0] = 1 + v[6] % 32;
    pps->num_ref_default[1] = 1 + v[6] / 8;
    pps->entropy_coding_mode_flag = v[7] & 1;
    pps->weighted_pred_flag = v[7] >> 1 & 1;
    pps->weighted_bipred_idc = (v[7] >> 2 & 3) % 3;
    pps->deblocking_filter_control_present_flag = v[7] >> 4 & 1;
    pps->redundant_pic_cnt_present_flag = v[7] >> 5 & 1;
    pps->bottom_field_pic_order_in_frame_present_flag = v[7] >> 6 & 1;
    pps->pic_init_qp = 26;
    pps->pic_init_qs = 26;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct h264_sps *sps = calloc(1, sizeof(*sps));
    struct h264_pps *pps = calloc(1, sizeof(*pps));
    struct h264_slice_header *hdr = calloc(1, sizeof(*hdr));
    uint8_t *rbsp = calloc(1, size + H264_BITS_PADDING);
    struct h264_diag diag;
    uint32_t first_mb, type, pps_id;
    size_t data_bit;
    if (sps && pps && hdr && rbsp && size >= 9) {
        vary(data, sps, pps);
        memcpy(rbsp, data + 8, size - 8);
        h264_slice_peek(rbsp, size - 8, &first_mb, &type, &pps_id);
        h264_slice_header_parse(rbsp, size - 8, sps, pps, hdr, &data_bit, &diag);
    }
    free(rbsp);
    free(hdr);
    free(pps);
    free(sps);
    return 0;
}
