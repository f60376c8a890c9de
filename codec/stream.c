/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Step 1: takes NAL units, and gives complete pictures in decoding order and in output order.
 */
#include "codec/diag.h"
#include "codec/h264_stream.h"
#include "codec/nal.h"
#include "codec/output_order.h"
#include "codec/parameter_sets.h"
#include "codec/sei.h"
#include "codec/stream.h"

#include <stdlib.h>

int h264_stream_create(const struct h264_stream_params *params, struct h264_stream **out)
{
    struct h264_stream *s = calloc(1, sizeof(*s));
    int error = H264_OK;
    if (!s)
        return H264_ERR_NOMEM;
    s->allocator = params->allocator;
    s->capabilities = params->capabilities;
    s->low_delay_output = params->low_delay_output;
    s->late_arrays = params->late_arrays;
    s->params = *params;
    s->inter_view_flag = true;
    if (params->views > 1) {
        struct h264_stream_params second = *params;
        second.views = 0;
        error = h264_stream_create(&second, &s->view);
    }
    if (error) {
        free(s);
        return error;
    }
    if (s->view)
        s->view->view_index = 1;
    *out = s;
    return H264_OK;
}

void h264_stream_free(struct h264_stream *s)
{
    if (!s)
        return;
    h264_stream_free(s->view);
    h264_picture_unref(s->cur);
    h264_picture_unref(s->first);
    h264_picture_unref(s->before);
    h264_entry_drop(&s->pending);
    h264_dpb_clear(&s->dpb);
    h264_queue_free(&s->decode);
    h264_queue_free(&s->output);
    h264_stream_free_params(s);
    h264_sei_inbox_free(&s->sei);
    free(s->starts);
    free(s->bytes);
    free(s->rbsp.bytes);
    free(s);
}

/* Messages for the next picture. A malformed SEI is no error of the pictures. */
static int store_sei(struct h264_stream *s, const uint8_t *nal, size_t size)
{
    struct h264_sei_message m;
    size_t n;
    int error;
    if (!h264_stream_trusts_sei(s, nal[0]))
        return H264_OK;
    error = h264_rbsp_unescape(&s->rbsp, nal, size, &n);
    if (error || h264_sei_collect(&s->sei, s->rbsp.bytes, n) == H264_ERR_NOMEM)
        return H264_ERR_NOMEM;
    s->stats.refused[H264_LIMIT_SEI] += s->sei.over_limit;
    s->sei.over_limit = 0;
    if (h264_sei_peek(&s->sei, H264_SEI_RECOVERY_POINT, &m) &&
        h264_sei_recovery_point(&m, &s->recovery))
        s->recovery.present = false;
    return H264_OK;
}

/* inter_view_flag of a base view's slice that follows nal: 1 unless a prefix NAL unit says
 * otherwise (H.7.4.1.1). */
static bool inter_view_after(const uint8_t *nal, size_t size)
{
    /* svc_extension_flag */
    bool prefix = (nal[0] & 31) == H264_NAL_PREFIX && size >= 4 && !(nal[1] & 0x80);

    return !prefix || (nal[3] >> 1 & 1);
}

static int feed_nal(struct h264_stream *s, const uint8_t *nal, size_t size, struct h264_diag *diag)
{
    int error;
    switch (nal[0] & 31) {
    case H264_NAL_SLICE:
    case H264_NAL_IDR:
    case H264_NAL_PARTITION_A:
        return h264_stream_slice(s, nal, size, diag);
    case H264_NAL_PARTITION_B:
    case H264_NAL_PARTITION_C:
        return h264_stream_partition(s, nal, size, diag);
    case H264_NAL_SEI:
        s->cur_boundary = true;
        return store_sei(s, nal, size);
    case H264_NAL_SPS:
        s->cur_boundary = true;
        return h264_stream_store_sps(s, nal, size, diag);
    case H264_NAL_PPS:
        s->cur_boundary = true;
        error = h264_stream_view_params(s, nal, size);
        return error ? error : h264_stream_store_pps(s, nal, size, diag);
    case H264_NAL_SUBSET_SPS:
        return h264_stream_view_params(s, nal, size);
    case H264_NAL_EXTENSION:
        return h264_stream_view_slice(s, nal, size, diag);
    case H264_NAL_END_SEQUENCE:
    case H264_NAL_END_STREAM:
        s->habits.after_idr = false; /* the same sequence may come again */
        s->cur_boundary = s->cur_ended = s->habits.over = true;
        return H264_OK;
    case H264_NAL_AUD: /* two bytes, or it is another unit (7.3.2.4) */
        s->habits.lost |= size != 2 || (nal[1] & 31) != 16;
        s->cur_boundary = s->cur_ended = true;
        return H264_OK;
    default: /* filler, auxiliary pictures, other views and layers, reserved */
        return H264_OK;
    }
}

static void count_error(struct h264_stream *s, int error, const struct h264_diag *met, int *first,
                        struct h264_diag *diag)
{
    if (!error)
        return;
    s->stats.errors++;
    if (*first)
        return;
    *first = error;
    if (diag)
        *diag = *met;
}

/* Of the standard: 128 + RawMbBits for each macroblock (A.3.1), and emulation prevention. */
static uint64_t bytes_at_most(const struct h264_stream *s, uint32_t limit)
{
    const struct h264_sps *sps = s->last_sps;
    if (!sps)
        return limit;
    uint64_t chroma = (64u << sps->chroma_format_idc) & 0x380; /* samples of both: 128, 256, 512 */
    uint64_t bits = 128 + 256u * sps->bit_depth[0] + chroma * sps->bit_depth[1];
    uint64_t bytes = bits * sps->mb_width * sps->mb_height / 8 * 3 / 2;
    bytes *= s->view ? 2 : 1; /* pictures of an access unit */
    return bytes > limit ? bytes : limit;
}

static bool is_over(struct h264_stream *s, enum h264_limit which, uint32_t limit, size_t size)
{
    bool over = limit && size > limit && size > bytes_at_most(s, limit);
    s->stats.refused[which] += over;
    return over;
}

static int feed_limited(struct h264_stream *s, const uint8_t *nal, size_t size,
                        struct h264_diag *diag)
{
    if (is_over(s, H264_LIMIT_NAL, s->params.limits.nal_bytes, size))
        return h264_fail(diag, H264_ERR_DATA, "nal_unit", (int64_t)size,
                         "is larger than the daemon allows");
    return feed_nal(s, nal, size, diag);
}

static int feed_units(struct h264_stream *s, const uint8_t *data, size_t size, unsigned length_size,
                      struct h264_diag *diag)
{
    struct h264_nal_iter it;
    struct h264_diag met;
    const uint8_t *nal;
    size_t nal_size;
    int first = H264_OK;
    h264_nal_iter_init(&it, data, size, length_size);
    while (h264_nal_next(&it, &nal, &nal_size)) {
        met = (struct h264_diag){"nal_unit", (int64_t)nal_size, "out of memory"};
        s->stats.nal_units++;
        h264_stream_judge_unit(s, nal[0]);
        if (nal[0] & 0x80)
            count_error(
                s,
                h264_fail(&met, H264_ERR_DATA, "forbidden_zero_bit", 1, "the NAL unit is damaged"),
                &met, &first, diag);
        else
            count_error(s, feed_limited(s, nal, nal_size, &met), &met, &first, diag);
        if (it.forbidden && s->cur && (nal[0] & 31) <= H264_NAL_IDR) {
            h264_picture_damage(s->cur);
            s->habits.lost = true; /* its start code may be among those bytes */
        }
        s->inter_view_flag = inter_view_after(nal, nal_size);
    }
    if (it.truncated)
        count_error(s,
                    h264_fail(&met, H264_ERR_TRUNCATED, "NALUnitLength", 0,
                              "reaches past the end of the data"),
                    &met, &first, diag);
    return first;
}

/* Where slices may come in any order, and where each colour plane has a slice with
 * first_mb_in_slice 0, those who cut access units by that cut inside of pictures: there only the
 * next picture's first slice tells that one is complete. */
static bool cut_may_be_wrong(const struct h264_stream *s)
{
    const struct h264_sps *sps = s->cur ? s->cur->sps : NULL;
    return sps && (sps->separate_colour_plane_flag || h264_stream_any_slice_order(sps));
}

int h264_stream_feed(struct h264_stream *s, const uint8_t *data, size_t size, int64_t tag,
                     struct h264_diag *diag)
{
    struct h264_diag met = {"slice_header", 0, "out of memory"};
    int first = H264_OK, error;
    if (!s->have_tag || s->tag != tag) {
        s->stats.access_units++;
        if (!cut_may_be_wrong(s))
            count_error(s, h264_stream_finish_picture(s, &met), &met, &first, diag);
        s->have_tag = true;
        s->tag = tag;
    }
    if (is_over(s, H264_LIMIT_UNIT, s->params.limits.unit_bytes, size)) {
        count_error(s,
                    h264_fail(&met, H264_ERR_DATA, "access_unit", (int64_t)size,
                              "is larger than the daemon allows"),
                    &met, &first, diag);
        size = (size_t)bytes_at_most(s, s->params.limits.unit_bytes);
    }
    error = feed_units(s, data, size, s->nal_length_size, first ? NULL : diag);
    return first ? first : error;
}

int h264_stream_end_access_unit(struct h264_stream *s, struct h264_diag *diag)
{
    struct h264_diag met = {"slice_header", 0, "out of memory"};
    int first = H264_OK;
    if (!cut_may_be_wrong(s))
        count_error(s, h264_stream_finish_picture(s, &met), &met, &first, diag);
    return first;
}

int h264_stream_flush(struct h264_stream *s)
{
    int error = h264_stream_finish_picture(s, NULL), view_error = H264_OK;
    if (error)
        s->stats.errors++;
    if (h264_queue_reserve(&s->output, H264_DPB_MAX + 2))
        return H264_ERR_NOMEM;
    h264_stream_close_field(s);
    h264_output_flush(&s->dpb, &s->output);
    if (s->view) {
        view_error = h264_stream_flush(s->view);
        h264_stream_collect_view(s);
    }
    return error ? error : view_error;
}

/* AVCDecoderConfigurationRecord (ISO/IEC 14496-15): `count` parameter sets with 16-bit lengths. */
static int avcc_sets(struct h264_stream *s, const uint8_t *data, size_t size, unsigned count,
                     size_t *at, struct h264_diag *diag)
{
    int first = H264_OK;
    for (unsigned i = 0; i < count; i++) {
        size_t length;
        int error;
        if (size - *at < 2)
            return h264_fail(diag, H264_ERR_TRUNCATED, "parameterSetLength", 0,
                             "the data ends too early");
        length = (size_t)data[*at] << 8 | data[*at + 1];
        *at += 2;
        if (length > size - *at)
            return h264_fail(diag, H264_ERR_TRUNCATED, "parameterSetLength", (int64_t)length,
                             "the data ends too early");
        error = length ? feed_nal(s, data + *at, length, first ? NULL : diag) : H264_OK;
        first = first ? first : error;
        *at += length;
    }
    return first;
}

static int feed_avcc(struct h264_stream *s, const uint8_t *data, size_t size,
                     struct h264_diag *diag)
{
    size_t at = 6;
    int error, other;
    if (size < 7)
        return h264_fail(diag, H264_ERR_TRUNCATED, "AVCDecoderConfigurationRecord", (int64_t)size,
                         "the data ends too early");
    if ((data[4] & 3) == 2)
        return h264_fail(diag, H264_ERR_DATA, "lengthSizeMinusOne", 2, "must be 0, 1 or 3");
    s->nal_length_size = (data[4] & 3) + 1u;
    error = avcc_sets(s, data, size, data[5] & 31, &at, diag);
    if (error)
        return error;
    if (at == size)
        return h264_fail(diag, H264_ERR_TRUNCATED, "numOfPictureParameterSets", 0,
                         "the data ends too early");
    other = data[at++];
    return avcc_sets(s, data, size, (unsigned)other, &at, diag);
}

int h264_stream_extradata(struct h264_stream *s, const uint8_t *data, size_t size,
                          struct h264_diag *diag)
{
    struct h264_diag met = {"extradata", (int64_t)size, "out of memory"};
    int error;
    if (!size || data[0] != 1)
        return feed_units(s, data, size, 0, diag);
    error = feed_avcc(s, data, size, &met);
    if (error) {
        s->stats.errors++;
        if (diag)
            *diag = met;
    }
    return error;
}

struct h264_picture *h264_stream_next_decode(struct h264_stream *s)
{
    return h264_queue_pop(&s->decode);
}

struct h264_picture *h264_stream_next_output(struct h264_stream *s)
{
    return h264_queue_pop(&s->output);
}

const struct h264_sps *h264_stream_sps(const struct h264_stream *s)
{
    return s->active ? s->active : s->last_sps;
}

void h264_stream_stats(const struct h264_stream *s, struct h264_stats *out)
{
    *out = s->stats;
    if (s->view) { /* whose access units and NAL units are counted above */
        out->pictures += s->view->stats.pictures;
        out->slices += s->view->stats.slices;
        out->errors += s->view->stats.errors;
        out->gaps += s->view->stats.gaps;
        for (int i = 0; i < H264_LIMITS; i++)
            out->refused[i] += s->view->stats.refused[i];
    }
}
