/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One worker process a device: how many there are, and which of them a stream goes to.
 *
 * The happy path: one device is its worker's business, and no question is asked. Of several, which
 * a list names or, for "all", the first worker, each worker opens its own; when all have, streams
 * go where there are fewest. The failure modes: the list is wrong or one of its devices cannot be
 * opened, and then none is used (who names devices means all of them); a worker dies before it has
 * answered, and is asked again after its restart (recovery.c).
 */
#include "daemon/broker/broker.h"

#include "camera/camera_params.h"

#include <stdio.h>
#include <string.h>

static void worker_init(struct broker *b, unsigned i, const char *device)
{
    struct worker *w = &b->workers[i];
    w->broker = b;
    w->device = device;
    w->restart.limit = b->settings->limits.restarts;
    w->restart.window_ms = b->settings->limits.restart_window_ms;
}

/* The number of devices; 0: a name is too long or there are too many. */
static unsigned split(struct broker *b, const char *list)
{
    for (unsigned n = 0; n < WORKERS_MAX;) {
        size_t length = strcspn(list, ",");
        if (length >= DEVICE_NAME_BYTES)
            return 0;
        snprintf(b->device_names[n], DEVICE_NAME_BYTES, "%.*s", (int)length, list);
        worker_init(b, n, b->device_names[n]);
        n++;
        if (!list[length])
            return n;
        list += length + 1;
    }
    return 0;
}

void devices_init(struct broker *b)
{
    const char *list = b->settings->engine.device;
    b->n_workers = 1;
    b->devices = DEVICES_READY;
    worker_init(b, 0, list);
    if (list && strcmp(list, "all") == 0) {
        b->devices = DEVICES_LIST;
    } else if (list && strchr(list, ',')) {
        unsigned n = split(b, list);
        b->devices = n ? DEVICES_OPENING : DEVICES_WRONG;
        b->n_workers = n ? n : 1;
    }
}

static void ask(struct worker *w, bool current)
{
    Pelton__Devices m = PELTON__DEVICES__INIT;
    m.current = current;
    w->question = ++w->broker->last_request;
    channel_send(&w->ch, WIRE_DEVICES, w->question, 0, &m.base, NULL, 0);
}

bool devices_need(struct broker *b)
{
    if (b->devices == DEVICES_WRONG) {
        struct pelton_failure failure = {
            PELTON_ERR_NO_DEVICE, "a device's name is too long, or there are more than 16", ""};
        recovery_refuse(b, NULL, &failure);
    } else if (b->devices == DEVICES_READY) {
        return true;
    } else {
        for (unsigned i = 0; i < b->n_workers; i++) {
            struct worker *w = &b->workers[i];
            if (recovery_have(w) && !w->opened && !w->question)
                ask(w, b->devices == DEVICES_OPENING);
        }
    }
    return false;
}

/* Every usable hardware device by its UUID, where there are several. The first worker, started for
 * "all", has taken the first. */
static void take_list(struct broker *b, const Pelton__DevicesReply *m)
{
    unsigned n = 0;
    for (size_t i = 0; i < m->n_devices && n < WORKERS_MAX; i++) {
        const Pelton__Device *d = m->devices[i];
        if (d->usable && !d->software && strlen(d->uuid) < DEVICE_NAME_BYTES)
            strcpy(b->device_names[n++], d->uuid);
    }
    b->devices = n > 1 ? DEVICES_OPENING : DEVICES_READY;
    for (unsigned i = 0; n > 1 && i < n; i++) {
        b->workers[i].device = b->device_names[i];
        if (i > 0)
            worker_init(b, i, b->device_names[i]);
    }
    b->n_workers = n > 1 ? n : 1;
}

static void take_opened(struct worker *w)
{
    struct broker *b = w->broker;
    w->opened = true;
    for (unsigned i = 0; i < b->n_workers; i++)
        if (!b->workers[i].opened)
            return;
    b->devices = DEVICES_READY;
}

bool devices_answer(struct worker *w, const struct frame *f, const ProtobufCMessage *body)
{
    struct broker *b = w->broker;
    if (w->question == 0 || f->h.request_id != w->question)
        return false;
    w->question = 0;
    if (f->h.type == WIRE_ERROR) {
        const Pelton__Error *m = (const Pelton__Error *)body;
        struct pelton_failure failure = {.code = m->code < 0 ? m->code : PELTON_ERR_OTHER};
        wire_copy(failure.cause, sizeof(failure.cause), m->message);
        wire_copy(failure.hint, sizeof(failure.hint), m->hint);
        recovery_refuse(b, NULL, &failure);
    } else if (f->h.type == WIRE_DEVICES_REPLY && b->devices == DEVICES_LIST) {
        take_list(b, (const Pelton__DevicesReply *)body);
    } else if (f->h.type == WIRE_DEVICES_REPLY) {
        take_opened(w);
    }
    recovery_pump(b);
    return true;
}

static unsigned streams_of(const struct broker *b, const struct worker *w)
{
    unsigned n = 0;
    for (const struct stream *s = b->streams; s; s = s->next)
        n += s->worker == w && s->state != STREAM_ENDED;
    return n;
}

/* The worker with the fewest streams, of those that run or may be started. Cameras, which one
 * process has to hold, are the first worker's. */
struct worker *devices_choose(const struct stream *s)
{
    struct broker *b = s->broker;
    struct worker *best = NULL;
    if (camera_address(s->open->uri))
        return b->workers;
    unsigned fewest = 0;
    for (unsigned i = 0; i < b->n_workers; i++) {
        struct worker *w = &b->workers[i];
        unsigned n = streams_of(b, w);
        if ((!best || n < fewest) &&
            (!w->died || restart_possible(&w->restart, uv_now(&b->loop)))) {
            best = w;
            fewest = n;
        }
    }
    return best ? best : b->workers;
}
