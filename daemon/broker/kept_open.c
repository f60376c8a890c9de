/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources that the daemon keeps open: see kept_open.h.
 *
 * The daemon is a client of itself, without a connection, and reads each such source without taking
 * frames (PELTON_NONE). A camera then runs, is metered and opened again when it is lost; readers
 * join it. Of a network source only key pictures are decoded: its readers join the connection.
 *
 * CLOSED -> open (always_on, or the first reader) -> CLOSED (close_after has passed, or the
 * configuration says so). The failure modes are those of the source. What time may mend is tried
 * again with growing waits (backoff.h). A camera that has ended, a wrong password, and a source
 * that cannot be read end it until the configuration changes.
 */
#include "daemon/broker/kept_open.h"

#include "daemon/broker/broker_stream.h"
#include "daemon/broker/client.h"
#include "daemon/broker/opened_source.h"
#include "daemon/broker/resting.h"
#include "daemon/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct client *keeper_client(struct broker *b)
{
    if (b->keeper)
        return b->keeper;
    struct client *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->broker = b;
    c->hello = true;
    c->uid = geteuid();
    c->pid = getpid();
    wire_copy(c->name, sizeof(c->name), "peltond (keeps it open)");
    b->keeper = c;
    return c;
}

/* An Open as wire_free frees it. NULL: out of memory. */
static ProtobufCMessage *keeper_open(const struct named_source *n)
{
    uint8_t packed[256];
    char uri[sizeof("source:") + sizeof(n->config.name)];
    Pelton__Open o = PELTON__OPEN__INIT;
    snprintf(uri, sizeof(uri), "source:%s", n->config.name);
    o.uri = uri;
    o.policy = PELTON_LATEST;
    o.transport = PELTON_NONE;
    o.skip = n->config.kind == SOURCE_NETWORK ? PELTON_SKIP_NONKEY : PELTON_SKIP_NONE;
    size_t size = pelton__open__get_packed_size(&o);
    if (size > sizeof(packed))
        return NULL;
    pelton__open__pack(&o, packed);
    return (ProtobufCMessage *)pelton__open__unpack(NULL, size, packed);
}

static struct broker_stream *keeper_stream(struct named_source *n)
{
    struct frame f = {.h = {.type = WIRE_OPEN, .object_id = ++n->broker->last_kept}};
    struct client *c = keeper_client(n->broker);
    ProtobufCMessage *body = c ? keeper_open(n) : NULL;
    struct broker_stream *s = body ? stream_create(c, &f, body) : NULL;
    if (!s)
        wire_free(body);
    return s;
}

static void kept_start(struct named_source *n, uint64_t now_ms)
{
    struct broker *b = n->broker;
    struct frame none = {.h = {.type = WIRE_OPEN}};
    struct pelton_failure failure = {.code = PELTON_ERR_NOMEM, .cause = "out of memory"};
    bool room = resting_make_room(b);
    struct broker_stream *s = room ? keeper_stream(n) : NULL;
    n->kept.opened_ms = now_ms;
    if (!room)
        resting_refuse(b, &failure);
    if (s && source_admit(s, &none, now_ms, &failure) == 0)
        return;
    if (s && n->kept.stream) {
        stream_end(s, &failure); /* it counts as the keeper: told like every other end */
    } else {
        n->kept.has_ended = true;
        n->kept.end = failure;
    }
    if (s)
        stream_close(s);
}

/* Whether time may mend it. */
static bool kept_can_pass(int code)
{
    return code != PELTON_OK && code != PELTON_ERR_AUTH && code != PELTON_ERR_UNSUPPORTED &&
           code != PELTON_ERR_USAGE && code != PELTON_ERR_PERMISSION;
}

static void kept_settle(struct named_source *n, uint64_t now_ms)
{
    struct kept_stream *k = &n->kept;
    k->has_ended = false;
    k->over = !kept_can_pass(k->end.code);
    if (now_ms - k->opened_ms >= BACKOFF_HEALTHY_MS)
        backoff_reset(&k->backoff);
    k->retry_ms = now_ms + backoff_next(&k->backoff, uv_hrtime());
    if (!k->over)
        log_line(LOG_LEVEL_WARNING, "%s: %s; kept open, again in %llu ms", n->config.name,
                 k->end.cause, (unsigned long long)(k->retry_ms - now_ms));
}

static bool kept_wanted(const struct named_source *n, uint64_t now_ms)
{
    const struct source_upkeep *u = &n->config.upkeep;
    if (n->broker->closing)
        return false;
    if (u->always_on)
        return !n->kept.over;
    return u->close_after_ms && !n->kept.over &&
           (n->readers > 0 || (n->kept.stream && now_ms < n->left_ms + u->close_after_ms));
}

static void kept_check(struct named_source *n, uint64_t now_ms)
{
    if (n->kept.has_ended)
        kept_settle(n, now_ms);
    bool wanted = kept_wanted(n, now_ms);
    if (n->readers == 0 && !n->config.upkeep.always_on)
        n->kept.over = false; /* its next reader begins anew */
    if (wanted && !n->kept.stream && now_ms >= n->kept.retry_ms)
        kept_start(n, now_ms);
    else if (!wanted && n->kept.stream)
        stream_close(n->kept.stream);
}

void kept_open_step(struct broker *b, uint64_t now_ms)
{
    if (b->settings->process.private_fd >= 0)
        return;
    for (struct broker_stream *s = b->keeper ? b->streams : NULL; s; s = s->next)
        if (stream_is_keeper(s) && s->state == STREAM_ENDED)
            stream_close(s);
    for (struct named_source *n = b->named; n; n = n->next)
        kept_check(n, now_ms);
}

bool kept_open_waits(const struct broker *b)
{
    const struct named_source *n = b->named;
    while (n && !(n->config.upkeep.always_on && !n->kept.over) && !n->kept.stream)
        n = n->next;
    return n != NULL;
}

void kept_open_free(struct broker *b)
{
    if (b->keeper)
        id_table_free(&b->keeper->streams);
    free(b->keeper);
    b->keeper = NULL;
}
