/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Help text, manual page, shell completion and versions, all from the two tables.
 */
#include "client/option_table.h"

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avutil.h>
#include <libswscale/swscale.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 80, INDENT = 27 };

static const struct {
    int code;
    const char *what;
} exit_codes[] = {
    {0, "success"},
    {1, "any other error"},
    {2, "usage or configuration"},
    {3, "fewer frames per second than --min-fps"},
    {4, "the input: not found, empty, not a video, truncated"},
    {5, "the stream uses a tool that is not supported"},
    {6, "damaged stream under --on-error fail"},
    {7, "no device"},
    {8, "no daemon"},
    {9, "permission"},
    {10, "frames differ from the reference"},
    {11, "time-out"},
    {130, "SIGINT"},
    {141, "the reader of the output has ended (SIGPIPE)"},
    {143, "SIGTERM"},
};

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

static void print_option(const struct option_row *row)
{
    char name[48], left[96];
    option_spelling(row, name, sizeof(name));
    snprintf(left, sizeof(left), "  %s%s%s", name, row->arg ? " " : "", row->arg ? row->arg : "");
    printf("%-*s", INDENT, left);
    if (strlen(left) >= INDENT)
        printf("\n%*s", INDENT, "");
    char text[1024];
    snprintf(text, sizeof(text), "%s%s%s%s", row->help, row->fallback ? " [" : "",
             row->fallback ? row->fallback : "", row->fallback ? "]" : "");
    print_wrapped(text, INDENT, INDENT);
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

static void help_command(const struct command *c)
{
    printf("Usage: pelton %s %s\n\n", c->name, c->usage);
    printf("%c%s.\n", c->summary[0] - 'a' + 'A', c->summary + 1);
    if (c->text[0]) {
        putchar('\n');
        print_wrapped(c->text, 0, 0);
    }
    puts("\nOptions (one dash or two, _ or - inside a name):");
    for (unsigned i = 0; i < n_option_rows; i++)
        if (option_rows[i].commands & c->bit)
            print_option(&option_rows[i]);
    print_examples(c);
}

static void help_all(void)
{
    puts("pelton: H.264 decoding on the GPU, for any number of readers.\n\nUsage: pelton COMMAND "
         "[options]\n");
    for (unsigned i = 0; i < n_commands; i++)
        printf("  %-12s %s\n", commands[i].name, commands[i].summary);
    puts("\npelton help COMMAND explains its options. Start with:\n  pelton decode -i clip.mp4 -o "
         "out.y4m\n\nExit codes:");
    for (size_t i = 0; i < sizeof(exit_codes) / sizeof(exit_codes[0]); i++)
        printf("  %-4d %s\n", exit_codes[i].code, exit_codes[i].what);
}

/* ---- manual page ---- */

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
    for (unsigned i = 0; i < n_option_rows; i++) {
        if ((option_rows[i].commands & c->bit) &&
            (option_rows[i].commands != CMD_ALL || c->bit == CMD_DECODE)) {
            roff_option(&option_rows[i]);
        }
    }
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

static void manual(void)
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
    printf(".SH EXIT STATUS\n");
    for (size_t i = 0; i < sizeof(exit_codes) / sizeof(exit_codes[0]); i++) {
        printf(".TP\n%d\n", exit_codes[i].code);
        roff(exit_codes[i].what);
        putchar('\n');
    }
}

int cmd_help(struct client_options *o, struct failure *f)
{
    if (o->man) {
        manual();
        return 0;
    }
    const struct command *c = o->topic ? command_find(o->topic) : NULL;
    if (o->topic && !c)
        return command_refuse(o->topic, f);
    if (c)
        help_command(c);
    else
        help_all();
    return 0;
}

/* ---- completion ---- */

static void print_option_words(unsigned bit)
{
    char name[48];
    for (unsigned i = 0; i < n_option_rows; i++)
        if (option_rows[i].commands & bit)
            printf("%s ", option_spelling(&option_rows[i], name, sizeof(name)));
}

static void print_command_words(void)
{
    for (unsigned i = 0; i < n_commands; i++)
        printf("%s ", commands[i].name);
}

/* Prints one script for both shells: zsh reads it through bashcompinit. */
static void completion_script(void)
{
    char name[48];
    printf("_pelton() {\n    local cur=\"${COMP_WORDS[COMP_CWORD]}\" "
           "prev=\"${COMP_WORDS[COMP_CWORD-1]}\" words=\"\"\n");
    printf("    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        COMPREPLY=($(compgen -W \"");
    print_command_words();
    printf("\" -- \"$cur\"))\n        return\n    fi\n    case \"${COMP_WORDS[1]} $prev\" in\n");
    for (unsigned c = 0; c < n_commands; c++) {
        for (unsigned i = 0; i < n_option_rows; i++) {
            const struct option_row *row = &option_rows[i];
            if (!(row->commands & commands[c].bit) || !row->arg)
                continue;
            printf("    \"%s %s\") ", commands[c].name, option_spelling(row, name, sizeof(name)));
            if (row->choices && strcmp(row->choices, "FILE")) {
                printf("words=\"%s\" ;;\n", row->choices);
            } else {
                printf("COMPREPLY=($(compgen %s -- \"$cur\")); return ;;\n",
                       row->choices ? "-f" : "-W ''");
            }
        }
    }
    printf("    \"help help\") words=\"");
    print_command_words();
    printf("\" ;;\n    \"completion completion\") words=\"bash zsh\" ;;\n    *)\n        case "
           "\"$cur\" in\n        -*) case "
           "\"${COMP_WORDS[1]}\" in\n");
    for (unsigned c = 0; c < n_commands; c++) {
        printf("            %s) words=\"", commands[c].name);
        print_option_words(commands[c].bit);
        printf("\" ;;\n");
    }
    printf("            esac ;;\n        *) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n     "
           "   esac ;;\n    esac\n");
    printf("    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\ncomplete -o filenames -F "
           "_pelton pelton\n");
}

int cmd_completion(struct client_options *o, struct failure *f)
{
    bool zsh = o->topic && !strcmp(o->topic, "zsh");
    if (!zsh && (!o->topic || strcmp(o->topic, "bash"))) {
        return o->topic
                   ? fail_with(f, X_USAGE, "pelton completion bash, or zsh",
                               "%s: no completion for this shell", o->topic)
                   : fail_with(f, X_USAGE, "pelton completion bash, or zsh", "no shell is named");
    }
    if (zsh)
        puts("autoload -U +X bashcompinit && bashcompinit");
    completion_script();
    return 0;
}

/* ---- versions ---- */

static void print_library(const char *name, unsigned running, unsigned built)
{
    printf("%-12s %u.%u.%u", name, AV_VERSION_MAJOR(running), AV_VERSION_MINOR(running),
           AV_VERSION_MICRO(running));
    if (running != built) {
        printf(" (built with %u.%u.%u)", AV_VERSION_MAJOR(built), AV_VERSION_MINOR(built),
               AV_VERSION_MICRO(built));
    }
    putchar('\n');
}

void print_libraries(void)
{
    printf("%-12s %s\n", "FFmpeg", av_version_info());
    print_library("libavformat", avformat_version(), LIBAVFORMAT_VERSION_INT);
    print_library("libavcodec", avcodec_version(), LIBAVCODEC_VERSION_INT);
    print_library("libavutil", avutil_version(), LIBAVUTIL_VERSION_INT);
    print_library("libswscale", swscale_version(), LIBSWSCALE_VERSION_INT);
}

int cmd_version(struct client_options *o, struct failure *f)
{
    printf("%-12s %s\n%-12s %s\n", "pelton", CLIENT_VERSION, "libpelton", pelton_version());
    printf("%-12s %d\n", "protocol", CLIENT_PROTOCOL);
    print_libraries();
    return 0;
}
