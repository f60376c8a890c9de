/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pelton completion: a short script for each shell, and the words that the scripts ask for.
 *
 * `pelton completion words WORD...` takes a command line up to the cursor, without its first word.
 * It prints one candidate a line, some with a tab and an explanation; ":files" stands for the
 * shell's own completion of files. A daemon gets little time to name its sources. Without one
 * nothing is said.
 */
#include "client/option_table.h"
#include "proto/socket_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For an answer of the daemon; for a camera that has to be opened. */
enum { PATIENCE_MS = 400, OPEN_MS = 2000 };

/* The line up to the cursor. */
struct typed_line {
    const char *const *words;
    int n; /* the last one is at the cursor; at least 1 */
    const struct command *command;
};

static const char *const script_bash =
    "_pelton() {\n"
    "    local rest=${COMP_LINE:0:COMP_POINT} words=() i word blank line files= cur prefix\n"
    "    # bash splits words at = and :, and this joins them again\n"
    "    for ((i = 0; i <= COMP_CWORD; i++)); do\n"
    "        blank=${rest%%[^[:blank:]]*}\n"
    "        rest=${rest#\"$blank\"}\n"
    "        word=${COMP_WORDS[i]}\n"
    "        word=${word:0:${#rest}}\n"
    "        rest=${rest#\"$word\"}\n"
    "        if [[ -n $blank || $i -eq 0 ]]; then\n"
    "            words+=(\"$word\")\n"
    "        else\n"
    "            words[${#words[@]}-1]+=$word\n"
    "        fi\n"
    "    done\n"
    "    word=${words[0]}\n"
    "    words=(\"${words[@]//\\\\/}\")\n"
    "    words=(\"${words[@]#[\\\"\\']}\")\n"
    "    cur=${words[${#words[@]}-1]}\n"
    "    prefix=${cur%\"${cur##*[=:]}\"}\n"
    "    COMPREPLY=()\n"
    "    while IFS= read -r line; do\n"
    "        [[ $line == :files ]] && files=1 && continue\n"
    "        line=${line%%$'\\t'*}\n"
    "        [[ $line == \"$cur\"* ]] || continue\n"
    "        [[ $line == *= ]] && compopt -o nospace 2>/dev/null\n"
    "        [[ $line == *' '* ]] && printf -v line %q \"$line\"\n"
    "        COMPREPLY+=(\"${line#\"$prefix\"}\")\n"
    "    done < <(\"$word\" completion words \"${words[@]:1}\" 2>/dev/null)\n"
    "    [[ -n $files ]] || compopt +o default 2>/dev/null\n"
    "}\n"
    "complete -o default -F _pelton pelton\n";

static const char *const script_zsh =
    "#compdef pelton\n"
    "_pelton() {\n"
    "    local -a lines values shown open\n"
    "    local line files=0\n"
    "    lines=(\"${(@f)$(\"${words[1]}\" completion words \"${(@Q)words[2,CURRENT-1]}\" "
    "\"${(Q)PREFIX}\" 2>/dev/null)}\")\n"
    "    for line in \"${lines[@]}\"; do\n"
    "        case $line in\n"
    "        '') ;;\n"
    "        :files) files=1 ;;\n"
    "        *=) open+=(\"$line\") ;;\n"
    "        *) values+=(\"${line%%$'\\t'*}\"); shown+=(\"${line/$'\\t'/  -- }\") ;;\n"
    "        esac\n"
    "    done\n"
    "    (( $#open )) && compadd -S '' -a open\n"
    "    (( $#values )) && compadd -d shown -a values\n"
    "    (( files )) && _files\n"
    "}\n"
    "if [ \"$funcstack[1]\" = _pelton ]; then _pelton \"$@\"; else compdef _pelton pelton; fi\n";

static const char *const script_fish =
    "function __pelton_words\n"
    "    set -l words (commandline -opc)\n"
    "    set -l cur (commandline -ct)\n"
    "    for line in (command $words[1] completion words $words[2..-1] \"$cur\" 2>/dev/null)\n"
    "        if test \"$line\" = :files\n"
    "            __fish_complete_path \"$cur\"\n"
    "        else\n"
    "            echo $line\n"
    "        end\n"
    "    end\n"
    "end\n"
    "complete -c pelton -f -a '(__pelton_words)'\n";

/* ---- words ---- */

static void print_files(void)
{
    puts(":files");
}

/* Each word of a list, after a prefix. */
static void print_words(const char *prefix, const char *words)
{
    for (const char *p = words; *p;) {
        int n = (int)strcspn(p, " ");
        if (n > 0)
            printf("%s%.*s\n", prefix, n, p);
        p += n + (p[n] == ' ');
    }
}

static void print_commands(void)
{
    for (unsigned i = 0; i < n_commands; i++)
        printf("%s\t%s\n", commands[i].name, commands[i].summary);
}

static void print_option_names(const struct command *c)
{
    char name[48];
    for (unsigned i = 0; i < n_option_rows; i++)
        if (option_rows[i].commands & c->bit)
            printf("%s\t%.*s\n", option_spelling(&option_rows[i], name, sizeof(name)),
                   (int)strcspn(option_rows[i].help, ".:;,"), option_rows[i].help);
}

/* prefix: of the word at the cursor, as in --device=. */
static void print_values(const struct option_row *row, const char *prefix)
{
    if (row->choices && strcmp(row->choices, "FILE") != 0)
        print_words(prefix, row->choices);
    else if (row->choices)
        print_files();
}

/* ---- a daemon's words ---- */

static struct pelton *daemon_of(const struct typed_line *line)
{
    struct pelton *conn = NULL;
    const char *path = socket_named();
    for (int i = 1; i + 1 < line->n; i++)
        if (!strcmp(line->words[i], "--socket") || !strcmp(line->words[i], "-socket"))
            path = line->words[i + 1];
    return pelton_connect(path, PATIENCE_MS, &conn) == 0 ? conn : NULL;
}

/* Names come from others: nothing in them may look like a line of its own. */
static bool is_plain(const char *name)
{
    for (; *name; name++)
        if ((unsigned char)*name < ' ' || *name == 127)
            return false;
    return true;
}

static void print_source_names(const struct typed_line *line)
{
    struct pelton *conn = daemon_of(line);
    struct pelton_source *list = NULL;
    size_t n = 0;
    if (conn && pelton_sources(conn, PATIENCE_MS, &list, &n) >= 0)
        for (size_t i = 0; i < n; i++)
            if (is_plain(list[i].name) && is_plain(list[i].uri))
                printf("%s\t%s\n", list[i].name, list[i].uri);
    free(list);
    pelton_close(conn);
}

/* end: "=" for pelton set. */
static void print_control_names(const struct typed_line *line, const char *source, const char *end)
{
    static struct pelton_control controls[PELTON_MAX_CONTROLS];
    struct pelton *conn = daemon_of(line);
    struct pelton_stream *stream = NULL;
    struct pelton_open_params params;
    struct pelton_info info;
    char uri[512];
    uint32_t n = 0;
    snprintf(uri, sizeof(uri), "%s%s", strstr(source, "://") ? "" : "source:", source);
    pelton_open_params_init(&params);
    params.uri = uri;
    params.bench.transport = PELTON_NONE;
    if (conn && pelton_open_start(conn, &params, &stream) >= 0 &&
        pelton_open_wait(stream, OPEN_MS, &info) >= 0 &&
        pelton_controls(stream, PATIENCE_MS, NULL, 0, controls, &n) >= 0) {
        for (uint32_t i = 0; i < n; i++)
            if (is_plain(controls[i].name))
                printf("%s%s\n", controls[i].name, end);
    }
    pelton_stream_close(stream);
    pelton_close(conn);
}

/* ---- the word at the cursor ---- */

/* The option whose value follows a word; NULL: none does. */
static const struct option_row *value_follows(const struct typed_line *line, const char *word)
{
    const struct option_row *elsewhere, *row;
    if (word[0] != '-' || !word[1] || strchr(word, '='))
        return NULL;
    const char *name = word + 1 + (word[1] == '-');
    struct option_syntax syntax = command_syntax(line->command);
    row = option_find(&syntax, name, strlen(name), &elsewhere);
    return row && row->arg ? row : NULL;
}

/* The words before the cursor that are neither options nor their values. *first: the first of
 * them. */
static int count_plain(const struct typed_line *line, const char **first)
{
    int count = 0;
    for (int i = 1; i < line->n - 1; i++) {
        if (line->words[i][0] == '-' && line->words[i][1]) {
            i += value_follows(line, line->words[i]) != NULL;
            continue;
        }
        if (count++ == 0)
            *first = line->words[i];
    }
    return count;
}

static bool has_word(const struct typed_line *line, const char *word)
{
    for (int i = 1; i < line->n; i++)
        if (!strcmp(line->words[i], word))
            return true;
    return false;
}

static void print_help_topics(const struct typed_line *line, int before, const char *first)
{
    const struct command *c = before == 1 ? command_find(first) : NULL;
    if (c)
        print_option_names(c);
    if (before > 0)
        return;
    print_commands();
    print_words("", "common developer kernels");
}

static void print_plain(const struct typed_line *line)
{
    const char *first = "";
    int before = count_plain(line, &first);
    switch (line->command->bit) {
    case CMD_GET:
    case CMD_SET:
        if (before > 0) {
            print_control_names(line, first, line->command->bit == CMD_SET ? "=" : "");
            return;
        }
        /* fall through */
    case CMD_INFO:
    case CMD_PIPE:
    case CMD_SNAPSHOT:
    case CMD_VIEW:
        if (before == 0)
            print_source_names(line);
        print_files();
        return;
    case CMD_CALIB:
        if (before == 0)
            print_words("", "check");
        else
            print_files();
        return;
    case CMD_HELP:
        print_help_topics(line, before, first);
        return;
    case CMD_COMPLETION:
        print_words("", "bash zsh fish");
        return;
    case CMD_BENCH:
        if (has_word(line, "--kernels"))
            print_words("", "reduce blur demosaic undistort readback wavefront inter");
        else
            print_files();
        return;
    case CMD_DECODE:
    case CMD_ENCODE:
    case CMD_PROBE:
        print_files();
        return;
    default:
        return;
    }
}

static void complete_line(const struct typed_line *line)
{
    const char *word = line->words[line->n - 1], *equals = strchr(word, '=');
    const struct option_row *elsewhere, *row;
    row = line->n > 2 ? value_follows(line, line->words[line->n - 2]) : NULL;
    if (row) {
        print_values(row, "");
    } else if (word[0] == '-' && equals) {
        char prefix[64];
        const char *name = word + 1 + (word[1] == '-');
        snprintf(prefix, sizeof(prefix), "%.*s=", (int)(equals - word), word);
        struct option_syntax syntax = command_syntax(line->command);
        row = option_find(&syntax, name, (size_t)(equals - name), &elsewhere);
        if (row && row->arg)
            print_values(row, prefix);
    } else if (word[0] == '-') {
        print_option_names(line->command);
    } else {
        print_plain(line);
    }
}

static void complete_words(const char *const *words, int n)
{
    struct typed_line line = {.words = words, .n = n};
    if (n <= 1) {
        print_commands();
        print_files();
        return;
    }
    line.command = command_find(words[0]);
    if (line.command)
        complete_line(&line);
    else
        print_files();
}

int cmd_completion(struct client_options *o, struct failure *f)
{
    const char *hint = "pelton completion bash, or zsh, or fish";
    if (!o->topic)
        return fail_with(f, X_USAGE, hint, "no shell is named");
    if (o->words)
        complete_words(o->words, o->n_words);
    else if (!strcmp(o->topic, "bash"))
        fputs(script_bash, stdout);
    else if (!strcmp(o->topic, "zsh"))
        fputs(script_zsh, stdout);
    else if (!strcmp(o->topic, "fish"))
        fputs(script_fish, stdout);
    else
        return fail_with(f, X_USAGE, hint, "%s: no completion for this shell", o->topic);
    return 0;
}
