/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Every field of pelton.proto reaches its structure. Reflection finds the messages and their
 * fields: one field of a message is changed at a time, and the structure made of it must change;
 * where the structure becomes a message again, the field must come back. A new field that no
 * conversion knows fails here, and so does a new message that no table names.
 */
#include "proto/libpelton_pool.h"
#include "proto/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_BYTES = 16384, MOST_MESSAGES = 96 };

/* A message becomes bytes that stand for its structure: false, it was refused. */
typedef bool (*to_struct)(const ProtobufCMessage *m, uint8_t out[MOST_BYTES]);
/* The structure that was made last becomes a message again; NULL: not this one. */
typedef const ProtobufCMessage *(*from_struct)(void);

static union {
    struct pelton_info info;
    struct {
        struct pelton_open_params params;
        struct wire_stretch stretch;
    } open;
    struct pelton_stats stats;
    struct pelton_failure failure;
    struct pelton_device device;
    struct pelton_encoding encoding;
    struct pelton_colour colour;
    struct pelton_vui vui;
    struct pelton_video video;
    struct pelton_camera camera;
    struct pelton_exposure exposure;
    struct pelton_control control[PELTON_MAX_CONTROLS];
    struct pelton_source source;
    struct pelton_reloaded reloaded;
    struct pelton_stream_status stream;
    struct pelton_status status;
    struct pelton_frame frame;
} now;

static union {
    struct wire_info info;
    Pelton__Open open;
    Pelton__StatsReply stats;
    Pelton__Failure failure;
    Pelton__Device device;
    Pelton__Encoding encoding;
    Pelton__Colour colour;
    Pelton__Vui vui;
    Pelton__Video video;
    Pelton__Camera camera;
    Pelton__Exposure exposure;
    struct wire_controls controls;
} back;

#define TO(name, type, call)                                                                       \
    static bool name##_to(const ProtobufCMessage *message, uint8_t out[MOST_BYTES])                \
    {                                                                                              \
        const type *m = (const type *)message;                                                     \
        memset(&now, 0, sizeof(now));                                                              \
        if (!(call))                                                                               \
            return false;                                                                          \
        memcpy(out, &now, sizeof(now));                                                            \
        return true;                                                                               \
    }
#define FROM(name, call, result)                                                                   \
    static const ProtobufCMessage *name##_from(void)                                               \
    {                                                                                              \
        call;                                                                                      \
        return &(result)->base;                                                                    \
    }

TO(info, Pelton__Info, (wire_info_to(m, &now.info), true))
FROM(info, wire_info_from(&now.info, &back.info), &back.info.msg)
TO(open, Pelton__Open, wire_open_to(m, &now.open.params, &now.open.stretch) == 0)
FROM(open, wire_open_from(&now.open.params, now.open.stretch, &back.open), &back.open)
TO(stats, Pelton__StatsReply, (wire_stats_to(m, &now.stats), true))
FROM(stats, wire_stats_from(&now.stats, &back.stats), &back.stats)
TO(failure, Pelton__Failure, (wire_failure_to(m, &now.failure), true))
FROM(failure, wire_failure_from(&now.failure, &back.failure), &back.failure)
TO(device, Pelton__Device, (wire_device_to(m, &now.device), true))
FROM(device, wire_device_from(&now.device, &back.device), &back.device)
TO(encoding, Pelton__Encoding, wire_encoding_to(m, &now.encoding) == 0)
FROM(encoding, wire_encoding_from(&now.encoding, &back.encoding), &back.encoding)
TO(colour, Pelton__Colour, (wire_colour_to(m, &now.colour), true))
FROM(colour, wire_colour_from(&now.colour, &back.colour), &back.colour)
TO(vui, Pelton__Vui, (wire_vui_to(m, &now.vui), true))
FROM(vui, wire_vui_from(&now.vui, &back.vui), &back.vui)
TO(video, Pelton__Video, (wire_video_to(m, &now.video), true))
FROM(video, wire_video_from(&now.video, &back.video), &back.video)
TO(camera, Pelton__Camera, (wire_camera_to(m, &now.camera), true))
FROM(camera, wire_camera_from(&now.camera, &back.camera), &back.camera)
TO(exposure, Pelton__Exposure, (wire_exposure_to(m, &now.exposure), true))
FROM(exposure, wire_exposure_from(&now.exposure, &back.exposure), &back.exposure)
TO(control, Pelton__Control,
   wire_controls_to((Pelton__Control *const[]){(Pelton__Control *)m}, 1, now.control) == 0)
FROM(control, wire_controls_from(now.control, 1, &back.controls), &back.controls.msg[0])
TO(source, Pelton__Source, (wire_source_to(m, &now.source), true))
TO(reloaded, Pelton__ReloadReply, (wire_reloaded_to(m, &now.reloaded), true))
TO(stream, Pelton__StreamStatus, (wire_stream_status_to(m, &now.stream), true))
TO(status, Pelton__StatusReply, (wire_status_to(m, &now.status), true))

static bool frame_to(const ProtobufCMessage *m, uint8_t out[MOST_BYTES])
{
    static const uint8_t memory[4096];
    const struct pelton_pool pool = {.slots = 2,
                                     .slot_size = 2048,
                                     .planes = 1,
                                     .memory = memory,
                                     .memory_size = sizeof(memory)};
    memset(&now, 0, sizeof(now));
    if (!pelton_pool_frame(&pool, (const Pelton__FrameReady *)m, &now.frame))
        return false;
    memcpy(out, &now, sizeof(now));
    return true;
}

/* A format without memory: all but memory and its size is described. */
static bool format_to(const ProtobufCMessage *m, uint8_t out[MOST_BYTES])
{
    struct pelton_pool *pool = NULL;
    if (pelton_pool_map((const Pelton__FormatChanged *)m, -1, false, &pool) < 0)
        return false;
    memcpy(out, pool, sizeof(*pool));
    pelton_pool_unmap(pool);
    return true;
}

/* The structure has pointers, so its bytes are those of the message that it becomes again. */
static bool side_to(const ProtobufCMessage *m, uint8_t out[MOST_BYTES])
{
    uint8_t bytes[MOST_BYTES], *packed;
    struct pelton_side_data *side = NULL;
    size_t size = protobuf_c_message_get_packed_size(m);
    assert_true(size <= sizeof(bytes));
    protobuf_c_message_pack(m, bytes);
    if (wire_side_unpack(bytes, size, &side) < 0)
        return false;
    packed = wire_side_pack(side, &size);
    assert_non_null(packed);
    memcpy(out, packed, size);
    free(packed);
    free(side);
    return true;
}

static const struct conversion {
    const ProtobufCMessageDescriptor *type;
    to_struct to;
    from_struct from;
    const char *not_here; /* fields that others read: names between blanks */
} conversions[] = {
    /* pelton_probe reads its messages, the broker fills them in */
    {&pelton__info__descriptor, info_to, info_from, " side_data sei probed "},
    /* from the broker to its worker, which reads them */
    {&pelton__open__descriptor, open_to, open_from,
     " resume_sequence settings login controls shared reader encode "},
    /* of Open */
    {&pelton__encoding__descriptor, encoding_to, encoding_from, ""},
    /* from a worker to the broker, which reads them */
    {&pelton__stats_reply__descriptor, stats_to, stats_from,
     " refused sandbox kept_units encoder transcoder jpegs "},
    {&pelton__failure__descriptor, failure_to, failure_from, ""},
    /* pelton doctor's, of devices that are not used */
    {&pelton__device__descriptor, device_to, device_from, " usable missing "},
    {&pelton__colour__descriptor, colour_to, colour_from, ""},
    {&pelton__vui__descriptor, vui_to, vui_from, ""},
    {&pelton__video__descriptor, video_to, video_from, ""},
    {&pelton__camera__descriptor, camera_to, camera_from, ""},
    {&pelton__exposure__descriptor, exposure_to, exposure_from, ""},
    {&pelton__control__descriptor, control_to, control_from, ""},
    {&pelton__source__descriptor, source_to, NULL, ""},
    {&pelton__reload_reply__descriptor, reloaded_to, NULL, ""},
    {&pelton__stream_status__descriptor, stream_to, NULL, ""},
    /* pelton_status converts the list; of the device it shows the name and the kind */
    {&pelton__status_reply__descriptor, status_to, NULL,
     " streams uuid driver usable missing entropy_pictures encodes encodes_jpeg "},
    {&pelton__frame_ready__descriptor, frame_to, NULL,
     " side_data bytes "}, /* a message of its own */
    /* memory: test_client, daemon.device; the rectangles' size goes from worker to broker; access
     * units: daemon.encoded */
    {&pelton__format_changed__descriptor, format_to, NULL,
     " memfd_size blur_width blur_height device encoded "},
    {&pelton__side_data__descriptor, side_to, NULL, ""},
};
enum { CONVERSIONS = sizeof(conversions) / sizeof(conversions[0]) };

/* Messages without a structure: their handlers read each field. */
static const char *const carriers[] = {
    "Hello", "Welcome", "Error", "Ping", "Pong", "Goodbye", "Shutdown", "Reload", "Cores",
    "MemoryShort", "Status", "OpenReply", "Probe", "ProbeReply", "Close", "Release", "Credit",
    "Stats", "Devices", "DevicesReply", "Controls", "ControlsReply", "Sources", "SourcesReply",
    "WatchSources", "SourceState", "Eos", "SourceEvent", "Setting", "Login",
    /* parts of the messages above */
    "Rational", "Plane", "SeiCount", "RecoveryPoint", "Delays", "PicStruct", "ClockTimestamp",
    "FramePacking", "DisplayOrientation", "MasteringDisplay", "ContentLight", "SeiMessage", "Quota",
    "Process", "DeviceMemory", "Encoded", "EncoderUsage"};

/* ---- messages ---- */

static void *member(ProtobufCMessage *m, unsigned offset)
{
    return (uint8_t *)m + offset;
}

static ProtobufCMessage *message_new(const ProtobufCMessageDescriptor *type)
{
    ProtobufCMessage *m = calloc(1, type->sizeof_message);
    assert_non_null(m);
    protobuf_c_message_init(type, m);
    return m;
}

static const ProtobufCFieldDescriptor *field_of(const ProtobufCMessage *m, const char *name)
{
    return protobuf_c_message_descriptor_get_field_by_name(m->descriptor, name);
}

static void set_number(ProtobufCMessage *m, const char *name, uint32_t value)
{
    const ProtobufCFieldDescriptor *f = field_of(m, name);
    if (f)
        *(uint32_t *)member(m, f->offset) = value;
}

static size_t type_size(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return 8;
    default:
        return 4;
    }
}

static void change_value(ProtobufCType type, void *value)
{
    if (type == PROTOBUF_C_TYPE_DOUBLE)
        *(double *)value += 1;
    else if (type == PROTOBUF_C_TYPE_BOOL)
        *(protobuf_c_boolean *)value ^= 1;
    else if (type_size(type) == 8)
        *(int64_t *)value += 1;
    else
        *(int32_t *)value += 1;
}

/* One entry more; three for ranges, four for rectangles, the eight of a display, all bins. */
static void change_list(ProtobufCMessage *m, const ProtobufCFieldDescriptor *f)
{
    size_t n = !strcmp(f->name, "wanted")         ? 3
               : !strcmp(f->name, "blur")         ? 4
               : !strcmp(f->name, "crop")         ? 4
               : !strcmp(f->name, "chromaticity") ? 8
               : !strcmp(f->name, "histogram")    ? PELTON_HISTOGRAM_BINS
                                                  : 1;
    size_t size = f->type == PROTOBUF_C_TYPE_MESSAGE ? sizeof(void *) : type_size(f->type);
    uint8_t *list = calloc(n, size);
    assert_non_null(list);
    for (size_t i = 0; i < n && f->type != PROTOBUF_C_TYPE_MESSAGE; i++)
        for (size_t k = 0; k <= i; k++)
            change_value(f->type, list + i * size);
    if (f->type == PROTOBUF_C_TYPE_MESSAGE)
        *(ProtobufCMessage **)list = message_new(f->descriptor);
    *(size_t *)member(m, f->quantifier_offset) = n;
    *(void **)member(m, f->offset) = list;
}

static void change(ProtobufCMessage *m, const ProtobufCFieldDescriptor *f)
{
    static uint8_t bytes[] = {1, 2, 3, 4};
    if (f->label == PROTOBUF_C_LABEL_REPEATED)
        change_list(m, f);
    else if (f->type == PROTOBUF_C_TYPE_STRING)
        *(const char **)member(m, f->offset) = "changed";
    else if (f->type == PROTOBUF_C_TYPE_BYTES)
        *(ProtobufCBinaryData *)member(m, f->offset) = (ProtobufCBinaryData){4, bytes};
    else
        change_value(f->type, member(m, f->offset));
}

/* Values without which the field would be refused, or means nothing. */
static void prepare(ProtobufCMessage *m, const char *name)
{
    if (!strcmp(name, "part"))
        set_number(m, "parts", 3);
    if (!strcmp(name, "parts"))
        set_number(m, "parts", 2);
    if (!strncmp(name, "blur_", 5)) {
        set_number(m, "blur_width", 64);
        set_number(m, "blur_height", 64);
    }
    if (!strcmp(name, "codec"))
        set_number(m, "quality", 1);
    if (m->descriptor == &pelton__device__descriptor)
        set_number(m, "devices", 2); /* 0 means 1 */
    if (m->descriptor == &pelton__failure__descriptor)
        set_number(m, "code", (uint32_t)-5); /* no failure is positive */
    if (m->descriptor == &pelton__mastering_display__descriptor && strcmp(name, "chromaticity"))
        change_list(m, field_of(m, "chromaticity"));
}

static void message_free(ProtobufCMessage *m)
{
    for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];
        void **value = member(m, f->offset);
        if (f->label == PROTOBUF_C_LABEL_REPEATED) {
            size_t n = *(size_t *)member(m, f->quantifier_offset);
            for (size_t k = 0; k < n && f->type == PROTOBUF_C_TYPE_MESSAGE; k++)
                message_free(((ProtobufCMessage **)*value)[k]);
            if (n)
                free(*value);
        } else if (f->type == PROTOBUF_C_TYPE_MESSAGE && *value) {
            message_free(*value);
        }
    }
    free(m);
}

/* ---- the test ---- */

static bool is_listed(const char *list, const char *name)
{
    char word[80];
    snprintf(word, sizeof(word), " %s ", name);
    return strstr(list, word) != NULL;
}

/* The place of a field: the fields that lead to it. */
struct path {
    const ProtobufCFieldDescriptor *step[4];
    int n;
};

/* The message with the path's last field as it is, or changed. */
static ProtobufCMessage *message_at(const struct conversion *c, const struct path *path,
                                    bool changed)
{
    ProtobufCMessage *root = message_new(c->type), *m = root;
    prepare(m, path->step[0]->name);
    for (int i = 0; i < path->n - 1; i++) {
        const ProtobufCFieldDescriptor *f = path->step[i];
        ProtobufCMessage *inner;
        if (f->label == PROTOBUF_C_LABEL_REPEATED) {
            change_list(m, f);
            inner = **(ProtobufCMessage ***)member(m, f->offset);
        } else {
            inner = message_new(f->descriptor);
            *(ProtobufCMessage **)member(m, f->offset) = inner;
        }
        m = inner;
        prepare(m, path->step[i + 1]->name);
    }
    if (changed)
        change(m, path->step[path->n - 1]);
    return root;
}

static size_t bytes_of(const ProtobufCMessage *m, uint8_t out[MOST_BYTES])
{
    assert_true(protobuf_c_message_get_packed_size(m) <= MOST_BYTES);
    return protobuf_c_message_pack(m, out);
}

static void check_leaf(const struct conversion *c, const struct path *path)
{
    static uint8_t before[MOST_BYTES], after[MOST_BYTES], wire[2][MOST_BYTES];
    ProtobufCMessage *plain = message_at(c, path, false), *changed = message_at(c, path, true);
    const char *field = path->step[path->n - 1]->name;
    memset(before, 0, sizeof(before));
    memset(after, 0, sizeof(after));
    if (!c->to(plain, before) || !c->to(changed, after))
        fail_msg("%s: refused with %s changed", c->type->short_name, field);
    if (!memcmp(before, after, sizeof(before)))
        fail_msg("%s: %s does not reach the structure", c->type->short_name, field);
    if (c->from) {
        size_t there = bytes_of(c->from(), wire[0]);
        c->to(plain, before);
        size_t other = bytes_of(c->from(), wire[1]);
        if (there == other && !memcmp(wire[0], wire[1], there))
            fail_msg("%s: %s does not come back", c->type->short_name, field);
    }
    message_free(plain);
    message_free(changed);
}

static unsigned check_fields(const struct conversion *c, const ProtobufCMessageDescriptor *type,
                             struct path path)
{
    unsigned leaves = 0;
    assert_true(path.n < 4);
    for (unsigned i = 0; i < type->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &type->fields[i];
        if (is_listed(c->not_here, f->name))
            continue;
        struct path deeper = path;
        deeper.step[deeper.n++] = f;
        if (f->type == PROTOBUF_C_TYPE_MESSAGE) {
            leaves += check_fields(c, f->descriptor, deeper);
        } else {
            check_leaf(c, &deeper);
            leaves++;
        }
    }
    return leaves;
}

static void each_field(void **state)
{
    unsigned leaves = 0;
    for (unsigned i = 0; i < CONVERSIONS; i++)
        leaves += check_fields(&conversions[i], conversions[i].type, (struct path){.n = 0});
    print_message("%u fields of %u messages\n", leaves, CONVERSIONS);
    assert_true(leaves > 200);
}

/* Fields that are listed as read elsewhere exist. */
static void each_exception(void **state)
{
    for (unsigned i = 0; i < CONVERSIONS; i++) {
        char words[128], *rest = words;
        snprintf(words, sizeof(words), "%s", conversions[i].not_here);
        for (char *word; (word = strtok_r(rest, " ", &rest)) != NULL;)
            assert_true(
                protobuf_c_message_descriptor_get_field_by_name(conversions[i].type, word) ||
                protobuf_c_message_descriptor_get_field_by_name(&pelton__device__descriptor, word));
    }
}

static void collect(const ProtobufCMessageDescriptor *type,
                    const ProtobufCMessageDescriptor *found[MOST_MESSAGES], unsigned *n)
{
    for (unsigned i = 0; i < *n; i++)
        if (found[i] == type)
            return;
    assert_true(*n < MOST_MESSAGES);
    found[(*n)++] = type;
    for (unsigned i = 0; i < type->n_fields; i++)
        if (type->fields[i].type == PROTOBUF_C_TYPE_MESSAGE)
            collect(type->fields[i].descriptor, found, n);
}

static void each_message(void **state)
{
    const ProtobufCMessageDescriptor *found[MOST_MESSAGES];
    unsigned n = 0;
#define COLLECT(name, number, body) collect(&pelton__##body##__descriptor, found, &n);
    WIRE_MESSAGES(COLLECT)
#undef COLLECT
    collect(&pelton__side_data__descriptor, found, &n);
    for (unsigned i = 0; i < n; i++) {
        bool known = false;
        for (unsigned k = 0; k < CONVERSIONS; k++)
            known |= conversions[k].type == found[i];
        for (unsigned k = 0; k < sizeof(carriers) / sizeof(carriers[0]); k++)
            known |= !strcmp(carriers[k], found[i]->short_name);
        if (!known)
            fail_msg("message %s stands in no table", found[i]->short_name);
    }
    print_message("%u messages\n", n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_field),
                                       cmocka_unit_test(each_exception),
                                       cmocka_unit_test(each_message)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
