/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Every option of the table, with a value that is right and with values that are wrong; the names
 * of inputs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "client/input.h"
#include "client/input_name.h"
#include "client/option_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { TEXT, FLAG, U8, U32, U64, I64, REAL, NUMBER, SAME };

/* A command line, the member that it sets, and its value. */
struct right {
    const char *line;
    enum kind kind;
    size_t at;
    const char *text;
    double number;
};

#define AT(member) offsetof(struct client_options, member)

static const struct right right_cases[] = {
    {"decode -i a.mp4", TEXT, AT(inputs[0]), "a.mp4", 0},
    {"decode -o b.y4m", TEXT, AT(write.path), "b.y4m", 0},
    {"decode -f null", TEXT, AT(write.format), "null", 0},
    {"decode -y", NUMBER, AT(write.overwrite), NULL, OVERWRITE_YES},
    {"decode -n", NUMBER, AT(write.overwrite), NULL, OVERWRITE_NO},
    {"decode -ss 1:02.5", I64, AT(read.start_us), NULL, 62500000},
    {"decode -t 200ms", I64, AT(read.duration_us), NULL, 200000},
    {"decode -frames:v 7", U64, AT(read.max_frames), NULL, 7},
    {"decode -to 2", I64, AT(read.end_us), NULL, 2000000},
    {"decode -map 0:v:1", U32, AT(read.video), NULL, 2},
    {"decode -map v:0", U32, AT(read.video), NULL, 1},
    {"decode -map 0:v", U32, AT(read.video), NULL, 0},
    {"probe -map 0:v:2", U32, AT(read.video), NULL, 3},
    {"decode -noautorotate", FLAG, AT(read.leave_unturned), NULL, 1},
    {"info --exposure", FLAG, AT(exposure), NULL, 1},
    {"decode -stream_loop -1", NUMBER, AT(read.loops), NULL, -1},
    {"decode -progress pipe:1", TEXT, AT(write.progress_path), "-", 0},
    {"decode -progress a/b", TEXT, AT(write.progress_path), "a/b", 0},
    {"decode -s 640x360", U32, AT(read.output.width), NULL, 640},
    {"pipe -s 640x360", U32, AT(read.output.height), NULL, 360},
    {"bench -s 448x448", U32, AT(read.output.width), NULL, 448},
    {"bench --type f16", NUMBER, AT(read.output.type), NULL, PELTON_F16},
    {"bench --layout nchw", NUMBER, AT(read.output.layout), NULL, PELTON_NCHW},
    {"decode --crop 10,20,30,40", U32, AT(read.output.crop.height), NULL, 40},
    {"bench --filter nearest", NUMBER, AT(read.output.filter), NULL, PELTON_NEAREST},
    {"snapshot --filter area", NUMBER, AT(read.output.filter), NULL, PELTON_AREA},
    {"decode --pix-fmt nv12", TEXT, AT(write.pix_fmt), "nv12", 0},
    {"decode --verify r.framemd5", TEXT, AT(write.verify), "r.framemd5", 0},
    {"bench --verify", FLAG, AT(bench.verify), NULL, 1},
    {"decode --side-data s.json", TEXT, AT(write.side_data), "s.json", 0},
    {"decode --fields", FLAG, AT(read.fields), NULL, 1},
    {"decode --blur 8,16,32,64", U32, AT(read.blur[0].height), NULL, 64},
    {"decode --blur 8,16,32,64", U32, AT(read.n_blur), NULL, 1},
    {"decode --second-view v.y4m", TEXT, AT(write.second_view), "v.y4m", 0},
    {"decode --on-error show", NUMBER, AT(read.on_error), NULL, PELTON_ON_ERROR_SHOW},
    {"decode --on-error drop", NUMBER, AT(read.on_error), NULL, PELTON_ON_ERROR_DROP},
    {"decode --on-error FAIL", NUMBER, AT(read.on_error), NULL, PELTON_ON_ERROR_FAIL},
    {"decode --on-error all", NUMBER, AT(read.on_error), NULL, PELTON_ON_ERROR_SHOW_ALL},
    {"decode --progress none", NUMBER, AT(write.progress), NULL, PROGRESS_NONE},
    {"decode --progress bar", NUMBER, AT(write.progress), NULL, PROGRESS_BAR},
    {"decode --progress kv", NUMBER, AT(write.progress), NULL, PROGRESS_KV},
    {"decode --device cpu", TEXT, AT(connect.device), "cpu", 0},
    {"decode --device cpu", FLAG, AT(connect.device_given), NULL, 1},
    {"decode --socket /run/s", TEXT, AT(connect.socket), "/run/s", 0},
    {"decode -c pool=4", TEXT, AT(connect.config[0]), "pool=4", 0},
    {"decode -c a=1 -c b=2", U32, AT(connect.n_config), NULL, 2},
    {"decode --lookahead 4096", SAME, AT(connect.lookahead), "lookahead=4096", 0},
    {"decode --lookahead 1", FLAG, AT(connect.lookahead_given), NULL, 1},
    {"decode --timeout 0.5", REAL, AT(connect.timeout), NULL, 0.5},
    {"decode --log-level debug", NUMBER, AT(log_level), NULL, LOG_DEBUG},
    {"decode -v quiet", NUMBER, AT(log_level), NULL, LOG_QUIET},
    {"decode -loglevel 17", NUMBER, AT(log_level), NULL, 17},
    {"probe --json", FLAG, AT(json), NULL, 1},
    {"bench --json f.json", TEXT, AT(bench.json_file), "f.json", 0},
    {"bench --streams 256", U32, AT(bench.streams), NULL, 256},
    {"bench --loop 3", U32, AT(bench.loops), NULL, 3},
    {"bench --repeat 99", U32, AT(bench.repeat), NULL, 99},
    {"bench --stages", FLAG, AT(bench.stages), NULL, 1},
    {"bench --live", FLAG, AT(bench.live), NULL, 1},
    {"bench --trace", FLAG, AT(bench.trace), NULL, 1},
    {"bench --chart c.svg", TEXT, AT(bench.chart), "c.svg", 0},
    {"bench --kernels", FLAG, AT(bench.kernels), NULL, 1},
    {"bench --encode", FLAG, AT(bench.encode), NULL, 1},
    {"decode --no-tune", TEXT, AT(connect.config[0]), "tune=false", 0},
    {"decode --gpu-debug", TEXT, AT(connect.config[0]), "gpu_debug=true", 0},
    {"decode --gpu-debug", FLAG, AT(connect.gpu_debug), NULL, 1},
    {"decode --tune-force w=v", TEXT, AT(connect.config[0]), "debug.tune_force=w=v", 0},
    {"bench --variant x", TEXT, AT(kernels.variant), "x", 0},
    {"bench --size 640x480", U32, AT(kernels.width), NULL, 640},
    {"bench --size 640x480", U32, AT(kernels.height), NULL, 480},
    {"bench --format nv12", SAME, AT(kernels.format), "nv12", 0},
    {"bench --taps 19", U32, AT(kernels.taps), NULL, 19},
    {"bench --rounds 1000", U32, AT(kernels.rounds), NULL, 1000},
    {"bench --csv -", TEXT, AT(kernels.csv), "-", 0},
    {"bench --list", FLAG, AT(kernels.list), NULL, 1},
    {"bench --against ffmpeg", TEXT, AT(bench.against), "ffmpeg", 0},
    {"bench --ffmpeg /bin/ffmpeg", TEXT, AT(bench.ffmpeg), "/bin/ffmpeg", 0},
    {"bench --depth 1024", U32, AT(read.depth), NULL, 1024},
    {"bench --min-fps 30.5", REAL, AT(bench.min_fps), NULL, 30.5},
    {"bench --min-fps 0", FLAG, AT(bench.min_fps_given), NULL, 1},
    {"help --man", FLAG, AT(man), NULL, 1},
    {"decode --help", FLAG, AT(help), NULL, 1},
    {"calib --size 1920x1080", U32, AT(calib.width), NULL, 1920},
    {"calib --size 1920x1080", U32, AT(calib.height), NULL, 1080},
    {"calib --camera 0", U32, AT(calib.camera), NULL, 0},
    {"calib --camera 1000", U32, AT(calib.camera), NULL, 1000},
    {"pipe --policy latest", NUMBER, AT(read.policy), NULL, PELTON_LATEST},
    {"pipe --policy fifo", NUMBER, AT(read.policy), NULL, PELTON_FIFO},
    {"pipe --policy fifo:60", U32, AT(read.waiting), NULL, 60},
    {"pipe --policy lossless", FLAG, AT(read.policy_given), NULL, 1},
    {"snapshot --after-now", FLAG, AT(camera.after_now), NULL, 1},
    {"discover --yaml", FLAG, AT(discover.yaml), NULL, 1},
    {"discover --probe 10.0.0.1", TEXT, AT(discover.probe), "10.0.0.1", 0},
    {"discover --timeout 0.5", REAL, AT(discover.seconds), NULL, 0.5},
    {"discover --user admin", TEXT, AT(discover.user), "admin", 0},
    {"discover --password-file door.key", TEXT, AT(discover.password_file), "door.key", 0},
    {"discover --folder /host/dev", TEXT, AT(discover.folder), "/host/dev", 0},
    {"sources --watch", FLAG, AT(camera.watch), NULL, 1},
    {"decode -q:v 5", U32, AT(write.quality), NULL, 5},
    {"decode -qscale:v 31", U32, AT(write.quality), NULL, 31},
    {"decode --sheet 4x3", U32, AT(write.sheet_columns), NULL, 4},
    {"decode --sheet 4x3", U32, AT(write.sheet_rows), NULL, 3},
    {"pipe --max-fps 12.5", REAL, AT(read.max_fps), NULL, 12.5},
    {"decode -frames_at 7,10-20:5", U32, AT(read.n_frames_at), NULL, 2},
    {"decode -skip_frame nokey", U32, AT(read.skip), NULL, PELTON_SKIP_NONKEY},
    {"record -f mkv", TEXT, AT(write.format), "mkv", 0},
    {"record -c copy", FLAG, AT(write.copy), NULL, 1},
    {"pipe -c:v copy", FLAG, AT(write.copy), NULL, 1},
    {"record --segment 10:00", I64, AT(write.segment_us), NULL, 600000000},
    {"record --keep 144", U32, AT(write.keep), NULL, 144},
    {"record --max-size 20G", U64, AT(write.max_size), NULL, 21474836480},
    {"record --max-size 1000", U64, AT(write.max_size), NULL, 1000},
    {"encode -f mkv", TEXT, AT(write.format), "mkv", 0},
    {"encode -c:v h264", FLAG, AT(encode.wanted), NULL, 1},
    {"record -c:v h264", FLAG, AT(encode.wanted), NULL, 1},
    {"encode -crf 18", U32, AT(encode.crf), NULL, 18},
    {"encode -crf 18", FLAG, AT(encode.crf_given), NULL, 1},
    {"encode -aq-mode 0", U32, AT(encode.adaptive), NULL, 0},
    {"encode -no-scenecut", FLAG, AT(encode.no_scene_cuts), NULL, 1},
    {"encode -qp 0", U32, AT(encode.qp), NULL, 0},
    {"encode -qp 51", FLAG, AT(encode.qp_given), NULL, 1},
    {"encode -b:v 4M", U64, AT(encode.bit_rate), NULL, 4000000},
    {"pipe -b 1.5M", U64, AT(encode.bit_rate), NULL, 1500000},
    {"encode -maxrate 800k", U64, AT(encode.max_rate), NULL, 800000},
    {"encode -bufsize 123456", U64, AT(encode.buffer), NULL, 123456},
    {"encode -g 50", U32, AT(encode.key_interval), NULL, 50},
    {"encode -refs 4", U32, AT(encode.references), NULL, 4},
    {"encode -slices 3", U32, AT(encode.slices), NULL, 3},
    {"encode -profile:v main", NUMBER, AT(encode.profile), NULL, ENCODING_MAIN},
    {"encode -level 4.1", U8, AT(encode.level_idc), NULL, 41},
    {"encode -level 31", U8, AT(encode.level_idc), NULL, 31},
    {"encode -level 4", U8, AT(encode.level_idc), NULL, 40},
    {"encode -level 1b", U8, AT(encode.level_idc), NULL, 9},
    {"encode -coder cabac", NUMBER, AT(encode.coder), NULL, CODER_CABAC},
    {"encode -no-deblock", FLAG, AT(encode.no_deblocking), NULL, 1},
    {"record -g 25", TEXT, AT(encode.given), "g", 0},
    {"encode --pix-fmt gray", TEXT, AT(write.pix_fmt), "gray", 0},
};

static int parse_line(struct client_options *o, struct failure *f, const char *line)
{
    static char copy[256];
    static char *argv[32] = {(char *)"pelton"};
    int argc = 1;
    *f = (struct failure){0};
    snprintf(copy, sizeof(copy), "%s", line);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    return options_parse(argc, argv, o, f);
}

static bool has_value(const struct client_options *o, const struct right *c)
{
    const char *at = (const char *)o + c->at;
    switch (c->kind) {
    case TEXT:
        return *(const char *const *)at && !strcmp(*(const char *const *)at, c->text);
    case SAME:
        return !strcmp(at, c->text);
    case FLAG:
        return *(const bool *)at;
    case U8:
        return *(const uint8_t *)at == c->number;
    case U32:
        return *(const uint32_t *)at == c->number;
    case U64:
        return (double)*(const uint64_t *)at == c->number;
    case I64:
        return (double)*(const int64_t *)at == c->number;
    case REAL:
        return *(const double *)at == c->number;
    default:
        return *(const int *)at == (int)c->number;
    }
}

static void each_option_sets_its_member(void **state)
{
    for (size_t i = 0; i < sizeof(right_cases) / sizeof(right_cases[0]); i++) {
        struct client_options o;
        struct failure f;
        if (parse_line(&o, &f, right_cases[i].line) != 0)
            fail_msg("%s: %s", right_cases[i].line, f.cause);
        if (!has_value(&o, &right_cases[i]))
            fail_msg("%s: the member has another value", right_cases[i].line);
    }
}

/* A row without a case above would be a parser that nobody tests. */
static void each_row_has_a_case(void **state)
{
    bool seen[128] = {false};
    assert_true(n_option_rows <= sizeof(seen));
    for (size_t i = 0; i < sizeof(right_cases) / sizeof(right_cases[0]); i++) {
        char name[32], option[32];
        const struct option_row *elsewhere;
        assert_int_equal(sscanf(right_cases[i].line, "%31s %31s", name, option), 2);
        const char *bare = option + 1 + (option[1] == '-');
        struct option_syntax syntax = command_syntax(command_find(name));
        const struct option_row *row = option_find(&syntax, bare, strlen(bare), &elsewhere);
        assert_non_null(row);
        seen[row - option_rows] = true;
    }
    for (unsigned i = 0; i < n_option_rows; i++)
        if (!seen[i])
            fail_msg("no case for --%s", option_rows[i].name);
}

static void wrong_values_are_refused(void **state)
{
    static const char *const lines[] = {
        "decode -map 0:a",         "decode -map 1:v",
        "decode -map 0:v:x",       "decode -map 0:v:-1",
        "decode -s 640",           "decode -s 0x360",
        "encode -b:v 4Q",          "encode -b:v 0",
        "encode -b:v -1",          "encode -b:v 4MM",
        "encode -level 8",         "encode -level 4.1.1",
        "encode -level 63",        "encode -g 0",
        "encode -qp -1",           "encode -c:v copy",
        "encode --pix-fmt nv12",   "encode -bufsize 1e99",
        "decode -s 16385x1",       "decode --crop 1,2,3",
        "decode --crop 1,2,0,4",   "decode --crop -1,2,3,4",
        "decode -stream_loop -2",  "decode -stream_loop 1x",
        "decode -ss soon",         "decode -t -1",
        "decode -frames:v 0",      "decode -frames:v 7x",
        "decode --blur 1,2,3",     "decode --on-error maybe",
        "decode --progress pie",   "decode -c =1",
        "decode -c novalue",       "decode --lookahead 0",
        "decode --lookahead 4097", "decode --timeout -1",
        "decode --timeout nan",    "decode -v loud",
        "decode -v 1001",          "bench --streams 0",
        "bench --streams 257",     "bench --loop 1000001",
        "bench --size 640",        "bench --size 640x480x2",
        "bench --taps 20",         "bench --rounds 1001",
        "bench --repeat 0",        "bench --repeat 100",
        "bench --against x264",    "bench --depth 1025",
        "bench --min-fps lots",    "calib --size 0x480",
        "calib --size 640x480q",   "calib --camera -1",
        "calib --camera 1001",     "pipe --policy newest",
        "pipe --policy fifo:0",    "pipe --policy fifo:61",
        "decode --sheet 4",        "decode --sheet 0x3",
        "decode --sheet 4x17",     "decode --sheet 4x3x2",
        "decode -q:v 0",           "decode -q:v 32",
        "pipe --max-fps inf",      "decode --tune-force",
        "decode --fields=yes",     "snapshot --watch",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct client_options o;
        struct failure f;
        if (parse_line(&o, &f, lines[i]) != X_USAGE || !f.cause[0] || !f.hint[0])
            fail_msg("%s: code %d, cause \"%s\", hint \"%s\"", lines[i], f.code, f.cause, f.hint);
    }
}

static void values_without_options(void **state)
{
    struct client_options o;
    struct failure f;
    assert_int_equal(parse_line(&o, &f, "decode"), 0);
    assert_int_equal(o.log_level, LOG_INFO);
    assert_true(o.read.start_us == -1 && o.read.duration_us == -1 && o.read.max_frames == 0);
    assert_int_equal(o.read.policy, PELTON_LOSSLESS);
    assert_true(o.connect.timeout == 120 && !o.connect.device_given);
    assert_string_equal(o.connect.device, "auto");
    assert_true(o.bench.streams == 1 && o.bench.loops == 1 && o.kernels.rounds == 7);
}

static void too_many_settings(void **state)
{
    struct client_options o;
    struct failure f = {0};
    static char *argv[2 + 2 * (MAX_CONFIG + 1)] = {(char *)"pelton", (char *)"decode"};
    int argc = 2;
    for (int i = 0; i <= MAX_CONFIG; i++) {
        argv[argc++] = (char *)"-c";
        argv[argc++] = (char *)"a=1";
    }
    assert_int_equal(options_parse(argc - 2, argv, &o, &f), 0);
    assert_int_equal(o.connect.n_config, MAX_CONFIG);
    assert_int_equal(options_parse(argc, argv, &o, &f), X_USAGE);
}

/* ---- words that people type ---- */

static void near_names_are_suggested(void **state)
{
    static const struct {
        const char *line, *hint;
    } cases[] = {
        {"decode --pixfmt x", "did you mean --pix-fmt?"},
        {"decode --pix_fnt x", "did you mean --pix-fmt?"},
        {"decode --overwrit", "did you mean -y?"},
        {"decode --framse 3", "did you mean -frames:v?"},
        {"decode --on-error drpo", "did you mean drop?"},
        {"decode --blurr x", "did you mean --blur?"},
        {"decode --zzzz", "pelton help decode lists"},
        {"decode --streams 2", "pelton bench has it"},
        {"decod -i x", "did you mean decode?"},
        {"snaphsot x", "did you mean snapshot?"},
        {"top3 x", "did you mean top?"},
        {"xyzzy", "pelton help lists"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct client_options o;
        struct failure f;
        assert_int_equal(parse_line(&o, &f, cases[i].line), X_USAGE);
        if (strncmp(f.hint, cases[i].hint, strlen(cases[i].hint)) != 0)
            fail_msg("%s: hint \"%s\"", cases[i].line, f.hint);
    }
}

static void habits_of_ffmpeg_change_nothing(void **state)
{
    struct client_options o, plain;
    struct failure f;
    assert_int_equal(parse_line(&plain, &f, "decode -i a -o b.y4m"), 0);
    assert_int_equal(parse_line(&o, &f,
                                "decode -hide_banner -nostdin -stats -threads 8 -hwaccel auto -i a "
                                "-map 0:v -an -sn -dn -c:v rawvideo -vsync passthrough -o b.y4m"),
                     0);
    assert_memory_equal(&o.read, &plain.read, sizeof(o.read));
    assert_memory_equal(&o.connect, &plain.connect, sizeof(o.connect));
    assert_int_equal(o.n_inputs, 1);
    assert_string_equal(o.write.path, "b.y4m");
    assert_int_equal(parse_line(&o, &f, "decode -c:v libx264"), X_USAGE);
    assert_int_equal(parse_line(&o, &f, "decode -vf scale=320:-1"), X_USAGE);
    assert_int_equal(parse_line(&o, &f, "decode -threads"), X_USAGE);
}

static void words_without_a_dash(void **state)
{
    struct client_options o;
    struct failure f;
    assert_int_equal(parse_line(&o, &f, "pipe demo -f y4m -"), 0);
    assert_string_equal(o.inputs[0], "demo");
    assert_string_equal(o.write.path, "-");
    assert_int_equal(parse_line(&o, &f, "snapshot demo now.png"), 0);
    assert_string_equal(o.write.path, "now.png");
    assert_int_equal(parse_line(&o, &f, "pipe demo a.y4m b.y4m"), X_USAGE);
    assert_int_equal(parse_line(&o, &f, "/dev/null --json"), 0); /* a file that exists */
    assert_int_equal(o.command->bit, CMD_PROBE);
    assert_true(o.json);
    assert_string_equal(o.inputs[0], "/dev/null");
    assert_int_equal(parse_line(&o, &f, "rtsp://h/x"), 0);
    assert_int_equal(o.command->bit, CMD_PROBE);
    assert_int_equal(parse_line(&o, &f, "./nothing.mp4"), X_INPUT);
}

/* ---- inputs ---- */

/* Each input keeps its own name, and shows no password. */
static void inputs_keep_their_names(void **state)
{
    static const char *const typed[] = {"rtsp://usera:pw@127.0.0.1:1/first",
                                        "rtsp://userb:p:w@127.0.0.1:2/second?x=a@b",
                                        "rtsp://127.0.0.1/third", "source:front"};
    static const char *const shown[] = {"rtsp://usera:***@127.0.0.1:1/first",
                                        "rtsp://userb:***@127.0.0.1:2/second?x=a@b",
                                        "rtsp://127.0.0.1/third", "source:front"};
    struct client_input in[4];
    struct failure f = {0};
    for (int i = 0; i < 4; i++)
        assert_int_equal(input_open(typed[i], &in[i], &f), 0);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(in[i].name, shown[i]);
        assert_string_equal(in[i].uri, typed[i]);
        assert_int_equal(in[i].fd, -1);
        input_close(&in[i]);
        input_close(&in[i]); /* a closed one may be closed again */
    }
}

static void shown_names_fit(void **state)
{
    char buffer[16];
    assert_string_equal(input_shown_name("a:b@c", buffer, sizeof(buffer)), "a:b@c");
    assert_string_equal(input_shown_name("://a:b@c", buffer, sizeof(buffer)), "://a:b@c");
    assert_string_equal(input_shown_name("s://h/a:b@c", buffer, sizeof(buffer)), "s://h/a:b@c");
    assert_string_equal(input_shown_name("s://u:p@h", buffer, sizeof(buffer)), "s://u:***@h");
    assert_string_equal(input_shown_name("s://u:@h", buffer, sizeof(buffer)), "s://u:***@h");
    assert_int_equal(strlen(input_shown_name("rtsp://user:p@host/path", buffer, 16)), 15);
}

static void inputs_that_are_not_there(void **state)
{
    struct client_input in;
    struct failure f = {0};
    assert_int_equal(input_open("/nonexistent/clip.mp4", &in, &f), X_INPUT);
    f = (struct failure){0};
    assert_int_equal(input_open("/tmp", &in, &f), X_INPUT);
    assert_non_null(strstr(f.cause, "is a directory"));
}

static void parameters_follow_options(void **state)
{
    struct client_options o;
    struct failure f;
    struct client_input in;
    struct pelton_open_params p;
    assert_int_equal(parse_line(&o, &f,
                                "decode -i source:a -ss 0 -t 2 --on-error fail --policy fifo:9 "
                                "-frames:v 3 --blur 8,16,32,64"),
                     0);
    assert_int_equal(input_open(o.inputs[0], &in, &f), 0);
    input_params(&o, &in, &p);
    assert_string_equal(p.uri, "source:a");
    assert_true(p.start_us == -1 && p.duration_us == 2000000);
    assert_int_equal(p.on_error, PELTON_ON_ERROR_FAIL);
    assert_true(p.policy == PELTON_FIFO && p.depth == 9);
    assert_true(p.n_blur == 1 && p.blur[0].x == 8);
    assert_int_equal(p.max_frames, 0); /* the daemon would count frames that are left out */
    assert_int_equal(p.bench.transport, PELTON_SHM);
    input_close(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_option_sets_its_member),
        cmocka_unit_test(each_row_has_a_case),
        cmocka_unit_test(wrong_values_are_refused),
        cmocka_unit_test(values_without_options),
        cmocka_unit_test(too_many_settings),
        cmocka_unit_test(near_names_are_suggested),
        cmocka_unit_test(habits_of_ffmpeg_change_nothing),
        cmocka_unit_test(words_without_a_dash),
        cmocka_unit_test(inputs_keep_their_names),
        cmocka_unit_test(shown_names_fit),
        cmocka_unit_test(inputs_that_are_not_there),
        cmocka_unit_test(parameters_follow_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
