/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Step 2: slice_data() (7.3.4) of one slice into the records of its picture. Scratch keeps the
 * buffers of one worker. MBAFF frames are parsed by slice_data_mbaff.c.
 */
#include "codec/abi/entropy_abi.h"
#include "codec/arrays.h"
#include "codec/cabac.h"
#include "codec/conceal.h"
#include "codec/h264_error.h"
#include "codec/macroblock.h"
#include "codec/nal.h"
#include "codec/slice_decode.h"

#include <stdlib.h>

/* CAVLC blocks are read without a check inside the block; the longest is below this. */
#define SLICE_PADDING 256

enum { BYTES_OF_CUT = 3 };

/* What a macroblock column takes of the line: a pair of an MBAFF frame; or an edge and its address.
 */
#define LINE_BYTES                                                                                 \
    (sizeof(struct mb_pair) > sizeof(struct mb_edge) + 4 ? sizeof(struct mb_pair)                  \
                                                         : sizeof(struct mb_edge) + 4)

static int scratch_grow(struct h264_scratch *s, size_t rbsp, size_t line)
{
    if (rbsp > s->rbsp_capacity) {
        size_t capacity = rbsp + rbsp / 2;
        free(s->rbsp);
        s->rbsp_capacity = 0;
        s->rbsp = malloc(capacity);
        if (!s->rbsp)
            return H264_ERR_NOMEM;
        s->rbsp_capacity = capacity;
    }
    if (line > s->line_capacity) {
        free(s->line);
        s->line_capacity = 0;
        s->line = malloc(line * LINE_BYTES);
        if (!s->line)
            return H264_ERR_NOMEM;
        s->line_capacity = line;
    }
    return H264_OK;
}

/* What a skipped macroblock leaves for its neighbours. */
static void skipped_edge(const struct mb_parser *p, struct mb_edge *edge)
{
    int8_t mode = p->pps->constrained_intra_pred_flag ? MODE_NONE : 2;
    memset(edge, 0, sizeof(*edge));
    edge->flags = EDGE_AVAILABLE | (p->format.slice_type == H264_B ? 0 : EDGE_NOT_DIRECT);
    memset(edge->mode_right, mode, sizeof(edge->mode_right));
    memset(edge->mode_bottom, mode, sizeof(edge->mode_bottom));
}

/* The line before the first macroblock: nothing in it is of this slice. */
static void line_begin(struct mb_parser *p, void *line)
{
    p->mbaff.line = line;
    p->line.edges = line;
    p->line.addr = (uint32_t *)(p->line.edges + p->mb_width);
    p->near.d_flags = 0;
    p->near.d_addr = ADDR_NONE;
    p->mbaff.replaced.pair = ADDR_NONE;
    for (uint32_t x = 0; x < p->mb_width && p->format.mbaff_frame; x++)
        p->mbaff.line[x].pair = ADDR_NONE;
    if (p->groups && !p->format.mbaff_frame)
        memset(p->line.addr, 0xff, p->mb_width * sizeof(*p->line.addr));
}

/* Which neighbours serve intra prediction. SI macroblocks do not where intra prediction is
 * constrained, but for each other. */
static void intra_begin(struct mb_parser *p)
{
    bool constrained = p->pps->constrained_intra_pred_flag;
    p->format.avail_need = constrained ? EDGE_INTRA : EDGE_AVAILABLE;
    p->format.avail_mask = p->format.avail_need | (constrained && p->format.si_slice ? EDGE_SI : 0);
}

/* blocks: of one macroblock, for packed levels. */
static void parser_begin(struct mb_parser *p, struct h264_slice *slice, void *line, void *blocks)
{
    static const uint8_t chroma_blocks[4] = {0, 4, 8, 16};
    const struct h264_sps *sps = slice->sps;
    unsigned type = slice->hdr.type;
    p->slice = slice;
    p->pic = slice->pic;
    p->to.mbs = p->pic->arrays.mbs;
    p->to.motions = p->pic->arrays.motion;
    p->to.syntaxes = p->pic->arrays.syntax;
    p->to.packed = p->pic->arrays.packed;
    p->to.coeffs = p->to.packed ? blocks : p->pic->arrays.coeffs;
    p->slice_index = slice->index;
    p->mbs_decoded = 0;
    p->sps = sps;
    p->pps = slice->pps;
    p->mb_width = p->pic->mb_width;
    p->first_mb = slice->hdr.first_mb;
    p->end_mb = slice->end_mb < p->pic->mb_count ? slice->end_mb : p->pic->mb_count;
    p->format.cabac_mode = p->pps->entropy_coding_mode_flag;
    p->format.slice_type = (uint8_t)(type == H264_SP ? H264_P : type == H264_SI ? H264_I : type);
    p->format.si_slice = type == H264_SI;
    /* no profile has it with CABAC */
    p->format.partitioned =
        slice->hdr.nal_unit_type == H264_NAL_PARTITION_A && !p->format.cabac_mode;
    p->format.mbaff_frame = p->pic->mbaff;
    p->groups = slice->slice_group_map;
    p->format.plain = !p->format.mbaff_frame && !p->groups;
    p->format.chroma_array_type = (uint8_t)h264_chroma_array_type(sps);
    p->format.chroma_blocks = chroma_blocks[p->format.chroma_array_type & 3];
    p->format.wide = h264_coeff_bytes(sps) == 4;
    p->field = slice->hdr.field_pic_flag;
    p->format.deblock_idc = slice->hdr.disable_deblocking_filter_idc;
    p->num_ref[0] = slice->hdr.num_ref[0];
    p->num_ref[1] = slice->hdr.num_ref[1];
    p->format.qp_bd_offset[0] = 6 * (sps->bit_depth[0] - 8);
    p->format.qp_bd_offset[1] = 6 * (sps->bit_depth[1] - 8);
    p->chunk.per_mb = h264_coeff_blocks_per_mb(sps);
    p->chunk.next = p->chunk.end = p->chunk.base = 0;
    p->chunk.packed_next = p->chunk.packed_end = p->pic->mb_count;
    p->addr = p->first_mb & ~(uint32_t)p->format.mbaff_frame;
    p->mb_x = (p->addr >> p->format.mbaff_frame) % p->mb_width;
    p->last_delta = 0;
    p->lost_partition = p->out_of_range = false;
    p->residual_at = SIZE_MAX;
    line_begin(p, line);
    intra_begin(p);
    h264_set_qp(p, slice->hdr.qp);
    h264_range_begin(p);
    skipped_edge(p, &p->line.skipped);
}

static inline void next_macroblock(struct mb_parser *p)
{
    p->mbs_decoded++;
    if (p->format.plain)
        mb_next_in_row(p, 1);
    else
        h264_next_in_group(p, 1);
}

static int slice_data_cavlc(struct mb_parser *p)
{
    struct h264_bits *b = &p->bits;
    do {
        if (p->format.slice_type != H264_I) {
            uint32_t run = h264_bits_ue(b); /* mb_skip_run */
            if (run > p->end_mb - p->addr || h264_bits_overrun(b))
                return H264_ERR_DATA;
            for (uint32_t i = 0; i < run; i++) {
                if (p->addr >= p->end_mb) /* other slice groups lie between */
                    return H264_ERR_DATA;
                h264_neighbours_find(p);
                h264_macroblock_skip(p);
                next_macroblock(p);
            }
            if (run && !h264_bits_more_data(b))
                break;
        }
        if (p->addr >= p->end_mb)
            return H264_ERR_DATA;
        h264_neighbours_find(p);
        if (!h264_macroblock(p))
            return H264_ERR_DATA;
        next_macroblock(p);
    } while (h264_bits_more_data(b));
    return H264_OK;
}

static int slice_data_cabac(struct mb_parser *p)
{
    do {
        if (p->addr >= p->end_mb)
            return H264_ERR_DATA;
        h264_neighbours_find(p);
        if (p->format.slice_type != H264_I && h264_cabac_mb_skip_flag(p)) {
            if (h264_cabac_overrun(&p->cabac.e))
                return H264_ERR_DATA;
            h264_macroblock_skip(p);
        } else if (!h264_macroblock(p)) {
            return H264_ERR_DATA;
        }
        next_macroblock(p);
    } while (!h264_cabac_terminate(&p->cabac.e));
    return H264_OK;
}

static int slice_data(struct mb_parser *p)
{
    if (p->format.cabac_mode) {
        struct h264_cabac *c = &p->cabac;
        size_t start = h264_bits_byte_pos(&p->bits); /* after cabac_alignment_one_bit */
        unsigned contexts = p->format.chroma_array_type == 3 ? H264_CABAC_CONTEXTS : 460;
        h264_cabac_init_contexts(
            c, p->format.slice_type == H264_I ? 0 : 1 + p->slice->hdr.cabac_init_idc, p->qp,
            contexts);
        h264_cabac_start(&c->e, p->bits.data + start, p->bits.data + p->bits.size);
        return p->format.mbaff_frame ? h264_slice_data_mbaff_cabac(p) : slice_data_cabac(p);
    }
    return p->format.mbaff_frame ? h264_slice_data_mbaff_cavlc(p) : slice_data_cavlc(p);
}

/* One NAL unit into the scratch at *at; a reader of its slice data, or one without data where the
 * coefficient block is lost or too short. */
static void begin_bits(struct h264_scratch *scratch, const uint8_t *nal, size_t nal_size,
                       size_t bit, size_t *at, struct h264_bits *bits)
{
    uint8_t *rbsp = scratch->rbsp + *at;
    size_t size;
    memset(bits, 0, sizeof(*bits));
    if (!nal)
        return;
    size = h264_unescape(nal, nal_size, rbsp, NULL);
    memset(rbsp + size, 0, SLICE_PADDING);
    *at += size + SLICE_PADDING;
    h264_bits_init(bits, rbsp, size);
    bits->pos = bit;
    if (bit > bits->end)
        bits->data = NULL;
}

/* From where the parser stands to the stop bit. */
static ptrdiff_t bytes_left(const struct mb_parser *p)
{
    if (!p->format.cabac_mode)
        return ((ptrdiff_t)p->bits.end - (ptrdiff_t)p->bits.pos) / 8;
    return p->bits.data + p->bits.end / 8 - h264_cabac_tail(&p->cabac.e);
}

/* Data is wrong before its syntax is: concealment takes the last macroblocks before an error, too.
 * Where the data are used up, a cut is likelier, and they are right. Step 3 may find more
 * (conceal_doubt.c). */
static void drop_doubted(struct mb_parser *p)
{
    const struct h264_arrays *a = &p->pic->arrays;
    for (unsigned n = 0; n < CONCEAL_DOUBTED && p->addr > p->first_mb && p->format.plain; n++) {
        p->addr--;
        p->mbs_decoded--;
        if (a->mbs[p->addr].slice == p->slice_index)
            a->syntax[p->addr].decoded = 0;
    }
    p->slice->doubted = p->format.plain && p->format.cabac_mode && p->format.slice_type != H264_I;
}

static int slice_decode(struct h264_slice *slice, struct h264_scratch *scratch)
{
    struct mb_parser *p = &scratch->parser;
    size_t b_size = slice->nal_b ? slice->nal_b_size : 0,
           c_size = slice->nal_c ? slice->nal_c_size : 0, at = 0;
    int error;
    if (slice->hdr.first_mb >= slice->pic->mb_count || slice->end_mb <= slice->hdr.first_mb)
        return H264_ERR_DATA;
    error = scratch_grow(scratch, slice->nal_size + b_size + c_size + 3 * SLICE_PADDING,
                         slice->pic->mb_width);
    if (error)
        return error;
    parser_begin(p, slice, scratch->line, scratch->blocks);
    begin_bits(scratch, slice->nal, slice->nal_size, slice->data_bit_offset, &at, &p->bits);
    if (slice->data_bit_offset >= p->bits.end)
        return H264_ERR_TRUNCATED;
    if (p->format.partitioned) {
        begin_bits(scratch, slice->nal_b, b_size, slice->data_bit_offset_b, &at, &p->part[0]);
        begin_bits(scratch, slice->nal_c, c_size, slice->data_bit_offset_c, &at, &p->part[1]);
    }
    error = slice_data(p);
    if ((error || p->addr < p->end_mb) && bytes_left(p) > BYTES_OF_CUT) {
        error = H264_ERR_DATA;
        drop_doubted(p);
    } else if (error && p->format.plain && h264_macroblock_keep_prediction(p)) {
        next_macroblock(p);
    } else if (!error && bytes_left(p) > ENT_BYTES_BEHIND) {
        error = H264_ERR_DATA; /* a unit whose start code is lost, or wrong bins */
    }
    slice->mbs_decoded = p->mbs_decoded;
    atomic_store_explicit(&slice->ready, p->addr, memory_order_release);
    h264_coeff_blocks_return(p);
    slice->lost_partition = p->lost_partition;
    slice->out_of_range = p->out_of_range;
    return error || !p->lost_partition ? error : H264_ERR_DATA;
}

int h264_slice_parse(struct h264_slice *slice, struct h264_scratch *scratch)
{
    slice->mbs_decoded = 0;
    slice->doubted = 0;
    slice->status = slice_decode(slice, scratch);
    atomic_fetch_or_explicit(&slice->ready, H264_SLICE_ENDED, memory_order_release);
    return slice->status;
}
