/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Names of inputs without their password.
 */
#include "client/input_name.h"

#include <stdio.h>
#include <string.h>

bool input_is_url(const char *name)
{
    const char *colon = strstr(name, "://");
    if (!colon || colon == name)
        return false;
    for (const char *p = name; p < colon; p++) {
        bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z');
        bool other = (*p >= '0' && *p <= '9') || *p == '+' || *p == '-' || *p == '.';
        if (!letter && !(other && p > name))
            return false;
    }
    return true;
}

const char *input_shown_name(const char *name, char *buffer, size_t size)
{
    if (!input_is_url(name))
        return name;
    const char *host = strstr(name, "://") + 3, *end = host + strcspn(host, "/?#"), *at = NULL;
    for (const char *p = host; p < end; p++)
        at = *p == '@' ? p : at;
    const char *colon = at ? memchr(host, ':', (size_t)(at - host)) : NULL;
    if (!colon)
        return name;
    snprintf(buffer, size, "%.*s:***%s", (int)(colon - name), name, at);
    return buffer;
}
