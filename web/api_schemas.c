/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Schemas: see api_schemas.h. The table names each member of each body. A test compares true
 * answers with it, so a member that is missing here is a fault.
 *
 * A type is "string", "integer", "number" or "boolean", or the name of a schema, which begins with
 * a capital. Before it may stand [] for an array or {} for an object with any names; behind it |
 * and another one. enum: is followed by words. A member that ends with ? may be absent.
 */
#include "web/api_schemas.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

struct schema_member {
    const char *name, *type, *about;
};

enum { MEMBERS = 16, TYPE = 96 };

static const struct api_schema {
    const char *name, *about;
    struct schema_member members[MEMBERS]; /* none: `whole` is the type */
    const char *whole;
} schemas[] = {
    {.name = "Error",
     .about = "Each answer from 400 on",
     .members = {{"error", "string", "the cause"}, {"hint", "string", "the next step"}}},
    {.name = "Format",
     .about = "As the source was last opened; empty and 0: never",
     .members = {{"pix_fmt", "string", "of a camera; else the profile"},
                 {"width", "integer", "pixels"},
                 {"height", "integer", "pixels"},
                 {"rate", "number", "frames a second; 0: not known"}}},
    {.name = "Source",
     .about = "A named source. codec, mime and since_s come where one source is asked for",
     .members = {{"name", "string", "as the configuration has it"},
                 {"change", "integer",
                  "grows at each change, until this program ends: of two answers or events of a "
                  "source the larger one is newer"},
                 {"state", "enum:closed,opening,running,lost,back-off,ended,removed", "now"},
                 {"cause", "string", "of the state; empty: none"},
                 {"readers", "integer", "of all clients"},
                 {"address", "string", "without a password"},
                 {"camera", "boolean", "it has controls"},
                 {"encoded", "boolean", "it may have H.264, its own or the daemon's"},
                 {"live", "boolean", "it has no end"},
                 {"software", "boolean", "no GPU decodes"},
                 {"format", "Format", NULL},
                 {"codec?", "string", "of its last opening"},
                 {"mime?", "string|null", "of .mp4, for MediaSource; null: not known"},
                 {"since_s?", "number", "seconds in this state"}}},
    {.name = "Sources",
     .about = "All sources",
     .members = {{"sources", "[]Source", "by name"},
                 {"change", "integer", "the largest one, also of sources that are removed"}}},
    {.name = "Control",
     .about = "A control of a camera, with libcamera's name",
     .members = {{"name", "string", NULL},
                 {"value", "number|[]number", "now"},
                 {"min", "number|null", NULL},
                 {"max", "number|null", NULL},
                 {"unit", "string|null", "null: a plain number"}}},
    {.name = "Controls",
     .about = "All controls of a camera",
     .members = {{"controls", "[]Control", NULL}}},
    {.name = "ControlWishes",
     .about = "Controls by name. All are set, or none",
     .whole = "{}number|boolean|[]number"},
    {.name = "Drops",
     .about = "Frames that were lost, by place",
     .members = {{"source", "integer", "before the daemon"},
                 {"decoder", "integer", "damaged"},
                 {"client", "integer", "the reader was too slow"},
                 {"gateway?", "integer", "its readers were too slow"}}},
    {.name = "Daemon",
     .about = "The rest comes where known is true",
     .members = {{"connected", "boolean", NULL},
                 {"cause", "string", "why not"},
                 {"known", "boolean", NULL},
                 {"server?", "string", "name and version"},
                 {"device?", "string", "that decodes; empty: none is open"},
                 {"software?", "boolean", "no GPU decodes"},
                 {"streams?", "integer", NULL},
                 {"streams_limit?", "integer", NULL},
                 {"clients?", "integer", NULL},
                 {"up_s?", "number", "seconds since its start"}}},
    {.name = "SourceFigures",
     .about = "A source that was read here; counters only grow",
     .members = {{"name", "string", NULL},
                 {"readers", "integer", "by HTTP"},
                 {"taps", "integer", "subscriptions that these share"},
                 {"frames", "integer", NULL},
                 {"bytes", "integer", NULL},
                 {"age_ms", "number", "of the last frame when it came"},
                 {"jpegs_daemon", "integer", "JPEG files that the daemon's device made"},
                 {"jpegs_gateway", "integer", "those that this program made"},
                 {"encode_s", "number", "CPU time of scaling and encoding here"},
                 {"drops", "Drops", NULL}}},
    {.name = "Connections",
     .about = "Of this server",
     .members = {{"connections", "integer", "now"},
                 {"accepted", "integer", NULL},
                 {"refused", "integer", NULL},
                 {"cut", "integer", "too slow"}}},
    {.name = "Stats",
     .about = "The daemon and this program",
     .members = {{"daemon", "Daemon", NULL},
                 {"sources", "[]SourceFigures", NULL},
                 {"http", "Connections", NULL}}},
    {.name = "DaemonEvent",
     .about = "The daemon came or went",
     .members = {{"connected", "boolean", NULL},
                 {"cause", "string", "why not"},
                 {"hint", "string", "the next step"}}},
    {.name = "ControlsEvent",
     .about = "Any client has set controls, or exposure control has moved them",
     .members = {{"name", "string", "of the source"}, {"controls", "[]Control", "all"}}},
    {.name = "Reader",
     .about = "A reader of the source, of any client that this user may see",
     .members = {{"client", "string", NULL},
                 {"pid", "integer", NULL},
                 {"policy", "enum:lossless,latest,fifo,unknown", NULL},
                 {"frames", "integer", "sent"},
                 {"waiting", "integer", "frames"},
                 {"held", "integer", "slots"},
                 {"slots", "integer", "all"},
                 {"age_ms", "number", "of the last frame when it was sent"},
                 {"drops", "Drops", NULL}}},
    {.name = "Exposure",
     .about = "The light in a camera's frame",
     .members = {{"ae_state", "enum:searching,converged,locked", NULL},
                 {"exposure_us", "number", NULL},
                 {"analogue_gain", "number", NULL},
                 {"digital_gain", "number", NULL},
                 {"mean", "number", "of linear luminance as metered, 0 to 1"},
                 {"target", "number", "of the mean"},
                 {"clipped", "number", "share"},
                 {"histogram", "[]integer", "cells of 2x2 samples in 64 bins"}}},
    {.name = "FramesEvent",
     .about = "Once a second for each source that is read here",
     .members = {{"name", "string", "of the source"},
                 {"fps", "number|null", "of the source; null: not known yet"},
                 {"age_ms", "number", "of the last frame when it came"},
                 {"stages", "{}number", "ms of each step of the last frame"},
                 {"drops", "Drops", NULL},
                 {"readers", "[]Reader", NULL},
                 {"exposure?", "Exposure", "of cameras"}}},
};
enum { SCHEMAS = sizeof(schemas) / sizeof(*schemas) };

static const struct {
    const char *method, *pattern, *answer, *request;
} bodies[] = {
    {"GET", "/api/v1/sources", "Sources", NULL},
    {"GET", "/api/v1/sources/{name}", "Source", NULL},
    {"GET", "/api/v1/sources/{name}/controls", "Controls", NULL},
    {"PATCH", "/api/v1/sources/{name}/controls", "Controls", "ControlWishes"},
    {"GET", "/api/v1/stats", "Stats", NULL},
};
enum { BODIES = sizeof(bodies) / sizeof(*bodies) };

static size_t body_place(const struct http_route *route)
{
    size_t i = 0;
    while (i < BODIES && (strcmp(bodies[i].method, route->method) != 0 ||
                          strcmp(bodies[i].pattern, route->pattern) != 0))
        i++;
    return i;
}

const char *api_answer_schema(const struct http_route *route)
{
    size_t i = body_place(route);
    return i < BODIES ? bodies[i].answer : NULL;
}

const char *api_request_schema(const struct http_route *route)
{
    size_t i = body_place(route);
    return i < BODIES ? bodies[i].request : NULL;
}

void api_schema_refer(struct json *j, const char *member, const char *name)
{
    char place[64];
    snprintf(place, sizeof(place), "#/components/schemas/%s", name);
    json_open(j, member, '{');
    json_text(j, "$ref", place);
    json_close(j, '}');
}

static void words_write(struct json *j, const char *words)
{
    char word[32];
    json_text(j, "type", "string");
    json_open(j, "enum", '[');
    for (size_t n; *words; words += n + (words[n] == ',')) {
        n = strcspn(words, ",");
        snprintf(word, sizeof(word), "%.*s", (int)n, words);
        json_text(j, NULL, word);
    }
    json_close(j, ']');
}

/* The members of a schema for this type, which has no |, into an object that is open. */
static void type_write(struct json *j, const char *type)
{
    const char *inner = type[0] == '[' || type[0] == '{' ? type + 2 : NULL;
    char place[64];
    if (inner) {
        json_text(j, "type", type[0] == '[' ? "array" : "object");
        json_open(j, type[0] == '[' ? "items" : "additionalProperties", '{');
        type_write(j, inner);
        json_close(j, '}');
    } else if (strncmp(type, "enum:", 5) == 0) {
        words_write(j, type + 5);
    } else if (isupper((unsigned char)type[0])) {
        snprintf(place, sizeof(place), "#/components/schemas/%s", type);
        json_text(j, "$ref", place);
    } else {
        json_text(j, "type", type);
    }
}

/* With |: one of several. */
static void types_write(struct json *j, const char *types)
{
    char type[TYPE];
    if (!strchr(types, '|')) {
        type_write(j, types);
        return;
    }
    json_open(j, "anyOf", '[');
    for (size_t n; *types; types += n + (types[n] == '|')) {
        n = strcspn(types, "|");
        snprintf(type, sizeof(type), "%.*s", (int)n, types);
        json_open(j, NULL, '{');
        type_write(j, type);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static bool member_may_miss(const struct schema_member *m)
{
    return m->name[strlen(m->name) - 1] == '?';
}

static void members_write(struct json *j, const struct schema_member *members)
{
    char name[32];
    json_text(j, "type", "object");
    json_open(j, "required", '[');
    for (const struct schema_member *m = members; m->name; m++)
        if (!member_may_miss(m))
            json_text(j, NULL, m->name);
    json_close(j, ']');
    json_open(j, "properties", '{');
    for (const struct schema_member *m = members; m->name; m++) {
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(m->name, "?"), m->name);
        json_open(j, name, '{');
        types_write(j, m->type);
        if (m->about)
            json_text(j, "description", m->about);
        json_close(j, '}');
    }
    json_close(j, '}');
}

/* {}A|B: an object whose values are of several types. */
static void whole_write(struct json *j, const char *whole)
{
    json_text(j, "type", "object");
    json_int(j, "minProperties", 1);
    json_open(j, "additionalProperties", '{');
    types_write(j, whole + 2);
    json_close(j, '}');
}

void api_schemas_write(struct json *j)
{
    json_open(j, "schemas", '{');
    for (size_t i = 0; i < SCHEMAS; i++) {
        json_open(j, schemas[i].name, '{');
        json_text(j, "description", schemas[i].about);
        if (schemas[i].whole)
            whole_write(j, schemas[i].whole);
        else
            members_write(j, schemas[i].members);
        json_close(j, '}');
    }
    json_close(j, '}');
}

void api_events_describe(struct json *j)
{
    json_open(j, "x-events", '{');
    api_schema_refer(j, "daemon", "DaemonEvent");
    api_schema_refer(j, "source", "Source");
    api_schema_refer(j, "controls", "ControlsEvent");
    api_schema_refer(j, "frames", "FramesEvent");
    json_close(j, '}');
}
