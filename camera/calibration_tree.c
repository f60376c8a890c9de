/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See calibration_tree.h.
 */
#include "camera/calibration_tree.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS_COMPARED = 1024 };

struct tree_node *tree_add(struct tree_node *parent, enum tree_kind kind, const char *key,
                           const char *text, size_t *count)
{
    if (*count >= TREE_NODES)
        return NULL;
    struct tree_node *n = calloc(1, sizeof(*n));
    if (!n)
        return NULL;
    n->kind = kind;
    n->key = key ? strdup(key) : NULL;
    n->text = text ? strdup(text) : NULL;
    if ((key && !n->key) || (text && !n->text)) {
        tree_free(n);
        return NULL;
    }
    ++*count;
    if (parent && parent->last)
        parent->last->next = n;
    else if (parent)
        parent->child = n;
    if (parent)
        parent->last = n;
    return n;
}

void tree_free(struct tree_node *node)
{
    if (!node)
        return;
    struct tree_node *next;
    for (struct tree_node *c = node->child; c; c = next) {
        next = c->next;
        tree_free(c);
    }
    free(node->key);
    free(node->text);
    free(node);
}

static bool same_key(const char *a, const char *b)
{
    for (;;) {
        while (*a == '_')
            a++;
        while (*b == '_')
            b++;
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return false;
        if (!*a)
            return true;
        a++;
        b++;
    }
}

bool tree_has_key(const struct tree_node *map, const char *key)
{
    const struct tree_node *c = map->child;
    for (unsigned n = 0; c && n < KEYS_COMPARED; n++, c = c->next)
        if (c->key && !strcmp(c->key, key))
            return true;
    return false;
}

const struct tree_node *tree_find(const struct tree_node *map, const char *key)
{
    if (!map || map->kind != TREE_MAP)
        return NULL;
    for (const struct tree_node *c = map->child; c; c = c->next)
        if (c->key && same_key(c->key, key))
            return c;
    return NULL;
}

static int text_numbers(const char *text, double *out, int most)
{
    int count = 0;
    while (*text) {
        char *end;
        if (isspace((unsigned char)*text)) {
            text++;
            continue;
        }
        double v = strtod(text, &end);
        if (end == text || (*end && !isspace((unsigned char)*end)) || !isfinite(v) || count == most)
            return -1;
        out[count++] = v;
        text = end;
    }
    return count;
}

int tree_numbers(const struct tree_node *node, double *out, int most)
{
    int count = 0;
    if (!node || node->kind == TREE_MAP)
        return -1;
    if (node->kind == TREE_SCALAR)
        return text_numbers(node->text, out, most);
    for (const struct tree_node *c = node->child; c; c = c->next) {
        int n = tree_numbers(c, out + count, most - count);
        if (n < 0)
            return -1;
        count += n;
    }
    return count;
}
