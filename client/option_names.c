/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Options and commands by their names.
 */
#include "client/option_table.h"

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

const char *option_spelling(const struct option_row *row, char *buffer, size_t size)
{
    bool one_dash = strlen(row->name) <= 2 || strchr(row->name, ':');
    snprintf(buffer, size, "%s%s", one_dash ? "-" : "--", row->name);
    return buffer;
}

/* Names that differ only in - and _ are equal. */
static bool names_equal(const char *typed, size_t length, const char *name, size_t name_length)
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

static bool option_has_name(const struct option_row *row, const char *typed, size_t length)
{
    if (names_equal(typed, length, row->name, strlen(row->name)))
        return true;
    for (const char *p = row->aliases; p && *p;) {
        size_t n = strcspn(p, " ");
        if (names_equal(typed, length, p, n))
            return true;
        p += n + (p[n] == ' ');
    }
    return false;
}

const struct option_row *option_find(const char *typed, size_t length, unsigned command,
                                     const struct option_row **elsewhere)
{
    *elsewhere = NULL;
    for (unsigned i = 0; i < n_option_rows; i++) {
        if (option_has_name(&option_rows[i], typed, length)) {
            if (option_rows[i].commands & command)
                return &option_rows[i];
            *elsewhere = &option_rows[i];
        }
    }
    return NULL;
}

const struct command *option_command(const struct option_row *row)
{
    for (unsigned i = 0; i < n_commands; i++)
        if (row->commands & commands[i].bit)
            return &commands[i];
    return &commands[0];
}

void option_try_names(const struct option_row *row, struct near_name *near)
{
    char shown[48];
    option_spelling(row, shown, sizeof(shown));
    near_name_try(near, row->name, strlen(row->name), shown);
    for (const char *p = row->aliases; p && *p;) {
        size_t n = strcspn(p, " ");
        near_name_try(near, p, n, shown);
        p += n + (p[n] == ' ');
    }
}

int option_refuse(const char *word, size_t length, const struct option_row *elsewhere,
                  const struct command *c, struct failure *f)
{
    char hint[160], more[80];
    if (elsewhere) {
        snprintf(hint, sizeof(hint), "pelton %s has it; pelton help %s lists the options of %s",
                 option_command(elsewhere)->name, c->name, c->name);
        return fail_with(f, X_USAGE, hint, "%s: not an option of pelton %s", word, c->name);
    }
    struct near_name near = near_name_of(word + strspn(word, "-"), length);
    for (unsigned i = 0; i < n_option_rows; i++)
        if (option_rows[i].commands & c->bit)
            option_try_names(&option_rows[i], &near);
    snprintf(more, sizeof(more), "pelton help %s lists its options", c->name);
    return fail_with(f, X_USAGE, near_name_hint(&near, more, hint, sizeof(hint)),
                     "%s: no such option (pelton %s)", word, c->name);
}
