/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The options of pelton-web: see web_options.h. One table makes the command line, the keys of the
 * file and the help. The failure modes are an unknown name, a value that does not fit, and a file
 * that is no flat mapping.
 */
#include "web/web_options.h"

#include "daemon/log.h"
#include "daemon/sandbox.h"
#include "proto/option_help.h"
#include "proto/option_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { ON_COMMAND = 1, IN_FILE = 2, BOTH = 3, YAML_WHY = 160 };

static int parse_level(const struct option_text *t, void *place)
{
    unsigned number = 0;
    if (text_word(t, t->value, "quiet error warning notice info debug", &number) < 0)
        return -1;
    *(int *)place = (int)number + LOG_LEVEL_QUIET;
    return 0;
}

/* The list grows by each use. */
static int parse_name(const struct option_text *t, void *place)
{
    struct web_options *o = place;
    if (o->n_names == WEB_NAMES)
        return option_fail(t->fault, "leave some out", "--name: more than %d names", WEB_NAMES);
    o->names[o->n_names++] = t->value;
    return 0;
}

static int parse_switch(const struct option_text *t, void *place)
{
    unsigned on = 0;
    if (text_word(t, t->value, "false true", &on) < 0)
        return -1;
    *(bool *)place = on;
    return 0;
}

/* The whole structure is its place: the file's values go to where the options go. */
static option_parser parse_config;

#define VALUE(parser, type, member) OPTION_PLACE(parser, struct web_options, type, member, 0, 0)
#define TEXT(member)                VALUE(text_string, const char *, member)
#define FLAG(member)                VALUE(text_flag, bool, member)
#define NUMBER(member, from, to)                                                                   \
    OPTION_PLACE(text_u64, struct web_options, uint64_t, limits.member, from, to)

static const struct option_row option_rows[] = {
    {"socket", NULL, "PATH", NULL, "FILE", BOTH, TEXT(socket),
     "The daemon's socket. Without this option: $PELTON_SOCKET, the user's, the system's."},
    {"listen", NULL, "ADDRESS:PORT", "127.0.0.1:8790", NULL, BOTH, TEXT(listen),
     "Where to listen. Addresses other than loopback need --certificate, --key and --tokens."},
    {"name", NULL, "HOST", NULL, NULL, BOTH, OPTION_ALL(parse_name),
     "A name that browsers may use for this server, beside its address and localhost. May be given "
     "several times; in the file names stand in a list."},
    {"certificate", NULL, "FILE", NULL, "FILE", BOTH, TEXT(certificate),
     "Certificates in PEM, the server's first. With them the server speaks TLS 1.3 only. SIGHUP "
     "reads them again."},
    {"key", NULL, "FILE", NULL, "FILE", BOTH, TEXT(key),
     "The private key of the certificate, PEM."},
    {"tokens", NULL, "FILE", NULL, "FILE", BOTH, TEXT(tokens),
     "Tokens, one a line: \"read TOKEN\" or \"control TOKEN\". A file, or the name of a credential "
     "of systemd. With it each request needs one. SIGHUP reads it again."},
    {"connections", NULL, "N", "512", NULL, BOTH, NUMBER(connections, 1, 10000),
     "Connections at once."},
    {"connections-per-address", NULL, "N", "256", NULL, BOTH,
     NUMBER(connections_per_address, 1, 10000), "Connections of one address at once."},
    {"requests-per-second", NULL, "N", "200", NULL, BOTH, NUMBER(requests_per_second, 1, 100000),
     "Requests of one address in a second, on the mean; twice as many may come at once."},
    {"header-bytes", NULL, "N", "16384", NULL, BOTH, NUMBER(header_bytes, 4096, 1 << 20),
     "Bytes of a request's line and headers."},
    {"body-bytes", NULL, "N", "65536", NULL, BOTH, NUMBER(body_bytes, 1024, 1 << 24),
     "Bytes of a request's body."},
    {"header-ms", NULL, "MS", "10000", NULL, BOTH, NUMBER(header_ms, 100, 600000),
     "A new connection has so long for its first request."},
    {"idle-ms", NULL, "MS", "30000", NULL, BOTH, NUMBER(idle_ms, 100, 600000),
     "A connection may rest so long between two requests."},
    {"stall-ms", NULL, "MS", "10000", NULL, BOTH, NUMBER(stall_ms, 100, 600000),
     "A reader has so long to take one frame."},
    {"log-level", "loglevel v", "LEVEL", "notice", "quiet error warning notice info debug", BOTH,
     VALUE(parse_level, int, log_level), "quiet, error, warning, notice, info or debug."},
    {"sandbox", NULL, "true|false", "true", "true false", BOTH, VALUE(parse_switch, bool, sandbox),
     "Give up rights after the start (docs/privileges.md)."},
    {"c", "config", "FILE", NULL, "FILE", ON_COMMAND, OPTION_ALL(parse_config),
     "Read options from this file: YAML with these names as keys."},
    {"check", NULL, NULL, NULL, NULL, ON_COMMAND, FLAG(check), "Check the options, and end."},
    {"version", "V", NULL, NULL, NULL, ON_COMMAND, FLAG(version), "Print the version, and end."},
    {"help", "h ?", NULL, NULL, NULL, ON_COMMAND, FLAG(help), "Print this help, and end."},
};
enum { OPTION_ROWS = sizeof(option_rows) / sizeof(*option_rows) };

static const struct option_syntax option_syntax = {.rows = option_rows,
                                                   .n_rows = OPTION_ROWS,
                                                   .command = ON_COMMAND,
                                                   .program = "pelton-web",
                                                   .help = "pelton-web --help"};

static const struct option_syntax file_syntax = {.rows = option_rows,
                                                 .n_rows = OPTION_ROWS,
                                                 .command = IN_FILE,
                                                 .program = "web.yaml",
                                                 .help = "pelton-web --help"};

static int text_own(struct web_options *o, const char *text, const char **out)
{
    char *copy = o->n_owned < WEB_TEXTS ? strdup(text) : NULL;
    if (!copy)
        return -1;
    o->owned[o->n_owned++] = copy;
    *out = copy;
    return 0;
}

static int file_value(struct web_options *o, const char *key, const char *value,
                      struct option_fault *fault)
{
    const struct option_row *elsewhere,
        *row = option_find(&file_syntax, key, strlen(key), &elsewhere);
    const char *kept;
    if (!row || !(row->commands & IN_FILE))
        return option_refuse(&file_syntax, key, strlen(key), fault);
    if (text_own(o, value, &kept) < 0)
        return option_fail(fault, "shorten it", "more than %d values, or no memory", WEB_TEXTS);
    return option_store(row, kept, o, fault);
}

/* One event of the parser; the caller deletes it. */
static int yaml_take(yaml_parser_t *p, yaml_event_t *e, struct option_fault *fault)
{
    if (yaml_parser_parse(p, e))
        return 0;
    memset(e, 0, sizeof(*e));
    return option_fail(fault, "write KEY: VALUE on each line", "line %zu: %.100s",
                       p->problem_mark.line + 1, p->problem ? p->problem : "no YAML");
}

struct file_place {
    char key[64];
    bool have_key, in_list;
    int depth; /* 1: inside the mapping */
};

static int scalar_take(struct web_options *o, struct file_place *at, const char *text,
                       struct option_fault *fault)
{
    if (at->depth != 1)
        return option_fail(fault, "write KEY: VALUE on each line", "the file is no mapping");
    if (!at->have_key) {
        snprintf(at->key, sizeof(at->key), "%s", text);
        at->have_key = true;
        return 0;
    }
    at->have_key = at->in_list;
    return file_value(o, at->key, text, fault);
}

static int event_take(struct web_options *o, struct file_place *at, const yaml_event_t *e,
                      struct option_fault *fault)
{
    bool nested = (e->type == YAML_MAPPING_START_EVENT && at->depth) ||
                  (e->type == YAML_SEQUENCE_START_EVENT && (!at->have_key || at->in_list)) ||
                  e->type == YAML_ALIAS_EVENT;
    if (nested)
        return option_fail(fault, "write KEY: VALUE on each line", "line %zu: no value is nested",
                           e->start_mark.line + 1);
    at->depth += (e->type == YAML_MAPPING_START_EVENT) - (e->type == YAML_MAPPING_END_EVENT);
    if (e->type == YAML_SEQUENCE_START_EVENT)
        at->in_list = true;
    if (e->type == YAML_SEQUENCE_END_EVENT)
        at->in_list = at->have_key = false;
    return e->type == YAML_SCALAR_EVENT
               ? scalar_take(o, at, (const char *)e->data.scalar.value, fault)
               : 0;
}

static int file_read(FILE *file, struct web_options *o, struct option_fault *fault)
{
    yaml_parser_t p;
    struct file_place at = {.depth = 0};
    bool over = false;
    int rc = 0;
    if (!yaml_parser_initialize(&p))
        return option_fail(fault, "free some memory", "no memory");
    yaml_parser_set_input_file(&p, file);
    while (rc == 0 && !over) {
        yaml_event_t e;
        rc = yaml_take(&p, &e, fault);
        if (rc == 0)
            rc = event_take(o, &at, &e, fault);
        over = e.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&e);
    }
    yaml_parser_delete(&p);
    return rc;
}

static int parse_config(const struct option_text *t, void *place)
{
    FILE *file = fopen(t->value, "re");
    if (!file)
        return option_fail(t->fault, "name a file of this program's options", "%.200s: %s",
                           t->value, strerror(errno));
    int rc = file_read(file, place, t->fault);
    fclose(file);
    if (rc < 0) {
        char cause[YAML_WHY * 2];
        snprintf(cause, sizeof(cause), "%.300s", t->fault->cause);
        snprintf(t->fault->cause, sizeof(t->fault->cause), "%.150s: %s", t->value, cause);
    }
    return rc;
}

static void options_preset(struct web_options *o)
{
    *o = (struct web_options){
        .listen = "127.0.0.1:8790",
        .limits = {.connections = 512,
                   .connections_per_address = 256,
                   .requests_per_second = 200,
                   .header_bytes = 16384,
                   .body_bytes = 65536,
                   .header_ms = 10000,
                   .idle_ms = 30000,
                   .stall_ms = 10000},
        .log_level = LOG_LEVEL_NOTICE,
        .sandbox = SANDBOX_PRESET,
    };
}

/* Files first, so that the command line goes before them wherever they stand. */
static int words_take(int argc, char **argv, bool files, struct web_options *o,
                      struct option_fault *fault)
{
    struct option_reader r = {.argc = argc, .argv = argv, .at = 1};
    struct option_word w;
    const char *value;
    while (option_next(&option_syntax, &r, &w)) {
        if (!w.name)
            return option_fail(fault, "see: pelton-web --help", "%.100s: unexpected word", w.word);
        if (!w.row)
            return option_refuse(&option_syntax, w.word, w.length, fault);
        if (option_complete(&option_syntax, &r, &w, &value, fault) < 0)
            return -1;
        bool file = w.row->place.parse == parse_config;
        if (file == files && option_store(w.row, value, o, fault) < 0)
            return -1;
    }
    return 0;
}

int web_options_parse(int argc, char **argv, struct web_options *out, struct option_fault *fault)
{
    options_preset(out);
    int rc = words_take(argc, argv, true, out, fault);
    return rc ? rc : words_take(argc, argv, false, out, fault);
}

void web_options_usage(void)
{
    puts("Usage: pelton-web [--socket PATH] [--listen ADDRESS:PORT] [-c FILE] [options]\n\n"
         "Options (one dash or two, _ or - inside a name); the file has the same names as keys:");
    for (unsigned i = 0; i < OPTION_ROWS; i++)
        help_row(&option_rows[i], true);
}

void web_options_free(struct web_options *o)
{
    for (unsigned i = 0; i < o->n_owned; i++)
        free(o->owned[i]);
    o->n_owned = 0;
}
