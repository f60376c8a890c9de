/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The messages of the wire protocol, from one list, and their conversion to and from the structs of
 * pelton.h. PROTOCOL.md is the normative text. Nothing here does I/O.
 */
#ifndef PELTON_WIRE_H
#define PELTON_WIRE_H

#include "proto/framing.h"
#include "proto/pelton.h"
#include "proto/pelton.pb-c.h"
#include "proto/wire_side.h"
#include "proto/wire_stretch.h"

enum { WIRE_PROTO_MIN = 1, WIRE_PROTO_MAX = 1 };

/* Name, number, body. Numbers never change. */
#define WIRE_MESSAGES(X)                                                                           \
    X(HELLO, 1, hello)                                                                             \
    X(WELCOME, 2, welcome)                                                                         \
    X(ERROR, 3, error)                                                                             \
    X(PING, 4, ping)                                                                               \
    X(PONG, 5, pong)                                                                               \
    X(GOODBYE, 6, goodbye)                                                                         \
    X(SHUTDOWN, 7, shutdown)                                                                       \
    X(RELOAD, 8, reload)                                                                           \
    X(RELOAD_REPLY, 9, reload_reply)                                                               \
    X(CORES, 10, cores)                                                                            \
    X(MEMORY_SHORT, 11, memory_short)                                                              \
    X(STATUS, 12, status)                                                                          \
    X(STATUS_REPLY, 13, status_reply)                                                              \
    X(OPEN, 16, open)                                                                              \
    X(OPEN_REPLY, 17, open_reply)                                                                  \
    X(PROBE, 18, probe)                                                                            \
    X(PROBE_REPLY, 19, probe_reply)                                                                \
    X(CLOSE, 20, close)                                                                            \
    X(RELEASE, 21, release)                                                                        \
    X(CREDIT, 22, credit)                                                                          \
    X(STATS, 23, stats)                                                                            \
    X(STATS_REPLY, 24, stats_reply)                                                                \
    X(DEVICES, 25, devices)                                                                        \
    X(DEVICES_REPLY, 26, devices_reply)                                                            \
    X(CONTROLS, 27, controls)                                                                      \
    X(CONTROLS_REPLY, 28, controls_reply)                                                          \
    X(SOURCES, 29, sources)                                                                        \
    X(SOURCES_REPLY, 30, sources_reply)                                                            \
    X(WATCH_SOURCES, 31, watch_sources)                                                            \
    X(FORMAT_CHANGED, 32, format_changed)                                                          \
    X(FRAME_READY, 33, frame_ready)                                                                \
    X(SOURCE_STATE, 34, source_state)                                                              \
    X(EOS, 35, eos)                                                                                \
    X(SOURCE_EVENT, 36, source_event)

enum wire_type {
#define WIRE_ENUM(name, number, body) WIRE_##name = number,
    WIRE_MESSAGES(WIRE_ENUM)
#undef WIRE_ENUM
};

const char *wire_type_name(unsigned type);                       /* NULL: unknown */
const ProtobufCMessageDescriptor *wire_type_body(unsigned type); /* NULL: unknown */
/* The body of f, to be cast by f->h.type. NULL: the type is unknown, or the bytes are no such
 * message. The caller frees it by wire_free, which takes NULL. */
ProtobufCMessage *wire_unpack(const struct frame *f);
void wire_free(ProtobufCMessage *body);

/* Copies a string, cuts it to size, and terminates it always. */
void wire_copy(char *out, size_t size, const char *in);

/* ---- structs to messages: a message borrows from its struct and needs no free ---- */

struct wire_info {
    Pelton__Info msg;
    Pelton__Rational time_base, frame_rate, avg_frame_rate, sar;
    Pelton__Colour colour;
    Pelton__Vui vui;
    Pelton__Video video[PELTON_MAX_VIDEOS], *videos[PELTON_MAX_VIDEOS];
};
void wire_video_from(const struct pelton_video *in, Pelton__Video *out);
void wire_video_to(const Pelton__Video *in, struct pelton_video *out);
void wire_colour_from(const struct pelton_colour *in, Pelton__Colour *out);
/* in may be NULL: nothing known */
void wire_colour_to(const Pelton__Colour *in, struct pelton_colour *out);
void wire_info_from(const struct pelton_info *in, struct wire_info *out);
/* in may be NULL: all unknown */
void wire_info_to(const Pelton__Info *in, struct pelton_info *out);

void wire_open_from(const struct pelton_open_params *in, struct wire_stretch stretch,
                    Pelton__Open *out);
/* Whether the frames that are wanted go with the other options. */
bool wire_wanted_valid(const struct pelton_open_params *p);
/* Whether the other options concern pictures, which access units are not yet. */
bool wire_encoded_valid(const struct pelton_open_params *p);
/* How frames are encoded: 0 or PELTON_ERR_USAGE. */
void wire_encoding_from(const struct pelton_encoding *in, Pelton__Encoding *out);
int wire_encoding_to(const Pelton__Encoding *in, struct pelton_encoding *out);
bool wire_encoding_valid(const struct pelton_encoding *e);
/* A batch of frames is possible with the other parameters. */
bool wire_batch_valid(const struct pelton_open_params *p);
/* Is each value of the output in range? */
bool wire_output_valid(const struct pelton_output *output);
/* Strings and lists stay the message's; fd is -1. Returns PELTON_ERR_USAGE where a value is out of
 * range. */
int wire_open_to(const Pelton__Open *in, struct pelton_open_params *out,
                 struct wire_stretch *stretch);

void wire_stats_from(const struct pelton_stats *in, Pelton__StatsReply *out);
/* in may be NULL: zeros */
/* A list of enum pelton_memory; what it lacks is 0. */
void wire_memory_to(const uint64_t *in, size_t n, uint64_t out[PELTON_MEMORY_MOST]);
void wire_stats_to(const Pelton__StatsReply *in, struct pelton_stats *out);

/* The cause of a failure whose code is set. It is never empty. */
void wire_cause(struct pelton_failure *out, const char *in);
void wire_failure_from(const struct pelton_failure *in, Pelton__Failure *out);
/* in may be NULL: code 0 */
void wire_failure_to(const Pelton__Failure *in, struct pelton_failure *out);

void wire_device_from(const struct pelton_device *in, Pelton__Device *out);
/* in may be NULL: empty */
void wire_device_to(const Pelton__Device *in, struct pelton_device *out);

void wire_device_memory_from(const struct pelton_device_memory *in, Pelton__DeviceMemory *out);
/* fd is -1, layout and offsets are 0. PELTON_ERR_PROTOCOL: another handle, or a length is wrong. */
int wire_device_memory_to(const Pelton__DeviceMemory *in, struct pelton_device_memory *out);

void wire_camera_from(const struct pelton_camera *in, Pelton__Camera *out);
/* in may be NULL: not present */
void wire_camera_to(const Pelton__Camera *in, struct pelton_camera *out);
/* out points into in */
void wire_exposure_from(const struct pelton_exposure *in, Pelton__Exposure *out);
/* in may be NULL: zero. A histogram of another number of bins is left out. */
void wire_exposure_to(const Pelton__Exposure *in, struct pelton_exposure *out);

enum pelton_source_state wire_state_to(Pelton__SourceState__State state);
/* in may be NULL: empty */
void wire_source_to(const Pelton__Source *in, struct pelton_source *out);

void wire_reloaded_to(const Pelton__ReloadReply *in, struct pelton_reloaded *out);
void wire_stream_status_to(const Pelton__StreamStatus *in, struct pelton_stream_status *out);
void wire_status_to(const Pelton__StatusReply *in, struct pelton_status *out);
/* in NULL: nothing was encoded. */
void wire_encoder_to(const Pelton__EncoderUsage *in, struct pelton_encoder_usage *out);
void wire_encoder_from(const struct pelton_encoder_usage *in, Pelton__EncoderUsage *out);

struct wire_controls {
    Pelton__Control msg[PELTON_MAX_CONTROLS], *list[PELTON_MAX_CONTROLS];
};
/* Borrows values from in; n is at most PELTON_MAX_CONTROLS. */
void wire_controls_from(const struct pelton_control *in, uint32_t n, struct wire_controls *out);
/* Returns PELTON_ERR_USAGE for more controls, or more values, than are allowed. */
int wire_controls_to(Pelton__Control *const *in, size_t n,
                     struct pelton_control out[PELTON_MAX_CONTROLS]);

#endif
