/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The name that somebody meant: "did you mean --pix-fmt?". For the command line, the configuration
 * and the environment. Pure. Thread: any.
 */
#ifndef PELTON_NEAR_NAME_H
#define PELTON_NEAR_NAME_H

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
/* Considers a name that is shown as it is. */
void near_name_try_name(struct near_name *n, const char *name);
/* Considers names that are separated by spaces. */
void near_name_try_words(struct near_name *n, const char *words);

/* The hint: "did you mean BEST? OTHERWISE", or OTHERWISE alone. Returns buffer. */
const char *near_name_hint(const struct near_name *n, const char *otherwise, char *buffer,
                           size_t size);
/* The end of a line: "; did you mean BEST?", or an empty text. Returns buffer. */
const char *near_name_also(const struct near_name *n, char *buffer, size_t size);

#endif
