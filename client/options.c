/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Parsing of the command line by the option table, in FFmpeg's and in GNU's spelling.
 */
#include "client/options.h"
#include "proto/blur.h"

#include <errno.h>
#include <libavutil/parseutils.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    int level;
} log_levels[] = {
    {"quiet", LOG_QUIET},     {"panic", LOG_PANIC},     {"fatal", LOG_FATAL},
    {"error", LOG_ERROR},     {"warning", LOG_WARNING}, {"info", LOG_INFO},
    {"verbose", LOG_VERBOSE}, {"debug", LOG_DEBUG},     {"trace", LOG_TRACE},
};

const struct command *command_find(const char *name)
{
    for (unsigned i = 0; i < n_commands; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

const char *option_spelling(const struct option_row *row, char *buffer, size_t size)
{
    bool one_dash = strlen(row->name) <= 2 || strchr(row->name, ':');
    snprintf(buffer, size, "%s%s", one_dash ? "-" : "--", row->name);
    return buffer;
}

/* Names are equal where only - and _ differ. */
static bool same_name(const char *typed, size_t length, const char *name, size_t name_length)
{
    if (length != name_length)
        return false;
    for (size_t i = 0; i < length; i++) {
        char a = typed[i] == '_' ? '-' : typed[i], b = name[i] == '_' ? '-' : name[i];
        if (a != b)
            return false;
    }
    return true;
}

static bool row_has_name(const struct option_row *row, const char *typed, size_t length)
{
    if (same_name(typed, length, row->name, strlen(row->name)))
        return true;
    for (const char *p = row->aliases; p && *p;) {
        size_t n = strcspn(p, " ");
        if (same_name(typed, length, p, n))
            return true;
        p += n + (p[n] == ' ');
    }
    return false;
}

/* The row of this command; *elsewhere is one of another command. */
static const struct option_row *row_find(const char *typed, size_t length, unsigned command,
                                         const struct option_row **elsewhere)
{
    *elsewhere = NULL;
    for (unsigned i = 0; i < n_option_rows; i++) {
        if (row_has_name(&option_rows[i], typed, length)) {
            if (option_rows[i].commands & command)
                return &option_rows[i];
            *elsewhere = &option_rows[i];
        }
    }
    return NULL;
}

static int bad_value(struct failure *f, const char *option, const char *value, const char *hint)
{
    return fail_with(f, X_USAGE, hint, "%s %s: not understood", option, value);
}

static int parse_count(struct failure *f, const char *option, const char *value, uint64_t least,
                       uint64_t most, uint64_t *out)
{
    char *end, hint[96];
    errno = 0;
    unsigned long long n = strtoull(value, &end, 10);
    if (errno || end == value || *end || value[0] == '-' || n < least || n > most) {
        snprintf(hint, sizeof(hint), "a whole number from %llu to %llu", (unsigned long long)least,
                 (unsigned long long)most);
        return bad_value(f, option, value, hint);
    }
    *out = n;
    return 0;
}

static int parse_u32(struct failure *f, const char *option, const char *value, uint32_t most,
                     uint32_t *out)
{
    uint64_t n;
    int rc = parse_count(f, option, value, 1, most, &n);
    if (rc == 0)
        *out = (uint32_t)n;
    return rc;
}

static int parse_blur(struct failure *f, const char *value, struct options *o)
{
    char why[BLUR_WHY];
    if (blur_parse(value, o->blur, &o->n_blur, why) < 0)
        return fail_with(f, X_USAGE, "as in: --blur 100,50,200,80", "--blur %s", why);
    return 0;
}

static int parse_kernel_size(struct failure *f, const char *value, uint32_t *width,
                             uint32_t *height)
{
    unsigned w, h;
    int end = 0;
    if (sscanf(value, "%5ux%5u%n", &w, &h, &end) != 2 || value[end])
        return bad_value(f, "--size", value, "as in: --size 1920x1080");
    *width = w;
    *height = h;
    return 0;
}

static int parse_number(struct failure *f, const char *option, const char *value, double *out)
{
    char *end;
    double n = strtod(value, &end);
    if (end == value || *end || !isfinite(n) || n < 0 || n > 1e6)
        return bad_value(f, option, value, "a number from 0 to 1000000");
    *out = n;
    return 0;
}

static int parse_time(struct failure *f, const char *option, const char *value, int64_t *out)
{
    int64_t us;
    if (av_parse_time(&us, value, 1) < 0 || us < 0) {
        return bad_value(f, option, value,
                         "seconds (12.5), [HH:]MM:SS[.m], or with a unit (200ms)");
    }
    *out = us;
    return 0;
}

static int parse_choice(struct failure *f, const char *option, const char *value,
                        const char *const *words, const int *values, int *out)
{
    char hint[96] = "one of:";
    for (unsigned i = 0; words[i]; i++) {
        if (strcasecmp(words[i], value) == 0) {
            *out = values[i];
            return 0;
        }
        strncat(hint, " ", sizeof(hint) - strlen(hint) - 1);
        strncat(hint, words[i], sizeof(hint) - strlen(hint) - 1);
    }
    return bad_value(f, option, value, hint);
}

static int parse_log_level(struct failure *f, const char *value, int *out)
{
    for (unsigned i = 0; i < sizeof(log_levels) / sizeof(log_levels[0]); i++) {
        if (strcmp(log_levels[i].name, value) == 0) {
            *out = log_levels[i].level;
            return 0;
        }
    }
    char *end;
    long n = strtol(value, &end, 10);
    if (end == value || *end || n < -8 || n > 1000) {
        return bad_value(
            f, "-loglevel", value,
            "quiet, panic, fatal, error, warning, info, verbose, debug, trace, or a number");
    }
    *out = (int)n;
    return 0;
}

static int parse_config(struct failure *f, const char *value, struct options *o)
{
    const char *equals = strchr(value, '=');
    if (!equals || equals == value)
        return bad_value(f, "-c", value, "as in: -c key=value");
    if (o->n_config == MAX_CONFIG) {
        return fail_with(f, X_USAGE, "put them into a configuration file", "more than %d times -c",
                         MAX_CONFIG);
    }
    o->config[o->n_config++] = value;
    return 0;
}

static int add_input(struct failure *f, const char *value, struct options *o)
{
    unsigned most = o->command->bit & (CMD_BENCH | CMD_GET | CMD_SET) ? MAX_INPUTS : 1;
    if (o->n_inputs >= most) {
        return fail_with(f, X_USAGE,
                         most == 1 ? "run the command once for each input"
                                   : "measure them in several runs",
                         "%s: more than %u input%s", value, most, most == 1 ? "" : "s");
    }
    o->inputs[o->n_inputs++] = value;
    return 0;
}

static int parse_on_error(struct failure *f, const char *value, int *out)
{
    return parse_choice(f, "--on-error", value,
                        (const char *const[]){"show", "drop", "fail", "all", NULL},
                        (const int[]){0, 1, 2, 3}, out);
}

/* latest, lossless, fifo, fifo:N */
static int parse_policy(struct failure *f, const char *value, struct options *o)
{
    bool counted = strncasecmp(value, "fifo:", 5) == 0;
    int policy;
    uint32_t waiting = 0;
    int rc = parse_choice(f, "--policy", counted ? "fifo:N" : value,
                          (const char *const[]){"latest", "fifo", "fifo:N", "lossless", NULL},
                          (const int[]){PELTON_LATEST, PELTON_FIFO, PELTON_FIFO, PELTON_LOSSLESS},
                          &policy);
    if (rc == 0 && counted)
        rc = parse_u32(f, "--policy fifo:N,", value + 5, PELTON_FIFO_MOST, &waiting);
    if (rc == 0) {
        o->policy = (enum pelton_policy)policy;
        o->policy_given = true;
        o->waiting = waiting;
    }
    return rc;
}

static int parse_progress(struct failure *f, const char *value, enum progress_kind *out)
{
    int kind;
    int rc = parse_choice(f, "--progress", value, (const char *const[]){"none", "bar", "kv", NULL},
                          (const int[]){PROGRESS_NONE, PROGRESS_BAR, PROGRESS_KV}, &kind);
    if (rc == 0)
        *out = (enum progress_kind)kind;
    return rc;
}

static int parse_camera(struct failure *f, const char *value, uint32_t *out)
{
    uint64_t n;
    int rc = parse_count(f, "--camera", value, 0, 1000, &n);
    if (rc == 0)
        *out = (uint32_t)n;
    return rc;
}

static int parse_size(struct failure *f, const char *value, struct options *o)
{
    unsigned width = 0, height = 0;
    char rest;
    if (sscanf(value, "%5ux%5u%c", &width, &height, &rest) != 2 || !width || !height)
        return fail_with(f, X_USAGE, "as in --size 1920x1080", "--size: %s is no size", value);
    o->width = width;
    o->height = height;
    return 0;
}

static int apply_lookahead(struct failure *f, const char *value, struct options *o)
{
    uint32_t n;
    int rc = parse_u32(f, "--lookahead", value, 4096, &n);
    if (rc == 0) {
        snprintf(o->lookahead, sizeof(o->lookahead), "lookahead=%u", n);
        o->lookahead_given = true;
    }
    return rc;
}

static int apply_against(struct failure *f, const char *value, struct options *o)
{
    int unused;
    int rc = parse_choice(f, "--against", value, (const char *const[]){"ffmpeg", NULL},
                          (const int[]){0}, &unused);
    o->against = rc == 0 ? value : NULL;
    return rc;
}

static int apply_number_option(const struct option_row *row, const char *value, struct options *o,
                               struct failure *f)
{
    switch (row->id) {
    case OPT_START:
        return parse_time(f, "-ss", value, &o->start_us);
    case OPT_DURATION:
        return parse_time(f, "-t", value, &o->duration_us);
    case OPT_FRAMES:
        return parse_count(f, "-frames:v", value, 1, INT64_MAX, &o->max_frames);
    case OPT_STREAMS:
        return parse_u32(f, "--streams", value, 256, &o->streams);
    case OPT_LOOP:
        return parse_u32(f, "--loop", value, 1000000, &o->loops);
    case OPT_CAMERA:
        return parse_camera(f, value, &o->camera);
    case OPT_TAPS:
        return parse_u32(f, "--taps", value, 19, &o->kernel_taps);
    case OPT_ROUNDS:
        return parse_u32(f, "--rounds", value, 1000, &o->rounds);
    case OPT_DEPTH:
        return parse_u32(f, "--depth", value, 1024, &o->depth);
    case OPT_TIMEOUT:
        return parse_number(f, "--timeout", value, &o->timeout);
    case OPT_MAX_FPS:
        return parse_number(f, "--max-fps", value, &o->max_fps);
    case OPT_MIN_FPS:
        o->min_fps_given = true;
        return parse_number(f, "--min-fps", value, &o->min_fps);
    default:
        return apply_lookahead(f, value, o);
    }
}

static int apply(const struct option_row *row, const char *value, struct options *o,
                 struct failure *f)
{
    switch (row->id) {
    case OPT_INPUT:
        return add_input(f, value, o);
    case OPT_OUTPUT:
        o->output = value;
        return 0;
    case OPT_FORMAT:
        o->format = value;
        return 0;
    case OPT_YES:
        o->overwrite = OVERWRITE_YES;
        return 0;
    case OPT_NO:
        o->overwrite = OVERWRITE_NO;
        return 0;
    case OPT_PIX_FMT:
        o->pix_fmt = value;
        return 0;
    case OPT_FIELDS:
        o->fields = true;
        return 0;
    case OPT_VERIFY:
        o->verify = value;
        return 0;
    case OPT_SECOND_VIEW:
        o->second_view = value;
        return 0;
    case OPT_SIDE_DATA:
        o->side_data = value;
        return 0;
    case OPT_BENCH_VERIFY:
        o->verify = "";
        return 0;
    case OPT_POLICY:
        return parse_policy(f, value, o);
    case OPT_AFTER_NOW:
        o->after_now = true;
        return 0;
    case OPT_WATCH:
        o->watch = true;
        return 0;
    case OPT_ON_ERROR:
        return parse_on_error(f, value, &o->on_error);
    case OPT_PROGRESS:
        return parse_progress(f, value, &o->progress);
    case OPT_DEVICE:
        o->device = value;
        o->device_given = true;
        return 0;
    case OPT_SOCKET:
        o->socket = value;
        return 0;
    case OPT_CONFIG:
        return parse_config(f, value, o);
    case OPT_LOG_LEVEL:
        return parse_log_level(f, value, &o->log_level);
    case OPT_JSON:
        o->json = true;
        return 0;
    case OPT_JSON_FILE:
        o->json_file = value;
        return 0;
    case OPT_CHART:
        o->chart = value;
        return 0;
    case OPT_KERNELS:
        o->kernels = true;
        return 0;
    case OPT_BLUR:
        return parse_blur(f, value, o);
    case OPT_GPU_DEBUG:
        o->gpu_debug = true;
        return parse_config(f, "gpu_debug=true", o);
    case OPT_NO_TUNE:
        return parse_config(f, "tune=false", o);
    case OPT_TUNE_FORCE:
        snprintf(o->tune_force, sizeof(o->tune_force), "debug.tune_force=%s", value);
        return parse_config(f, o->tune_force, o);
    case OPT_VARIANT:
        o->variant = value;
        return 0;
    case OPT_CSV:
        o->csv = value;
        return 0;
    case OPT_PLOT:
        o->plot = value;
        return 0;
    case OPT_FIGURES:
        o->figures = value;
        return 0;
    case OPT_LIST:
        o->list = true;
        return 0;
    case OPT_KERNEL_SIZE:
        return parse_kernel_size(f, value, &o->kernel_width, &o->kernel_height);
    case OPT_KERNEL_FORMAT:
        snprintf(o->kernel_format, sizeof(o->kernel_format), "%s", value);
        return 0;
    case OPT_LIVE:
        o->live = true;
        return 0;
    case OPT_TRACE:
        o->trace = true;
        return 0;
    case OPT_STAGES:
        o->stages = true;
        return 0;
    case OPT_AGAINST:
        return apply_against(f, value, o);
    case OPT_FFMPEG:
        o->ffmpeg = value;
        return 0;
    case OPT_MAN:
        o->man = true;
        return 0;
    case OPT_HELP:
        o->help = true;
        return 0;
    case OPT_SIZE:
        return parse_size(f, value, o);
    default:
        return apply_number_option(row, value, o, f);
    }
}

/* A word without a dash. */
static int positional(const char *word, struct options *o, struct failure *f)
{
    switch (o->command->bit) {
    case CMD_DECODE:
        if (o->output) {
            return fail_with(f, X_USAGE, "the input follows -i; there is one output",
                             "%s: a second output", word);
        }
        o->output = word;
        return 0;
    case CMD_PROBE:
    case CMD_BENCH:
    case CMD_INFO:
    case CMD_VIEW:
    case CMD_PIPE:
    case CMD_SNAPSHOT:
    case CMD_GET:
    case CMD_SET:
        return add_input(f, word, o);
    case CMD_CALIB:
        if (o->topic)
            return add_input(f, word, o);
        o->topic = word;
        return 0;
    case CMD_HELP:
    case CMD_COMPLETION:
        if (!o->topic) {
            o->topic = word;
            return 0;
        }
        break;
    default:
        break;
    }
    return fail_with(f, X_USAGE, "see: pelton help", "%s: unexpected word", word);
}

/* One option, at argv[*i]; *i ends at its last word. */
static int parse_option(int argc, char **argv, int *i, struct options *o, struct failure *f)
{
    const char *word = argv[*i], *name = word + 1 + (word[1] == '-');
    size_t length = strcspn(name, "=");
    const char *value = name[length] == '=' ? name + length + 1 : NULL;
    const struct option_row *elsewhere, *row = row_find(name, length, o->command->bit, &elsewhere);
    char hint[80];
    snprintf(hint, sizeof(hint), "see: pelton help %s", o->command->name);
    if (!row) {
        return fail_with(f, X_USAGE, hint,
                         elsewhere ? "%s: not an option of pelton %s"
                                   : "%s: no such option (pelton %s)",
                         word, o->command->name);
    }
    if (!row->arg && value)
        return fail_with(f, X_USAGE, hint, "%s: takes no argument", word);
    if (row->arg && !value) {
        if (*i + 1 >= argc)
            return fail_with(f, X_USAGE, hint, "%s: %s is missing", word, row->arg);
        value = argv[++*i];
    }
    return apply(row, value, o, f);
}

static int choose_command(int argc, char **argv, struct options *o, struct failure *f)
{
    const char *word = argc > 1 ? argv[1] : "help";
    if (!strcmp(word, "-h") || !strcmp(word, "--help") || !strcmp(word, "-help") ||
        !strcmp(word, "-?")) {
        word = "help";
    } else if (!strcmp(word, "--version") || !strcmp(word, "-version") || !strcmp(word, "-V")) {
        word = "version";
    }
    o->command = command_find(word);
    if (!o->command) {
        return fail_with(f, X_USAGE,
                         word[0] == '-'
                             ? "the command comes first, as in: pelton decode -i IN -o OUT"
                             : "pelton help lists the commands",
                         "%s: no such command", word);
    }
    return 0;
}

int options_parse(int argc, char **argv, struct options *o, struct failure *f)
{
    *o = (struct options){.log_level = LOG_INFO,
                          .start_us = -1,
                          .duration_us = -1,
                          .timeout = 120,
                          .streams = 1,
                          .loops = 1,
                          .rounds = 7,
                          .device = "auto"};
    int rc = choose_command(argc, argv, o, f);
    bool words_only = false;
    for (int i = 2; rc == 0 && i < argc; i++)
        if (!words_only && strcmp(argv[i], "--") == 0)
            words_only = true;
        else if (!words_only && argv[i][0] == '-' && argv[i][1])
            rc = parse_option(argc, argv, &i, o, f);
        else
            rc = positional(argv[i], o, f);
    return rc;
}
