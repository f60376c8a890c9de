/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Parsers of single options, from text to values in struct client_options.
 */
#include "client/option_table.h"
#include "proto/blur.h"

#include <errno.h>
#include <libavutil/parseutils.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int parse_log_level(const struct option_text *t, void *place)
{
    static const int levels[] = {LOG_QUIET, LOG_PANIC,   LOG_FATAL, LOG_ERROR, LOG_WARNING,
                                 LOG_INFO,  LOG_VERBOSE, LOG_DEBUG, LOG_TRACE};
    unsigned number = 0;
    char *end;
    long n = strtol(t->value, &end, 10);
    bool is_number = end > t->value && !*end && n >= LOG_QUIET && n <= 1000;
    if (!is_number &&
        text_word(t, t->value, "quiet panic fatal error warning info verbose debug trace",
                  &number) < 0)
        return -1;
    *(int *)place = is_number ? (int)n : levels[number];
    return 0;
}

/* 0:v:1, v:1: of video streams; 0, 0:0, 0:v: the daemon's choice. */
int parse_map(const struct option_text *t, void *place)
{
    const char *p = t->value;
    char *end;
    bool file = p[0] == '0' && (!p[1] || p[1] == ':');
    if (!strcmp(p, "0") || !strcmp(p, "0:0")) {
        *(uint32_t *)place = 0;
        return 0;
    }
    p += file ? 2 : 0;
    long n = p[0] == 'v' && p[1] == ':' ? strtol(p + 2, &end, 10) : -1;
    bool number = n >= 0 && n < 1000 && p[2] >= '0' && p[2] <= '9' && !*end;
    if (strcmp(p, "v") != 0 && !number)
        return text_refuse(t, "as in: -map 0:v:1, the second video stream");
    *(uint32_t *)place = number ? (uint32_t)n + 1 : 0;
    return 0;
}

/* A-B:S, A-B or A; false: something else. */
static bool parse_range(const char **at, struct pelton_frame_range *out)
{
    char *end;
    unsigned long long value[3] = {0, 0, 1};
    for (int i = 0; i < 3; i++) {
        if (**at < '0' || **at > '9')
            return false;
        value[i] = strtoull(*at, &end, 10);
        value[1] = i == 0 ? value[0] : value[1];
        *at = end;
        if (i == 2 || **at != "-:"[i])
            break;
        ++*at;
    }
    if (value[1] < value[0] || value[1] > INT32_MAX || !value[2] || value[2] > INT32_MAX)
        return false;
    *out = (struct pelton_frame_range){value[0], (value[1] - value[0]) / value[2] + 1, value[2]};
    return true;
}

int parse_frames_at(const struct option_text *t, void *place)
{
    struct read_options *read = place;
    const char *at = t->value;
    uint64_t frames = 0;
    for (read->n_frames_at = 0; read->n_frames_at < MAX_FRAMES_AT; at++) {
        struct pelton_frame_range *range = &read->frames_at[read->n_frames_at++];
        if (!parse_range(&at, range) || (*at && *at != ','))
            break;
        frames += range->count;
        if (frames > PELTON_MAX_WANTED_FRAMES)
            break;
        if (!*at)
            return 0;
    }
    return text_refuse(t, "numbers and ranges, as in 10,250 or 0-99:10, of 65536 frames at most");
}

int parse_loops(const struct option_text *t, void *place)
{
    char *end;
    long n = strtol(t->value, &end, 10);
    if (end == t->value || *end || n < -1 || n > 1000000)
        return text_refuse(t, "a whole number from -1 to 1000000");
    *(int32_t *)place = (int32_t)n;
    return 0;
}

/* A kind, or ffmpeg's name of a place. */
int parse_progress(const struct option_text *t, void *place)
{
    struct write_options *write = place;
    unsigned number = 0;
    bool one = !strcmp(t->value, "-") || !strcmp(t->value, "pipe:1");
    if (one || !strcmp(t->value, "pipe:2") || strpbrk(t->value, "./")) {
        write->progress = PROGRESS_KV;
        write->progress_path = one                                        ? "-"
                               : t->value[0] == 'p' && t->value[4] == ':' ? NULL
                                                                          : t->value;
        return 0;
    }
    int rc = text_word(t, t->value, t->choices, &number);
    if (rc == 0) {
        write->progress = (enum progress_kind)(PROGRESS_NONE + number);
        write->progress_path = NULL;
    }
    return rc;
}

int parse_against(const struct option_text *t, void *place)
{
    unsigned unused;
    int rc = text_word(t, t->value, t->choices, &unused);
    *(const char **)place = rc == 0 ? t->value : NULL;
    return rc;
}

int parse_time(const struct option_text *t, void *place)
{
    int64_t us;
    if (av_parse_time(&us, t->value, 1) < 0 || us < 0)
        return text_refuse(t, "seconds (12.5), [HH:]MM:SS[.m], or with a unit (200ms)");
    *(int64_t *)place = us;
    return 0;
}

/* ---- values of more than one field ---- */

enum { SHEET_MOST = 16 };

int options_add_input(struct client_options *o, const char *name, struct option_fault *fault)
{
    unsigned most = o->command->bit & (CMD_BENCH | CMD_ENCODE | CMD_GET | CMD_SET) ? MAX_INPUTS : 1;
    if (o->n_inputs >= most) {
        return option_fail(fault,
                           most == 1 ? "run the command once for each input"
                                     : "measure them in several runs",
                           "%s: more than %u input%s", name, most, most == 1 ? "" : "s");
    }
    o->inputs[o->n_inputs++] = name;
    return 0;
}

int parse_input(const struct option_text *t, void *place)
{
    return options_add_input(place, t->value, t->fault);
}

/* latest, lossless, fifo, fifo:N */
int parse_policy(const struct option_text *t, void *place)
{
    static const enum pelton_policy policies[] = {PELTON_LATEST, PELTON_FIFO, PELTON_FIFO,
                                                  PELTON_LOSSLESS};
    struct read_options *read = place;
    bool counted = strncasecmp(t->value, "fifo:", 5) == 0;
    struct option_text count = {"--policy fifo:N,", t->value + 5, NULL, 1,
                                PELTON_FIFO_MOST,   t->fault};
    unsigned number = 0;
    uint32_t waiting = 0;
    int rc = text_word(t, counted ? "fifo:N" : t->value, "latest fifo fifo:N lossless", &number);
    if (rc == 0 && counted)
        rc = text_u32(&count, &waiting);
    if (rc == 0) {
        read->policy = policies[number];
        read->policy_given = true;
        read->waiting = waiting;
    }
    return rc;
}

int parse_blur(const struct option_text *t, void *place)
{
    struct read_options *read = place;
    char why[BLUR_WHY];
    if (blur_parse(t->value, read->blur, &read->n_blur, why) < 0)
        return option_fail(t->fault, "as in: --blur 100,50,200,80", "--blur %s", why);
    return 0;
}

static int connect_add_config(struct connect_options *c, const char *value,
                              struct option_fault *fault)
{
    const char *equals = strchr(value, '=');
    if (!equals || equals == value)
        return text_refuse(&(struct option_text){.name = "-c", .value = value, .fault = fault},
                           "as in: -c key=value; to copy a stream: ffmpeg -i IN -c copy OUT");
    if (c->n_config == MAX_CONFIG) {
        return option_fail(fault, "put them into a configuration file", "more than %d times -c",
                           MAX_CONFIG);
    }
    c->config[c->n_config++] = value;
    return 0;
}

/* As users of ffmpeg type it, -c is another option. */
int parse_config(const struct option_text *t, void *place)
{
    struct client_options *o = place;
    bool codec =
        !strcmp(t->value, "copy") || !strcmp(t->value, "h264") || !strcmp(t->value, "mjpeg");
    if (codec && o->command->bit & (CMD_PIPE | CMD_RECORD))
        return parse_codec(t, place);
    return connect_add_config(&o->connect, t->value, t->fault);
}

/* h264, copy, mjpeg, rawvideo: of pelton encode only the first */
int parse_codec(const struct option_text *t, void *place)
{
    struct client_options *o = place;
    bool encodes = o->command->bit == CMD_ENCODE, copy = !strcmp(t->value, "copy"),
         h264 = !strcmp(t->value, "h264"), jpeg = !strcmp(t->value, "mjpeg");
    if (jpeg && o->command->bit != CMD_PIPE)
        return option_fail(t->fault,
                           "pelton pipe NAME -c:v mjpeg - writes JPEG files one after "
                           "the other, pelton decode -o frame%04d.jpg each by itself",
                           "-c:v mjpeg: pelton %s writes H.264", o->command->name);
    if (!h264 && !jpeg && (encodes || (!copy && strcmp(t->value, "rawvideo") != 0)))
        return option_fail(t->fault,
                           encodes ? "-c:v h264, or leave it out"
                                   : "h264 and mjpeg encode, copy takes the source's bytes",
                           "-c:v %s: pelton does not encode this", t->value);
    o->write.copy = copy;
    o->write.jpeg = jpeg;
    o->encode.wanted = h264;
    return 0;
}

int parse_segment(const struct option_text *t, void *place)
{
    int64_t us = 0;
    int rc = parse_time(t, &us);
    if (rc == 0 && us < 1000000)
        return option_fail(t->fault, "as in: --segment 600", "--segment %s: a second is the least",
                           t->value);
    if (rc == 0)
        *(int64_t *)place = us;
    return rc;
}

int parse_size(const struct option_text *t, void *place)
{
    static const char units[] = "kMGT";
    char *end = NULL;
    errno = 0;
    unsigned long long bytes = strtoull(t->value, &end, 10);
    const char *unit = *end ? strchr(units, *end == 'K' ? 'k' : *end) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    bool good = end != t->value && t->value[0] >= '0' && t->value[0] <= '9' && !errno && bytes &&
                (*end == 0 || (unit && !end[1])) && bytes <= UINT64_MAX >> shift;
    if (!good)
        return option_fail(t->fault, "bytes, or as in 500M and 20G", "%s: no size", t->value);
    *(uint64_t *)place = (uint64_t)bytes << shift;
    return 0;
}

/* ---- encoding ---- */

int parse_qp(const struct option_text *t, void *place)
{
    struct encode_options *e = place;
    struct option_text ranged = *t;
    ranged.most = 51;
    e->qp_given = true;
    return text_u32(&ranged, &e->qp);
}

int parse_crf(const struct option_text *t, void *place)
{
    struct encode_options *e = place;
    struct option_text ranged = *t;
    ranged.most = 51;
    e->crf_given = true;
    return text_u32(&ranged, &e->crf);
}

/* 4M, 800k, 1.5M, 4000000: units are powers of 1000. */
int parse_bits(const struct option_text *t, void *place)
{
    static const double units[] = {1, 1e3, 1e6, 1e9};
    static const char names[] = "kMG";
    char *end = NULL;
    double value = t->value[0] >= '0' && t->value[0] <= '9' ? strtod(t->value, &end) : 0;
    const char *unit = end && *end ? strchr(names, *end == 'K' ? 'k' : *end) : NULL;
    bool plain = end && !*end, named = unit && !end[1];
    value *= units[unit ? unit - names + 1 : 0];
    if ((!plain && !named) || !(value >= 1 && value <= 1e12))
        return text_refuse(t, "bits, as in 4M or 800k");
    *(uint64_t *)place = (uint64_t)value;
    return 0;
}

/* 4.1, 41, 1b */
int parse_level(const struct option_text *t, void *place)
{
    unsigned whole = 0, part = 0;
    char rest;
    bool dotted = sscanf(t->value, "%1u.%1u%c", &whole, &part, &rest) == 2,
         plain = !dotted && sscanf(t->value, "%2u%c", &whole, &rest) == 1;
    if (!strcmp(t->value, "1b"))
        whole = 9;
    else if (dotted || (plain && whole < 9))
        whole = 10 * whole + part;
    else if (!plain)
        whole = 0;
    if (whole < 9 || whole > 62)
        return text_refuse(t, "from 1.0 to 6.2, or 1b");
    *(uint8_t *)place = (uint8_t)whole;
    return 0;
}

int parse_coded_format(const struct option_text *t, void *place)
{
    unsigned unused;
    int rc = text_word(t, t->value, t->choices, &unused);
    if (rc == 0)
        *(const char **)place = unused ? "gray" : "yuv420p";
    return rc;
}

int parse_device(const struct option_text *t, void *place)
{
    struct connect_options *c = place;
    c->device = t->value;
    c->device_given = true;
    return 0;
}

int parse_lookahead(const struct option_text *t, void *place)
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

int parse_gpu_debug(const struct option_text *t, void *place)
{
    struct connect_options *c = place;
    c->gpu_debug = true;
    return connect_add_config(c, "gpu_debug=true", t->fault);
}

int parse_no_tune(const struct option_text *t, void *place)
{
    return connect_add_config(place, "tune=false", t->fault);
}

int parse_tune_force(const struct option_text *t, void *place)
{
    struct connect_options *c = place;
    snprintf(c->tune_force, sizeof(c->tune_force), "debug.tune_force=%s", t->value);
    return connect_add_config(c, c->tune_force, t->fault);
}

int parse_min_fps(const struct option_text *t, void *place)
{
    struct bench_options *bench = place;
    bench->min_fps_given = true;
    return text_double(t, &bench->min_fps);
}

int parse_kernel_size(const struct option_text *t, void *place)
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

int parse_kernel_format(const struct option_text *t, void *place)
{
    struct kernel_options *kernels = place;
    snprintf(kernels->format, sizeof(kernels->format), "%s", t->value);
    return 0;
}

int parse_output_size(const struct option_text *t, void *place)
{
    struct pelton_output *output = place;
    unsigned width = 0, height = 0;
    char rest;
    if (sscanf(t->value, "%5ux%5u%c", &width, &height, &rest) != 2 || !width || !height ||
        width > PELTON_MOST_SIZE || height > PELTON_MOST_SIZE)
        return text_refuse(t, "a side has 1 to 16384 pixels, as in: -s 640x360");
    output->width = width;
    output->height = height;
    return 0;
}

int parse_crop(const struct option_text *t, void *place)
{
    struct pelton_output *output = place;
    struct pelton_rect r = {0};
    char rest;
    if (strchr(t->value, '-') ||
        sscanf(t->value, "%9u,%9u,%9u,%9u%c", &r.x, &r.y, &r.width, &r.height, &rest) != 4 ||
        !r.width || !r.height)
        return text_refuse(t, "left, top, width and height, as in: --crop 100,50,640,360");
    output->crop = r;
    return 0;
}

/* 4x3 */
int parse_sheet(const struct option_text *t, void *place)
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

int parse_calib_size(const struct option_text *t, void *place)
{
    struct calib_options *calib = place;
    unsigned width = 0, height = 0;
    char rest;
    if (sscanf(t->value, "%5ux%5u%c", &width, &height, &rest) != 2 || !width || !height)
        return option_fail(t->fault, "as in --size 1920x1080", "--size: %s is no size", t->value);
    calib->width = width;
    calib->height = height;
    return 0;
}
