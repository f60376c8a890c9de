/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The table of options and the table of commands. Parsing, help, man page and shell completion come
 * from them.
 */
#ifndef CLIENT_OPTION_TABLE_H
#define CLIENT_OPTION_TABLE_H

#include "client/commands.h"
#include "proto/near_name.h"

#include <stddef.h>

enum option_id {
    OPT_INPUT,
    OPT_OUTPUT,
    OPT_FORMAT,
    OPT_YES,
    OPT_NO,
    OPT_START,
    OPT_DURATION,
    OPT_FRAMES,
    OPT_PIX_FMT,
    OPT_VERIFY,
    OPT_BENCH_VERIFY,
    OPT_SIDE_DATA,
    OPT_FIELDS,
    OPT_BLUR,
    OPT_SECOND_VIEW,
    OPT_ON_ERROR,
    OPT_PROGRESS,
    OPT_DEVICE,
    OPT_SOCKET,
    OPT_CONFIG,
    OPT_LOOKAHEAD,
    OPT_TIMEOUT,
    OPT_LOG_LEVEL,
    OPT_JSON,
    OPT_JSON_FILE,
    OPT_STREAMS,
    OPT_LOOP,
    OPT_STAGES,
    OPT_LIVE,
    OPT_TRACE,
    OPT_CHART,
    OPT_KERNELS,
    OPT_NO_TUNE,
    OPT_GPU_DEBUG,
    OPT_TUNE_FORCE,
    OPT_VARIANT,
    OPT_KERNEL_SIZE,
    OPT_KERNEL_FORMAT,
    OPT_TAPS,
    OPT_ROUNDS,
    OPT_CSV,
    OPT_LIST,
    OPT_AGAINST,
    OPT_FFMPEG,
    OPT_DEPTH,
    OPT_MIN_FPS,
    OPT_MAN,
    OPT_HELP,
    OPT_SIZE,
    OPT_CAMERA,
    OPT_POLICY,
    OPT_AFTER_NOW,
    OPT_WATCH,
    OPT_MAX_FPS,
    OPT_QUALITY,
    OPT_SHEET,
    N_OPTIONS
};

struct option_row {
    enum option_id id;
    const char *name;     /* long name; accepted with one dash or two, with _ for - */
    const char *aliases;  /* further names, separated by spaces; NULL: none */
    const char *arg;      /* name of the argument in the help text; NULL: none */
    const char *fallback; /* value without the option; NULL: nothing to say */
    /* words for completion, separated by spaces; "FILE": file names; NULL: none */
    const char *choices;
    unsigned commands; /* enum command_bit */
    const char *help;
};

struct command {
    unsigned bit; /* enum command_bit */
    const char *name, *usage, *summary;
    const char *text;     /* paragraphs of the help */
    const char *examples; /* one a line */
    int (*run)(struct client_options *o, struct failure *f);
};

extern const struct option_row option_rows[];
extern const unsigned n_option_rows;
extern const struct command commands[];
extern const unsigned n_commands;

const struct command *command_find(const char *name); /* NULL: there is none */
/* Records that there is no such command, with the name that was meant. Returns X_USAGE. */
int command_refuse(const char *name, struct failure *f);
/* The best spelling of an option: "-i", "-frames:v", "--pix-fmt". Returns buffer. */
const char *option_spelling(const struct option_row *row, char *buffer, size_t size);
/* The row with this name (length bytes) for a command, or NULL. *elsewhere is then the row of
 * another command, or NULL. */
const struct option_row *option_find(const char *name, size_t length, unsigned command,
                                     const struct option_row **elsewhere);
/* The first command that has this option. */
const struct command *option_command(const struct option_row *row);
/* Considers an option's names for one that was misspelt. */
void option_try_names(const struct option_row *row, struct near_name *near);
/* Records that a command lacks an option, with the name that was meant. word: as typed, with a name
 * of `length` bytes. elsewhere: the row of another command, or NULL. Returns X_USAGE. */
int option_refuse(const char *word, size_t length, const struct option_row *elsewhere,
                  const struct command *c, struct failure *f);

/* Where help explains an option. */
enum option_group { GROUP_OWN, GROUP_COMMON, GROUP_DEVELOPER, GROUP_KERNELS };
enum option_group option_group(const struct option_row *row);
bool option_group_used(unsigned command, enum option_group group);

/* Prints the source of pelton(1). */
void manual_print(void);

#endif
