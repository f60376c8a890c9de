/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Frames of a reader into access units, by the reader's settings: what pelton encode makes itself,
 * and what the worker makes for it. A frame of another size, shape or colour begins another
 * sequence: a key picture with new parameter sets. One thread at a time.
 */
#ifndef PELTON_SEQUENCE_ENCODER_H
#define PELTON_SEQUENCE_ENCODER_H

#include "encode/encoder.h"
#include "proto/pelton.h"

/* Of a picture, all that begins a sequence but time_codes */
struct sequence_kind {
    uint32_t width, height;
    bool gray;
    struct pelton_rational sar; /* 0: not known */
    struct encoding_colour colour;
    bool time_codes; /* its source has room for them: of the sequence's first picture */
};

struct sequence_encoder {
    /* of the caller, before the first picture */
    struct pelton_encoding settings; /* wire_encoding_valid */
    struct pelton_rational rate;     /* pictures a second */
    decider_begin *begin;
    void *ctx;
    /* its own; 0 before */
    struct encoder_params params; /* of the encoder */
    struct encoder *encoder;      /* NULL: there was no picture yet */
    bool fresh;                   /* it has had no picture */
};

/* As readers know them: what is only assumed stays unspecified. */
struct encoding_colour sequence_colour(const struct pelton_colour *colour);

/* An encoder for pictures such as this one. 0; or -1, and why (ENCODING_WHY bytes): a cause, "; ",
 * a hint. */
int sequence_fit(struct sequence_encoder *s, const struct sequence_kind *kind, char *why);
/* 0, and *unit, valid until the next call; or why, and -1 or ENCODER_DEVICE: encoder_restart of
 * s->encoder may go on. SEQUENCE_RATE: the sequence's first picture is larger than its rate
 * allows. */
enum { SEQUENCE_RATE = -3 };
int sequence_push(struct sequence_encoder *s, const struct encoder_frame *frame,
                  struct encoder_unit *unit, char *why);
void sequence_end(struct sequence_encoder *s);

#endif
