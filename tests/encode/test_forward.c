/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Forward transforms and the quantiser of the encoder, against the inverse of the reference.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "encode/reference/forward.h"
#include "encode/reference/quantise.h"
#include "reference/recon_ref.h"

#include <stdlib.h>
#include <string.h>

static uint32_t seed = 21;

static int random_below(int n)
{
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 8) % (uint32_t)n);
}

static void random_residual(int32_t *r, int count)
{
    int most = 1 + random_below(255);
    for (int i = 0; i < count; i++)
        r[i] = random_below(2 * most + 1) - most;
}

static int worst_error(const int32_t *a, const int32_t *b, int count)
{
    int worst = 0;
    for (int i = 0; i < count; i++)
        worst = abs(a[i] - b[i]) > worst ? abs(a[i] - b[i]) : worst;
    return worst;
}

static uint8_t flat[64];

/* Quantise to nearest and back at a QP: the greatest error of a sample */
static int error4(int qp)
{
    struct quantiser q = quantiser_at(qp, 32, 2063);
    int32_t r[16], c[16], level[16], back[16];
    random_residual(r, 16);
    forward_dct4(r, c);
    quantise4(&q, c, 0, level);
    ref_scale4(level, flat, qp, false, back);
    ref_idct4(back, back);
    return worst_error(r, back, 16);
}

static int error8(int qp)
{
    struct quantiser q = quantiser_at(qp, 32, 2063);
    int32_t r[64], c[64], level[64], back[64];
    random_residual(r, 64);
    forward_dct8(r, c);
    quantise8(&q, c, level);
    ref_scale8(level, flat, qp, back);
    ref_idct8(back, back);
    return worst_error(r, back, 64);
}

/* Quantisation steps double with each 6 of QP: 0.625 at QP 0. A sample's error stays within three
 * steps and the rounding of the transforms. */
static void test_round_trip(void **state)
{
    (void)state;
    for (int qp = 0; qp <= 51; qp++) {
        int limit = (3 * 7 << (qp / 6)) / 8 + 2;
        for (int i = 0; i < 500; i++) {
            assert_in_range(error4(qp), 0, limit);
            assert_in_range(error8(qp), 0, limit);
        }
    }
}

/* The residual of one level alone gives this level and no other, at each position and QP: 3, since
 * smaller ones may not be worth their bits. */
static void test_basis(void **state)
{
    (void)state;
    for (int qp = 24; qp <= 51; qp++) {
        struct quantiser q = quantiser_at(qp, 32, 2063);
        for (int i = 0; i < 64; i++) {
            int32_t v[64] = {0}, want[64] = {0};
            want[i] = v[i] = random_below(2) ? 3 : -3;
            ref_scale8(v, flat, qp, v);
            ref_idct8(v, v);
            forward_dct8(v, v);
            quantise8(&q, v, v);
            assert_memory_equal(v, want, sizeof(want));
        }
        for (int i = 0; i < 16; i++) {
            int32_t v[16] = {0}, want[16] = {0};
            want[i] = v[i] = random_below(2) ? 3 : -3;
            ref_scale4(v, flat, qp, false, v);
            ref_idct4(v, v);
            forward_dct4(v, v);
            quantise4(&q, v, 0, v);
            assert_memory_equal(v, want, sizeof(want));
        }
    }
}

/* A macroblock of one difference from its prediction: DC levels alone bring it back. */
static void test_dc(void **state)
{
    (void)state;
    for (int qp = 0; qp <= 51; qp++) {
        struct quantiser q = quantiser_at(qp, 32, 8000);
        int32_t r[16], c[16], dc[16], back[16];
        int value = random_below(511) - 255, limit = (7 << (qp / 6)) / 8 + 1;
        for (int i = 0; i < 16; i++)
            r[i] = value;
        forward_dct4(r, c);
        for (int i = 1; i < 16; i++)
            assert_int_equal(c[i], 0);
        for (int i = 0; i < 16; i++)
            dc[i] = c[0];
        forward_luma_dc(dc, dc);
        quantise_dc(&q, dc, 16, dc);
        ref_luma_dc(dc, flat, qp, back);
        for (int i = 0; i < 16; i++)
            assert_in_range(abs(((back[i] + 32) >> 6) - value), 0, limit);
        for (int i = 0; i < 4; i++)
            dc[i] = c[0];
        forward_chroma_dc(dc, dc);
        quantise_dc(&q, dc, 4, dc);
        ref_chroma_dc(dc, 4, flat, qp, back);
        for (int i = 0; i < 4; i++)
            assert_in_range(abs(((back[i] + 32) >> 6) - value), 0, limit);
    }
}

/* A level stands where it is worth its bits: above half a step, below 3/4 of one. One level more is
 * not taken just above half. Levels stop at the limit. */
static void test_quantiser(void **state)
{
    struct quantiser q = quantiser_at(28, 32, 2063), small = quantiser_at(0, 32, 5);
    int32_t c[16] = {0}, level[16], one, two;
    (void)state;
    for (c[0] = 0; !quantise4(&q, c, 0, level); c[0]++)
        ;
    one = c[0];
    for (; quantise4(&q, c, 0, level) && level[0] == 1; c[0]++)
        ;
    two = c[0];
    assert_in_range(one, 64 / 2, 64 * 3 / 4); /* a step is 64 here */
    assert_in_range(two, 64 * 3 / 2, 64 * 7 / 4);
    c[0] = -16320;
    assert_true(quantise4(&small, c, 0, level));
    assert_int_equal(level[0], -5);
    assert_false(quantise4(&small, c, 1, level));
}

/* Of two coefficients of 0.8 steps, the one next to the others has a level. The one at the end
 * would need many bits, and has none. */
static void test_last(void **state)
{
    struct quantiser q = quantiser_at(28, 32, 2063);
    int32_t c[16] = {0}, level[16];
    (void)state;
    c[0] = 256;  /* of 64 a step */
    c[1] = 80;   /* of 100 */
    c[15] = 125; /* of 156 */
    assert_true(quantise4(&q, c, 0, level));
    assert_int_equal(level[0], 4);
    assert_int_equal(level[1], 1);
    assert_int_equal(level[15], 0);
}

static int fill_flat(void **state)
{
    (void)state;
    memset(flat, 16, sizeof(flat));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_basis), cmocka_unit_test(test_dc),
        cmocka_unit_test(test_quantiser),  cmocka_unit_test(test_last),
    };
    return cmocka_run_group_tests(tests, fill_flat, NULL);
}
