/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The XML that OpenCV's FileStorage writes, to a tree: elements, text, the five entities;
 * attributes, comments and the declaration are skipped. An element with elements inside is a map (a
 * list where they are called "_"), any other a scalar.
 */
#include "camera/calibration_tree.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cursor {
    const char *at, *end;
    size_t count;
    char *why;
    size_t why_size;
};

static bool refuse(const struct cursor *c, const char *what)
{
    snprintf(c->why, c->why_size, "%s", what);
    return false;
}

static bool begins(const struct cursor *c, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(c->end - c->at) >= n && !memcmp(c->at, word, n);
}

/* Past the next `word`. */
static bool skip_past(struct cursor *c, const char *word)
{
    const char *found = memmem(c->at, (size_t)(c->end - c->at), word, strlen(word));
    if (!found)
        return refuse(c, "the file ends inside an element");
    c->at = found + strlen(word);
    return true;
}

/* Blanks, comments, declarations. */
static bool skip_misc(struct cursor *c)
{
    for (;;) {
        while (c->at < c->end && isspace((unsigned char)*c->at))
            c->at++;
        if (begins(c, "<!--")) {
            if (!skip_past(c, "-->"))
                return false;
        } else if (begins(c, "<?")) {
            if (!skip_past(c, "?>"))
                return false;
        } else if (begins(c, "<!")) {
            return refuse(c, "declarations are not supported");
        } else {
            return true;
        }
    }
}

static void resolve_entities(char *text)
{
    static const struct {
        const char *name;
        char value;
    } entities[] = {
        {"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};
    char *to = text;
    while (*text) {
        size_t i = 0, n = sizeof(entities) / sizeof(entities[0]);
        while (i < n && strncmp(text, entities[i].name, strlen(entities[i].name)) != 0)
            i++;
        *to++ = i < n ? entities[i].value : *text;
        text += i < n ? strlen(entities[i].name) : 1;
    }
    *to = 0;
}

/* Behind a start tag's '<': its name; *empty: <name/>. */
static bool read_tag(struct cursor *c, char name[64], bool *empty)
{
    size_t n = 0;
    while (c->at < c->end &&
           (isalnum((unsigned char)*c->at) || *c->at == '_' || *c->at == '-' || *c->at == '.')) {
        if (n == 63)
            return refuse(c, "an element's name is too long");
        name[n++] = *c->at++;
    }
    name[n] = 0;
    if (!n)
        return refuse(c, "not XML: an element has no name");
    char quote = 0;
    while (c->at < c->end && (quote || *c->at != '>')) {
        if (quote ? *c->at == quote : *c->at == '"' || *c->at == '\'')
            quote = quote ? 0 : *c->at;
        c->at++;
    }
    if (c->at == c->end)
        return refuse(c, "the file ends inside an element");
    *empty = c->at[-1] == '/';
    c->at++;
    return true;
}

static bool read_end(struct cursor *c, const char *name)
{
    size_t n = strlen(name);
    c->at += 2;
    if (!begins(c, name))
        return refuse(c, "an element ends under another name");
    c->at += n;
    while (c->at < c->end && isspace((unsigned char)*c->at))
        c->at++;
    if (c->at == c->end || *c->at != '>')
        return refuse(c, "an element ends under another name");
    c->at++;
    return true;
}

static bool read_text(struct cursor *c, struct tree_node *node)
{
    const char *end = memchr(c->at, '<', (size_t)(c->end - c->at));
    if (!end)
        return refuse(c, "the file ends inside an element");
    node->kind = TREE_SCALAR;
    node->text = strndup(c->at, (size_t)(end - c->at));
    if (!node->text)
        return refuse(c, "out of memory");
    resolve_entities(node->text);
    c->at = end;
    return true;
}

/* At '<' of a start tag. */
static struct tree_node *read_element(struct cursor *c, struct tree_node *parent, int depth)
{
    char name[64];
    bool empty;
    c->at++;
    if (!read_tag(c, name, &empty))
        return NULL;
    struct tree_node *node =
        depth < TREE_DEPTH ? tree_add(parent, TREE_MAP, name, NULL, &c->count) : NULL;
    if (!node) {
        refuse(c, "too many elements, or nested too deeply");
        return NULL;
    }
    if (parent && !strcmp(name, "_"))
        parent->kind = TREE_LIST;
    if (empty)
        return node;
    const char *inside = c->at;
    bool good = skip_misc(c);
    if (good && (c->at == c->end || *c->at != '<' || begins(c, "</"))) {
        c->at = inside;
        good = read_text(c, node) && skip_misc(c);
    }
    while (good && c->at < c->end && *c->at == '<' && !begins(c, "</") && node->kind != TREE_SCALAR)
        good = read_element(c, node, depth + 1) && skip_misc(c);
    if (good && !begins(c, "</"))
        good = refuse(c, "text and elements are mixed");
    if (good)
        good = read_end(c, name);
    if (good)
        return node;
    if (!parent)
        tree_free(node);
    return NULL;
}

struct tree_node *tree_from_xml(const char *text, size_t size, char *why, size_t why_size)
{
    struct cursor c = {.at = text, .end = text + size, .why = why, .why_size = why_size};
    if (!skip_misc(&c))
        return NULL;
    if (c.at == c.end || *c.at != '<') {
        refuse(&c, "not XML");
        return NULL;
    }
    return read_element(&c, NULL, 0);
}
