/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources of the configuration as values: copies, comparison, print; see config_source.h.
 */
#include "daemon/config_source.h"

#include "camera/camera_params.h"
#include "daemon/config_print.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

/* ---- values ---- */

static bool text_same(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static bool settings_same(const struct configured_source *a, const struct configured_source *b)
{
    bool same = a->n_settings == b->n_settings;
    for (unsigned i = 0; same && i < a->n_settings; i++)
        same = text_same(a->settings[i].key, b->settings[i].key) &&
               text_same(a->settings[i].value, b->settings[i].value);
    return same;
}

bool source_same(const struct configured_source *a, const struct configured_source *b)
{
    return text_same(a->address, b->address) && text_same(a->user, b->user) &&
           text_same(a->password, b->password) && settings_same(a, b) && a->n_blur == b->n_blur &&
           memcmp(a->blur, b->blur, a->n_blur * sizeof(a->blur[0])) == 0;
}

bool source_shares_camera(const struct configured_source *a, const struct configured_source *b)
{
    return a->kind == SOURCE_CAMERA && text_same(a->address, b->address) && settings_same(a, b);
}

static bool text_copy(const char *from, char **out)
{
    *out = from ? strdup(from) : NULL;
    return !from || *out;
}

bool source_copy(const struct configured_source *from, struct configured_source *out)
{
    *out = *from;
    out->settings = calloc(from->n_settings ? from->n_settings : 1, sizeof(*out->settings));
    bool good = out->settings != NULL;
    /* each field gets its own copy, or NULL */
    good &= upkeep_copy(&from->upkeep, &out->upkeep);
    good &= text_copy(from->address, &out->address);
    good &= text_copy(from->user, &out->user);
    good &= text_copy(from->password, &out->password);
    good &= text_copy(from->password_file, &out->password_file);
    for (unsigned i = 0; out->settings && i < from->n_settings; i++) {
        good &= text_copy(from->settings[i].key, &out->settings[i].key);
        good &= text_copy(from->settings[i].value, &out->settings[i].value);
    }
    if (!good)
        source_clear(out);
    return good;
}

void source_clear(struct configured_source *s)
{
    for (unsigned i = 0; s->settings && i < s->n_settings; i++) {
        free(s->settings[i].key);
        free(s->settings[i].value);
    }
    free(s->settings);
    free(s->address);
    free(s->user);
    if (s->password)
        explicit_bzero(s->password, strlen(s->password));
    free(s->password);
    free(s->password_file);
    upkeep_clear(&s->upkeep);
    *s = (struct configured_source){.n_blur = 0};
}

static void print_pair(const char *key, const char *value, FILE *to)
{
    fprintf(to, "%s: ", key);
    config_print_value(value, to);
}

void source_print(const struct configured_source *s, FILE *to)
{
    char shown[CONFIG_VALUE];
    config_redact(s->address, shown, sizeof(shown));
    fputs("  ", to);
    config_print_key(s->name, to);
    fputs(": {", to);
    print_pair("uri", shown, to);
    if (s->user)
        print_pair(", user", s->user, to);
    if (s->password_file)
        print_pair(", password_file", s->password_file, to);
    else if (s->password)
        print_pair(", password", "***", to);
    for (unsigned i = 0; i < s->n_settings; i++) {
        fputs(", ", to);
        print_pair(s->settings[i].key, s->settings[i].value, to);
    }
    for (uint32_t i = 0; i < s->n_blur; i++)
        fprintf(to, "%s[%u, %u, %u, %u]", i ? ", " : ", blur: [", s->blur[i].x, s->blur[i].y,
                s->blur[i].width, s->blur[i].height);
    fputs(s->n_blur ? "]" : "", to);
    upkeep_print(&s->upkeep, to);
    rights_print(&s->rights, ", ", "", to);
    fputs("}\n", to);
}
