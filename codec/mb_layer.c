/* SPDX-License-Identifier: BSD-2-Clause
 *
 * macroblock_layer() (7.3.5), skipped macroblocks (7.4.4), and QP (7.4.5, 8.5.8).
 */
#include "codec/cabac.h"
#include "codec/cavlc.h"
#include "codec/macroblock.h"

/* memset of 64 bytes or more is compiled to a loop or a call. */
static inline void clear_64(void *at)
{
    uint8_t *bytes = at;
    memset(bytes, 0, 16);
    memset(bytes + 16, 0, 16);
    memset(bytes + 32, 0, 16);
    memset(bytes + 48, 0, 16);
}

/* What macroblocks a little later write is fetched to be written: another core may have it, as it
 * derived the motion of the last picture whose records were there. */
static inline void prefetch_records(const struct mb_parser *p)
{
    uintptr_t mb = (uintptr_t)p->to.mbs + (p->index + 4) * sizeof(*p->to.mbs);
    uintptr_t motion = (uintptr_t)p->to.motions + (p->index + 3) * sizeof(*p->to.motions);
    uintptr_t coeff_block =
        (uintptr_t)p->to.coeffs + p->chunk.next * (p->format.wide ? 64u : 32u) + 768;

    __builtin_prefetch((const void *)mb, 1);
    for (unsigned i = 0; i < 3; i++)
        __builtin_prefetch((const void *)(motion + 64 * i), 1);
    if (p->to.packed) {
        __builtin_prefetch((const void *)(p->to.packed + p->chunk.packed_next + 64), 1);
        return;
    }
    for (unsigned i = 0; i < 6; i++)
        __builtin_prefetch((const void *)(coeff_block + 64 * i), 1);
}

static inline void record_begin(struct mb_parser *p)
{
    prefetch_records(p);
    struct rec_mb *mb = p->mb = &p->to.mbs[p->index];

    p->motion = &p->to.motions[p->index];
    p->syntax = &p->to.syntaxes[p->index];
    *mb = (struct rec_mb){.slice = p->slice_index,
                          .coeff = p->chunk.next,
                          .intra_avail = p->intra_avail,
                          .deblock = p->deblock};
    memset(p->syntax, 0, sizeof(*p->syntax));
}

/* Direct prediction writes all of the motion record in step 3, which need not be touched until
 * then. */
static inline void motion_begin(struct mb_parser *p)
{
    _Static_assert(sizeof(p->motion->mv) == 128, "rec_motion");
    clear_64(p->motion->mv[0]);
    clear_64(p->motion->mv[1]);
    memset(p->motion->ref_idx, -1, sizeof(p->motion->ref_idx));
}

static void record_end(struct mb_parser *p)
{
    struct rec_mb *mb = p->mb;
    if (mb->kind != REC_MB_INTRA_PCM) { /* which has its own */
        mb->qp[0] = p->qp;
        mb->qp[1] = p->qpc[0];
        mb->qp[2] = p->qpc[1];
        if (p->sps->qpprime_y_zero_transform_bypass_flag && p->qp + p->format.qp_bd_offset[0] == 0)
            mb->flags |= REC_MB_BYPASS;
    }
    if (p->field)
        mb->flags |= REC_MB_FIELD;
    p->syntax->decoded = 1;
    if (p->format.plain)
        h264_neighbours_publish(p);
    else if (p->format.mbaff_frame)
        h264_mbaff_publish(p);
    else
        h264_neighbours_publish_group(p);
}

/* P_Skip, B_Skip */
void h264_macroblock_skip(struct mb_parser *p)
{
    record_begin(p);
    p->mb->kind = REC_MB_INTER;
    p->mb->flags = REC_MB_SKIP;
    if (p->format.slice_type == H264_B) {
        p->syntax->part = H264_PART_DIRECT;
    } else {
        motion_begin(p);
        p->syntax->part = H264_PART_SKIP;
        memset(p->motion->ref_idx[0], 0, 4);
    }
    p->edge = p->line.skipped;
    p->last_delta = 0;
    record_end(p);
}

/* Modes that do not count for Intra4x4PredMode prediction of others: 2 for every block. */
static void edge_modes(struct mb_edge *edge, int8_t mode)
{
    memset(edge->mode_right, mode, 4);
    memset(edge->mode_bottom, mode, 4);
}

static bool read_coded_block_pattern(struct mb_parser *p, bool inter)
{
    bool with_chroma = p->format.chroma_array_type == 1 || p->format.chroma_array_type == 2;
    uint32_t code;
    if (p->format.cabac_mode) {
        p->cbp = (uint8_t)h264_cabac_coded_block_pattern(p);
        return true;
    }
    code = h264_bits_ue(&p->bits);
    if (code > (with_chroma ? 47 : 15))
        return false;
    p->cbp = h264_cavlc_cbp[with_chroma][inter][code];
    return true;
}

/* mb_qp_delta, 7-37 */
static bool read_qp_delta(struct mb_parser *p)
{
    int32_t delta = p->format.cabac_mode ? h264_cabac_mb_qp_delta(p) : h264_bits_se(&p->bits);
    int offset = p->format.qp_bd_offset[0];
    if (delta < -(26 + offset / 2) || delta > 25 + offset / 2)
        return false;
    p->last_delta = delta != 0;
    if (delta)
        h264_set_qp(p, (p->qp + delta + 52 + 2 * offset) % (52 + offset) - offset);
    return true;
}

/* The partition is of no more use, and nor is what this macroblock got of it. */
static void lose_partition(struct mb_parser *p, struct h264_bits *part)
{
    part->data = NULL;
    p->lost_partition = true;
    memset(p->mb->coded, 0, sizeof(p->mb->coded));
    p->mb->nonzero = 0;
    memset(&p->edge.u.total, 0, sizeof(p->edge.u.total));
}

/* CAVLC, from its data partition; where that is lost there is no residual. For nC of an intra
 * macroblock inter neighbours count as empty where intra prediction is constrained (9.2.1), so that
 * partition B can do without C. */
static void residual_partition(struct mb_parser *p)
{
    static const struct mb_edge empty = {.flags = EDGE_AVAILABLE};
    bool inter = p->mb->kind == REC_MB_INTER;
    struct h264_bits a = p->bits, *part = &p->part[inter];
    if (!part->data) {
        p->lost_partition = true;
        return;
    }
    if (!inter && p->pps->constrained_intra_pred_flag) {
        if (p->near.a == &p->mbaff.mixed[0])
            h264_mbaff_left_of_intra(p);
        else if ((p->near.a->flags & (EDGE_AVAILABLE | EDGE_INTRA)) == EDGE_AVAILABLE)
            p->near.a = &empty;
        if ((p->near.b->flags & (EDGE_AVAILABLE | EDGE_INTRA)) == EDGE_AVAILABLE)
            p->near.b = &empty;
    }
    p->bits = *part;
    if ((p->format.wide ? h264_residual_cavlc_32(p) : h264_residual_cavlc_16(p)) &&
        !h264_bits_overrun(&p->bits))
        *part = p->bits;
    else
        lose_partition(p, part);
    p->bits = a;
}

static bool residual_levels(struct mb_parser *p)
{
    if (p->format.cabac_mode)
        return p->format.wide ? h264_residual_cabac_32(p) : h264_residual_cabac_16(p);
    if (!p->format.partitioned)
        return p->format.wide ? h264_residual_cavlc_32(p) : h264_residual_cavlc_16(p);
    residual_partition(p);
    return true;
}

/* All that follows the prediction syntax: coded_block_pattern is known. */
static bool residual(struct mb_parser *p)
{
    bool good;
    bool i16 = p->mb->kind == REC_MB_INTRA_16X16;
    p->edge.cbp = p->cbp;
    p->last_delta = p->cbp || i16 ? p->last_delta : 0;
    if (!p->cbp && !i16)
        return true;
    if (!read_qp_delta(p) || !h264_coeff_blocks_reserve(p))
        return false;
    p->mb->coeff = p->chunk.next;
    p->residual_at = p->bits.pos;
    p->level_sum = 0;
    good = residual_levels(p);
    if (h264_levels_suspect(p) && good)
        p->out_of_range |= h264_residual_out_of_range(p);
    if (good)
        h264_coeff_blocks_done(p);
    return good;
}

static unsigned read_transform_size_8x8_flag(struct mb_parser *p)
{
    unsigned flag =
        p->format.cabac_mode ? h264_cabac_transform_size_8x8_flag(p) : h264_bits_flag(&p->bits);
    if (flag) {
        p->mb->flags |= REC_MB_TRANSFORM_8X8;
        p->edge.flags |= EDGE_TRANSFORM_8X8;
    }
    return flag;
}

static bool intra_macroblock(struct mb_parser *p, unsigned mb_type)
{
    struct rec_mb *mb = p->mb;
    motion_begin(p);
    p->syntax->part = H264_PART_INTRA;
    p->edge.flags |= EDGE_INTRA;
    if (mb_type == 25)
        return h264_intra_pcm(p);
    if (mb_type) { /* Intra_16x16: mb_type says all (Table 7-11) */
        p->edge.flags |= EDGE_NOT_I_NXN;
        mb->kind = REC_MB_INTRA_16X16;
        p->cbp = (uint8_t)((mb_type - 1) / 4 % 3 << 4 | (mb_type > 12 ? 15 : 0));
        if (p->cbp > 15 && p->format.chroma_blocks != 4 && p->format.chroma_blocks != 8)
            return false;
        return h264_intra_16x16_mode(p, (mb_type - 1) & 3) && h264_intra_chroma_mode(p) &&
               residual(p);
    }
    mb->kind = REC_MB_INTRA_4X4;
    if (p->pps->transform_8x8_mode_flag && read_transform_size_8x8_flag(p))
        mb->kind = REC_MB_INTRA_8X8;
    return h264_intra_nxn_modes(p, mb->kind == REC_MB_INTRA_8X8) && h264_intra_chroma_mode(p) &&
           read_coded_block_pattern(p, false) && residual(p);
}

/* mb_type SI (Table 7-12): Intra_4x4 whose neighbours may be of its own kind. */
static bool si_macroblock(struct mb_parser *p)
{
    uint16_t mask = p->format.avail_mask;
    p->format.avail_mask &= (uint16_t)~EDGE_SI;
    if (p->format.mbaff_frame) {
        h264_mbaff_select(p, p->mbaff.bottom, p->field);
        h264_mbaff_find(p);
    } else {
        h264_neighbours_find(p);
    }
    p->format.avail_mask = mask;
    p->mb->intra_avail = p->intra_avail;
    motion_begin(p);
    p->syntax->part = H264_PART_INTRA;
    p->edge.flags |= EDGE_INTRA | EDGE_SI | EDGE_NOT_I_NXN;
    p->mb->kind = REC_MB_INTRA_4X4;
    p->mb->flags |= REC_MB_SI;
    return h264_intra_nxn_modes(p, false) && h264_intra_chroma_mode(p) &&
           read_coded_block_pattern(p, false) && residual(p);
}

static bool inter_macroblock(struct mb_parser *p, unsigned mb_type)
{
    const struct mb_inter_type *type =
        p->format.slice_type == H264_B ? &h264_mb_type_b[mb_type] : &h264_mb_type_p[mb_type];
    bool transform_8x8 = true, good = true;
    p->mb->kind = REC_MB_INTER;
    p->syntax->part = type->part;
    edge_modes(&p->edge, p->pps->constrained_intra_pred_flag ? MODE_NONE : 2);
    if (type->part == H264_PART_DIRECT) {
        p->edge.flags &= (uint16_t)~EDGE_NOT_DIRECT;
        transform_8x8 = p->sps->direct_8x8_inference_flag;
    } else if (type->part == H264_PART_8X8) {
        motion_begin(p);
        good = h264_inter_sub_partitions(p, p->format.slice_type == H264_P && mb_type == 4,
                                         &transform_8x8);
    } else {
        motion_begin(p);
        good = h264_inter_partitions(p, type);
    }
    if (!good || !read_coded_block_pattern(p, true))
        return false;
    if (p->cbp & 15 && p->pps->transform_8x8_mode_flag && transform_8x8)
        read_transform_size_8x8_flag(p);
    return residual(p);
}

bool h264_macroblock(struct mb_parser *p)
{
    static const uint8_t inter_types[3] = {[H264_P] = 5, [H264_B] = 23, [H264_I] = 0};
    unsigned inter = inter_types[p->format.slice_type];
    uint32_t mb_type;
    bool good;
    record_begin(p);
    p->residual_at = SIZE_MAX;
    memset(&p->edge, 0, sizeof(p->edge));
    p->edge.flags = EDGE_AVAILABLE | EDGE_CODED | EDGE_NOT_DIRECT;
    edge_modes(&p->edge, 2);
    mb_type = p->format.cabac_mode ? h264_cabac_mb_type(p) : h264_bits_ue(&p->bits);
    if (mb_type >= inter + 26 + p->format.si_slice)
        return false;
    if (p->format.si_slice)
        good = mb_type ? intra_macroblock(p, mb_type - 1) : si_macroblock(p);
    else
        good =
            mb_type < inter ? inter_macroblock(p, mb_type) : intra_macroblock(p, mb_type - inter);
    if (!good ||
        (p->format.cabac_mode ? h264_cabac_overrun(&p->cabac.e) : h264_bits_overrun(&p->bits)))
        return false;
    record_end(p);
    p->residual_at = SIZE_MAX;
    return true;
}

bool h264_macroblock_keep_prediction(struct mb_parser *p)
{
    if (p->format.cabac_mode || p->residual_at > p->bits.end || p->mb->kind != REC_MB_INTER)
        return false;
    h264_coeff_blocks_done(p);
    record_end(p);
    return true;
}
