/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pixel formats: names, the stream's own, wishes, and the layout of a frame.
 */
#include "codec/h264_params.h"
#include "daemon/worker/feed/pixels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static struct h264_sps sps_of(uint8_t chroma, uint8_t luma_depth, uint8_t chroma_depth)
{
    return (struct h264_sps){.chroma_format_idc = chroma, .bit_depth = {luma_depth, chroma_depth}};
}

static void test_names(void **state)
{
    struct pixels p;
    assert_true(pixels_by_name("yuv420p10le", &p));
    assert_int_equal(p.depth, 10);
    assert_int_equal(p.planes, RECON_I420);
    assert_true(pixels_by_name("gbrp", &p));
    assert_true(p.rgb);
    assert_true(pixels_by_name("nv12", &p));
    assert_false(pixels_by_name("nv1210le", &p));
    assert_false(pixels_by_name("yuv420p11le", &p));
    assert_false(pixels_by_name("rgb24", &p));
    assert_false(pixels_by_name("", &p));
}

static void test_own(void **state)
{
    static const struct {
        uint8_t chroma, luma, depth;
        const char *name;
    } cases[] = {{1, 8, 8, "yuv420p"},    {2, 8, 8, "yuv422p"},       {3, 8, 8, "yuv444p"},
                 {0, 8, 8, "gray"},       {1, 10, 10, "yuv420p10le"}, {1, 11, 8, "yuv420p12le"},
                 {1, 8, 9, "yuv420p9le"}, {3, 13, 14, "yuv444p14le"}};
    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct pixels p;
        struct h264_sps sps = sps_of(cases[i].chroma, cases[i].luma, cases[i].depth);
        pixels_of(&sps, &p);
        assert_string_equal(p.name, cases[i].name);
    }
}

static void test_wishes(void **state)
{
    struct h264_sps sps = sps_of(1, 8, 8), grey = sps_of(0, 8, 8);
    struct pixels p;
    enum recon_format delivered;
    assert_true(pixels_choose(NULL, &sps, &p, &delivered));
    assert_string_equal(p.name, "yuv420p");
    assert_true(pixels_choose("nv12", &sps, &p, &delivered));
    assert_int_equal(delivered, RECON_NV12);
    assert_true(pixels_choose("gray", &sps, &p, &delivered));
    assert_int_equal(delivered, RECON_GRAY);
    assert_true(pixels_choose("yuv420p", &grey, &p, &delivered));
    assert_string_equal(p.name, "yuv420p");
    assert_int_equal(delivered, RECON_GRAY); /* its chroma stays grey */
    assert_false(pixels_choose("yuv420p10le", &sps, &p, &delivered));
    assert_false(pixels_choose("yuv444p", &sps, &p, &delivered));
}

static void test_layout(void **state)
{
    struct pixels p;
    struct feed_format f = {0};
    assert_true(pixels_by_name("yuv420p", &p));
    pixels_layout(&p, 1919, 1079, &f);
    assert_int_equal(f.planes, 3);
    assert_int_equal(f.plane_width[1], 960);
    assert_int_equal(f.plane_height[1], 540);
    assert_int_equal(f.stride[1], 1024);
    assert_int_equal(f.plane_offset[1], 2048 * 1079);
    assert_string_equal(f.pix_fmt, "yuv420p");
    assert_true(pixels_by_name("yuv422p10le", &p));
    pixels_layout(&p, 64, 32, &f);
    assert_int_equal(f.plane_width[0], 128); /* bytes */
    assert_int_equal(f.plane_width[2], 64);
    assert_int_equal(f.plane_height[2], 32);
    assert_true(pixels_by_name("nv12", &p));
    pixels_layout(&p, 63, 31, &f);
    assert_int_equal(f.planes, 2);
    assert_int_equal(f.plane_width[1], 64);
    assert_int_equal(f.slot_size % 4096, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_own),
                                       cmocka_unit_test(test_wishes),
                                       cmocka_unit_test(test_layout)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
