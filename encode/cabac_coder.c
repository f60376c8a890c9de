/* SPDX-License-Identifier: BSD-2-Clause
 *
 * CABAC encoding engine (9.3.4).
 */
#include "encode/cabac_coder.h"

#include "codec/cabac.h"

#include <stdlib.h>

enum { CODES_AT_ONCE = 1024, BYTES_OF_CODE = 2, BYTES_OF_FLUSH = 16 };

/* ---- bin strings ---- */

bool bin_string_reserve(struct bin_string *s, size_t codes)
{
    size_t need = s->count + codes, capacity = 2 * need;
    uint16_t *more;
    if (need <= s->capacity)
        return !s->failed;
    more = s->failed ? NULL : realloc(s->codes, capacity * sizeof(*more));
    if (!more) {
        s->failed = true;
        return false;
    }
    s->codes = more;
    s->capacity = capacity;
    return true;
}

void bin_string_free(struct bin_string *s)
{
    free(s->codes);
    *s = (struct bin_string){0};
}

static void bins_bypass_long(struct bin_string *s, unsigned n, uint32_t v)
{
    for (; n > 8; n -= 8)
        bins_bypass(s, 8, v >> (n - 8) & 255);
    if (n)
        bins_bypass(s, n, v & ((1u << n) - 1));
}

void bins_exp_golomb(struct bin_string *s, unsigned k, uint32_t v)
{
    unsigned ones = 0;
    while (v >= 1u << k) {
        v -= 1u << k++;
        ones++;
    }
    bins_bypass_long(s, ones + 1, (1u << (ones + 1)) - 2);
    bins_bypass_long(s, k, v);
}

void bins_pcm(struct bin_string *s, const uint8_t *samples, unsigned count)
{
    s->codes[s->count++] = (uint16_t)(BIN_PCM | count);
    for (unsigned i = 0; i < count; i += 2)
        s->codes[s->count++] =
            (uint16_t)(samples[i] | (i + 1 < count ? (unsigned)samples[i + 1] << 8 : 0));
}

/* ---- engine ---- */

void cabac_coder_contexts(struct cabac_coder *c, unsigned model, int qp)
{
    h264_cabac_init_rows(c->state, model, qp, H264_CABAC_CONTEXTS);
}

void cabac_coder_begin(struct cabac_coder *c)
{
    c->low = 0;
    c->range = 510;
    c->pending = 0;
}

/* A carry out of the bits that are pending */
static void coder_carry(uint8_t *at)
{
    while (!++*--at)
        ;
}

/* 32 pending bits, with their carry */
static inline uint8_t *coder_emit(uint64_t *low, unsigned *pending, uint8_t *at)
{
    uint64_t word = *low >> (*pending - 23); /* from bit 9 + pending - 32 on */
    uint32_t bytes = (uint32_t)word;
    *low &= ((uint64_t)1 << (*pending - 23)) - 1;
    *pending -= 32;
    if (__builtin_expect(word >> 32 != 0, 0))
        coder_carry(at);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    bytes = __builtin_bswap32(bytes);
#endif
    memcpy(at, &bytes, sizeof(bytes));
    return at + sizeof(bytes);
}

/* EncodeFlush (9.3.4.5): bits 8 and 7 of codILow go out, too, the last of them as 1; then zeros up
 * to a whole byte. */
static uint8_t *coder_flush(struct cabac_coder *c, uint8_t *at)
{
    unsigned pad;
    c->low = ((c->low + c->range) << 7 | 0x80) & ~(uint64_t)0x7f;
    pad = -(c->pending + 9) & 7;
    c->low <<= 2 + pad;
    c->pending += 9 + pad;
    if (c->low >> (9 + c->pending))
        coder_carry(at);
    for (; c->pending; c->pending -= 8)
        *at++ = (uint8_t)(c->low >> (c->pending + 1));
    return at;
}

static uint8_t *coder_special(struct cabac_coder *c, unsigned code, uint8_t *at)
{
    unsigned n = (code >> 11 & 7) + 1;
    if (code < BIN_TERMINATE) { /* 9.3.4.4, n times */
        c->low = (c->low << n) + (uint64_t)c->range * (code & 0x7ff);
        c->pending += n;
        c->bins += n - 1;
        return at;
    }
    c->range -= 2; /* 9.3.4.5 */
    if (code & 1)
        return coder_flush(c, at);
    n = c->range < 256;
    c->range <<= n;
    c->low <<= n;
    c->pending += n;
    return at;
}

/* As many codes as there are before I_PCM samples; returns their number. There is room for what
 * they make. */
static size_t code_some(struct cabac_coder *to, const uint16_t *codes, size_t count,
                        struct bit_writer *out)
{
    struct cabac_coder *c = to;
    uint8_t *start = out->data + (out->bits >> 3), *at = start;
    uint64_t low = c->low;
    uint32_t range = c->range;
    unsigned pending = c->pending, signs = 0;
    size_t i;
    for (i = 0; i < count && codes[i] < BIN_PCM; i++) {
        unsigned code = codes[i];
        if (code < BIN_BYPASS) { /* 9.3.4.2 */
            uint64_t *context = &c->state[code >> 1 & 1023], row = *context;
            uint32_t lps = (uint32_t)(row >> (55 - (range >> 3 & 24))) & 255;
            uint32_t is_lps = (uint32_t)(row >> 16 ^ code) & 1, sign = code >> 12 & 1;
            unsigned shift;

            *context = h264_cabac_rows[(uint8_t)(row >> (is_lps << 3))];
            range -= lps;
            low += range & -is_lps;
            range = is_lps ? lps : range;
            shift = (unsigned)__builtin_clz(range) - 23;
            range <<= shift;
            low = (low << shift << sign) + (range & -(code >> 11 & sign));
            pending += shift + sign;
            signs += sign;
        } else {
            c->low = low;
            c->range = range;
            c->pending = pending;
            at = coder_special(c, code, at);
            low = c->low;
            range = c->range;
            pending = c->pending;
        }
        if (pending >= 32)
            at = coder_emit(&low, &pending, at);
    }
    c->low = low;
    c->range = range;
    c->pending = pending;
    c->bins += i + signs;
    out->bits += (size_t)(at - start) * 8;
    return i;
}

/* The samples behind codes[0], and a new start of the engine (9.3.1.2). Returns the codes used. */
static size_t code_pcm(struct cabac_coder *c, const uint16_t *codes, struct bit_writer *out)
{
    unsigned samples = codes[0] & 0x1fff;
    for (unsigned i = 0; i < samples; i++)
        bit_writer_u(out, 8, codes[1 + i / 2] >> (i & 1 ? 8 : 0));
    cabac_coder_begin(c);
    return 1 + (samples + 1) / 2;
}

void cabac_code(struct cabac_coder *c, const uint16_t *codes, size_t count, struct bit_writer *out)
{
    while (count) {
        size_t n = count < CODES_AT_ONCE ? count : CODES_AT_ONCE;
        if (!bit_writer_reserve(out, n * BYTES_OF_CODE + BYTES_OF_FLUSH))
            return;
        n = codes[0] < BIN_PCM ? code_some(c, codes, n, out) : code_pcm(c, codes, out);
        codes += n;
        count -= n;
    }
}
