/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Calibration files: one of each format, and refusals by name. Mutated files must end in an error
 * or in valid numbers. PELTON_SEED makes the mutations.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "camera/calibration.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char ros[] =
    "image_width: 640\nimage_height: 480\ncamera_name: left\ncamera_matrix:\n  rows: 3\n  cols: 3\n"
    "  data: [500.5, 0., 320.25, 0., 501, 240, 0, 0, 1]\ndistortion_model: "
    "plumb_bob\ndistortion_coefficients:\n  rows: 1\n"
    "  cols: 5\n  data: [-0.3, 0.1, 0.001, -0.002, 0.01]\nrectification_matrix: {rows: 3, cols: 3, "
    "data: [1,0,0,0,1,0,0,0,1]}\n"
    "projection_matrix:\n  rows: 3\n  cols: 4\n  data: [450, 0, 321, 0, 0, 451, 241, 0, 0, 0, 1, "
    "0]\n";
static const char opencv[] = "%YAML:1.0\n---\nimage_width: 640\nimage_height: 480\nflags: "
                             "2\ncamera_matrix: !!opencv-matrix\n   rows: 3\n   cols: 3\n"
                             "   dt: d\n   data: [ 5.3591573396163199e+02, 0., "
                             "3.4228315473308373e+02, 0.,\n       5.3591573396163199e+02, "
                             "2.3557082909788173e+02, 0., 0., 1. ]\ndistortion_coefficients: "
                             "!!opencv-matrix\n   rows: 5\n   cols: 1\n   dt: d\n"
                             "   data: [ -2.6637260909660682e-01, -3.8588898922304653e-02,\n       "
                             "1.7831947042852964e-03, -2.8122100441115472e-04,\n"
                             "       2.3839153080878486e-01 ]\n";
static const char xml[] =
    "<?xml version=\"1.0\"?>\n<opencv_storage>\n<!-- made by hand "
    "--><image_Width>640</image_Width><image_Height>480</image_Height>\n"
    "<Camera_Matrix type_id=\"opencv-matrix\"><rows>3</rows><cols>3</cols><dt>d</dt>\n<data>\n "
    "500. 0. 320. 0. 501. 240. 0. 0. "
    "1.</data></Camera_Matrix>\n<Distortion_Coefficients "
    "type_id=\"opencv-matrix\"><rows>8</rows><cols>1</cols><dt>d</dt>\n"
    "<data>-0.3 0.1 0.001 -0.002 0.01 0.2 0.03 "
    "0.004</data></Distortion_Coefficients>\n</opencv_storage>\n";
static const char kalibr[] =
    "cam0:\n  camera_model: pinhole\n  distortion_model: radtan\n  intrinsics: [461.6, 460.3, "
    "362.7, 248.1]\n"
    "  distortion_coeffs: [-0.27, 0.06, 0.0008, 0.0003]\n  resolution: [752, 480]\n"
    "cam1:\n  T_cn_cnm1:\n  - [1.0, 0.0, 0.0, -0.1]\n  - [0, 1, 0, 0]\n  camera_model: pinhole\n  "
    "distortion_model: equidistant\n"
    "  distortion_coeffs: [0.1, -0.02, 0.003, -0.0004]\n  intrinsics: [300, 301, 376, 240]\n  "
    "resolution: [752, 480]\n"
    "cam2:\n  camera_model: omni\n  distortion_model: radtan\n  intrinsics: [1, 2, 3, 4, 5]\n";

static int parse(const char *text, unsigned camera, struct calibration *c,
                 char why[CALIBRATION_WHY])
{
    memset(why, 0, CALIBRATION_WHY);
    return calibration_parse(text, strlen(text), camera, c, why);
}

static void each_format(void **state)
{
    struct calibration c;
    char why[CALIBRATION_WHY];
    assert_int_equal(parse(ros, 0, &c, why), CALIBRATION_OK);
    assert_int_equal(c.format, CALIBRATION_ROS);
    assert_int_equal(c.width, 640);
    assert_true(c.lens.model == ISP_LENS_BROWN_CONRADY && c.lens.camera.fx == 500.5 &&
                c.lens.camera.fy == 501 && c.lens.camera.cx == 320.25);
    assert_true(c.lens.coefficients[3] == -0.002 && c.lens.coefficients[4] == 0.01 &&
                c.lens.coefficients[5] == 0);
    assert_true(c.has_projection && c.projection.fx == 450 && c.projection.fy == 451 &&
                c.projection.cx == 321 && c.projection.cy == 241);
    assert_int_equal(parse(opencv, 0, &c, why), CALIBRATION_OK);
    assert_true(c.format == CALIBRATION_OPENCV && !c.has_projection &&
                fabs(c.lens.camera.cy - 235.57082909788173) < 1e-12);
    assert_int_equal(parse(xml, 0, &c, why), CALIBRATION_OK);
    assert_true(c.format == CALIBRATION_OPENCV && c.height == 480 &&
                c.lens.coefficients[7] == 0.004 && c.lens.camera.fy == 501);
    assert_int_equal(parse(kalibr, 0, &c, why), CALIBRATION_OK);
    assert_true(c.format == CALIBRATION_KALIBR && c.lens.model == ISP_LENS_BROWN_CONRADY &&
                c.width == 752);
    assert_int_equal(parse(kalibr, 1, &c, why), CALIBRATION_OK);
    assert_true(c.lens.model == ISP_LENS_FISHEYE && c.lens.coefficients[0] == 0.1 &&
                c.lens.camera.fy == 301);
}

static void refusals(void **state)
{
    static const struct {
        const char *text;
        unsigned camera;
        int err;
        const char *words;
    } cases[] = {
        {kalibr, 2, CALIBRATION_ERR_UNSUPPORTED, "camera model \"omni\""},
        {kalibr, 3, CALIBRATION_ERR_INPUT, "no camera 3"},
        {"distortion_model: thin_prism\n", 0, CALIBRATION_ERR_UNSUPPORTED, "\"thin_prism\""},
        {"distortion_model: plumb_bob\nimage_width: 0\nimage_height: 3\n", 0, CALIBRATION_ERR_INPUT,
         "size"},
        {"distortion_model: plumb_bob\n", 0, CALIBRATION_ERR_INPUT, "camera_matrix"},
        {"camera_matrix: [1, 0, 1, 0, 1, 1, 0, 0, 1]\nD: [1, 2, 3]\n", 0, CALIBRATION_ERR_INPUT,
         "not 3"},
        {"camera_matrix: [1, 0.5, 1, 0, 1, 1, 0, 0, 1]\nD: [1, 2, 3, 4]\n", 0,
         CALIBRATION_ERR_UNSUPPORTED, "skew"},
        {"camera_matrix: [0, 0, 1, 0, 1, 1, 0, 0, 1]\nD: [1, 2, 3, 4]\n", 0, CALIBRATION_ERR_INPUT,
         "focal length 0"},
        {"camera_matrix: [1, 0, 1, 0, 1, 1, 0, 0, 1]\nD: [1, 2, 3, 4, 5, 6, 7, 8, 1, 0, 0, 0]\n", 0,
         CALIBRATION_ERR_UNSUPPORTED, "thin prism"},
        {"camera_matrix: [nan, 0, 1, 0, 1, 1, 0, 0, 1]\nD: [1, 2, 3, 4]\n", 0,
         CALIBRATION_ERR_INPUT, "3 x 3"},
        {"camera_matrix: &a [1, 0, 1, 0, 1, 1, 0, 0, 1]\nD: *a\n", 0, CALIBRATION_ERR_INPUT,
         "aliases"},
        {"distortion_model: plumb_bob\nD: [1, 2, 3, 4]\nD: [1, 2, 3, 5]\n", 0,
         CALIBRATION_ERR_INPUT, "line 3, column 1: D: set twice"},
        {"%YAML:1.0\n---\nD: [1]\n\"D\": [2]\n", 0, CALIBRATION_ERR_INPUT,
         "line 4, column 1: D: set twice"},
        {"", 0, CALIBRATION_ERR_INPUT, "empty"},
        {"hello: world\n", 0, CALIBRATION_ERR_INPUT, "neither"},
        {"just words", 0, CALIBRATION_ERR_INPUT, "no names"},
        {"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", 0, CALIBRATION_ERR_INPUT, "deeply"},
        {"<a><b></a>", 0, CALIBRATION_ERR_INPUT, "another name"},
        {"<!DOCTYPE x>", 0, CALIBRATION_ERR_INPUT, "declarations"},
        {"<a>text", 0, CALIBRATION_ERR_INPUT, "ends inside"},
    };
    struct calibration c;
    char why[CALIBRATION_WHY];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int err = parse(cases[i].text, cases[i].camera, &c, why);
        if (err != cases[i].err || !strstr(why, cases[i].words))
            fail_msg("case %zu: %d \"%s\", wanted %d \"%s\"", i, err, why, cases[i].err,
                     cases[i].words);
    }
}

static void sizes(void **state)
{
    struct calibration c;
    char why[CALIBRATION_WHY];
    assert_int_equal(parse(ros, 0, &c, why), CALIBRATION_OK);
    assert_int_equal(calibration_scale(&c, 1280, 960, why), CALIBRATION_OK);
    assert_true(c.lens.camera.fx == 1001 && fabs(c.lens.camera.cx - 641) < 1e-12 &&
                c.projection.fy == 902 && c.width == 1280);
    assert_int_equal(calibration_scale(&c, 1920, 1080, why), CALIBRATION_ERR_SIZE);
    assert_non_null(strstr(why, "1280 x 960"));
    assert_non_null(strstr(why, "1920 x 1080"));
    assert_int_equal(parse("K: [1, 0, 1, 0, 1, 1, 0, 0, 1]\nD: [1, 2, 3, 4]\n", 0, &c, why),
                     CALIBRATION_OK);
    assert_int_equal(calibration_scale(&c, 100, 50, why), CALIBRATION_OK);
    assert_true(c.width == 100 && c.lens.camera.fx == 1);
}

static uint32_t random_state;

/* 0..n-1: a counter, mixed. */
static uint32_t below(uint32_t n)
{
    uint32_t x = random_state += 0x9e3779b9u;
    x = (x ^ x >> 16) * 0x21f0aaadu;
    x = (x ^ x >> 15) * 0x735a2d97u;
    return (uint32_t)((uint64_t)(x ^ x >> 15) * n >> 32);
}

static size_t mutate(char *text, size_t size, size_t room)
{
    static const char bytes[] = "[]{}<>/:,-\n \"'!&*%#0159.enaEx_";
    for (uint32_t n = 1 + below(6); n && size; n--) {
        uint32_t at = below((uint32_t)size), length = 1 + below(20);
        length = length > size - at ? (uint32_t)(size - at) : length;
        switch (below(4)) {
        case 0:
            text[at] = bytes[below(sizeof(bytes) - 1)];
            break;
        case 1:
            text[at] = (char)below(256);
            break;
        case 2:
            memmove(text + at, text + at + length, size - at - length);
            size -= length;
            break;
        default:
            if (size + length <= room) {
                memmove(text + at + length, text + at, size - at);
                size += length;
            }
        }
    }
    return size;
}

static void mutations(void **state)
{
    static const char *const files[] = {ros, opencv, xml, kalibr};
    static char text[4096];
    const char *day = getenv("PELTON_SEED");
    random_state = day ? (uint32_t)strtoul(day, NULL, 0) : (uint32_t)(time(NULL) / 86400);
    print_message("seed %u\n", random_state);
    unsigned good = 0;
    for (int i = 0; i < 50000; i++) {
        struct calibration c;
        char why[CALIBRATION_WHY] = "";
        const char *file = files[i % 4];
        size_t size = strlen(file);
        memcpy(text, file, size);
        size = mutate(text, size, sizeof(text));
        char *exact = malloc(size ? size : 1); /* so that a sanitizer sees its end */
        assert_non_null(exact);
        memcpy(exact, text, size);
        int err = calibration_parse(exact, size, below(3), &c, why);
        free(exact);
        good += err == CALIBRATION_OK;
        if (err < 0 ? !why[0]
                    : !(c.lens.camera.fx > 0 && c.lens.camera.fy > 0 &&
                        isfinite(c.lens.coefficients[0])))
            fail_msg("mutation %d: %d \"%s\"", i, err, why);
    }
    print_message("%u of 50000 files were still good\n", good);
    assert_true(good > 1000);
}

/* ---- XML ---- */

/* The file of before, with another head and another number for the width. */
static int parse_xml(const char *head, const char *width, struct calibration *c,
                     char why[CALIBRATION_WHY])
{
    static char text[4096];
    snprintf(text, sizeof(text),
             "%s<opencv_storage><image_width>%s</image_width><image_height>480</image_height>"
             "<camera_matrix><data>500 0 320 0 501 240 0 0 1</data></camera_matrix>"
             "<distortion_coefficients><data>-0.3 0.1 0.001 -0.002</data></distortion_coefficients>"
             "</opencv_storage>",
             head, width);
    return parse(text, 0, c, why);
}

static void xml_text(void **state)
{
    struct calibration c;
    char why[CALIBRATION_WHY];
    static const char *const widths[] = {
        "640",        "&#54;&#52;&#x30;", " 6&#52;0\n", "<!-- in pixels -->640", "<![CDATA[640]]>",
        "6<!-- -->40"};
    for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
        assert_int_equal(parse_xml("", widths[i], &c, why), CALIBRATION_OK);
        assert_int_equal(c.width, 640);
    }
    static const char *const heads[] = {
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>",
        "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><!-- \xfc -->",
        "<?xml version='1.0' encoding='us-ascii'?>\n<?other x?>"};
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
        assert_int_equal(parse_xml(heads[i], "640", &c, why), CALIBRATION_OK);
}

/* The same bytes with a zero before each: UTF-16, as Windows' tools write. */
static void xml_utf16(void **state)
{
    struct calibration c;
    char why[CALIBRATION_WHY] = "", wide[2 * sizeof(xml)] = "\xfe\xff";
    size_t at = (size_t)(strchr(xml, '\n') + 1 - xml); /* behind the declaration */
    size_t n = strlen(xml + at);
    for (size_t i = 0; i < n; i++) {
        wide[2 + 2 * i] = 0;
        wide[3 + 2 * i] = xml[at + i];
    }
    assert_int_equal(calibration_parse(wide, 2 + 2 * n, 0, &c, why), CALIBRATION_OK);
    assert_int_equal(c.height, 480);
}

static void xml_refusals(void **state)
{
    static const struct {
        const char *head, *width, *words;
    } cases[] = {
        {"<!DOCTYPE a [<!ENTITY a \"640\">]>", "&a;", "declarations are not supported"},
        {"<!DOCTYPE a SYSTEM \"file:///etc/passwd\">", "640", "declarations are not supported"},
        /* a bomb: a thousand million times ten */
        {"<!DOCTYPE a [<!ENTITY a \"0123456789\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;\">"
         "<!ENTITY c \"&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;\"><!ENTITY d \"&c;&c;&c;&c;&c;&c;&c;&c;\">]>",
         "&d;", "declarations are not supported"},
        {"", "&nbsp;", "line 1: not XML: undefined entity"},
        {"", "&#0;", "line 1: not XML: reference to invalid character number"},
        {"<!-- -->\n\n", "<a>6</b>", "line 3: not XML: an element ends under another name"},
        {"", "<a>6</a>40", "text and elements are mixed"},
        {"", "64<a>0</a>", "text and elements are mixed"},
        {"", "640</image_width><image_width>320", "an element at the top stands twice"},
        {"<?xml version=\"1.0\" encoding=\"KOI-9\"?>", "640", "not XML: unknown encoding"},
        {"<?xml version=\"1.0\" encoding=\"UTF-8\"?><!-- \xfc -->", "640", "not XML"},
    };
    struct calibration c;
    char why[CALIBRATION_WHY];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(parse_xml(cases[i].head, cases[i].width, &c, why), CALIBRATION_ERR_INPUT);
        if (!strstr(why, cases[i].words))
            fail_msg("case %zu: \"%s\"", i, why);
    }
}

/* Elements in elements, and elements beside elements, without end. */
static void xml_limits(void **state)
{
    enum { SIZE = 1 << 20 };
    struct calibration c;
    char why[CALIBRATION_WHY], *text = malloc(SIZE);
    assert_non_null(text);
    for (int deep = 0; deep < 2; deep++) {
        const char *word = deep ? "<a>" : "<a/>";
        size_t n = strlen(word), size = 6;
        memcpy(text, "<r><l>", size);
        for (; size + n <= SIZE; size += n)
            memcpy(text + size, word, n);
        why[0] = 0;
        assert_int_equal(calibration_parse(text, size, 0, &c, why), CALIBRATION_ERR_INPUT);
        assert_non_null(strstr(why, "too many elements, or nested too deeply"));
    }
    free(text);
}

/* There and back again. */
static void lenses(void **state)
{
    const struct isp_lens list[] = {
        {ISP_LENS_BROWN_CONRADY,
         {535.9, 535.9, 342.3, 235.6},
         {-0.266, -0.0386, 0.00178, -0.00028, 0.238}},
        {ISP_LENS_BROWN_CONRADY,
         {535.9, 500, 342.3, 235.6},
         {0.1, -0.05, 0.001, 0.002, 0.01, 0.12, -0.04, 0.005}},
        {ISP_LENS_FISHEYE, {300, 301, 320, 240}, {0.1, -0.02, 0.003, -0.0004}},
        {ISP_LENS_NONE, {300, 301, 320, 240}, {0}},
    };
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        struct isp_pinhole straight = {400, 410, 330, 236};
        for (int k = 0; k <= 100; k++) {
            double x = k % 10 * 64, y = k / 10 * 48, u, v, bx, by;
            assert_true(isp_lens_undistort(&list[i], &straight, x, y, &u, &v));
            assert_true(isp_lens_distort(&list[i], &straight, u, v, &bx, &by));
            assert_true(hypot(bx - x, by - y) < 1e-5);
        }
        struct isp_pinhole inner, outer;
        assert_true(isp_lens_new_camera(&list[i], 640, 480, 0, &inner));
        assert_true(isp_lens_new_camera(&list[i], 640, 480, 1, &outer));
        assert_true(inner.fx >= outer.fx && inner.fy >= outer.fy);
        assert_false(isp_lens_new_camera(&list[i], 640, 480, 1.5, &outer));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_format),  cmocka_unit_test(refusals),   cmocka_unit_test(sizes),
        cmocka_unit_test(mutations),    cmocka_unit_test(xml_text),   cmocka_unit_test(xml_utf16),
        cmocka_unit_test(xml_refusals), cmocka_unit_test(xml_limits), cmocka_unit_test(lenses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
