/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a request has to show: see http_guard.h.
 *
 * Host: a page of a stranger can make its own name point at this machine. A browser then sends that
 * name, which is none of ours (DNS rebinding).
 *
 * Token: by "Authorization: Bearer", by a password (ffplay http://any:TOKEN@host/), or by the
 * page's cookie. Browsers send the last two by themselves, also for a stranger's page. So a request
 * that changes something has to come from this server's own page, or to bring a bearer token.
 */
#include "web/http_guard.h"

#include "web/http_connections.h"
#include "web/http_path.h"
#include "web/http_reply.h"
#include "web/web.h"
#include "web/web_tokens.h"

#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
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

/* ---- tokens ---- */

struct shown_token {
    char text[TOKEN_MOST + 1];
    size_t size;
    bool bearer; /* a browser does not send it by itself */
};

static bool token_copy(struct shown_token *out, const char *text, size_t size)
{
    if (size == 0 || size > TOKEN_MOST)
        return false;
    memcpy(out->text, text, size);
    out->text[size] = 0;
    out->size = size;
    return true;
}

/* "USER:PASSWORD" in base 64. */
static bool token_of_password(struct shown_token *out, const char *text)
{
    const gnutls_datum_t encoded = {(unsigned char *)(uintptr_t)text, (unsigned)strlen(text)};
    gnutls_datum_t plain = {0};
    if (encoded.size > 1024 || gnutls_base64_decode2(&encoded, &plain) < 0)
        return false;
    const unsigned char *colon = memchr(plain.data, ':', plain.size);
    bool good = colon && token_copy(out, (const char *)colon + 1,
                                    plain.size - (size_t)(colon - plain.data) - 1);
    gnutls_memset(plain.data, 0, plain.size);
    gnutls_free(plain.data);
    return good;
}

static bool token_shown(const struct http_request *r, struct shown_token *out)
{
    const char *header = header_of(r, MHD_HTTP_HEADER_AUTHORIZATION);
    const char *cookie = MHD_lookup_connection_value(r->mhd, MHD_COOKIE_KIND, "pelton");
    *out = (struct shown_token){.bearer = header && strncasecmp(header, "Bearer ", 7) == 0};
    if (out->bearer)
        return token_copy(out, header + 7, strlen(header + 7));
    if (header)
        return strncasecmp(header, "Basic ", 6) == 0 && token_of_password(out, header + 6);
    return cookie && token_copy(out, cookie, strlen(cookie));
}

bool http_guard_bearer(const struct http_request *r, char *out)
{
    struct shown_token t;
    bool good = token_shown(r, &t) && t.bearer;
    if (good)
        memcpy(out, t.text, t.size + 1);
    return good;
}

/* *bearer: a token that is good was shown by a header of its own. */
static bool token_pass(struct http_request *r, bool *bearer, enum MHD_Result *result)
{
    struct shown_token shown;
    struct web_tokens *tokens = r->web->tokens;
    *bearer = false;
    if (r->route->access == HTTP_PUBLIC || !web_tokens_any(tokens))
        return true;
    if (!http_connection_may_guess(r->connection)) {
        *result = http_fail(r, MHD_HTTP_TOO_MANY_REQUESTS, "wait a minute",
                            "too many wrong tokens of this address");
        return false;
    }
    bool any = token_shown(r, &shown);
    enum token_right right = any ? web_tokens_right(tokens, shown.text, shown.size) : TOKEN_NONE;
    *bearer = right != TOKEN_NONE && shown.bearer;
    if (right == TOKEN_NONE) {
        if (any)
            http_connection_guessed(r->connection);
        *result = http_fail(r, MHD_HTTP_UNAUTHORIZED, "send Authorization: Bearer TOKEN",
                            any ? "no such token" : "a token is needed");
    } else if (r->route->access == HTTP_CONTROL && right != TOKEN_CONTROL) {
        *result = http_fail(r, MHD_HTTP_FORBIDDEN, "take a token for control",
                            "this token may read alone");
        right = TOKEN_NONE;
    }
    return right != TOKEN_NONE;
}

/* The page's own origin is the scheme of this server with the very Host of the request. */
static bool origin_is_own(const struct http_request *r)
{
    char own[HOST + 16];
    const char *origin = header_of(r, MHD_HTTP_HEADER_ORIGIN);
    snprintf(own, sizeof(own), "%s://%s", r->web->tls ? "https" : "http",
             header_of(r, MHD_HTTP_HEADER_HOST));
    return origin && strcasecmp(origin, own) == 0;
}

static bool origin_pass(struct http_request *r, bool bearer, enum MHD_Result *result)
{
    const char *origin = header_of(r, MHD_HTTP_HEADER_ORIGIN);
    bool changes = strcmp(r->route->method, "GET") != 0;
    if (!changes || origin_is_own(r) || (bearer && !origin))
        return true;
    *result = http_fail(r, MHD_HTTP_FORBIDDEN,
                        "send Origin: http://HOST of this server, or Authorization: Bearer TOKEN",
                        origin ? "the request comes from another site"
                               : "a request that changes something tells its origin");
    return false;
}

/* The length that is announced; a body without one is cut when it is too long. */
static bool length_pass(struct http_request *r, enum MHD_Result *result)
{
    const char *length = header_of(r, MHD_HTTP_HEADER_CONTENT_LENGTH);
    if (!length || strtoull(length, NULL, 10) <= r->web->options.limits.body_bytes)
        return true;
    *result = http_fail(r, MHD_HTTP_CONTENT_TOO_LARGE, "--body-bytes raises the limit",
                        "the body is too large");
    return false;
}

bool http_guard_admit(struct http_request *r, enum MHD_Result *result)
{
    return admission_pass(r, result) && host_pass(r, result);
}

bool http_guard_pass(struct http_request *r, enum MHD_Result *result)
{
    bool bearer;
    return token_pass(r, &bearer, result) && origin_pass(r, bearer, result) &&
           length_pass(r, result);
}
