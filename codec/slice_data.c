/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Step 2: slice_data() (7.3.4) of one slice into the records of its picture. Scratch keeps the buffers of one worker.
 */
#include "codec/cavlc.h"
#include "codec/macroblock.h"

#include <stdlib.h>

/* CAVLC blocks are read without a check inside the block; the longest is below this. */
#define SLICE_PADDING 256

struct h264_scratch {
    struct mb_parser parser;
    uint8_t *rbsp;
    size_t rbsp_capacity;
    struct mb_edge *line;
    size_t line_capacity;
};

struct h264_scratch *h264_scratch_create(void)
{
    return calloc(1, sizeof(struct h264_scratch));
}

void h264_scratch_free(struct h264_scratch *scratch)
{
    if (!scratch)
        return;
    free(scratch->line);
    free(scratch->rbsp);
    free(scratch);
}

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
        s->line = malloc(line * sizeof(*s->line));
        if (!s->line)
            return H264_ERR_NOMEM;
        s->line_capacity = line;
    }
    return H264_OK;
}

bool h264_units_reserve(struct mb_parser *p)
{
    uint32_t mbs = p->end_mb - p->addr, n, start;

    if (p->unit_end - p->unit_next >= p->units_per_mb)
        return true;
    n = (mbs < UNIT_CHUNK_MBS ? mbs : UNIT_CHUNK_MBS) * p->units_per_mb;
    start = atomic_load_explicit(&p->pic->unit_count, memory_order_relaxed);
    do {
        if (start > p->pic->unit_capacity || n > p->pic->unit_capacity - start)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&p->pic->unit_count, &start, start + n, memory_order_relaxed,
                                                    memory_order_relaxed));
    if (start != p->unit_end) /* else the rest of the last chunk goes on in the new one */
        p->unit_next = start;
    p->unit_end = start + n;
    return true;
}

/* What is left of the last chunk goes back where no other slice has taken one since. */
static void units_return(struct mb_parser *p)
{
    uint32_t end = p->unit_end;

    if (p->unit_next < end)
        atomic_compare_exchange_strong_explicit(&p->pic->unit_count, &end, p->unit_next, memory_order_relaxed,
                                                memory_order_relaxed);
}

/* What a skipped macroblock leaves for its neighbours. */
static void skipped_edge(const struct mb_parser *p, struct mb_edge *edge)
{
    int8_t mode = p->pps->constrained_intra_pred_flag ? MODE_NONE : 2;

    memset(edge, 0, sizeof(*edge));
    edge->flags = EDGE_AVAILABLE | (p->slice_type == H264_B ? 0 : EDGE_NOT_DIRECT);
    memset(edge->mode_right, mode, sizeof(edge->mode_right));
    memset(edge->mode_bottom, mode, sizeof(edge->mode_bottom));
}

static void parser_begin(struct mb_parser *p, struct h264_slice *slice, struct mb_edge *line)
{
    static const uint8_t chroma_blocks[4] = {0, 4, 8, 16};
    const struct h264_sps *sps = slice->sps;

    p->slice = slice;
    p->pic = slice->pic;
    p->sps = sps;
    p->pps = slice->pps;
    p->mb_width = p->pic->mb_width;
    p->first_mb = slice->hdr.first_mb;
    p->end_mb = slice->end_mb < p->pic->mb_count ? slice->end_mb : p->pic->mb_count;
    p->cabac_mode = p->pps->entropy_coding_mode_flag;
    p->slice_type = slice->hdr.type;
    p->chroma_array_type = sps->separate_colour_plane_flag ? 0 : sps->chroma_format_idc;
    p->chroma_blocks = chroma_blocks[p->chroma_array_type & 3];
    p->wide = h264_coeff_bytes(sps) == 4;
    p->field = slice->hdr.field_pic_flag;
    p->num_ref[0] = slice->hdr.num_ref[0];
    p->num_ref[1] = slice->hdr.num_ref[1];
    p->qp_bd_offset[0] = 6 * (sps->bit_depth[0] - 8);
    p->qp_bd_offset[1] = 6 * (sps->bit_depth[1] - 8);
    p->units_per_mb = h264_units_per_mb(sps);
    p->unit_next = p->unit_end = 0;
    p->line = line;
    p->addr = p->first_mb;
    p->mb_x = p->first_mb % p->mb_width;
    p->d_flags = 0;
    p->last_delta = 0;
    h264_set_qp(p, slice->hdr.qp);
    skipped_edge(p, &p->skipped);
}

static void next_macroblock(struct mb_parser *p)
{
    p->slice->mbs_decoded++;
    p->addr++;
    if (++p->mb_x == p->mb_width)
        p->mb_x = 0;
}

static int slice_data_cavlc(struct mb_parser *p)
{
    struct h264_bits *b = &p->bits;

    do {
        if (p->slice_type != H264_I) {
            uint32_t run = h264_bits_ue(b); /* mb_skip_run */

            if (run > p->end_mb - p->addr || h264_bits_overrun(b))
                return H264_ERR_DATA;
            for (uint32_t i = 0; i < run; i++) {
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
    struct h264_cabac *c = &p->cabac;
    size_t start = h264_bits_byte_pos(&p->bits); /* after cabac_alignment_one_bit */
    unsigned contexts = p->chroma_array_type == 3 ? H264_CABAC_CONTEXTS : 460;

    h264_cabac_init_contexts(c, p->slice_type == H264_I ? 0 : 1 + p->slice->hdr.cabac_init_idc, p->qp, contexts);
    h264_cabac_start(&c->e, p->bits.data + start, p->bits.data + p->bits.size);
    do {
        if (p->addr >= p->end_mb)
            return H264_ERR_DATA;
        h264_neighbours_find(p);
        if (p->slice_type != H264_I && h264_cabac_mb_skip_flag(p)) {
            if (h264_cabac_overrun(&c->e))
                return H264_ERR_DATA;
            h264_macroblock_skip(p);
        } else if (!h264_macroblock(p)) {
            return H264_ERR_DATA;
        }
        next_macroblock(p);
    } while (!h264_cabac_terminate(&c->e));
    return H264_OK;
}

/* Slice data that this version has no parser for. Step 1 refuses it with a diagnosis; these tables must not be read past
 * their end. */
static bool unsupported(const struct h264_slice *slice)
{
    const struct h264_slice_header *hdr = &slice->hdr;

    return hdr->type > H264_I || slice->pic->mbaff || slice->pps->num_slice_groups > 1 ||
           (hdr->nal_unit_type >= H264_NAL_PARTITION_A && hdr->nal_unit_type <= H264_NAL_PARTITION_C);
}

static int decode(struct h264_slice *slice, struct h264_scratch *scratch)
{
    struct mb_parser *p = &scratch->parser;
    size_t size;
    int error;

    if (unsupported(slice))
        return H264_ERR_UNSUPPORTED;
    if (slice->hdr.first_mb >= slice->pic->mb_count || slice->end_mb <= slice->hdr.first_mb)
        return H264_ERR_DATA;
    error = scratch_grow(scratch, slice->nal_size + SLICE_PADDING, slice->pic->mb_width);
    if (error)
        return error;
    size = h264_unescape(slice->nal, slice->nal_size, scratch->rbsp, NULL);
    memset(scratch->rbsp + size, 0, SLICE_PADDING);
    parser_begin(p, slice, scratch->line);
    h264_bits_init(&p->bits, scratch->rbsp, size);
    if (slice->data_bit_offset >= p->bits.end)
        return H264_ERR_TRUNCATED;
    p->bits.pos = slice->data_bit_offset;
    error = p->cabac_mode ? slice_data_cabac(p) : slice_data_cavlc(p);
    units_return(p);
    return error;
}

int h264_slice_decode(struct h264_slice *slice, struct h264_scratch *scratch)
{
    slice->mbs_decoded = 0;
    slice->status = decode(slice, scratch);
    return slice->status;
}
