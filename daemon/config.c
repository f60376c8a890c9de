/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The configuration file: see config.h. The events of libyaml become dotted keys with values. A
 * list is a value with commas; the rectangles of `blur` have semicolons between them. Anchors, tags
 * and the rest of YAML are refused with their place.
 */
#include "daemon/config_reader.h"

#include "daemon/config_secret.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int config_refuse(const struct config_reader *r, const yaml_mark_t *at, const char *format, ...)
{
    va_list args;
    int n = snprintf(r->why, CONFIG_WHY, "%.80s:%zu:%zu: ", r->path, at->line + 1, at->column + 1);
    va_start(args, format);
    vsnprintf(r->why + n, CONFIG_WHY - (size_t)n, format, args);
    va_end(args);
    return -1;
}

/* ---- sources ---- */

static int source_value(struct config_reader *r, const char *value, const yaml_mark_t *at)
{
    const char *name = r->key + strlen("sources."), *dot = strchr(name, '.');
    if (!dot)
        return config_refuse(r, at, "%.100s: expected {uri: ...}", r->key);
    if (r->n_settings == CONFIG_MAX_SETTINGS)
        return config_refuse(r, at, "%.100s: too many keys", r->key);
    struct config_setting *s = &r->settings[r->n_settings++];
    snprintf(s->key, sizeof(s->key), "%s", dot + 1);
    snprintf(s->value, sizeof(s->value), "%s", value);
    s->at = *at;
    return 0;
}

/* The place of a key; `else_at` where the file does not have it. */
static const yaml_mark_t *place_of(const struct config_reader *r, const char *key,
                                   const yaml_mark_t *else_at)
{
    for (unsigned i = 0; key && i < r->n_settings; i++)
        if (!strcmp(r->settings[i].key, key))
            return &r->settings[i].at;
    return else_at;
}

/* The source's mapping is closed: its keys become fields. */
static int source_finish(struct config_reader *r, const char *name, const yaml_mark_t *at)
{
    char why[CONFIG_WHY] = "";
    const char *slash = strrchr(r->path, '/'), *key = NULL;
    char folder[CONFIG_VALUE];
    snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash + 1 - r->path) : 0, r->path);
    struct configured_source *s = config_source_add(&r->sources, &r->n_sources, name, why);
    if (!s)
        return config_refuse(r, at, "%s", why);
    for (unsigned i = 0; i < r->n_settings; i++)
        if (source_set(s, folder, r->settings[i].key, r->settings[i].value, why) < 0)
            return config_refuse(r, &r->settings[i].at, "%s", why);
    if (source_check(s, &key, why) < 0)
        return config_refuse(r, place_of(r, key, at), "%s", why);
    r->n_settings = 0;
    return 0;
}

/* ---- events ---- */

static int scalar_value(struct config_reader *r, const char *value, const yaml_mark_t *at)
{
    char why[CONFIG_WHY] = "";
    if (!strcmp(r->key, "version")) {
        r->version = !strcmp(value, "1");
        return r->version
                   ? 0
                   : config_refuse(r, at, "version %.20s: this program reads version 1", value);
    }
    if (!strncmp(r->key, "sources.", 8))
        return source_value(r, value, at);
    return r->value(r->ctx, r->key, value, why) < 0 ? config_refuse(r, at, "%s", why) : 0;
}

static int mapping_open(struct config_reader *r, const yaml_mark_t *at)
{
    if (r->depth == CONFIG_DEPTH)
        return config_refuse(r, at, "nested too deeply");
    r->depth++;
    r->wants_key = r->empty = true;
    return 0;
}

static void key_shorten(struct config_reader *r)
{
    r->key[r->depth ? r->length[r->depth - 1] : 0] = 0;
}

static void keys_forget(struct config_reader *r, unsigned n)
{
    while (r->n_seen > n)
        free(r->seen[--r->n_seen]);
}

static int mapping_close(struct config_reader *r, const yaml_mark_t *at)
{
    if (r->depth == 3 && !strncmp(r->key, "sources.", 8)) {
        if (source_finish(r, r->key + strlen("sources."), at) < 0)
            return -1;
        keys_forget(r, r->n_outside);
    } else if (r->empty && r->key[0] && strcmp(r->key, "sources") != 0) {
        return config_refuse(r, at, "%.100s: nothing is in it", r->key);
    }
    r->empty = false;
    r->depth--;
    key_shorten(r);
    r->wants_key = true;
    return 0;
}

/* A key stands once, also where one is dotted and one nested. */
static int key_record(struct config_reader *r, const yaml_mark_t *at)
{
    for (unsigned i = 0; i < r->n_seen; i++)
        if (!strcmp(r->seen[i], r->key))
            return config_refuse(r, at, "%.100s: set twice", r->key);
    char **grown = realloc(r->seen, (r->n_seen + 1) * sizeof(*grown));
    r->seen = grown ? grown : r->seen;
    char *copy = grown ? strdup(r->key) : NULL;
    if (!copy)
        return config_refuse(r, at, "out of memory");
    r->seen[r->n_seen++] = copy;
    if (r->depth == 2 && !strncmp(r->key, "sources.", 8))
        r->n_outside = r->n_seen;
    return 0;
}

static int key_open(struct config_reader *r, const char *text, const yaml_mark_t *at)
{
    size_t n = strlen(r->key), more = strlen(text);
    if ((r->depth == 1 && !strncmp(text, "sources.", 8)) ||
        (r->depth == 2 && !strcmp(r->key, "sources") && strchr(text, '.')))
        return config_refuse(r, at, "%.100s: expected sources: {NAME: {uri: ...}}, without '.'",
                             text);
    if (n + more + 2 > sizeof(r->key) || more == 0)
        return config_refuse(r, at, "a key is empty or too long");
    r->length[r->depth - 1] = n;
    snprintf(r->key + n, sizeof(r->key) - n, "%s%s", n ? "." : "", text);
    r->wants_key = r->empty = false;
    return key_record(r, at);
}

/* A value is there: of a key, or of a list. */
static int key_close(struct config_reader *r, const char *text, const yaml_mark_t *at)
{
    if (scalar_value(r, text, at) < 0)
        return -1;
    key_shorten(r);
    r->wants_key = true;
    return 0;
}

/* The list of a source's rectangles, whose lists stay apart. */
static bool in_blur(const struct config_reader *r)
{
    const char *last = strrchr(r->key, '.');
    return !strncmp(r->key, "sources.", 8) && last && !strcmp(last, ".blur");
}

static int list_item(struct config_reader *r, const char *text, const yaml_mark_t *at)
{
    size_t n = strlen(r->list);
    if (n + strlen(text) + 2 > sizeof(r->list))
        return config_refuse(r, at, "%.100s: the list is too long", r->key);
    if (in_blur(r) && r->lists != 2)
        return config_refuse(r, at, "%.100s: expected [[x, y, width, height], ...]", r->key);
    snprintf(r->list + n, sizeof(r->list) - n, "%s%s",
             n && r->list[n - 1] != ';' && text[0] != ';' ? "," : "", text);
    return 0;
}

static int list_open(struct config_reader *r, const yaml_mark_t *at)
{
    if (r->depth == 0 || r->wants_key || r->lists == 2)
        return config_refuse(r, at, "%.100s: no list is expected here", r->key);
    if (r->lists++ == 0)
        r->list[0] = 0;
    else if (in_blur(r) && r->list[0])
        return list_item(r, ";", at);
    return 0;
}

static int list_close(struct config_reader *r, const yaml_mark_t *at)
{
    size_t n = strlen(r->list);
    if (--r->lists == 0)
        return key_close(r, r->list, at);
    if (in_blur(r) && (!n || r->list[n - 1] == ';'))
        return config_refuse(r, at, "%.100s: a rectangle without numbers", r->key);
    return 0;
}

/* A key, or a value with its variables replaced. */
static int scalar_event(struct config_reader *r, const char *text, const yaml_mark_t *at)
{
    char value[CONFIG_VALUE], why[CONFIG_WHY];
    if (r->wants_key)
        return key_open(r, text, at);
    if (environment_expand(text, value, sizeof(value), why) < 0)
        return config_refuse(r, at, "%.100s: %.150s", r->key, why);
    return r->lists ? list_item(r, value, at) : key_close(r, value, at);
}

static int config_event(struct config_reader *r, const yaml_event_t *e)
{
    const char *text = e->type == YAML_SCALAR_EVENT ? (const char *)e->data.scalar.value : "";
    switch (e->type) {
    case YAML_MAPPING_START_EVENT:
        return r->wants_key || r->lists
                   ? config_refuse(r, &e->start_mark,
                                   "a mapping where a key or a number is expected")
                   : mapping_open(r, &e->start_mark);
    case YAML_MAPPING_END_EVENT:
        return mapping_close(r, &e->start_mark);
    case YAML_SCALAR_EVENT:
        /* an empty file */
        if (r->depth == 0)
            return text[0] ? config_refuse(r, &e->start_mark, "expected keys with values") : 0;
        if (strlen(text) != e->data.scalar.length)
            return config_refuse(r, &e->start_mark, "a zero byte");
        return scalar_event(r, text, &e->start_mark);
    case YAML_SEQUENCE_START_EVENT:
        return list_open(r, &e->start_mark);
    case YAML_SEQUENCE_END_EVENT:
        return list_close(r, &e->start_mark);
    case YAML_DOCUMENT_START_EVENT:
        if (r->document)
            return config_refuse(r, &e->start_mark, "a second document");
        r->document = true;
        return 0;
    case YAML_ALIAS_EVENT:
        return config_refuse(r, &e->start_mark, "%.100s: no alias is expected", r->key);
    default:
        return 0;
    }
}

static int read_events(struct config_reader *r, yaml_parser_t *parser)
{
    for (;;) {
        yaml_event_t e;
        if (!yaml_parser_parse(parser, &e))
            return config_refuse(r, &parser->problem_mark, "%s",
                                 parser->problem ? parser->problem : "not YAML");
        int rc = config_event(r, &e);
        bool end = e.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&e);
        if (rc < 0 || end)
            return rc;
    }
}

int config_read(const char *path, config_value_fn value, void *ctx,
                struct configured_source **sources, unsigned *n_sources, char why[CONFIG_WHY])
{
    struct config_reader r = {.path = path,
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
    r.settings = calloc(CONFIG_MAX_SETTINGS, sizeof(*r.settings));
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
    keys_forget(&r, 0);
    free(r.seen);
    free(r.settings);
    *sources = r.sources;
    *n_sources = r.n_sources;
    return rc;
}
