/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The words of the command line, in FFmpeg's and in GNU's spelling. A word is an option, the value
 * of an option, an input or an output.
 */
#include "client/ffmpeg_options.h"
#include "client/input_name.h"
#include "client/option_table.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A file that exists, or an address. */
static bool is_input(const char *word)
{
    return input_is_url(word) || strncmp(word, "source:", 7) == 0 || access(word, F_OK) == 0;
}

/* As pelton decode IN OUT. */
static int refuse_without_i(const char *word, const struct client_options *o, struct failure *f)
{
    char hint[160];
    const char *output = o->write.path;
    bool last = !is_input(output) && is_input(word);
    bool pipe = !strcmp(last ? output : word, "-");
    snprintf(hint, sizeof(hint), "as in: pelton %s -i %.100s %s", o->command->name,
             last ? word : output, pipe ? "-" : "-o OUT");
    return fail_with(f, X_USAGE, hint, "no input: -i is missing");
}

static int parse_output(const char *word, struct client_options *o, struct failure *f)
{
    bool from_i = o->command->bit & (CMD_DECODE | CMD_ENCODE);
    if (o->write.path && from_i && !o->n_inputs)
        return refuse_without_i(word, o, f);
    if (o->write.path) {
        return fail_with(f, X_USAGE,
                         from_i ? "the input follows -i, one output comes last; quote names "
                                  "with blanks"
                                : "run the command once for each output",
                         "%s: a second output", word);
    }
    o->write.path = word;
    return 0;
}

static int usage_refuse(const struct option_fault *fault, struct failure *f)
{
    return fail_with(f, X_USAGE, fault->hint, "%s", fault->cause);
}

static int add_input(const char *word, struct client_options *o, struct failure *f)
{
    struct option_fault fault;
    return options_add_input(o, word, &fault) < 0 ? usage_refuse(&fault, f) : 0;
}

/* Handles a word without a dash. */
static int parse_positional(const char *word, struct client_options *o, struct failure *f)
{
    switch (o->command->bit) {
    case CMD_DECODE:
    case CMD_ENCODE:
        return parse_output(word, o, f);
    case CMD_PIPE:
    case CMD_RECORD:
    case CMD_SNAPSHOT:
        return o->n_inputs > 0 ? parse_output(word, o, f) : add_input(word, o, f);
    case CMD_PROBE:
    case CMD_BENCH:
    case CMD_INFO:
    case CMD_VIEW:
    case CMD_GET:
    case CMD_SET:
        return add_input(word, o, f);
    case CMD_CALIB:
        if (o->topic)
            return add_input(word, o, f);
        o->topic = word;
        return 0;
    case CMD_HELP:
    case CMD_COMPLETION:
        if (!o->topic) {
            o->topic = word;
            return 0;
        }
        if (o->command->bit == CMD_HELP && !o->detail) {
            o->detail = word;
            return 0;
        }
        break;
    default:
        break;
    }
    char hint[80];
    snprintf(hint, sizeof(hint), "see: pelton help %s", o->command->name);
    return fail_with(f, X_USAGE, hint, "%s: unexpected word", word);
}

/* Handles an option of the ffmpeg command. */
static int parse_foreign(const struct ffmpeg_option *option, const char *word, const char *value,
                         struct failure *f)
{
    if (option->arg && !value) {
        return fail_with(f, X_USAGE, option->hint ? option->hint : "leave it out",
                         "%s: its value is missing", word);
    }
    if (ffmpeg_option_ignored(option, value))
        return 0;
    return fail_with(f, X_USAGE, option->hint, "%s%s%s: pelton does not do this", word,
                     option->arg ? " " : "", option->arg ? value : "");
}

static int parse_option(const struct option_syntax *s, struct option_reader *r,
                        const struct option_word *w, struct client_options *o, struct failure *f)
{
    const struct ffmpeg_option *foreign = w->row ? NULL : ffmpeg_option_find(w->name, w->length);
    const char *value = NULL;
    struct option_fault fault;
    if (foreign)
        return parse_foreign(foreign, w->word, foreign->arg ? option_value(r, w) : NULL, f);
    if (!w->row)
        return command_refuse_option(o->command, w->word, w->length, w->elsewhere, f);
    if (option_complete(s, r, w, &value, &fault) < 0 || option_store(w->row, value, o, &fault) < 0)
        return usage_refuse(&fault, f);
    if ((w->row->commands & ~(unsigned)CMD_BENCH) == ENCODES)
        o->encode.given = w->row->name;
    return 0;
}

static int refuse_word(const char *word, struct failure *f)
{
    if (word[0] == '-') {
        return fail_with(f, X_USAGE, "the command comes first, as in: pelton decode -i IN -o OUT",
                         "%s: no such command", word);
    }
    return strpbrk(word, "./") ? fail_with(f, X_INPUT, "check the path",
                                           "%s: no such file, and no such command", word)
                               : command_refuse(word, f);
}

/* *first becomes the place of the first word after the command. */
static int choose_command(int argc, char **argv, int *first, struct client_options *o,
                          struct failure *f)
{
    const char *word = argc > 1 ? argv[1] : "help";
    *first = 2;
    if (!strcmp(word, "-h") || !strcmp(word, "--help") || !strcmp(word, "-help") ||
        !strcmp(word, "-?"))
        word = "help";
    else if (!strcmp(word, "--version") || !strcmp(word, "-version") || !strcmp(word, "-V"))
        word = "version";
    o->command = command_find(word);
    if (!o->command && word[0] != '-' && is_input(word)) {
        o->command = command_find("probe");
        *first = 1;
    }
    return o->command ? 0 : refuse_word(word, f);
}

/* pelton help decode --pix-fmt: the option is a topic. */
static bool names_option(const struct client_options *o)
{
    return o->command->bit == CMD_HELP && o->topic && !o->detail;
}

int options_check_encoding(const struct client_options *o, struct failure *f)
{
    if (o->encode.wanted || !o->encode.given)
        return 0;
    if (o->write.jpeg)
        return fail_with(f, X_USAGE, "-q:v chooses the quality of JPEG files",
                         "-%s: is of H.264, and not of -c:v mjpeg", o->encode.given);
    return fail_with(f, X_USAGE, "-c:v h264 encodes the frames", "-%s: nothing is encoded",
                     o->encode.given);
}

int options_settle_end(struct client_options *o, struct failure *f)
{
    struct read_options *read = &o->read;
    int64_t start_us = read->start_us > 0 ? read->start_us : 0;
    if (read->end_us < 0)
        return 0;
    if (read->end_us <= start_us) {
        return fail_with(f, X_USAGE, "-to is a time of the input; -t is a length",
                         "-to %g: not after -ss %g", (double)read->end_us * 1e-6,
                         (double)start_us * 1e-6);
    }
    if (read->duration_us < 0)
        read->duration_us = read->end_us - start_us;
    return 0;
}

int options_parse(int argc, char **argv, struct client_options *o, struct failure *f)
{
    *o = (struct client_options){
        .log_level = LOG_INFO,
        .connect = {.timeout = 120, .device = "auto"},
        .write = {.quality = 3},
        .encode = {.crf = 23,
                   .adaptive = 1,
                   .profile = ENCODING_HIGH,
                   .key_interval = 250,
                   .references = 1,
                   .slices = 1},
        .read = {.start_us = -1, .duration_us = -1, .end_us = -1},
        .bench = {.streams = 1, .loops = 1, .repeat = 1},
        .kernels = {.rounds = 7},
    };
    struct option_reader r = {.argc = argc, .argv = argv};
    struct option_word w;
    int rc = choose_command(argc, argv, &r.at, o, f);
    if (rc != 0)
        return rc;
    if (o->command->bit == CMD_COMPLETION && argc > r.at &&
        !strcmp(argv[r.at], "words")) { /* of another command line: they are not ours */
        o->topic = argv[r.at];
        o->words = (const char *const *)argv + r.at + 1;
        o->n_words = argc - r.at - 1;
        return 0;
    }
    struct option_syntax syntax = command_syntax(o->command);
    while (rc == 0 && option_next(&syntax, &r, &w))
        rc = w.name && !names_option(o) ? parse_option(&syntax, &r, &w, o, f)
                                        : parse_positional(w.word, o, f);
    return rc;
}
