/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The settings of an encoding: what the parameter sets of a stream say, and which tools its
 * pictures may use. Progressive frames, 8 bits, 4:2:0 or luma alone, I and P slices. Pure, any
 * thread.
 */
#ifndef PELTON_ENCODE_ENCODING_H
#define PELTON_ENCODE_ENCODING_H

#include "codec/h264_params.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ENCODING_REFERENCES 4 /* most reference frames */
#define ENCODING_SLICES     4 /* most slices of a picture */
#define ENCODING_WHY        200

enum encoding_profile {
    ENCODING_BASELINE /* Constrained Baseline */,
    ENCODING_MAIN,
    ENCODING_HIGH
};

/* H.273 code points, 2: unspecified */
struct encoding_colour {
    uint8_t primaries, transfer, matrix;
    bool full_range;
    uint8_t siting; /* of 4:2:0: chroma_sample_loc_type + 1; 0, 1: not told, which is left */
};

/* A wish. encoding_default fills in one that needs a size alone. */
struct encoding {
    uint32_t width, height;    /* samples that are shown; the rest of the macroblocks is cropped */
    uint8_t chroma_format_idc; /* 1: 4:2:0; 0: luma alone, which is High */
    uint32_t rate, rate_scale; /* rate / rate_scale pictures a second; 0: not known */
    bool fixed_rate;           /* no picture is ever left out */
    uint16_t sar_width, sar_height; /* 0: not known */
    struct encoding_colour colour;
    bool time_codes; /* pic_struct_present_flag: each picture has a message for a clock timestamp */
    enum encoding_profile profile;
    uint8_t level_idc; /* Table A-1; 9: level 1b; 0: the least that allows all the rest */
    bool cabac;        /* entropy_coding_mode_flag */
    bool transform_8x8;
    uint8_t references, slices; /* at most: of a picture */
    int qp;                     /* pic_init_qp, 0..51: QPY of macroblocks may differ */
    int chroma_qp_offset;       /* -12..12, of Cb and Cr */
    bool constrained_intra;     /* intra macroblocks do not predict from inter ones */
    /* disable_deblocking_filter_idc: 0 on, 1 off, 2 not across the edges of slices */
    uint8_t deblocking;
    /* slice_alpha_c0_offset_div2, slice_beta_offset_div2: -6..6 */
    int filter_offset_a, filter_offset_b;
    uint64_t bit_rate; /* bits a second that are never passed; 0: without limit */
    uint64_t buffer;   /* bits of the decoder's buffer; 0: as the level allows */
};

/* What a stream of these settings may use, for those who make its pictures. */
struct encoding_limits {
    uint32_t mb_width, mb_height;
    uint8_t level_idc; /* 9: level 1b */
    /* Vectors, in quarter samples: -mv_x - 1 .. mv_x, -mv_y - 1 .. mv_y (Table A-1) */
    int mv_x, mv_y;
    int max_level;             /* magnitude of a coefficient that the entropy coding can write */
    unsigned mvs_in_two;       /* vectors of two macroblocks in a row; 0: any number */
    uint64_t bit_rate, buffer; /* bits a second, bits: of the level and profile */
    uint32_t mb_rate;          /* MaxMBPS */
    unsigned min_cr;           /* MinCR */
};

void encoding_default(struct encoding *e, uint32_t width, uint32_t height);

/* 0, and *limits; or -1, and why (ENCODING_WHY bytes): one cause, one hint. */
int encoding_check(const struct encoding *e, struct encoding_limits *limits, char *why);

/* The parameter sets of settings that encoding_check has passed, with its limits. Their ids are 0.
 * The order of output is that of decoding: pic_order_cnt_type is 2, max_num_reorder_frames 0. */
void encoding_sets(const struct encoding *e, const struct encoding_limits *limits,
                   struct h264_sps *sps, struct h264_pps *pps);

#endif
