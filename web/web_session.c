/* SPDX-License-Identifier: BSD-2-Clause
 *
 * /api/v1/session: a browser that shows a token by a header gets a cookie with it, because its
 * pictures and event streams can send no header. Scripts cannot read the cookie, and other sites
 * cannot make the browser send it.
 */
#include "web/handlers.h"
#include "web/http_guard.h"
#include "web/http_reply.h"
#include "web/web.h"
#include "web/web_tls.h"
#include "web/web_tokens.h"

#include <stdio.h>

static enum MHD_Result cookie_reply(struct http_request *r, const char *value, const char *age)
{
    char cookie[TOKEN_MOST + 128];
    snprintf(cookie, sizeof(cookie), "pelton=%s; Path=/; HttpOnly; SameSite=Strict%s%s", value,
             r->web->tls ? "; Secure" : "", age);
    return http_reply_with(r, MHD_HTTP_NO_CONTENT, "text/plain", "", 0, MHD_HTTP_HEADER_SET_COOKIE,
                           cookie);
}

enum MHD_Result session_post(struct http_request *r)
{
    char token[TOKEN_MOST + 1];
    if (!http_guard_bearer(r, token))
        return http_fail(r, MHD_HTTP_BAD_REQUEST, "send Authorization: Bearer TOKEN",
                         "the request shows no token");
    return cookie_reply(r, token, "; Max-Age=2592000");
}

enum MHD_Result session_delete(struct http_request *r)
{
    return cookie_reply(r, "", "; Max-Age=0");
}
