/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pelton help, from the two tables. A command's page shows its own options, a sentence each; one
 * option's page tells all. Options that many commands share have pages of their own.
 */
#include "client/option_table.h"
#include "proto/option_help.h"

#include <stdio.h>
#include <string.h>

static void print_options(unsigned command, enum option_group group, bool whole)
{
    for (const struct option_row *row = NULL; (row = option_row_next(command, group, row));)
        help_row(row, whole);
}

static void print_examples(const struct command *c)
{
    if (!c->examples[0])
        return;
    puts("\nExamples:");
    for (const char *p = c->examples; *p;) {
        int n = (int)strcspn(p, "\n");
        printf("  %.*s\n", n, p);
        p += n + (p[n] == '\n');
    }
}

/* Names the options of a group, in one paragraph. */
static void print_names(unsigned command, enum option_group group, const char *title,
                        const char *topic)
{
    char text[512] = "", name[48];
    for (const struct option_row *row = NULL; (row = option_row_next(command, group, row));) {
        size_t n = strlen(text);
        snprintf(text + n, sizeof(text) - n, "%s %s", n ? "," : "",
                 option_spelling(row, name, sizeof(name)));
    }
    if (!text[0])
        return;
    size_t n = strlen(text);
    snprintf(text + n, sizeof(text) - n, " (pelton help %s)", topic);
    printf("%s:", title);
    help_wrapped(text + 1, 2, (int)strlen(title) + 1);
}

static void help_command(const struct command *c)
{
    printf("Usage: pelton %s %s\n\n", c->name, c->usage);
    printf("%c%s.\n", c->summary[0] - 'a' + 'A', c->summary + 1);
    if (c->text[0]) {
        putchar('\n');
        help_wrapped(c->text, 0, 0);
    }
    if (option_row_next(c->bit, GROUP_OWN, NULL)) {
        puts("\nOptions (one dash or two, _ or - inside a name):");
        print_options(c->bit, GROUP_OWN, false);
        printf("pelton help %s OPTION tells more.\n", c->name);
    }
    putchar('\n');
    print_names(c->bit, GROUP_KERNELS, "With --kernels", "kernels");
    print_names(c->bit, GROUP_COMMON, "Common", "common");
    print_names(c->bit, GROUP_DEVELOPER, "For work on pelton", "developer");
    print_examples(c);
}

static int help_option(const struct command *c, const char *word, struct failure *f)
{
    const struct option_row *elsewhere, *row = NULL;
    const char *name = word + strspn(word, "-");
    struct option_syntax syntax = command_syntax(c);
    row = option_find(&syntax, name, strlen(name), &elsewhere);
    if (!row)
        return command_refuse_option(c, word, strlen(name), elsewhere, f);
    help_row(row, true);
    return 0;
}

static void help_all(void)
{
    puts("pelton: H.264 decoding on the GPU, for any number of readers.\n\nUsage: pelton COMMAND "
         "[options]\n");
    for (unsigned i = 0; i < n_commands; i++)
        printf("  %-12s %s\n", commands[i].name, commands[i].summary);
    puts("\npelton FILE probes a file. pelton help COMMAND explains a command, and pelton help\n"
         "common the options that all have. Start with:\n  pelton decode -i clip.mp4 -o "
         "out.y4m\n\nExit codes:");
    for (unsigned i = 0; i < n_exit_meanings; i++)
        printf("  %-4d %s\n", exit_meanings[i].code, exit_meanings[i].text);
}

int cmd_help(struct client_options *o, struct failure *f)
{
    static const struct {
        const char *name, *title;
        enum option_group group;
    } pages[] = {{"common", "Options of most commands:", GROUP_COMMON},
                 {"developer", "Options for work on pelton:", GROUP_DEVELOPER},
                 {"kernels", "Options of pelton bench --kernels:", GROUP_KERNELS}};
    if (o->man) {
        manual_print();
        return 0;
    }
    for (size_t i = 0; o->topic && i < sizeof(pages) / sizeof(pages[0]); i++) {
        if (!strcmp(o->topic, pages[i].name)) {
            puts(pages[i].title);
            print_options(CMD_ALL, pages[i].group, true);
            return 0;
        }
    }
    const struct command *c = o->topic ? command_find(o->topic) : NULL;
    if (o->topic && !c)
        return command_refuse(o->topic, f);
    if (c && o->detail)
        return help_option(c, o->detail, f);
    if (c)
        help_command(c);
    else
        help_all();
    return 0;
}
