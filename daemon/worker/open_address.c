/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The address of an Open with what belongs to it: see open_address.h.
 */
#include "daemon/worker/open_address.h"

#include "camera/camera_params.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *with_settings(const Pelton__Open *m)
{
    char *address = malloc(CAMERA_ADDRESS);
    bool fits = address && snprintf(address, CAMERA_ADDRESS, "%s", m->uri) < CAMERA_ADDRESS;
    for (size_t i = 0; fits && i < m->n_settings; i++)
        fits = camera_address_append(address, m->settings[i]->key, m->settings[i]->value);
    if (fits)
        return address;
    free(address);
    return NULL;
}

/* RFC 3986, 3.2.1. out has room for three letters each. */
static char *escape(char *out, const char *text)
{
    for (; *text; text++) {
        bool plain = isalnum((unsigned char)*text) || strchr("-._~", *text);
        out += sprintf(out, plain ? "%c" : "%%%02X", (unsigned char)*text);
    }
    return out;
}

static char *with_login(const Pelton__Open *m)
{
    const char *host = strstr(m->uri, "://");
    size_t user = strlen(m->login->user), password = strlen(m->login->password);
    if (!host || user > CAMERA_ADDRESS || password > CAMERA_ADDRESS)
        return NULL;
    host += 3;
    char *address = malloc(strlen(m->uri) + 3 * (user + password) + 3), *at = address;
    if (!address)
        return NULL;
    memcpy(at, m->uri, (size_t)(host - m->uri));
    at = escape(at + (host - m->uri), m->login->user);
    if (password) {
        *at++ = ':';
        at = escape(at, m->login->password);
    }
    *at++ = '@';
    strcpy(at, host);
    return address;
}

char *open_address(const Pelton__Open *m)
{
    if (camera_address(m->uri))
        return with_settings(m);
    return m->login ? with_login(m) : strdup(m->uri);
}
