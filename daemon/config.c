/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The configuration file: see config.h. libyaml's events are turned into dotted keys with values; a
 * list is a value with commas, the rectangles of `blur` with semicolons between; everything else
 * about YAML (anchors, tags) is refused by place.
 */
#include "daemon/config.h"

#include "camera/camera_params.h"
#include "proto/blur.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <strings.h>
#include <yaml.h>

enum { DEPTH = 8, KEY = 160, MAX_SOURCES = 256, MAX_SETTINGS = 64 };

struct setting {
    char key[KEY], value[512];
    yaml_mark_t at;
};

struct reader {
    const char *path;
    config_value_fn value;
    void *ctx;
    char *why;
    struct option_source *sources;
    unsigned n_sources;
    char key[KEY];        /* dotted, of the mapping or scalar to come */
    size_t length[DEPTH]; /* of key, outside each open mapping */
    unsigned depth;
    bool wants_key;
    unsigned lists; /* open ones; their scalars are collected, commas between */
    char list[512];
    /* of the source that is being read; the first is its uri, where it has one */
    struct setting *settings;
    unsigned n_settings;
    bool version;
};

static int refuse(const struct reader *r, const yaml_mark_t *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int refuse(const struct reader *r, const yaml_mark_t *at, const char *format, ...)
{
    va_list args;
    int n = snprintf(r->why, CONFIG_WHY, "%.80s:%zu:%zu: ", r->path, at->line + 1, at->column + 1);
    va_start(args, format);
    vsnprintf(r->why + n, CONFIG_WHY - (size_t)n, format, args);
    va_end(args);
    return -1;
}

/* Values of these keys behind '?' are secrets. */
static bool is_secret(const char *key, size_t n)
{
    static const char *const keys[] = {"password", "passphrase", "passwd", "pass",
                                       "token",    "secret",     "key"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        if (strlen(keys[i]) == n && strncasecmp(key, keys[i], n) == 0)
            return true;
    return false;
}

static void put(char *out, size_t size, size_t *at, const char *text, size_t n)
{
    for (size_t i = 0; i < n && *at + 1 < size; i++)
        out[(*at)++] = text[i];
    out[*at] = 0;
}

void config_redact(const char *uri, char *out, size_t size)
{
    const char *host = strstr(uri, "://"), *from = uri;
    size_t at = 0;
    out[0] = 0;
    if (host) {
        const char *end = host + 3 + strcspn(host + 3, "/?#"), *last = NULL;
        for (const char *p = host + 3; p < end; p++)
            last = *p == '@' ? p : last;
        const char *colon = last ? memchr(host + 3, ':', (size_t)(last - host - 3)) : NULL;
        if (colon) {
            put(out, size, &at, uri, (size_t)(colon - uri));
            put(out, size, &at, ":***", 4);
            from = last;
        }
    }
    for (const char *key = strchr(from, '?'); key && !camera_address(uri);) {
        size_t n = strcspn(++key, "=&");
        const char *end = key + n + strcspn(key + n, "&");
        if (key[n] == '=' && is_secret(key, n)) {
            put(out, size, &at, from, (size_t)(key + n + 1 - from));
            put(out, size, &at, "***", 3);
            from = end;
        }
        key = *end ? end : NULL;
    }
    put(out, size, &at, from, strlen(from));
}

void config_sources_free(struct option_source *sources, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        free(sources[i].uri);
    free(sources);
}

/* ---- sources ---- */

static const struct setting *uri_of(const struct reader *r)
{
    for (unsigned i = 0; i < r->n_settings; i++)
        if (!strcmp(r->settings[i].key, "uri"))
            return &r->settings[i];
    return NULL;
}

/* Who we are to a network source: part of its address from here on, like any user and password in
 * an address. */
struct login {
    const struct setting *user, *password, *file;
};

/* RFC 3986, 3.2.1; false where it does not fit. */
static bool append_escaped(char *out, size_t size, const char *text)
{
    size_t n = strlen(out);
    for (; *text; text++) {
        bool plain = isalnum((unsigned char)*text) || strchr("-._~", *text);
        int put_now = snprintf(out + n, size - n, plain ? "%c" : "%%%02X", (unsigned char)*text);
        if (put_now < 0 || (size_t)put_now >= size - n)
            return false;
        n += (size_t)put_now;
    }
    return true;
}

/* A name without a folder is one of systemd's credentials, where it has any; else beside the
 * configuration file. */
static FILE *open_secret(const struct reader *r, const char *name)
{
    char path[1024];
    const char *credentials = getenv("CREDENTIALS_DIRECTORY"), *slash = strrchr(r->path, '/');
    if (name[0] == '/')
        return fopen(name, "re");
    if (credentials && !strchr(name, '/') &&
        snprintf(path, sizeof(path), "%s/%s", credentials, name) < (int)sizeof(path)) {
        FILE *file = fopen(path, "re");
        if (file)
            return file;
    }
    snprintf(path, sizeof(path), "%.*s%s", slash ? (int)(slash + 1 - r->path) : 0, r->path, name);
    return fopen(path, "re");
}

/* The first line. */
static int read_secret(const struct reader *r, const struct setting *s, char out[512])
{
    FILE *file = open_secret(r, s->value);
    if (!file)
        return refuse(r, &s->at, "password_file %.100s: %m", s->value);
    bool good = fgets(out, 512, file) != NULL;
    fclose(file);
    out[good ? strcspn(out, "\r\n") : 0] = 0;
    return out[0] ? 0
                  : refuse(r, &s->at, "password_file %.100s: its first line is empty", s->value);
}

static int add_login(const struct reader *r, const struct login *l, char address[CAMERA_ADDRESS])
{
    char secret[512] = "", text[CAMERA_ADDRESS] = "";
    const struct setting *any = l->password ? l->password : l->file ? l->file : l->user;
    const char *host = strstr(address, "://");
    if (!host)
        return refuse(r, &any->at, "%s: only addresses with a host have one", any->key);
    host += 3;
    const char *rest = host + strcspn(host, "/?#");
    if (memchr(host, '@', (size_t)(rest - host)))
        return refuse(r, &any->at, "%s: the uri names a user already", any->key);
    if (!l->user || !l->user->value[0] || strchr(l->user->value, ':'))
        return refuse(r, &any->at, "%s: needs a user, without ':'", any->key);
    if (l->password && l->file)
        return refuse(r, &any->at, "password and password_file: one of them");
    if (l->file && read_secret(r, l->file, secret) < 0)
        return -1;
    snprintf(text, sizeof(text), "%.*s", (int)(host - address), address);
    bool fits = append_escaped(text, sizeof(text) - 2, l->user->value);
    if (l->password || l->file) {
        strcat(text, ":");
        fits &= append_escaped(text, sizeof(text) - 2, l->password ? l->password->value : secret);
    }
    size_t n = strlen(text);
    if (!fits || n + 2 + strlen(host) > sizeof(text))
        return refuse(r, &any->at, "%s: the address becomes too long", any->key);
    snprintf(text + n, sizeof(text) - n, "@%s", host);
    memcpy(address, text, sizeof(text));
    return 0;
}

static bool take_login(const struct setting *s, struct login *l)
{
    const struct setting **at = !strcmp(s->key, "user")            ? &l->user
                                : !strcmp(s->key, "password")      ? &l->password
                                : !strcmp(s->key, "password_file") ? &l->file
                                                                   : NULL;
    if (at)
        *at = s;
    return at != NULL;
}

static int add_camera_setting(const struct reader *r, const char *uri, const struct setting *s,
                              char address[CAMERA_ADDRESS])
{
    struct camera_params params;
    char why[CAMERA_WHY];
    if (!camera_params_known(s->key))
        return refuse(r, &s->at, "%s: no setting of a camera", s->key);
    if (camera_params_parse(uri, &params, why) == 0 &&
        camera_params_set(&params, s->key, s->value, why) < 0)
        return refuse(r, &s->at, "%s", why);
    return camera_address_append(address, s->key, s->value)
               ? 0
               : refuse(r, &s->at, "%s: the settings are too long", s->key);
}

/* The settings become part of the address. */
static int make_address(const struct reader *r, char address[CAMERA_ADDRESS])
{
    const struct setting *uri = uri_of(r);
    bool camera = camera_address(uri->value);
    struct camera_params params;
    struct login login = {0};
    char why[CAMERA_WHY];
    snprintf(address, CAMERA_ADDRESS, "%s", uri->value);
    for (unsigned i = 0; i < r->n_settings; i++) {
        const struct setting *s = &r->settings[i];
        if (s == uri || !strcmp(s->key, "blur") || (!camera && take_login(s, &login)))
            continue;
        if (!camera)
            return refuse(r, &s->at, "%s: no setting of this kind of source", s->key);
        if (add_camera_setting(r, uri->value, s, address) < 0)
            return -1;
    }
    if (login.user || login.password || login.file)
        return add_login(r, &login, address);
    if (camera && camera_params_parse(address, &params, why) < 0)
        return refuse(r, &uri->at, "%s", why);
    return 0;
}

static int take_blur(const struct reader *r, struct option_source *out)
{
    char why[BLUR_WHY];
    for (unsigned i = 0; i < r->n_settings; i++) {
        const struct setting *s = &r->settings[i];
        if (!strcmp(s->key, "blur") && blur_parse(s->value, out->blur, &out->n_blur, why) < 0)
            return refuse(r, &s->at, "blur: %s", why);
    }
    return 0;
}

/* *made gets name and address. False: no memory. */
static bool add_source(struct option_source **sources, unsigned *n, struct option_source *made,
                       const char *name, const char *address)
{
    struct option_source *grown = realloc(*sources, (*n + 1) * sizeof(*grown));
    char *uri = grown ? strdup(address) : NULL;
    *sources = grown ? grown : *sources;
    if (!uri)
        return false;
    snprintf(made->name, sizeof(made->name), "%s", name);
    made->uri = uri;
    grown[(*n)++] = *made;
    return true;
}

static int finish_source(struct reader *r, const char *name, const yaml_mark_t *at)
{
    char address[CAMERA_ADDRESS];
    if (!uri_of(r))
        return refuse(r, at, "source %s has no uri", name);
    if (strlen(name) >= sizeof(r->sources->name) || r->n_sources == MAX_SOURCES)
        return refuse(r, at, "source %.64s: the name is too long, or there are more than %d", name,
                      MAX_SOURCES);
    for (unsigned i = 0; i < r->n_sources; i++)
        if (!strcmp(r->sources[i].name, name))
            return refuse(r, at, "source %s: named twice", name);
    struct option_source made = {.n_blur = 0};
    if (make_address(r, address) < 0 || take_blur(r, &made) < 0)
        return -1;
    if (!add_source(&r->sources, &r->n_sources, &made, name, address))
        return refuse(r, at, "out of memory");
    r->n_settings = 0;
    return 0;
}

static int source_setting(struct reader *r, const char *value, const yaml_mark_t *at)
{
    const char *name = r->key + strlen("sources."), *dot = strchr(name, '.');
    if (!dot)
        return refuse(r, at, "%.100s: expected {uri: ...}", r->key);
    if (r->n_settings == MAX_SETTINGS || strlen(value) >= sizeof(r->settings->value))
        return refuse(r, at, "%.100s: too many settings, or too long", r->key);
    struct setting *s = &r->settings[r->n_settings++];
    snprintf(s->key, sizeof(s->key), "%s", dot + 1);
    snprintf(s->value, sizeof(s->value), "%s", value);
    s->at = *at;
    return 0;
}

/* ---- events ---- */

static int take_scalar(struct reader *r, const char *value, const yaml_mark_t *at)
{
    char why[CONFIG_WHY] = "";
    if (!strcmp(r->key, "version")) {
        r->version = !strcmp(value, "1");
        return r->version ? 0 : refuse(r, at, "version %.20s: this program reads version 1", value);
    }
    if (!strncmp(r->key, "sources.", 8))
        return source_setting(r, value, at);
    return r->value(r->ctx, r->key, value, why) < 0 ? refuse(r, at, "%s", why) : 0;
}

static int open_mapping(struct reader *r, const yaml_mark_t *at)
{
    if (r->depth == DEPTH)
        return refuse(r, at, "nested too deeply");
    r->depth++;
    r->wants_key = true;
    return 0;
}

static void shorten_key(struct reader *r)
{
    r->key[r->depth ? r->length[r->depth - 1] : 0] = 0;
}

static int close_mapping(struct reader *r, const yaml_mark_t *at)
{
    if (r->depth == 3 && !strncmp(r->key, "sources.", 8) &&
        finish_source(r, r->key + strlen("sources."), at) < 0)
        return -1;
    r->depth--;
    shorten_key(r);
    r->wants_key = true;
    return 0;
}

static int take_key(struct reader *r, const char *text, const yaml_mark_t *at)
{
    size_t n = strlen(r->key), more = strlen(text);
    if (n + more + 2 > sizeof(r->key) || more == 0)
        return refuse(r, at, "a key is empty or too long");
    r->length[r->depth - 1] = n;
    snprintf(r->key + n, sizeof(r->key) - n, "%s%s", n ? "." : "", text);
    r->wants_key = false;
    return 0;
}

/* A value is there: of a key, or of a list. */
static int take_value(struct reader *r, const char *text, const yaml_mark_t *at)
{
    if (take_scalar(r, text, at) < 0)
        return -1;
    shorten_key(r);
    r->wants_key = true;
    return 0;
}

/* The list of a source's rectangles, whose lists stay apart. */
static bool in_blur(const struct reader *r)
{
    const char *last = strrchr(r->key, '.');
    return !strncmp(r->key, "sources.", 8) && last && !strcmp(last, ".blur");
}

static int take_item(struct reader *r, const char *text, const yaml_mark_t *at)
{
    size_t n = strlen(r->list);
    if (n + strlen(text) + 2 > sizeof(r->list))
        return refuse(r, at, "%.100s: the list is too long", r->key);
    if (in_blur(r) && r->lists != 2)
        return refuse(r, at, "%.100s: expected [[x, y, width, height], ...]", r->key);
    snprintf(r->list + n, sizeof(r->list) - n, "%s%s",
             n && r->list[n - 1] != ';' && text[0] != ';' ? "," : "", text);
    return 0;
}

static int open_list(struct reader *r, const yaml_mark_t *at)
{
    if (r->depth == 0 || r->wants_key || r->lists == 2)
        return refuse(r, at, "%.100s: no list is expected here", r->key);
    if (r->lists++ == 0)
        r->list[0] = 0;
    else if (in_blur(r) && r->list[0])
        return take_item(r, ";", at);
    return 0;
}

static int close_list(struct reader *r, const yaml_mark_t *at)
{
    size_t n = strlen(r->list);
    if (--r->lists == 0)
        return take_value(r, r->list, at);
    if (in_blur(r) && (!n || r->list[n - 1] == ';'))
        return refuse(r, at, "%.100s: a rectangle without numbers", r->key);
    return 0;
}

static int take_event(struct reader *r, const yaml_event_t *e)
{
    const char *text = e->type == YAML_SCALAR_EVENT ? (const char *)e->data.scalar.value : "";
    switch (e->type) {
    case YAML_MAPPING_START_EVENT:
        return r->wants_key || r->lists
                   ? refuse(r, &e->start_mark, "a mapping where a key or a number is expected")
                   : open_mapping(r, &e->start_mark);
    case YAML_MAPPING_END_EVENT:
        return close_mapping(r, &e->start_mark);
    case YAML_SCALAR_EVENT:
        /* an empty file */
        if (r->depth == 0)
            return text[0] ? refuse(r, &e->start_mark, "expected keys with values") : 0;
        if (strlen(text) != e->data.scalar.length)
            return refuse(r, &e->start_mark, "a zero byte");
        if (r->wants_key)
            return take_key(r, text, &e->start_mark);
        return r->lists ? take_item(r, text, &e->start_mark) : take_value(r, text, &e->start_mark);
    case YAML_SEQUENCE_START_EVENT:
        return open_list(r, &e->start_mark);
    case YAML_SEQUENCE_END_EVENT:
        return close_list(r, &e->start_mark);
    case YAML_ALIAS_EVENT:
        return refuse(r, &e->start_mark, "%.100s: no alias is expected", r->key);
    default:
        return 0;
    }
}

static int read_events(struct reader *r, yaml_parser_t *parser)
{
    for (;;) {
        yaml_event_t e;
        if (!yaml_parser_parse(parser, &e))
            return refuse(r, &parser->problem_mark, "%s",
                          parser->problem ? parser->problem : "not YAML");
        int rc = take_event(r, &e);
        bool end = e.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&e);
        if (rc < 0 || end)
            return rc;
    }
}

int config_read(const char *path, config_value_fn value, void *ctx, struct option_source **sources,
                unsigned *n_sources, char why[CONFIG_WHY])
{
    struct reader r = {.path = path,
                       .value = value,
                       .ctx = ctx,
                       .why = why,
                       .sources = *sources,
                       .n_sources = *n_sources};
    yaml_parser_t parser;
    struct stat st;
    FILE *file = fopen(path, "re");
    if (file && fstat(fileno(file), &st) == 0 && S_ISDIR(st.st_mode)) {
        fclose(file);
        file = NULL;
        errno = EISDIR;
    }
    if (!file) {
        snprintf(why, CONFIG_WHY, "%.150s: %m", path);
        return -1;
    }
    r.settings = calloc(MAX_SETTINGS, sizeof(*r.settings));
    if (!r.settings || !yaml_parser_initialize(&parser)) {
        snprintf(why, CONFIG_WHY, "out of memory");
        free(r.settings);
        fclose(file);
        return -1;
    }
    yaml_parser_set_input_file(&parser, file);
    int rc = read_events(&r, &parser);
    yaml_parser_delete(&parser);
    fclose(file);
    free(r.settings);
    *sources = r.sources;
    *n_sources = r.n_sources;
    return rc;
}

/* ---- the command line ---- */

static int override_setting(struct option_source *source, const char *key, const char *value,
                            char why[CONFIG_WHY])
{
    char address[CAMERA_ADDRESS], *uri;
    struct camera_params params;
    snprintf(address, sizeof(address), "%s", source->uri);
    if (!camera_address(address)) {
        snprintf(why, CONFIG_WHY, "only settings of cameras");
        return -1;
    }
    if (camera_params_parse(address, &params, why) < 0 ||
        camera_params_set(&params, key, value, why) < 0)
        return -1;
    if (!camera_address_append(address, key, value) || !(uri = strdup(address))) {
        snprintf(why, CONFIG_WHY, "the settings are too long");
        return -1;
    }
    if (camera_params_parse(uri, &params, why) < 0) {
        free(uri);
        return -1;
    }
    free(source->uri);
    source->uri = uri;
    return 0;
}

static int new_source(const char *name, const char *key, const char *value,
                      struct option_source **sources, unsigned *n_sources, char why[CONFIG_WHY])
{
    struct option_source made = {.n_blur = 0};
    struct camera_params params;
    if (strcmp(key, "uri") != 0 || !value[0] || *n_sources == MAX_SOURCES) {
        snprintf(why, CONFIG_WHY, "no source of this name, and no uri for a new one");
        return -1;
    }
    if (camera_address(value) && camera_params_parse(value, &params, why) < 0)
        return -1;
    if (!add_source(sources, n_sources, &made, name, value)) {
        snprintf(why, CONFIG_WHY, "out of memory");
        return -1;
    }
    return 0;
}

int config_override(const char *text, struct option_source **sources, unsigned *n_sources,
                    char why[CONFIG_WHY])
{
    char name[64], key[KEY], cause[CONFIG_WHY] = "";
    const char *from = text + strlen("sources."), *dot = strchr(from, '.'),
               *equal = strchr(from, '=');
    if (!dot || !equal || dot > equal || dot == from || (size_t)(dot - from) >= sizeof(name) ||
        (size_t)(equal - dot - 1) >= sizeof(key)) {
        snprintf(why, CONFIG_WHY, "-c %.100s: expected sources.NAME.KEY=VALUE", text);
        return -1;
    }
    snprintf(name, sizeof(name), "%.*s", (int)(dot - from), from);
    snprintf(key, sizeof(key), "%.*s", (int)(equal - dot - 1), dot + 1);
    unsigned i = 0;
    while (i < *n_sources && strcmp((*sources)[i].name, name) != 0)
        i++;
    int rc = i < *n_sources ? override_setting(&(*sources)[i], key, equal + 1, cause)
                            : new_source(name, key, equal + 1, sources, n_sources, cause);
    if (rc < 0)
        snprintf(why, CONFIG_WHY, "-c sources.%s: %.150s", name, cause);
    return rc;
}
