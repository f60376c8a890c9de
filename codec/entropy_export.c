/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Step 2 on the GPU, the part of the CPU. It selects pictures that the GPU can decode, exports
 * their slices (codec/abi/entropy_abi.h), and imports the arrays that the GPU wrote.
 */
#include "codec/abi/entropy_abi.h"
#include "codec/cabac.h"
#include "codec/cavlc.h"
#include "codec/h264_error.h"
#include "codec/h264_export.h"
#include "codec/macroblock.h"
#include "codec/nal.h"
#include "codec/scan.h"

_Static_assert(sizeof(struct h264_mb_syntax) == 8, "the shader writes two words");

static bool slice_exports_entropy(const struct h264_slice *slice)
{
    const struct h264_slice_header *hdr = &slice->hdr;
    return (hdr->type == H264_P || hdr->type == H264_B || hdr->type == H264_I) &&
           !hdr->redundant_pic_cnt && hdr->nal_unit_type != H264_NAL_PARTITION_A &&
           !slice->slice_group_map && slice->nal_size <= ENT_MAX_BYTES;
}

bool h264_picture_exports_entropy(const struct h264_picture *pic)
{
    const struct h264_sps *sps = pic->sps;
    uint32_t next = 0;
    if (pic->mbaff || sps->bit_depth[0] != 8 || sps->bit_depth[1] != 8 ||
        sps->chroma_format_idc > 1 || pic->mb_width < ENT_MIN_WIDTH ||
        pic->mb_width > ENT_MAX_WIDTH)
        return false;
    for (uint32_t i = 0; i < pic->slice_count; i++) {
        const struct h264_slice *slice = &pic->slices[i];
        if (!slice_exports_entropy(slice) || slice->hdr.first_mb != next)
            return false;
        next = slice->end_mb;
    }
    return next == pic->mb_count; /* a picture that was inferred has no slices */
}

size_t h264_slice_entropy_size(const struct h264_slice *slice)
{
    return slice->nal_size + H264_BITS_PADDING + sizeof(struct rec_scaling);
}

/* Its scaling lists behind the RBSP; 0: they are flat. */
static uint32_t export_weights(const struct h264_slice *slice, uint8_t *bytes, size_t *size,
                               uint8_t *most)
{
    struct rec_scaling lists;
    size_t at = *size;
    *most = 16;
    if (!slice->sps->seq_scaling_matrix_present_flag &&
        !slice->pps->pic_scaling_matrix_present_flag)
        return 0;
    h264_pps_scaling(slice->sps, slice->pps, &lists);
    memcpy(bytes + at, &lists, sizeof(lists));
    *most = 1;
    for (size_t i = 0; i < sizeof(lists); i++)
        *most = bytes[at + i] > *most ? bytes[at + i] : *most;
    *size += sizeof(lists);
    return (uint32_t)at;
}

int h264_slice_export_entropy(const struct h264_slice *slice, struct ent_slice *out, uint8_t *bytes,
                              size_t *size)
{
    const struct h264_sps *sps = slice->sps;
    const struct h264_pps *pps = slice->pps;
    bool cabac = pps->entropy_coding_mode_flag;
    size_t rbsp = h264_unescape(slice->nal, slice->nal_size, bytes, NULL);
    struct h264_bits bits;
    h264_bits_init(&bits, bytes, rbsp);
    bits.pos = slice->data_bit_offset;
    if (cabac)
        h264_bits_align(&bits); /* after cabac_alignment_one_bit */
    if (bits.pos >= (cabac ? rbsp * 8 : bits.end))
        return H264_ERR_TRUNCATED;
    *size = rbsp + H264_BITS_PADDING;
    uint8_t most_weight;
    uint32_t weights = export_weights(slice, bytes, size, &most_weight);
    rbsp = cabac ? rbsp : bits.size;
    *out = (struct ent_slice){
        .start = (uint32_t)bits.pos,
        .size = (uint32_t)rbsp,
        .weights = weights,
        .first_mb = slice->hdr.first_mb,
        .end_mb = slice->end_mb,
        .mb_width = slice->pic->mb_width,
        .slice = slice->index,
        .type = slice->hdr.type,
        .model = slice->hdr.type == H264_I || !cabac ? 0 : (uint8_t)(1 + slice->hdr.cabac_init_idc),
        .qp = slice->hdr.qp,
        .flags = (uint8_t)((slice->hdr.field_pic_flag ? ENT_FIELD : 0) |
                           (pps->transform_8x8_mode_flag ? ENT_TRANSFORM_8X8 : 0) |
                           (pps->constrained_intra_pred_flag ? ENT_CONSTRAINED_INTRA : 0) |
                           (sps->direct_8x8_inference_flag ? ENT_DIRECT_8X8 : 0) |
                           (sps->qpprime_y_zero_transform_bypass_flag ? ENT_BYPASS : 0) |
                           (cabac ? 0 : ENT_CAVLC)),
        .chroma_qp_offset = {pps->chroma_qp_offset[0], pps->chroma_qp_offset[1]},
        .num_ref = {slice->hdr.num_ref[0], slice->hdr.num_ref[1]},
        .deblock_idc = slice->hdr.disable_deblocking_filter_idc,
        .chroma_blocks = sps->chroma_format_idc ? 4 : 0,
        .most_weight = most_weight,
    };
    return H264_OK;
}

static void type_tables(struct ent_tables *out)
{
    for (unsigned i = 0; i < sizeof(out->type_p); i++)
        out->type_p[i] = (uint8_t)(h264_mb_type_p[i].part | h264_mb_type_p[i].lists[0] << 4 |
                                   h264_mb_type_p[i].lists[1] << 6);
    for (unsigned i = 0; i < sizeof(out->type_b); i++)
        out->type_b[i] = (uint8_t)(h264_mb_type_b[i].part | h264_mb_type_b[i].lists[0] << 4 |
                                   h264_mb_type_b[i].lists[1] << 6);
    for (unsigned i = 0; i < sizeof(out->sub_p); i++)
        out->sub_p[i] = (uint8_t)(h264_sub_mb_type_p[i].sub | h264_sub_mb_type_p[i].lists << 4);
    for (unsigned i = 0; i < sizeof(out->sub_b); i++)
        out->sub_b[i] = (uint8_t)(h264_sub_mb_type_b[i].sub | h264_sub_mb_type_b[i].lists << 4);
}

#define LEAF(value) (ENT_TREE_LEAF + (value))

/* Tables 9-36, 9-37 and 9-38 */
static const struct {
    uint8_t context, next[2];
} tree[ENT_TREE_NODES] = {
    /* mb_type, I */
    {3, {LEAF(0), LEAF(ENT_TREE_INTRA_16X16)}},
    /* mb_type, P */
    {14, {2, 4}},
    {15, {3, 5}},
    {16, {LEAF(0), LEAF(3)}},
    {17, {LEAF(5), LEAF(ENT_TREE_INTRA_16X16)}},
    {17, {LEAF(2), LEAF(1)}},
    /* mb_type, B: what begins with 111 has four bins or five more, from node 9 on */
    {27, {LEAF(0), 7}},
    {30, {8, 9}},
    {32, {LEAF(1), LEAF(2)}},
    {31, {10, 11}},
    {32, {12, 13}},           /* 10: after 0 */
    {32, {14, 15}},           /* after 1 */
    {32, {16, 17}},           /* 12: after 00 */
    {32, {18, 19}},           /* after 01 */
    {32, {20, 21}},           /* after 10 */
    {32, {22, 23}},           /* after 11 */
    {32, {LEAF(3), LEAF(4)}}, /* 16: after 000 */
    {32, {LEAF(5), LEAF(6)}},
    {32, {LEAF(7), LEAF(8)}},
    {32, {LEAF(9), LEAF(10)}},
    {32, {24, 25}}, /* 20: after 100 */
    {32, {26, 27}},
    {32, {28, 29}},
    {32, {LEAF(11), LEAF(22)}},
    {32, {LEAF(12), LEAF(13)}}, /* 24: after 1000 */
    {32, {LEAF(14), LEAF(15)}},
    {32, {LEAF(16), LEAF(17)}},
    {32, {LEAF(18), LEAF(19)}},
    {32, {LEAF(20), LEAF(21)}},
    {32, {LEAF(23), LEAF(ENT_TREE_INTRA_16X16)}},
    /* sub_mb_type, P */
    {21, {31, LEAF(0)}},
    {22, {LEAF(1), 32}},
    {23, {LEAF(3), LEAF(2)}},
    /* sub_mb_type, B */
    {36, {LEAF(0), 34}},
    {37, {35, 36}},
    {39, {LEAF(1), LEAF(2)}},
    {38, {37, 40}},
    {39, {38, 39}}, /* 37: after 110 */
    {39, {LEAF(3), LEAF(4)}},
    {39, {LEAF(5), LEAF(6)}},
    {39, {41, 42}}, /* 40: after 111 */
    {39, {43, 44}},
    {39, {LEAF(11), LEAF(12)}},
    {39, {LEAF(7), LEAF(8)}},
    {39, {LEAF(9), LEAF(10)}},
};

static void category_tables(struct ent_tables *out)
{
    for (unsigned field = 0; field < 2; field++)
        for (unsigned cat = 0; cat < 6; cat++) {
            uint16_t *to = out->category[field][cat];
            to[0] = cat < 5 ? h264_cabac_cbf_base[cat] : 0;
            to[1] = h264_cabac_sig_base[field][cat];
            to[2] = h264_cabac_last_base[field][cat];
            to[3] = h264_cabac_abs_base[cat];
        }
}

static void code_tables(struct ent_tables *out)
{
    memcpy(out->coeff_token, h264_cavlc_coeff_token, sizeof(out->coeff_token));
    memcpy(out->coeff_token_8, h264_cavlc_coeff_token_8, sizeof(out->coeff_token_8));
    memcpy(out->total_zeros, h264_cavlc_total_zeros, sizeof(out->total_zeros));
    memcpy(out->total_zeros_420, h264_cavlc_total_zeros_420, sizeof(out->total_zeros_420));
    memcpy(out->run_before, h264_cavlc_run_before, sizeof(out->run_before));
    memcpy(out->cbp, h264_cavlc_cbp, sizeof(out->cbp));
}

void h264_entropy_tables(struct ent_tables *out)
{
    memset(out, 0, sizeof(*out));
    for (unsigned i = 0; i < 128; i++) {
        const struct h264_cabac_state *s = &h264_cabac_states[i];
        out->states[i][0] = (uint32_t)s->lps[0] | (uint32_t)s->lps[1] << 8 |
                            (uint32_t)s->lps[2] << 16 | (uint32_t)s->lps[3] << 24;
        const uint32_t bin = s->mps ? ENT_STATE_BIN : 0;
        out->states[i][1] = s->next[0] | bin | ((uint32_t)s->next[1] | (bin ^ ENT_STATE_BIN)) << 16;
    }
    for (unsigned model = 0; model < 4; model++)
        memcpy(out->init[model], h264_cabac_init_mn[model], sizeof(out->init[model]));
    memcpy(out->scan_4x4, h264_scan_4x4, sizeof(out->scan_4x4));
    memcpy(out->scan_8x8, h264_scan_8x8, sizeof(out->scan_8x8));
    memcpy(out->sig_8x8, h264_cabac_sig_8x8, sizeof(out->sig_8x8));
    memcpy(out->last_8x8, h264_cabac_last_8x8, sizeof(out->last_8x8));
    memcpy(out->scan_luma_dc, h264_scan_luma_dc, sizeof(out->scan_luma_dc));
    memcpy(out->chroma_qpc, h264_chroma_qpc, sizeof(out->chroma_qpc));
    for (unsigned i = 0; i < ENT_TREE_NODES; i++)
        out->tree[i] =
            tree[i].context | (uint32_t)tree[i].next[0] << 8 | (uint32_t)tree[i].next[1] << 16;
    type_tables(out);
    category_tables(out);
    code_tables(out);
}

/* Of a slice: what is 0x80 above the length of each list, in the bytes where ref_idx has its
 * indices. */
static uint64_t ref_limits(const struct h264_slice *slice)
{
    uint8_t bytes[2][4];
    uint64_t limits;
    for (unsigned list = 0; list < 2; list++)
        memset(bytes[list], 0x80 + slice->hdr.num_ref[list], 4);
    memcpy(&limits, bytes, sizeof(limits));
    return limits;
}

/* refs_valid for all quadrants. An index and one is 0x7f at most, and no more than the length:
 * nothing is borrowed from the byte above, and where it is, the index below has its top bit
 * already. */
static inline bool all_refs_valid(uint64_t limits, const struct rec_motion *motion)
{
    const uint64_t tops = 0x8080808080808080u, ones = tops >> 7;
    uint64_t refs;
    memcpy(&refs, motion->ref_idx, sizeof(refs));
    refs = ((refs & ~tops) + ones) ^ (refs & tops);
    return !((refs | ~(limits - refs)) & tops);
}

/* ref_idx of both lists for one quadrant: below the length of the slice's list, or -1. */
static bool refs_valid(const struct h264_slice *slice, const struct rec_motion *motion,
                       unsigned quadrant)
{
    for (unsigned list = 0; list < 2; list++)
        if (motion->ref_idx[list][quadrant] < -1 ||
            motion->ref_idx[list][quadrant] >= slice->hdr.num_ref[list])
            return false;
    return true;
}

/* What step 3 takes for granted: shapes that the slice's type has, references that it names. The
 * rest is records_validate's. */
static inline bool macroblock_valid(const struct h264_slice *slice, uint32_t addr, uint64_t limits)
{
    const struct h264_mb_syntax *syntax = &slice->pic->arrays.syntax[addr];
    const struct rec_mb *mb = &slice->pic->arrays.mbs[addr];
    unsigned type = slice->hdr.type;
    if (syntax->decoded != 1 || mb->slice != slice->index || mb->kind > REC_MB_INTER ||
        (mb->kind == REC_MB_INTER) != (syntax->part < H264_PART_INTRA) ||
        syntax->part > H264_PART_INTRA)
        return false;
    if (syntax->part == H264_PART_INTRA)
        return true;
    if (syntax->part == H264_PART_DIRECT)
        return type == H264_B;
    if (type == H264_I || (syntax->part == H264_PART_SKIP && type != H264_P))
        return false;
    if (syntax->part != H264_PART_8X8)
        return all_refs_valid(limits, &slice->pic->arrays.motion[addr]);
    for (unsigned i = 0; i < 4; i++) {
        if (syntax->sub[i] > H264_SUB_DIRECT ||
            (syntax->sub[i] == H264_SUB_DIRECT && type != H264_B))
            return false;
        if (syntax->sub[i] != H264_SUB_DIRECT &&
            !refs_valid(slice, &slice->pic->arrays.motion[addr], i))
            return false;
    }
    return true;
}

static bool range_valid(const struct h264_slice *slice, uint32_t from, uint32_t to)
{
    const uint64_t limits = ref_limits(slice);
    for (uint32_t addr = from; addr < to; addr++)
        if (!macroblock_valid(slice, addr, limits))
            return false;
    return true;
}

/* As h264_slice_decode has it when it has come to `to`. */
static void slice_set_decoded(struct h264_slice *slice, uint32_t to)
{
    slice->status = H264_OK;
    slice->mbs_decoded = to - slice->hdr.first_mb;
    slice->lost_partition = slice->out_of_range = slice->doubted = 0;
    atomic_store_explicit(&slice->ready, to | (to == slice->end_mb ? H264_SLICE_ENDED : 0),
                          memory_order_release);
}

void h264_picture_import_entropy_begin(struct h264_picture *pic, uint32_t coeff_blocks)
{
    atomic_store_explicit(&pic->arrays.coeff_block_count, coeff_blocks, memory_order_relaxed);
}

bool h264_slice_import_entropy(struct h264_slice *slice, uint32_t from, uint32_t to)
{
    if (!range_valid(slice, from, to))
        return false;
    slice_set_decoded(slice, to);
    return true;
}

bool h264_picture_import_entropy(struct h264_picture *pic, uint32_t coeff_blocks)
{
    for (uint32_t i = 0; i < pic->slice_count; i++)
        if (!range_valid(&pic->slices[i], pic->slices[i].hdr.first_mb, pic->slices[i].end_mb))
            return false;
    h264_picture_import_entropy_begin(pic, coeff_blocks);
    for (uint32_t i = 0; i < pic->slice_count; i++)
        slice_set_decoded(&pic->slices[i], pic->slices[i].end_mb);
    return true;
}
