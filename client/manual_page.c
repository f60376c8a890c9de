/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The manual page pelton(1), from the two tables.
 */
#include "client/option_table.h"

#include <stdio.h>
#include <string.h>

/* Prints text for roff: a hyphen becomes \-, and a leading dot or quote is protected. */
static void roff(const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", stdout);
    for (; *text; text++) {
        switch (*text) {
        case '-':
            fputs("\\-", stdout);
            break;
        case '\\':
            fputs("\\e", stdout);
            break;
        case '\n':
            fputs("\n.PP\n", stdout);
            break;
        default:
            putchar(*text);
        }
    }
}

static void roff_option(const struct option_row *row)
{
    char name[48];
    printf(".TP\n\\fB");
    roff(option_spelling(row, name, sizeof(name)));
    printf("\\fR");
    if (row->arg) {
        printf(" \\fI");
        roff(row->arg);
        printf("\\fR");
    }
    putchar('\n');
    roff(row->help);
    if (row->fallback) {
        printf(" Default: ");
        roff(row->fallback);
        putchar('.');
    }
    putchar('\n');
}

static void roff_command(const struct command *c)
{
    printf(".SH PELTON %s\n\\fBpelton %s\\fR ", c->name, c->name);
    roff(c->usage);
    printf("\n.PP\n");
    roff(c->text[0] ? c->text : c->summary);
    putchar('\n');
    for (const struct option_row *row = NULL; (row = option_row_next(c->bit, GROUP_OWN, row));)
        roff_option(row);
    if (c->examples[0]) {
        printf(".PP\nExamples:\n.nf\n");
        for (const char *p = c->examples; *p; p++)
            if (*p == '-')
                fputs("\\-", stdout);
            else
                putchar(*p);
        printf("\n.fi\n");
    }
}

/* Options that several commands share. */
static void roff_group(const char *title, enum option_group group)
{
    printf(".SH %s\n", title);
    for (const struct option_row *row = NULL; (row = option_row_next(CMD_ALL, group, row));)
        roff_option(row);
}

void manual_print(void)
{
    printf(".TH PELTON 1 \"\" \"pelton %s\"\n.SH NAME\npelton \\- decode H.264 on the GPU\n.SH "
           "SYNOPSIS\n",
           pelton_version());
    for (unsigned i = 0; i < n_commands; i++) {
        printf("\\fBpelton %s\\fR ", commands[i].name);
        roff(commands[i].usage);
        printf("\n.br\n");
    }
    printf(".SH DESCRIPTION\nOptions take one dash or two, and _ or \\- inside a name. So FFmpeg's "
           "spellings fit.\n");
    printf(
        "The command uses the daemon that \\fB\\-\\-socket\\fR or \\fBPELTON_SOCKET\\fR names, or "
        "one that runs at $XDG_RUNTIME_DIR/pelton.sock or /run/pelton/pelton.sock. Files are "
        "decoded by a private daemon where none runs; names of sources are not.\n");
    printf("Otherwise it starts a private daemon and ends it afterwards.\n");
    for (unsigned i = 0; i < n_commands; i++)
        roff_command(&commands[i]);
    roff_group("COMMON OPTIONS", GROUP_COMMON);
    roff_group("OPTIONS FOR WORK ON PELTON", GROUP_DEVELOPER);
    roff_group("OPTIONS OF BENCH \\-\\-KERNELS", GROUP_KERNELS);
    printf(".SH EXIT STATUS\n");
    for (size_t i = 0; i < n_exit_meanings; i++) {
        printf(".TP\n%d\n", exit_meanings[i].code);
        roff(exit_meanings[i].text);
        putchar('\n');
    }
}
