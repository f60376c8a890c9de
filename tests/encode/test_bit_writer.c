/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Bits, Exp-Golomb codes and NAL units against the reader of codec/, and the limit of a buffer.
 */
#include "encode/bit_writer.h"
#include "codec/bits.h"
#include "codec/nal.h"
#include "tests/streamgen/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

static void elements(void **state)
{
    static const uint32_t values[] = {0,     1,     2,     3,          254,        255,
                                      65534, 65535, 65536, 0x7ffffffe, 0x80000000, 0xfffffffe};
    static const int32_t signed_values[] = {0, 1, -1, 2, -2, 1000, -1000, INT32_MAX, -INT32_MAX};
    struct bit_writer w = {0};
    struct h264_bits b;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        bit_writer_ue(&w, values[i]);
    for (size_t i = 0; i < sizeof(signed_values) / sizeof(signed_values[0]); i++)
        bit_writer_se(&w, signed_values[i]);
    bit_writer_te(&w, 1, 1);
    bit_writer_te(&w, 0, 1);
    bit_writer_te(&w, 2, 3);
    for (unsigned n = 1; n <= 32; n++)
        bit_writer_u(&w, n, 0xdeadbeef);
    bit_writer_trailing(&w);
    assert_int_equal(w.bits & 7, 0);
    assert_true(bit_writer_reserve(&w, H264_BITS_PADDING));
    memset(w.data + w.bits / 8, 0, H264_BITS_PADDING);
    h264_bits_init(&b, w.data, w.bits / 8);
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        assert_int_equal(h264_bits_ue(&b), values[i]);
    for (size_t i = 0; i < sizeof(signed_values) / sizeof(signed_values[0]); i++)
        assert_int_equal(h264_bits_se(&b), signed_values[i]);
    assert_int_equal(h264_bits_te(&b, 1), 1);
    assert_int_equal(h264_bits_te(&b, 1), 0);
    assert_int_equal(h264_bits_te(&b, 3), 2);
    for (unsigned n = 1; n <= 32; n++)
        assert_int_equal(h264_bits_u(&b, n), 0xdeadbeef & (n < 32 ? (1u << n) - 1 : UINT32_MAX));
    assert_int_equal(b.pos, b.end);
    bit_writer_free(&w);
}

/* The position may be set back: what follows takes the place of what was there. */
static void set_back(void **state)
{
    struct bit_writer w = {0};
    bit_writer_u(&w, 5, 0x15);
    size_t at = w.bits;
    bit_writer_u(&w, 32, UINT32_MAX);
    w.bits = at;
    bit_writer_u(&w, 11, 0);
    assert_int_equal(w.data[0], 0xa8);
    assert_int_equal(w.data[1], 0);
    bit_writer_free(&w);
}

/* Bytes of 0 to 4, which need emulation prevention most, at every length */
static void nal_units(void **state)
{
    struct rng r = {1};
    for (unsigned size = 1; size < 400; size++) {
        struct bit_writer rbsp = {0}, out = {0};
        uint8_t back[512 + H264_BITS_PADDING];
        size_t used;
        bit_writer_u(&rbsp, 8, 0x65);
        for (unsigned i = 0; i < size; i++)
            bit_writer_u(&rbsp, 8, rng_below(&r, 3) ? 0 : rng_below(&r, 5));
        bit_writer_trailing(&rbsp);
        bit_writer_nal(&out, &rbsp);
        for (size_t i = 4; i + 2 < out.bits / 8; i++)
            assert_false(out.data[i] == 0 && out.data[i + 1] == 0 && out.data[i + 2] < 3);
        used = h264_unescape(out.data + 4, out.bits / 8 - 4, back, NULL);
        assert_int_equal(used, rbsp.bits / 8);
        assert_memory_equal(back, rbsp.data, used);
        bit_writer_free(&rbsp);
        bit_writer_free(&out);
    }
}

static void limit(void **state)
{
    struct bit_writer w = {.limit = 100};
    for (unsigned i = 0; i < 100; i++)
        bit_writer_u(&w, 8, i);
    assert_false(w.failed);
    for (unsigned i = 0; i < 1000; i++)
        bit_writer_u(&w, 32, i);
    assert_true(w.failed);
    assert_true(w.bits / 8 < 300);
    bit_writer_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(elements), cmocka_unit_test(set_back),
                                       cmocka_unit_test(nal_units), cmocka_unit_test(limit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
