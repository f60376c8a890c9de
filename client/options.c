/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The words of the command line, in FFmpeg's and in GNU's spelling. A word is an option, the value
 * of an option, an input or an output.
 */
#include "client/ffmpeg_options.h"
#include "client/input_name.h"
#include "client/option_values.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int parse_output(const char *word, struct client_options *o, struct failure *f)
{
    if (o->write.path) {
        return fail_with(f, X_USAGE,
                         o->command->bit == CMD_DECODE
                             ? "the input follows -i, one output comes last; quote names "
                               "with blanks"
                             : "run the command once for each output",
                         "%s: a second output", word);
    }
    o->write.path = word;
    return 0;
}

/* Handles a word without a dash. */
static int parse_positional(const char *word, struct client_options *o, struct failure *f)
{
    switch (o->command->bit) {
    case CMD_DECODE:
        return parse_output(word, o, f);
    case CMD_PIPE:
    case CMD_SNAPSHOT:
        return o->n_inputs > 0 ? parse_output(word, o, f) : options_add_input(o, word, f);
    case CMD_PROBE:
    case CMD_BENCH:
    case CMD_INFO:
    case CMD_VIEW:
    case CMD_GET:
    case CMD_SET:
        return options_add_input(o, word, f);
    case CMD_CALIB:
        if (o->topic)
            return options_add_input(o, word, f);
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

/* The argument of an option: after =, else the next word. NULL: there is none. */
static const char *next_value(const char *after_equals, int argc, char **argv, int *i)
{
    if (after_equals)
        return after_equals;
    return *i + 1 < argc ? argv[++*i] : NULL;
}

/* Handles the option at argv[*i]. *i ends at its last word. */
static int parse_option(int argc, char **argv, int *i, struct client_options *o, struct failure *f)
{
    const char *word = argv[*i], *name = word + 1 + (word[1] == '-');
    size_t length = strcspn(name, "=");
    const char *value = name[length] == '=' ? name + length + 1 : NULL;
    const struct option_row *elsewhere,
        *row = option_find(name, length, o->command->bit, &elsewhere);
    const struct ffmpeg_option *foreign = row ? NULL : ffmpeg_option_find(name, length);
    char hint[80];
    if (foreign) {
        const char *argument = foreign->arg ? next_value(value, argc, argv, i) : NULL;
        return parse_foreign(foreign, word, argument, f);
    }
    if (!row)
        return option_refuse(word, length, elsewhere, o->command, f);
    snprintf(hint, sizeof(hint), "see: pelton help %s", o->command->name);
    if (!row->arg && value)
        return fail_with(f, X_USAGE, hint, "%s: takes no argument", word);
    if (row->arg) {
        value = next_value(value, argc, argv, i);
        if (!value)
            return fail_with(f, X_USAGE, hint, "%s: %s is missing", word, row->arg);
    }
    return option_apply(row, value, o, f);
}

/* A file or an address in the command's place is probed. */
static bool is_input(const char *word)
{
    return input_is_url(word) || strncmp(word, "source:", 7) == 0 || access(word, F_OK) == 0;
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
        !strcmp(word, "-?")) {
        word = "help";
    } else if (!strcmp(word, "--version") || !strcmp(word, "-version") || !strcmp(word, "-V")) {
        word = "version";
    }
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

int options_parse(int argc, char **argv, struct client_options *o, struct failure *f)
{
    *o = (struct client_options){
        .log_level = LOG_INFO,
        .connect = {.timeout = 120, .device = "auto"},
        .write = {.quality = 3},
        .read = {.start_us = -1, .duration_us = -1},
        .bench = {.streams = 1, .loops = 1},
        .kernels = {.rounds = 7},
    };
    int first, rc = choose_command(argc, argv, &first, o, f);
    bool words_only = false;
    if (rc == 0 && o->command->bit == CMD_COMPLETION && argc > first &&
        !strcmp(argv[first], "words")) { /* of another command line: they are not ours */
        o->topic = argv[first];
        o->words = (const char *const *)argv + first + 1;
        o->n_words = argc - first - 1;
        return 0;
    }
    for (int i = first; rc == 0 && i < argc; i++)
        if (!words_only && strcmp(argv[i], "--") == 0)
            words_only = true;
        else if (!words_only && argv[i][0] == '-' && argv[i][1] && !names_option(o))
            rc = parse_option(argc, argv, &i, o, f);
        else
            rc = parse_positional(argv[i], o, f);
    return rc;
}
