/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The word that was meant: see suggest.h. The distance counts letters that are missing, surplus,
 * wrong, or swapped with their neighbour.
 */
#include "daemon/suggest.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 48 };

static unsigned least_of(unsigned a, unsigned b, unsigned c)
{
    unsigned least = a < b ? a : b;
    return least < c ? least : c;
}

/* Both have at most LONGEST letters. */
static unsigned word_distance(const char *a, size_t na, const char *b, size_t nb)
{
    unsigned rows[3][LONGEST + 1]; /* of the letters of a: i - 2, i - 1, i */
    for (size_t k = 0; k <= nb; k++)
        rows[1][k] = (unsigned)k;
    for (size_t i = 1; i <= na; i++) {
        unsigned *now = rows[(i + 1) % 3], *last = rows[i % 3], *before = rows[(i + 2) % 3];
        now[0] = (unsigned)i;
        for (size_t k = 1; k <= nb; k++) {
            now[k] = least_of(last[k] + 1, now[k - 1] + 1, last[k - 1] + (a[i - 1] != b[k - 1]));
            bool swapped = i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1];
            if (swapped && before[k - 2] + 1 < now[k])
                now[k] = before[k - 2] + 1;
        }
    }
    return rows[(na + 1) % 3][nb];
}

void suggest_offer(struct suggestion *s, const char *candidate)
{
    size_t n = strlen(s->word), more = strlen(candidate);
    if (n == 0 || n > LONGEST || more > LONGEST)
        return;
    unsigned distance = word_distance(s->word, n, candidate, more);
    if (distance > 1 + n / 4 || distance >= more || (s->best && distance >= s->distance))
        return;
    s->best = candidate;
    s->distance = distance;
}

const char *suggest_text(const struct suggestion *s, char *out, size_t size)
{
    snprintf(out, size, s->best ? "; did you mean %.64s?" : "", s->best);
    return out;
}
