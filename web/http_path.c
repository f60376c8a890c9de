/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Texts of a request's first line: see http_path.h.
 */
#include "web/http_path.h"

#include <ctype.h>
#include <string.h>

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* One character, decoded; -1: broken, or one that no text of ours has. */
static int text_character(const char **text)
{
    const char *t = *text;
    int c = (unsigned char)*t++;
    if (c == '%') {
        int high = hex_digit(t[0]), low = high < 0 ? -1 : hex_digit(t[1]);
        if (low < 0)
            return -1;
        c = high * 16 + low;
        t += 2;
    }
    *text = t;
    return c < ' ' || c == 127 ? -1 : c;
}

bool http_text_decode(const char *text, char *out, size_t size)
{
    size_t n = 0;
    while (*text) {
        int c = text_character(&text);
        if (c < 0 || n + 1 >= size)
            return false;
        out[n++] = (char)c;
    }
    if (size == 0)
        return false;
    out[n] = 0;
    return true;
}

static bool part_is_plain(const char *part, size_t n)
{
    bool dots = (n == 1 && part[0] == '.') || (n == 2 && part[0] == '.' && part[1] == '.');
    return n > 0 && !dots && !memchr(part, '\\', n);
}

static size_t slashes(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += *text == '/';
    return n;
}

bool http_path_decode(const char *text, char *out, size_t size)
{
    if (text[0] != '/' || !http_text_decode(text, out, size) || slashes(text) != slashes(out))
        return false;
    if (!out[1])
        return true;
    for (const char *part = out; *part == '/';) {
        size_t n = strcspn(++part, "/");
        if (!part_is_plain(part, n))
            return false;
        part += n;
    }
    return true;
}

static bool port_is_good(const char *text)
{
    size_t n = strspn(text, "0123456789");
    return n > 0 && n <= 5 && !text[n];
}

bool http_host_split(const char *header, char *out, size_t size)
{
    bool bracket = header[0] == '[';
    const char *host = header + bracket;
    size_t n = strcspn(host, bracket ? "]" : ":");
    const char *rest = host + n;
    if (bracket && *rest++ != ']')
        return false;
    if (n == 0 || n >= size || (*rest && (*rest != ':' || !port_is_good(rest + 1))))
        return false;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)host[i];
        if (!isalnum(c) && c != '.' && c != '-' && c != '_' && !(bracket && c == ':'))
            return false;
        out[i] = (char)tolower(c);
    }
    out[n] = 0;
    return true;
}
