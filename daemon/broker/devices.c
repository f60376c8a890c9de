/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The devices of the daemon: see devices.h.
 *
 * The happy path with one device is that its worker opens it, and no question is asked. Several are
 * named by a list, or for "all" by the first worker. A new stream goes to the worker with the
 * fewest.
 *
 * Of a list each worker opens its own device, and streams wait for all of them. Of "all" the first
 * stream waits for the first device alone. A further device is opened when a stream comes to its
 * worker, and nobody else waits for it: a driver takes seconds for several. The failure modes are:
 * - The list is wrong, or one of its devices cannot be opened. Then none is used, because a user
 * who names devices means all of them.
 * - One of "all" cannot be opened. Its stream goes to another one, and it gets none any more.
 * - A worker dies before it has answered. It is asked again after its restart.
 */
#include "daemon/broker/devices.h"

#include "camera/camera_params.h"
#include "daemon/broker/named.h"
#include "daemon/broker/stream_state.h"
#include "daemon/broker/worker_link.h"

#include "daemon/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void worker_init(struct broker *b, unsigned i, const char *device)
{
    struct worker_process *w = &b->workers[i];
    w->broker = b;
    w->device = device;
    w->restart.limit = b->settings->limits.restarts;
    w->restart.window_ms = b->settings->limits.restart_window_ms;
    w->losses = w->restart;
}

static bool may_fall_back(const struct worker_process *w)
{
    const struct settings_engine *o = &w->broker->settings->engine;
    bool any = !o->device || strcmp(o->device, "auto") == 0 || strcmp(o->device, "all") == 0;
    return any && o->libavcodec;
}

void devices_lost(struct worker_process *w, uint64_t now_ms)
{
    if (w->lost)
        return;
    w->lost = true;
    restart_allowed(&w->losses, now_ms);
    if (restart_possible(&w->losses, now_ms) || !may_fall_back(w))
        return;
    log_line(LOG_LEVEL_WARNING, "the GPU was lost %u times in %llu s: libavcodec decodes from now",
             w->losses.count, (unsigned long long)(w->losses.window_ms + 999) / 1000);
    w->device = "libavcodec";
    w->restart.count = 0;
}

/* The number of devices; 0: a name is too long or there are too many. */
static unsigned devices_split(struct broker *b, const char *list)
{
    for (unsigned n = 0; n < WORKERS_MAX;) {
        size_t length = strcspn(list, ",");
        if (length >= DEVICE_NAME_BYTES)
            return 0;
        snprintf(b->devices->names[n], DEVICE_NAME_BYTES, "%.*s", (int)length, list);
        worker_init(b, n, b->devices->names[n]);
        n++;
        if (!list[length])
            return n;
        list += length + 1;
    }
    return 0;
}

bool devices_create(struct broker *b)
{
    const char *list = b->settings->engine.device;
    struct broker_devices *d = calloc(1, sizeof(*d));
    if (!d)
        return false;
    b->devices = d;
    b->workers = d->workers;
    b->n_workers = 1;
    d->state = DEVICES_READY;
    worker_init(b, 0, list);
    if (list && strcmp(list, "all") == 0) {
        d->state = DEVICES_LIST;
        d->all = true;
    } else if (list && strchr(list, ',')) {
        unsigned n = devices_split(b, list);
        d->state = n ? DEVICES_OPENING : DEVICES_WRONG;
        b->n_workers = n ? n : 1;
    }
    return true;
}

void devices_free(struct broker *b)
{
    free(b->devices);
}

unsigned devices_awaited(const struct broker *b)
{
    return b->devices->all ? 1 : b->n_workers;
}

bool devices_passes_over(struct worker_process *w, const struct broker_stream *s, int code)
{
    const struct broker *b = w->broker;
    if (code != PELTON_ERR_NO_DEVICE || w->ready || !b->devices->all || w == b->workers)
        return false;
    if (!w->unusable)
        log_line(LOG_LEVEL_WARNING, "device %s cannot be opened; the others go on", w->device);
    w->unusable = true;
    return s->source.table < 0 && (s->source.fd < 0 || s->source.resumable);
}

void devices_ask(struct worker_process *w)
{
    Pelton__Devices m = PELTON__DEVICES__INIT;
    if (w->opened || w->question)
        return;
    m.current = w->broker->devices->state == DEVICES_OPENING;
    w->question = ++w->broker->last_request;
    worker_send(w, WIRE_DEVICES, w->question, 0, &m.base, NULL, 0);
}

/* Every usable hardware device by its UUID, where there are several. The first worker, started for
 * "all", has taken the first. */
static void list_answered(struct broker *b, const Pelton__DevicesReply *m)
{
    unsigned n = 0;
    for (size_t i = 0; i < m->n_devices && n < WORKERS_MAX; i++) {
        const Pelton__Device *d = m->devices[i];
        if (d->usable && !d->software && strlen(d->uuid) < DEVICE_NAME_BYTES)
            strcpy(b->devices->names[n++], d->uuid);
    }
    b->devices->state = n > 1 ? DEVICES_OPENING : DEVICES_READY;
    for (unsigned i = 0; n > 1 && i < n; i++) {
        b->workers[i].device = b->devices->names[i];
        if (i > 0)
            worker_init(b, i, b->devices->names[i]);
    }
    b->n_workers = n > 1 ? n : 1;
}

static void worker_answered(struct worker_process *w)
{
    struct broker *b = w->broker;
    w->opened = true;
    for (unsigned i = 0; i < devices_awaited(b); i++)
        if (!b->workers[i].opened)
            return;
    b->devices->state = DEVICES_READY;
}

bool devices_answer(struct worker_process *w, const struct frame *f, const ProtobufCMessage *body)
{
    struct broker_devices *d = w->broker->devices;
    if (w->question == 0 || f->h.request_id != w->question)
        return false;
    w->question = 0;
    if (f->h.type == WIRE_ERROR) {
        const Pelton__Error *m = (const Pelton__Error *)body;
        d->failure.code = m->code < 0 ? m->code : PELTON_ERR_OTHER;
        wire_copy(d->failure.cause, sizeof(d->failure.cause), m->message);
        wire_copy(d->failure.hint, sizeof(d->failure.hint), m->hint);
    } else if (f->h.type == WIRE_DEVICES_REPLY && d->state == DEVICES_LIST) {
        list_answered(w->broker, (const Pelton__DevicesReply *)body);
    } else if (f->h.type == WIRE_DEVICES_REPLY) {
        worker_answered(w);
    }
    broker_changed(w->broker);
    return true;
}

void devices_opened(struct worker_process *w, const Pelton__Device *m)
{
    struct broker *b = w->broker;
    struct broker_devices *d = b->devices;
    if (w != b->workers || d->state == DEVICES_LIST)
        return; /* how many there are is not known yet */
    wire_device_to(m, &d->first);
    d->first.devices = b->n_workers;
    if (b->n_workers > 1) {
        size_t n = strlen(d->first.name);
        snprintf(d->first.name + n, sizeof(d->first.name) - n, " and %u more", b->n_workers - 1);
    }
    d->known = true;
}

/* Those that it decodes, or is to decode. */
static unsigned streams_of(const struct broker *b, const struct worker_process *w)
{
    unsigned n = 0;
    for (const struct broker_stream *s = b->streams; s; s = s->next)
        n += s->worker == w && stream_needs_worker(s);
    return n;
}

/* A device that is not open yet needs no cores. */
static bool has_work(const struct broker *b, const struct worker_process *w)
{
    return worker_running(w) && w->ready && streams_of(b, w) > 0;
}

void devices_share_cores(struct broker *b)
{
    Pelton__Cores m = PELTON__CORES__INIT;
    for (unsigned i = 0; b->n_workers > 1 && i < b->n_workers; i++)
        m.workers += has_work(b, &b->workers[i]);
    for (unsigned i = 0; m.workers && i < b->n_workers; i++) {
        struct worker_process *w = &b->workers[i];
        if (m.workers - 1 == w->sharing || !has_work(b, w))
            continue;
        w->sharing = m.workers - 1;
        worker_send(w, WIRE_CORES, 0, 0, &m.base, NULL, 0);
    }
}

/* That of another reader of the same network source, which shares its connection. NULL: none. */
static struct worker_process *worker_of_source(const struct broker_stream *s)
{
    const struct broker_stream *other = s->source.origin ? s->broker->streams : NULL;
    while (other && (other->source.origin != s->source.origin || !other->worker ||
                     other->state == STREAM_ENDED || other->state == STREAM_CLOSED))
        other = other->next;
    bool shared = other && s->source.origin->config.kind == SOURCE_NETWORK;
    return shared ? other->worker : NULL;
}

/* The worker with the fewest streams, among those that run or may be started. The first worker gets
 * all cameras, because one process has to hold them. */
struct worker_process *devices_choose(const struct broker_stream *s, uint64_t now_ms)
{
    struct broker *b = s->broker;
    struct worker_process *best = NULL, *same = worker_of_source(s);
    if (camera_address(s->source.open->uri) || same)
        return same ? same : b->workers;
    unsigned fewest = 0;
    for (unsigned i = 0; i < b->n_workers; i++) {
        struct worker_process *w = &b->workers[i];
        unsigned n = streams_of(b, w);
        if ((!best || n < fewest) && !w->unusable &&
            (!w->died || restart_possible(&w->restart, now_ms))) {
            best = w;
            fewest = n;
        }
    }
    return best ? best : b->workers;
}
