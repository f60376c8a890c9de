/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Bit reader, emulation prevention, NAL unit splitting.
 */
#include "bitwriter.h"
#include "codec/nal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

static void reader(struct h264_bits *b, struct bw *w)
{
    assert_true(w->bits / 8 + H264_BITS_PADDING <= sizeof(w->buf));
    h264_bits_init(b, w->buf, (w->bits + 7) / 8);
}

static void test_fixed(void **state)
{
    struct bw w = {.bits = 0};
    struct h264_bits b;
    for (unsigned n = 1; n <= 32; n++)
        bw_u(&w, n, 0xdeadbeefu >> (32 - n));
    bw_trailing(&w);
    reader(&b, &w);
    for (unsigned n = 1; n <= 32; n++) {
        assert_int_equal(h264_bits_peek(&b, n), 0xdeadbeefu >> (32 - n));
        assert_int_equal(h264_bits_u(&b, n), 0xdeadbeefu >> (32 - n));
    }
    assert_int_equal(h264_bits_u(&b, 0), 0);
    assert_false(h264_bits_more_data(&b));
    assert_false(h264_bits_overrun(&b));
    h264_bits_flag(&b);
    assert_true(h264_bits_overrun(&b));
}

static void test_exp_golomb(void **state)
{
    static const uint32_t ue[] = {0,
                                  1,
                                  2,
                                  3,
                                  7,
                                  8,
                                  254,
                                  255,
                                  65534,
                                  65535,
                                  (1u << 28) - 2,
                                  (1u << 28) - 1,
                                  (1u << 29) - 2,
                                  (1u << 29) - 1,
                                  1u << 30,
                                  0x7fffffffu,
                                  0x80000000u,
                                  0xfffffffdu,
                                  0xfffffffeu};
    static const int32_t se[] = {0, 1, -1, 2, -2, 32767, -32768, INT32_MAX, -INT32_MAX};
    for (unsigned shift = 0; shift < 8; shift++) {
        struct bw w = {.bits = 0};
        struct h264_bits b;
        bw_u(&w, shift, 0);
        for (size_t i = 0; i < sizeof(ue) / sizeof(ue[0]); i++)
            bw_ue(&w, ue[i]);
        for (size_t i = 0; i < sizeof(se) / sizeof(se[0]); i++)
            bw_se(&w, se[i]);
        bw_trailing(&w);
        reader(&b, &w);
        h264_bits_skip(&b, shift);
        for (size_t i = 0; i < sizeof(ue) / sizeof(ue[0]); i++)
            assert_int_equal(h264_bits_ue(&b), ue[i]);
        for (size_t i = 0; i < sizeof(se) / sizeof(se[0]); i++)
            assert_int_equal(h264_bits_se(&b), se[i]);
        assert_false(h264_bits_overrun(&b));
        assert_false(h264_bits_more_data(&b));
    }
}

static void test_te(void **state)
{
    struct bw w = {.bits = 0};
    struct h264_bits b;
    bw_u(&w, 2, 1); /* 0, 1: te with range 1 is inverted */
    bw_ue(&w, 5);
    bw_trailing(&w);
    reader(&b, &w);
    assert_int_equal(h264_bits_te(&b, 1), 1);
    assert_int_equal(h264_bits_te(&b, 1), 0);
    assert_int_equal(h264_bits_te(&b, 7), 5);
    assert_false(h264_bits_overrun(&b));
}

static void test_overrun_is_sticky(void **state)
{
    uint8_t data[2 + H264_BITS_PADDING] = {0x12, 0x80};
    struct h264_bits b;
    h264_bits_init(&b, data, 2);
    for (unsigned i = 0; i < 1000; i++) {
        h264_bits_u(&b, 32);
        h264_bits_ue(&b);
        h264_bits_se(&b);
        h264_bits_skip(&b, SIZE_MAX);
        assert_true(h264_bits_overrun(&b));
        assert_false(h264_bits_more_data(&b));
    }
    h264_bits_init(&b, data, 0); /* no stop bit at all */
    assert_false(h264_bits_more_data(&b));
    h264_bits_flag(&b);
    assert_true(h264_bits_overrun(&b));
    memset(data, 0, sizeof(data)); /* a prefix of 32 zeros has no value */
    data[0] = 0x80;
    h264_bits_init(&b, data, 1);
    h264_bits_skip(&b, 1);
    assert_int_equal(h264_bits_ue(&b), 0);
    assert_true(h264_bits_overrun(&b));
}

static void test_positions(void **state)
{
    uint8_t data[8 + H264_BITS_PADDING] = {0xff, 0xff, 0xff, 0x80, 0, 0};
    struct h264_bits b;
    h264_bits_init(&b, data, 6); /* cabac_zero_words do not count */
    assert_int_equal(b.size, 4);
    assert_int_equal(b.end, 24);
    assert_int_equal(h264_bits_byte_pos(&b), 0);
    h264_bits_skip(&b, 9);
    assert_int_equal(h264_bits_byte_pos(&b), 2);
    h264_bits_align(&b);
    assert_int_equal(b.pos, 16);
    h264_bits_align(&b);
    assert_int_equal(b.pos, 16);
    assert_true(h264_bits_more_data(&b));
    h264_bits_skip(&b, 8);
    assert_false(h264_bits_more_data(&b));
    assert_false(h264_bits_overrun(&b));
}

/* The rules of 7.4.1.1, one byte after the other. */
static size_t unescape_plain(const uint8_t *in, size_t size, uint8_t *out)
{
    size_t n = 0, zeros = 0;
    for (size_t i = 0; i < size; i++) {
        if (zeros >= 2 && in[i] == 1) {
            n -= 2;
            break;
        }
        if (zeros >= 2 && in[i] == 3) {
            zeros = 0;
            continue;
        }
        out[n++] = in[i];
        zeros = in[i] ? 0 : zeros + 1;
    }
    while (n && !out[n - 1])
        n--;
    return n;
}

static void check_unescape(const uint8_t *in, size_t size)
{
    uint8_t *exact = calloc(size ? size : 1, 1), *out = malloc(size + H264_BITS_PADDING),
            *plain = malloc(size + 1);
    size_t n, m, consumed;
    memcpy(exact, in, size);
    n = h264_unescape(exact, size, out, &consumed);
    m = unescape_plain(in, size, plain);
    assert_int_equal(n, m);
    assert_memory_equal(out, plain, n);
    assert_true(consumed <= size);
    for (size_t i = 0; i < H264_BITS_PADDING; i++)
        assert_int_equal(out[n + i], 0);
    free(exact);
    free(out);
    free(plain);
}

static void test_unescape_exhaustive(void **state)
{
    static const uint8_t alphabet[4] = {0, 1, 3, 0x80};
    uint8_t in[20];
    for (unsigned size = 0; size <= 8; size++)
        for (unsigned v = 0; v < 1u << (2 * size); v++) {
            memset(in, 0x55, sizeof(in));
            for (unsigned i = 0; i < size; i++)
                in[i] = alphabet[v >> (2 * i) & 3];
            check_unescape(in, size);
        }
    for (unsigned v = 0; v < 1u << 12; v++) /* across the borders of eight bytes */
        for (unsigned at = 0; at < 14; at++) {
            memset(in, 0x55, sizeof(in));
            for (unsigned i = 0; i < 6; i++)
                in[at + i] = alphabet[v >> (2 * i) & 3];
            check_unescape(in, sizeof(in));
        }
}

static void test_unescape_many(void **state)
{
    size_t size = 3 * 5000 + 2;
    uint8_t *in = malloc(size), *out = malloc(size + H264_BITS_PADDING);
    size_t consumed, n;
    in[0] = 0x65;
    for (size_t i = 0; i < 5000; i++)
        memcpy(in + 1 + 3 * i, "\0\0\3", 3);
    in[size - 1] = 0x80;
    n = h264_unescape(in, size, out, &consumed);
    assert_int_equal(n, 1 + 2 * 5000 + 1);
    assert_int_equal(out[n - 1], 0x80);
    assert_int_equal(consumed, size);
    /* only cabac_zero_words after the first byte */
    n = h264_unescape(in, size - 1, out, &consumed);
    assert_int_equal(n, 1);
    assert_int_equal(h264_unescape(in, 0, out, &consumed), 0);
    free(in);
    free(out);
}

static void test_annexb(void **state)
{
    static const uint8_t data[] = {0, 0,    0, 0, 1, 0x67, 1, 2, 0, 0, 0, 1, 0x68, 3, 0, 0,
                                   1, 0x65, 0, 0, 3, 1,    0, 0, 0, 0, 0, 1, 0,    0, 1};
    struct h264_nal_iter it;
    const uint8_t *nal;
    size_t size;
    h264_nal_iter_init(&it, data, sizeof(data), 0);
    assert_true(h264_nal_next(&it, &nal, &size));
    assert_int_equal(size, 3);
    assert_int_equal(nal[0], 0x67);
    assert_true(h264_nal_next(&it, &nal, &size));
    assert_int_equal(size, 2);
    assert_int_equal(nal[0], 0x68);
    assert_true(h264_nal_next(&it, &nal, &size));
    assert_int_equal(size, 5);
    assert_int_equal(nal[0], 0x65);
    assert_false(h264_nal_next(&it, &nal, &size));
    h264_nal_iter_init(&it, data, 0, 0);
    assert_false(h264_nal_next(&it, &nal, &size));
    h264_nal_iter_init(&it, data + 5, 3, 0); /* no start code */
    assert_false(h264_nal_next(&it, &nal, &size));
}

static void test_length_prefixed(void **state)
{
    static const uint8_t data[] = {0, 2, 0x67, 1, 0, 0, 0, 1, 0x68, 0, 9, 0x65, 1};
    static const uint8_t huge[] = {0xff, 0xff, 0xff, 0xff, 0x65};
    struct h264_nal_iter it;
    const uint8_t *nal;
    size_t size;
    h264_nal_iter_init(&it, data, sizeof(data), 2);
    assert_true(h264_nal_next(&it, &nal, &size));
    assert_int_equal(size, 2);
    assert_true(h264_nal_next(&it, &nal, &size)); /* the empty one is passed over */
    assert_int_equal(nal[0], 0x68);
    assert_false(it.truncated);
    assert_true(h264_nal_next(&it, &nal, &size)); /* what there is of it */
    assert_int_equal(size, 2);
    assert_true(it.truncated);
    assert_false(h264_nal_next(&it, &nal, &size));
    h264_nal_iter_init(&it, huge, sizeof(huge), 4);
    assert_true(h264_nal_next(&it, &nal, &size));
    assert_int_equal(size, 1);
    assert_true(it.truncated);
    h264_nal_iter_init(&it, huge, 3, 4);
    assert_false(h264_nal_next(&it, &nal, &size));
    assert_true(it.truncated);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed),
        cmocka_unit_test(test_exp_golomb),
        cmocka_unit_test(test_te),
        cmocka_unit_test(test_overrun_is_sticky),
        cmocka_unit_test(test_positions),
        cmocka_unit_test(test_unescape_exhaustive),
        cmocka_unit_test(test_unescape_many),
        cmocka_unit_test(test_annexb),
        cmocka_unit_test(test_length_prefixed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
