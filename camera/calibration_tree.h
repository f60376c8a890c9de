/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A document as a tree: scalars, lists, maps. Bounded in depth and size; made by the YAML and the
 * XML reader.
 */
#ifndef PELTON_CALIBRATION_TREE_H
#define PELTON_CALIBRATION_TREE_H

#include <stdbool.h>
#include <stddef.h>

enum { TREE_DEPTH = 24, TREE_NODES = 65536 };

enum tree_kind { TREE_SCALAR, TREE_LIST, TREE_MAP };

struct tree_node {
    enum tree_kind kind;
    char *key;  /* in a map; else NULL */
    char *text; /* of a scalar */
    struct tree_node *child, *last, *next;
};

/* A node behind the others of parent (NULL: alone), with copies of key and text, which may be NULL.
 * NULL: no memory, or *count, the number of nodes so far, has reached TREE_NODES. */
struct tree_node *tree_add(struct tree_node *parent, enum tree_kind kind, const char *key,
                           const char *text, size_t *count);
void tree_free(struct tree_node *node); /* NULL allowed */
/* The member of a map; keys are compared without regard to case and underscores. NULL: none. */
const struct tree_node *tree_find(const struct tree_node *map, const char *key);
/* Whether one of its first 1,024 members has exactly this key. */
bool tree_has_key(const struct tree_node *map, const char *key);
/* Numbers of a list (of lists), or separated by blanks in a scalar: their count, -1 where one is
 * none, or where there are more than most. */
int tree_numbers(const struct tree_node *node, double *out, int most);

/* NULL, and one line in why. */
struct tree_node *tree_from_yaml(const char *text, size_t size, char *why, size_t why_size);
struct tree_node *tree_from_xml(const char *text, size_t size, char *why, size_t why_size);

#endif
