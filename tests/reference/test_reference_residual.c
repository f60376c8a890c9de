/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The reference's residual: transforms against matrix products, and the order of a macroblock's
 * coefficients.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "reference/recon_ref.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t seed = 1;

static int random_below(int n)
{
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 8) % (uint32_t)n);
}

/* ---- transforms ---- */

/* Rows are basis functions; the inverse transform is transpose(basis) * d * basis. */
static const double basis4[4][4] = {
    {1, 1, 1, 1}, {1, 0.5, -0.5, -1}, {1, -1, -1, 1}, {0.5, -1, 1, -0.5}};
static const double basis8[8][8] = {
    {8, 8, 8, 8, 8, 8, 8, 8},     {12, 10, 6, 3, -3, -6, -10, -12},
    {8, 4, -4, -8, -8, -4, 4, 8}, {10, -3, -12, -6, 6, 12, 3, -10},
    {8, -8, -8, 8, 8, -8, -8, 8}, {6, -12, 3, 10, -10, -3, 12, -6},
    {4, -8, 8, -4, -4, 8, -8, 4}, {3, -6, 10, -12, 12, -10, 6, -3},
};

static double basis(int size, int i, int j)
{
    return size == 4 ? basis4[i][j] : basis8[i][j] / 8;
}

static double matrix_sample(const int32_t *d, int size, int x, int y)
{
    double sum = 0;
    for (int v = 0; v < size; v++)
        for (int u = 0; u < size; u++)
            sum += basis(size, v, y) * basis(size, u, x) * d[v * size + u];
    return sum;
}

/* With coefficients that are multiples of `step` no half is lost; else the result is off by the
 * truncations, under one. */
static void check_idct(int size, int step, bool exact)
{
    int32_t d[64], r[64];
    for (int i = 0; i < size * size; i++)
        d[i] = random_below(3) ? (random_below(801) - 400) * step : 0;
    if (size == 4)
        ref_idct4(d, r);
    else
        ref_idct8(d, r);
    for (int y = 0; y < size; y++)
        for (int x = 0; x < size; x++) {
            double want = (matrix_sample(d, size, x, y) + 32) / 64;
            if (exact)
                assert_int_equal(r[y * size + x], (int)floor(want));
            else
                assert_true(fabs(r[y * size + x] - floor(want)) <= 1);
        }
}

static void test_idct(void **state)
{
    for (int i = 0; i < 200; i++) {
        check_idct(4, 4, true);
        check_idct(4, 1, false);
        check_idct(8, 64, true);
        check_idct(8, 1, false);
    }
}

static void test_dc_transforms(void **state)
{
    uint8_t flat[16];
    int32_t c[16] = {0}, dc[16];
    memset(flat, 16, sizeof(flat));
    c[0] = 7; /* qP 36: f * 16 * 10 << 0 */
    ref_luma_dc(c, flat, 36, dc);
    for (int i = 0; i < 16; i++)
        assert_int_equal(dc[i], 7 * 160);
    ref_luma_dc(c, flat, 0, dc); /* (7 * 160 + 32) >> 6 */
    assert_int_equal(dc[5], 18);
    ref_chroma_dc((const int32_t[]){1, 2, 3, 4}, 4, flat, 6, dc); /* (f * 160 << 1) >> 5 = f * 10 */
    assert_int_equal(dc[0], 100);
    assert_int_equal(dc[1], -20);
    assert_int_equal(dc[2], -40);
    assert_int_equal(dc[3], 0);
    memset(c, 0, sizeof(c));
    c[2] = 1; /* second row of 4:2:2: the second column of the 4-point transform, 1 1 -1 -1 */
    ref_chroma_dc(c, 8, flat, 33, dc);
    assert_int_equal(dc[0], 160);
    assert_int_equal(dc[3], 160);
    assert_int_equal(dc[4], -160);
    assert_int_equal(dc[7], -160);
}

static void test_scaling(void **state)
{
    uint8_t flat[64];
    int32_t c[64], d[64];
    memset(flat, 16, sizeof(flat));
    for (int i = 0; i < 64; i++)
        c[i] = 3;
    ref_scale4(c, flat, 24, false, d);
    assert_int_equal(d[0], 3 * 160);
    assert_int_equal(d[1], 3 * 16 * 13);
    assert_int_equal(d[5], 3 * 256);
    ref_scale4(c, flat, 0, true, d);
    assert_int_equal(d[0], 3); /* DC is copied */
    assert_int_equal(d[1], (3 * 16 * 13 + 8) >> 4);
    ref_scale8(c, flat, 36, d);
    assert_int_equal(d[0], 3 * 320);
    assert_int_equal(d[9], 3 * 16 * 18);
    assert_int_equal(d[18], 3 * 16 * 32);
    assert_int_equal(d[1], 3 * 16 * 19);
    assert_int_equal(d[2], 3 * 16 * 25);
    assert_int_equal(d[10], 3 * 16 * 24);
}

/* ---- residual of a macroblock ---- */

static struct rec_view residual_view(struct rec_mb *mb, const int16_t *coeffs)
{
    static struct rec_slice slice;
    static struct rec_scaling flat;
    struct rec_view view = {.head = {.mb_width = 1,
                                     .mb_height = 1,
                                     .mb_count = 1,
                                     .chroma_format_idc = 1,
                                     .bit_depth = {8, 8},
                                     .coeff_bytes = 2},
                            .mbs = mb,
                            .slices = &slice,
                            .scaling = &flat,
                            .coeffs = coeffs};
    memset(&flat, 16, sizeof(flat));
    return view;
}

static void test_residual(void **state)
{
    static int16_t coeffs[24][16];
    int32_t r[3][256];
    struct rec_mb mb = {.kind = REC_MB_INTRA_PCM, .coded = {0xffff, 15, 15}};
    struct rec_view view = residual_view(&mb, coeffs[0]);
    for (int i = 0; i < 24 * 16; i++)
        coeffs[i / 16][i % 16] = (int16_t)i;
    ref_residual_mb(&view, 0, r);
    assert_int_equal(r[0][0], 0);
    assert_int_equal(r[0][17], 5);     /* block 0, row 1, column 1 */
    assert_int_equal(r[0][4], 16);     /* block 1 is to its right */
    assert_int_equal(r[0][8], 4 * 16); /* block 4: upper right quadrant */
    assert_int_equal(r[0][255], 255);
    assert_int_equal(r[1][8 * 4], 18 * 16); /* Cb block 2 */
    assert_int_equal(r[2][63], 24 * 16 - 1);
    /* units are found by counting the blocks that are coded before */
    mb = (struct rec_mb){
        .kind = REC_MB_INTER, .coded = {0x8001, 0, 2}, .qp = {24, 24, 24}, .coeff = 1};
    memset(coeffs, 0, sizeof(coeffs));
    coeffs[2][0] = 2; /* 2 * 160 -> (320 + 32) >> 6 */
    coeffs[3][0] = 4; /* chroma DC in block 1: +4 -4 +4 -4, times 160 * 16 / 32 = 80 */
    ref_residual_mb(&view, 0, r);
    assert_int_equal(r[0][0], 0);
    assert_int_equal(r[0][255], 5);
    assert_int_equal(r[1][0], 0);
    assert_int_equal(r[2][0], 5);
    assert_int_equal(r[2][4], -5);
    /* lossless vertical prediction adds up (8.5.15) */
    mb = (struct rec_mb){.kind = REC_MB_INTRA_4X4,
                         .flags = REC_MB_BYPASS,
                         .coded = {1, 0, 0},
                         .intra_mode = {0x22222220, 0x22222222}};
    for (int i = 0; i < 16; i++)
        coeffs[0][i] = 1;
    ref_residual_mb(&view, 0, r);
    assert_int_equal(r[0][0], 1);
    assert_int_equal(r[0][3], 1);
    assert_int_equal(r[0][48], 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_idct),
        cmocka_unit_test(test_dc_transforms),
        cmocka_unit_test(test_scaling),
        cmocka_unit_test(test_residual),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
