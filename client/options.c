/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The words of the command line, in FFmpeg's and in GNU's spelling. A word is an option, the value
 * of an option, an input or an output.
 */
#include "client/option_values.h"

#include <stdio.h>
#include <string.h>

/* Handles a word without a dash. */
static int parse_positional(const char *word, struct client_options *o, struct failure *f)
{
    switch (o->command->bit) {
    case CMD_DECODE:
        if (o->write.path) {
            return fail_with(f, X_USAGE, "the input follows -i; there is one output",
                             "%s: a second output", word);
        }
        o->write.path = word;
        return 0;
    case CMD_PROBE:
    case CMD_BENCH:
    case CMD_INFO:
    case CMD_VIEW:
    case CMD_PIPE:
    case CMD_SNAPSHOT:
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
        break;
    default:
        break;
    }
    return fail_with(f, X_USAGE, "see: pelton help", "%s: unexpected word", word);
}

/* Handles the option at argv[*i]. *i ends at its last word. */
static int parse_option(int argc, char **argv, int *i, struct client_options *o, struct failure *f)
{
    const char *word = argv[*i], *name = word + 1 + (word[1] == '-');
    size_t length = strcspn(name, "=");
    const char *value = name[length] == '=' ? name + length + 1 : NULL;
    const struct option_row *elsewhere,
        *row = option_find(name, length, o->command->bit, &elsewhere);
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
    return option_apply(row, value, o, f);
}

static int choose_command(int argc, char **argv, struct client_options *o, struct failure *f)
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

int options_parse(int argc, char **argv, struct client_options *o, struct failure *f)
{
    *o = (struct client_options){
        .log_level = LOG_INFO,
        .connect = {.timeout = 120, .device = "auto"},
        .read = {.start_us = -1, .duration_us = -1},
        .bench = {.streams = 1, .loops = 1},
        .kernels = {.rounds = 7},
    };
    int rc = choose_command(argc, argv, o, f);
    bool words_only = false;
    for (int i = 2; rc == 0 && i < argc; i++)
        if (!words_only && strcmp(argv[i], "--") == 0)
            words_only = true;
        else if (!words_only && argv[i][0] == '-' && argv[i][1])
            rc = parse_option(argc, argv, &i, o, f);
        else
            rc = parse_positional(argv[i], o, f);
    return rc;
}
