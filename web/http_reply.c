/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Answers that are complete: see http_reply.h.
 */
#include "web/http_reply.h"

#include "web/http_headers.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void http_headers_common(struct MHD_Response *response, const char *type)
{
    static const char *const common[][2] = {
        {"X-Content-Type-Options", "nosniff"},
        {"X-Frame-Options", "DENY"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"Cache-Control", "no-store"},
    };
    for (size_t i = 0; i < sizeof(common) / sizeof(*common); i++)
        MHD_add_response_header(response, common[i][0], common[i][1]);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
}

enum MHD_Result http_reply_with(struct http_request *r, unsigned status, const char *type,
                                const void *bytes, size_t size, const char *header,
                                const char *value)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(size, (void *)(uintptr_t)bytes, MHD_RESPMEM_MUST_COPY);
    if (!response)
        return MHD_NO;
    http_headers_common(response, type);
    if (header)
        MHD_add_response_header(response, header, value);
    r->replied = true;
    enum MHD_Result sent = MHD_queue_response(r->mhd, status, response);
    MHD_destroy_response(response);
    return sent;
}

enum MHD_Result http_reply(struct http_request *r, unsigned status, const char *type,
                           const void *bytes, size_t size)
{
    return http_reply_with(r, status, type, bytes, size, NULL, NULL);
}

/* Some refusals say more in a header. A script's request (the page's) gets no offer of Basic, else
 * the browser would ask for a password in a window of its own. */
static const char *fail_header(const struct http_request *r, unsigned status, const char **value)
{
    const char *asks = MHD_lookup_connection_value(r->mhd, MHD_HEADER_KIND, "Sec-Fetch-Dest");
    bool script = asks && strcmp(asks, "empty") == 0;
    *value = status != MHD_HTTP_UNAUTHORIZED ? "1"
             : script                        ? "Bearer realm=\"pelton\""
                                             : "Basic realm=\"pelton\", charset=\"UTF-8\"";
    return status == MHD_HTTP_UNAUTHORIZED ? MHD_HTTP_HEADER_WWW_AUTHENTICATE
           : status == MHD_HTTP_TOO_MANY_REQUESTS || status == MHD_HTTP_SERVICE_UNAVAILABLE
               ? MHD_HTTP_HEADER_RETRY_AFTER
               : NULL;
}

enum MHD_Result http_fail(struct http_request *r, unsigned status, const char *hint,
                          const char *cause, ...)
{
    char text[512];
    const char *value, *header = fail_header(r, status, &value);
    struct http_json out;
    va_list args;
    va_start(args, cause);
    vsnprintf(text, sizeof(text), cause, args);
    va_end(args);
    if (!http_json_begin(&out))
        return MHD_NO;
    json_open(&out.json, NULL, '{');
    json_text(&out.json, "error", text);
    json_text(&out.json, "hint", hint);
    json_close(&out.json, '}');
    fclose(out.json.file);
    enum MHD_Result sent =
        http_reply_with(r, status, "application/json", out.text, out.size, header, value);
    free(out.text);
    return sent;
}

bool http_json_begin(struct http_json *out)
{
    *out = (struct http_json){.json = {.compact = true}};
    out->json.file = open_memstream(&out->text, &out->size);
    return out->json.file != NULL;
}

enum MHD_Result http_json_end(struct http_request *r, unsigned status, struct http_json *out)
{
    bool good = out->json.file && fclose(out->json.file) == 0;
    enum MHD_Result sent = good ? http_reply(r, status, "application/json", out->text, out->size)
                                : http_fail(r, MHD_HTTP_INTERNAL_SERVER_ERROR, "free some memory",
                                            "no memory for the answer");
    free(out->text);
    return sent;
}
