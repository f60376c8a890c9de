/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources of the configuration: see config_source.h. The settings of a camera become part of its
 * address, and so do the user and the password of a network source.
 */
#include "daemon/config_reader.h"

#include "camera/camera_params.h"
#include "proto/blur.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { CONFIG_MAX_SOURCES = 256 };

int config_refuse(const struct config_reader *r, const yaml_mark_t *at, const char *format, ...)
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

static void text_append(char *out, size_t size, size_t *at, const char *text, size_t n)
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
            text_append(out, size, &at, uri, (size_t)(colon - uri));
            text_append(out, size, &at, ":***", 4);
            from = last;
        }
    }
    for (const char *key = strchr(from, '?'); key && !camera_address(uri);) {
        size_t n = strcspn(++key, "=&");
        const char *end = key + n + strcspn(key + n, "&");
        if (key[n] == '=' && is_secret(key, n)) {
            text_append(out, size, &at, from, (size_t)(key + n + 1 - from));
            text_append(out, size, &at, "***", 3);
            from = end;
        }
        key = *end ? end : NULL;
    }
    text_append(out, size, &at, from, strlen(from));
}

void config_sources_free(struct configured_source *sources, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        free(sources[i].uri);
    free(sources);
}

/* ---- sources ---- */

static const struct config_setting *uri_of(const struct config_reader *r)
{
    for (unsigned i = 0; i < r->n_settings; i++)
        if (!strcmp(r->settings[i].key, "uri"))
            return &r->settings[i];
    return NULL;
}

/* User and password for a network source. They become part of its address. */
struct config_login {
    const struct config_setting *user, *password, *file;
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

/* A name without a folder is one of systemd's credentials, if there is such a one. Otherwise it is
 * a file beside the configuration file. */
static FILE *open_secret(const struct config_reader *r, const char *name)
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
static int read_secret(const struct config_reader *r, const struct config_setting *s, char out[512])
{
    FILE *file = open_secret(r, s->value);
    if (!file)
        return config_refuse(r, &s->at, "password_file %.100s: %m", s->value);
    bool good = fgets(out, 512, file) != NULL;
    fclose(file);
    out[good ? strcspn(out, "\r\n") : 0] = 0;
    return out[0] ? 0
                  : config_refuse(r, &s->at, "password_file %.100s: its first line is empty",
                                  s->value);
}

static int add_login(const struct config_reader *r, const struct config_login *l,
                     char address[CAMERA_ADDRESS])
{
    char secret[512] = "", text[CAMERA_ADDRESS] = "";
    const struct config_setting *any = l->password ? l->password : l->file ? l->file : l->user;
    const char *host = strstr(address, "://");
    if (!host)
        return config_refuse(r, &any->at, "%s: only addresses with a host have one", any->key);
    host += 3;
    const char *rest = host + strcspn(host, "/?#");
    if (memchr(host, '@', (size_t)(rest - host)))
        return config_refuse(r, &any->at, "%s: the uri names a user already", any->key);
    if (!l->user || !l->user->value[0] || strchr(l->user->value, ':'))
        return config_refuse(r, &any->at, "%s: needs a user, without ':'", any->key);
    if (l->password && l->file)
        return config_refuse(r, &any->at, "password and password_file: one of them");
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
        return config_refuse(r, &any->at, "%s: the address becomes too long", any->key);
    snprintf(text + n, sizeof(text) - n, "@%s", host);
    memcpy(address, text, sizeof(text));
    return 0;
}

static bool login_setting(const struct config_setting *s, struct config_login *l)
{
    const struct config_setting **at = !strcmp(s->key, "user")            ? &l->user
                                       : !strcmp(s->key, "password")      ? &l->password
                                       : !strcmp(s->key, "password_file") ? &l->file
                                                                          : NULL;
    if (at)
        *at = s;
    return at != NULL;
}

static int add_camera_setting(const struct config_reader *r, const char *uri,
                              const struct config_setting *s, char address[CAMERA_ADDRESS])
{
    struct camera_params params;
    char why[CAMERA_WHY];
    if (!camera_params_known(s->key))
        return config_refuse(r, &s->at, "%s: no setting of a camera", s->key);
    if (camera_params_parse(uri, &params, why) == 0 &&
        camera_params_set(&params, s->key, s->value, why) < 0)
        return config_refuse(r, &s->at, "%s", why);
    return camera_address_append(address, s->key, s->value)
               ? 0
               : config_refuse(r, &s->at, "%s: the settings are too long", s->key);
}

static int make_address(const struct config_reader *r, char address[CAMERA_ADDRESS])
{
    const struct config_setting *uri = uri_of(r);
    bool camera = camera_address(uri->value);
    struct camera_params params;
    struct config_login login = {0};
    char why[CAMERA_WHY];
    snprintf(address, CAMERA_ADDRESS, "%s", uri->value);
    for (unsigned i = 0; i < r->n_settings; i++) {
        const struct config_setting *s = &r->settings[i];
        if (s == uri || !strcmp(s->key, "blur") || (!camera && login_setting(s, &login)))
            continue;
        if (!camera)
            return config_refuse(r, &s->at, "%s: no setting of this kind of source", s->key);
        if (add_camera_setting(r, uri->value, s, address) < 0)
            return -1;
    }
    if (login.user || login.password || login.file)
        return add_login(r, &login, address);
    if (camera && camera_params_parse(address, &params, why) < 0)
        return config_refuse(r, &uri->at, "%s", why);
    return 0;
}

static int source_blur(const struct config_reader *r, struct configured_source *out)
{
    char why[BLUR_WHY];
    for (unsigned i = 0; i < r->n_settings; i++) {
        const struct config_setting *s = &r->settings[i];
        if (!strcmp(s->key, "blur") && blur_parse(s->value, out->blur, &out->n_blur, why) < 0)
            return config_refuse(r, &s->at, "blur: %s", why);
    }
    return 0;
}

/* *made receives name and address. False: out of memory. */
static bool add_source(struct configured_source **sources, unsigned *n,
                       struct configured_source *made, const char *name, const char *address)
{
    struct configured_source *grown = realloc(*sources, (*n + 1) * sizeof(*grown));
    char *uri = grown ? strdup(address) : NULL;
    *sources = grown ? grown : *sources;
    if (!uri)
        return false;
    snprintf(made->name, sizeof(made->name), "%s", name);
    made->uri = uri;
    grown[(*n)++] = *made;
    return true;
}

int config_source_finish(struct config_reader *r, const char *name, const yaml_mark_t *at)
{
    char address[CAMERA_ADDRESS];
    if (!uri_of(r))
        return config_refuse(r, at, "source %s has no uri", name);
    if (strlen(name) >= sizeof(r->sources->name) || r->n_sources == CONFIG_MAX_SOURCES)
        return config_refuse(r, at, "source %.64s: the name is too long, or there are more than %d",
                             name, CONFIG_MAX_SOURCES);
    for (unsigned i = 0; i < r->n_sources; i++)
        if (!strcmp(r->sources[i].name, name))
            return config_refuse(r, at, "source %s: named twice", name);
    struct configured_source made = {.n_blur = 0};
    if (make_address(r, address) < 0 || source_blur(r, &made) < 0)
        return -1;
    if (!add_source(&r->sources, &r->n_sources, &made, name, address))
        return config_refuse(r, at, "out of memory");
    r->n_settings = 0;
    return 0;
}

/* ---- the command line ---- */

static int override_setting(struct configured_source *source, const char *key, const char *value,
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

static int override_new(const char *name, const char *key, const char *value,
                        struct configured_source **sources, unsigned *n_sources,
                        char why[CONFIG_WHY])
{
    struct configured_source made = {.n_blur = 0};
    struct camera_params params;
    if (strcmp(key, "uri") != 0 || !value[0] || *n_sources == CONFIG_MAX_SOURCES) {
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

int config_override(const char *text, struct configured_source **sources, unsigned *n_sources,
                    char why[CONFIG_WHY])
{
    char name[64], key[CONFIG_KEY], cause[CONFIG_WHY] = "";
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
                            : override_new(name, key, equal + 1, sources, n_sources, cause);
    if (rc < 0)
        snprintf(why, CONFIG_WHY, "-c sources.%s: %.150s", name, cause);
    return rc;
}
