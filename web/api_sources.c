/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources as JSON. The address is the daemon's, without passwords.
 */
#include "web/api_sources.h"

#include "daemon/monotonic.h"
#include "web/encoded_source.h"
#include "web/handlers.h"
#include "web/http_reply.h"
#include "web/web.h"

#include <stdlib.h>
#include <string.h>

const char *source_state_word(enum pelton_source_state state)
{
    static const char *const words[] = {"closed",   "opening", "running", "lost",
                                        "back-off", "ended",   "removed"};
    return (size_t)state < sizeof(words) / sizeof(*words) ? words[state] : "unknown";
}

bool source_is_file(const struct pelton_source *s)
{
    return !strstr(s->uri, "://") || strncmp(s->uri, "file://", 7) == 0;
}

bool source_is_camera(const struct pelton_source *s)
{
    static const char *const schemes[] = {"sim://", "v4l2://", "libcamera://", "bayer://"};
    for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++)
        if (strncmp(s->uri, schemes[i], strlen(schemes[i])) == 0)
            return true;
    return false;
}

static void format_write(struct json *j, const struct pelton_source *s)
{
    json_open(j, "format", '{');
    json_text(j, "pix_fmt", s->format);
    json_int(j, "width", s->width);
    json_int(j, "height", s->height);
    json_number(j, "rate", s->frame_rate.den ? (double)s->frame_rate.num / s->frame_rate.den : 0);
    json_close(j, '}');
}

void source_write(struct json *j, const struct watched_source *w, const struct watched_daemon *d)
{
    const struct pelton_source *s = &w->source;
    bool camera = source_is_camera(s);
    json_text(j, "name", s->name);
    json_int(j, "change", (int64_t)w->change);
    json_text(j, "state", source_state_word(s->state));
    json_text(j, "cause", s->cause);
    json_int(j, "readers", s->readers);
    json_text(j, "address", s->uri);
    json_bool(j, "camera", camera);
    json_bool(j, "encoded", true);
    json_bool(j, "live", !source_is_file(s));
    json_bool(j, "software", d->known && (d->status.software || d->status.libavcodec));
    format_write(j, s);
}

/* An answer where no daemon is there. */
static bool daemon_missing(struct http_request *r, const struct watched_daemon *d,
                           enum MHD_Result *result)
{
    if (d->connected)
        return false;
    *result =
        http_fail(r, MHD_HTTP_SERVICE_UNAVAILABLE,
                  d->hint[0] ? d->hint : "systemctl status peltond", "no daemon: %s", d->cause);
    return true;
}

enum MHD_Result api_sources_get(struct http_request *r)
{
    struct watched_daemon d;
    struct watched_source *list = NULL;
    struct http_json out;
    enum MHD_Result result;
    uint64_t newest = 0;
    size_t n = 0;
    daemon_watch_state(r->web->watch, &d);
    if (daemon_missing(r, &d, &result))
        return result;
    if (daemon_watch_sources(r->web->watch, &list, &n) < 0 || !http_json_begin(&out)) {
        free(list);
        return http_fail(r, MHD_HTTP_INTERNAL_SERVER_ERROR, "free some memory", "no memory");
    }
    json_open(&out.json, NULL, '{');
    json_open(&out.json, "sources", '[');
    for (size_t i = 0; i < n; i++) {
        newest = list[i].change > newest ? list[i].change : newest;
        if (list[i].source.state == PELTON_SOURCE_REMOVED)
            continue;
        json_open(&out.json, NULL, '{');
        source_write(&out.json, &list[i], &d);
        json_close(&out.json, '}');
    }
    json_close(&out.json, ']');
    json_int(&out.json, "change", (int64_t)newest);
    json_close(&out.json, '}');
    free(list);
    return http_json_end(r, MHD_HTTP_OK, &out);
}

bool source_named(struct http_request *r, struct watched_source *out, enum MHD_Result *result)
{
    struct watched_daemon d;
    daemon_watch_state(r->web->watch, &d);
    if (daemon_missing(r, &d, result))
        return false;
    if (daemon_watch_source(r->web->watch, r->name, out))
        return true;
    *result = http_fail(r, MHD_HTTP_NOT_FOUND, "/api/v1/sources lists them",
                        "%.100s: no source of this name", r->name);
    return false;
}

enum MHD_Result api_source_get(struct http_request *r)
{
    struct watched_daemon d;
    struct watched_source s;
    struct http_json out;
    enum MHD_Result result;
    char mime[64];
    if (!source_named(r, &s, &result))
        return result;
    bool known = !r->head && source_mime(r, &s.source, mime);
    daemon_watch_state(r->web->watch, &d);
    if (!http_json_begin(&out))
        return http_fail(r, MHD_HTTP_INTERNAL_SERVER_ERROR, "free some memory", "no memory");
    json_open(&out.json, NULL, '{');
    source_write(&out.json, &s, &d);
    json_text(&out.json, "codec", s.source.codec);
    json_text(&out.json, "mime", known ? mime : NULL);
    json_number(&out.json, "since_s", (double)(monotonic_ns() - s.source.since_ns) * 1e-9);
    json_close(&out.json, '}');
    return http_json_end(r, MHD_HTTP_OK, &out);
}
