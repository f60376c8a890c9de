/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See option_line.h.
 */
#include "proto/option_line.h"

#include "proto/near_name.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int option_fail(struct option_fault *fault, const char *hint, const char *cause, ...)
{
    va_list args;
    va_start(args, cause);
    vsnprintf(fault->cause, sizeof(fault->cause), cause, args);
    va_end(args);
    snprintf(fault->hint, sizeof(fault->hint), "%s", hint);
    return -1;
}

/* ---- names ---- */

const char *option_spelling(const struct option_row *row, char *buffer, size_t size)
{
    bool one_dash = strlen(row->name) <= 2 || strchr(row->name, ':');
    snprintf(buffer, size, "%s%s", one_dash ? "-" : "--", row->name);
    return buffer;
}

/* Names that differ only in - and _ are equal. */
static bool names_equal(const char *typed, size_t length, const char *name, size_t name_length)
{
    if (length != name_length)
        return false;
    for (size_t i = 0; i < length; i++) {
        char a = typed[i] == '_' ? '-' : typed[i], b = name[i] == '_' ? '-' : name[i];
        if (a != b)
            return false;
    }
    return true;
}

/* The names of a row one after the other. length: of *at, 0 before the first. */
static bool names_next(const struct option_row *row, const char **at, size_t *length)
{
    if (*length == 0)
        *at = row->name;
    else if (*at == row->name)
        *at = row->aliases ? row->aliases : "";
    else
        *at += *length + ((*at)[*length] == ' ');
    *length = strcspn(*at, " ");
    return *length > 0;
}

static bool row_has_name(const struct option_row *row, const char *typed, size_t length)
{
    const char *name = NULL;
    for (size_t n = 0; names_next(row, &name, &n);)
        if (names_equal(typed, length, name, n))
            return true;
    return false;
}

const struct option_row *option_find(const struct option_syntax *s, const char *name, size_t length,
                                     const struct option_row **elsewhere)
{
    *elsewhere = NULL;
    for (unsigned i = 0; i < s->n_rows; i++) {
        if (row_has_name(&s->rows[i], name, length)) {
            if (s->rows[i].commands & s->command)
                return &s->rows[i];
            *elsewhere = &s->rows[i];
        }
    }
    return NULL;
}

static void row_try_names(const struct option_row *row, struct near_name *near)
{
    char shown[48];
    const char *name = NULL;
    option_spelling(row, shown, sizeof(shown));
    for (size_t n = 0; names_next(row, &name, &n);)
        near_name_try(near, name, n, shown);
}

int option_refuse(const struct option_syntax *s, const char *word, size_t length,
                  struct option_fault *fault)
{
    char hint[160], more[80];
    struct near_name near = near_name_of(word + strspn(word, "-"), length);
    for (unsigned i = 0; i < s->n_rows; i++)
        if ((s->rows[i].commands & s->command) && s->rows[i].help)
            row_try_names(&s->rows[i], &near);
    snprintf(more, sizeof(more), "%s lists its options", s->help);
    return option_fail(fault, near_name_hint(&near, more, hint, sizeof(hint)),
                       "%s: no such option (%s)", word, s->program);
}

/* ---- words ---- */

/* A letter with its value behind it. */
static void word_split(const struct option_syntax *s, struct option_word *w)
{
    const struct option_row *unused, *row = option_find(s, w->name, 1, &unused);
    if (w->name - w->word != 1 || w->length < 2 || !row || !row->arg)
        return;
    w->row = row;
    w->value = w->name + 1;
    w->length = 1;
}

bool option_next(const struct option_syntax *s, struct option_reader *r, struct option_word *out)
{
    if (!r->words_only && r->at < r->argc && !strcmp(r->argv[r->at], "--")) {
        r->words_only = true;
        r->at++;
    }
    if (r->at >= r->argc)
        return false;
    *out = (struct option_word){.word = r->argv[r->at++]};
    if (r->words_only || out->word[0] != '-' || !out->word[1])
        return true;
    out->name = out->word + 1 + (out->word[1] == '-');
    out->length = strcspn(out->name, "=");
    out->value = out->name[out->length] ? out->name + out->length + 1 : NULL;
    out->row = option_find(s, out->name, out->length, &out->elsewhere);
    if (!out->row && s->attached)
        word_split(s, out);
    return true;
}

const char *option_value(struct option_reader *r, const struct option_word *w)
{
    if (w->value)
        return w->value;
    return r->at < r->argc ? r->argv[r->at++] : NULL;
}

int option_complete(const struct option_syntax *s, struct option_reader *r,
                    const struct option_word *w, const char **value, struct option_fault *fault)
{
    char hint[80];
    snprintf(hint, sizeof(hint), "see: %s", s->help);
    if (!w->row->arg && w->value)
        return option_fail(fault, hint, "%s: takes no argument", w->word);
    *value = w->row->arg ? option_value(r, w) : NULL;
    if (w->row->arg && !*value)
        return option_fail(fault, hint, "%s: %s is missing", w->word, w->row->arg);
    return 0;
}

int option_store(const struct option_row *row, const char *text, void *values,
                 struct option_fault *fault)
{
    char name[48];
    const struct option_place *p = &row->place;
    struct option_text t = {
        option_spelling(row, name, sizeof(name)), text, row->choices, p->least, p->most, fault};
    return p->parse(&t, (char *)values + p->offset);
}
