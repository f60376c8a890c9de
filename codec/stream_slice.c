/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Slices: the picture that a slice belongs to (7.4.1.2.4), and the data that it keeps for its
 * decode.
 */
#include "codec/diag.h"
#include "codec/h264_picture.h"
#include "codec/nal.h"
#include "codec/parameter_sets.h"
#include "codec/ref_lists.h"
#include "codec/slice_header.h"
#include "codec/stream.h"

#include <stdlib.h>

/* More than any slice header: 66 modifications and 66 marking operations of 63 bits, 32 * 3 * 2
 * weights of 17. */
#define HEADER_BYTES     8192
#define PARTITIONS_APART 4096 /* slices between a partition A and its others */

/* 7.4.1.2.4 but for pic_parameter_set_id, which may differ between the slices of one picture in
 * streams that are about. */
static bool picture_differs(const struct h264_slice_header *a, const struct h264_slice_header *b)
{
    return a->frame_num != b->frame_num || a->field_pic_flag != b->field_pic_flag ||
           a->bottom_field_flag != b->bottom_field_flag || !a->nal_ref_idc != !b->nal_ref_idc ||
           a->idr != b->idr || a->idr_pic_id != b->idr_pic_id || a->poc_lsb != b->poc_lsb ||
           a->delta_poc_bottom != b->delta_poc_bottom || a->delta_poc[0] != b->delta_poc[0] ||
           a->delta_poc[1] != b->delta_poc[1];
}

static bool slice_identical(const struct h264_stream *s, const struct h264_slice *before,
                            const uint8_t *nal, size_t size)
{
    return before->nal_size == size && !memcmp(s->bytes + before->nal_at[0], nal, size);
}

/* COPY: a slice that was sent twice, which is no fault of the data. DUPLICATE: other data at the
 * place of a slice. ASTRAY: a damaged header. */
enum place { SAME_PICTURE, NEW_PICTURE, COPY, DUPLICATE, ASTRAY };

/* Without arbitrary slice order a picture begins with macroblock 0, and addresses rise (7.4.3). So
 * in the midst of an access unit a slice that goes on in the order of the picture belongs to it,
 * where the first slice of a second field was not lost. Other numbers in its header are damage:
 * where damaged or foreign parameter sets garble all headers, an access unit stays one picture. */
static bool slice_is_astray(const struct h264_stream *s, const struct h264_slice_header *last,
                            const struct h264_slice_header *h)
{
    bool other_field = last->field_pic_flag && h->field_pic_flag &&
                       last->bottom_field_flag != h->bottom_field_flag;
    return s->have_tag && s->cur->tag == s->tag && !s->cur_boundary &&
           h->first_mb > last->first_mb && !other_field &&
           !h264_stream_any_slice_order(s->cur->sps);
}

/* Where a slice goes; slices of a picture may come in any order. Encoders that give every IDR
 * picture the same idr_pic_id are common: a second slice at macroblock 0 opens a new picture,
 * unless it is the same slice sent twice. */
static enum place slice_place(const struct h264_stream *s, const struct h264_sps *sps,
                              const struct h264_slice_header *h, const uint8_t *nal, size_t size)
{
    const struct h264_picture *cur = s->cur;
    const struct h264_slice *last;
    if (!cur || cur->sps != sps || !cur->slice_count || s->cur_ended)
        return NEW_PICTURE;
    last = &cur->slices[cur->slice_count - 1];
    if (picture_differs(&last->hdr, h))
        return slice_is_astray(s, &last->hdr, h) ? ASTRAY : NEW_PICTURE;
    if (h->redundant_pic_cnt || !(s->starts[h->first_mb] >> h->colour_plane_id & 1))
        return SAME_PICTURE;
    if (h->first_mb == 0 && cur->slices[0].hdr.first_mb == 0)
        return !s->cur_boundary && slice_identical(s, &cur->slices[0], nal, size) ? COPY
                                                                                  : NEW_PICTURE;
    return slice_identical(s, last, nal, size) ? COPY : DUPLICATE;
}

static int append_bytes(struct h264_stream *s, const uint8_t *nal, size_t size)
{
    if (s->bytes_capacity - s->bytes_size < size) {
        size_t capacity = (s->bytes_size + size) * 2;
        uint8_t *bytes = realloc(s->bytes, capacity);
        if (!bytes)
            return H264_ERR_NOMEM;
        s->bytes = bytes;
        s->bytes_capacity = capacity;
    }
    memcpy(s->bytes + s->bytes_size, nal, size);
    s->bytes_size += size;
    return H264_OK;
}

static void hold_refs(struct h264_picture *pic, const struct h264_slice *slice)
{
    for (unsigned list = 0; list < 2; list++)
        for (unsigned i = 0; i < slice->num_ref[list]; i++)
            h264_picture_hold_frame(pic, slice->ref[list][i].pic);
}

/* Lists of B slices are ordered by POC, which a frame that was lost does not have: another one
 * stands at its place (8.2.4.2.3). */
static bool lists_lack_lost(const struct h264_stream *s, const struct h264_slice *slice)
{
    const struct h264_sps *sps = slice->sps;
    bool lost = false;
    for (unsigned i = 0; slice->hdr.type == H264_B && i < s->dpb.count; i++)
        lost |= s->dpb.entries[i].short_term && s->dpb.entries[i].pic->non_existing;
    return lost && sps->poc_type == 0 && !sps->gaps_in_frame_num_allowed;
}

static int add_slice(struct h264_stream *s, const struct h264_pps *pps,
                     const struct h264_slice_header *h, size_t data_bit, const uint8_t *nal,
                     size_t size, struct h264_diag *diag)
{
    struct h264_picture *pic = s->cur;
    struct h264_slice *slice;
    if (pic->slice_count >= H264_SLICES_PER_MB * (uint32_t)pic->mb_width * pic->sps->mb_height) {
        s->stats.refused[H264_LIMIT_SLICES]++;
        return h264_fail(diag, H264_ERR_DATA, "first_mb_in_slice", h->first_mb,
                         "too many slices in a picture");
    }
    if (append_bytes(s, nal, size))
        return H264_ERR_NOMEM;
    slice = h264_picture_add_slice(pic);
    if (!slice) {
        s->bytes_size -= size;
        return H264_ERR_NOMEM;
    }
    slice->hdr = *h;
    slice->sps = h264_sps_ref(pic->sps);
    slice->pps = h264_pps_ref(pps);
    slice->nal_at[0] = s->bytes_size - size;
    slice->nal_size = size;
    slice->data_bit_offset = data_bit;
    if (!h->redundant_pic_cnt)
        s->starts[h->first_mb] |= (uint8_t)(1 << h->colour_plane_id);
    s->stats.slices++;
    if (h->type == H264_B)
        pic->has_b_slices = 1;
    h264_stream_judge_slice(s, slice);
    if (h264_ref_lists(&s->dpb, pic->output_poc, slice)) {
        hold_refs(pic, slice);
        h264_recovery_breach_now(s, pic);
        return h264_fail(diag, H264_ERR_DATA, "modification_of_pic_nums_idc", 0,
                         "names a reference picture that is not there");
    }
    hold_refs(pic, slice);
    if (lists_lack_lost(s, slice))
        h264_recovery_breach_now(s, pic);
    return H264_OK;
}

/* Up to HEADER_BYTES of the NAL unit into s->rbsp. Where it is cut, a stop bit ends it so that the
 * reader takes all of it. */
static int unescape_header(struct h264_stream *s, const uint8_t *nal, size_t size,
                           size_t *rbsp_size)
{
    size_t n = size < HEADER_BYTES ? size : HEADER_BYTES;
    int error = h264_rbsp_unescape(&s->rbsp, nal, n, rbsp_size);
    if (!error && n < size)
        s->rbsp.bytes[(*rbsp_size)++] = 0x80;
    return error;
}

/* What the consumer cannot reconstruct is refused before anything of the slice is kept. */
static int check_capabilities(const struct h264_capabilities *can, const struct h264_sps *sps,
                              const struct h264_slice_header *h, struct h264_diag *diag)
{
    if (!can)
        return H264_OK;
    if (!sps->frame_mbs_only_flag && !can->interlaced)
        return h264_fail(diag, H264_ERR_UNSUPPORTED, "frame_mbs_only_flag", 0,
                         "interlaced coding is not supported yet");
    if (sps->separate_colour_plane_flag && !can->separate_planes)
        return h264_fail(diag, H264_ERR_UNSUPPORTED, "separate_colour_plane_flag", 1,
                         "separate colour planes are not supported yet");
    if (!(can->chroma_formats >> sps->chroma_format_idc & 1))
        return h264_fail(diag, H264_ERR_UNSUPPORTED, "chroma_format_idc", sps->chroma_format_idc,
                         "this chroma format is not supported yet");
    if (sps->bit_depth[0] > can->max_bit_depth[0])
        return h264_fail(diag, H264_ERR_UNSUPPORTED, "bit_depth_luma_minus8", sps->bit_depth[0] - 8,
                         "this bit depth is not supported yet");
    if (sps->bit_depth[1] > can->max_bit_depth[1])
        return h264_fail(diag, H264_ERR_UNSUPPORTED, "bit_depth_chroma_minus8",
                         sps->bit_depth[1] - 8, "this bit depth is not supported yet");
    if ((h->type == H264_SP || h->type == H264_SI) && !can->switching)
        return h264_fail(diag, H264_ERR_UNSUPPORTED, "slice_type", h->type,
                         "SP and SI slices are not supported yet");
    return H264_OK;
}

int h264_stream_place_slice(struct h264_stream *s, const struct h264_sps *sps,
                            const struct h264_pps *pps, const struct h264_slice_header *h,
                            size_t data_bit, const uint8_t *nal, size_t size,
                            struct h264_diag *diag)
{
    int finished = H264_OK, error = check_capabilities(s->capabilities, sps, h, diag);
    if (error)
        return error;
    switch (slice_place(s, sps, h, nal, size)) {
    case COPY:
        return H264_OK;
    case ASTRAY:
        h264_picture_damage(s->cur);
        if (h->nal_ref_idc && !s->cur->nal_ref_idc)
            h264_recovery_breach(s, H264_BREACH_ORDER); /* it may be a reference */
        return h264_fail(diag, H264_ERR_DATA, "frame_num", h->frame_num,
                         "differs within an access unit");
    case DUPLICATE:
        h264_picture_damage(s->cur); /* one of both is not of this picture */
        return h264_fail(diag, H264_ERR_DATA, "first_mb_in_slice", h->first_mb,
                         "the slice was there before");
    case NEW_PICTURE:
        finished = h264_stream_finish_picture(s, diag);
        error = h264_stream_begin_picture(s, sps, h, finished ? NULL : diag);
        if (error || !s->cur)
            return finished ? finished : error;
        h264_stream_judge_picture(s, h, pps, nal, size);
        break;
    case SAME_PICTURE:
        break;
    }
    error = add_slice(s, pps, h, data_bit, nal, size, finished ? NULL : diag);
    return finished ? finished : error;
}

int h264_stream_parse_slice(struct h264_stream *s, const uint8_t *nal, size_t size,
                            const struct h264_sps **sps, const struct h264_pps **pps,
                            struct h264_slice_header *h, size_t *data_bit, struct h264_diag *diag)
{
    uint32_t first_mb, type, pps_id;
    size_t n;
    int error = unescape_header(s, nal, size, &n);
    if (error)
        return error;
    error = h264_slice_peek(s->rbsp.bytes, n, &first_mb, &type, &pps_id);
    if (error)
        return h264_fail(diag, error, "first_mb_in_slice", (int64_t)n,
                         "the slice header is malformed");
    error = h264_stream_find_params(s, pps_id, sps, pps, diag);
    return error ? error : h264_slice_header_parse(s->rbsp.bytes, n, *sps, *pps, h, data_bit, diag);
}

int h264_stream_slice(struct h264_stream *s, const uint8_t *nal, size_t size,
                      struct h264_diag *diag)
{
    const struct h264_sps *sps;
    const struct h264_pps *pps;
    struct h264_slice_header h;
    size_t data_bit;
    int error = h264_stream_parse_slice(s, nal, size, &sps, &pps, &h, &data_bit, diag);
    if (error) {
        if (error != H264_ERR_NOMEM)
            h264_stream_lose_slice(s, nal[0]);
        return error;
    }
    if (h.idr && !h.nal_ref_idc)
        h.nal_ref_idc = 1; /* damage: they are references always (7.4.1) */
    h.inter_view_flag = s->inter_view_flag;
    h264_stream_judge_alignment(s, pps, data_bit);
    return h264_stream_place_slice(s, sps, pps, &h, data_bit, nal, size, diag);
}

/* The slice of cur whose partition A has this slice_id; the last, as a slice_id may come again in
 * redundant pictures. Not among all slices: a picture may have 139,264 of one macroblock. */
static struct h264_slice *find_partition_a(const struct h264_picture *cur, uint32_t slice_id)
{
    uint32_t count = cur ? cur->slice_count : 0,
             end = count > PARTITIONS_APART ? count - PARTITIONS_APART : 0;
    for (uint32_t i = count; i-- > end;)
        if (cur->slices[i].hdr.nal_unit_type == H264_NAL_PARTITION_A &&
            cur->slices[i].hdr.slice_id == slice_id)
            return &cur->slices[i];
    return NULL;
}

/* It was sent twice. */
static bool partition_identical(const struct h264_stream *s, const struct h264_slice *slice,
                                const uint8_t *nal, size_t size)
{
    bool is_b = (nal[0] & 31) == H264_NAL_PARTITION_B;
    size_t before = is_b ? slice->nal_b_size : slice->nal_c_size;
    return before == size && !memcmp(s->bytes + slice->nal_at[is_b ? 1 : 2], nal, size);
}

/* 7.4.1: partitions of a picture are references or not, as one. A slice has one of each
 * (7.4.1.2.5). */
static bool partition_fits(const struct h264_slice *slice, const uint8_t *nal)
{
    bool is_b = (nal[0] & 31) == H264_NAL_PARTITION_B;
    return !(is_b ? slice->nal_b_size : slice->nal_c_size) &&
           !(nal[0] & 0x60) == !slice->hdr.nal_ref_idc;
}

int h264_stream_partition(struct h264_stream *s, const uint8_t *nal, size_t size,
                          struct h264_diag *diag)
{
    bool is_b = (nal[0] & 31) == H264_NAL_PARTITION_B;
    struct h264_slice *slice;
    struct h264_bits b;
    uint32_t slice_id;
    size_t n;
    int error = unescape_header(s, nal, size, &n);
    if (error)
        return error;
    h264_bits_init(&b, s->rbsp.bytes, n);
    h264_bits_skip(&b, 8);
    slice_id = h264_bits_ue(&b);
    slice = find_partition_a(s->cur, slice_id);
    if (slice && partition_identical(s, slice, nal, size))
        return H264_OK;
    if (!slice || !partition_fits(slice, nal)) {
        h264_stream_lose_slice(s, nal[0]);
        return h264_fail(diag, H264_ERR_DATA, "slice_id", slice_id,
                         "the partition belongs to no slice");
    }
    if (slice->sps->separate_colour_plane_flag)
        h264_bits_skip(&b, 2); /* colour_plane_id */
    if (slice->pps->redundant_pic_cnt_present_flag &&
        h264_bits_ue(&b) != slice->hdr.redundant_pic_cnt)
        return h264_fail(diag, H264_ERR_DATA, "redundant_pic_cnt", slice_id,
                         "the partition belongs to no slice");
    if (h264_bits_overrun(&b))
        return h264_fail(diag, H264_ERR_TRUNCATED, "slice_id", slice_id,
                         "the data ends inside the partition's header");
    if (append_bytes(s, nal, size))
        return H264_ERR_NOMEM;
    slice->nal_at[is_b ? 1 : 2] = s->bytes_size - size;
    *(is_b ? &slice->nal_b_size : &slice->nal_c_size) = size;
    *(is_b ? &slice->data_bit_offset_b : &slice->data_bit_offset_c) = b.pos;
    return H264_OK;
}
