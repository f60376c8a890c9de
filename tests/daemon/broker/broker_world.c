/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See broker_world.h.
 */
#include "tests/daemon/broker/broker_world.h"

#include "daemon/broker/client_link.h"
#include "daemon/broker/stream_delivery.h"
#include "daemon/broker/worker_messages.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STEPS = 10 };

void world_open(struct broker_world *w, const char *device)
{
    memset(w, 0, sizeof(*w));
    w->settings.engine.device = device;
    w->settings.limits.restarts = 3;
    w->settings.limits.restart_window_ms = 300000;
    w->settings.limits.stream_memory = w->settings.limits.client_memory = UINT32_MAX;
    w->settings.limits.stream_device = w->settings.limits.client_device = UINT32_MAX;
    w->b.settings = &w->settings;
    w->b.streams_tail = &w->b.streams;
    w->now_ms = 1000000;
    if (!devices_create(&w->b))
        abort();
    links_refuse_start(false);
    links_take();
}

void world_close(struct broker_world *w)
{
    for (struct client *c = w->b.clients; c; c = c->next)
        client_close(c, NULL);
    world_step(w);
    if (w->b.clients || w->b.streams || w->b.asks || w->b.n_streams || w->b.n_clients)
        abort();
    devices_free(&w->b);
    id_table_free(&w->b.streams_by_wid);
}

struct client *world_client(struct broker_world *w)
{
    struct client *c = calloc(1, sizeof(*c));
    c->broker = &w->b;
    c->pid = ++w->n_clients;
    c->next = w->b.clients;
    w->b.clients = c;
    w->b.n_clients++;
    return c;
}

const char *world_step(struct broker_world *w)
{
    for (int i = 0; w->b.changed; i++) {
        if (i == STEPS)
            abort(); /* the step never comes to rest */
        broker_step(&w->b, w->now_ms);
    }
    return links_take();
}

const char *world_later(struct broker_world *w, uint64_t ms)
{
    w->now_ms += ms;
    broker_changed(&w->b);
    return world_step(w);
}

/* ---- streams ---- */

static ProtobufCMessage *copy_of(const ProtobufCMessage *m)
{
    uint8_t *bytes = malloc(protobuf_c_message_get_packed_size(m) + 1);
    size_t n = protobuf_c_message_pack(m, bytes);
    ProtobufCMessage *copy = protobuf_c_message_unpack(m->descriptor, NULL, n, bytes);
    free(bytes);
    return copy;
}

static struct broker_stream *stream_make(struct client *c, uint32_t object_id, unsigned type,
                                         const ProtobufCMessage *body)
{
    struct frame f = {.h = {.type = (uint16_t)type, .object_id = object_id, .request_id = 7}};
    struct broker_stream *s = stream_create(c, &f, copy_of(body));
    s->source.resumable = true;
    return s;
}

struct broker_stream *world_stream(struct client *c, uint32_t object_id, enum world_source source)
{
    char name[16];
    Pelton__Open m = PELTON__OPEN__INIT;
    snprintf(name, sizeof(name), "s%u", object_id);
    m.uri = m.name = name;
    struct broker_stream *s = stream_make(c, object_id, WIRE_OPEN, &m.base);
    s->source.resumable = source != WORLD_PIPE;
    s->source.live = source == WORLD_LIVE;
    return s;
}

struct broker_stream *world_probe(struct client *c, uint32_t object_id)
{
    Pelton__Open open = PELTON__OPEN__INIT;
    Pelton__Probe m = PELTON__PROBE__INIT;
    open.uri = "probe";
    m.source = &open;
    return stream_make(c, object_id, WIRE_PROBE, &m.base);
}

/* ---- workers ---- */

static void says(struct worker_process *w, unsigned type, uint32_t request, uint32_t wid,
                 const ProtobufCMessage *body, int fd)
{
    uint8_t bytes[4096];
    struct frame f = {.payload = bytes, .fds = {fd, -1, -1, -1}};
    f.h.type = (uint16_t)type;
    f.h.request_id = request;
    f.h.object_id = wid;
    f.h.n_fds = fd >= 0;
    f.h.length = (uint32_t)protobuf_c_message_pack(body, bytes);
    worker_message(w, &f);
    frame_close_fds(&f);
}

void world_info(struct broker_stream *s)
{
    Pelton__Info info = PELTON__INFO__INIT;
    Pelton__OpenReply open = PELTON__OPEN_REPLY__INIT;
    Pelton__ProbeReply probe = PELTON__PROBE_REPLY__INIT;
    open.info = probe.info = &info;
    if (s->probe)
        says(s->worker, WIRE_PROBE_REPLY, 0, s->wid, &probe.base, -1);
    else
        says(s->worker, WIRE_OPEN_REPLY, 0, s->wid, &open.base, -1);
}

void world_format(struct broker_stream *s, uint32_t slots)
{
    Pelton__FormatChanged m = PELTON__FORMAT_CHANGED__INIT;
    m.epoch = 1;
    m.slots = slots;
    m.memfd_size = 1;
    says(s->worker, WIRE_FORMAT_CHANGED, 0, s->wid, &m.base,
         open("/dev/null", O_RDONLY | O_CLOEXEC));
}

void world_frame(struct broker_stream *s, uint64_t sequence, uint32_t slot)
{
    Pelton__FrameReady m = PELTON__FRAME_READY__INIT;
    m.epoch = 1;
    m.sequence = sequence;
    m.slot = slot;
    m.generation = (uint32_t)sequence + 1;
    says(s->worker, WIRE_FRAME_READY, 0, s->wid, &m.base, -1);
}

void world_release(struct broker_stream *s, uint64_t sequence, uint32_t slot)
{
    Pelton__Release m = PELTON__RELEASE__INIT;
    m.epoch = s->delivery.last_epoch;
    m.slot = slot;
    m.generation = (uint32_t)sequence + 1;
    delivery_release(s, &m);
}

void world_short(struct broker_stream *s)
{
    Pelton__MemoryShort m = PELTON__MEMORY_SHORT__INIT;
    says(s->worker, WIRE_MEMORY_SHORT, 0, s->wid, &m.base, -1);
}

void world_eos(struct broker_stream *s, int code)
{
    Pelton__Eos m = PELTON__EOS__INIT;
    Pelton__Failure failure = PELTON__FAILURE__INIT;
    failure.code = code;
    failure.cause = "as the test says";
    m.failure = code ? &failure : NULL;
    says(s->worker, WIRE_EOS, 0, s->wid, &m.base, -1);
}

void world_says_devices(struct worker_process *w, uint32_t request, unsigned devices)
{
    Pelton__DevicesReply m = PELTON__DEVICES_REPLY__INIT;
    Pelton__Device list[WORKERS_MAX], *pointers[WORKERS_MAX];
    char uuids[WORKERS_MAX][12];
    for (unsigned i = 0; i < devices; i++) {
        pelton__device__init(&list[i]);
        snprintf(uuids[i], sizeof(uuids[i]), "u%u", i);
        list[i].uuid = uuids[i];
        list[i].usable = true;
        pointers[i] = &list[i];
    }
    m.n_devices = devices;
    m.devices = pointers;
    m.current = -1;
    says(w, WIRE_DEVICES_REPLY, request, 0, &m.base, -1);
}

void world_says_error(struct worker_process *w, uint32_t request, int code)
{
    Pelton__Error m = PELTON__ERROR__INIT;
    m.code = code;
    m.message = "as the test says";
    says(w, WIRE_ERROR, request, 0, &m.base, -1);
}
