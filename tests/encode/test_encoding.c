/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Settings of an encoding: levels at their limits, refusals in words, parameter sets.
 */
#include "encode/encoding.h"
#include "codec/parameter_sets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static struct encoding wish(uint32_t width, uint32_t height)
{
    struct encoding e;
    encoding_default(&e, width, height);
    return e;
}

/* The level that is chosen; 0: refused. */
static unsigned level_of(const struct encoding *e)
{
    struct encoding_limits limits = {0};
    char why[ENCODING_WHY] = "";
    int error = encoding_check(e, &limits, why);
    assert_int_equal(error, why[0] ? -1 : 0);
    return limits.level_idc;
}

static void expect_refusal(const struct encoding *e, const char *begins)
{
    struct encoding_limits limits;
    char why[ENCODING_WHY] = "";
    assert_int_equal(encoding_check(e, &limits, why), -1);
    if (strncmp(why, begins, strlen(begins)) != 0)
        fail_msg("\"%s\" does not begin with \"%s\"", why, begins);
}

static void frame_sizes(void **state)
{
    static const struct {
        uint32_t width, height;
        unsigned level;
    } cases[] = {
        {16, 16, 10},     {176, 144, 10},   {192, 144, 11},   {352, 288, 11},    {368, 288, 21},
        {352, 576, 21},   {720, 576, 22},   {1280, 720, 31},  {1296, 720, 32},   {1280, 1024, 32},
        {1920, 1088, 40}, {2048, 1024, 40}, {2048, 1088, 42}, {2064, 1088, 50},  {4096, 2304, 51},
        {4112, 2304, 60}, {8192, 4320, 60}, {8192, 4352, 60}, {16384, 2176, 60}, {448, 16, 10},
        {464, 16, 11},    {896, 16, 11},    {912, 16, 21},    {16, 896, 11},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct encoding e = wish(cases[i].width, cases[i].height);
        if (level_of(&e) != cases[i].level)
            fail_msg("%ux%u: level %u", cases[i].width, cases[i].height, level_of(&e));
    }
}

/* Each one macroblock a second, frame, or bit beyond the limit. */
static void levels_at_limits(void **state)
{
    struct encoding e = wish(1920, 1088);
    e.rate = 245760, e.rate_scale = 8160; /* MaxMBPS of level 4 */
    assert_int_equal(level_of(&e), 40);
    e.rate++;
    assert_int_equal(level_of(&e), 42);
    e = wish(1920, 1088);
    e.references = 4; /* MaxDpbMbs 32768 */
    assert_int_equal(level_of(&e), 40);
    e = wish(1280, 720);
    e.references = 4;
    assert_int_equal(level_of(&e), 31);
    e = wish(720, 576);
    e.references = 4;
    assert_int_equal(level_of(&e), 22);
    e = wish(352, 288);
    e.references = 2;
    assert_int_equal(level_of(&e), 11);
    e.references = 3;
    assert_int_equal(level_of(&e), 12);
    e = wish(176, 144);
    e.bit_rate = 64 * 1250;
    assert_int_equal(level_of(&e), 10);
    e.bit_rate++;
    assert_int_equal(level_of(&e), 9);
    e.bit_rate = 800000ull * 1250;
    assert_int_equal(level_of(&e), 62);
    e.bit_rate++;
    expect_refusal(&e, "no level allows this: the bit rate is too high");
    e.bit_rate = 0;
    e.buffer = 175 * 1250 + 1;
    assert_int_equal(level_of(&e), 9);
}

static void level_that_is_asked_for(void **state)
{
    struct encoding e = wish(1280, 720);
    e.level_idc = 51;
    assert_int_equal(level_of(&e), 51);
    e.level_idc = 30;
    expect_refusal(&e, "level 3: the picture has too many macroblocks");
    e.level_idc = 14;
    expect_refusal(&e, "level_idc 14: there is no such level");
    e = wish(1280, 720);
    e.level_idc = 31;
    e.rate = 30, e.rate_scale = 1;
    assert_int_equal(level_of(&e), 31);
    e.rate = 31;
    expect_refusal(&e, "level 3.1: too many macroblocks a second");
    e.rate = e.rate_scale = 0;
    e.references = 4;
    e.height = 736;
    expect_refusal(&e, "level 3.1: the picture has too many macroblocks");
    e = wish(16384, 2192);
    expect_refusal(&e, "no level allows this: the picture has too many macroblocks");
}

static void limits_of_levels(void **state)
{
    struct encoding e = wish(176, 144);
    struct encoding_limits limits;
    char why[ENCODING_WHY];
    assert_int_equal(encoding_check(&e, &limits, why), 0);
    assert_int_equal(limits.mb_width, 11);
    assert_int_equal(limits.mb_height, 9);
    assert_int_equal(limits.mv_y, 64 * 4 - 1);
    assert_int_equal(limits.mv_x, 8191);
    assert_int_equal(limits.mvs_in_two, 0);
    assert_int_equal(limits.bit_rate, 80000);
    e.level_idc = 31;
    e.profile = ENCODING_MAIN, e.transform_8x8 = false;
    assert_int_equal(encoding_check(&e, &limits, why), 0);
    assert_int_equal(limits.mv_y, 512 * 4 - 1);
    assert_int_equal(limits.mvs_in_two, 16);
    assert_int_equal(limits.min_cr, 4);
    assert_int_equal(limits.bit_rate, 14000000);
}

#define REFUSED(text, ...)                                                                         \
    do {                                                                                           \
        struct encoding e = wish(320, 240);                                                        \
        __VA_ARGS__;                                                                               \
        expect_refusal(&e, text);                                                                  \
    } while (0)

static void refusals(void **state)
{
    REFUSED("size 0x240", e.width = 0);
    REFUSED("size 320x16385", e.height = 16385);
    REFUSED("size 321x240: is odd, which 4:2:0 cannot crop; scale to 322x240", e.width = 321);
    REFUSED("chroma format 2", e.chroma_format_idc = 2);
    REFUSED("references 0", e.references = 0);
    REFUSED("references 5", e.references = 5);
    REFUSED("slices 0", e.slices = 0);
    REFUSED("slices 5", e.slices = 5);
    REFUSED("slices 4: the picture has 2 rows", e.slices = 4, e.height = 32);
    REFUSED("qp 52", e.qp = 52);
    REFUSED("qp -1", e.qp = -1);
    REFUSED("chroma QP offset 13", e.chroma_qp_offset = 13);
    REFUSED("deblocking 3", e.deblocking = 3);
    REFUSED("deblocking's alpha offset 7", e.filter_offset_a = 7);
    REFUSED("deblocking's beta offset -7", e.filter_offset_b = -7);
    REFUSED("rate 25/0", e.rate = 25);
    REFUSED("rate 2147483648/1: shorten", e.rate = 1u << 31, e.rate_scale = 1);
    REFUSED("sample aspect ratio 4:0", e.sar_width = 4);
    REFUSED("colour primaries 3", e.colour.primaries = 3);
    REFUSED("transfer characteristics 0", e.colour.transfer = 0);
    REFUSED("matrix coefficients 0: RGB", e.colour.matrix = 0);
    REFUSED("profile 3", e.profile = 3);
    REFUSED("CABAC: Constrained Baseline has none", e.profile = ENCODING_BASELINE);
    REFUSED("8x8 transform: is of the profile high", e.profile = ENCODING_MAIN);
    REFUSED("luma alone: is of the profile high", e.profile = ENCODING_MAIN,
            e.transform_8x8 = false, e.chroma_format_idc = 0);
}

static void make_sets(const struct encoding *e, struct h264_sps *sps, struct h264_pps *pps)
{
    struct encoding_limits limits;
    char why[ENCODING_WHY];
    assert_int_equal(encoding_check(e, &limits, why), 0);
    encoding_sets(e, &limits, sps, pps);
}

static void odd_luma_alone(void **state)
{
    struct encoding e = wish(321, 239);
    struct h264_sps sps;
    struct h264_pps pps;
    e.chroma_format_idc = 0;
    make_sets(&e, &sps, &pps);
    assert_int_equal(sps.crop_right, 15);
    assert_int_equal(sps.crop_bottom, 1);
}

static void sets(void **state)
{
    struct encoding e = wish(1920, 1080);
    struct h264_sps sps;
    struct h264_pps pps;
    e.references = 3;
    e.rate = 30000, e.rate_scale = 1001;
    e.sar_width = 4, e.sar_height = 3;
    e.colour = (struct encoding_colour){9, 16, 9, true, 3};
    e.qp = 30, e.chroma_qp_offset = -2;
    make_sets(&e, &sps, &pps);
    assert_int_equal(sps.profile_idc, 100);
    assert_int_equal(sps.level_idc, 40);
    assert_int_equal(sps.crop_bottom, 8);
    assert_int_equal(sps.reorder_frames, 0);
    assert_int_equal(sps.max_dpb_frames, 3);
    assert_int_equal(sps.vui.aspect_ratio_idc, 14);
    assert_int_equal(sps.vui.time_scale, 60000);
    assert_int_equal(sps.vui.colour_primaries, 9);
    assert_true(sps.vui.full_range);
    assert_int_equal(sps.vui.chroma_loc_top, 2); /* top left */
    assert_int_equal(sps.vui.chroma_loc_bottom, 2);
    assert_int_equal(pps.pic_init_qp, 30);
    assert_int_equal(pps.chroma_qp_offset[1], -2);
    assert_int_equal(pps.num_ref_default[0], 3);
    e = wish(176, 144);
    e.profile = ENCODING_BASELINE;
    e.cabac = e.transform_8x8 = false;
    e.level_idc = 9;
    e.sar_width = 64, e.sar_height = 45;
    make_sets(&e, &sps, &pps);
    assert_int_equal(sps.level_idc, 11); /* level 1b (A.3.1) */
    assert_int_equal(sps.constraint_flags, 0xd0);
    assert_int_equal(sps.vui.aspect_ratio_idc, 255);
    assert_int_equal(sps.vui.sar_width, 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frame_sizes),
        cmocka_unit_test(levels_at_limits),
        cmocka_unit_test(limits_of_levels),
        cmocka_unit_test(level_that_is_asked_for),
        cmocka_unit_test(refusals),
        cmocka_unit_test(odd_luma_alone),
        cmocka_unit_test(sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
