/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Bits, syntax element descriptors, NAL units.
 */
#include "encode/bit_writer.h"

#include <stdlib.h>

void bit_writer_free(struct bit_writer *w)
{
    free(w->data);
    *w = (struct bit_writer){0};
}

bool bit_writer_reserve(struct bit_writer *w, size_t bytes)
{
    size_t need = (w->bits >> 3) + bytes + BIT_WRITER_SLACK, capacity = 2 * need + 64;
    uint8_t *data;
    if (w->failed)
        return false;
    if (need <= w->capacity)
        return true;
    if (w->limit && need > w->limit + 2 * BIT_WRITER_SLACK) {
        w->failed = true;
        return false;
    }
    data = realloc(w->data, capacity);
    if (!data) {
        w->failed = true;
        return false;
    }
    w->data = data;
    w->capacity = capacity;
    return true;
}

void bit_writer_ue(struct bit_writer *w, uint32_t v)
{
    uint64_t code = (uint64_t)v + 1;
    unsigned length = 63 - (unsigned)__builtin_clzll(code);
    if (length < 16) {
        bit_writer_u(w, 2 * length + 1, (uint32_t)code);
        return;
    }
    bit_writer_u(w, length, 0);
    bit_writer_u(w, 1, 1);
    bit_writer_u(w, length, (uint32_t)code);
}

void bit_writer_se(struct bit_writer *w, int32_t v)
{
    bit_writer_ue(w, v > 0 ? 2 * (uint32_t)v - 1 : 2 * (0u - (uint32_t)v));
}

void bit_writer_te(struct bit_writer *w, uint32_t v, uint32_t max)
{
    if (max > 1)
        bit_writer_ue(w, v);
    else
        bit_writer_u(w, 1, !v);
}

void bit_writer_zero_align(struct bit_writer *w)
{
    bit_writer_u(w, -w->bits & 7, 0);
}

void bit_writer_trailing(struct bit_writer *w)
{
    bit_writer_u(w, 1, 1);
    bit_writer_zero_align(w);
}

void bit_writer_bytes(struct bit_writer *w, const uint8_t *bytes, size_t size)
{
    if (!bit_writer_reserve(w, size) || !size)
        return;
    memcpy(w->data + (w->bits >> 3), bytes, size);
    w->bits += size * 8;
}

void bit_writer_copy(struct bit_writer *w, const uint8_t *bytes, size_t bits)
{
    size_t words = bits / 32;
    if (!bit_writer_reserve(w, bits / 8 + BIT_WRITER_SLACK))
        return;
    for (size_t i = 0; i < words; i++, bytes += 4)
        bit_writer_u(w, 32,
                     (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
                         bytes[3]);
    for (bits -= 32 * words; bits; bytes++) {
        unsigned n = bits < 8 ? (unsigned)bits : 8;
        bit_writer_u(w, n, (uint32_t)*bytes >> (8 - n));
        bits -= n;
    }
}

/* How many bytes may be copied as they are: up to two zeros that a byte of 0 to 3 follows. */
static size_t plain_bytes(const uint8_t *from, size_t size)
{
    size_t i = 2;
    while (i < size)
        if (from[i] > 3)
            i += 3;
        else if (from[i - 1])
            i += 2;
        else if (from[i - 2])
            i++;
        else
            return i;
    return size;
}

void bit_writer_nal(struct bit_writer *w, const struct bit_writer *rbsp)
{
    static const uint8_t start[4] = {0, 0, 0, 1}, escape[1] = {3};
    size_t size = rbsp->bits >> 3, at = 0;
    w->failed |= rbsp->failed;
    bit_writer_bytes(w, start, sizeof(start));
    while (at < size) {
        size_t n = plain_bytes(rbsp->data + at, size - at);
        bit_writer_bytes(w, rbsp->data + at, n);
        at += n;
        if (at < size)
            bit_writer_bytes(w, escape, sizeof(escape));
    }
    w->failed |= w->limit && w->bits >> 3 > w->limit;
}
