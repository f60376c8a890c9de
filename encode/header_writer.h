/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Syntax of parameter sets and slice headers (7.3.2.1, 7.3.2.2, 7.3.3, E.1), from the structures
 * that codec/ parses them into.
 */
#ifndef PELTON_ENCODE_HEADER_WRITER_H
#define PELTON_ENCODE_HEADER_WRITER_H

#include "codec/h264_params.h"
#include "encode/bit_writer.h"

/* Scaling lists as they are sent: 4x4 lists 0 to 5, 8x8 lists 6 to 11 (7.3.2.1.1.1). */
struct scaling_lists {
    uint16_t present, use_default; /* bit per list */
    uint8_t sent[12];      /* values before one that repeats to the end; 64, or 16: all are sent */
    uint8_t value[12][64]; /* in scan order */
};

/* Rates of hrd_parameters() (E.1.2), of which the VUI has the number. */
struct hrd_rates {
    uint8_t bit_rate_scale, cpb_size_scale;
    uint32_t bit_rate_value[32], cpb_size_value[32]; /* minus 1 is sent */
    uint32_t cbr_flags;                              /* bit per rate */
};

/* What an SPS holds beside the parsed structure. */
struct sps_details {
    const struct scaling_lists *lists; /* NULL where it has none */
    const struct hrd_rates *hrd;       /* of both HRDs; NULL where it has none */
    uint8_t log2_max_mv_length;        /* in both directions */
};

/* nal_unit_header() */
void write_nal_header(unsigned nal_ref_idc, unsigned nal_unit_type, struct bit_writer *out);
/* seq_parameter_set_data() */
void write_sps_data(const struct h264_sps *sps, const struct sps_details *details,
                    struct bit_writer *out);
/* pic_parameter_set_rbsp() without its trailing bits. lists: NULL where it has none */
void write_pps_data(const struct h264_sps *sps, const struct h264_pps *pps,
                    const struct scaling_lists *lists, struct bit_writer *out);
/* slice_header(), and slice_id of a data partition A */
void write_slice_header(const struct h264_sps *sps, const struct h264_pps *pps,
                        const struct h264_slice_header *h, struct bit_writer *out);

#endif
