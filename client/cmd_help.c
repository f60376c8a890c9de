/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pelton help, from the two tables. A command's page shows its own options, a sentence each; one
 * option's page tells all. Options that many commands share have pages of their own.
 */
#include "client/option_table.h"

#include <stdio.h>
#include <string.h>

enum { WIDTH = 80, INDENT = 27 };

/* Prints words from column `at` on, in lines of at most WIDTH. Further lines are indented. */
static void print_wrapped(const char *text, int indent, int at)
{
    while (*text) {
        int n = (int)strcspn(text, " \n");
        if (at > indent && at + 1 + n > WIDTH) {
            printf("\n%*s", indent, "");
            at = indent;
        } else if (at > indent) {
            putchar(' ');
            at++;
        }
        printf("%.*s", n, text);
        at += n;
        text += n;
        if (*text == '\n') {
            printf("\n\n%*s", indent, "");
            at = indent;
        }
        text += *text != 0;
    }
    putchar('\n');
}

/* The length of the first sentence. */
static int first_sentence(const char *text)
{
    const char *end = strstr(text, ". ");
    return end ? (int)(end - text) + 1 : (int)strlen(text);
}

static void print_option(const struct option_row *row, bool whole)
{
    char name[48], left[96], text[1024];
    option_spelling(row, name, sizeof(name));
    snprintf(left, sizeof(left), "  %s%s%s", name, row->arg ? " " : "", row->arg ? row->arg : "");
    printf("%-*s", INDENT, left);
    if (strlen(left) >= INDENT)
        printf("\n%*s", INDENT, "");
    snprintf(text, sizeof(text), "%.*s%s%s%s",
             whole ? (int)strlen(row->help) : first_sentence(row->help), row->help,
             row->fallback ? " [" : "", row->fallback ? row->fallback : "",
             row->fallback ? "]" : "");
    print_wrapped(text, INDENT, INDENT);
}

static void print_options(unsigned command, enum option_group group, bool whole)
{
    for (unsigned i = 0; i < n_option_rows; i++)
        if ((option_rows[i].commands & command) && option_group(&option_rows[i]) == group)
            print_option(&option_rows[i], whole);
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
    for (unsigned i = 0; i < n_option_rows; i++) {
        if ((option_rows[i].commands & command) && option_group(&option_rows[i]) == group) {
            size_t n = strlen(text);
            snprintf(text + n, sizeof(text) - n, "%s %s", n ? "," : "",
                     option_spelling(&option_rows[i], name, sizeof(name)));
        }
    }
    if (!text[0])
        return;
    size_t n = strlen(text);
    snprintf(text + n, sizeof(text) - n, " (pelton help %s)", topic);
    printf("%s:", title);
    print_wrapped(text + 1, 2, (int)strlen(title) + 1);
}

static void help_command(const struct command *c)
{
    printf("Usage: pelton %s %s\n\n", c->name, c->usage);
    printf("%c%s.\n", c->summary[0] - 'a' + 'A', c->summary + 1);
    if (c->text[0]) {
        putchar('\n');
        print_wrapped(c->text, 0, 0);
    }
    if (option_group_used(c->bit, GROUP_OWN)) {
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
    row = option_find(name, strlen(name), c->bit, &elsewhere);
    if (!row)
        return option_refuse(word, strlen(name), elsewhere, c, f);
    print_option(row, true);
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
