/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A growing buffer of bits, syntax element descriptors (7.2, 9.1), and NAL units (7.3.1). Its only
 * state is the position, which may be set back. Past the limit, or without memory, it takes no more
 * and `failed` stays set: look at it once, at the end.
 */
#ifndef PELTON_ENCODE_BIT_WRITER_H
#define PELTON_ENCODE_BIT_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define BIT_WRITER_SLACK 16 /* bytes past the position that a write may touch */

struct bit_writer {
    uint8_t *data;
    size_t bits;     /* written */
    size_t capacity; /* bytes */
    size_t limit; /* bytes; 0: no limit. A NAL unit that passes it fails; others may by a little */
    bool failed;
};

void bit_writer_free(struct bit_writer *w);
/* Room for so many bytes more. */
bool bit_writer_reserve(struct bit_writer *w, size_t bytes);

/* u(n), n <= 32; bits of v above n are left out. */
static inline void bit_writer_u(struct bit_writer *w, unsigned n, uint32_t v)
{
    size_t at = w->bits >> 3;
    unsigned used = w->bits & 7;
    uint64_t word, kept;
    if (at + BIT_WRITER_SLACK > w->capacity && !bit_writer_reserve(w, BIT_WRITER_SLACK))
        return;
    if (!n)
        return;
    kept = w->data[at] & (0xff00u >> used);
    word = kept << 56 | (uint64_t)v << (64 - n) >> used;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    memcpy(w->data + at, &word, sizeof(word));
    w->bits += n;
}

void bit_writer_ue(struct bit_writer *w, uint32_t v);
void bit_writer_se(struct bit_writer *w, int32_t v);
/* te(v) with range 0 .. max, max >= 1 */
void bit_writer_te(struct bit_writer *w, uint32_t v, uint32_t max);
void bit_writer_zero_align(struct bit_writer *w);
/* rbsp_trailing_bits() */
void bit_writer_trailing(struct bit_writer *w);
/* Whole bytes at a byte boundary. */
void bit_writer_bytes(struct bit_writer *w, const uint8_t *bytes, size_t size);
/* Bits from the highest one of the first byte on, at any position. */
void bit_writer_copy(struct bit_writer *w, const uint8_t *bytes, size_t bits);
/* rbsp begins with the NAL unit header: start code, then its bytes with emulation prevention
 * (7.4.1). w is at a byte boundary. A writer that failed fails w. */
void bit_writer_nal(struct bit_writer *w, const struct bit_writer *rbsp);

#endif
