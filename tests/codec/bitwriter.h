/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Writes syntax elements bit by bit and wraps them into NAL units. The tests of step 1 use it.
 */
#ifndef PELTON_TESTS_BITWRITER_H
#define PELTON_TESTS_BITWRITER_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bw {
    uint8_t buf[8192];
    size_t bits;
};

static inline void bw_u(struct bw *w, unsigned n, uint32_t v)
{
    while (n--) {
        assert(w->bits / 8 < sizeof(w->buf));
        if (v >> n & 1)
            w->buf[w->bits / 8] |= (uint8_t)(0x80 >> (w->bits & 7));
        w->bits++;
    }
}

static inline void bw_ue(struct bw *w, uint32_t v)
{
    uint64_t code = (uint64_t)v + 1;
    unsigned length = 0;
    while (code >> (length + 1))
        length++;
    for (unsigned i = 0; i < length; i++)
        bw_u(w, 1, 0);
    for (unsigned i = length + 1; i--;)
        bw_u(w, 1, (uint32_t)(code >> i & 1));
}

static inline void bw_se(struct bw *w, int32_t v)
{
    bw_ue(w, v > 0 ? 2 * (uint32_t)v - 1 : 2 * (uint32_t) - (int64_t)v);
}

static inline void bw_trailing(struct bw *w)
{
    bw_u(w, 1, 1);
    w->bits = (w->bits + 7) & ~(size_t)7;
}

/* Bytes of w with emulation prevention, without start code. Returns the size. */
static inline size_t bw_escape(const struct bw *w, uint8_t *out)
{
    size_t n = 0, zeros = 0;
    for (size_t i = 0; i < w->bits / 8; i++) {
        if (zeros == 2 && w->buf[i] <= 3) {
            out[n++] = 3;
            zeros = 0;
        }
        out[n++] = w->buf[i];
        zeros = w->buf[i] ? 0 : zeros + 1;
    }
    return n;
}

/* With a start code. */
static inline size_t bw_nal(const struct bw *w, uint8_t *out)
{
    memcpy(out, "\0\0\0\1", 4);
    return 4 + bw_escape(w, out + 4);
}

#endif
