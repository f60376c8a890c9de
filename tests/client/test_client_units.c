/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Units of the command: time stamps against recorded ffmpeg output, option parsing, the option
 * table, output names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "client/bench_steady.h"
#include "proto/json.h"
#include "client/option_table.h"
#include "client/orientation.h"
#include "client/output.h"
#include "client/video_sync.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the steady state of a run ---- */

enum { RUN_FRAMES = 1601 };

/* 1,601 frames, `slow` of them at half the rate first; in a wrong order. */
static void run_times(int64_t times[RUN_FRAMES], unsigned slow)
{
    int64_t at = 5000;
    for (unsigned i = 0; i < RUN_FRAMES; i++) {
        times[(size_t)i * 7 % RUN_FRAMES] = at;
        at += i < slow ? 2000000 : 1000000;
    }
}

static void test_steady(void **state)
{
    int64_t times[RUN_FRAMES];
    run_times(times, 0);
    struct bench_steady s = bench_steady_find(5000 - 1000000, times, RUN_FRAMES);
    assert_true(s.known && s.fps > 999.9 && s.fps < 1000.1 && s.percent < 0.1);
    assert_true(s.ramp > 0.0009 && s.ramp < 0.0011);
    run_times(times, 150); /* the first window is slow, all others agree */
    s = bench_steady_find(5000, times, RUN_FRAMES);
    assert_true(s.known && s.fps > 999.9 && s.fps < 1000.1);
    assert_true(s.ramp > 0.349 && s.ramp < 0.351);
    run_times(times, 0);
    assert_false(bench_steady_find(5000, times, STEADY_WINDOWS * STEADY_WINDOW_FRAMES).known);
    assert_false(bench_steady_find(5000, times, 0).known);
    for (unsigned i = 0; i < RUN_FRAMES; i++) /* even, but over within 80 ms */
        times[i] = i * 50000;
    assert_false(bench_steady_find(0, times, RUN_FRAMES).known);
    for (unsigned i = 0; i < RUN_FRAMES; i++) /* ever faster */
        times[i] = 1000000000 - (int64_t)(RUN_FRAMES - i) * (RUN_FRAMES - i) * 300;
    assert_false(bench_steady_find(0, times, RUN_FRAMES).known);
}

/* ---- display orientation messages ---- */

enum { ACW_90 = 0x4000, ACW_180 = 0x8000, ACW_270 = 0xc000 };

/* The orientation of a frame with this message. */
static uint32_t told_by(bool hor_flip, bool ver_flip, unsigned anticlockwise)
{
    struct orientation o = {0};
    struct pelton_side_data side = {.has = PELTON_SIDE_DISPLAY_ORIENTATION};
    struct pelton_frame frame = {.side = &side, .orientation = PELTON_TURNED_90};
    side.display_orientation.hor_flip = hor_flip;
    side.display_orientation.ver_flip = ver_flip;
    side.display_orientation.anticlockwise_rotation = (uint16_t)anticlockwise;
    return orientation_of(&o, &frame);
}

static void test_orientation_values(void **state)
{
    assert_int_equal(told_by(0, 0, 0), PELTON_UPRIGHT); /* the container's does not count */
    assert_int_equal(told_by(0, 0, ACW_90), PELTON_TURNED_270);
    assert_int_equal(told_by(0, 0, ACW_180), PELTON_TURNED_180);
    assert_int_equal(told_by(0, 0, ACW_270), PELTON_TURNED_90);
    assert_int_equal(told_by(0, 0, 0xffff), PELTON_UPRIGHT); /* nearly a whole turn */
    assert_int_equal(told_by(1, 0, 0), PELTON_MIRRORED);
    assert_int_equal(told_by(0, 1, 0), PELTON_UPSIDE_DOWN);
    assert_int_equal(told_by(1, 1, 0), PELTON_TURNED_180);
    assert_int_equal(told_by(1, 1, ACW_90), PELTON_TURNED_90);
    assert_int_equal(told_by(1, 0, ACW_90), PELTON_TRANSPOSED);
    assert_int_equal(told_by(1, 0, ACW_270), PELTON_ANTITRANSPOSED);
    assert_int_equal(told_by(0, 1, ACW_90), PELTON_ANTITRANSPOSED);
}

static void test_orientation_lasts(void **state)
{
    struct orientation o = {0};
    struct pelton_side_data message = {.has = PELTON_SIDE_DISPLAY_ORIENTATION},
                            point = {.has = PELTON_SIDE_RECOVERY_POINT};
    struct pelton_frame with = {.side = &message, .orientation = PELTON_MIRRORED},
                        without = {.orientation = PELTON_MIRRORED}, idr = without,
                        recovery = without;
    idr.flags = recovery.flags = PELTON_FRAME_KEY;
    recovery.side = &point;
    message.display_orientation.anticlockwise_rotation = ACW_180;
    assert_int_equal(orientation_of(&o, &with), PELTON_TURNED_180);
    assert_int_equal(orientation_of(&o, &without), PELTON_MIRRORED); /* for its frame alone */
    message.display_orientation.repetition_period = 1;
    assert_int_equal(orientation_of(&o, &with), PELTON_TURNED_180);
    assert_int_equal(orientation_of(&o, &without), PELTON_TURNED_180);
    assert_int_equal(orientation_of(&o, &recovery), PELTON_TURNED_180);
    assert_int_equal(orientation_of(&o, &idr), PELTON_MIRRORED); /* another sequence */
    assert_int_equal(orientation_of(&o, &with), PELTON_TURNED_180);
    message.display_orientation.cancel_flag = true;
    assert_int_equal(orientation_of(&o, &with), PELTON_MIRRORED);
    assert_int_equal(orientation_of(&o, &without), PELTON_MIRRORED);
}

/* ---- time stamps ---- */

static struct pelton_rational parse_rational(const char *text)
{
    struct pelton_rational r = {0, 0};
    sscanf(text, "%d/%d", &r.num, &r.den);
    return r;
}

static void check_case(char *line)
{
    char *column[8];
    for (int i = 0; i < 8; i++) {
        column[i] = strsep(&line, "\t\n");
        assert_non_null(column[i]);
    }
    struct pelton_info info = {.time_base = parse_rational(column[1]),
                               .frame_rate = parse_rational(column[2]),
                               .avg_frame_rate = parse_rational(column[3])};
    info.start_pts = !strcmp(column[4], "none") ? INT64_MIN : strtoll(column[4], NULL, 10);
    struct sync s;
    sync_init(&s, &info, -1, false);
    char tb[32];
    snprintf(tb, sizeof(tb), "%d/%d", s.out.num, s.out.den);
    assert_string_equal(tb, column[5]);
    char *frame, *expected = column[7];
    for (int n = 0; (frame = strsep(&column[6], " ")); n++) {
        long long pts, duration;
        int64_t out;
        assert_int_equal(sscanf(frame, "%lld:%lld", &pts, &duration), 2);
        if (sync_frame(&s, pts, duration, &out)) {
            char *want = strsep(&expected, " ");
            if (!want || strtoll(want, NULL, 10) != out) {
                fail_msg("%s: frame %d: %lld, ffmpeg %s", column[0], n, (long long)out,
                         want ? want : "drops it");
            }
        }
    }
    assert_null(expected);
}

static void sync_equals_ffmpeg(void **state)
{
    FILE *file = fopen(SYNC_CASES, "r");
    char line[8192];
    int n = 0;
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        if (line[0] != '#') {
            check_case(line);
            n++;
        }
    }
    fclose(file);
    assert_true(n >= 16);
}

static void sync_without_times(void **state)
{
    struct pelton_info info = {
        .frame_rate = {0, 1}, .time_base = {1, 1200000}, .start_pts = INT64_MIN};
    struct sync s;
    int64_t out = -1;
    sync_init(&s, &info, -1, false);
    assert_int_equal(s.out.den, 25);
    for (int i = 0; i < 5; i++) {
        assert_true(sync_frame(&s, INT64_MIN, 0, &out));
        assert_int_equal(out, i);
    }
}

/* A camera's clock began with the machine. */
static void sync_of_camera(void **state)
{
    struct pelton_info info = {
        .frame_rate = {25, 1}, .time_base = {1, 1000}, .start_pts = INT64_MIN};
    struct sync s;
    int64_t out = -1;
    sync_init(&s, &info, -1, true);
    for (int i = 0; i < 5; i++) {
        assert_true(sync_frame(&s, 61338294 + 40 * i, 0, &out));
        assert_int_equal(out, i);
    }
    sync_init(&s, &info, -1, true);
    assert_int_equal(sync_time(&s, 61338294), 0);
    assert_int_equal(sync_time(&s, 61338334), 40);
}

/* ---- options ---- */

static int parse(struct client_options *o, struct failure *f, const char *line)
{
    static char copy[1024];
    static char *argv[64];
    int argc = 0;
    *f = (struct failure){0};
    snprintf(copy, sizeof(copy), "%s", line);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    return options_parse(argc, argv, o, f);
}

static void ffmpeg_spellings(void **state)
{
    struct client_options o;
    struct failure f;
    assert_int_equal(parse(&o, &f,
                           "pelton decode -y -ss 1:02.5 -i a.mp4 -t 200ms -frames:v 7 -pix_fmt "
                           "nv12 -loglevel error -f y4m -"),
                     0);
    assert_string_equal(o.inputs[0], "a.mp4");
    assert_string_equal(o.write.path, "-");
    assert_string_equal(o.write.pix_fmt, "nv12");
    assert_int_equal(o.read.start_us, 62500000);
    assert_int_equal(o.read.duration_us, 200000);
    assert_int_equal(o.read.max_frames, 7);
    assert_int_equal(o.log_level, LOG_ERROR);
    assert_int_equal(o.write.overwrite, OVERWRITE_YES);
    assert_int_equal(parse(&o, &f,
                           "pelton decode --input=a.mp4 --pix-fmt=gray --log_level=16 -o b.yuv "
                           "--on-error drop --progress kv"),
                     0);
    assert_string_equal(o.write.pix_fmt, "gray");
    assert_string_equal(o.write.path, "b.yuv");
    assert_int_equal(o.read.on_error, 1);
    assert_int_equal(o.write.progress, PROGRESS_KV);
    assert_int_equal(
        parse(&o, &f,
              "pelton bench -i a -i b c --streams 3 --verify --loop 2 --lookahead 9 -c batch=4"),
        0);
    assert_int_equal(o.n_inputs, 3);
    assert_string_equal(o.connect.lookahead, "lookahead=9");
    assert_string_equal(o.connect.config[0], "batch=4");
    assert_true(o.bench.verify);
    assert_int_equal(parse(&o, &f, "pelton decode -i a -- -strange-name"), 0);
    assert_string_equal(o.write.path, "-strange-name");
}

static void bad_options(void **state)
{
    static const struct {
        const char *line, *word;
    } cases[] = {
        {"pelton decode --nonsense", "--nonsense"},
        {"pelton decode -i", "-i"},
        {"pelton decode -y=1", "-y=1"},
        {"pelton decode -frames:v 0", "-frames:v"},
        {"pelton decode -frames:v -3", "-3"},
        {"pelton decode -ss soon", "soon"},
        {"pelton decode -t -1", "-t"},
        {"pelton decode -i a -i b", "b"},
        {"pelton decode -i a b c", "c"},
        {"pelton decode --streams 2", "--streams"},
        {"pelton decode -c novalue", "novalue"},
        {"pelton decode --on-error maybe", "maybe"},
        {"pelton decode -loglevel loud", "loud"},
        {"pelton reencode", "reencode"},
        {"pelton -i a", "-i"},
        {"pelton bench --against x264", "x264"},
        {"pelton decode --timeout x", "x"},
        {"pelton bench --streams 99999", "99999"},
        {"pelton version now", "now"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct client_options o;
        struct failure f;
        if (parse(&o, &f, cases[i].line) != X_USAGE || !strstr(f.cause, cases[i].word) ||
            !f.hint[0]) {
            fail_msg("%s: code %d, cause \"%s\", hint \"%s\"", cases[i].line, f.code, f.cause,
                     f.hint);
        }
    }
}

/* No command has two options of one name. */
static void option_table_is_sound(void **state)
{
    for (unsigned i = 0; i < n_option_rows; i++) {
        assert_true(option_rows[i].commands != 0 && option_rows[i].help[0]);
        for (unsigned k = i + 1; k < n_option_rows; k++) {
            assert_false(!strcmp(option_rows[i].name, option_rows[k].name) &&
                         (option_rows[i].commands & option_rows[k].commands));
        }
    }
}

/* ---- output ---- */

static void formats_follow_names(void **state)
{
    static const struct {
        const char *name, *path, *format;
    } cases[] = {
        {NULL, "a.y4m", "yuv4mpegpipe"},
        {NULL, "a.yuv", "rawvideo"},
        {NULL, "d.x/a.MKV", "matroska"},
        {NULL, "f%03d.png", "image2"},
        {NULL, "one.JPG", "mjpeg"},
        {NULL, "one.jpeg", "mjpeg"},
        {NULL, "a.framemd5", "framemd5"},
        {"md5", "-", "md5"},
        {"raw", "a.mkv", "rawvideo"},
        {"png", "-", "image2"},
        {"null", "-", "null"},
        {NULL, "-", NULL},
        {NULL, "d.y4m/a", NULL},
        {NULL, "a.mp4", NULL},
        {"mp4", "a.mp4", NULL},
        {"", "a.y4m", NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct output_format *format = NULL;
        struct failure f = {0};
        int rc = output_format_choose(cases[i].name, cases[i].path, &format, &f);
        if (rc != (cases[i].format ? 0 : X_USAGE) ||
            (format && strcmp(format->name, cases[i].format)))
            fail_msg("%s %s: %d", cases[i].name ? cases[i].name : "", cases[i].path, rc);
    }
}

static void causes_stay_on_one_line(void **state)
{
    struct failure f = {0};
    assert_int_equal(fail_with(&f, X_INPUT, "a hint", "%s: bad", "name\nwith\tlines"), X_INPUT);
    assert_int_equal(fail_with(&f, X_OTHER, "later", "what follows"), X_INPUT);
    assert_string_equal(f.cause, "name with lines: bad");
    assert_string_equal(f.hint, "a hint");
}

/* Whatever bytes a name has, the output is JSON in UTF-8. */
static void json_takes_any_bytes(void **state)
{
    static const struct {
        const char *text, *json;
    } cases[] = {
        {"clip.mp4", "\"clip.mp4\""},
        {"a\xff"
         "b",
         "\"a\\ufffdb\""},
        {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\""},
        {"\xc3", "\"\\ufffd\""},
        {"\xe2\x82", "\"\\ufffd\\ufffd\""},
        {"\xc0\xaf", "\"\\ufffd\\ufffd\""},            /* longer than needed */
        {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""}, /* a surrogate */
        {"\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
        {"\"\\\n\x7f", "\"\\\"\\\\\\u000a\\u007f\""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *text = NULL;
        size_t size = 0;
        FILE *file = open_memstream(&text, &size);
        assert_non_null(file);
        struct json j = {.file = file, .compact = true, .depth = 1};
        json_text(&j, NULL, cases[i].text);
        fclose(file);
        assert_string_equal(text, cases[i].json);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steady),
        cmocka_unit_test(sync_equals_ffmpeg),
        cmocka_unit_test(sync_without_times),
        cmocka_unit_test(sync_of_camera),
        cmocka_unit_test(ffmpeg_spellings),
        cmocka_unit_test(bad_options),
        cmocka_unit_test(option_table_is_sound),
        cmocka_unit_test(formats_follow_names),
        cmocka_unit_test(causes_stay_on_one_line),
        cmocka_unit_test(json_takes_any_bytes),
        cmocka_unit_test(test_orientation_values),
        cmocka_unit_test(test_orientation_lasts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
