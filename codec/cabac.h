/* SPDX-License-Identifier: BSD-2-Clause
 *
 * CABAC decoding engine (9.3.1.2, 9.3.3.2) and the tables of CABAC parsing.
 *
 * The engine keeps codIOffset in bits 54..62 of a 64-bit word whose lower bits are bits read ahead, so that it touches memory
 * once in 48 bits; codIRange keeps its 9 bits. The state of a context is pStateIdx << 1 | valMPS.
 */
#ifndef PELTON_CODEC_CABAC_H
#define PELTON_CODEC_CABAC_H

#include "codec/bits.h"

#define H264_CABAC_CONTEXTS 1024
#define H264_CABAC_TERMINATE 276 /* ctxIdx of DecodeTerminate in the tables of the standard */

extern const int8_t h264_cabac_init_mn[4][H264_CABAC_CONTEXTS][2];
extern const uint8_t h264_cabac_range_lps[128][4];
extern const uint8_t h264_cabac_next[2][128];
extern const uint8_t h264_cabac_sig_8x8[2][63];
extern const uint8_t h264_cabac_last_8x8[63];
extern const uint16_t h264_cabac_cbf_base[14];
extern const uint16_t h264_cabac_sig_base[2][14];
extern const uint16_t h264_cabac_last_base[2][14];
extern const uint16_t h264_cabac_abs_base[14];

/* Small enough to live in registers while a macroblock's residual is decoded. */
struct h264_cabac_engine {
    uint64_t value;      /* codIOffset << 54 | bits read ahead */
    uint32_t range;      /* codIRange, 256..510 between bins */
    int32_t left;        /* how many bits are read ahead; -8..-1 only inside a bin */
    const uint8_t *next; /* next byte to load */
    const uint8_t *end;  /* end of the RBSP; NULL once a bin needed bits past it */
};

struct h264_cabac {
    struct h264_cabac_engine e;
    uint8_t state[H264_CABAC_CONTEXTS];
};

/* 9.3.1.1. model: 0 for I and SI slices, else 1 + cabac_init_idc. qp: SliceQPY. count: contexts that the slice can use. */
void h264_cabac_init_contexts(struct h264_cabac *c, unsigned model, int qp, unsigned count);

/* 9.3.1.2: start at data, which H264_BITS_PADDING readable bytes follow at end. */
void h264_cabac_start(struct h264_cabac_engine *e, const uint8_t *data, const uint8_t *end);

static inline bool h264_cabac_overrun(const struct h264_cabac_engine *e)
{
    return !e->end;
}

/* First byte that the engine has not begun, once a terminating bin was 1: there is no renormalisation then, and the last bit
 * that a 9-bit register has read is the last one that the encoder flushed (9.3.1.2). */
static inline const uint8_t *h264_cabac_tail(const struct h264_cabac_engine *e)
{
    return e->next - (e->left >> 3);
}

static inline __attribute__((always_inline)) void h264_cabac_refill(struct h264_cabac_engine *e)
{
    uint64_t word = 0;

    if (e->next < e->end) {
        memcpy(&word, e->next, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        word = __builtin_bswap64(word);
#endif
        e->next += 6;
    } else {
        e->end = NULL;
    }
    e->value |= (word >> 16) << (6 - e->left);
    e->left += 48;
}

/* RenormD (9.3.3.2.2) */
static inline __attribute__((always_inline)) void h264_cabac_renorm(struct h264_cabac_engine *e)
{
    int shift = __builtin_clz(e->range) - 23;

    e->range <<= shift;
    e->value <<= shift;
    e->left -= shift;
    if (__builtin_expect(e->left < 0, 0))
        h264_cabac_refill(e);
}

/* DecodeDecision (9.3.3.2.1). The branch on the LPS is as predictable as the bin that the caller branches on, so it costs less
 * than the longer chain of a selection by mask (measured). */
static inline __attribute__((always_inline)) unsigned h264_cabac_decide(struct h264_cabac_engine *e, uint8_t *state)
{
    uint32_t s = *state;
    uint32_t lps = h264_cabac_range_lps[s][(e->range >> 6) & 3];
    uint32_t mps = e->range - lps;
    uint64_t scaled = (uint64_t)mps << 54;
    unsigned shift;

    if (e->value < scaled) {
        *state = h264_cabac_next[0][s];
        shift = mps < 256;
        e->range = mps << shift;
        e->value <<= shift;
        e->left -= (int32_t)shift;
        if (__builtin_expect(e->left < 0, 0))
            h264_cabac_refill(e);
        return s & 1;
    }
    e->value -= scaled;
    e->range = lps;
    *state = h264_cabac_next[1][s];
    h264_cabac_renorm(e);
    return ~s & 1;
}

/* DecodeBypass (9.3.3.2.3) */
static inline __attribute__((always_inline)) unsigned h264_cabac_bypass(struct h264_cabac_engine *e)
{
    uint64_t scaled = (uint64_t)e->range << 54, mask;

    e->value <<= 1;
    if (__builtin_expect(--e->left < 0, 0))
        h264_cabac_refill(e);
    mask = (uint64_t)~((int64_t)(e->value - scaled) >> 63);
    e->value -= scaled & mask;
    return (unsigned)mask & 1;
}

/* DecodeTerminate (9.3.3.2.2.3) */
static inline unsigned h264_cabac_terminate(struct h264_cabac_engine *e)
{
    e->range -= 2;
    if (e->value >= (uint64_t)e->range << 54)
        return 1;
    h264_cabac_renorm(e);
    return 0;
}

/* Suffix of UEGk (9.3.2.3): Exp-Golomb of order k in bypass bins. A prefix past 2^24 gives a value that no syntax element
 * allows. */
static inline __attribute__((always_inline)) uint32_t h264_cabac_exp_golomb(struct h264_cabac_engine *e, unsigned k)
{
    uint32_t v = 0;

    while (k < 24 && h264_cabac_bypass(e))
        v += 1u << k++;
    while (k--)
        v += h264_cabac_bypass(e) << k;
    return v;
}

#endif
