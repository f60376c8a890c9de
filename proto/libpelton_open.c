/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The functions of pelton.h for streams. A call goes to one stream of the daemon
 * (libpelton_stream.c) or to several that share a file (libpelton_share.c).
 */
#include "proto/libpelton_share.h"
#include "proto/libpelton_sizes.h"

#include <stdlib.h>
#include <unistd.h>

static bool params_source_valid(const struct pelton_open_params *p)
{
    return p->uri ? p->uri[0] != 0 : p->fd >= 0;
}

/* The message's fields are unsigned: a negative value would become a large one. */
static bool params_in_range(const struct pelton_open_params *p)
{
    return (int)p->policy >= 0 && p->policy <= PELTON_FIFO && (int)p->on_error >= 0 &&
           p->on_error <= PELTON_ON_ERROR_SHOW_ALL && (int)p->views >= 0 &&
           p->views <= PELTON_VIEWS_BOTH && (int)p->side_data >= 0 &&
           p->side_data <= PELTON_SIDE_ALL && (int)p->bench.transport >= 0 &&
           p->bench.transport <= PELTON_DEVICE && p->n_blur <= PELTON_MAX_BLURS &&
           (int)p->skip >= 0 && p->skip <= PELTON_SKIP_NONKEY && wire_wanted_valid(p) &&
           wire_output_valid(&p->output);
}

static int params_check(struct pelton *conn, const struct pelton_open_params *p)
{
    if (!params_source_valid(p))
        return pelton_fail(conn, PELTON_ERR_USAGE, "set uri, or fd to an open file",
                           "neither a URI nor a descriptor");
    if (!p->uri && p->fd == STDIN_FILENO && isatty(p->fd))
        return pelton_fail(conn, PELTON_ERR_USAGE, "set uri, or fd to an open file",
                           "the source is standard input, which is a terminal");
    if (!params_in_range(p))
        return pelton_fail(conn, PELTON_ERR_USAGE, "", "an option of the stream is out of range");
    if (!wire_encoded_valid(p))
        return pelton_fail(conn, PELTON_ERR_USAGE, "leave that option out, or read frames",
                           "access units are given as they came; an option concerns pictures");
    if (!wire_batch_valid(p))
        return pelton_fail(conn, PELTON_ERR_USAGE, "leave batch out, or the other option",
                           "a batch is for every frame of the base view, by one device");
    return PELTON_OK;
}

/* The caller's parameters as this library knows them. */
static int params_take(struct pelton *conn, struct pelton_open_params *out,
                       const struct pelton_open_params *in, size_t size)
{
    if (!in)
        return pelton_fail(conn, PELTON_ERR_USAGE, "", "no parameters");
    if (!PELTON_TAKE(out, in, size)) {
        return pelton_fail(conn, PELTON_ERR_USAGE, "install a libpelton as new as the program",
                           "an option of the stream is unknown to libpelton " PELTON_VERSION);
    }
    return params_check(conn, out);
}

/* ---- open and close ---- */

/* The caller's handle of a shared file. It is not a stream of the daemon. */
static int share_start(struct pelton *conn, const struct pelton_open_params *params,
                       struct pelton_stream **out)
{
    struct pelton_stream *s = pelton_stream_create(conn, params);
    if (!s)
        return pelton_fail(conn, PELTON_ERR_NOMEM, "", "out of memory");
    s->replied = true; /* no Open is sent under its number */
    int rc = pelton_share_start(conn, params, &s->share);
    if (rc < 0) {
        pelton_stream_free(s);
        return rc;
    }
    *out = s;
    return PELTON_OK;
}

int pelton_open_start_sized(struct pelton *conn, const struct pelton_open_params *params,
                            size_t size, struct pelton_stream **out)
{
    struct pelton_open_params p;
    int rc = params_take(conn, &p, params, size);
    if (rc < 0)
        return rc;
    return pelton_share_wanted(&p) ? share_start(conn, &p, out)
                                   : pelton_stream_start(conn, &p, (struct wire_stretch){0}, out);
}

/* *info is the caller's also for a source that is not supported. */
int pelton_open_wait_sized(struct pelton_stream *s, int timeout_ms, struct pelton_info *info,
                           size_t size)
{
    int64_t deadline = pelton_deadline(timeout_ms);
    const struct pelton_info *found = NULL;
    int rc = s->share ? pelton_share_wait(s->share, deadline, &found)
                      : pelton_stream_wait(s, deadline, &found);
    if (info && found)
        PELTON_GIVE(info, size, found);
    return rc;
}

int pelton_open_sized(struct pelton *conn, const struct pelton_open_params *params,
                      size_t params_size, int timeout_ms, struct pelton_info *info,
                      size_t info_size, struct pelton_stream **out)
{
    struct pelton_stream *s;
    int rc = pelton_open_start_sized(conn, params, params_size, &s);
    if (rc < 0)
        return rc;
    rc = pelton_open_wait_sized(s, timeout_ms, info, info_size);
    if (rc < 0) {
        pelton_stream_close(s);
        return rc;
    }
    *out = s;
    return PELTON_OK;
}

const char *pelton_waiting(const struct pelton_stream *s)
{
    return s->waiting[0] ? s->waiting : NULL;
}

void pelton_stream_close(struct pelton_stream *s)
{
    if (!s)
        return;
    if (!s->share) {
        pelton_stream_end(s);
        return;
    }
    pelton_share_close(s->share);
    pelton_stream_free(s);
}

/* ---- probe ---- */

static int probe_sei_to(const Pelton__Info *info, struct pelton_probe_sei *out)
{
    struct pelton_probe_sei sei = {0};
    if (info && info->side_data.len) {
        int rc = wire_side_unpack(info->side_data.data, info->side_data.len, &sei.first);
        if (rc < 0)
            return rc;
    }
    for (size_t i = 0; info && i < info->n_sei && i < PELTON_MAX_SEI_TYPES; i++) {
        sei.type[sei.types].type = info->sei[i]->type;
        sei.type[sei.types++].count = info->sei[i]->count;
    }
    sei.pictures = info ? info->probed : 0;
    *out = sei;
    return 0;
}

static int probe_ask(struct pelton *conn, const struct pelton_open_params *params, int timeout_ms,
                     ProtobufCMessage **body)
{
    Pelton__Open open;
    Pelton__Probe probe = PELTON__PROBE__INIT;
    wire_open_from(params, (struct wire_stretch){0}, &open);
    probe.source = &open;
    return pelton_ask(conn, WIRE_PROBE, ++conn->last_object, &probe.base, &params->fd,
                      params->uri ? 0 : 1, WIRE_PROBE_REPLY, pelton_deadline(timeout_ms), body);
}

int pelton_probe_sized(struct pelton *conn, const struct pelton_open_params *params,
                       size_t params_size, int timeout_ms, struct pelton_info *info,
                       size_t info_size, struct pelton_probe_sei *sei, size_t sei_size)
{
    struct pelton_open_params p;
    struct pelton_info found;
    struct pelton_probe_sei messages;
    ProtobufCMessage *body;
    int rc = params_take(conn, &p, params, params_size);
    rc = rc < 0 ? rc : probe_ask(conn, &p, timeout_ms, &body);
    if (rc < 0)
        return rc;
    const Pelton__Info *reply = ((const Pelton__ProbeReply *)body)->info;
    wire_info_to(reply, &found);
    rc = sei ? probe_sei_to(reply, &messages) : 0;
    wire_free(body);
    if (rc < 0)
        return pelton_fail(conn, rc, "", "the daemon's answer cannot be read");
    if (sei)
        PELTON_GIVE(sei, sei_size, &messages);
    PELTON_GIVE(info, info_size, &found);
    return PELTON_OK;
}

/* ---- frames and totals ---- */

int pelton_next_sized(struct pelton_stream *s, int timeout_ms, struct pelton_frame *out,
                      size_t size)
{
    int64_t deadline = pelton_deadline(timeout_ms);
    struct pelton_frame frame;
    int rc = s->share ? pelton_share_next(s->conn, s->share, deadline, &frame)
                      : pelton_stream_next(s, deadline, &frame);
    if (rc > 0)
        PELTON_GIVE(out, size, &frame);
    return rc;
}

int pelton_next_batch_sized(struct pelton_stream *s, int timeout_ms, struct pelton_frame *out,
                            uint32_t room, size_t size)
{
    if (!room || s->share)
        return pelton_fail(s->conn, PELTON_ERR_USAGE, "", "no room for a frame, or no batch");
    int n = pelton_stream_await_batch(s, pelton_deadline(timeout_ms));
    if (n > 0 && (uint32_t)n > room)
        return pelton_fail(s->conn, PELTON_ERR_USAGE, "give room for output.batch frames",
                           "%d frames have no room in %u", n, room);
    for (int i = 0; i < n; i++) {
        struct pelton_frame frame;
        pelton_stream_take(s, &frame);
        PELTON_GIVE((uint8_t *)out + (size_t)i * size, size, &frame);
    }
    return n;
}

void pelton_release(struct pelton_stream *s, const struct pelton_frame *frame)
{
    if (s->share)
        pelton_share_release(s->share, frame);
    else
        pelton_stream_release(s, frame);
}

int pelton_device_memory_sized(const struct pelton_stream *s, const struct pelton_frame *frame,
                               struct pelton_device_memory *out, size_t size)
{
    struct pelton_device_memory memory;
    if (s->share || !pelton_stream_device(s, frame, &memory)) {
        return pelton_fail(s->conn, PELTON_ERR_USAGE, "open the stream with PELTON_DEVICE",
                           "the frame is not held, or not in device memory");
    }
    PELTON_GIVE(out, size, &memory);
    return PELTON_OK;
}

int pelton_stats_sized(struct pelton_stream *s, int timeout_ms, struct pelton_stats *out,
                       size_t size)
{
    int64_t deadline = pelton_deadline(timeout_ms);
    struct pelton_stats stats;
    int rc = s->share ? pelton_share_stats(s->share, deadline, &stats)
                      : pelton_stream_stats(s, deadline, &stats);
    if (rc == 0)
        PELTON_GIVE(out, size, &stats);
    return rc;
}
