/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Commands by their names, and the options of each.
 */
#include "client/option_table.h"
#include "proto/near_name.h"

#include <stdio.h>
#include <string.h>

const struct command *command_find(const char *name)
{
    for (unsigned i = 0; i < n_commands; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

int command_refuse(const char *name, struct failure *f)
{
    char hint[160];
    struct near_name near = near_name_of(name, strlen(name));
    for (unsigned i = 0; i < n_commands; i++)
        near_name_try_name(&near, commands[i].name);
    return fail_with(f, X_USAGE,
                     near_name_hint(&near, "pelton help lists the commands", hint, sizeof(hint)),
                     "%s: no such command", name);
}

struct option_syntax command_syntax(const struct command *c)
{
    struct option_syntax s = {.rows = option_rows, .n_rows = n_option_rows, .command = c->bit};
    snprintf(s.program, sizeof(s.program), "pelton %s", c->name);
    snprintf(s.help, sizeof(s.help), "pelton help %s", c->name);
    return s;
}

/* The first command that has this option. */
static const struct command *option_command(const struct option_row *row)
{
    for (unsigned i = 0; i < n_commands; i++)
        if (row->commands & commands[i].bit)
            return &commands[i];
    return &commands[0];
}

int command_refuse_option(const struct command *c, const char *word, size_t length,
                          const struct option_row *elsewhere, struct failure *f)
{
    struct option_syntax syntax = command_syntax(c);
    struct option_fault fault;
    char hint[160];
    if (elsewhere) {
        snprintf(hint, sizeof(hint), "pelton %s has it; pelton help %s lists the options of %s",
                 option_command(elsewhere)->name, c->name, c->name);
        return fail_with(f, X_USAGE, hint, "%s: not an option of pelton %s", word, c->name);
    }
    option_refuse(&syntax, word, length, &fault);
    return fail_with(f, X_USAGE, fault.hint, "%s", fault.cause);
}

const struct option_row *option_row_next(unsigned command, enum option_group group,
                                         const struct option_row *after)
{
    for (const struct option_row *row = after ? after + 1 : option_rows;
         row < option_rows + n_option_rows; row++)
        if ((row->commands & command) && (row->commands & GROUPS) == (unsigned)group)
            return row;
    return NULL;
}
