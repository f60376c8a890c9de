/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The reference reconstruction against definitions in another form: sample positions on a
 * half-sample lattice, weights and availability as tables.
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

/* ---- inter prediction ---- */

#define PLANE 24
static uint16_t plane[PLANE * PLANE];

static int full(int x, int y)
{
    x = x < 0 ? 0 : x >= PLANE ? PLANE - 1 : x;
    y = y < 0 ? 0 : y >= PLANE ? PLANE - 1 : y;
    return plane[y * PLANE + x];
}

static const int tap[6] = {1, -5, 20, 20, -5, 1};

static int clip(int v, int depth)
{
    return v < 0 ? 0 : v >= 1 << depth ? (1 << depth) - 1 : v;
}

/* A sample of the lattice with twice the resolution; the middle one is filtered vertically first,
 * unlike the reference. */
static int lattice(int x2, int y2, int depth)
{
    int x = x2 >> 1, y = y2 >> 1, sum = 0;
    if (!(x2 & 1) && !(y2 & 1))
        return full(x, y);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            if ((x2 & 1) && (y2 & 1))
                sum += tap[i] * tap[j] * full(x + i - 2, y + j - 2);
            else if ((x2 & 1) && j == 0)
                sum += tap[i] * full(x + i - 2, y);
            else if (!(x2 & 1) && i == 0)
                sum += tap[j] * full(x, y + j - 2);
    return (x2 & 1) && (y2 & 1) ? clip((sum + 512) >> 10, depth) : clip((sum + 16) >> 5, depth);
}

/* Quarter positions are the mean of their two neighbours on the lattice: on the diagonal those that
 * are half in one direction.
 */
static int quarter(int x4, int y4, int depth)
{
    int x2 = x4 >> 1, y2 = y4 >> 1;
    if (!(x4 & 1) && !(y4 & 1))
        return lattice(x2, y2, depth);
    if (!(y4 & 1))
        return (lattice(x2, y2, depth) + lattice(x2 + 1, y2, depth) + 1) >> 1;
    if (!(x4 & 1))
        return (lattice(x2, y2, depth) + lattice(x2, y2 + 1, depth) + 1) >> 1;
    if ((x2 & 1) != (y2 & 1)) /* the corner itself is of that kind, and the opposite one */
        return (lattice(x2, y2, depth) + lattice(x2 + 1, y2 + 1, depth) + 1) >> 1;
    return (lattice(x2 + 1, y2, depth) + lattice(x2, y2 + 1, depth) + 1) >> 1;
}

static void check_luma(int depth, int x, int y, int mv_x, int mv_y)
{
    uint16_t pred[16];
    ref_inter_luma(plane, PLANE, PLANE, PLANE, x, y, 4, 4, mv_x, mv_y, depth, pred);
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 4; i++)
            assert_int_equal(pred[4 * j + i],
                             quarter(4 * (x + i) + mv_x, 4 * (y + j) + mv_y, depth));
}

static void test_luma_positions(void **state)
{
    for (int depth = 8; depth <= 14; depth += 2) {
        for (int i = 0; i < PLANE * PLANE; i++)
            plane[i] = (uint16_t)(random_below(4) ? random_below(1 << depth)
                                                  : random_below(2) * ((1 << depth) - 1));
        for (int position = 0; position < 16; position++) {
            check_luma(depth, 8, 8, position & 3, position >> 2);
            check_luma(depth, 0, 0, -40 + (position & 3), -12 + (position >> 2));
            check_luma(depth, 20, 20, 36 + (position & 3), 8 + (position >> 2));
            check_luma(depth, 4, 12, -32768 + (position & 3), 32764 + (position >> 2));
        }
    }
}

static void test_chroma_positions(void **state)
{
    for (int i = 0; i < PLANE * PLANE; i++)
        plane[i] = (uint16_t)random_below(256);
    for (int n = 0; n < 256; n++) {
        int bits_y = n & 1 ? 3 : 2, mv_x = random_below(400) - 200, mv_y = random_below(400) - 200;
        double fx = (mv_x & 7) / 8.0, fy = (mv_y & ((1 << bits_y) - 1)) / (double)(1 << bits_y);
        int x = 4 + (mv_x >> 3), y = 6 + (mv_y >> bits_y);
        double want = (1 - fx) * (1 - fy) * full(x, y) + fx * (1 - fy) * full(x + 1, y) +
                      (1 - fx) * fy * full(x, y + 1) + fx * fy * full(x + 1, y + 1);
        uint16_t pred[4];
        ref_inter_chroma(plane, PLANE, PLANE, PLANE, 4, 6, 2, 2, mv_x, mv_y, 3, bits_y, pred);
        assert_int_equal(pred[0], (int)floor(want + 0.5));
    }
}

static int weighted(struct ref_weights k, int p0, int p1, int depth)
{
    uint16_t a = (uint16_t)p0, b = (uint16_t)p1, out;
    ref_weight(&k, p0 < 0 ? NULL : &a, p1 < 0 ? NULL : &b, 1, depth, &out);
    return out;
}

static void test_weights(void **state)
{
    struct ref_weights none = {REC_WEIGHT_DEFAULT, 0, {0, 0}, {0, 0}};
    assert_int_equal(weighted(none, 10, -1, 8), 10);
    assert_int_equal(weighted(none, -1, 11, 8), 11);
    assert_int_equal(weighted(none, 10, 11, 8), 11);
    /* no rounding without a denominator */
    assert_int_equal(
        weighted((struct ref_weights){REC_WEIGHT_EXPLICIT, 0, {2, 0}, {-5, 0}}, 10, -1, 8), 15);
    assert_int_equal(
        weighted((struct ref_weights){REC_WEIGHT_EXPLICIT, 1, {1, 0}, {0, 0}}, 3, -1, 8), 2);
    /* the shift of a negative product is towards minus infinity, and the offset comes after it */
    assert_int_equal(
        weighted((struct ref_weights){REC_WEIGHT_EXPLICIT, 2, {-1, 0}, {3, 0}}, 5, -1, 8), 2);
    assert_int_equal(
        weighted((struct ref_weights){REC_WEIGHT_EXPLICIT, 5, {-128, 0}, {0, 0}}, 200, -1, 8), 0);
    assert_int_equal(
        weighted((struct ref_weights){REC_WEIGHT_EXPLICIT, 5, {127, 0}, {0, 0}}, 200, -1, 8), 255);
    assert_int_equal(
        weighted((struct ref_weights){REC_WEIGHT_EXPLICIT, 5, {127, 0}, {0, 0}}, 200, -1, 10), 794);
    assert_int_equal(
        weighted((struct ref_weights){REC_WEIGHT_EXPLICIT, 0, {0, 1}, {0, 9}}, -1, 20, 8), 29);
    /* both: (p0 w0 + p1 w1 + 2^logWD) >> (logWD + 1), offsets averaged upwards */
    assert_int_equal(
        weighted((struct ref_weights){REC_WEIGHT_EXPLICIT, 0, {1, 1}, {1, 2}}, 10, 11, 8), 13);
    assert_int_equal(
        weighted((struct ref_weights){REC_WEIGHT_EXPLICIT, 0, {1, 1}, {-1, -2}}, 10, 11, 8), 10);
    assert_int_equal(
        weighted((struct ref_weights){REC_WEIGHT_EXPLICIT, 7, {128, 127}, {0, 0}}, 255, 255, 8),
        254);
    /* implicit: default where one list is used */
    assert_int_equal(
        weighted((struct ref_weights){REC_WEIGHT_IMPLICIT, 5, {96, -32}, {0, 0}}, 100, 20, 8), 140);
    assert_int_equal(
        weighted((struct ref_weights){REC_WEIGHT_IMPLICIT, 5, {96, -32}, {0, 0}}, 100, -1, 8), 100);
}

static void test_weight_lookup(void **state)
{
    int16_t table[5 * 6];
    struct rec_slice slice = {.num_ref = {3, 2},
                              .weight_mode = REC_WEIGHT_EXPLICIT,
                              .log2_denom = {4, 6},
                              .slice_type = 1};
    struct rec_view view = {.weights = table};
    struct ref_weights k;
    for (int i = 0; i < 30; i++)
        table[i] = (int16_t)i;
    k = ref_weights_of(&view, &slice, 2, 1, 2);
    assert_int_equal(k.log2_denom, 6);
    assert_int_equal(k.w[0], 2 * 6 + 4);
    assert_int_equal(k.o[0], 2 * 6 + 5);
    assert_int_equal(k.w[1], (3 + 1) * 6 + 4);
    k = ref_weights_of(&view, &slice, 0, -1, 0);
    assert_int_equal(k.log2_denom, 4);
    assert_int_equal(k.w[0], 0);
    assert_int_equal(k.o[0], 1);
    slice.weight_mode = REC_WEIGHT_IMPLICIT;
    k = ref_weights_of(&view, &slice, 2, 1, 1);
    assert_int_equal(k.w[1], 5);
    assert_int_equal(k.w[0], 59);
}

/* ---- intra prediction ---- */

static struct ref_neighbours ramp(void)
{
    struct ref_neighbours n = {
        .left = true, .top = true, .top_right = true, .corner = true, .corner_sample = 40};

    for (int i = 0; i < 32; i++)
        n.top_samples[i] = 40 + 2 * (i + 1);
    for (int i = 0; i < 16; i++)
        n.left_samples[i] = 40 + 3 * (i + 1);
    return n;
}

static void test_intra_plane(void **state)
{
    struct ref_neighbours n = ramp();
    uint16_t pred[256];
    ref_intra_16x16(3, &n, 8, pred); /* a plane continues a ramp up to its rounded slopes */
    for (int y = 0; y < 16; y++)
        for (int x = 0; x < 16; x++)
            assert_true(abs(pred[16 * y + x] - (40 + 2 * (x + 1) + 3 * (y + 1))) <= 1);
    ref_intra_chroma(3, &n, 8, 8, pred);
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 8; x++)
            assert_true(abs(pred[8 * y + x] - (40 + 2 * (x + 1) + 3 * (y + 1))) <= 1);
}

static void test_intra_dc(void **state)
{
    struct ref_neighbours n = ramp();
    uint16_t pred[256];
    ref_intra_4x4(2, &n, 8, pred);
    assert_int_equal(pred[5], (42 + 44 + 46 + 48 + 43 + 46 + 49 + 52 + 4) >> 3);
    n.left = false;
    ref_intra_4x4(2, &n, 8, pred);
    assert_int_equal(pred[5], (42 + 44 + 46 + 48 + 2) >> 2);
    n.top = false;
    ref_intra_4x4(2, &n, 10, pred);
    assert_int_equal(pred[5], 512);
    /* chroma: the corner blocks prefer one side (8.3.4.1 to 8.3.4.3) */
    n = ramp();
    ref_intra_chroma(0, &n, 8, 8, pred);
    assert_int_equal(pred[0], (42 + 44 + 46 + 48 + 43 + 46 + 49 + 52 + 4) >> 3);
    assert_int_equal(pred[4], (50 + 52 + 54 + 56 + 2) >> 2);
    assert_int_equal(pred[32], (55 + 58 + 61 + 64 + 2) >> 2);
    assert_int_equal(pred[36], (50 + 52 + 54 + 56 + 55 + 58 + 61 + 64 + 4) >> 3);
    n.top = false;
    ref_intra_chroma(0, &n, 8, 8, pred);
    assert_int_equal(pred[4], (43 + 46 + 49 + 52 + 2) >> 2);
}

static void test_intra_directional(void **state)
{
    struct ref_neighbours n = ramp();
    uint16_t pred[64];
    ref_intra_4x4(0, &n, 8, pred);
    assert_int_equal(pred[14], 46);
    ref_intra_4x4(1, &n, 8, pred);
    assert_int_equal(pred[14], 52);
    ref_intra_4x4(3, &n, 8, pred); /* down left, of an even ramp */
    assert_int_equal(pred[0], 44);
    assert_int_equal(pred[15], (54 + 3 * 56 + 2) >> 2);
    n.top_right = false;
    ref_intra_4x4(3, &n, 8, pred);
    assert_int_equal(pred[15], 48);
    ref_intra_4x4(4, &n, 8, pred); /* down right: the diagonal sees the corner */
    assert_int_equal(pred[0], (42 + 2 * 40 + 43 + 2) >> 2);
    assert_int_equal(pred[15], pred[0]);
    assert_int_equal(pred[3], (44 + 2 * 46 + 48 + 2) >> 2);
    assert_int_equal(pred[12], (46 + 2 * 49 + 52 + 2) >> 2);
    ref_intra_4x4(8, &n, 8, pred); /* horizontal up ends in the last sample */
    assert_int_equal(pred[0], (43 + 46 + 1) >> 1);
    assert_int_equal(pred[9], (49 + 3 * 52 + 2) >> 2);
    assert_int_equal(pred[15], 52);
    n.left = n.corner = n.top_right = false;
    /* filtered: the first without a corner, the last with substitutes */
    ref_intra_8x8(0, &n, 8, pred);
    assert_int_equal(pred[0], (3 * 42 + 44 + 2) >> 2);
    assert_int_equal(pred[1], 44);
    assert_int_equal(pred[7], (54 + 2 * 56 + 56 + 2) >> 2);
}

/* Which 4x4 blocks, by luma4x4BlkIdx, have their top right inside the macroblock or above it */
static void test_intra_availability(void **state)
{
    static const uint8_t x[16] = {0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3};
    static const uint8_t y[16] = {0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3, 2, 2, 3, 3};
    unsigned with_all = 0, with_none = 0, with_c = 0;
    struct ref_neighbours n;
    for (int blk = 0; blk < 16; blk++) {
        ref_intra_avail(31, x[blk], y[blk], 4, &n);
        with_all |= (unsigned)n.top_right << blk;
        assert_true(n.left && n.top && n.corner);
        ref_intra_avail(0, x[blk], y[blk], 4, &n);
        with_none |= (unsigned)n.top_right << blk;
        assert_int_equal(n.left, x[blk] > 0);
        assert_int_equal(n.top, y[blk] > 0);
        assert_int_equal(n.corner, x[blk] > 0 && y[blk] > 0);
        ref_intra_avail(REC_AVAIL_C, x[blk], y[blk], 4, &n);
        with_c |= (unsigned)n.top_right << blk;
    }
    assert_int_equal(with_all, 0x5777);  /* not 3, 7, 11, 13, 15 */
    assert_int_equal(with_none, 0x5744); /* nor the top row: 0, 1, 4, 5 */
    assert_int_equal(with_c, 0x5764);
    ref_intra_avail(REC_AVAIL_B, 2, 0, 8, &n);
    assert_false(n.top_right);
    ref_intra_avail(REC_AVAIL_B, 0, 0, 8, &n);
    assert_true(n.top_right);
    ref_intra_avail(0, 0, 2, 8, &n);
    assert_true(n.top_right);
    ref_intra_avail(31, 2, 2, 8, &n);
    assert_false(n.top_right);
}

/* ---- deblocking ---- */

static void test_deblock_line(void **state)
{
    static const uint16_t edge[8] = {100, 100, 100, 100, 104, 104, 104, 104};
    uint16_t s[8];
    memcpy(s, edge, sizeof(s));
    ref_deblock_line(s + 4, 1, 0, 51, 0, 0, false, 8);
    assert_memory_equal(s, edge, sizeof(s));
    ref_deblock_line(s + 4, 1, 4, 15, 0, 0, false, 8); /* alpha is 0 below indexA 16 */
    assert_memory_equal(s, edge, sizeof(s));
    ref_deblock_line(s + 4, 1, 4, 40, 0, 0, false, 8);
    assert_memory_equal(s, ((uint16_t[8]){100, 101, 101, 102, 103, 103, 104, 104}), sizeof(s));
    memcpy(s, edge, sizeof(s));
    ref_deblock_line(s + 4, 1, 4, 40, 0, 0, true, 8); /* chroma: one sample on each side */
    assert_memory_equal(s, ((uint16_t[8]){100, 100, 100, 101, 103, 104, 104, 104}), sizeof(s));
    memcpy(s, edge, sizeof(s));
    ref_deblock_line(s + 4, 1, 1, 40, 0, 0, false, 8); /* tC0 4, delta 2 */
    assert_memory_equal(s, ((uint16_t[8]){100, 100, 101, 102, 102, 103, 104, 104}), sizeof(s));
}

static void test_strength(void **state)
{
    struct rec_mb mbs[2] = {{.kind = REC_MB_INTER}, {.kind = REC_MB_INTER}};
    struct rec_motion motion[2];
    struct rec_slice slices[2] = {
        {.ref = {{REC_REF(1, 3), REC_REF(2, 3)}, {REC_REF(1, 3)}}, .num_ref = {2, 1}},
        {.ref = {{REC_REF(2, 3), REC_REF(1, 3)}}, .num_ref = {2, 0}}};
    struct rec_view view = {.head = {.mb_width = 2, .mb_height = 1, .mb_count = 2},
                            .mbs = mbs,
                            .motion = motion,
                            .slices = slices};

    memset(motion, 0, sizeof(motion));
    for (int i = 0; i < 2; i++)
        memset(motion[i].ref_idx[1], -1, 4);
    assert_int_equal(ref_deblock_strength(&view, 15, 0, 16, 0), 0);
    motion[1].mv[0][0][1] = -4;
    assert_int_equal(ref_deblock_strength(&view, 15, 0, 16, 0), 1);
    motion[1].mv[0][0][1] = -3;
    assert_int_equal(ref_deblock_strength(&view, 15, 0, 16, 0), 0);
    mbs[1].slice = 1; /* index 0 of the other slice is another picture */
    assert_int_equal(ref_deblock_strength(&view, 15, 0, 16, 0), 1);
    motion[1].ref_idx[0][0] = 1; /* and index 1 the same one */
    assert_int_equal(ref_deblock_strength(&view, 15, 0, 16, 0), 0);
    memset(motion[0].ref_idx[0], -1, 4); /* list 1 names it as well */
    memset(motion[0].ref_idx[1], 0, 4);
    assert_int_equal(ref_deblock_strength(&view, 15, 0, 16, 0), 0);
    memset(motion[0].ref_idx[0], 0, 4); /* two vectors against one */
    assert_int_equal(ref_deblock_strength(&view, 15, 0, 16, 0), 1);
    mbs[1].slice = 0; /* one picture twice: the crossed pairing counts too */
    motion[1] = motion[0];
    motion[0].mv[0][3][0] = 20;
    motion[1].mv[1][0][0] = 20;
    assert_int_equal(ref_deblock_strength(&view, 15, 0, 16, 0), 0);
    mbs[0].nonzero = 1 << 3;
    assert_int_equal(ref_deblock_strength(&view, 15, 0, 16, 0), 2);
    mbs[0].kind = REC_MB_INTRA_PCM;
    assert_int_equal(ref_deblock_strength(&view, 15, 0, 16, 0), 4);
    assert_int_equal(ref_deblock_strength(&view, 11, 0, 12, 0), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_luma_positions),    cmocka_unit_test(test_chroma_positions),
        cmocka_unit_test(test_weights),           cmocka_unit_test(test_weight_lookup),
        cmocka_unit_test(test_intra_plane),       cmocka_unit_test(test_intra_dc),
        cmocka_unit_test(test_intra_directional), cmocka_unit_test(test_intra_availability),
        cmocka_unit_test(test_deblock_line),      cmocka_unit_test(test_strength),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
