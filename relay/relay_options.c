/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Options of the relays: see relay_options.h.
 */
#include "relay/relay_options.h"

#include "client/ui.h"
#include "proto/option_help.h"
#include "proto/option_text.h"

#include <stdio.h>
#include <string.h>

enum { BOTH = RELAY_V4L2 | RELAY_PIPEWIRE };

static int parse_relay_level(const struct option_text *t, void *place)
{
    static const int levels[] = {LOG_QUIET, LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG};
    unsigned number = 0;
    if (text_word(t, t->value, "quiet error warning info debug", &number) < 0)
        return -1;
    *(int *)place = levels[number];
    return 0;
}

static int parse_relay_layout(const struct option_text *t, void *place)
{
    unsigned number = 0;
    if (text_word(t, t->value, "yu12 nv12 yuyv rgb3 grey", &number) < 0)
        return -1;
    *(const struct picture_layout **)place = &picture_layouts[number];
    return 0;
}

static int parse_relay_size(const struct option_text *t, void *place)
{
    struct relay_options *o = place;
    char rest;
    if (sscanf(t->value, "%5ux%5u%c", &o->width, &o->height, &rest) != 2 || !o->width ||
        !o->height || o->width > PELTON_MOST_SIZE || o->height > PELTON_MOST_SIZE)
        return text_refuse(t, "as in: --size 1280x720");
    return 0;
}

#define PLACE(parser, type, member, from, to)                                                      \
    OPTION_PLACE(parser, struct relay_options, type, member, from, to)

static const struct option_row option_rows[] = {
    {"socket", NULL, "PATH", NULL, "FILE", BOTH, PLACE(text_string, const char *, socket, 0, 0),
     "The daemon's socket. Without this option: $PELTON_SOCKET, the user's, the system's."},
    {"size", "s", "WxH", "the source's", NULL, BOTH, OPTION_ALL(parse_relay_size),
     "Size of the frames. The daemon scales decoded video; cameras have sizes of their own."},
    {"format", "f", "FORMAT", "the first that the device takes", "yu12 nv12 yuyv rgb3 grey",
     RELAY_V4L2, PLACE(parse_relay_layout, const struct picture_layout *, layout, 0, 0),
     "Pixel format: yu12, nv12, yuyv, rgb3 or grey."},
    {"name", "n", "NAME", "pelton-SOURCE", NULL, RELAY_PIPEWIRE,
     PLACE(text_string, const char *, node, 0, 0), "Name of the node."},
    {"frames", NULL, "N", "all", NULL, BOTH, PLACE(text_u64, uint64_t, frames, 1, INT64_MAX),
     "End after N frames."},
    {"log-level", "loglevel v", "LEVEL", "info", "quiet error warning info debug", BOTH,
     PLACE(parse_relay_level, int, log_level, 0, 0), "quiet, error, warning, info or debug."},
    {"version", "V", NULL, NULL, NULL, BOTH, PLACE(text_flag, bool, version, 0, 0),
     "Print the version, and end."},
    {"help", "h ?", NULL, NULL, NULL, BOTH, PLACE(text_flag, bool, help, 0, 0),
     "Print this help, and end."},
};
enum { OPTION_ROWS = sizeof(option_rows) / sizeof(*option_rows) };

static const char *program_name(enum relay_program program)
{
    return program == RELAY_V4L2 ? "pelton-v4l2" : "pelton-pipewire";
}

/* The first word is the source, the second one the device. */
static int word_take(struct relay_options *o, const char *word, enum relay_program program,
                     struct option_fault *fault)
{
    if (!o->source)
        o->source = word;
    else if (!o->device && program == RELAY_V4L2)
        o->device = word;
    else
        return option_fail(fault, "see --help", "%.100s: unexpected word", word);
    return 0;
}

static int words_take(int argc, char **argv, enum relay_program program, struct relay_options *o,
                      struct option_fault *fault)
{
    struct option_syntax syntax = {.rows = option_rows, .n_rows = OPTION_ROWS, .command = program};
    struct option_reader r = {.argc = argc, .argv = argv, .at = 1};
    struct option_word w;
    const char *value;
    snprintf(syntax.program, sizeof(syntax.program), "%s", program_name(program));
    snprintf(syntax.help, sizeof(syntax.help), "%s --help", program_name(program));
    while (option_next(&syntax, &r, &w)) {
        if (!w.name) {
            if (word_take(o, w.word, program, fault) < 0)
                return -1;
            continue;
        }
        if (!w.row)
            return option_refuse(&syntax, w.word, w.length, fault);
        if (option_complete(&syntax, &r, &w, &value, fault) < 0 ||
            option_store(w.row, value, o, fault) < 0)
            return -1;
    }
    return 0;
}

int relay_options_parse(int argc, char **argv, enum relay_program program,
                        struct relay_options *out, struct failure *f)
{
    struct option_fault fault;
    *out = (struct relay_options){.log_level = LOG_INFO};
    if (words_take(argc, argv, program, out, &fault) < 0)
        return fail_with(f, X_USAGE, fault.hint, "%s", fault.cause);
    if (out->help || out->version)
        return 0;
    if (!out->source)
        return fail_with(f, X_USAGE, "pelton sources lists them", "no source is named");
    if (program == RELAY_V4L2 && !out->device)
        return fail_with(f, X_USAGE, "as in: pelton-v4l2 demo /dev/video10", "no device is named");
    return 0;
}

static void usage_print(enum relay_program program)
{
    printf("Usage: %s SOURCE%s [options]\n\nOptions (one dash or two, _ or - inside a name):\n",
           program_name(program), program == RELAY_V4L2 ? " DEVICE" : "");
    for (unsigned i = 0; i < OPTION_ROWS; i++)
        if (option_rows[i].commands & program)
            help_row(&option_rows[i], true);
}

int relay_main(int argc, char **argv, enum relay_program program,
               int (*run)(const struct relay_options *, struct failure *))
{
    struct relay_options o;
    struct failure f = {0};
    ui_program(program_name(program));
    int rc = relay_options_parse(argc, argv, program, &o, &f);
    if (rc == 0 && o.help) {
        usage_print(program);
    } else if (rc == 0 && o.version) {
        printf("%s " PELTON_VERSION "\n", program_name(program));
    } else if (rc == 0) {
        ui_init(o.log_level);
        interrupts_catch();
        rc = run(&o, &f);
    }
    failure_print(&f);
    return rc;
}
