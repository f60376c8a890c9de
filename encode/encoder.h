/* SPDX-License-Identifier: BSD-2-Clause
 *
 * An encoder: a picture in, an access unit out, without delay. A decider makes records of samples
 * (decider.h). Key pictures, QP and tries by the rate, headers and entropy coding are here. One
 * thread at a time calls an encoder; encoders are independent.
 */
#ifndef PELTON_ENCODE_ENCODER_H
#define PELTON_ENCODE_ENCODER_H

#include "codec/h264_sei.h"
#include "encode/decider.h"
#include "encode/rate_control.h"
#include "encode/sei_writer.h"

struct encoder_params {
    struct encoding encoding;
    struct rate_settings rate;
    uint32_t key_interval; /* pictures from an IDR picture to the next; 0: only the first is one */
    bool scene_cuts;       /* an IDR picture where another scene begins */
    bool adaptive;         /* QP of macroblocks follows their variance */
    uint32_t idr_pic_id;   /* of a sequence that ends here: the first picture has another one */
};

struct encoder_frame {
    struct decider_source source;
    int64_t pts; /* of any clock: it comes back with the unit */
    bool force_idr;
    const int8_t *qp_offsets; /* by macroblock, as in decider_wish; NULL: none */
    /* SEI messages that go with the picture, as sei_writer.h makes them; NULL: none. Their bytes
     * count for the picture's cap. */
    const struct bit_writer *messages;
    const struct h264_clock_timestamp *clock; /* with encoding.time_codes; NULL: none */
};

/* An access unit with its start codes */
struct encoder_unit {
    const uint8_t *data; /* valid until the next call */
    size_t size;
    size_t sets; /* so many bytes of it are SPS and PPS, at its begin */
    int64_t pts;
    bool key; /* an IDR picture */
    int qp;   /* of the picture, before offsets */
    /* how it met its rate */
    unsigned tries;
    bool repeated; /* QP 51 was not enough: it repeats the picture before, and is not IDR */
    /* longer than its cap: the first picture, or the first after encoder_restart, which have none
     * to repeat */
    bool over;
    uint64_t filler; /* bytes of filler data, in the unit */
};

struct encoder;

/* 0, and *out; or -1, and why (ENCODING_WHY bytes): settings that are not good, or no memory. */
int encoder_new(const struct encoder_params *params, decider_begin *begin, void *ctx,
                struct encoder **out, char *why);
void encoder_free(struct encoder *e); /* NULL is allowed */

/* Encodes a picture. The first one is IDR. An IDR picture that could only be repeated is made up
 * for: the next one is IDR. 0, and *unit; or, and why:
 * -1: the encoder is of no more use.
 * ENCODER_DEVICE: the decider's device failed. The encoder has no decider until encoder_restart. */
enum { ENCODER_DEVICE = -2 };
int encoder_push(struct encoder *e, const struct encoder_frame *frame, struct encoder_unit *unit,
                 char *why);

/* Another decider in place of the one whose device failed, which ends first. Settings, rate and
 * numbers go on. The next picture is IDR: its references are gone. -1, and why: as `begin`; it may
 * be tried again with another one. */
int encoder_restart(struct encoder *e, decider_begin *begin, void *ctx, char *why);

/* Limits of its level, and SPS and PPS with start codes: valid as long as the encoder */
const struct encoding_limits *encoder_limits(const struct encoder *e);
const uint8_t *encoder_sets(const struct encoder *e, size_t *size);
/* Of the last IDR picture */
uint32_t encoder_idr_pic_id(const struct encoder *e);
/* ctx of its decider */
void *encoder_decider(const struct encoder *e);

#endif
