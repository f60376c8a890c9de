/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Tables of text that fit the terminal.
 */
#ifndef CLIENT_COLUMNS_H
#define CLIENT_COLUMNS_H

#include "client/ui.h"

#include <stdbool.h>
#include <stddef.h>

struct column {
    const char *title;
    bool right;     /* numbers */
    unsigned least; /* it may be cut to this width; 0: never */
    unsigned rank;  /* columns of the highest rank leave a narrow terminal first; 0: none does */
};

struct columns;

/* A table without rows; spec and its titles must outlive it. NULL: out of memory. */
struct columns *columns_new(const struct column *spec, unsigned n);
/* Adds the next cell, from left to right. Control characters in it become ?. Losing memory loses
 * the cell. */
void columns_cell(struct columns *c, enum ui_colour colour, const char *text, ...)
    __attribute__((format(printf, 3, 4)));
/* Prints the titles and the rows. width: of the terminal; 0: as wide as needed. Columns without any
 * text are left out; other empty cells print as -. */
void columns_print(const struct columns *c, FILE *file, unsigned width);
void columns_free(struct columns *c); /* NULL allowed */

#endif
