/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The route table. A handler belongs to the file of its object: api_sources.c, page.c.
 */
#include "web/handlers.h"
#include "web/http_request.h"

#include <string.h>

#define JSON "application/json"

const struct http_route http_routes[] = {
    {"GET", "/", page_get, HTTP_PUBLIC, "The page", "text/html"},
    {"GET", "/healthz", healthz_get, HTTP_PUBLIC, "200 while this program works", "text/plain"},
    {"GET", "/readyz", readyz_get, HTTP_PUBLIC, "200 while the daemon answers, else 503",
     "text/plain"},
    {"POST", "/api/v1/session", session_post, HTTP_READ, "A cookie for the token that is shown",
     "text/plain"},
    {"DELETE", "/api/v1/session", session_delete, HTTP_PUBLIC, "Take the cookie back",
     "text/plain"},
    {"GET", "/api/v1/sources", api_sources_get, HTTP_READ, "All sources", JSON},
    {"GET", "/streams/{name}.mjpeg", stream_mjpeg_get, HTTP_READ, "Frames as parts of JPEG",
     "multipart/x-mixed-replace"},
    {"GET", "/streams/{name}.y4m", stream_y4m_get, HTTP_READ, "Raw frames as YUV4MPEG2",
     "video/x-yuv4mpeg"},
    {"GET", "/streams/{name}.mkv", stream_mkv_get, HTTP_READ, "Raw frames in Matroska",
     "video/x-matroska"},
    {"GET", "/streams/{name}.nut", stream_nut_get, HTTP_READ, "Raw frames in NUT", "video/x-nut"},
    {"GET", "/streams/{name}.h264", stream_h264_get, HTTP_READ, "H.264 as it came", "video/h264"},
    {"GET", "/streams/{name}.mp4", stream_mp4_get, HTTP_READ, "H.264 as it came, in fragmented MP4",
     "video/mp4"},
    {"GET", "/streams/{name}.ts", stream_ts_get, HTTP_READ, "H.264 as it came, in MPEG-TS",
     "video/mp2t"},
    {"GET", "/streams/{name}/snapshot.jpg", snapshot_jpg_get, HTTP_READ, "One frame as JPEG",
     "image/jpeg"},
    {"GET", "/streams/{name}/snapshot.png", snapshot_png_get, HTTP_READ, "One frame as PNG",
     "image/png"},
    {"GET", "/api/v1/events", api_events_get, HTTP_READ, "Changes and figures, as they come",
     "text/event-stream"},
    {"GET", "/api/v1/sources/{name}/controls", api_controls_get, HTTP_READ,
     "The controls of a camera", JSON},
    {"PATCH", "/api/v1/sources/{name}/controls", api_controls_patch, HTTP_CONTROL,
     "Sets controls of a camera", JSON},
    {"GET", "/metrics", metrics_get, HTTP_READ, "Figures in Prometheus' text form", "text/plain"},
    {"GET", "/api/v1/stats", api_stats_get, HTTP_READ, "The daemon and this program", JSON},
    {"GET", "/api/v1/openapi.json", api_description_get, HTTP_READ, "This description", JSON},
    {"GET", "/api/v1/sources/{name}", api_source_get, HTTP_READ, "One source", JSON},
};
const size_t http_route_count = sizeof(http_routes) / sizeof(*http_routes);

/* {name} takes as much as leaves the rest of the pattern. */
static bool pattern_matches(const char *pattern, const char *path, char name[HTTP_NAME])
{
    const char *open = strchr(pattern, '{');
    name[0] = 0;
    if (!open)
        return strcmp(pattern, path) == 0;
    const char *rest = strchr(open, '}') + 1;
    size_t before = (size_t)(open - pattern), after = strlen(rest), all = strlen(path);
    if (all <= before + after || strncmp(path, pattern, before) != 0 ||
        strcmp(path + all - after, rest) != 0)
        return false;
    size_t n = all - before - after;
    if (n >= HTTP_NAME || memchr(path + before, '/', n))
        return false;
    memcpy(name, path + before, n);
    name[n] = 0;
    return true;
}

const struct http_route *http_route_find(const char *method, const char *path, char name[HTTP_NAME],
                                         bool *other_method)
{
    const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
    *other_method = false;
    for (size_t i = 0; i < http_route_count; i++) {
        if (!pattern_matches(http_routes[i].pattern, path, name))
            continue;
        if (strcmp(http_routes[i].method, wanted) == 0)
            return &http_routes[i];
        *other_method = true;
    }
    return NULL;
}
