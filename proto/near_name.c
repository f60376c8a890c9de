/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Distances between names count letters that are added, left out, replaced or swapped with their
 * neighbour. Case does not count, and - equals _.
 */
#include "proto/near_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 47 };

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static char folded(char c)
{
    return (char)(c == '_' ? '-' : tolower((unsigned char)c));
}

/* The optimal string alignment distance, row by row. */
static unsigned name_distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
    unsigned rows[3][LONGEST + 1], *older = rows[0], *old = rows[1], *now = rows[2];
    for (size_t k = 0; k <= n_b; k++)
        old[k] = (unsigned)k;
    for (size_t i = 1; i <= n_a; i++) {
        now[0] = (unsigned)i;
        for (size_t k = 1; k <= n_b; k++) {
            bool equal = folded(a[i - 1]) == folded(b[k - 1]);
            now[k] = least(least(old[k], now[k - 1]) + 1, old[k - 1] + !equal);
            if (i > 1 && k > 1 && folded(a[i - 1]) == folded(b[k - 2]) &&
                folded(a[i - 2]) == folded(b[k - 1]))
                now[k] = least(now[k], older[k - 2] + 1);
        }
        unsigned *free_row = older;
        older = old;
        old = now;
        now = free_row;
    }
    return old[n_b];
}

struct near_name near_name_of(const char *typed, size_t length)
{
    return (struct near_name){.typed = typed, .length = length, .distance = UINT32_MAX};
}

/* A name that continues the word is as near as one with a single mistake. */
static bool continues(const struct near_name *n, const char *name, size_t length)
{
    if (n->length < 3 || length < n->length)
        return false;
    for (size_t i = 0; i < n->length; i++)
        if (folded(n->typed[i]) != folded(name[i]))
            return false;
    return true;
}

void near_name_try(struct near_name *n, const char *name, size_t length, const char *shown)
{
    if (n->length == 0 || n->length > LONGEST || length > LONGEST)
        return;
    unsigned distance = name_distance(n->typed, n->length, name, length);
    /* one mistake in three letters */
    unsigned most = (unsigned)(n->length > length ? n->length : length) / 3;
    most = most > 3 ? 3 : most;
    if (distance > most && continues(n, name, length))
        distance = most = 1;
    if (distance > most || distance >= n->distance)
        return;
    n->distance = distance;
    snprintf(n->best, sizeof(n->best), "%s", shown);
}

void near_name_try_name(struct near_name *n, const char *name)
{
    near_name_try(n, name, strlen(name), name);
}

void near_name_try_words(struct near_name *n, const char *words)
{
    char word[LONGEST + 1];
    for (const char *p = words; *p;) {
        size_t length = strcspn(p, " ");
        if (length > 0 && length <= LONGEST) {
            snprintf(word, sizeof(word), "%.*s", (int)length, p);
            near_name_try(n, word, length, word);
        }
        p += length + (p[length] == ' ');
    }
}

const char *near_name_hint(const struct near_name *n, const char *otherwise, char *buffer,
                           size_t size)
{
    if (n->best[0])
        snprintf(buffer, size, "did you mean %s? %s", n->best, otherwise);
    else
        snprintf(buffer, size, "%s", otherwise);
    return buffer;
}

const char *near_name_also(const struct near_name *n, char *buffer, size_t size)
{
    snprintf(buffer, size, n->best[0] ? "; did you mean %s?" : "", n->best);
    return buffer;
}
