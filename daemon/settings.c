/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The settings of peltond: see settings.h. The command line goes before the environment, and the
 * environment before the configuration file.
 */
#include "daemon/settings.h"

#include "daemon/config.h"
#include "daemon/config_print.h"
#include "daemon/config_source.h"
#include "daemon/log.h"
#include "daemon/settings_environment.h"
#include "daemon/settings_keys.h"
#include "proto/option_help.h"
#include "proto/option_text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char listen_prefix[] = "listen.unix.", sources_prefix[] = "sources.",
                  rights_prefix[] = "rights.";

static void settings_init(struct settings *s)
{
    memset(s, 0, sizeof(*s));
    s->process.private_fd = s->process.worker_fd = -1;
    s->process.log_level = LOG_LEVEL_NOTICE;
    s->process.log_name = "notice";
    s->listen.mode = 0660;
    settings_keys_preset(s);
}

/* from: where it stands, for the error. */
static int value_add(const char *text, const char *from, struct settings *s, char error[256])
{
    char why[200];
    if (s->text.n_values == SETTINGS_MAX_VALUES + (s->process.worker_fd >= 0)) {
        snprintf(error, 256, "more than %d -c values", SETTINGS_MAX_VALUES);
        return -1;
    }
    if (settings_key_set(text, s, why) < 0) {
        snprintf(error, 256, "%s%s", from, why);
        return -1;
    }
    s->text.values[s->text.n_values++] = text;
    return 0;
}

/* Permission bits, octal as for chmod. */
static int parse_mode(const char *text, unsigned *out, char error[256])
{
    char *end;
    unsigned long mode = strtoul(text, &end, 8);
    if (end == text || *end || text[0] == '-' || mode > 0777) {
        snprintf(error, 256, "listen.unix.mode=%.40s: expected octal digits, from 0 to 0777", text);
        return -1;
    }
    *out = (unsigned)mode;
    return 0;
}

static int listen_value(struct settings *s, const char *key, const char *text, char error[256])
{
    if (strcmp(key, "path") == 0) {
        s->listen.path = s->listen.path ? s->listen.path : text; /* the command line's goes first */
    } else if (strcmp(key, "group") == 0) {
        s->listen.group = text;
    } else if (strcmp(key, "mode") == 0) {
        return parse_mode(text, &s->listen.mode, error);
    } else {
        snprintf(error, 256, "listen.unix.%.60s: expected path, mode or group", key);
        return -1;
    }
    return 0;
}

static int text_keep(struct settings *s, char *text, char error[256])
{
    if (!text || s->text.n_owned == SETTINGS_MAX_VALUES) {
        free(text);
        snprintf(error, 256, "more than %d values, or no memory", SETTINGS_MAX_VALUES);
        return -1;
    }
    s->text.owned[s->text.n_owned++] = text;
    return 0;
}

/* A value of the configuration file counts like one of -c. A value of the environment goes before
 * it. */
static int file_value(void *ctx, const char *key, const char *value, char error[256])
{
    struct settings *s = ctx;
    bool of_socket = strncmp(key, listen_prefix, strlen(listen_prefix)) == 0;
    if (strncmp(key, rights_prefix, strlen(rights_prefix)) == 0)
        return rights_set(&s->rights, key + strlen(rights_prefix), value, error);
    char *text = of_socket ? strdup(value) : NULL;
    if (!of_socket && environment_value(key))
        return 0;
    if (!of_socket && asprintf(&text, "%s=%s", key, value) < 0)
        text = NULL;
    if (text_keep(s, text, error) < 0)
        return -1;
    return of_socket ? listen_value(s, key + strlen(listen_prefix), text, error)
                     : value_add(text, "", s, error);
}

static int environment_values(struct settings *s, char error[256])
{
    for (size_t i = 0; i < settings_key_count(); i++) {
        const char *name = settings_key_name(i), *value = environment_value(name);
        char *text = NULL, from[ENVIRONMENT_NAME + 2];
        if (!value)
            continue;
        if (asprintf(&text, "%s=%s", name, value) < 0)
            text = NULL;
        environment_name(name, from);
        strcat(from, ": ");
        if (text_keep(s, text, error) < 0 || value_add(text, from, s, error) < 0)
            return -1;
    }
    return 0;
}

/* -c KEY=VALUE; keys of sources wait until all files have been read. */
static int command_value(const char *text, struct settings *s, char error[256])
{
    const char *equal = strchr(text, '=');
    if (strncmp(text, sources_prefix, strlen(sources_prefix)) == 0) {
        if (s->text.n_overrides == SETTINGS_MAX_VALUES) {
            snprintf(error, 256, "more than %d -c values", SETTINGS_MAX_VALUES);
            return -1;
        }
        s->text.overrides[s->text.n_overrides++] = text;
        return 0;
    }
    if (strncmp(text, listen_prefix, strlen(listen_prefix)) == 0) {
        char key[32];
        const char *name = text + strlen(listen_prefix);
        snprintf(key, sizeof(key), "%.*s", (int)(equal - name), name);
        return listen_value(s, key, equal + 1, error);
    }
    if (strncmp(text, rights_prefix, strlen(rights_prefix)) == 0) {
        char key[32];
        const char *name = text + strlen(rights_prefix);
        snprintf(key, sizeof(key), "%.*s", (int)(equal - name), name);
        return rights_set(&s->rights, key, equal + 1, error);
    }
    return value_add(text, "-c ", s, error);
}

/* ---- the command line ---- */

static int parse_number(const struct option_text *t, void *place)
{
    uint64_t n = 0;
    int rc = text_u64(t, &n);
    if (rc == 0)
        *(int *)place = (int)n;
    return rc;
}

static int parse_log_level(const struct option_text *t, void *place)
{
    static const int8_t levels[] = {
        LOG_LEVEL_QUIET, LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_NOTICE, LOG_LEVEL_INFO,
        LOG_LEVEL_DEBUG, LOG_LEVEL_ERROR, LOG_LEVEL_ERROR,   LOG_LEVEL_DEBUG,  LOG_LEVEL_DEBUG};
    struct settings_process *process = place;
    unsigned number = 0;
    if (text_word(t, t->value, "quiet error warning notice info debug panic fatal verbose trace",
                  &number) < 0)
        return -1;
    process->log_name = t->value;
    process->log_level = levels[number];
    return 0;
}

static int parse_config(const struct option_text *t, void *place)
{
    struct settings *s = place;
    bool is_file = !strchr(t->value, '=');
    option_fail(t->fault,
                !is_file ? "peltond --help lists the settings"
                : access(t->value, R_OK) < 0
                    ? "-c takes the name of a file, or KEY=VALUE"
                    : "pelton.yaml(5) describes the file; peltond --list-keys lists its keys",
                "%s", t->value);
    return is_file
               ? config_read(t->value, file_value, s, &s->sources, &s->n_sources, t->fault->cause)
               : command_value(t->value, s, t->fault->cause);
}

#define VALUE(parser, type, member) OPTION_PLACE(parser, struct settings, type, member, 0, 0)
#define FLAG(member)                VALUE(text_flag, bool, member)
/* A descriptor, or the number of a process. */
#define NUMBER(member) OPTION_PLACE(parse_number, struct settings, int, member, 0, 1 << 22)

static const struct option_row option_rows[] = {
    {"socket", NULL, "PATH", NULL, "FILE", 1, VALUE(text_string, const char *, listen.path),
     "Listen there. Without this option the daemon listens at $PELTON_SOCKET. Without that it "
     "takes /run/pelton/pelton.sock where it may write, else $XDG_RUNTIME_DIR/pelton.sock."},
    {"device", NULL, "DEVICE", "auto", "auto gpu cpu all", 1,
     VALUE(text_string, const char *, engine.device),
     "The device that decodes: auto, gpu, cpu, part of a name, a UUID, or all. Commas separate "
     "several."},
    {"c", "config", "FILE", NULL, "FILE", 1, OPTION_ALL(parse_config),
     "Read this configuration: YAML with the keys below, sources, and listen: {unix: {path, mode, "
     "group}}. -c KEY=VALUE sets one key, and -c sources.NAME.KEY=VALUE one of a source."},
    {"log-level", "loglevel v", "LEVEL", "notice", "quiet error warning notice info debug", 1,
     VALUE(parse_log_level, struct settings_process, process),
     "quiet, error, warning, notice, info or debug."},
    {"check", NULL, NULL, NULL, NULL, 1, FLAG(process.check),
     "Check arguments and configuration, and end."},
    {"print-config", NULL, NULL, NULL, NULL, 1, FLAG(process.print),
     "Print the resulting configuration without passwords, and end."},
    {"list-keys", NULL, NULL, NULL, NULL, 1, FLAG(process.list),
     "Print all keys with kind, preset, range and meaning, with tabs between, and end."},
    {"private-fd", NULL, "N", NULL, NULL, 1, NUMBER(process.private_fd),
     "Serve only the connection on descriptor N, and end with it."},
    {"worker-fd", NULL, "N", NULL, NULL, 1, NUMBER(process.worker_fd), NULL},
    {"parent", NULL, "PID", NULL, NULL, 1, NUMBER(process.parent), NULL},
    {"version", "V", NULL, NULL, NULL, 1, FLAG(process.version), "Print the version, and end."},
    {"help", "h ?", NULL, NULL, NULL, 1, FLAG(process.help), "Print this help, and end."},
};
enum { OPTION_ROWS = sizeof(option_rows) / sizeof(*option_rows) };

static const struct option_syntax option_syntax = {.rows = option_rows,
                                                   .n_rows = OPTION_ROWS,
                                                   .command = 1,
                                                   .program = "peltond",
                                                   .help = "peltond --help",
                                                   .attached = true};

static int parse_options(int argc, char **argv, struct settings *s, struct option_fault *fault)
{
    struct option_reader r = {.argc = argc, .argv = argv, .at = 1};
    struct option_word w;
    const char *value;
    while (option_next(&option_syntax, &r, &w)) {
        if (!w.name)
            return option_fail(fault, "see: peltond --help", "%.100s: unexpected word", w.word);
        if (!w.row)
            return option_refuse(&option_syntax, w.word, w.length, fault);
        if (option_complete(&option_syntax, &r, &w, &value, fault) < 0 ||
            option_store(w.row, value, s, fault) < 0)
            return -1;
    }
    return 0;
}

static int parse_all(int argc, char **argv, struct settings *s, struct option_fault *fault)
{
    option_fail(fault, "peltond --help lists the settings", "%s", "");
    if (environment_values(s, fault->cause) < 0 || parse_options(argc, argv, s, fault) < 0)
        return -1;
    option_fail(fault, "peltond --list-keys lists the keys of sources", "%s", "");
    for (unsigned i = 0; i < s->text.n_overrides; i++)
        if (config_override(s->text.overrides[i], &s->sources, &s->n_sources, fault->cause) < 0)
            return -1;
    for (unsigned i = 0; i < s->n_sources; i++)
        rights_inherit(&s->sources[i].rights, &s->rights);
    return 0;
}

int settings_parse(int argc, char **argv, struct settings *out, struct option_fault *fault)
{
    struct settings s;
    settings_init(&s);
    s.text.argc = argc;
    s.text.argv = argv;
    if (parse_all(argc, argv, &s, fault) < 0) {
        settings_free(&s);
        return -1;
    }
    *out = s;
    return 0;
}

int settings_reread(const struct settings *s, struct configured_source **sources,
                    unsigned *n_sources, char note[256], char error[256])
{
    struct settings fresh;
    struct option_fault fault;
    if (settings_parse(s->text.argc, s->text.argv, &fresh, &fault) < 0) {
        snprintf(error, 256, "%.255s", fault.cause);
        return -1;
    }
    size_t at = 0;
    for (size_t i = 0; i < settings_key_count(); i++)
        if (settings_key_differs(i, s, &fresh) && at < 160)
            at += (size_t)snprintf(note + at, 256 - at, "%s%s",
                                   at ? ", " : "only after a restart: ", settings_key_name(i));
    *sources = fresh.sources;
    *n_sources = fresh.n_sources;
    fresh.sources = NULL;
    fresh.n_sources = 0;
    settings_free(&fresh);
    return 0;
}

void settings_usage(void)
{
    puts("Usage: peltond [--socket PATH] [--device DEVICE] [-c FILE] [-c KEY=VALUE]...\n"
         "               [--log-level LEVEL] [--check]\n\n"
         "Options (one dash or two, _ or - inside a name):");
    for (unsigned i = 0; i < OPTION_ROWS; i++)
        if (option_rows[i].help)
            help_row(&option_rows[i], true);
    puts("\nKeys of -c, of the file, and of the environment. PELTON_CONFIG_THREADS=4 goes\n"
         "before the file, and -c before both:");
    settings_keys_usage();
}

void settings_print(const struct settings *s, FILE *to)
{
    fputs("version: 1\n", to);
    fprintf(to, "listen: {unix: {mode: %04o", s->listen.mode);
    if (s->listen.path) {
        fputs(", path: ", to);
        config_print_value(s->listen.path, to);
    }
    if (s->listen.group) {
        fputs(", group: ", to);
        config_print_value(s->listen.group, to);
    }
    fputs("}}\n", to);
    settings_keys_print(s, to);
    rights_print(&s->rights, "rights.", "\n", to);
    if (s->n_sources)
        fputs("sources:\n", to);
    for (unsigned i = 0; i < s->n_sources; i++)
        source_print(&s->sources[i], to);
}

void settings_free(struct settings *s)
{
    for (unsigned i = 0; i < s->text.n_owned; i++)
        free(s->text.owned[i]);
    config_sources_free(s->sources, s->n_sources);
    s->sources = NULL;
    s->n_sources = s->text.n_owned = 0;
}
