/* SPDX-License-Identifier: BSD-2-Clause
 *
 * CABAC decoding engine (9.3.1.2, 9.3.3.2) and the tables of CABAC parsing.
 *
 * The engine keeps codIOffset in bits 55 to 63 of a 64-bit word. Below are bits read ahead, then a
 * one that marks their end, then zeros. So no counter is needed: bits run short when the lower half
 * of the word is zero. codIRange has the same bits of another word, with zeros below: both are
 * compared directly, and the leading zeros of the range are its renormalisation. A context is the
 * row of its state (pStateIdx << 1 | valMPS), so a decision waits for one load.
 */
#ifndef PELTON_CODEC_CABAC_H
#define PELTON_CODEC_CABAC_H

#include "codec/bits.h"

#define H264_CABAC_CONTEXTS 1024

extern const int8_t h264_cabac_init_mn[4][H264_CABAC_CONTEXTS][2];
/* A state in words, for those who do not need it fast. */
struct h264_cabac_state {
    uint8_t lps[4];  /* rangeTabLPS by qCodIRangeIdx */
    uint8_t next[2]; /* the state after the MPS, after the LPS */
    uint8_t mps;     /* valMPS */
    uint8_t reserved;
};

extern const struct h264_cabac_state h264_cabac_states[128];
/* The same for decoding: lps[0] in bits 55..62, the others 8, 16, 24 bits below; mps in bit 16,
 * next[1] in 8..15, next[0] in 0..7 */
extern const uint64_t h264_cabac_rows[128];
extern const uint8_t h264_cabac_sig_8x8[2][64];
extern const uint8_t h264_cabac_last_8x8[64];
extern const uint16_t h264_cabac_cbf_base[14];
extern const uint16_t h264_cabac_sig_base[2][14];
extern const uint16_t h264_cabac_last_base[2][14];
extern const uint16_t h264_cabac_abs_base[14];

/* Functions copy it, so that value and range live in registers; the rest is needed once in 32 bits.
 */
struct h264_cabac_engine {
    /* codIOffset << 55 | bits read ahead and their end; between bins 23 of them at least */
    uint64_t value;
    uint64_t range; /* codIRange << 55; codIRange is 256..510 between bins */
    /* next byte to load; H264_CABAC_SPENT past end once bins needed bits past it */
    const uint8_t *next;
    const uint8_t *end; /* end of the RBSP */
};

#define H264_CABAC_SPENT 8

struct h264_cabac {
    struct h264_cabac_engine e;
    uint64_t state[H264_CABAC_CONTEXTS];
};

/* 9.3.1.1. model: 0 for I and SI slices, else 1 + cabac_init_idc. qp: SliceQPY. count: contexts
 * that the slice can use. */
void h264_cabac_init_contexts(struct h264_cabac *c, unsigned model, int qp, unsigned count);
/* The same for those who write: rows of state[count]. */
void h264_cabac_init_rows(uint64_t *state, unsigned model, int qp, unsigned count);

/* 9.3.1.2: start at data, which H264_BITS_PADDING readable bytes follow at end. */
void h264_cabac_start(struct h264_cabac_engine *e, const uint8_t *data, const uint8_t *end);

static inline bool h264_cabac_overrun(const struct h264_cabac_engine *e)
{
    return e->next == e->end + H264_CABAC_SPENT;
}

/* First byte that the engine has not begun, once a terminating bin was 1: there is no
 * renormalisation then, and the last bit that a 9-bit register has read is the last one that the
 * encoder flushed (9.3.1.2). */
static inline const uint8_t *h264_cabac_tail(const struct h264_cabac_engine *e)
{
    return e->next - ((54 - __builtin_ctzll(e->value)) >> 3);
}

/* Copy back what changes. */
static inline __attribute__((always_inline)) void h264_cabac_save(struct h264_cabac_engine *to,
                                                                  const struct h264_cabac_engine *e)
{
    to->value = e->value;
    to->range = e->range;
    to->next = e->next;
}

/* 32 bits more in place of the mark. When it is called for past end + 4 and at most 22 bits are
 * read ahead, a bin has used bits past the end; zeros follow. */
static inline __attribute__((always_inline)) void h264_cabac_refill(struct h264_cabac_engine *e)
{
    uint32_t word = 0;
    if (e->next < e->end + 4) {
        memcpy(&word, e->next, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        word = __builtin_bswap32(word);
#endif
        e->next += 4;
    } else {
        e->next = e->end + H264_CABAC_SPENT;
    }
    e->value = (e->value & (e->value - 1)) | ((uint64_t)word << 1 | 1)
                                                 << (__builtin_ctzll(e->value) - 32);
}

/* As many whole bytes as there is room for, without a branch that is badly foreseen. Before what
 * takes many bins: within it those of h264_cabac_ready then hardly ever find too few bits. Near the
 * end nothing is done. */
static inline __attribute__((always_inline)) void h264_cabac_fill(struct h264_cabac_engine *e)
{
    unsigned mark = (unsigned)__builtin_ctzll(e->value);
    uint64_t word, low = (uint64_t)1 << (mark & 7); /* where the mark will be */
    if (__builtin_expect(e->end - e->next < 8, 0))
        return;
    memcpy(&word, e->next, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    e->next += mark >> 3;
    e->value = (e->value & (e->value - 1)) | (word >> (63 - mark) & -(low << 1)) | low;
}

/* After at most 22 bits, those of three decisions. */
static inline __attribute__((always_inline)) void h264_cabac_ready(struct h264_cabac_engine *e)
{
    if (__builtin_expect(!(uint32_t)e->value, 0))
        h264_cabac_refill(e);
}

#define H264_CABAC_LPS ((uint64_t)0xff << 55)

/* DecodeDecision (9.3.3.2.1) without looking after the bits read ahead. A branch on the LPS: the
 * next decision need not wait for the outcome of this one where it was foreseen. */
static inline __attribute__((always_inline)) unsigned h264_cabac_bin(struct h264_cabac_engine *e,
                                                                     uint64_t *context)
{
    uint64_t row = *context, lps = row << (e->range >> 58 & 24) & H264_CABAC_LPS,
             mps = e->range - lps;
    unsigned shift;
    if (e->value < mps) {
        *context = h264_cabac_rows[(uint8_t)row];
#ifdef __LZCNT__
        shift = (unsigned)__builtin_clzll(mps);
#else
        shift = (unsigned)(mps >> 63) ^ 1;
#endif
        e->range = mps << shift;
        e->value <<= shift;
        return (unsigned)(row >> 16) & 1;
    }
    *context = h264_cabac_rows[(uint8_t)(row >> 8)];
    shift = (unsigned)__builtin_clzll(lps); /* RenormD (9.3.3.2.2) */
    e->range = lps << shift;
    e->value = (e->value - mps) << shift;
    return (unsigned)~(row >> 16) & 1;
}

/* The same with selections in place of the branch, for bins whose LPS and whose value are badly
 * foreseen: one branch, the caller's on the value, instead of two. Compilers make branches of
 * selections, and for a range they would have to count its zeros slowly. */
#if defined(__x86_64__) && defined(__LZCNT__)
static inline __attribute__((always_inline)) unsigned h264_cabac_bin_select(
    struct h264_cabac_engine *e, uint64_t *context)
{
    uint64_t row = *context, lps = row << (e->range >> 58 & 24) & H264_CABAC_LPS,
             range = e->range - lps, mps = range;
    uint64_t next = row, bin = row, value = e->value, rest = value;
    unsigned shift;
    __asm__("sub %[mps], %[rest]\n\t"
            "cmovnc %[rest], %[value]\n\t"
            "cmovnc %[lps], %[range]\n\t"
            "cmovnc %[after_lps], %[next]\n\t"
            "cmovnc %[not_mps], %[bin]"
            : [rest] "+&r"(rest), [value] "+&r"(value), [range] "+&r"(range), [next] "+&r"(next),
              [bin] "+&r"(bin)
            : [mps] "r"(mps), [lps] "r"(lps), [after_lps] "r"(row >> 8), [not_mps] "r"(~row)
            : "cc");
    *context = h264_cabac_rows[(uint8_t)next];
    shift = (unsigned)__builtin_clzll(range);
    e->range = range << shift;
    e->value = value << shift;
    return (unsigned)(bin >> 16) & 1;
}
#else
#define h264_cabac_bin_select h264_cabac_bin
#endif

static inline __attribute__((always_inline)) unsigned h264_cabac_decide(struct h264_cabac_engine *e,
                                                                        uint64_t *context)
{
    unsigned bin = h264_cabac_bin_select(e, context);
    h264_cabac_ready(e);
    return bin;
}

/* DecodeBypass (9.3.3.2.3) without looking after the bits read ahead: codIOffset is doubled after
 * the comparison. For x86-64 the subtraction is the comparison: compilers take two cycles more. */
#if defined(__x86_64__)
static inline __attribute__((always_inline)) unsigned h264_cabac_bypass_bin(
    struct h264_cabac_engine *e)
{
    uint64_t half = e->range >> 1, value = e->value, rest = value;
    unsigned zero; /* all ones for a bin of 0 */
    __asm__("sub %[half], %[rest]\n\t"
            "cmovnc %[rest], %[value]\n\t"
            "sbb %[zero], %[zero]"
            : [rest] "+&r"(rest), [value] "+&r"(value), [zero] "=&r"(zero)
            : [half] "r"(half)
            : "cc");
    e->value = value << 1;
    return zero + 1;
}
#else
static inline __attribute__((always_inline)) unsigned h264_cabac_bypass_bin(
    struct h264_cabac_engine *e)
{
    uint64_t half = e->range >> 1, mask = -(uint64_t)(e->value >= half);
    e->value = (e->value - (half & mask)) << 1;
    return (unsigned)mask & 1;
}
#endif

static inline __attribute__((always_inline)) unsigned h264_cabac_bypass(struct h264_cabac_engine *e)
{
    unsigned bin = h264_cabac_bypass_bin(e);
    h264_cabac_ready(e);
    return bin;
}

/* DecodeTerminate (9.3.3.2.2.3) */
static inline unsigned h264_cabac_terminate(struct h264_cabac_engine *e)
{
    unsigned shift;
    e->range -= (uint64_t)2 << 55;
    if (e->value >= e->range)
        return 1;
    shift = (unsigned)(e->range >> 63) ^ 1;
    e->range <<= shift;
    e->value <<= shift;
    h264_cabac_ready(e);
    return 0;
}

/* Suffix of UEGk (9.3.2.3): Exp-Golomb of order k in bypass bins. A prefix past 2^24 gives a value
 * that no syntax element allows. */
static inline __attribute__((always_inline)) uint32_t h264_cabac_exp_golomb(
    struct h264_cabac_engine *e, unsigned k)
{
    uint32_t v = 0;
    while (k < 24 && h264_cabac_bypass(e))
        v += 1u << k++;
    while (k--)
        v += h264_cabac_bypass(e) << k;
    return v;
}

#endif
