/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What an address leads to: see source_scheme.h.
 */
#include "daemon/source_scheme.h"

#include "camera/camera_params.h"
#include "proto/near_name.h"

#include <stdio.h>
#include <string.h>

/* http may come back too, but a file on a server ends when it has been read. */
static const struct {
    const char *name;
    enum source_kind kind;
    bool comes_back;
} schemes[] = {
    {"file", SOURCE_FILE, false},     {"http", SOURCE_NETWORK, false},
    {"https", SOURCE_NETWORK, false}, {"rtsp", SOURCE_NETWORK, true},
    {"rtsps", SOURCE_NETWORK, true},  {"rtmp", SOURCE_NETWORK, true},
    {"rtmps", SOURCE_NETWORK, true},  {"srt", SOURCE_NETWORK, true},
    {"udp", SOURCE_NETWORK, true},    {"rtp", SOURCE_NETWORK, true},
    {"tcp", SOURCE_NETWORK, true},    {"tls", SOURCE_NETWORK, true},
};
enum { SCHEMES = sizeof(schemes) / sizeof(schemes[0]) };

static int scheme_find(const char *name, size_t length)
{
    for (int i = 0; i < SCHEMES; i++)
        if (strlen(schemes[i].name) == length && strncmp(schemes[i].name, name, length) == 0)
            return i;
    return -1;
}

/* The letters before "://"; 0: it is a path. */
static size_t scheme_length(const char *address)
{
    size_t n = strspn(address, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");
    return strncmp(address + n, "://", 3) == 0 ? n : 0;
}

static void scheme_refuse(const char *name, size_t length, char *why, size_t size)
{
    char word[32], also[96];
    const char *camera;
    snprintf(word, sizeof(word), "%.*s", (int)length, name);
    struct near_name near = near_name_of(word, strlen(word));
    for (int i = 0; i < SCHEMES; i++)
        near_name_try_name(&near, schemes[i].name);
    for (unsigned i = 0; (camera = camera_scheme(i)) != NULL; i++)
        near_name_try_name(&near, camera);
    snprintf(why, size, "%s://: no source has this scheme%s", word,
             near_name_also(&near, also, sizeof(also)));
}

bool source_scheme(const char *address, enum source_kind *out, char *why, size_t size)
{
    size_t n = scheme_length(address);
    int i = n ? scheme_find(address, n) : 0;
    if (camera_address(address)) {
        *out = SOURCE_CAMERA;
    } else if (i < 0) {
        scheme_refuse(address, n, why, size);
        return false;
    } else {
        *out = n ? schemes[i].kind : SOURCE_FILE;
    }
    return true;
}

bool source_is_network(const char *address)
{
    size_t n = scheme_length(address);
    int i = n ? scheme_find(address, n) : -1;
    return i >= 0 && schemes[i].comes_back;
}

size_t source_login_length(const char *address, const char **out)
{
    size_t n = scheme_length(address);
    if (!n || camera_address(address))
        return 0;
    const char *host = address + n + 3, *end = host + strcspn(host, "/?#"), *last = NULL;
    for (const char *p = host; p < end; p++)
        last = *p == '@' ? p : last;
    *out = host;
    return last ? (size_t)(last - host) : 0;
}
