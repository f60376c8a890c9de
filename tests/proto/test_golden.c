/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Bytes that an earlier version wrote mean the same today. tests/proto/golden/N has the messages of
 * protocol version N as they were when it was released: the bytes, and each field's value as text.
 * Fields that came later are absent there. A field that was renumbered, retyped or removed fails.
 *
 *   test_golden            reads the folder of each version
 *   test_golden --print    prints messages.txt of the present version: once, when it is released
 */
#include "proto/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_BYTES = 16384, MOST_TEXT = 1 << 16, MOST_LINE = 2 * MOST_BYTES + 80 };

static const ProtobufCMessageDescriptor *body_of(const char *name)
{
    for (unsigned type = 0; type < 256; type++)
        if (wire_type_body(type) && !strcmp(wire_type_name(type), name))
            return wire_type_body(type);
    return strcmp(name, "SIDE_DATA") ? NULL : &pelton__side_data__descriptor;
}

/* ---- a message as text: one line for each value ---- */

struct text {
    char bytes[MOST_TEXT];
    size_t used;
};

static void text_add(struct text *t, const char *path, const char *value)
{
    int n = snprintf(t->bytes + t->used, sizeof(t->bytes) - t->used, "%s %s\n", path, value);
    assert_true(n > 0 && (size_t)n < sizeof(t->bytes) - t->used);
    t->used += (size_t)n;
}

static void message_text(struct text *t, const char *path, const ProtobufCMessage *m);

static void value_text(struct text *t, const char *path, const ProtobufCFieldDescriptor *f,
                       const void *value)
{
    const ProtobufCBinaryData *bytes = value;
    char line[160] = "";
    switch (f->type) {
    case PROTOBUF_C_TYPE_MESSAGE:
        if (*(ProtobufCMessage *const *)value)
            message_text(t, path, *(ProtobufCMessage *const *)value);
        return;
    case PROTOBUF_C_TYPE_STRING:
        snprintf(line, sizeof(line), "\"%s\"", *(char *const *)value);
        break;
    case PROTOBUF_C_TYPE_BYTES:
        for (size_t i = 0; i < bytes->len && i < 32; i++)
            snprintf(line + 2 * i, sizeof(line) - 2 * i, "%02x", bytes->data[i]);
        break;
    case PROTOBUF_C_TYPE_DOUBLE:
        snprintf(line, sizeof(line), "%g", *(const double *)value);
        break;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_UINT64:
        snprintf(line, sizeof(line), "%lld", (long long)*(const int64_t *)value);
        break;
    default:
        snprintf(line, sizeof(line), "%d", (int)*(const int32_t *)value);
    }
    text_add(t, path, line);
}

static size_t value_size(const ProtobufCFieldDescriptor *f)
{
    switch (f->type) {
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    case PROTOBUF_C_TYPE_MESSAGE:
    case PROTOBUF_C_TYPE_STRING:
        return sizeof(void *);
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return 8;
    default:
        return 4;
    }
}

static void message_text(struct text *t, const char *path, const ProtobufCMessage *m)
{
    for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];
        const uint8_t *value = (const uint8_t *)m + f->offset;
        char deeper[256];
        if (f->label != PROTOBUF_C_LABEL_REPEATED) {
            snprintf(deeper, sizeof(deeper), "%s.%s", path, f->name);
            value_text(t, deeper, f, value);
            continue;
        }
        size_t n = *(const size_t *)((const uint8_t *)m + f->quantifier_offset);
        for (size_t k = 0; k < n; k++) {
            snprintf(deeper, sizeof(deeper), "%s.%s[%zu]", path, f->name, k);
            value_text(t, deeper, f, *(const uint8_t *const *)value + k * value_size(f));
        }
    }
}

/* ---- a message in which every field has a value of its own ---- */

static void message_fill(ProtobufCMessage *m, int *count);

static void value_fill(const ProtobufCFieldDescriptor *f, void *value, int *count)
{
    const ProtobufCMessageDescriptor *type = f->descriptor;
    ProtobufCBinaryData *bytes = value;
    int number = ++*count;
    char *text = calloc(1, 16);
    assert_non_null(text);
    snprintf(text, 16, "t%d", number);
    switch (f->type) {
    case PROTOBUF_C_TYPE_MESSAGE:
        free(text);
        text = calloc(1, type->sizeof_message);
        assert_non_null(text);
        protobuf_c_message_init(type, text);
        message_fill((ProtobufCMessage *)text, count);
        *(void **)value = text;
        return;
    case PROTOBUF_C_TYPE_STRING:
        *(char **)value = text;
        return;
    case PROTOBUF_C_TYPE_BYTES:
        *bytes = (ProtobufCBinaryData){strlen(text), (uint8_t *)text};
        return;
    case PROTOBUF_C_TYPE_DOUBLE:
        *(double *)value = number + 0.5;
        break;
    case PROTOBUF_C_TYPE_BOOL:
    case PROTOBUF_C_TYPE_ENUM:
        *(int32_t *)value = 1;
        break;
    default:
        if (value_size(f) == 8)
            *(int64_t *)value = number + (1LL << 40);
        else
            *(int32_t *)value = number;
    }
    free(text);
}

/* Not freed: it lives as long as the program that prints it. */
static void message_fill(ProtobufCMessage *m, int *count)
{
    for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];
        uint8_t *value = (uint8_t *)m + f->offset;
        if (f->label != PROTOBUF_C_LABEL_REPEATED) {
            value_fill(f, value, count);
            continue;
        }
        uint8_t *list = calloc(2, value_size(f));
        assert_non_null(list);
        value_fill(f, list, count);
        value_fill(f, list + value_size(f), count);
        *(void **)value = list;
        *(size_t *)((uint8_t *)m + f->quantifier_offset) = 2;
    }
}

static void print_one(const char *name, const ProtobufCMessageDescriptor *type)
{
    static struct text text;
    uint8_t bytes[MOST_BYTES];
    ProtobufCMessage *m = calloc(1, type->sizeof_message);
    int count = 0;
    assert_non_null(m);
    protobuf_c_message_init(type, m);
    message_fill(m, &count);
    assert_true(protobuf_c_message_get_packed_size(m) <= sizeof(bytes));
    size_t size = protobuf_c_message_pack(m, bytes);
    text.used = 0;
    text.bytes[0] = 0;
    message_text(&text, name, m);
    printf("%s =", name);
    for (size_t i = 0; i < size; i++)
        printf("%s%02x", i % 40 ? "" : i ? "\n  " : " ", bytes[i]);
    printf("\n%s", text.bytes);
}

static int print_all(void)
{
    for (unsigned type = 0; type < 256; type++)
        if (wire_type_body(type))
            print_one(wire_type_name(type), wire_type_body(type));
    print_one("SIDE_DATA", &pelton__side_data__descriptor);
    return 0;
}

/* ---- the test ---- */

/* Appends hexadecimal digits of a line to bytes; their number so far. */
static size_t hex_add(const char *digits, uint8_t bytes[MOST_BYTES], size_t n)
{
    unsigned value;
    int length;
    for (; sscanf(digits, " %2x%n", &value, &length) == 1; digits += length) {
        assert_true(n < MOST_BYTES);
        bytes[n++] = (uint8_t)value;
    }
    return n;
}

static void present_text(const char *name, const uint8_t *bytes, size_t size, struct text *out)
{
    const ProtobufCMessageDescriptor *type = body_of(name);
    if (!type)
        fail_msg("%s: no such message any more", name);
    ProtobufCMessage *m = protobuf_c_message_unpack(type, NULL, size, bytes);
    if (!m)
        fail_msg("%s: its bytes cannot be parsed any more", name);
    out->used = 1; /* each line has a line's end on both sides */
    strcpy(out->bytes, "\n");
    message_text(out, name, m);
    protobuf_c_message_free_unpacked(m, NULL);
}

static FILE *open_file(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (!file)
        fail_msg("%s: cannot be read", path);
    return file;
}

/* "NAME = bytes", and further bytes behind blanks; then "NAME.field value" for each of them. */
static void messages_mean_the_same(void **state)
{
    static struct text text;
    static char line[MOST_LINE], name[64], wanted[MOST_LINE + 4];
    static uint8_t bytes[MOST_BYTES];
    FILE *file = open_file(GOLDEN "/1", "messages.txt");
    size_t size = 0;
    unsigned messages = 0, fields = 0;
    bool parsed = false;
    while (fgets(line, sizeof(line), file)) {
        const char *digits = strstr(line, " =");
        line[strcspn(line, "\n")] = 0;
        if (digits) {
            snprintf(name, sizeof(name), "%.*s", (int)(digits - line), line);
            size = hex_add(digits + 2, bytes, 0);
            parsed = false;
            messages++;
        } else if (line[0] == ' ') {
            size = hex_add(line, bytes, size);
        } else {
            if (!parsed)
                present_text(name, bytes, size, &text);
            parsed = true;
            fields++;
            snprintf(wanted, sizeof(wanted), "\n%s\n", line);
            if (!strstr(text.bytes, wanted))
                fail_msg("version 1 said \"%s\"; today the same bytes say:%s", line, text.bytes);
        }
    }
    fclose(file);
    print_message("%u messages, %u values\n", messages, fields);
    assert_true(messages > 30 && fields > 300);
}

/* Whole frames, as they crossed the socket. */
static void frames_are_read(void **state)
{
    static const struct {
        const char *file;
        unsigned type;
    } files[] = {{"hello.hex", WIRE_HELLO}, {"ping.hex", WIRE_PING},
                 {"open.hex", WIRE_OPEN},   {"frame_ready.hex", WIRE_FRAME_READY},
                 {"error.hex", WIRE_ERROR}, {"side_data.hex", WIRE_FRAME_READY}};
    static uint8_t bytes[MOST_BYTES];
    static char line[MOST_LINE];
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        FILE *file = open_file(GOLDEN "/1", files[i].file);
        struct frame f = {.payload = bytes + FRAME_HEADER_SIZE};
        size_t size = 0;
        while (fgets(line, sizeof(line), file))
            size = hex_add(line, bytes, size);
        fclose(file);
        assert_true(size >= FRAME_HEADER_SIZE);
        frame_header_unpack(bytes, &f.h);
        assert_int_equal(f.h.type, files[i].type);
        assert_int_equal(f.h.length, size - FRAME_HEADER_SIZE);
        ProtobufCMessage *body = wire_unpack(&f);
        assert_non_null(body);
        struct pelton_open_params params;
        struct wire_stretch stretch;
        if (f.h.type == WIRE_OPEN)
            assert_int_equal(wire_open_to((Pelton__Open *)body, &params, &stretch), 0);
        const Pelton__FrameReady *ready = (const Pelton__FrameReady *)body;
        if (f.h.type == WIRE_FRAME_READY && ready->side_data.len) {
            struct pelton_side_data *side = NULL;
            assert_int_equal(wire_side_unpack(ready->side_data.data, ready->side_data.len, &side),
                             0);
            assert_int_equal(side->has, 511);
            free(side);
        }
        wire_free(body);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(messages_mean_the_same),
                                       cmocka_unit_test(frames_are_read)};
    if (argc == 2 && !strcmp(argv[1], "--print"))
        return print_all();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
