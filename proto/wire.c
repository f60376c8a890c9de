/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The list of messages: from type numbers to names and bodies.
 */
#include "proto/wire.h"

#include <string.h>

const char *wire_type_name(unsigned type)
{
    switch (type) {
#define WIRE_NAME(name, number, body)                                                              \
    case number:                                                                                   \
        return #name;
        WIRE_MESSAGES(WIRE_NAME)
#undef WIRE_NAME
    default:
        return NULL;
    }
}

const ProtobufCMessageDescriptor *wire_type_body(unsigned type)
{
    switch (type) {
#define WIRE_BODY(name, number, body)                                                              \
    case number:                                                                                   \
        return &pelton__##body##__descriptor;
        WIRE_MESSAGES(WIRE_BODY)
#undef WIRE_BODY
    default:
        return NULL;
    }
}

ProtobufCMessage *wire_unpack(const struct frame *f)
{
    const ProtobufCMessageDescriptor *body = wire_type_body(f->h.type);
    return body ? protobuf_c_message_unpack(body, NULL, f->h.length, f->payload) : NULL;
}

void wire_free(ProtobufCMessage *body)
{
    if (body)
        protobuf_c_message_free_unpacked(body, NULL);
}

void wire_copy(char *out, size_t size, const char *in)
{
    size_t n = in ? strnlen(in, size - 1) : 0;
    memcpy(out, in ? in : "", n);
    out[n] = 0;
}
