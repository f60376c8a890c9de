/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One table says where the value of each option goes, and which function parses its text.
 */
#include "client/option_values.h"
#include "client/option_text.h"
#include "proto/blur.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int parse_log_level(const struct option_text *t, void *place)
{
    static const struct word levels[] = {
        {"quiet", LOG_QUIET},     {"panic", LOG_PANIC},     {"fatal", LOG_FATAL},
        {"error", LOG_ERROR},     {"warning", LOG_WARNING}, {"info", LOG_INFO},
        {"verbose", LOG_VERBOSE}, {"debug", LOG_DEBUG},     {"trace", LOG_TRACE}};
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        if (strcmp(levels[i].text, t->value) == 0) {
            *(int *)place = levels[i].value;
            return 0;
        }
    }
    char *end;
    long n = strtol(t->value, &end, 10);
    if (end == t->value || *end || n < LOG_QUIET || n > 1000)
        return text_refuse(
            t, "quiet, panic, fatal, error, warning, info, verbose, debug, trace, or a number");
    *(int *)place = (int)n;
    return 0;
}

static int parse_on_error(const struct option_text *t, void *place)
{
    static const struct word words[] = {{"show", PELTON_ON_ERROR_SHOW},
                                        {"drop", PELTON_ON_ERROR_DROP},
                                        {"fail", PELTON_ON_ERROR_FAIL},
                                        {"all", PELTON_ON_ERROR_SHOW_ALL},
                                        {NULL, 0}};
    int value = 0;
    int rc = text_word(t, t->value, words, &value);
    *(enum pelton_on_error *)place = (enum pelton_on_error)value;
    return rc;
}

static int parse_progress(const struct option_text *t, void *place)
{
    static const struct word words[] = {
        {"none", PROGRESS_NONE}, {"bar", PROGRESS_BAR}, {"kv", PROGRESS_KV}, {NULL, 0}};
    int value = 0;
    int rc = text_word(t, t->value, words, &value);
    *(enum progress_kind *)place = (enum progress_kind)value;
    return rc;
}

static int parse_yes(const struct option_text *t, void *place)
{
    *(enum overwrite *)place = OVERWRITE_YES;
    return 0;
}

static int parse_no(const struct option_text *t, void *place)
{
    *(enum overwrite *)place = OVERWRITE_NO;
    return 0;
}

static int parse_against(const struct option_text *t, void *place)
{
    static const struct word words[] = {{"ffmpeg", 0}, {NULL, 0}};
    int unused = 0;
    int rc = text_word(t, t->value, words, &unused);
    *(const char **)place = rc == 0 ? t->value : NULL;
    return rc;
}

/* ---- values of more than one field ---- */

enum { SHEET_MOST = 16 };

int options_add_input(struct client_options *o, const char *name, struct failure *f)
{
    unsigned most = o->command->bit & (CMD_BENCH | CMD_GET | CMD_SET) ? MAX_INPUTS : 1;
    if (o->n_inputs >= most) {
        return fail_with(f, X_USAGE,
                         most == 1 ? "run the command once for each input"
                                   : "measure them in several runs",
                         "%s: more than %u input%s", name, most, most == 1 ? "" : "s");
    }
    o->inputs[o->n_inputs++] = name;
    return 0;
}

static int parse_input(const struct option_text *t, void *place)
{
    return options_add_input(place, t->value, t->f);
}

/* latest, lossless, fifo, fifo:N */
static int parse_policy(const struct option_text *t, void *place)
{
    static const struct word words[] = {{"latest", PELTON_LATEST},
                                        {"fifo", PELTON_FIFO},
                                        {"fifo:N", PELTON_FIFO},
                                        {"lossless", PELTON_LOSSLESS},
                                        {NULL, 0}};
    struct read_options *read = place;
    bool counted = strncasecmp(t->value, "fifo:", 5) == 0;
    int policy = PELTON_LOSSLESS;
    uint32_t waiting = 0;
    int rc = text_word(t, counted ? "fifo:N" : t->value, words, &policy);
    if (rc == 0 && counted) {
        rc = text_u32(
            &(struct option_text){"--policy fifo:N,", t->value + 5, 1, PELTON_FIFO_MOST, t->f},
            &waiting);
    }
    if (rc == 0) {
        read->policy = (enum pelton_policy)policy;
        read->policy_given = true;
        read->waiting = waiting;
    }
    return rc;
}

static int parse_blur(const struct option_text *t, void *place)
{
    struct read_options *read = place;
    char why[BLUR_WHY];
    if (blur_parse(t->value, read->blur, &read->n_blur, why) < 0)
        return fail_with(t->f, X_USAGE, "as in: --blur 100,50,200,80", "--blur %s", why);
    return 0;
}

static int connect_add_config(struct connect_options *c, const char *value, struct failure *f)
{
    const char *equals = strchr(value, '=');
    if (!equals || equals == value)
        return text_refuse(&(struct option_text){.name = "-c", .value = value, .f = f},
                           "as in: -c key=value; to copy a stream: ffmpeg -i IN -c copy OUT");
    if (c->n_config == MAX_CONFIG) {
        return fail_with(f, X_USAGE, "put them into a configuration file", "more than %d times -c",
                         MAX_CONFIG);
    }
    c->config[c->n_config++] = value;
    return 0;
}

static int parse_config(const struct option_text *t, void *place)
{
    return connect_add_config(place, t->value, t->f);
}

static int parse_device(const struct option_text *t, void *place)
{
    struct connect_options *c = place;
    c->device = t->value;
    c->device_given = true;
    return 0;
}

static int parse_lookahead(const struct option_text *t, void *place)
{
    struct connect_options *c = place;
    uint32_t n = 0;
    int rc = text_u32(t, &n);
    if (rc == 0) {
        snprintf(c->lookahead, sizeof(c->lookahead), "lookahead=%u", n);
        c->lookahead_given = true;
    }
    return rc;
}

static int parse_gpu_debug(const struct option_text *t, void *place)
{
    struct connect_options *c = place;
    c->gpu_debug = true;
    return connect_add_config(c, "gpu_debug=true", t->f);
}

static int parse_no_tune(const struct option_text *t, void *place)
{
    return connect_add_config(place, "tune=false", t->f);
}

static int parse_tune_force(const struct option_text *t, void *place)
{
    struct connect_options *c = place;
    snprintf(c->tune_force, sizeof(c->tune_force), "debug.tune_force=%s", t->value);
    return connect_add_config(c, c->tune_force, t->f);
}

static int parse_min_fps(const struct option_text *t, void *place)
{
    struct bench_options *bench = place;
    bench->min_fps_given = true;
    return text_double(t, &bench->min_fps);
}

static int parse_kernel_size(const struct option_text *t, void *place)
{
    struct kernel_options *kernels = place;
    unsigned w, h;
    int end = 0;
    if (sscanf(t->value, "%5ux%5u%n", &w, &h, &end) != 2 || t->value[end])
        return text_refuse(t, "as in: --size 1920x1080");
    kernels->width = w;
    kernels->height = h;
    return 0;
}

static int parse_kernel_format(const struct option_text *t, void *place)
{
    struct kernel_options *kernels = place;
    snprintf(kernels->format, sizeof(kernels->format), "%s", t->value);
    return 0;
}

/* 4x3 */
static int parse_sheet(const struct option_text *t, void *place)
{
    struct write_options *w = place;
    unsigned columns = 0, rows = 0;
    char rest;
    if (sscanf(t->value, "%3ux%3u%c", &columns, &rows, &rest) != 2 || !columns || !rows ||
        columns > SHEET_MOST || rows > SHEET_MOST)
        return text_refuse(t, "columns and rows, each from 1 to 16, as in: --sheet 4x3");
    w->sheet_columns = columns;
    w->sheet_rows = rows;
    return 0;
}

static int parse_calib_size(const struct option_text *t, void *place)
{
    struct calib_options *calib = place;
    unsigned width = 0, height = 0;
    char rest;
    if (sscanf(t->value, "%5ux%5u%c", &width, &height, &rest) != 2 || !width || !height)
        return fail_with(t->f, X_USAGE, "as in --size 1920x1080", "--size: %s is no size",
                         t->value);
    calib->width = width;
    calib->height = height;
    return 0;
}

/* ---- the table ---- */

/* The place of a member. The comparison makes the compiler check the member's type. */
#define PLACE(type, member)                                                                        \
    (offsetof(struct client_options, member) +                                                     \
     0 * sizeof((type *)0 == &((struct client_options *)0)->member))
#define VALUE(parser, type, member)                                                                \
    {                                                                                              \
        .parse = (parser), .offset = PLACE(type, member)                                           \
    }
#define WHOLE(parser, type, member, from, to)                                                      \
    {                                                                                              \
        .parse = (parser), .offset = PLACE(type, member), .least = (from), .most = (to)            \
    }
#define GROUP(parser, member)                                                                      \
    {                                                                                              \
        .parse = (parser), .offset = offsetof(struct client_options, member)                       \
    }

static const struct option_place {
    int (*parse)(const struct option_text *t, void *place);
    size_t offset;
    uint64_t least, most; /* of whole numbers */
} option_places[N_OPTIONS] = {
    [OPT_INPUT] = {.parse = parse_input},
    [OPT_OUTPUT] = VALUE(text_string, const char *, write.path),
    [OPT_FORMAT] = VALUE(text_string, const char *, write.format),
    [OPT_YES] = VALUE(parse_yes, enum overwrite, write.overwrite),
    [OPT_NO] = VALUE(parse_no, enum overwrite, write.overwrite),
    [OPT_START] = VALUE(text_time_us, int64_t, read.start_us),
    [OPT_DURATION] = VALUE(text_time_us, int64_t, read.duration_us),
    [OPT_FRAMES] = WHOLE(text_u64, uint64_t, read.max_frames, 1, INT64_MAX),
    [OPT_PIX_FMT] = VALUE(text_string, const char *, write.pix_fmt),
    [OPT_VERIFY] = VALUE(text_string, const char *, write.verify),
    [OPT_BENCH_VERIFY] = VALUE(text_flag, bool, bench.verify),
    [OPT_SIDE_DATA] = VALUE(text_string, const char *, write.side_data),
    [OPT_FIELDS] = VALUE(text_flag, bool, read.fields),
    [OPT_BLUR] = GROUP(parse_blur, read),
    [OPT_SECOND_VIEW] = VALUE(text_string, const char *, write.second_view),
    [OPT_ON_ERROR] = VALUE(parse_on_error, enum pelton_on_error, read.on_error),
    [OPT_PROGRESS] = VALUE(parse_progress, enum progress_kind, write.progress),
    [OPT_DEVICE] = GROUP(parse_device, connect),
    [OPT_SOCKET] = VALUE(text_string, const char *, connect.socket),
    [OPT_CONFIG] = GROUP(parse_config, connect),
    [OPT_LOOKAHEAD] = {.parse = parse_lookahead,
                       .offset = offsetof(struct client_options, connect),
                       .least = 1,
                       .most = 4096},
    [OPT_TIMEOUT] = VALUE(text_double, double, connect.timeout),
    [OPT_LOG_LEVEL] = VALUE(parse_log_level, int, log_level),
    [OPT_JSON] = VALUE(text_flag, bool, json),
    [OPT_JSON_FILE] = VALUE(text_string, const char *, bench.json_file),
    [OPT_STREAMS] = WHOLE(text_u32, uint32_t, bench.streams, 1, 256),
    [OPT_LOOP] = WHOLE(text_u32, uint32_t, bench.loops, 1, 1000000),
    [OPT_STAGES] = VALUE(text_flag, bool, bench.stages),
    [OPT_LIVE] = VALUE(text_flag, bool, bench.live),
    [OPT_TRACE] = VALUE(text_flag, bool, bench.trace),
    [OPT_CHART] = VALUE(text_string, const char *, bench.chart),
    [OPT_KERNELS] = VALUE(text_flag, bool, bench.kernels),
    [OPT_NO_TUNE] = GROUP(parse_no_tune, connect),
    [OPT_GPU_DEBUG] = GROUP(parse_gpu_debug, connect),
    [OPT_TUNE_FORCE] = GROUP(parse_tune_force, connect),
    [OPT_VARIANT] = VALUE(text_string, const char *, kernels.variant),
    [OPT_KERNEL_SIZE] = GROUP(parse_kernel_size, kernels),
    [OPT_KERNEL_FORMAT] = GROUP(parse_kernel_format, kernels),
    [OPT_TAPS] = WHOLE(text_u32, uint32_t, kernels.taps, 1, 19),
    [OPT_ROUNDS] = WHOLE(text_u32, uint32_t, kernels.rounds, 1, 1000),
    [OPT_CSV] = VALUE(text_string, const char *, kernels.csv),
    [OPT_LIST] = VALUE(text_flag, bool, kernels.list),
    [OPT_AGAINST] = VALUE(parse_against, const char *, bench.against),
    [OPT_FFMPEG] = VALUE(text_string, const char *, bench.ffmpeg),
    [OPT_DEPTH] = WHOLE(text_u32, uint32_t, read.depth, 1, 1024),
    [OPT_MIN_FPS] = GROUP(parse_min_fps, bench),
    [OPT_MAN] = VALUE(text_flag, bool, man),
    [OPT_HELP] = VALUE(text_flag, bool, help),
    [OPT_SIZE] = GROUP(parse_calib_size, calib),
    [OPT_CAMERA] = WHOLE(text_u32, uint32_t, calib.camera, 0, 1000),
    [OPT_POLICY] = GROUP(parse_policy, read),
    [OPT_AFTER_NOW] = VALUE(text_flag, bool, camera.after_now),
    [OPT_WATCH] = VALUE(text_flag, bool, camera.watch),
    [OPT_QUALITY] = WHOLE(text_u32, uint32_t, write.quality, 1, 31),
    [OPT_SHEET] = GROUP(parse_sheet, write),
    [OPT_MAX_FPS] = VALUE(text_double, double, read.max_fps),
};

int option_apply(const struct option_row *row, const char *value, struct client_options *o,
                 struct failure *f)
{
    const struct option_place *p = &option_places[row->id];
    char name[48];
    struct option_text t = {option_spelling(row, name, sizeof(name)), value, p->least, p->most, f};
    return p->parse(&t, (char *)o + p->offset);
}
