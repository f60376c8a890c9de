/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See option_help.h.
 */
#include "proto/option_help.h"

#include <stdio.h>
#include <string.h>

enum { WIDTH = 80, INDENT = 27 };

void help_wrapped(const char *text, int indent, int at)
{
    while (*text) {
        int n = (int)strcspn(text, " \n");
        if (at > indent && at + 1 + n > WIDTH) {
            printf("\n%*s", indent, "");
            at = indent;
        } else if (at > indent) {
            putchar(' ');
            at++;
        }
        printf("%.*s", n, text);
        at += n;
        text += n;
        if (*text == '\n') {
            printf("\n\n%*s", indent, "");
            at = indent;
        }
        text += *text != 0;
    }
    putchar('\n');
}

void help_pair(const char *name, const char *meaning)
{
    printf("  %-*s", INDENT - 2, name);
    if (strlen(name) + 2 >= INDENT)
        printf("\n%*s", INDENT, "");
    help_wrapped(meaning, INDENT, INDENT);
}

/* The length of the first sentence. */
static int first_sentence(const char *text)
{
    const char *end = strstr(text, ". ");
    return end ? (int)(end - text) + 1 : (int)strlen(text);
}

void help_row(const struct option_row *row, bool whole)
{
    char name[48], left[96], text[1024];
    option_spelling(row, name, sizeof(name));
    snprintf(left, sizeof(left), "%s%s%s", name, row->arg ? " " : "", row->arg ? row->arg : "");
    snprintf(text, sizeof(text), "%.*s%s%s%s",
             whole ? (int)strlen(row->help) : first_sentence(row->help), row->help,
             row->fallback ? " [" : "", row->fallback ? row->fallback : "",
             row->fallback ? "]" : "");
    help_pair(left, text);
}
