/* SPDX-License-Identifier: BSD-2-Clause
 *
 * libFuzzer target: bytes on a socket become frames, messages, and the structs of broker, worker
 * and libpelton.
 */
#include "proto/wire.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void convert(unsigned type, const ProtobufCMessage *body)
{
    struct pelton_open_params open;
    struct wire_stretch stretch;
    struct pelton_failure failure;
    struct pelton_stats stats;
    struct pelton_device_memory device;
    struct pelton_info info;
    struct pelton_side_data *side;
    if (type == WIRE_OPEN)
        wire_open_to((const Pelton__Open *)body, &open, &stretch);
    else if (type == WIRE_OPEN_REPLY)
        wire_info_to(((const Pelton__OpenReply *)body)->info, &info);
    else if (type == WIRE_FRAME_READY) {
        const Pelton__FrameReady *frame = (const Pelton__FrameReady *)body;
        if (wire_side_unpack(frame->side_data.data, frame->side_data.len, &side) == 0)
            free(side);
    } else if (type == WIRE_STATS_REPLY)
        wire_stats_to((const Pelton__StatsReply *)body, &stats);
    else if (type == WIRE_FORMAT_CHANGED) {
        const Pelton__FormatChanged *format = (const Pelton__FormatChanged *)body;
        if (format->device)
            wire_device_memory_to(format->device, &device);
    } else if (type == WIRE_EOS)
        wire_failure_to(((const Pelton__Eos *)body)->failure, &failure);
}

/* One frame at most is complete before the next bytes are asked for, so a socket buffer's worth at
 * a time is enough. */
static void read_frames(int fd)
{
    struct frame_reader reader;
    struct frame frame;
    frame_reader_init(&reader);
    while (frame_reader_fill(&reader, fd) > 0) {
        while (frame_reader_next(&reader, &frame) > 0) {
            ProtobufCMessage *body = wire_unpack(&frame);
            if (body)
                convert(frame.h.type, body);
            wire_free(body);
            frame_close_fds(&frame);
        }
    }
    frame_reader_free(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return 0;
    if (size && send(pair[0], data, size, MSG_DONTWAIT) == (ssize_t)size) {
        shutdown(pair[0], SHUT_WR);
        read_frames(pair[1]);
    }
    close(pair[0]);
    close(pair[1]);
    return 0;
}
