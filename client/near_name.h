/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The name that somebody meant: "did you mean --pix-fmt?".
 */
#ifndef CLIENT_NEAR_NAME_H
#define CLIENT_NEAR_NAME_H

#include "client/exit_code.h"

#include <stddef.h>

/* Looks for the name nearest to a typed word. */
struct near_name {
    const char *typed; /* length bytes */
    size_t length;
    unsigned distance; /* of `best` */
    char best[64];     /* empty: nothing is near enough */
};

struct near_name near_name_of(const char *typed, size_t length);
/* Considers a name. shown: its spelling in the hint. */
void near_name_try(struct near_name *n, const char *name, size_t length, const char *shown);
/* Considers names that are separated by spaces. */
void near_name_try_words(struct near_name *n, const char *words);

/* The hint: "did you mean BEST? OTHERWISE", or OTHERWISE alone. Returns buffer. */
const char *near_name_hint(const struct near_name *n, const char *otherwise, char *buffer,
                           size_t size);

#endif
