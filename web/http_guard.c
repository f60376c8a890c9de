/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a request has to show: see http_guard.h.
 *
 * Host: a page of a stranger can make its own name point at this machine. A browser then sends that
 * name, which is none of ours (DNS rebinding).
 */
#include "web/http_guard.h"

#include "web/http_connections.h"
#include "web/http_path.h"
#include "web/http_reply.h"
#include "web/web.h"

#include <string.h>
#include <strings.h>

enum { HOST = 256 };

static const char *header_of(const struct http_request *r, const char *name)
{
    return MHD_lookup_connection_value(r->mhd, MHD_HEADER_KIND, name);
}

static bool host_is_ours(const struct web *w, const char *host)
{
    static const char *const loopback[] = {"localhost", "127.0.0.1", "::1"};
    for (size_t i = 0; i < sizeof(loopback) / sizeof(*loopback); i++)
        if (strcmp(host, loopback[i]) == 0)
            return true;
    for (unsigned i = 0; i < w->options.n_names; i++)
        if (strcasecmp(host, w->options.names[i]) == 0)
            return true;
    return strcmp(host, w->address) == 0;
}

static bool admission_pass(struct http_request *r, enum MHD_Result *result)
{
    switch (http_connection_asks(r->connection)) {
    case HTTP_ADMITTED:
        return true;
    case HTTP_TOO_MANY:
        *result = http_fail(r, MHD_HTTP_SERVICE_UNAVAILABLE, "--connections raises the limit",
                            "too many connections");
        break;
    case HTTP_TOO_MANY_OF_ADDRESS:
        *result =
            http_fail(r, MHD_HTTP_SERVICE_UNAVAILABLE, "--connections-per-address raises the limit",
                      "too many connections of this address");
        break;
    case HTTP_TOO_OFTEN:
        *result = http_fail(r, MHD_HTTP_TOO_MANY_REQUESTS, "--requests-per-second raises the limit",
                            "too many requests of this address");
        break;
    }
    return false;
}

static bool host_pass(struct http_request *r, enum MHD_Result *result)
{
    char host[HOST];
    const char *header = header_of(r, MHD_HTTP_HEADER_HOST);
    if (header && http_host_split(header, host, sizeof(host)) && host_is_ours(r->web, host))
        return true;
    *result = http_fail(r, MHD_HTTP_MISDIRECTED_REQUEST,
                        "use the address that pelton-web listens at, or give it --name HOST",
                        "this server has another name");
    return false;
}

bool http_guard_pass(struct http_request *r, enum MHD_Result *result)
{
    return admission_pass(r, result) && host_pass(r, result);
}
