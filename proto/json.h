/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Writing JSON. The writer keeps commas and indentation.
 */
#ifndef PELTON_JSON_H
#define PELTON_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
    FILE *file;
    int depth;
    bool compact; /* one line */
    bool more;    /* a value precedes this one */
};

/* name NULL: an element of an array, or the whole value. */
void json_open(struct json *j, const char *name, char bracket);
void json_close(struct json *j, char bracket);
void json_text(struct json *j, const char *name, const char *value); /* NULL: null */
void json_int(struct json *j, const char *name, int64_t value);
void json_number(struct json *j, const char *name, double value); /* not finite: null */
void json_bool(struct json *j, const char *name, bool value);
void json_null(struct json *j, const char *name);

#endif
