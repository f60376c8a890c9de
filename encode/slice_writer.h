/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Slices of a picture's records as NAL units (7.3.2.8). One writer of a slice at a time for each
 * scratch; slices of a picture are independent.
 */
#ifndef PELTON_ENCODE_SLICE_WRITER_H
#define PELTON_ENCODE_SLICE_WRITER_H

#include "encode/cabac_coder.h"
#include "encode/encoding.h"

/* Memory and tables of one thread; it grows as needed. NULL without memory. */
struct slice_scratch;
struct slice_scratch *slice_scratch_create(void);
void slice_scratch_free(struct slice_scratch *s); /* NULL is allowed */

/* The stream that a slice is of */
struct slice_stream {
    const struct h264_sps *sps;
    const struct h264_pps *pps;
    const struct encoding_limits *limits; /* NULL: vectors and levels are not held against them */
};

/* What the picture so far asks of its end (7.4.2.10) */
struct slice_sums {
    uint64_t bins, bytes;
};

/* slice_data() of a slice that others have coded by CAVLC, or its bins for CABAC, and what its
 * header takes from macroblocks */
struct slice_data {
    uint32_t first_mb;
    uint8_t deblocking; /* disable_deblocking_filter_idc */
    int8_t qp;          /* SliceQPY */
    const void *data; /* bits, the first one highest in its byte; or 16-bit codes of bin_codes.h */
    size_t count;     /* bits, or codes */
};

/* The header of slice `index` of the view, as records tell it: first_mb, type, num_ref, QP and
 * deblocking. The rest is as the caller set it. -1, and why (ENCODING_WHY bytes). */
int slice_header_of(const struct slice_stream *stream, const struct rec_view *view, uint32_t index,
                    struct h264_slice_header *h, char *why);

/* One slice to out, with start code. The view has passed records_validate_content. Slices are runs
 * of addresses; the writer takes that of h->first_mb. *sums grows. -1, and why: records that no
 * slice can hold, or no memory; out is as before but for its failed. */
int slice_write(struct slice_scratch *s, const struct slice_stream *stream,
                const struct rec_view *view, const struct h264_slice_header *h,
                struct bit_writer *out, struct slice_sums *sums, char *why);

/* The two halves of slice_write in CABAC, for those who make bins elsewhere or code them later:
 * bins of a slice, and the NAL unit of bins. */
int slice_bins(struct slice_scratch *s, const struct slice_stream *stream,
               const struct rec_view *view, const struct h264_slice_header *h,
               struct bin_string *bins, char *why);
int slice_code(struct slice_scratch *s, const struct slice_stream *stream,
               const struct h264_slice_header *h, const uint16_t *codes, size_t count,
               struct bit_writer *out, struct slice_sums *sums, char *why);

/* The same of data that are there: the view has its head and slices alone. */
int slice_write_data(struct slice_scratch *s, const struct slice_stream *stream,
                     const struct rec_view *view, uint32_t index, const struct slice_data *data,
                     struct h264_slice_header *h, struct bit_writer *out, struct slice_sums *sums,
                     char *why);

/* After the last slice of a picture in CABAC: cabac_zero_words that its bins ask for. */
void picture_end(const struct rec_view *view, const struct slice_sums *sums,
                 struct bit_writer *out);

/* Access unit delimiter; parameter sets. hrd: NULL where the VUI has none */
void write_delimiter(bool intra, struct bit_writer *out);
struct hrd_rates;
void write_parameter_sets(const struct h264_sps *sps, const struct h264_pps *pps,
                          const struct hrd_rates *hrd, struct bit_writer *out);

#endif
