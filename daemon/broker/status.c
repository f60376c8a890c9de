/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the daemon is doing, for pelton stats and pelton top: each stream with its client, its
 * frames and what it has missed.
 */
#include "daemon/broker/broker.h"

#include "daemon/config_source.h"

#include <stdlib.h>

enum { LISTED = 128 /* what a message holds */ };

struct entry {
    Pelton__StreamStatus msg;
    char name[128];
};

static Pelton__SourceState__State state_of(const struct stream *s)
{
    switch (s->state) {
    case STREAM_QUEUED:
        return PELTON__SOURCE_STATE__STATE__OPENING;
    case STREAM_WAITING:
        return PELTON__SOURCE_STATE__STATE__BACKOFF;
    case STREAM_ENDED:
        return PELTON__SOURCE_STATE__STATE__ENDED;
    case STREAM_OPEN:
        break;
    }
    return !s->replied ? PELTON__SOURCE_STATE__STATE__OPENING
           : s->named  ? s->named->state
                       : PELTON__SOURCE_STATE__STATE__RUNNING;
}

static void describe(const struct stream *s, struct entry *out)
{
    Pelton__StreamStatus *m = &out->msg;
    pelton__stream_status__init(m);
    config_redact(stream_name(s), out->name, sizeof(out->name));
    m->id = s->id;
    m->name = out->name;
    m->source = s->named ? s->named->name : "";
    m->client = s->client->name;
    m->pid = (int32_t)s->client->pid;
    m->uid = s->client->uid;
    m->state = state_of(s);
    m->policy = s->open->policy;
    m->depth = s->open->depth;
    m->pix_fmt = (char *)s->pix_fmt;
    m->width = s->width;
    m->height = s->height;
    m->frames = s->sent;
    m->waiting = s->n_pending;
    for (const struct broker_pool *p = s->pools; p; p = p->next)
        m->held += p->held;
    m->slots = s->pools ? s->pools->n_slots : 0;
    m->dropped_source = s->dropped_base[0] + s->dropped_last[0];
    m->dropped_decoder = s->dropped_base[1] + s->dropped_last[1];
    m->dropped_client = s->dropped_client;
    m->restarts = s->restarts;
    m->age_ns = s->age_ns;
    m->gpu_entropy_pictures = s->totals.gpu_entropy_pictures;
    m->gpu_entropy = s->totals.gpu_entropy;
}

void status_send(struct client *c, uint32_t request_id, bool all)
{
    const struct broker *b = c->broker;
    struct entry *entries = calloc(LISTED, sizeof(*entries));
    Pelton__StreamStatus *list[LISTED];
    Pelton__Device device;
    Pelton__StatusReply m = PELTON__STATUS_REPLY__INIT;
    for (const struct stream *s = b->streams; s && entries && m.n_streams < LISTED; s = s->next) {
        if (!s->probe && (all || s->client->uid == c->uid)) {
            describe(s, &entries[m.n_streams]);
            list[m.n_streams] = &entries[m.n_streams].msg;
            m.n_streams++;
        }
    }
    m.streams = list;
    m.total_streams = b->n_streams;
    m.most_streams = (uint32_t)b->settings->limits.streams;
    m.total_clients = b->n_clients;
    m.most_clients = (uint32_t)b->settings->limits.clients;
    m.up_ms = uv_now(&b->loop) - b->started_ms;
    m.server = "peltond " PELTON_VERSION;
    if (b->device_known) {
        wire_device_from(&b->device, &device);
        m.device = &device;
    }
    channel_send(&c->ch, WIRE_STATUS_REPLY, request_id, 0, &m.base, NULL, 0);
    free(entries);
}
