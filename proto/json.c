/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Writing JSON.
 */
#include "proto/json.h"

#include <inttypes.h>
#include <math.h>

/* The length of the UTF-8 character at the start of a text; 0: its bytes are none. Neither forms
 * that are longer than needed nor surrogates are characters (RFC 3629). */
static int utf8_length(const unsigned char *t)
{
    int length = t[0] < 0x80 ? 1 : t[0] < 0xc2 ? 0 : t[0] < 0xe0 ? 2 : t[0] < 0xf0 ? 3 : 4;
    if (t[0] > 0xf4)
        return 0;
    for (int i = 1; i < length; i++)
        if ((t[i] & 0xc0) != 0x80)
            return 0;
    bool wrong = (t[0] == 0xe0 && t[1] < 0xa0) || (t[0] == 0xed && t[1] > 0x9f) ||
                 (t[0] == 0xf0 && t[1] < 0x90) || (t[0] == 0xf4 && t[1] > 0x8f);
    return wrong ? 0 : length;
}

/* Bytes that are no UTF-8 become the replacement character: JSON has no place for them. */
static void quoted(FILE *file, const char *text)
{
    putc('"', file);
    while (*text) {
        int length = utf8_length((const unsigned char *)text);
        unsigned char c = (unsigned char)*text;
        if (length == 0)
            fputs("\\ufffd", file);
        else if (c == '"' || c == '\\')
            fprintf(file, "\\%c", c);
        else if (c < ' ' || c == 127)
            fprintf(file, "\\u%04x", c);
        else
            fwrite(text, 1, (size_t)length, file);
        text += length ? length : 1;
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
