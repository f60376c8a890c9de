/* SPDX-License-Identifier: BSD-2-Clause
 *
 * CAVLC (9.2). Every code of the tables is read back. An encoder here writes random blocks as the
 * standard says, and decoding must give the same coefficients.
 */
#include "codec/cavlc.h"
#include "codec/scan.h"
#include "tests/codec/cavlc_codes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

struct writer {
    uint8_t data[4096 + 256];
    size_t bits;
};

static uint32_t seed;

static uint32_t rnd(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(seed >> 4) * n >> 28);
}

static void put(struct writer *w, unsigned n, uint32_t v)
{
    while (n--) {
        w->data[w->bits / 8] |= (uint8_t)((v >> n & 1) << (7 - w->bits % 8));
        w->bits++;
    }
}

static void put_code(struct writer *w, const char *code)
{
    assert_non_null(code);
    for (; *code; code++)
        put(w, 1, *code == '1');
}

static uint64_t left_aligned(const char *code, uint64_t rest)
{
    uint64_t v = 0;
    unsigned n = 0;
    for (; code[n]; n++)
        v |= (uint64_t)(code[n] == '1') << (63 - n);
    return v | rest >> n;
}

static unsigned length(const char *code)
{
    unsigned n = 0;
    while (code[n])
        n++;
    return n;
}

/* Every code, followed by zeros and by ones. */
static void codes(void **state)
{
    static const uint64_t rests[2] = {0, UINT64_MAX};
    for (int i = 0; i < 2; i++) {
        for (unsigned c = 0; c < 6; c++)
            for (unsigned t = 0; t < 17; t++)
                for (unsigned k = 0; k < 4; k++) {
                    const char *code = code_coeff_token[c][t][k];
                    if (code)
                        assert_int_equal(
                            h264_cavlc_token(left_aligned(code, rests[i]), (enum h264_nc_class)c),
                            length(code) << 8 | t << 2 | k);
                }
        for (unsigned t = 1; t < 16; t++)
            for (unsigned z = 0; z < 16; z++) {
                const char *code[3] = {code_total_zeros[t - 1][z],
                                       t < 4 && z < 4 ? code_total_zeros_420[t - 1][z] : NULL,
                                       t < 8 && z < 8 ? code_total_zeros_422[t - 1][z] : NULL};
                for (unsigned k = 0; k < 3; k++)
                    if (code[k])
                        assert_int_equal(h264_cavlc_zeros(left_aligned(code[k], rests[i]), t,
                                                          k == 0 ? 16 : k * 4),
                                         length(code[k]) << 4 | z);
            }
        for (unsigned left = 1; left < 15; left++)
            for (unsigned run = 0; run <= left; run++) {
                const char *code = code_run_before[(left < 7 ? left : 7) - 1][run];
                assert_non_null(code);
                assert_int_equal(h264_cavlc_run(left_aligned(code, rests[i]), left),
                                 length(code) << 4 | run);
            }
    }
}

static void no_codes(void **state)
{
    for (int c = 0; c < 5; c++) /* the codes of nC == -1 end in one of zeros only */
        if (c != H264_NC_CHROMA_DC_420)
            assert_int_equal(h264_cavlc_token(0, (enum h264_nc_class)c), 0);
    assert_int_equal(h264_cavlc_token((uint64_t)2 << 58, H264_NC_8), 0);
    assert_int_equal(h264_cavlc_zeros(0, 1, 16), 0);
    assert_int_equal(h264_cavlc_run(0, 14), 0);
}

/* 9.2.2.1 the other way round */
static void put_level(struct writer *w, int32_t level, bool first, unsigned *suffix_length)
{
    uint32_t magnitude = (uint32_t)(level < 0 ? -level : level),
             code = level > 0 ? 2 * magnitude - 2 : 2 * magnitude - 1;
    unsigned s = *suffix_length;
    if (first)
        code -= 2;
    if (s == 0 && code < 14) {
        put(w, code + 1, 1);
    } else if (s == 0 && code < 30) {
        put(w, 15, 1);
        put(w, 4, code - 14);
    } else if (s > 0 && code < 15u << s) {
        put(w, (code >> s) + 1, 1);
        put(w, s, code & ((1u << s) - 1));
    } else {
        unsigned prefix = 15;
        code -= s == 0 ? 30 : 15u << s;
        while (code >= (prefix == 15 ? 4096u : (1u << (prefix - 3)) - 4096 + (1u << (prefix - 3))))
            prefix++;
        if (prefix > 15)
            code -= (1u << (prefix - 3)) - 4096;
        put(w, prefix, 0);
        put(w, 1, 1);
        put(w, prefix - 3, code);
    }
    if (s == 0)
        *suffix_length = 1;
    if (magnitude > 3u << (*suffix_length - 1) && *suffix_length < 6)
        ++*suffix_length;
}

static void put_block(struct writer *w, const int32_t *c, unsigned max, enum h264_nc_class column)
{
    unsigned at[16], total = 0, ones = 0, suffix_length, zeros;
    for (unsigned i = max; i--;)
        if (c[i])
            at[total++] = i;
    while (ones < 3 && ones < total && (c[at[ones]] == 1 || c[at[ones]] == -1))
        ones++;
    put_code(w, code_coeff_token[column][total][ones]);
    for (unsigned i = 0; i < ones; i++)
        put(w, 1, c[at[i]] < 0);
    suffix_length = total > 10 && ones < 3;
    for (unsigned i = ones; i < total; i++)
        put_level(w, c[at[i]], i == ones && ones < 3, &suffix_length);
    if (!total)
        return;
    zeros = at[0] + 1 - total;
    if (total < max)
        put_code(w, (max == 4   ? code_total_zeros_420[total - 1]
                     : max == 8 ? code_total_zeros_422[total - 1]
                                : code_total_zeros[total - 1])[zeros]);
    for (unsigned i = 0; i + 1 < total && zeros; i++) {
        unsigned run = at[i] - at[i + 1] - 1;
        put_code(w, code_run_before[(zeros < 7 ? zeros : 7) - 1][run]);
        zeros -= run;
    }
}

static int32_t random_level(unsigned bits)
{
    int32_t v = (int32_t)rnd(1u << rnd(bits + 1));
    return rnd(2) ? v : -v;
}

/* Blocks of every size and density one after the other, into both widths, with a strided scan for
 * 8x8. */
static void blocks(void **state)
{
    static const unsigned sizes[4] = {4, 8, 15, 16};
    static const uint8_t identity[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    seed = 20240607;
    print_message("seed %u\n", seed);
    for (unsigned n = 0; n < 60000; n++) {
        static struct writer w;
        int32_t c[16] = {0}, got32[16] = {0};
        int16_t got16[64] = {0};
        unsigned max = sizes[rnd(4)], density = 1 + rnd(8), bits = rnd(16);
        enum h264_nc_class column = max == 4 ? H264_NC_CHROMA_DC_420
                                    : max == 8
                                        ? H264_NC_CHROMA_DC_422
                                        : (enum h264_nc_class)(rnd(4) == 3 ? H264_NC_8 : rnd(3));
        struct h264_bits b;
        unsigned token, start = rnd(8);
        memset(&w, 0, sizeof(w));
        put(&w, start, 0x55);
        for (unsigned i = 0; i < max; i++)
            if (rnd(8) < density)
                c[i] = random_level(bits);
        put_block(&w, c, max, column);
        put(&w, 1, 1);
        for (int wide = 0; wide < 2; wide++) {
            h264_bits_init(&b, w.data, w.bits / 8 + 1);
            b.pos = start;
            token = h264_cavlc_token(h264_bits_window(&b), column);
            assert_int_not_equal(token, 0);
            if (!(token & 0xff))
                h264_bits_skip(&b, token >> 8);
            else if (wide)
                assert_true(h264_cavlc_levels_32(&b, token, max, identity, 0, got32));
            else
                assert_true(h264_cavlc_levels_16(&b, token, max, h264_scan_8x8[0] + 3, 2, got16));
            assert_int_equal(b.pos, w.bits - 1);
        }
        for (unsigned i = 0; i < max; i++) {
            assert_int_equal(got32[i], c[i]);
            assert_int_equal(got16[h264_scan_8x8[0][4 * i + 3]], c[i]);
        }
    }
}

/* Levels past 16 bits: an error there, right in 32 bits. */
static void wide_levels(void **state)
{
    static const int32_t levels[8] = {32767,  -32768,  32768,   -32769,
                                      100000, -262143, 2000000, -2097152};
    static const uint8_t identity[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    for (int i = 0; i < 8; i++) {
        static struct writer w;
        int32_t c[16] = {levels[i]}, got32[16] = {0};
        int16_t got16[16] = {0};
        struct h264_bits b;
        unsigned token;
        memset(&w, 0, sizeof(w));
        put_block(&w, c, 16, H264_NC_0);
        put(&w, 1, 1);
        h264_bits_init(&b, w.data, w.bits / 8 + 1);
        token = h264_cavlc_token(h264_bits_window(&b), H264_NC_0);
        assert_int_equal(h264_cavlc_levels_16(&b, token, 16, identity, 0, got16) != 0, i < 2);
        b.pos = 0;
        assert_true(h264_cavlc_levels_32(&b, token, 16, identity, 0, got32));
        assert_int_equal(got32[0], levels[i]);
    }
}

/* Random bits never write outside the block and never pass the limit. */
static void garbage(void **state)
{
    static uint8_t data[64 + 256];
    static const uint8_t identity[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    seed = 7;
    for (unsigned n = 0; n < 100000; n++) {
        int16_t out[17] = {0};
        struct h264_bits b;
        unsigned size = 1 + rnd(63), max = (unsigned[]){4, 8, 15, 16}[n & 3], token;
        for (unsigned i = 0; i < sizeof(data); i++)
            data[i] = i < size ? (uint8_t)(rnd(256) & rnd(256)) : 0;
        out[max] = 77;
        h264_bits_init(&b, data, size);
        token = h264_cavlc_token(h264_bits_window(&b),
                                 max == 4 ? H264_NC_CHROMA_DC_420 : (enum h264_nc_class)rnd(3));
        if (token & 0xff)
            h264_cavlc_levels_16(&b, token, max, identity, 0, out);
        assert_int_equal(out[max], 77);
        assert_true(b.pos <= b.limit);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(codes), cmocka_unit_test(no_codes),
                                       cmocka_unit_test(blocks), cmocka_unit_test(wide_levels),
                                       cmocka_unit_test(garbage)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
