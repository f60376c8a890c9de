/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Bits, syntax element descriptors, NAL units.
 */
#include "sink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sink_free(struct sink *s)
{
    free(s->data);
    *s = (struct sink){0};
}

static void reserve(struct sink *s, size_t bytes)
{
    size_t capacity = bytes * 2 + 64;
    if (bytes <= s->capacity)
        return;
    s->data = realloc(s->data, capacity);
    if (!s->data) {
        fprintf(stderr, "streamgen: no memory\n");
        exit(1);
    }
    memset(s->data + s->capacity, 0, capacity - s->capacity);
    s->capacity = capacity;
}

void sink_u(struct sink *s, unsigned n, uint32_t v)
{
    reserve(s, (s->bits + n) / 8 + 1);
    while (n--) {
        uint8_t bit = (uint8_t)(0x80 >> (s->bits & 7));
        if (v >> n & 1)
            s->data[s->bits / 8] |= bit;
        else
            s->data[s->bits / 8] &= (uint8_t)~bit;
        s->bits++;
    }
}

void sink_ue(struct sink *s, uint32_t v)
{
    uint64_t code = (uint64_t)v + 1;
    unsigned length = 0;
    while (code >> (length + 1))
        length++;
    sink_u(s, length, 0);
    sink_u(s, 1, 1);
    sink_u(s, length, (uint32_t)code);
}

void sink_se(struct sink *s, int32_t v)
{
    sink_ue(s, v > 0 ? 2 * (uint32_t)v - 1 : 2 * (uint32_t)-v);
}

void sink_te(struct sink *s, uint32_t v, uint32_t max)
{
    if (max > 1)
        sink_ue(s, v);
    else
        sink_u(s, 1, !v);
}

void sink_code(struct sink *s, const char *code)
{
    for (; *code; code++)
        sink_u(s, 1, *code == '1');
}

void sink_trailing(struct sink *s)
{
    sink_u(s, 1, 1);
    sink_zero_align(s);
}

void sink_zero_align(struct sink *s)
{
    while (s->bits & 7)
        sink_u(s, 1, 0);
}

void sink_nal(struct sink *out, const struct sink *rbsp)
{
    unsigned zeros = 0;
    sink_u(out, 32, 1);
    for (size_t i = 0; i < rbsp->bits / 8; i++) {
        uint8_t byte = rbsp->data[i];
        if (zeros == 2 && byte <= 3) {
            sink_u(out, 8, 3);
            zeros = 0;
        }
        sink_u(out, 8, byte);
        zeros = byte ? 0 : zeros + 1;
    }
    if (zeros) /* cabac_zero_words or samples: the last byte of a NAL unit is not 0 */
        sink_u(out, 8, 3);
}
