/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The settings of peltond: see settings.h. The command line goes before the environment, and the
 * environment before the configuration file.
 */
#include "daemon/settings.h"

#include "daemon/config.h"
#include "daemon/config_source.h"
#include "daemon/log.h"
#include "daemon/settings_environment.h"
#include "daemon/settings_keys.h"
#include "proto/near_name.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

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

static int parse_fd(const char *text, int *out, char error[256])
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < 0 || value > 1 << 22) {
        snprintf(error, 256, "%.100s: expected a number", text);
        return -1;
    }
    *out = (int)value;
    return 0;
}

enum {
    OPT_SOCKET = 256,
    OPT_DEVICE,
    OPT_PRIVATE,
    OPT_WORKER,
    OPT_PARENT,
    OPT_CHECK,
    OPT_PRINT,
    OPT_LIST,
    OPT_LOG,
    OPT_VERSION
};

static const struct option long_options[] = {
    {"socket", required_argument, NULL, OPT_SOCKET},
    {"device", required_argument, NULL, OPT_DEVICE},
    {"private-fd", required_argument, NULL, OPT_PRIVATE},
    {"worker-fd", required_argument, NULL, OPT_WORKER},
    {"parent", required_argument, NULL, OPT_PARENT},
    {"check", no_argument, NULL, OPT_CHECK},
    {"log-level", required_argument, NULL, OPT_LOG},
    {"loglevel", required_argument, NULL, OPT_LOG},
    {"version", no_argument, NULL, OPT_VERSION},
    {"print-config", no_argument, NULL, OPT_PRINT},
    {"list-keys", no_argument, NULL, OPT_LIST},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

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

static int parse_option(int option, struct settings *s, char error[256])
{
    switch (option) {
    case OPT_SOCKET:
        s->listen.path = optarg;
        return 0;
    case OPT_DEVICE:
        s->engine.device = optarg;
        return 0;
    case OPT_PRIVATE:
        return parse_fd(optarg, &s->process.private_fd, error);
    case OPT_WORKER:
        return parse_fd(optarg, &s->process.worker_fd, error);
    case OPT_PARENT:
        return parse_fd(optarg, &s->process.parent, error);
    case OPT_CHECK:
        s->process.check = true;
        return 0;
    case OPT_PRINT:
        s->process.print = true;
        return 0;
    case OPT_LIST:
        s->process.list = true;
        return 0;
    case OPT_VERSION:
        s->process.version = true;
        return 0;
    case 'h':
        s->process.help = true;
        return 0;
    case OPT_LOG:
        s->process.log_name = optarg;
        if (!log_level_parse(optarg, &s->process.log_level)) {
            snprintf(error, 256,
                     "--log-level %.100s: expected quiet, error, warning, notice, info or debug",
                     optarg);
            return -1;
        }
        return 0;
    case 'c':
        if (!strchr(optarg, '='))
            return config_read(optarg, file_value, s, &s->sources, &s->n_sources, error);
        return command_value(optarg, s, error);
    default:
        return -1;
    }
}

/* What getopt_long did not accept: ':' without its value, '?' for the rest. */
static int option_refuse(int option, char **argv, char error[256])
{
    char word[64], name[32], also[96];
    const char *text = argv[optind - 1];
    snprintf(word, sizeof(word), "%.*s", (int)strcspn(text, "="), text);
    if (option == ':') {
        snprintf(error, 256, "%s: needs a value; see --help", word);
    } else if (optopt >= OPT_SOCKET) {
        snprintf(error, 256, "%s: takes no value; see --help", word);
    } else if (optopt) {
        snprintf(error, 256, "-%c: no such option; see --help", optopt);
    } else {
        struct near_name near = near_name_of(word, strlen(word));
        for (unsigned i = 0; long_options[i].name; i++) {
            snprintf(name, sizeof(name), "--%s", long_options[i].name);
            near_name_try_name(&near, name);
        }
        snprintf(error, 256, "%s: no such option%s; see --help", word,
                 near_name_also(&near, also, sizeof(also)));
    }
    return -1;
}

static int parse_all(int argc, char **argv, struct settings *s, char error[256])
{
    int option;
    opterr = 0;
    optind = 0; /* from the start, also a second time */
    if (environment_values(s, error) < 0)
        return -1;
    while ((option = getopt_long(argc, argv, ":hc:", long_options, NULL)) != -1)
        if (option == '?' || option == ':' ? option_refuse(option, argv, error) < 0
                                           : parse_option(option, s, error) < 0)
            return -1;
    for (unsigned i = 0; i < s->text.n_overrides; i++)
        if (config_override(s->text.overrides[i], &s->sources, &s->n_sources, error) < 0)
            return -1;
    for (unsigned i = 0; i < s->n_sources; i++)
        rights_inherit(&s->sources[i].rights, &s->rights);
    if (optind < argc) {
        snprintf(error, 256, "%.100s: unexpected argument", argv[optind]);
        return -1;
    }
    return 0;
}

int settings_parse(int argc, char **argv, struct settings *out, char error[256])
{
    struct settings s;
    settings_init(&s);
    s.text.argc = argc;
    s.text.argv = argv;
    if (parse_all(argc, argv, &s, error) < 0) {
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
    if (settings_parse(s->text.argc, s->text.argv, &fresh, error) < 0)
        return -1;
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

void settings_usage(FILE *to)
{
    fputs(
        "usage: peltond [--socket PATH] [--device DEVICE] [-c FILE] [-c KEY=VALUE]... [--log-level "
        "LEVEL] [--check]\n\n"
        "  --socket PATH      listen there; without it at $PELTON_SOCKET, else at\n                "
        "     "
        "/run/pelton/pelton.sock where that may be written, else at\n                     "
        "$XDG_RUNTIME_DIR/pelton.sock\n"
        "  --private-fd N     serve only the connection on descriptor N, and end with it\n"
        "  -c FILE            configuration file (YAML): the keys below, sources, and\n            "
        "         listen: {unix: {path, mode, group}}\n"
        "  -c sources.NAME.KEY=VALUE\n                     a key of a source of the file, or the "
        "uri "
        "of a new source\n"
        "  --check            check arguments and configuration, and end\n"
        "  --print-config     print the resulting configuration, and end\n"
        "  --list-keys        print all keys with kind, preset, range and meaning (columns with "
        "tabs), and end\n"
        "  --log-level LEVEL  quiet, error, warning, notice, info, debug\n\n"
        "Keys of -c, of the file, and of the environment. PELTON_CONFIG_THREADS=4 overrides the "
        "file;\n-c overrides both:\n",
        to);
    settings_keys_usage(to);
}

void settings_print(const struct settings *s, FILE *to)
{
    fputs("version: 1\n", to);
    fprintf(to, "listen: {unix: {mode: %04o", s->listen.mode);
    if (s->listen.path)
        fprintf(to, ", path: \"%s\"", s->listen.path);
    if (s->listen.group)
        fprintf(to, ", group: \"%s\"", s->listen.group);
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
