/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Rate control on the host: which QP a picture begins with, how long it may be, and what follows
 * from its length. It sees lengths alone. All is integer, so a stream repeats. One stream, one
 * thread at a time.
 *
 * For each picture: rate_qp, encode, and while it is longer than rate_cap: rate_again, encode.
 * Then rate_done once.
 */
#ifndef PELTON_ENCODE_RATE_CONTROL_H
#define PELTON_ENCODE_RATE_CONTROL_H

#include "encode/encoding.h"

enum rate_mode {
    RATE_QP, /* constant QP; with a bit rate QP rises where the buffer asks for it */
    /* constant quality: the same, but QP follows the pictures' complexity (rate_complexity) */
    RATE_CRF,
    RATE_BITS /* constant bit rate: each second within 3 percent, with filler data */
};

struct rate_settings {
    enum rate_mode mode;
    int qp; /* RATE_QP; RATE_CRF: of pictures of middle complexity; RATE_BITS: the least */
    uint64_t bit_rate; /* bits a second; RATE_QP: 0 is no limit */
    uint64_t buffer;   /* bits of the decoder's buffer; 0: half a second */
    int intra_less;    /* I pictures have a QP that is so much less; not RATE_BITS */
};

/* Of I and of P pictures; and of those that are left out, whose length says nothing */
enum { RATE_INTRA, RATE_INTER, RATE_KINDS, RATE_SKIPPED = RATE_KINDS };

struct rate_control {
    struct rate_settings settings;
    uint64_t per_second_num, per_second_den; /* pictures */
    uint64_t raw_cap, raw_cap_next;          /* bytes by MinCR: of this picture, of later ones */
    /* the decoder's buffer: bits in it when the next picture is due, and what the division of the
     * rate by pictures left over */
    uint64_t full, left_over;
    /* the second: pictures that are left of it, bits that it was given and has used */
    uint32_t pictures_left;
    uint64_t given, used;
    /* RATE_CRF: what P pictures cost, the last ones smoothed, in 256ths a macroblock; 0: none yet
     */
    uint64_t complexity;
    /* log2 of the bits that a picture would take at QP 0, in 64ths: the last ones smoothed */
    int cost[RATE_KINDS];
};

/* Settings and limits that encoding_check has passed. -1, and why (ENCODING_WHY bytes). */
int rate_begin(struct rate_control *r, const struct rate_settings *settings,
               const struct encoding *e, const struct encoding_limits *limits, char *why);
/* Before rate_qp of a P picture: its cost (analysis_costs.inter) */
void rate_complexity(struct rate_control *r, uint64_t cost, uint32_t mb_count);
/* QP of all macroblocks, before offsets, for the first try. kind: RATE_INTRA or RATE_INTER */
int rate_qp(const struct rate_control *r, unsigned kind);
/* Bytes of the access unit that are never passed */
uint64_t rate_cap(const struct rate_control *r);
/* The picture took `bytes` at qp, which is above the cap: the QP of the next try. -1: there is none
 * above 51; the picture is left out, that is all of it is skipped. */
int rate_again(const struct rate_control *r, int qp, uint64_t bytes);
/* The picture is out; kind may be RATE_SKIPPED. Returns bytes of filler data that follow it, 0 or
 * at least RATE_FILLER_LEAST
 */
#define RATE_FILLER_LEAST 8
uint64_t rate_done(struct rate_control *r, unsigned kind, int qp, uint64_t bytes);

/* A filler data NAL unit (7.3.2.7) of so many bytes with its start code */
struct bit_writer;
void write_filler(uint64_t bytes, struct bit_writer *out);

#endif
