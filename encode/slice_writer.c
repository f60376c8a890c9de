/* SPDX-License-Identifier: BSD-2-Clause
 *
 * slice_layer_without_partitioning_rbsp() (7.3.2.8), slice_data() (7.3.4), and NAL units around it.
 */
#include "encode/slice_writer.h"

#include "codec/slice_decode.h"
#include "encode/header_writer.h"
#include "encode/mb_writer.h"

#include <stdio.h>
#include <stdlib.h>

/* The build for this processor (mb_bmi2.h) */
struct mb_calls {
    bool (*write)(struct mb_writer *w);
    void (*code)(struct cabac_coder *c, const uint16_t *codes, size_t count,
                 struct bit_writer *out);
};

struct slice_scratch {
    struct cavlc_codes codes;
    struct cabac_coder cabac;
    struct bin_string bins;
    struct bit_writer rbsp;
    struct mb_edge *line;
    uint32_t line_capacity;
    struct mb_writer writer;
    struct mb_calls calls;
};

#ifdef ENCODE_BMI2
bool write_macroblock_bmi2(struct mb_writer *w);
void cabac_code_bmi2(struct cabac_coder *c, const uint16_t *codes, size_t count,
                     struct bit_writer *out);
#endif

static struct mb_calls calls_of_processor(void)
{
#ifdef ENCODE_BMI2
    if (h264_has_bmi2())
        return (struct mb_calls){write_macroblock_bmi2, cabac_code_bmi2};
#endif
    return (struct mb_calls){write_macroblock, cabac_code};
}

struct slice_scratch *slice_scratch_create(void)
{
    struct slice_scratch *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    cavlc_codes_build(&s->codes);
    s->calls = calls_of_processor();
    return s;
}

void slice_scratch_free(struct slice_scratch *s)
{
    if (!s)
        return;
    bin_string_free(&s->bins);
    bit_writer_free(&s->rbsp);
    free(s->line);
    free(s);
}

static int slice_refuse(char *why, const char *cause)
{
    snprintf(why, ENCODING_WHY, "%s", cause);
    return -1;
}

static bool slice_lacks_memory(char *why)
{
    slice_refuse(why, "no memory");
    return false;
}

/* ---- header ---- */

/* The first macroblock of a slice, or mb_count */
static uint32_t first_of(const struct rec_view *view, uint32_t slice)
{
    uint32_t mb = 0;
    while (mb < view->head.mb_count && view->mbs[mb].slice != slice)
        mb++;
    return mb;
}

static uint32_t end_of(const struct rec_view *view, uint32_t first)
{
    uint32_t mb = first;
    while (mb < view->head.mb_count && view->mbs[mb].slice == view->mbs[first].slice)
        mb++;
    return mb;
}

/* disable_deblocking_filter_idc that gives the first macroblock its edges. At the picture's corner
 * 0 and 2 are the same, unless there are other slices. */
static uint8_t deblocking_of(const struct rec_view *view, uint32_t first)
{
    unsigned edges = view->mbs[first].deblock;
    if (!edges)
        return 1;
    return first && !(edges & (REC_DEBLOCK_LEFT | REC_DEBLOCK_TOP)) ? 2 : 0;
}

/* SliceQPY: with it the first mb_qp_delta is 0. I_PCM does not count (7.4.5). */
static int8_t qp_of(const struct rec_view *view, uint32_t first, uint32_t end, int8_t otherwise)
{
    for (uint32_t mb = first; mb < end; mb++)
        if (view->mbs[mb].kind != REC_MB_INTRA_PCM)
            return view->mbs[mb].qp[0];
    return otherwise;
}

static void header_of_slice(const struct slice_stream *stream, const struct rec_slice *slice,
                            struct h264_slice_header *h)
{
    h->type = slice->slice_type;
    h->pps_id = stream->pps->id;
    h->num_ref[0] = slice->num_ref[0];
    h->filter_offset_a = slice->filter_offset_a;
    h->filter_offset_b = slice->filter_offset_b;
}

int slice_header_of(const struct slice_stream *stream, const struct rec_view *view, uint32_t index,
                    struct h264_slice_header *h, char *why)
{
    const struct rec_slice *slice = &view->slices[index];
    uint32_t first = first_of(view, index);
    if (first == view->head.mb_count)
        return slice_refuse(why, "a slice without macroblocks");
    if (slice->slice_type != H264_P && slice->slice_type != H264_I)
        return slice_refuse(why, "a slice that is neither P nor I");
    h->first_mb = first;
    h->qp = qp_of(view, first, end_of(view, first), stream->pps->pic_init_qp);
    h->disable_deblocking_filter_idc = deblocking_of(view, first);
    header_of_slice(stream, slice, h);
    return 0;
}

/* ---- slice_data() ---- */

static bool line_reserve(struct slice_scratch *s, uint32_t mb_width)
{
    struct mb_edge *line;
    if (mb_width <= s->line_capacity)
        return true;
    line = realloc(s->line, mb_width * sizeof(*line));
    if (!line)
        return false;
    s->line = line;
    s->line_capacity = mb_width;
    return true;
}

static void writer_begin(struct slice_scratch *s, const struct slice_stream *stream,
                         const struct rec_view *view, const struct h264_slice_header *h, char *why)
{
    s->writer = (struct mb_writer){.slice = {.view = view,
                                             .sps = stream->sps,
                                             .pps = stream->pps,
                                             .limits = stream->limits,
                                             .codes = &s->codes,
                                             .first = h->first_mb,
                                             .end = end_of(view, h->first_mb),
                                             .type = h->type,
                                             .num_ref = h->num_ref[0],
                                             .deblocking = h->disable_deblocking_filter_idc},
                                   .line = s->line,
                                   .bits = &s->rbsp,
                                   .why = why,
                                   .addr = h->first_mb,
                                   .mb_x = h->first_mb % view->head.mb_width,
                                   .qp = h->qp};
}

static bool data_cavlc(struct slice_scratch *s)
{
    struct mb_writer *w = &s->writer;
    while (w->addr < w->slice.end)
        if (!s->calls.write(w))
            return false;
    if (w->skip_run)
        bit_writer_ue(&s->rbsp, w->skip_run);
    bit_writer_trailing(&s->rbsp);
    return true;
}

static bool data_bins(struct slice_scratch *s)
{
    struct mb_writer *w = &s->writer;
    while (w->addr < w->slice.end) {
        if (!bin_string_reserve(w->bins, BINS_OF_MB))
            return slice_lacks_memory(w->why);
        if (!s->calls.write(w))
            return false;
        bins_terminate(w->bins, w->addr == w->slice.end);
    }
    return true;
}

int slice_bins(struct slice_scratch *s, const struct slice_stream *stream,
               const struct rec_view *view, const struct h264_slice_header *h,
               struct bin_string *bins, char *why)
{
    if (!line_reserve(s, view->head.mb_width))
        return slice_refuse(why, "no memory");
    bins->count = 0;
    writer_begin(s, stream, view, h, why);
    s->writer.bins = bins;
    return data_bins(s) ? 0 : -1;
}

/* ---- the NAL unit ---- */

static void unit_begin(struct slice_scratch *s, const struct slice_stream *stream,
                       const struct h264_slice_header *h, size_t limit)
{
    s->rbsp.bits = 0;
    s->rbsp.limit = limit;
    s->rbsp.failed = false;
    write_nal_header(h->nal_ref_idc, h->nal_unit_type, &s->rbsp);
    write_slice_header(stream->sps, stream->pps, h, &s->rbsp);
}

static int unit_end(struct slice_scratch *s, struct bit_writer *out, struct slice_sums *sums,
                    char *why)
{
    size_t before = out->bits;
    bit_writer_nal(out, &s->rbsp);
    if (out->failed)
        return slice_refuse(why, "the picture is larger than its limit, or no memory is left");
    sums->bytes += (out->bits - before) / 8 - 4; /* without its start code */
    return 0;
}

int slice_code(struct slice_scratch *s, const struct slice_stream *stream,
               const struct h264_slice_header *h, const uint16_t *codes, size_t count,
               struct bit_writer *out, struct slice_sums *sums, char *why)
{
    unit_begin(s, stream, h, out->limit);
    bit_writer_u(&s->rbsp, -s->rbsp.bits & 7, 0xff); /* cabac_alignment_one_bit */
    cabac_coder_contexts(&s->cabac, h->type == H264_I ? 0 : 1 + h->cabac_init_idc, h->qp);
    cabac_coder_begin(&s->cabac);
    s->cabac.bins = 0;
    s->calls.code(&s->cabac, codes, count, &s->rbsp);
    sums->bins += s->cabac.bins;
    return unit_end(s, out, sums, why);
}

int slice_write(struct slice_scratch *s, const struct slice_stream *stream,
                const struct rec_view *view, const struct h264_slice_header *h,
                struct bit_writer *out, struct slice_sums *sums, char *why)
{
    if (stream->pps->entropy_coding_mode_flag)
        return slice_bins(s, stream, view, h, &s->bins, why) < 0
                   ? -1
                   : slice_code(s, stream, h, s->bins.codes, s->bins.count, out, sums, why);
    if (!line_reserve(s, view->head.mb_width))
        return slice_refuse(why, "no memory");
    unit_begin(s, stream, h, out->limit);
    writer_begin(s, stream, view, h, why);
    return data_cavlc(s) ? unit_end(s, out, sums, why) : -1;
}

int slice_write_data(struct slice_scratch *s, const struct slice_stream *stream,
                     const struct rec_view *view, uint32_t index, const struct slice_data *data,
                     struct h264_slice_header *h, struct bit_writer *out, struct slice_sums *sums,
                     char *why)
{
    header_of_slice(stream, &view->slices[index], h);
    h->first_mb = data->first_mb;
    h->qp = data->qp;
    h->disable_deblocking_filter_idc = data->deblocking;
    if (stream->pps->entropy_coding_mode_flag)
        return slice_code(s, stream, h, data->data, data->count, out, sums, why);
    unit_begin(s, stream, h, out->limit);
    bit_writer_copy(&s->rbsp, data->data, data->count);
    bit_writer_trailing(&s->rbsp);
    return unit_end(s, out, sums, why);
}

/* ---- other NAL units ---- */

void picture_end(const struct rec_view *view, const struct slice_sums *sums, struct bit_writer *out)
{
    static const uint8_t word[3] = {0, 0, 3}; /* cabac_zero_word, with its emulation prevention */
    uint64_t raw_bits = view->head.chroma_format_idc ? 3072 : 2048, bytes = sums->bytes;
    /* BinCountsInNALunits <= 32 / 3 * NumBytesInVclNALunits + RawMbBits * PicSizeInMbs / 32 */
    for (; 96 * sums->bins > 1024 * bytes + 3 * raw_bits * view->head.mb_count; bytes += 3)
        bit_writer_bytes(out, word, sizeof(word));
}

void write_delimiter(bool intra, struct bit_writer *out)
{
    uint8_t bytes[6] = {0, 0, 0, 1, 9, intra ? 0x10 : 0x30}; /* primary_pic_type 0, 1 */
    bit_writer_bytes(out, bytes, sizeof(bytes));
}

void write_parameter_sets(const struct h264_sps *sps, const struct h264_pps *pps,
                          const struct hrd_rates *hrd, struct bit_writer *out)
{
    struct sps_details details = {.log2_max_mv_length = 15, .hrd = hrd};
    struct bit_writer rbsp = {0};
    write_nal_header(3, 7, &rbsp);
    write_sps_data(sps, &details, &rbsp);
    bit_writer_trailing(&rbsp);
    bit_writer_nal(out, &rbsp);
    rbsp.bits = 0;
    write_nal_header(3, 8, &rbsp);
    write_pps_data(sps, pps, NULL, &rbsp);
    bit_writer_trailing(&rbsp);
    bit_writer_nal(out, &rbsp);
    bit_writer_free(&rbsp);
}
