/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The codes of CAVLC against the strings of the tables, levels at their limits against the parser,
 * and the CABAC engine against the decoding one.
 */
#include "encode/bin_elements.h"
#include "encode/cavlc_writer.h"
#include "codec/cabac.h"
#include "tests/codec/cavlc_codes.h"
#include "tests/streamgen/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void expect_code(struct cavlc_code code, const char *text)
{
    assert_int_equal(code.length, text ? strlen(text) : 0);
    for (unsigned i = 0; i < code.length; i++)
        assert_int_equal(code.bits >> (code.length - 1 - i) & 1, text[i] == '1');
}

static void codes(void **state)
{
    struct cavlc_codes c;
    cavlc_codes_build(&c);
    for (unsigned column = 0; column < 6; column++)
        for (unsigned total = 0; total < 17; total++)
            for (unsigned ones = 0; ones < 4; ones++)
                expect_code(c.coeff_token[column][total][ones],
                            code_coeff_token[column][total][ones]);
    for (unsigned total = 0; total < 15; total++)
        for (unsigned zeros = 0; zeros < 16; zeros++)
            expect_code(c.total_zeros[total][zeros],
                        zeros < 16 - total ? code_total_zeros[total][zeros] : NULL);
    for (unsigned total = 0; total < 3; total++)
        for (unsigned zeros = 0; zeros < 4 - total; zeros++)
            expect_code(c.total_zeros_420[total][zeros], code_total_zeros_420[total][zeros]);
    for (unsigned total = 0; total < 7; total++)
        for (unsigned zeros = 0; zeros < 8 - total; zeros++)
            expect_code(c.total_zeros_422[total][zeros], code_total_zeros_422[total][zeros]);
    for (unsigned left = 1; left <= 7; left++)
        for (unsigned run = 0; run <= (left < 7 ? left : 14); run++)
            expect_code(c.run_before[left - 1][run], code_run_before[left - 1][run]);
}

/* Blocks of one to count levels of a magnitude, written and parsed */
static void check_levels(struct cavlc_codes *c, struct rng *r, int32_t magnitude, unsigned count)
{
    static const uint8_t identity[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    struct bit_writer w = {0};
    int32_t level[16] = {0}, back[16] = {0};
    struct h264_bits b;
    unsigned token, total, places = 1 + rng_below(r, count);
    for (unsigned i = 0; i < places; i++)
        level[rng_below(r, count)] = rng_one_in(r, 2) ? magnitude : -magnitude;
    if (rng_one_in(r, 2))
        level[rng_below(r, count)] = rng_one_in(r, 2) ? 1 : -1;
    total = cavlc_block(&w, c, H264_NC_0, level, count);
    bit_writer_trailing(&w);
    assert_true(bit_writer_reserve(&w, 128));
    memset(w.data + w.bits / 8, 0, 128);
    h264_bits_init(&b, w.data, w.bits / 8);
    token = h264_cavlc_token(h264_bits_window(&b), H264_NC_0);
    assert_int_equal(token >> 2 & 31, total);
    assert_true(h264_cavlc_levels_32(&b, token, count, identity, 0, back));
    assert_memory_equal(level, back, sizeof(level));
    assert_int_equal(b.pos, b.end);
    bit_writer_free(&w);
}

static void levels(void **state)
{
    struct cavlc_codes c;
    struct rng r = {7};
    cavlc_codes_build(&c);
    for (int32_t magnitude = 1; magnitude < 5000; magnitude++)
        check_levels(&c, &r, magnitude, magnitude & 1 ? 16 : 15);
    for (int32_t magnitude = 32768; magnitude > 5000; magnitude -= 61)
        check_levels(&c, &r, magnitude, 16);
}

/* ---- CABAC ---- */

enum { BINS = 200000 };

/* A random string of bins: kinds by code */
struct script {
    uint8_t kind[BINS]; /* 0 decision, 1 with sign, 2 bypass, 3 terminate 0 */
    uint16_t ctx[BINS], value[BINS];
};

static void script_make(struct script *s, struct rng *r)
{
    for (unsigned i = 0; i < BINS; i++) {
        s->kind[i] = (uint8_t)(rng_one_in(r, 4) ? rng_below(r, 4) : 0);
        s->ctx[i] = (uint16_t)(rng_one_in(r, 2) ? rng_below(r, 1024) : rng_below(r, 8));
        /* runs of one value make states skew, and long carries */
        s->value[i] = (uint16_t)(i / 500 % 3 == 0 ? rng_below(r, 256) : i / 500 % 3 == 1 ? 0 : 255);
    }
}

static void script_write(const struct script *s, struct bin_string *bins)
{
    bins->codes = malloc((BINS + 1) * sizeof(*bins->codes));
    for (unsigned i = 0; i < BINS; i++) {
        if (s->kind[i] < 2)
            bins_put(bins, s->ctx[i], s->value[i] & 1);
        if (s->kind[i] == 1)
            bins_sign(bins, s->value[i] >> 1 & 1);
        if (s->kind[i] == 2)
            bins_bypass(bins, 1 + i % 8, s->value[i] >> (7 - i % 8));
        if (s->kind[i] == 3)
            bins_terminate(bins, 0);
    }
    bins_terminate(bins, 1);
}

static void script_check(const struct script *s, const uint8_t *data, size_t size)
{
    static struct h264_cabac c;
    h264_cabac_init_contexts(&c, 2, 30, 1024);
    h264_cabac_start(&c.e, data, data + size);
    for (unsigned i = 0; i < BINS; i++) {
        if (s->kind[i] < 2)
            assert_int_equal(h264_cabac_decide(&c.e, &c.state[s->ctx[i]]), s->value[i] & 1);
        if (s->kind[i] == 1)
            assert_int_equal(h264_cabac_bypass(&c.e), s->value[i] >> 1 & 1);
        for (unsigned k = 0; k <= i % 8 && s->kind[i] == 2; k++)
            assert_int_equal(h264_cabac_bypass(&c.e), s->value[i] >> (7 - k) & 1);
        if (s->kind[i] == 3)
            assert_int_equal(h264_cabac_terminate(&c.e), 0);
    }
    assert_int_equal(h264_cabac_terminate(&c.e), 1);
    assert_false(h264_cabac_overrun(&c.e));
    assert_ptr_equal(h264_cabac_tail(&c.e), data + size);
}

static void engine(void **state)
{
    static struct cabac_coder coder;
    struct script *s = malloc(sizeof(*s));
    struct rng r = {99};
    assert_non_null(s);
    for (unsigned round = 0; round < 6; round++) {
        struct bin_string bins = {0};
        struct bit_writer out = {0};
        script_make(s, &r);
        script_write(s, &bins);
        cabac_coder_contexts(&coder, 2, 30);
        cabac_coder_begin(&coder);
        /* in pieces, as the writer of slices does it */
        for (size_t at = 0, n; at < bins.count; at += n) {
            n = 1 + rng_below(&r, 5000);
            n = n < bins.count - at ? n : bins.count - at;
            cabac_code(&coder, bins.codes + at, n, &out);
        }
        assert_false(out.failed);
        assert_true(out.data[out.bits / 8 - 1] != 0);
        assert_true(bit_writer_reserve(&out, 64));
        memset(out.data + out.bits / 8, 0, 64);
        script_check(s, out.data, out.bits / 8);
        bin_string_free(&bins);
        bit_writer_free(&out);
    }
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(codes), cmocka_unit_test(levels),
                                       cmocka_unit_test(engine)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
