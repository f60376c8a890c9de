/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The table of options and the table of commands. Parsing, help, man page and shell completion come
 * from them.
 */
#ifndef CLIENT_OPTION_TABLE_H
#define CLIENT_OPTION_TABLE_H

#include "client/commands.h"
#include "proto/option_text.h"

#include <stddef.h>

struct command {
    unsigned bit; /* enum command_bit */
    const char *name, *usage, *summary;
    const char *text;     /* paragraphs of the help */
    const char *examples; /* one a line */
    int (*run)(struct client_options *o, struct failure *f);
};

/* Those that encode: pipe and record with -c:v h264. */
#define ENCODES (CMD_ENCODE | CMD_PIPE | CMD_RECORD)
/* and those that pelton bench --encode has */
#define MEASURES (ENCODES | CMD_BENCH)

extern const struct option_row option_rows[];
extern const unsigned n_option_rows;
extern const struct command commands[];
extern const unsigned n_commands;

const struct command *command_find(const char *name); /* NULL: there is none */
/* Records that there is no such command, with the name that was meant. Returns X_USAGE. */
int command_refuse(const char *name, struct failure *f);
/* The options of a command. */
struct option_syntax command_syntax(const struct command *c);
/* Records that a command lacks an option, with the name or the command that was meant. word: as
 * typed, with a name of `length` bytes. elsewhere: the row of another command, or NULL. Returns
 * X_USAGE. */
int command_refuse_option(const struct command *c, const char *word, size_t length,
                          const struct option_row *elsewhere, struct failure *f);

/* Where help explains an option: a bit beside those of the commands. */
enum option_group {
    GROUP_OWN = 0,
    GROUP_COMMON = 1 << 24,
    GROUP_DEVELOPER = 1 << 25,
    GROUP_KERNELS = 1 << 26,
    GROUPS = GROUP_COMMON | GROUP_DEVELOPER | GROUP_KERNELS
};
/* The next row of a command in a group, behind `after` (NULL: the first); NULL: there is none. */
const struct option_row *option_row_next(unsigned command, enum option_group group,
                                         const struct option_row *after);

/* Of struct client_options: option_values.c. */
option_parser parse_log_level, parse_against, parse_time, parse_input, parse_policy, parse_blur,
    parse_config, parse_device, parse_lookahead, parse_gpu_debug, parse_no_tune, parse_tune_force,
    parse_min_fps, parse_kernel_size, parse_kernel_format, parse_sheet, parse_calib_size, parse_map,
    parse_loops, parse_progress, parse_frames_at, parse_codec, parse_segment, parse_size,
    parse_output_size, parse_crop, parse_qp, parse_crf, parse_bits, parse_level, parse_coded_format;

/* Prints the source of pelton(1). */
void manual_print(void);

#endif
