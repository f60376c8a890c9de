/* SPDX-License-Identifier: BSD-2-Clause
 *
 * /api/v1/openapi.json: the route table in the form of OpenAPI 3.1. The parameters of streams
 * are those of http_query.c, the bodies those of api_schemas.c.
 */
#include "web/api_schemas.h"
#include "web/handlers.h"
#include "web/http_query.h"
#include "web/http_reply.h"

#include <ctype.h>
#include <string.h>

static void parameter_write(struct json *j, const char *name, const char *place, const char *about)
{
    json_open(j, NULL, '{');
    json_text(j, "name", name);
    json_text(j, "in", place);
    json_bool(j, "required", strcmp(place, "path") == 0);
    json_text(j, "description", about);
    json_open(j, "schema", '{');
    json_text(j, "type", "string");
    json_close(j, '}');
    json_close(j, '}');
}

/* Access units leave as they came: nothing can be wished of them. */
static bool takes_wishes(const struct http_route *route)
{
    static const char *const encoded[] = {".h264", ".mp4", ".ts"};
    const char *pattern = route->pattern, *dot = strrchr(pattern, '.');
    for (size_t i = 0; dot && i < sizeof(encoded) / sizeof(*encoded); i++)
        if (strcmp(dot, encoded[i]) == 0)
            return false;
    return strncmp(pattern, "/streams/", 9) == 0;
}

static void parameters_write(struct json *j, const struct http_route *route)
{
    const char *form;
    json_open(j, "parameters", '[');
    if (strchr(route->pattern, '{'))
        parameter_write(j, "name", "path", "the name of a source");
    for (unsigned i = 0; takes_wishes(route) && stream_query_name(i, &form); i++)
        parameter_write(j, stream_query_name(i, &form), "query", form);
    json_close(j, ']');
}

/* type NULL: no body. schema NULL: any of this type. */
static void content_write(struct json *j, const char *type, const char *schema)
{
    json_open(j, "content", '{');
    json_open(j, type, '{');
    if (schema)
        api_schema_refer(j, "schema", schema);
    json_close(j, '}');
    json_close(j, '}');
}

static void response_write(struct json *j, const char *status, const char *about, const char *type,
                           const char *schema)
{
    json_open(j, status, '{');
    json_text(j, "description", about);
    if (type)
        content_write(j, type, schema);
    json_close(j, '}');
}

static void request_write(struct json *j, const struct http_route *route)
{
    const char *schema = api_request_schema(route);
    if (!schema)
        return;
    json_open(j, "requestBody", '{');
    json_bool(j, "required", true);
    content_write(j, "application/json", schema);
    json_close(j, '}');
}

static void operation_write(struct json *j, const struct http_route *route)
{
    char method[16] = "";
    bool empty = strcmp(route->pattern, "/api/v1/session") == 0;
    for (size_t i = 0; route->method[i] && i + 1 < sizeof(method); i++)
        method[i] = (char)tolower((unsigned char)route->method[i]);
    json_open(j, method, '{');
    json_text(j, "summary", route->summary);
    parameters_write(j, route);
    request_write(j, route);
    json_open(j, "responses", '{');
    response_write(j, empty ? "204" : "200", route->summary, empty ? NULL : route->type,
                   api_answer_schema(route));
    response_write(j, "default", "A refusal, or a failure", "application/json", "Error");
    json_close(j, '}');
    if (strcmp(route->pattern, "/api/v1/events") == 0)
        api_events_describe(j);
    if (route->access == HTTP_PUBLIC) {
        json_open(j, "security", '[');
        json_close(j, ']');
    }
    json_close(j, '}');
}

/* The methods of a path stand together, where its first row stands. */
static void paths_write(struct json *j)
{
    for (size_t i = 0; i < http_route_count; i++) {
        const char *pattern = http_routes[i].pattern;
        size_t first = 0;
        while (strcmp(http_routes[first].pattern, pattern) != 0)
            first++;
        if (first < i)
            continue;
        json_open(j, pattern, '{');
        for (size_t k = i; k < http_route_count; k++)
            if (strcmp(http_routes[k].pattern, pattern) == 0)
                operation_write(j, &http_routes[k]);
        json_close(j, '}');
    }
}

static void security_write(struct json *j)
{
    json_open(j, "components", '{');
    api_schemas_write(j);
    json_open(j, "securitySchemes", '{');
    json_open(j, "token", '{');
    json_text(j, "type", "http");
    json_text(j, "scheme", "bearer");
    json_close(j, '}');
    json_close(j, '}');
    json_close(j, '}');
    json_open(j, "security", '[');
    json_open(j, NULL, '{');
    json_open(j, "token", '[');
    json_close(j, ']');
    json_close(j, '}');
    json_close(j, ']');
}

enum MHD_Result api_description_get(struct http_request *r)
{
    struct http_json out;
    if (!http_json_begin(&out))
        return http_fail(r, MHD_HTTP_INTERNAL_SERVER_ERROR, "free some memory", "no memory");
    json_open(&out.json, NULL, '{');
    json_text(&out.json, "openapi", "3.1.0");
    json_open(&out.json, "info", '{');
    json_text(&out.json, "title", "pelton-web");
    json_text(&out.json, "version", "1");
    json_close(&out.json, '}');
    json_open(&out.json, "paths", '{');
    paths_write(&out.json);
    json_close(&out.json, '}');
    security_write(&out.json);
    json_close(&out.json, '}');
    return http_json_end(r, MHD_HTTP_OK, &out);
}
