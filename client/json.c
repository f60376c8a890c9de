/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Writing JSON.
 */
#include "client/json.h"

#include <inttypes.h>
#include <math.h>

static void quoted(FILE *file, const char *text)
{
    putc('"', file);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(file, "\\%c", c);
        else if (c < ' ')
            fprintf(file, "\\u%04x", c);
        else
            putc(c, file);
    }
    putc('"', file);
}

static void begin_value(struct json *j, const char *name)
{
    if (j->compact)
        fputs(j->more ? ", " : "", j->file);
    else
        fprintf(j->file, "%s%s%*s", j->more ? "," : "", j->depth ? "\n" : "", 2 * j->depth, "");
    if (name) {
        quoted(j->file, name);
        fputs(": ", j->file);
    }
    j->more = true;
}

void json_open(struct json *j, const char *name, char bracket)
{
    begin_value(j, name);
    putc(bracket, j->file);
    j->depth++;
    j->more = false;
}

void json_close(struct json *j, char bracket)
{
    j->depth--;
    if (j->more && !j->compact)
        fprintf(j->file, "\n%*s", 2 * j->depth, "");
    putc(bracket, j->file);
    j->more = true;
    if (j->depth == 0)
        putc('\n', j->file);
}

void json_text(struct json *j, const char *name, const char *value)
{
    begin_value(j, name);
    if (value)
        quoted(j->file, value);
    else
        fputs("null", j->file);
}

void json_int(struct json *j, const char *name, int64_t value)
{
    begin_value(j, name);
    fprintf(j->file, "%" PRId64, value);
}

void json_number(struct json *j, const char *name, double value)
{
    begin_value(j, name);
    if (isfinite(value))
        fprintf(j->file, "%.9g", value);
    else
        fputs("null", j->file);
}

void json_bool(struct json *j, const char *name, bool value)
{
    begin_value(j, name);
    fputs(value ? "true" : "false", j->file);
}

void json_null(struct json *j, const char *name)
{
    json_text(j, name, NULL);
}
