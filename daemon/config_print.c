/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See config_print.h.
 */
#include "daemon/config_print.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The length of the character at text; a byte that is no UTF-8 counts as one. */
static size_t character_read(const char *text, uint32_t *out)
{
    const unsigned char *b = (const unsigned char *)text;
    size_t n = b[0] < 0xc2 ? 1 : b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : b[0] < 0xf5 ? 4 : 1;
    uint32_t c = n == 1 ? b[0] : b[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((b[i] & 0xc0) != 0x80) {
            *out = b[0];
            return 1;
        }
        c = c << 6 | (b[i] & 0x3f);
    }
    *out = c;
    return n;
}

/* Controls, line ends, the byte order mark, and code points that are no characters. */
static bool is_special(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff ||
           (c & 0xfffe) == 0xfffe;
}

static void print_quoted(const char *text, const char *doubled, FILE *to)
{
    fputc('"', to);
    while (*text) {
        uint32_t c;
        size_t n = character_read(text, &c);
        if (is_special(c) || (n == 1 && c >= 0x80)) {
            fprintf(to, "\\U%08X", (unsigned)c);
        } else {
            if (c == '"' || c == '\\')
                fputc('\\', to);
            if (strchr(doubled, *text))
                fputc(*text, to);
            fwrite(text, 1, n, to);
        }
        text += n;
    }
    fputc('"', to);
}

void config_print_value(const char *value, FILE *to)
{
    print_quoted(value, "$", to);
}

void config_print_key(const char *key, FILE *to)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    if (key[0] && key[strspn(key, plain)] == 0)
        fputs(key, to);
    else
        print_quoted(key, "", to);
}
