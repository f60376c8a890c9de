/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The word that was meant: the nearest of those offered.
 */
#ifndef PELTON_SUGGEST_H
#define PELTON_SUGGEST_H

#include <stddef.h>

struct suggestion {
    const char *word; /* as typed */
    const char *best; /* NULL: none is near */
    unsigned distance;
};

/* Compares one candidate, which stays the caller's. */
void suggest_offer(struct suggestion *s, const char *candidate);
/* "; did you mean NAME?", or an empty text. Returns out. */
const char *suggest_text(const struct suggestion *s, char *out, size_t size);

#endif
