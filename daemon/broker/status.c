/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The answer to Status, for pelton stats and pelton top: each stream with its client, its frames
 * and its drops.
 */
#include "daemon/broker/status.h"

#include "daemon/broker/client_link.h"
#include "daemon/broker/descriptor_reserve.h"
#include "daemon/broker/devices.h"
#include "daemon/broker/frame_memory.h"
#include "daemon/broker/named.h"
#include "daemon/broker/reader_pool.h"
#include "daemon/broker/resting.h"
#include "daemon/broker/worker_process.h"
#include "daemon/config_source.h"
#include "daemon/log.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LISTED = 128 /* what a message holds */ };

struct status_entry {
    Pelton__StreamStatus msg;
    char name[128];
};

static Pelton__SourceState__State state_of(const struct broker_stream *s)
{
    switch (s->state) {
    case STREAM_QUEUED:
        return PELTON__SOURCE_STATE__STATE__OPENING;
    case STREAM_OVER:
    case STREAM_WAITING:
        return PELTON__SOURCE_STATE__STATE__BACKOFF;
    case STREAM_ENDED:
    case STREAM_CLOSED:
        return PELTON__SOURCE_STATE__STATE__ENDED;
    case STREAM_OPEN:
    case STREAM_RESTING:
        break;
    }
    return !s->replied       ? PELTON__SOURCE_STATE__STATE__OPENING
           : s->source.named ? s->source.named->state
                             : PELTON__SOURCE_STATE__STATE__RUNNING;
}

static void status_describe(const struct broker_stream *s, struct status_entry *out)
{
    Pelton__StreamStatus *m = &out->msg;
    pelton__stream_status__init(m);
    config_redact(stream_name(s), out->name, sizeof(out->name));
    m->id = s->id;
    m->name = out->name;
    m->source = s->source.named ? s->source.named->config.name : "";
    m->client = s->client->name;
    m->pid = (int32_t)s->client->pid;
    m->uid = s->client->uid;
    m->state = state_of(s);
    m->policy = s->source.open->policy;
    m->depth = s->source.open->depth;
    m->pix_fmt = (char *)s->delivery.pix_fmt;
    m->width = s->delivery.width;
    m->height = s->delivery.height;
    m->frames = s->delivery.sent;
    m->waiting = s->delivery.n_pending;
    for (const struct reader_pool *p = s->delivery.pools; p; p = p->next)
        m->held += p->held;
    m->slots = s->delivery.pools ? s->delivery.pools->n_slots : 0;
    m->dropped_source = s->delivery.dropped_base[0] + s->delivery.dropped_last[0];
    m->dropped_decoder = s->delivery.dropped_base[1] + s->delivery.dropped_last[1];
    m->dropped_client =
        s->delivery.dropped_client + s->delivery.dropped_base[2] + s->delivery.dropped_last[2];
    m->restarts = s->deaths.restarts;
    m->age_ns = s->delivery.age_ns;
    m->gpu_entropy_pictures = s->totals.gpu_entropy_pictures;
    m->gpu_entropy = s->totals.gpu_entropy;
    m->libavcodec = s->totals.libavcodec;
}

/* Of all workers. */
struct status_memory {
    uint64_t gpu[PELTON_MEMORY_USES], host[PELTON_MEMORY_USES];
};

static void status_memory_sum(const struct broker *b, struct status_memory *out)
{
    memset(out, 0, sizeof(*out));
    for (unsigned i = 0; i < b->n_workers; i++)
        for (int use = 0; use < PELTON_MEMORY_USES; use++) {
            out->gpu[use] += b->workers[i].usage.held.worker_gpu[use];
            out->host[use] += b->workers[i].usage.held.worker_host[use];
        }
}

static uint64_t longest_queue(const struct broker *b)
{
    uint64_t most = 0;
    for (const struct client *c = b->clients; c; c = c->next)
        most = c->ch.writer.queued > most ? c->ch.writer.queued : most;
    return most;
}

static unsigned clients_of(const struct broker *b, uid_t uid)
{
    unsigned n = 0;
    for (const struct client *c = b->clients; c; c = c->next)
        n += c->uid == uid;
    return n;
}

static unsigned most_restarts(struct broker *b)
{
    unsigned most = 0;
    for (unsigned i = 0; i < b->n_workers; i++) {
        restart_possible(&b->workers[i].restart, uv_now(&b->loop)); /* forgets the old ones */
        most = b->workers[i].restart.count > most ? b->workers[i].restart.count : most;
    }
    return most;
}

static uint64_t most_kept(const struct broker *b)
{
    uint64_t most = 0;
    for (unsigned i = 0; i < b->n_workers; i++)
        most = b->workers[i].usage.kept_units > most ? b->workers[i].usage.kept_units : most;
    return most;
}

/* -1: it says nothing. */
static int64_t quota_used(const struct client *c, enum quota q)
{
    struct broker *b = c->broker;
    switch (q) {
    case QUOTA_CLIENTS:
        return b->n_clients;
    case QUOTA_CLIENTS_PER_UID:
        return clients_of(b, c->uid);
    case QUOTA_STREAMS:
        return resting_places_used(b);
    case QUOTA_DESCRIPTORS:
        return descriptors_used();
    case QUOTA_QUEUE:
        return (int64_t)longest_queue(b);
    case QUOTA_RESTARTS:
        return most_restarts(b);
    case QUOTA_STREAM_MEMORY:
    case QUOTA_STREAM_DEVICE:
    case QUOTA_CLIENT_MEMORY:
    case QUOTA_CLIENT_DEVICE:
        return (int64_t)frame_memory_most(b, q);
    case QUOTA_KEPT:
        return (int64_t)most_kept(b);
    default:
        return -1;
    }
}

struct status_limits {
    Pelton__Quota quotas[QUOTAS], *quota_list[QUOTAS];
    Pelton__EncoderUsage encoders[WORKERS_MAX], transcoders[WORKERS_MAX], jpegs[WORKERS_MAX];
    Pelton__Process processes[1 + WORKERS_MAX], *process_list[1 + WORKERS_MAX];
};

static void status_quotas(const struct client *c, struct status_limits *l, Pelton__StatusReply *out)
{
    const struct broker *b = c->broker;
    for (int q = 0; q < QUOTAS; q++) {
        pelton__quota__init(&l->quotas[q]);
        l->quotas[q].name = (char *)quota_names[q];
        l->quotas[q].limit = quota_limit(q, b->settings);
        l->quotas[q].used = quota_used(c, q);
        l->quotas[q].refused = b->quotas.refused[q] + (q == QUOTA_LOG_LINES ? log_left_out() : 0);
        l->quota_list[q] = &l->quotas[q];
    }
    out->quotas = l->quota_list;
    out->n_quotas = QUOTAS;
}

static void status_process(struct status_limits *l, Pelton__StatusReply *out, const char *device,
                           pid_t pid, uint32_t sandbox)
{
    Pelton__Process *p = &l->processes[out->n_processes];
    pelton__process__init(p);
    p->name = (char *)device;
    p->pid = (int32_t)pid;
    p->sandbox = sandbox;
    l->process_list[out->n_processes++] = p;
}

/* NULL: it has encoded nothing. */
static Pelton__EncoderUsage *usage_told(const struct pelton_encoder_usage *usage,
                                        Pelton__EncoderUsage *out)
{
    wire_encoder_from(usage, out);
    return usage->pictures + usage->missed ? out : NULL;
}

static void status_processes(const struct broker *b, struct status_limits *l,
                             Pelton__StatusReply *out)
{
    out->processes = l->process_list;
    status_process(l, out, "", getpid(), b->sandbox);
    for (unsigned i = 0; i < b->n_workers; i++) {
        const struct worker_process *w = &b->workers[i];
        const struct worker_usage *u = &w->usage;
        if (!w->spawned || !u->known)
            continue;
        status_process(l, out, w->device ? w->device : "auto", w->pid, u->sandbox);
        Pelton__Process *p = &l->processes[out->n_processes - 1];
        p->encoder = usage_told(&u->encoder, &l->encoders[i]);
        p->transcoder = usage_told(&u->transcoder, &l->transcoders[i]);
        p->jpegs = usage_told(&u->jpegs, &l->jpegs[i]);
    }
}

void status_send(struct client *c, uint32_t request_id, bool all)
{
    const struct broker *b = c->broker;
    struct status_entry *entries = calloc(LISTED, sizeof(*entries));
    Pelton__StreamStatus *list[LISTED];
    Pelton__Device device;
    Pelton__StatusReply m = PELTON__STATUS_REPLY__INIT;
    for (const struct broker_stream *s = b->streams; s && entries && m.n_streams < LISTED;
         s = s->next) {
        if (!s->probe && s->state != STREAM_CLOSED && (all || s->client->uid == c->uid)) {
            status_describe(s, &entries[m.n_streams]);
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
    struct status_memory memory;
    status_memory_sum(b, &memory);
    m.worker_gpu = memory.gpu;
    m.worker_host = memory.host;
    m.n_worker_gpu = m.n_worker_host = PELTON_MEMORY_USES;
    if (b->devices->known) {
        wire_device_from(&b->devices->first, &device);
        m.device = &device;
    }
    struct status_limits limits;
    status_quotas(c, &limits, &m);
    status_processes(b, &limits, &m);
    client_send(c, WIRE_STATUS_REPLY, request_id, 0, &m.base);
    free(entries);
}
