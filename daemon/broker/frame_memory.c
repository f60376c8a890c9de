/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Quotas of frames' memory: see frame_memory.h.
 */
#include "daemon/broker/frame_memory.h"

#include "daemon/broker/client.h"
#include "daemon/broker/reader_pool.h"

#include <inttypes.h>
#include <stdio.h>

static uint64_t stream_bytes(const struct broker_stream *s, bool device)
{
    uint64_t sum = 0;
    for (const struct reader_pool *p = s->delivery.pools; p; p = p->next)
        sum += p->device == device ? p->bytes : 0;
    return sum;
}

static uint64_t client_bytes(const struct client *c, bool device)
{
    uint64_t sum = 0;
    for (const struct broker_stream *s = c->broker->streams; s; s = s->next)
        sum += s->client == c ? stream_bytes(s, device) : 0;
    return sum;
}

static uint64_t in_kib(uint64_t bytes)
{
    return bytes / 1024 + (bytes % 1024 != 0);
}

static bool admits(struct broker_stream *s, enum quota q, uint64_t has, uint64_t more,
                   const char *who, struct pelton_failure *out)
{
    struct broker *b = s->broker;
    uint64_t sum = more > UINT64_MAX / 2 ? UINT64_MAX : in_kib(has + more);
    if (!sum || quota_admits(q, b->settings, &b->quotas, sum - 1))
        return true;
    out->code = PELTON_ERR_LIMIT;
    snprintf(out->cause, sizeof(out->cause),
             "%.100s: frames of %" PRIu64 " KiB, and %s may have %" PRIu64, stream_name(s), sum,
             who, quota_limit(q, b->settings));
    snprintf(out->hint, sizeof(out->hint), "close other readers, or raise %s", quota_names[q]);
    return false;
}

bool frame_memory_admits(struct broker_stream *s, const Pelton__FormatChanged *m,
                         struct pelton_failure *out)
{
    bool device = m->device != NULL;
    enum quota of_stream = device ? QUOTA_STREAM_DEVICE : QUOTA_STREAM_MEMORY,
               of_client = device ? QUOTA_CLIENT_DEVICE : QUOTA_CLIENT_MEMORY;
    return admits(s, of_stream, stream_bytes(s, device), m->memfd_size, "a stream", out) &&
           (stream_is_keeper(s) ||
            admits(s, of_client, client_bytes(s->client, device), m->memfd_size, "a client", out));
}

uint64_t frame_memory_most(const struct broker *b, enum quota q)
{
    bool device = q == QUOTA_STREAM_DEVICE || q == QUOTA_CLIENT_DEVICE;
    uint64_t most = 0, bytes;
    for (const struct broker_stream *s = b->streams; s; s = s->next) {
        if (q == QUOTA_STREAM_MEMORY || q == QUOTA_STREAM_DEVICE)
            bytes = stream_bytes(s, device);
        else
            bytes = stream_is_keeper(s) ? 0 : client_bytes(s->client, device);
        most = bytes > most ? bytes : most;
    }
    return in_kib(most);
}
