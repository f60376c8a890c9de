/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Words about a stream to its client: see stream_messages.h.
 */
#include "daemon/broker/stream_messages.h"

#include "daemon/broker/client_link.h"
#include "daemon/broker/named.h"
#include "daemon/broker/placeholder.h"

/* The worker's totals, with the drops and restarts of the broker. */
static void stats_fill(const struct broker_stream *s, Pelton__StatsReply *out)
{
    wire_stats_from(&s->totals, out);
    out->dropped += s->delivery.dropped_client;
    out->worker_restarts = s->deaths.restarts;
}

void stream_send_stats(struct broker_stream *s, uint32_t client_request)
{
    Pelton__StatsReply m;
    stats_fill(s, &m);
    client_send(s->client, WIRE_STATS_REPLY, client_request, s->object_id, &m.base);
}

void stream_send_end(struct broker_stream *s)
{
    s->eos_sent = true;
    if (s->probe && s->replied)
        return; /* the reply was its end */
    if (!s->replied) {
        s->replied = true;
        client_error(s->client, s->open_request, s->object_id, &s->end,
                     s->end.code == PELTON_ERR_WORKER_LOST);
        return;
    }
    Pelton__Eos m = PELTON__EOS__INIT;
    Pelton__Failure failure;
    Pelton__StatsReply stats;
    if (s->end.code) {
        wire_failure_from(&s->end, &failure);
        m.failure = &failure;
    }
    stats_fill(s, &stats);
    m.stats = &stats;
    client_send(s->client, WIRE_EOS, 0, s->object_id, &m.base);
}

void stream_send_state(struct broker_stream *s, Pelton__SourceState__State state, const char *cause)
{
    Pelton__SourceState m = PELTON__SOURCE_STATE__INIT;
    m.state = state;
    m.cause = (char *)cause;
    bool down = s->replied && state != PELTON__SOURCE_STATE__STATE__RUNNING;
    if (down && !s->down)
        s->delivery.placeholder_ms = uv_now(&s->broker->loop) + PLACEHOLDER_FIRST_MS;
    s->down = down;
    if (!s->probe)
        client_send(s->client, WIRE_SOURCE_STATE, 0, s->object_id, &m.base);
}

void stream_send_info(struct broker_stream *s, const Pelton__Info *info)
{
    named_info(s, info);
    if (s->replied) {
        stream_send_state(s, PELTON__SOURCE_STATE__STATE__RUNNING, "");
        return;
    }
    s->replied = true;
    if (s->probe) {
        Pelton__ProbeReply m = PELTON__PROBE_REPLY__INIT;
        m.info = (Pelton__Info *)info;
        client_send(s->client, WIRE_PROBE_REPLY, s->open_request, s->object_id, &m.base);
    } else {
        Pelton__OpenReply m = PELTON__OPEN_REPLY__INIT;
        m.info = (Pelton__Info *)info;
        m.joint = s->source.table >= 0;
        client_send(s->client, WIRE_OPEN_REPLY, s->open_request, s->object_id, &m.base);
    }
}
