/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Levels that are out of range (8.5.10 to 8.5.13): those that are refused are it wherever they
 * stand, and those of real pictures are not refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "codec/abi/entropy_abi.h"
#include "codec/h264_params.h"
#include "codec/level_range.h"
#include "reference/ref_internal.h"

enum { DEPTHS = 7, LEAST = 6 /* weights */ };

static bool any_beyond(const int32_t *v, int n, int depth)
{
    for (int i = 0; i < n; i++)
        if (v[i] < -(1 << (7 + depth)) || v[i] > (1 << (7 + depth)) - 1)
            return true;
    return false;
}

/* One level of this magnitude at place `at` of a block, both signs. */
static bool beyond_4x4(int32_t level, int at, const uint8_t weight[16], int qp, int depth)
{
    int32_t c[16] = {0}, d[16];
    c[at] = level;
    ref_scale4(c, weight, qp, false, d);
    return any_beyond(d, 16, depth);
}

static bool beyond_8x8(int32_t level, int at, const uint8_t weight[64], int qp, int depth)
{
    int32_t c[64] = {0}, d[64];
    c[at] = level;
    ref_scale8(c, weight, qp, d);
    return any_beyond(d, 64, depth);
}

static bool beyond_dc(int32_t level, int at, int count, const uint8_t weight[16], int qp, int depth)
{
    int32_t c[16] = {0}, dc[16];
    c[at] = level;
    if (count == 16)
        ref_luma_dc(c, weight, qp, dc);
    else
        ref_chroma_dc(c, count, weight, qp, dc);
    return any_beyond(dc, count, depth);
}

/* Each level beyond the limit is out of range at each place, for each QP, depth and least weight.
 */
static void test_refused(void **state)
{
    uint8_t weight[64];
    for (int depth = 8; depth < 8 + DEPTHS; depth++)
        for (int qp = -6 * (depth - 8); qp <= 51; qp++)
            for (unsigned shift = 0; shift <= 4; shift++) {
                int prime = qp + 6 * (depth - 8);
                int32_t most = h264_level_most(qp, shift), levels[2] = {1, -1};
                memset(weight, 16 >> shift, sizeof(weight));
                for (int k = 0; k < 2; k++) {
                    for (int at = 0; at < 16; at++)
                        assert_true(beyond_4x4(levels[k] * (most + 1), at, weight, prime, depth));
                    for (int at = 0; at < 64; at++)
                        assert_true(beyond_8x8(levels[k] * (ENT_LEVEL_8X8(most) + 1), at, weight,
                                               prime, depth));
                    for (int at = 0; at < 16; at++)
                        assert_true(beyond_dc(levels[k] * (ENT_LEVEL_DC(most) + 1), at, 16, weight,
                                              prime, depth));
                    for (int at = 0; at < 4; at++)
                        assert_true(beyond_dc(levels[k] * (ENT_LEVEL_DC(most) + 1), at, 4, weight,
                                              prime, depth));
                    for (int at = 0; at < 8; at++)
                        assert_true(beyond_dc(levels[k] * (ENT_LEVEL_DC(most) + 1), at, 8, weight,
                                              prime, depth));
                }
            }
}

/* The DC of a block whose residual is 255 throughout, and what rounding adds. */
static void test_kept(void **state)
{
    for (int qp = 0; qp <= 51; qp++) {
        static const int norm[6] = {10, 11, 13, 14, 16, 18};
        int step = norm[qp % 6] << (qp / 6); /* of d, by flat lists */
        assert_true(255 * 64 / step + 1 <= h264_level_most(qp, 0));
        assert_true(beyond_4x4(
            2 * 32768 / step + 1, 0,
            (const uint8_t[16]){16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16}, qp,
            8));
    }
}

static void test_shift(void **state)
{
    static struct h264_sps sps;
    static struct h264_pps pps;
    static const struct {
        uint8_t weight;
        unsigned shift;
    } cases[] = {{255, 0}, {16, 0}, {15, 1}, {8, 1}, {LEAST, 2}, {4, 2}, {3, 3}, {1, 4}};
    memset(&sps.scaling, 16, sizeof(sps.scaling));
    assert_int_equal(h264_level_shift(&sps, &pps), 0);
    sps.seq_scaling_matrix_present_flag = 1;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sps.scaling.m8[5][63] = cases[i].weight;
        assert_int_equal(h264_level_shift(&sps, &pps), cases[i].shift);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_refused), cmocka_unit_test(test_kept),
                                       cmocka_unit_test(test_shift)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
