/* SPDX-License-Identifier: BSD-2-Clause
 *
 * /api/v1/sources/NAME/controls: the controls of a camera. GET lists them; PATCH sets those that
 * its object names, all or none: {"ExposureTime": 5000, "AeEnable": true, "ColourGains": [1.5, 2]}.
 * The failure modes are a body that is no such object, a control or value that the camera refuses,
 * and a source that has no controls or does not open in time.
 */
#include "web/api_sources.h"
#include "web/control_board.h"
#include "web/control_wishes.h"
#include "web/handlers.h"
#include "web/http_reply.h"
#include "web/stream_request.h"
#include "web/web.h"

#include <stdio.h>
#include <string.h>

enum { CONNECT_MS = 3000, OPEN_MS = 8000, ASK_MS = 5000 };

static bool patch_read(struct http_request *r, struct control_list *out, enum MHD_Result *result)
{
    char why[WISHES_WHY];
    if (control_wishes_read(r->body ? r->body : "", r->body_size, out, why))
        return true;
    *result = http_fail(r, MHD_HTTP_BAD_REQUEST,
                        "as in {\"ExposureTime\": 5000, \"AeEnable\": true}", "%s", why);
    return false;
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
    if (controls_ask(r, list, &why) < 0)
        return stream_fail(r, &why);
    control_board_offer(r->web->controls, list);
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
