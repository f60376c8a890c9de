/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Media bus codes, lines as time, gains of sensors, and the settings of cameras behind a media
 * controller.
 */
#include "camera/camera_params.h"
#include "camera/media_bus.h"

#include <linux/media-bus-format.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void test_codes(void **state)
{
    (void)state;
    char name[16];
    const uint32_t isp[] = {MEDIA_BUS_FMT_YUYV8_2X8, MEDIA_BUS_FMT_SRGGB10_1X10},
                   rgb[] = {MEDIA_BUS_FMT_RGB888_1X24};
    struct media_code c = media_code_of(MEDIA_BUS_FMT_SGBRG12_1X12);
    assert_true(c.class == MEDIA_RAW && c.order == ISP_GBRG && c.depth == 12);
    assert_int_equal(media_code_of(MEDIA_BUS_FMT_Y10_1X10).order, ISP_MONO);
    assert_int_equal(media_code_of(MEDIA_BUS_FMT_UYVY8_1X16).class, MEDIA_YUV);
    assert_int_equal(media_code_of(0xffffffff).class, MEDIA_OTHER);
    media_code_name(MEDIA_BUS_FMT_SRGGB10_1X10, name);
    assert_string_equal(name, "SRGGB10");
    media_code_name(MEDIA_BUS_FMT_RGB888_1X24, name);
    assert_string_equal(name, "code 0x100a");
    assert_int_equal(media_code_pick(isp, 2, MEDIA_BUS_FMT_SRGGB10_1X10, MEDIA_RAW), isp[1]);
    assert_int_equal(media_code_pick(isp, 2, MEDIA_BUS_FMT_SRGGB10_1X10, MEDIA_YUV), isp[0]);
    assert_int_equal(media_code_pick(isp, 2, MEDIA_BUS_FMT_SBGGR8_1X8, MEDIA_RAW), isp[1]);
    assert_int_equal(media_code_pick(rgb, 1, MEDIA_BUS_FMT_SBGGR8_1X8, MEDIA_YUV), rgb[0]);
    assert_int_equal(media_code_pick(NULL, 0, MEDIA_BUS_FMT_SBGGR8_1X8, MEDIA_YUV), 0);
}

/* imx219 at 1640x1232: 182.4 MHz, lines of 3448 samples. */
static void test_timing(void **state)
{
    (void)state;
    struct media_timing t = {182400000, 1640, 1232, 1808, 531};
    assert_true(fabs(media_line_us(&t) - 18.904) < 0.001);
    assert_true(fabs(media_fps(&t) - 30.005) < 0.01);
    assert_int_equal(media_vblank(&t, 10, 4, 60000), 4058);
    assert_int_equal(media_vblank(&t, 1000, 4, 60000), 4);
    assert_int_equal(media_vblank(&t, 0.1, 4, 60000), 60000);
    assert_int_equal(media_vblank(&t, NAN, 4, 60000), 4);
    const struct media_timing wrong[] = {{0, 1640, 1232, 1808, 0},
                                         {-1, 1640, 1232, 1808, 0},
                                         {182400000, 0, 1232, 1808, 0},
                                         {182400000, 1640, 1232, -1, 0},
                                         {182400000, 1640, 1232, INT64_MAX, 0},
                                         {INT64_MAX, 1640, 1232, 0, 0}};
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_true(media_line_us(&wrong[i]) == 0 && media_fps(&wrong[i]) == 0);
    t.vblank = INT64_MAX;
    assert_true(media_fps(&t) == 0);
}

static void test_gains(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t number;
        double factor;
    } known[] = {{"imx219 10-0010", 128, 2},    {"imx219 10-0010", 232, 256.0 / 24},
                 {"imx477 4-001a", 0, 1},       {"imx708_wide", 0, 1},
                 {"ov5647 10-0036", 16, 1},     {"ov9281 10-0060", 255, 255 / 16.0},
                 {"imx290 1-001a", 20, 1.9953}, {"imx296 10-001a", 200, 10}};
    for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++) {
        struct media_gain g = media_gain_of(known[i].name);
        assert_true(fabs(media_gain_factor(&g, known[i].number) - known[i].factor) < 1e-3);
        assert_int_equal(media_gain_number(&g, known[i].factor), known[i].number);
    }
    assert_int_equal(media_gain_of("imx2190 1-0010").kind, MEDIA_GAIN_UNKNOWN);
    assert_int_equal(media_gain_of("").kind, MEDIA_GAIN_UNKNOWN);
    struct media_gain ratio = media_gain_of("imx219");
    assert_true(isfinite(media_gain_factor(&ratio, 256)));
    assert_true(media_gain_number(&ratio, 0) < 0); /* cut by the caller */
}

static void test_settings(void **state)
{
    (void)state;
    struct camera_params p;
    char text[CAMERA_WHY], name[CAMERA_LISTED_NAME];
    int64_t value;
    assert_int_equal(camera_params_parse("v4l2:///dev/video0?sensor=imx219%2010-0010&media=on&"
                                         "controls=vertical_flip=1,focus_absolute=-30",
                                         &p, text),
                     0);
    assert_string_equal(p.device.sensor, "imx219 10-0010");
    assert_int_equal(p.device.media, CAMERA_MEDIA_ON);
    const char *at = p.device.controls;
    assert_true(camera_listed_control(&at, name, &value));
    assert_string_equal(name, "vertical_flip");
    assert_int_equal(value, 1);
    assert_true(camera_listed_control(&at, name, &value));
    assert_string_equal(name, "focus_absolute");
    assert_int_equal(value, -30);
    assert_false(camera_listed_control(&at, name, &value));
    static const char *const wrong[] = {
        "",        "flip",       "flip=",       "flip=x", "=3",
        "flip=1,", "flip=1;a=2", "flip=1,,a=2", "Flip=1", "flip=99999999999999999999",
        "flip=1 "};
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_int_equal(camera_params_set(&p, "controls", wrong[i], text), -1);
    assert_int_equal(camera_params_set(&p, "media", "maybe", text), -1);
    assert_int_equal(camera_params_parse("libcamera:///base/soc/i2c@1/imx219@10?fps=15", &p, text),
                     0);
    assert_int_equal(p.kind, CAMERA_LIBCAMERA);
    assert_string_equal(p.path, "/base/soc/i2c@1/imx219@10");
    char longer[CAMERA_ENTITY + 1];
    memset(longer, 'x', CAMERA_ENTITY);
    longer[CAMERA_ENTITY] = 0;
    assert_int_equal(camera_params_set(&p, "sensor", longer, text), -1);
    assert_int_equal(camera_params_set(&p, "sensor", longer + 1, text), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_codes),
        cmocka_unit_test(test_timing),
        cmocka_unit_test(test_gains),
        cmocka_unit_test(test_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
