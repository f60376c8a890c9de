/* SPDX-License-Identifier: BSD-2-Clause
 *
 * CABAC encoding (9.3.4) in two steps: strings of bins with their contexts, and the engine that
 * codes them. So bins can be made anywhere, and coded by any worker later.
 */
#ifndef PELTON_ENCODE_CABAC_CODER_H
#define PELTON_ENCODE_CABAC_CODER_H

#include "codec/abi/bin_codes.h"
#include "encode/bit_writer.h"

/* More codes than a macroblock has: each of its 384 levels has a significant_coeff_flag, a
 * last_significant_coeff_flag, 14 bins of prefix, and at most 5 codes of suffix. */
#define BINS_OF_MB 10240

struct bin_string {
    uint16_t *codes;
    size_t count, capacity;
    bool failed; /* no memory */
};

/* Room for so many codes more. */
bool bin_string_reserve(struct bin_string *s, size_t codes);
void bin_string_free(struct bin_string *s);

static inline void bins_put(struct bin_string *s, unsigned ctx, unsigned bin)
{
    s->codes[s->count++] = (uint16_t)(ctx << 1 | bin);
}

/* n <= 8 bypass bins */
static inline void bins_bypass(struct bin_string *s, unsigned n, unsigned v)
{
    s->codes[s->count++] = (uint16_t)(BIN_BYPASS | (n - 1) << 11 | v);
}

static inline void bins_terminate(struct bin_string *s, unsigned bin)
{
    s->codes[s->count++] = (uint16_t)(BIN_TERMINATE | bin);
}

/* A bypass bin after the last code, which may be a decision. */
static inline void bins_sign(struct bin_string *s, unsigned bin)
{
    uint16_t *last = &s->codes[s->count - 1];
    if (*last & BIN_BYPASS)
        bins_bypass(s, 1, bin);
    else
        *last |= (uint16_t)(BIN_SIGN | (bin ? BIN_SIGN_ONE : 0));
}

/* Exp-Golomb of order k in bypass bins (9.3.2.3) */
void bins_exp_golomb(struct bin_string *s, unsigned k, uint32_t v);
/* Samples after the terminating bin of I_PCM */
void bins_pcm(struct bin_string *s, const uint8_t *samples, unsigned count);

struct cabac_coder {
    /* codILow with the bits that are not out yet: those from bit 9 on, `pending` of them. A carry
     * goes into bytes that are out. */
    uint64_t low;
    uint32_t range; /* codIRange */
    unsigned pending;
    uint64_t bins;        /* coded: BinCountsInNALunits (7.4.2.10) */
    uint64_t state[1024]; /* h264_cabac_rows of each context's state */
};

/* 9.3.1.1. model: 0 for I and SI slices, else 1 + cabac_init_idc; qp: SliceQPY */
void cabac_coder_contexts(struct cabac_coder *c, unsigned model, int qp);
/* 9.3.4.1 */
void cabac_coder_begin(struct cabac_coder *c);
/* Codes count codes; out is at a byte boundary and stays there. After a terminating bin 1 out is
 * complete: its last bit that is 1 stands for rbsp_stop_one_bit at the end of a slice. */
void cabac_code(struct cabac_coder *c, const uint16_t *codes, size_t count, struct bit_writer *out);
/* Bits that the coder holds back. */
static inline unsigned cabac_coder_pending(const struct cabac_coder *c)
{
    return c->pending;
}

#endif
