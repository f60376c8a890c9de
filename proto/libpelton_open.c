/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The functions of pelton.h for streams. A call goes to one stream of the daemon
 * (libpelton_stream.c) or to several that share a file (libpelton_share.c).
 */
#include "proto/libpelton_share.h"

#include <stdlib.h>

void pelton_open_params_init(struct pelton_open_params *out)
{
    *out = (struct pelton_open_params){.fd = -1, .start_us = -1, .duration_us = -1};
}

/* A duration of 0 from time 0 holds no frame. So nobody has set these fields. */
static bool params_initialised(const struct pelton_open_params *p)
{
    return p->start_us != 0 || p->duration_us != 0;
}

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
           p->bench.transport <= PELTON_READBACK && p->n_blur <= PELTON_MAX_BLURS;
}

static int params_check(struct pelton *conn, const struct pelton_open_params *p)
{
    if (p && !params_initialised(p)) {
        return pelton_fail(conn, PELTON_ERR_USAGE,
                           "begin with pelton_open_params_init, which sets absent values",
                           "start_us and duration_us are both 0: no frame would come");
    }
    if (!p || !params_source_valid(p))
        return pelton_fail(conn, PELTON_ERR_USAGE, "set uri, or fd to an open file",
                           "neither a URI nor a descriptor");
    if (!params_in_range(p))
        return pelton_fail(conn, PELTON_ERR_USAGE, "", "an option of the stream is out of range");
    return PELTON_OK;
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

int pelton_open_start(struct pelton *conn, const struct pelton_open_params *params,
                      struct pelton_stream **out)
{
    int rc = params_check(conn, params);
    if (rc < 0)
        return rc;
    return pelton_share_wanted(params)
               ? share_start(conn, params, out)
               : pelton_stream_start(conn, params, (struct wire_stretch){0}, out);
}

int pelton_open_wait(struct pelton_stream *s, int timeout_ms, struct pelton_info *info)
{
    int64_t deadline = pelton_deadline(timeout_ms);
    return s->share ? pelton_share_wait(s->share, deadline, info)
                    : pelton_stream_wait(s, deadline, info);
}

int pelton_open(struct pelton *conn, const struct pelton_open_params *params, int timeout_ms,
                struct pelton_info *info, struct pelton_stream **out)
{
    struct pelton_stream *s;
    int rc = pelton_open_start(conn, params, &s);
    if (rc < 0)
        return rc;
    rc = pelton_open_wait(s, timeout_ms, info);
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

int pelton_probe_sei(struct pelton *conn, const struct pelton_open_params *params, int timeout_ms,
                     struct pelton_info *info, struct pelton_probe_sei *sei)
{
    int rc = params_check(conn, params);
    if (rc < 0)
        return rc;
    Pelton__Open open;
    Pelton__Probe probe = PELTON__PROBE__INIT;
    wire_open_from(params, (struct wire_stretch){0}, &open);
    probe.source = &open;
    ProtobufCMessage *body;
    rc = pelton_ask(conn, WIRE_PROBE, ++conn->last_object, &probe.base, &params->fd,
                    params->uri ? 0 : 1, WIRE_PROBE_REPLY, pelton_deadline(timeout_ms), &body);
    if (rc < 0)
        return rc;
    const Pelton__Info *reply = ((const Pelton__ProbeReply *)body)->info;
    rc = sei ? probe_sei_to(reply, sei) : 0;
    if (rc == 0)
        wire_info_to(reply, info);
    wire_free(body);
    return rc < 0 ? pelton_fail(conn, rc, "", "the daemon's answer cannot be read") : PELTON_OK;
}

int pelton_probe(struct pelton *conn, const struct pelton_open_params *params, int timeout_ms,
                 struct pelton_info *info)
{
    return pelton_probe_sei(conn, params, timeout_ms, info, NULL);
}

/* ---- frames and totals ---- */

int pelton_next(struct pelton_stream *s, int timeout_ms, struct pelton_frame *out)
{
    int64_t deadline = pelton_deadline(timeout_ms);
    return s->share ? pelton_share_next(s->conn, s->share, deadline, out)
                    : pelton_stream_next(s, deadline, out);
}

void pelton_release(struct pelton_stream *s, const struct pelton_frame *frame)
{
    if (s->share)
        pelton_share_release(s->share, frame);
    else
        pelton_stream_release(s, frame);
}

int pelton_stats(struct pelton_stream *s, int timeout_ms, struct pelton_stats *out)
{
    int64_t deadline = pelton_deadline(timeout_ms);
    return s->share ? pelton_share_stats(s->share, deadline, out)
                    : pelton_stream_stats(s, deadline, out);
}
