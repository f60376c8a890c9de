/* SPDX-License-Identifier: BSD-2-Clause
 *
 * MD5 (RFC 1321). The sine table is computed from its definition in the RFC.
 */
#include "tests/tools/md5.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static uint32_t rotate(uint32_t v, unsigned by)
{
    return v << by | v >> (32 - by);
}

/* RFC 1321, 3.4 */
static void transform(uint32_t state[4], const uint8_t block[64])
{
    static const uint8_t shift[4][4] = {
        {7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    static uint32_t sine[64];
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], x[16];

    if (!sine[0])
        for (int i = 63; i >= 0; i--)
            sine[i] = (uint32_t)(4294967296.0 * fabs(sin(i + 1)));
    for (int i = 0; i < 16; i++)
        x[i] = block[4 * i] | (uint32_t)block[4 * i + 1] << 8 | (uint32_t)block[4 * i + 2] << 16 |
               (uint32_t)block[4 * i + 3] << 24;
    for (int i = 0; i < 64; i++) {
        static const uint8_t step[4] = {1, 5, 3, 7}, start[4] = {0, 1, 5, 0};
        int round = i / 16;
        uint32_t f = round == 0   ? (b & c) | (~b & d)
                     : round == 1 ? (b & d) | (c & ~d)
                     : round == 2 ? b ^ c ^ d
                                  : c ^ (b | ~d);
        uint32_t sum = a + f + x[(start[round] + step[round] * i) & 15] + sine[i];
        a = d;
        d = c;
        c = b;
        b += rotate(sum, shift[round][i & 3]);
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

void md5_init(struct md5 *m)
{
    *m = (struct md5){.state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}};
}

void md5_update(struct md5 *m, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    while (size > 0) {
        size_t used = (size_t)(m->length & 63), n = 64 - used < size ? 64 - used : size;
        memcpy(m->block + used, bytes, n);
        m->length += n;
        bytes += n;
        size -= n;
        if (used + n == 64)
            transform(m->state, m->block);
    }
}

void md5_finish(struct md5 *m, char text[33])
{
    static const uint8_t padding[64] = {0x80};
    uint64_t bits = m->length * 8;
    uint8_t tail[8];
    for (int i = 0; i < 8; i++)
        tail[i] = (uint8_t)(bits >> (8 * i));
    md5_update(m, padding, 64 - ((m->length + 8) & 63));
    md5_update(m, tail, sizeof(tail));
    for (int i = 0; i < 16; i++)
        snprintf(text + 2 * i, 3, "%02x", (unsigned)(m->state[i / 4] >> (8 * (i % 4)) & 255));
}
