/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Options of peltond: see options.h.
 */
#include "daemon/settings.h"

#include "daemon/config.h"

#include "daemon/log.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum kind { KIND_TEXT, KIND_NUMBER, KIND_BOOL, KIND_ENTROPY };

/* Values of KIND_ENTROPY, in the order of enum engine_entropy. */
static const char *const entropy_words[] = {"auto", "cpu", "gpu", "both"};

static const struct key {
    const char *name;
    enum kind kind;
    size_t offset;
    uint64_t min, max, preset;
    const char *help;
} keys[] = {
    {"device", KIND_TEXT, offsetof(struct options, device), 0, 0, 0,
     "auto, gpu, cpu, part of a name, or a UUID; all, or several with commas"},
    {"threads", KIND_NUMBER, offsetof(struct options, threads), 0, 1024, 0,
     "codec workers; 0: one per CPU"},
    {"lookahead", KIND_NUMBER, offsetof(struct options, lookahead), 0, 4096, 0,
     "pictures in flight per stream; 0: by memory"},
    {"batch", KIND_NUMBER, offsetof(struct options, batch), 0, 4096, 0,
     "most pictures of a GPU batch; 0: by device"},
    {"wavefront", KIND_NUMBER, offsetof(struct options, wavefront), 0, 255, 0,
     "kind of wavefront; 0: by device"},
    {"gpu_debug", KIND_BOOL, offsetof(struct options, gpu_debug), 0, 1, 0,
     "log the values that shaders write; slow"},
    {"tune", KIND_BOOL, offsetof(struct options, tune), 0, 1, 1,
     "kernels as pelton tune has measured them; false: by kind of device"},
    {"tune_force", KIND_TEXT, offsetof(struct options, tune_force), 0, 0, 0,
     "family=variant: that kernel, whatever was measured"},
    {"live_clocks", KIND_BOOL, offsetof(struct options, live_clocks), 0, 1, 1,
     "live streams keep a GPU's clocks up between pictures"},
    {"arena", KIND_NUMBER, offsetof(struct options, arena), 0, 2, 0,
     "records that the GPU fetches itself; 0: on hardware, 1: never, 2: always"},
    {"entropy", KIND_ENTROPY, offsetof(struct options, entropy), 0, 3, 0,
     "entropy decoding: auto, cpu, gpu (all that it can), both (of files); auto: both, after a "
     "second, on discrete GPUs that have room for it"},
    {"entropy_memory", KIND_NUMBER, offsetof(struct options, entropy_memory), 0, 1u << 20, 0,
     "MiB of the GPU's memory for what it has entropy-decoded; 0: by its memory"},
    {"gpu_motion", KIND_BOOL, offsetof(struct options, gpu_motion), 0, 1, 1,
     "motion of files is derived by the GPU where it entropy-decodes, too"},
    {"shuffle_seed", KIND_NUMBER, offsetof(struct options, shuffle_seed), 0, UINT64_MAX, 0,
     "decode slices in a random order"},
    {"validation", KIND_BOOL, offsetof(struct options, validation), 0, 1, 0,
     "Vulkan validation layer"},
    {"timestamps", KIND_BOOL, offsetof(struct options, timestamps), 0, 1, 0,
     "GPU times of each pass"},
    {"workers", KIND_NUMBER, offsetof(struct options, workers), 1, 1, 1, "worker processes"},
    {"clients", KIND_NUMBER, offsetof(struct options, clients), 1, 10000, 1024, "most connections"},
    {"clients_per_uid", KIND_NUMBER, offsetof(struct options, clients_per_uid), 1, 10000, 128,
     "most connections of one user"},
    {"streams", KIND_NUMBER, offsetof(struct options, streams), 1, 10000, 64, "most open streams"},
    {"hello_ms", KIND_NUMBER, offsetof(struct options, hello_ms), 10, 600000, 5000,
     "time for a client to say hello"},
    {"ping_ms", KIND_NUMBER, offsetof(struct options, ping_ms), 10, 600000, 5000,
     "silence before a ping"},
    {"dead_ms", KIND_NUMBER, offsetof(struct options, dead_ms), 10, 3600000, 15000,
     "silence before a client with streams is cut"},
    {"worker_dead_ms", KIND_NUMBER, offsetof(struct options, worker_dead_ms), 10, 3600000, 60000,
     "the same for a worker"},
    {"restarts", KIND_NUMBER, offsetof(struct options, restarts), 0, 16, 3,
     "worker restarts in restart_window_ms"},
    {"restart_window_ms", KIND_NUMBER, offsetof(struct options, restart_window_ms), 1, 86400000,
     300000, "see restarts"},
    {"allow_paths", KIND_TEXT, offsetof(struct options, allow_paths), 0, 0, 0,
     "folders that clients may name, ':' between them"},
};

static void set_number(const struct key *k, struct options *o, uint64_t value)
{
    char *field = (char *)o + k->offset;
    if (k->kind == KIND_BOOL)
        *(bool *)field = value != 0;
    else
        *(uint64_t *)field = value;
}

static bool parse_number(const struct key *k, const char *text, uint64_t *out)
{
    if (k->kind == KIND_BOOL && (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)) {
        *out = text[0] == 't';
        return true;
    }
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 0);
    if (errno || end == text || *end || text[0] == '-' || value < k->min || value > k->max)
        return false;
    *out = value;
    return true;
}

static bool parse_entropy(const char *text, uint64_t *out)
{
    for (size_t i = 0; i < sizeof(entropy_words) / sizeof(*entropy_words); i++) {
        if (strcmp(text, entropy_words[i]) == 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

static int parse_value(const char *arg, struct options *o, char error[256])
{
    const char *equal = strchr(arg, '=');
    if (!equal) {
        snprintf(error, 256, "-c %.100s: expected key=value", arg);
        return -1;
    }
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        const struct key *k = &keys[i];
        if (strlen(k->name) != (size_t)(equal - arg) ||
            strncmp(k->name, arg, (size_t)(equal - arg)) != 0) {
            continue;
        }
        uint64_t number;
        if (k->kind == KIND_TEXT) {
            *(const char **)((char *)o + k->offset) = equal + 1;
        } else if (k->kind == KIND_ENTROPY ? parse_entropy(equal + 1, &number)
                                           : parse_number(k, equal + 1, &number)) {
            set_number(k, o, number);
        } else if (k->kind == KIND_ENTROPY) {
            snprintf(error, 256, "-c %.100s: expected auto, cpu, gpu or both", arg);
            return -1;
        } else {
            snprintf(error, 256, "-c %.100s: expected a number from %llu to %llu", arg,
                     (unsigned long long)k->min, (unsigned long long)k->max);
            return -1;
        }
        return 0;
    }
    snprintf(error, 256, "-c %.100s: no such key", arg);
    return -1;
}

static void set_presets(struct options *o)
{
    memset(o, 0, sizeof(*o));
    o->private_fd = o->worker_fd = -1;
    o->socket_mode = 0660;
    o->log_level = LOG_LEVEL_WARNING;
    o->log_name = "warning";
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        if (keys[i].kind != KIND_TEXT)
            set_number(&keys[i], o, keys[i].preset);
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
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static int add_value(const char *text, struct options *o, char error[256])
{
    if (o->n_values == OPTIONS_MAX_VALUES + (o->worker_fd >= 0)) {
        snprintf(error, 256, "more than %d -c values", OPTIONS_MAX_VALUES);
        return -1;
    }
    if (parse_value(text, o, error) < 0)
        return -1;
    o->values[o->n_values++] = text;
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

static int listen_value(struct options *o, const char *key, const char *text, char error[256])
{
    if (strcmp(key, "path") == 0) {
        o->socket = o->socket ? o->socket : text; /* the command line's goes first */
    } else if (strcmp(key, "group") == 0) {
        o->socket_group = text;
    } else if (strcmp(key, "mode") == 0) {
        return parse_mode(text, &o->socket_mode, error);
    } else {
        snprintf(error, 256, "listen.unix.%.60s: expected path, mode or group", key);
        return -1;
    }
    return 0;
}

/* PELTON_CONFIG_THREADS for the key threads. NULL: not set. */
static const char *environment(const char *key)
{
    char name[64] = "PELTON_CONFIG_";
    size_t n = strlen(name);
    for (; *key && n + 1 < sizeof(name); key++)
        name[n++] = (char)toupper((unsigned char)*key);
    name[n] = 0;
    return getenv(name);
}

static int keep_text(struct options *o, char *text, char error[256])
{
    if (!text || o->n_texts == OPTIONS_MAX_VALUES) {
        free(text);
        snprintf(error, 256, "more than %d values, or no memory", OPTIONS_MAX_VALUES);
        return -1;
    }
    o->texts[o->n_texts++] = text;
    return 0;
}

/* A value of the configuration file is the same as one of -c, but for what only the file has; the
 * environment's goes before it. */
static int file_value(void *ctx, const char *key, const char *value, char error[256])
{
    static const char listen[] = "listen.unix.";
    struct options *o = ctx;
    bool of_socket = strncmp(key, listen, strlen(listen)) == 0;
    char *text = of_socket ? strdup(value) : NULL;
    if (!of_socket && environment(key))
        return 0;
    if (!of_socket && asprintf(&text, "%s=%s", key, value) < 0)
        text = NULL;
    if (keep_text(o, text, error) < 0)
        return -1;
    return of_socket ? listen_value(o, key + strlen(listen), text, error)
                     : add_value(text, o, error);
}

static int take_environment(struct options *o, char error[256])
{
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        const char *value = environment(keys[i].name);
        char *text = NULL;
        if (!value)
            continue;
        if (asprintf(&text, "%s=%s", keys[i].name, value) < 0)
            text = NULL;
        if (keep_text(o, text, error) < 0 || add_value(text, o, error) < 0)
            return -1;
    }
    return 0;
}

/* -c KEY=VALUE; keys of sources wait until all files have been read. */
static int command_value(const char *text, struct options *o, char error[256])
{
    static const char listen[] = "listen.unix.", sources[] = "sources.";
    const char *equal = strchr(text, '=');
    if (strncmp(text, sources, strlen(sources)) == 0) {
        if (o->n_overrides == OPTIONS_MAX_VALUES) {
            snprintf(error, 256, "more than %d -c values", OPTIONS_MAX_VALUES);
            return -1;
        }
        o->overrides[o->n_overrides++] = text;
        return 0;
    }
    if (strncmp(text, listen, strlen(listen)) == 0) {
        char key[32];
        snprintf(key, sizeof(key), "%.*s", (int)(equal - text - (long)strlen(listen)),
                 text + strlen(listen));
        return listen_value(o, key, equal + 1, error);
    }
    return add_value(text, o, error);
}

static int parse_option(int option, struct options *o, char error[256])
{
    switch (option) {
    case OPT_SOCKET:
        o->socket = optarg;
        return 0;
    case OPT_DEVICE:
        o->device = optarg;
        return 0;
    case OPT_PRIVATE:
        return parse_fd(optarg, &o->private_fd, error);
    case OPT_WORKER:
        return parse_fd(optarg, &o->worker_fd, error);
    case OPT_PARENT:
        return parse_fd(optarg, &o->parent, error);
    case OPT_CHECK:
        o->check = true;
        return 0;
    case OPT_PRINT:
        o->print = true;
        return 0;
    case OPT_VERSION:
        o->version = true;
        return 0;
    case 'h':
        o->help = true;
        return 0;
    case OPT_LOG:
        o->log_name = optarg;
        if (!log_level_parse(optarg, &o->log_level)) {
            snprintf(error, 256,
                     "--log-level %.100s: expected quiet, error, warning, info or debug", optarg);
            return -1;
        }
        return 0;
    case 'c':
        if (!strchr(optarg, '='))
            return config_read(optarg, file_value, o, &o->sources, &o->n_sources, error);
        return command_value(optarg, o, error);
    default:
        snprintf(error, 256, "unknown option, or one without its value; see --help");
        return -1;
    }
}

int options_parse(int argc, char **argv, struct options *out, char error[256])
{
    struct options o;
    set_presets(&o);
    o.argc = argc;
    o.argv = argv;
    opterr = 0;
    optind = 0; /* from the start, also a second time */
    int option;
    if (take_environment(&o, error) < 0) {
        options_free(&o);
        return -1;
    }
    while ((option = getopt_long(argc, argv, "hc:", long_options, NULL)) != -1) {
        if (parse_option(option, &o, error) < 0) {
            options_free(&o);
            return -1;
        }
    }
    for (unsigned i = 0; i < o.n_overrides; i++) {
        if (config_override(o.overrides[i], &o.sources, &o.n_sources, error) < 0) {
            options_free(&o);
            return -1;
        }
    }
    if (optind < argc) {
        snprintf(error, 256, "%.100s: unexpected argument", argv[optind]);
        options_free(&o);
        return -1;
    }
    *out = o;
    return 0;
}

/* Whether a key has another value. */
static bool differs(const struct key *k, const struct options *a, const struct options *b)
{
    const void *at = (const char *)a + k->offset, *bt = (const char *)b + k->offset;
    if (k->kind == KIND_TEXT) {
        const char *x = *(const char *const *)at, *y = *(const char *const *)bt;
        return strcmp(x ? x : "", y ? y : "") != 0;
    }
    return memcmp(at, bt, k->kind == KIND_BOOL ? sizeof(bool) : sizeof(uint64_t)) != 0;
}

int options_reread(const struct options *o, struct option_source **sources, unsigned *n_sources,
                   char note[256], char error[256])
{
    struct options fresh;
    if (options_parse(o->argc, o->argv, &fresh, error) < 0)
        return -1;
    size_t at = 0;
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        if (differs(&keys[i], o, &fresh) && at < 160) {
            at += (size_t)snprintf(note + at, 256 - at, "%s%s",
                                   at ? ", " : "only after a restart: ", keys[i].name);
        }
    }
    *sources = fresh.sources;
    *n_sources = fresh.n_sources;
    fresh.sources = NULL;
    fresh.n_sources = 0;
    options_free(&fresh);
    return 0;
}

void options_sources_free(struct option_source *sources, unsigned n)
{
    config_sources_free(sources, n);
}

void options_usage(FILE *to)
{
    fputs(
        "usage: peltond [--socket PATH] [--device DEVICE] [-c FILE] [-c KEY=VALUE]... [--log-level "
        "LEVEL] [--check]\n\n"
        "  --socket PATH      listen there (default $PELTON_SOCKET, then /run/pelton/pelton.sock)\n"
        "  --private-fd N     serve the one connection on descriptor N and end with it\n"
        "  -c FILE            configuration file (YAML): the keys below, listen: {unix: {path, "
        "mode, group}}, and sources\n"
        "  -c sources.NAME.KEY=VALUE  a setting of a camera of the file, or the uri of a new "
        "source\n"
        "  --check            check arguments and configuration, and end\n"
        "  --print-config     print the configuration that results, and end\n"
        "  --log-level LEVEL  quiet, error, warning, info, debug\n\n"
        "keys of -c, of the file, and of the environment (PELTON_CONFIG_THREADS=4 goes before the "
        "file, -c before both):\n",
        to);
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        fprintf(to, "  %-18s %s", keys[i].name, keys[i].help);
        if (keys[i].kind == KIND_NUMBER)
            fprintf(to, " (%llu)", (unsigned long long)keys[i].preset);
        fputc('\n', to);
    }
}

static void print_blur(const struct option_source *s, FILE *to)
{
    for (uint32_t i = 0; i < s->n_blur; i++)
        fprintf(to, "%s[%u, %u, %u, %u]", i ? ", " : ", blur: [", s->blur[i].x, s->blur[i].y,
                s->blur[i].width, s->blur[i].height);
    fputs(s->n_blur ? "]" : "", to);
}

void options_print(const struct options *o, FILE *to)
{
    fputs("version: 1\n", to);
    fprintf(to, "listen: {unix: {mode: %04o", o->socket_mode);
    if (o->socket)
        fprintf(to, ", path: \"%s\"", o->socket);
    if (o->socket_group)
        fprintf(to, ", group: \"%s\"", o->socket_group);
    fputs("}}\n", to);
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        const char *field = (const char *)o + keys[i].offset;
        const char *text = keys[i].kind == KIND_TEXT ? *(const char *const *)field : NULL;
        if (keys[i].kind == KIND_BOOL)
            fprintf(to, "%s: %s\n", keys[i].name, *(const bool *)field ? "true" : "false");
        else if (keys[i].kind == KIND_ENTROPY)
            fprintf(to, "%s: %s\n", keys[i].name, entropy_words[*(const uint64_t *)field]);
        else if (keys[i].kind == KIND_NUMBER)
            fprintf(to, "%s: %llu\n", keys[i].name, (unsigned long long)*(const uint64_t *)field);
        else if (text)
            fprintf(to, "%s: \"%s\"\n", keys[i].name, text);
    }
    if (o->n_sources)
        fputs("sources:\n", to);
    for (unsigned i = 0; i < o->n_sources; i++) {
        char uri[4096];
        config_redact(o->sources[i].uri, uri, sizeof(uri));
        fprintf(to, "  %s: {uri: \"%s\"", o->sources[i].name, uri);
        print_blur(&o->sources[i], to);
        fputs("}\n", to);
    }
}

void options_free(struct options *o)
{
    for (unsigned i = 0; i < o->n_texts; i++)
        free(o->texts[i]);
    config_sources_free(o->sources, o->n_sources);
    o->sources = NULL;
    o->n_sources = o->n_texts = 0;
}
