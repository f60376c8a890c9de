/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The list of cameras that were found: see discover.h.
 */
#include "client/discover.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

void discovery_text(char *out, uint32_t size, const char *text)
{
    uint32_t n = 0;
    for (; n + 1 < size && text[n]; n++)
        out[n] = text[n] >= ' ' && text[n] <= '~' ? text[n] : '?';
    out[n] = 0;
}

static bool name_taken(const struct discovery *d, const char *name)
{
    for (uint32_t i = 0; i < d->n; i++)
        if (!strcmp(d->list[i].name, name))
            return true;
    return false;
}

/* Lower-case letters and digits of the title, with one '-' for all between them. */
static void name_make(const struct discovery *d, const char *title, char out[32])
{
    char base[24];
    size_t n = 0;
    for (; *title && n + 1 < sizeof(base); title++)
        if (isalnum((unsigned char)*title))
            base[n++] = (char)tolower((unsigned char)*title);
        else if (n && base[n - 1] != '-')
            base[n++] = '-';
    n -= n && base[n - 1] == '-';
    base[n] = 0;
    snprintf(out, 32, "%s", n ? base : "camera");
    for (unsigned i = 2; name_taken(d, out); i++)
        snprintf(out, 32, "%.20s-%u", n ? base : "camera", i);
}

struct discovered *discovery_add(struct discovery *d, const char *kind, const char *title)
{
    if (d->n == DISCOVERED_MOST) {
        d->left_out++;
        return NULL;
    }
    struct discovered *c = &d->list[d->n];
    memset(c, 0, sizeof(*c));
    c->kind = kind;
    discovery_text(c->title, sizeof(c->title), title);
    name_make(d, c->title, c->name);
    d->n++;
    return c;
}

const struct discovered_format *discovered_best(const struct discovered *c)
{
    const struct discovered_format *best = NULL;
    double most = -1;
    for (uint32_t i = 0; i < c->n_formats; i++) {
        const struct discovered_format *f = &c->formats[i];
        double rate = (double)f->width * f->height * (f->fps > 0 ? f->fps : 1);
        if (rate <= most || f->foreign || (c->n_streams && !f->uri[0]))
            continue;
        most = rate;
        best = f;
    }
    return best;
}
