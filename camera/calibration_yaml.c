/* SPDX-License-Identifier: BSD-2-Clause
 *
 * YAML to a tree, by libyaml's events. Anchors' aliases are refused: these files have none, and
 * they could blow up a tree.
 */
#include "camera/calibration_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

struct reader {
    yaml_parser_t parser;
    struct tree_node *root, *open[TREE_DEPTH];
    char *key; /* of a map's next value, or NULL */
    int depth;
    size_t count, skipped; /* skipped: lines before the first one of YAML */
    char *why;
    size_t why_size;
};

static bool refuse(struct reader *r, const char *what)
{
    snprintf(r->why, r->why_size, "line %zu: %s", r->parser.mark.line + 1 + r->skipped, what);
    return false;
}

/* A key at the top stands once. */
static bool key_is_new(struct reader *r, const char *key, const yaml_mark_t *at)
{
    if (r->depth != 1 || !tree_has_key(r->root, key))
        return true;
    snprintf(r->why, r->why_size, "line %zu, column %zu: %.80s: set twice",
             at->line + 1 + r->skipped, at->column + 1, key);
    return false;
}

static bool take_value(struct reader *r, enum tree_kind kind, const char *text,
                       const yaml_mark_t *at)
{
    struct tree_node *parent = r->depth ? r->open[r->depth - 1] : NULL;
    if (parent && parent->kind == TREE_MAP && !r->key) {
        if (kind != TREE_SCALAR)
            return refuse(r, "a key is no scalar");
        if (!key_is_new(r, text, at))
            return false;
        r->key = strdup(text);
        return r->key ? true : refuse(r, "out of memory");
    }
    if (!parent && r->root)
        return refuse(r, "a second document");
    struct tree_node *n = tree_add(parent, kind, r->key, text, &r->count);
    free(r->key);
    r->key = NULL;
    if (!n)
        return refuse(r, "too many values");
    if (!parent)
        r->root = n;
    if (kind == TREE_SCALAR)
        return true;
    if (r->depth == TREE_DEPTH)
        return refuse(r, "nested too deeply");
    r->open[r->depth++] = n;
    return true;
}

static bool take(struct reader *r, const yaml_event_t *e)
{
    switch (e->type) {
    case YAML_SCALAR_EVENT:
        return take_value(r, TREE_SCALAR, (const char *)e->data.scalar.value, &e->start_mark);
    case YAML_SEQUENCE_START_EVENT:
        return take_value(r, TREE_LIST, NULL, &e->start_mark);
    case YAML_MAPPING_START_EVENT:
        return take_value(r, TREE_MAP, NULL, &e->start_mark);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        r->depth--;
        return true;
    case YAML_ALIAS_EVENT:
        return refuse(r, "aliases are not supported");
    default:
        return true;
    }
}

/* OpenCV writes "%YAML:1.0", which is no directive of YAML. */
static size_t skip_opencv_line(const char *text, size_t size)
{
    const char *end = size > 6 && !memcmp(text, "%YAML:", 6) ? memchr(text, '\n', size) : NULL;
    return end ? (size_t)(end + 1 - text) : 0;
}

struct tree_node *tree_from_yaml(const char *text, size_t size, char *why, size_t why_size)
{
    size_t skipped = skip_opencv_line(text, size);
    struct reader r = {.why = why, .why_size = why_size, .skipped = skipped > 0};
    bool good = true, ended = false;
    if (!yaml_parser_initialize(&r.parser)) {
        snprintf(why, why_size, "out of memory");
        return NULL;
    }
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text + skipped, size - skipped);
    while (good && !ended) {
        yaml_event_t event;
        good = yaml_parser_parse(&r.parser, &event);
        if (!good) {
            snprintf(why, why_size, "line %zu: %s", r.parser.problem_mark.line + 1 + r.skipped,
                     r.parser.problem ? r.parser.problem : "not YAML");
            break;
        }
        ended = event.type == YAML_STREAM_END_EVENT;
        good = take(&r, &event);
        yaml_event_delete(&event);
    }
    if (good && !r.root) {
        snprintf(why, why_size, "the file is empty");
        good = false;
    }
    yaml_parser_delete(&r.parser);
    free(r.key);
    if (good)
        return r.root;
    tree_free(r.root);
    return NULL;
}
