/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Widths count characters of UTF-8. The least table that fits decides which columns stay; what room
 * is left goes to the columns that were cut, from left to right.
 */
#include "client/columns.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 20, GAP = 2 };

struct cell {
    char *text;
    enum ui_colour colour;
};

struct columns {
    const struct column *spec;
    unsigned n;
    struct cell *cells; /* row by row */
    size_t n_cells, room;
};

struct columns *columns_new(const struct column *spec, unsigned n)
{
    struct columns *c = n <= MOST ? calloc(1, sizeof(*c)) : NULL;
    if (c) {
        c->spec = spec;
        c->n = n;
    }
    return c;
}

void columns_free(struct columns *c)
{
    for (size_t i = 0; c && i < c->n_cells; i++)
        free(c->cells[i].text);
    if (c)
        free(c->cells);
    free(c);
}

static void text_to_plain(char *text)
{
    for (; text && *text; text++)
        if ((unsigned char)*text < ' ' || *text == 127)
            *text = '?';
}

void columns_cell(struct columns *c, enum ui_colour colour, const char *text, ...)
{
    if (c->n_cells == c->room) {
        size_t room = c->room ? 2 * c->room : 64;
        struct cell *cells = realloc(c->cells, room * sizeof(*cells));
        if (!cells)
            return;
        c->cells = cells;
        c->room = room;
    }
    char line[1024];
    va_list args;
    va_start(args, text);
    vsnprintf(line, sizeof(line), text, args);
    va_end(args);
    text_to_plain(line);
    c->cells[c->n_cells++] = (struct cell){.text = strdup(line), .colour = colour};
}

static const char *cell_text(const struct columns *c, size_t row, unsigned k)
{
    size_t at = row * c->n + k;
    return at < c->n_cells && c->cells[at].text ? c->cells[at].text : "";
}

static unsigned characters(const char *text)
{
    unsigned n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static size_t rows_of(const struct columns *c)
{
    return (c->n_cells + c->n - 1) / c->n;
}

/* The width that shows every cell; 0: no row has text there. */
static unsigned natural_width(const struct columns *c, unsigned k)
{
    unsigned width = 0;
    for (size_t row = 0; row < rows_of(c); row++) {
        unsigned n = characters(cell_text(c, row, k));
        width = n > width ? n : width;
    }
    unsigned title = characters(c->spec[k].title);
    return width == 0 && c->n_cells > 0 ? 0 : width > title ? width : title;
}

static unsigned table_width(const unsigned *widths, unsigned n)
{
    unsigned sum = 0;
    for (unsigned k = 0; k < n; k++)
        sum += widths[k] ? widths[k] + (sum ? GAP : 0) : 0;
    return sum;
}

/* Leaves out the columns of the highest rank. False: no column may leave. */
static bool leave_out(const struct columns *c, unsigned *widths)
{
    unsigned rank = 0;
    for (unsigned k = 0; k < c->n; k++)
        rank = widths[k] && c->spec[k].rank > rank ? c->spec[k].rank : rank;
    for (unsigned k = 0; k < c->n; k++)
        if (rank && c->spec[k].rank == rank)
            widths[k] = 0;
    return rank > 0;
}

/* Fills in the width of each column; 0: it is not shown. */
static void choose_widths(const struct columns *c, unsigned width, unsigned *widths)
{
    unsigned natural[MOST];
    for (unsigned k = 0; k < c->n; k++) {
        unsigned least = c->spec[k].least;
        widths[k] = natural[k] = natural_width(c, k);
        if (width && least && least < natural[k])
            widths[k] = least;
    }
    if (!width)
        return;
    while (table_width(widths, c->n) > width && leave_out(c, widths))
        continue;
    unsigned used = table_width(widths, c->n);
    for (unsigned k = 0; k < c->n && used < width; k++) {
        unsigned more = widths[k] ? natural[k] - widths[k] : 0;
        more = more < width - used ? more : width - used;
        widths[k] += more;
        used += more;
    }
}

/* Prints at most `width` characters; ~ ends a text that is cut. Returns how many. */
static unsigned print_cut(FILE *file, const char *text, unsigned width)
{
    unsigned n = characters(text), shown = n > width ? width - 1 : n, seen = 0;
    for (; *text; text++) {
        seen += ((unsigned char)*text & 0xc0) != 0x80;
        if (seen > shown)
            break;
        putc(*text, file);
    }
    if (n > width)
        putc('~', file);
    return n > width ? width : n;
}

static void print_cell(FILE *file, const char *text, enum ui_colour colour, unsigned width,
                       bool right, bool last)
{
    unsigned n = characters(text), shown = n < width ? n : width;
    if (right)
        fprintf(file, "%*s", (int)(width - shown), "");
    fputs(colour == UI_PLAIN ? "" : ui_paint(file, colour), file);
    print_cut(file, text, width);
    fputs(colour == UI_PLAIN ? "" : ui_paint(file, UI_PLAIN), file);
    if (!last)
        fprintf(file, "%*s", (int)(right ? GAP : width - shown + GAP), "");
}

void columns_print(const struct columns *c, FILE *file, unsigned width)
{
    unsigned widths[MOST], last = 0;
    choose_widths(c, width, widths);
    for (unsigned k = 0; k < c->n; k++)
        last = widths[k] ? k : last;
    for (unsigned k = 0; k < c->n; k++)
        if (widths[k])
            print_cell(file, c->spec[k].title, UI_BOLD, widths[k], c->spec[k].right, k == last);
    putc('\n', file);
    for (size_t row = 0; row < rows_of(c); row++) {
        for (unsigned k = 0; k < c->n; k++) {
            const char *text = cell_text(c, row, k);
            size_t at = row * c->n + k;
            if (widths[k]) {
                print_cell(file, text[0] ? text : "-", text[0] ? c->cells[at].colour : UI_PLAIN,
                           widths[k], c->spec[k].right, k == last);
            }
        }
        putc('\n', file);
    }
}
