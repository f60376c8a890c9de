/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Bit reader over an RBSP (7.2, 9.1), whose emulation prevention bytes are removed (h264_unescape).
 * Its only state is the position. Every read loads eight bytes, so the buffer must have
 * H264_BITS_PADDING readable bytes after its end.
 *
 * Reads past the end return bits of the padding and leave a sticky overrun state: check
 * h264_bits_overrun once per syntax structure. The position never passes `limit`, so no sequence of
 * reads leaves the padding.
 */
#ifndef PELTON_CODEC_BITS_H
#define PELTON_CODEC_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define H264_BITS_PADDING 64 /* readable bytes, zero, after every RBSP */

struct h264_bits {
    const uint8_t *data;
    size_t size;  /* bytes of the RBSP, cabac_zero_words stripped */
    size_t pos;   /* next bit */
    size_t end;   /* position of rbsp_stop_one_bit; 0 when there is none */
    size_t limit; /* pos is clamped to this: size * 8 + 256 */
};

/* The 64 bits that start at the byte of pos, aligned to pos: 57 of them are valid. */
static inline uint64_t h264_bits_window(const struct h264_bits *b)
{
    uint64_t word;
    memcpy(&word, b->data + (b->pos >> 3), sizeof(word));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word << (b->pos & 7);
}

/* data[0 .. size) plus H264_BITS_PADDING zero bytes. Starts at bit 0; set pos to skip a NAL unit
 * header. */
static inline void h264_bits_init(struct h264_bits *b, const uint8_t *data, size_t size)
{
    while (size && !data[size - 1])
        size--;
    b->data = data;
    b->size = size;
    b->pos = 0;
    b->end = size ? size * 8 - 1 - (size_t)__builtin_ctz(data[size - 1]) : 0;
    b->limit = size * 8 + 256;
}

/* More than what stands before rbsp_trailing_bits() was read, or a code was longer than any value.
 */
static inline bool h264_bits_overrun(const struct h264_bits *b)
{
    return b->pos > b->end;
}

/* more_rbsp_data() (7.2) */
static inline bool h264_bits_more_data(const struct h264_bits *b)
{
    return b->pos < b->end;
}

/* First byte that holds no bit read so far (the position rounded up to a byte). */
static inline size_t h264_bits_byte_pos(const struct h264_bits *b)
{
    return (b->pos + 7) >> 3;
}

static inline void h264_bits_align(struct h264_bits *b)
{
    b->pos = (b->pos + 7) & ~(size_t)7;
}

static inline void h264_bits_fail(struct h264_bits *b)
{
    b->pos = b->limit;
}

static inline void h264_bits_skip(struct h264_bits *b, size_t n)
{
    b->pos = n < b->limit - b->pos ? b->pos + n : b->limit;
}

/* The next n bits without reading them, 1 <= n <= 32. */
static inline uint32_t h264_bits_peek(const struct h264_bits *b, unsigned n)
{
    return (uint32_t)(h264_bits_window(b) >> (64 - n));
}

static inline uint32_t h264_bits_flag(struct h264_bits *b)
{
    uint32_t v = (uint32_t)(h264_bits_window(b) >> 63);
    h264_bits_skip(b, 1);
    return v;
}

/* u(n), 0 <= n <= 32 */
static inline uint32_t h264_bits_u(struct h264_bits *b, unsigned n)
{
    uint32_t v;
    if (!n)
        return 0;
    v = h264_bits_peek(b, n);
    h264_bits_skip(b, n);
    return v;
}

/* ue(v) (9.1): 0 .. 2^32 - 2; a longer prefix is an overrun and gives 0. */
static inline uint32_t h264_bits_ue(struct h264_bits *b)
{
    uint64_t w = h264_bits_window(b);
    unsigned zeros;
    if (w >> 32) { /* at most 31 leading zeros */
        zeros = (unsigned)__builtin_clzll(w);
        if (zeros <= 28) {
            h264_bits_skip(b, 2 * zeros + 1);
            return (uint32_t)(w >> (63 - 2 * zeros)) - 1;
        }
        h264_bits_skip(b, zeros);
        return (uint32_t)(h264_bits_u(b, 1) ? ((uint64_t)1 << zeros) + h264_bits_u(b, zeros) - 1
                                            : 0);
    }
    h264_bits_fail(b);
    return 0;
}

/* se(v) (9.1.1): -2^31 + 1 .. 2^31 - 1 */
static inline int32_t h264_bits_se(struct h264_bits *b)
{
    uint32_t k = h264_bits_ue(b);
    int64_t v = (int64_t)((uint64_t)k + 1) / 2;
    return (int32_t)(k & 1 ? v : -v);
}

/* te(v) (9.1) with range 0 .. max, max >= 1 */
static inline uint32_t h264_bits_te(struct h264_bits *b, uint32_t max)
{
    return max > 1 ? h264_bits_ue(b) : !h264_bits_flag(b);
}

#endif
