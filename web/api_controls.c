/* SPDX-License-Identifier: BSD-2-Clause
 *
 * /api/v1/sources/NAME/controls: the controls of a camera. GET lists them; PATCH sets those that
 * its object names, all or none: {"ExposureTime": 5000, "AeEnable": true, "ColourGains": [1.5, 2]}.
 * The failure modes are a body that is no such object, a control or value that the camera refuses,
 * and a source that has no controls or does not open in time.
 */
#include "web/api_sources.h"
#include "web/control_board.h"
#include "web/handlers.h"
#include "web/http_reply.h"
#include "web/stream_request.h"
#include "web/web.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CONNECT_MS = 3000, OPEN_MS = 8000, ASK_MS = 5000 };

#define PATCH_HINT "as in {\"ExposureTime\": 5000, \"AeEnable\": true}"

/* ---- the body of PATCH ---- */

static bool value_read(const cJSON *item, double *out)
{
    *out = cJSON_IsBool(item) ? cJSON_IsTrue(item) : item->valuedouble;
    return (cJSON_IsBool(item) || cJSON_IsNumber(item)) && isfinite(*out);
}

/* A number, true or false, or an array of them. */
static bool wish_read(const cJSON *item, struct pelton_control *out)
{
    const cJSON *value;
    *out = (struct pelton_control){.n = 0};
    if (!item->string || strlen(item->string) >= sizeof(out->name))
        return false;
    memcpy(out->name, item->string, strlen(item->string));
    if (!cJSON_IsArray(item)) {
        out->n = 1;
        return value_read(item, &out->value[0]);
    }
    cJSON_ArrayForEach(value, item)
    {
        if (out->n == PELTON_CONTROL_VALUES || !value_read(value, &out->value[out->n++]))
            return false;
    }
    return out->n > 0;
}

/* Fills in the wishes. False: answered. */
static bool wishes_read(struct http_request *r, const cJSON *body, struct control_list *out,
                        enum MHD_Result *result)
{
    const cJSON *item;
    if (!cJSON_IsObject(body) || !body->child) {
        *result = http_fail(r, MHD_HTTP_BAD_REQUEST, PATCH_HINT, "the body is no object of JSON");
        return false;
    }
    cJSON_ArrayForEach(item, body)
    {
        if (out->n < PELTON_MAX_CONTROLS && wish_read(item, &out->control[out->n])) {
            out->n++;
            continue;
        }
        *result = http_fail(
            r, MHD_HTTP_BAD_REQUEST, PATCH_HINT, "%.40s: %s", item->string ? item->string : "",
            out->n < PELTON_MAX_CONTROLS ? "expected a number, true, false or an array"
                                         : "more controls than there are");
        return false;
    }
    return true;
}

static bool patch_read(struct http_request *r, struct control_list *out, enum MHD_Result *result)
{
    cJSON *body = r->body ? cJSON_ParseWithLength(r->body, r->body_size) : NULL;
    bool good = wishes_read(r, body, out, result);
    cJSON_Delete(body);
    return good;
}

/* ---- the daemon ---- */

/* Sets the wishes, which may be none, and lists all controls in their place. */
static int controls_ask(struct http_request *r, struct control_list *list,
                        struct pelton_failure *why)
{
    char uri[160];
    struct control_list wishes = *list;
    struct pelton_open_params params;
    struct pelton *conn = NULL;
    struct pelton_stream *stream = NULL;
    pelton_open_params_init(&params);
    snprintf(uri, sizeof(uri), "source:%s", list->source);
    params.uri = uri;
    params.bench.transport = PELTON_NONE;
    int rc = pelton_connect(r->web->options.socket, CONNECT_MS, &conn);
    rc = rc < 0 ? rc : pelton_open(conn, &params, OPEN_MS, NULL, &stream);
    rc = rc < 0
             ? rc
             : pelton_controls(stream, ASK_MS, wishes.control, wishes.n, list->control, &list->n);
    if (rc < 0)
        *why = *pelton_failure(conn);
    if (rc == PELTON_ERR_USAGE && !why->hint[0])
        snprintf(why->hint, sizeof(why->hint), "GET of this address lists the controls");
    pelton_stream_close(stream);
    pelton_close(conn);
    return rc;
}

static enum MHD_Result controls_answer(struct http_request *r, struct control_list *list)
{
    struct pelton_failure why;
    struct http_json out;
    bool set = list->n > 0;
    if (controls_ask(r, list, &why) < 0)
        return stream_fail(r, &why);
    if (set)
        control_board_put(r->web->controls, list);
    if (!http_json_begin(&out))
        return http_fail(r, MHD_HTTP_INTERNAL_SERVER_ERROR, "free some memory", "no memory");
    json_open(&out.json, NULL, '{');
    control_list_write(&out.json, list);
    json_close(&out.json, '}');
    return http_json_end(r, MHD_HTTP_OK, &out);
}

enum MHD_Result api_controls_get(struct http_request *r)
{
    struct watched_source s;
    struct control_list list = {.n = 0};
    enum MHD_Result result;
    if (!source_named(r, &s, &result))
        return result;
    snprintf(list.source, sizeof(list.source), "%s", s.source.name);
    return controls_answer(r, &list);
}

enum MHD_Result api_controls_patch(struct http_request *r)
{
    struct watched_source s;
    struct control_list list = {.n = 0};
    enum MHD_Result result;
    if (!patch_read(r, &list, &result) || !source_named(r, &s, &result))
        return result;
    snprintf(list.source, sizeof(list.source), "%s", s.source.name);
    return controls_answer(r, &list);
}
