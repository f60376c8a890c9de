/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The life of a client: see broker_client.h.
 *
 * The happy path is accept, Hello -> Welcome, requests, close. The failure modes are: no room
 * (clients, clients per user: an Error, then the end), no hello in time, garbage, silence with
 * streams open, 8 MiB queued for a reader that does not read. All end in client_close. The next
 * step closes its streams; its memory goes when the channel has closed.
 */
#include "daemon/broker/broker_client.h"

#include "daemon/broker/client_link.h"
#include "daemon/broker/client_rights.h"
#include "daemon/broker/descriptor_reserve.h"
#include "daemon/broker/devices.h"
#include "daemon/broker/requests.h"
#include "daemon/log.h"
#include "proto/wall_clock.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void send_welcome(struct client *c, uint32_t request_id)
{
    const struct settings *o = c->broker->settings;
    Pelton__Welcome m = PELTON__WELCOME__INIT;
    Pelton__Device device;
    struct wall_clock clocks;
    m.proto = WIRE_PROTO_MAX;
    m.server = "peltond " PELTON_VERSION;
    m.boot_id = c->broker->boot_id;
    m.max_message = FRAME_MAX_PAYLOAD;
    m.max_fds = FRAME_MAX_FDS;
    m.ping_ms = (uint32_t)o->timing.ping_ms;
    m.dead_ms = (uint32_t)o->timing.dead_ms;
    wall_clock_read(&clocks);
    m.monotonic_ns = clocks.monotonic_ns;
    m.realtime_ns = clocks.realtime_ns;
    m.private_daemon = c->is_private;
    if (c->broker->devices->known) {
        wire_device_from(&c->broker->devices->first, &device);
        m.device = &device;
    }
    client_send(c, WIRE_WELCOME, request_id, 0, &m.base);
}

static void hello_answer(struct client *c, const struct frame *f)
{
    ProtobufCMessage *body = f->h.type == WIRE_HELLO ? wire_unpack(f) : NULL;
    const Pelton__Hello *m = (const Pelton__Hello *)body;
    struct pelton_failure failure = {0};
    if (!m) {
        strcpy(failure.cause, "the first message is not a hello");
    } else if (m->proto_min > WIRE_PROTO_MAX || m->proto_max < WIRE_PROTO_MIN) {
        strcpy(failure.cause, "no protocol version in common");
        strcpy(failure.hint, "install the same version of daemon and library");
    } else {
        c->hello = true;
        wire_copy(c->name, sizeof(c->name), m->client);
        send_welcome(c, f->h.request_id);
        log_line(LOG_LEVEL_INFO, "client %s, pid %d, uid %u", c->name, (int)c->pid,
                 (unsigned)c->uid);
    }
    wire_free(body);
    if (!c->hello) {
        failure.code = PELTON_ERR_PROTOCOL;
        client_error(c, 0, 0, &failure, false);
        client_close(c, NULL);
    }
}

static void on_frame(struct channel *ch, struct frame *f)
{
    struct client *c = ch->ctx;
    c->broker->heard++;
    if (c->hello)
        client_message(c, f);
    else
        hello_answer(c, f);
}

static void count_broken_limit(struct broker *b, int error)
{
    b->quotas.refused[QUOTA_MESSAGE] += error == FRAME_ERR_TOO_LONG;
    b->quotas.refused[QUOTA_MESSAGE_FDS] += error == FRAME_ERR_FDS;
    b->quotas.refused[QUOTA_QUEUE] += error == FRAME_ERR_QUEUE;
    b->quotas.refused[QUOTA_DESCRIPTORS] += error == FRAME_ERR_NO_FDS;
}

static void on_lost(struct channel *ch, int error)
{
    struct client *c = ch->ctx;
    if (error != FRAME_ERR_CLOSED) {
        struct pelton_failure failure = {.code = error == FRAME_ERR_NOMEM    ? PELTON_ERR_NOMEM
                                                 : error == FRAME_ERR_NO_FDS ? PELTON_ERR_LIMIT
                                                                             : PELTON_ERR_PROTOCOL};
        wire_copy(failure.cause, sizeof(failure.cause), frame_error_text(error));
        count_broken_limit(c->broker, error);
        log_line(LOG_LEVEL_WARNING, "client %s, pid %d: %s", c->name, (int)c->pid, failure.cause);
        client_error(c, 0, 0, &failure, false);
    }
    client_close(c, NULL);
}

static void on_closed(struct channel *ch)
{
    struct client *c = ch->ctx;
    c->gone = true;
    if (c->is_private)
        c->broker->ending = true;
    broker_changed(c->broker);
}

static const struct channel_callbacks client_callbacks = {on_frame, on_lost, on_closed};

/* NULL: the quotas leave room. */
static const char *over_quota(struct broker *b, uid_t uid)
{
    unsigned same = 0;
    if (descriptors_short(DESCRIPTORS_CLIENT, 0)) {
        b->quotas.refused[QUOTA_DESCRIPTORS]++;
        return "the daemon has as many open files as it may have";
    }
    for (const struct client *c = b->clients; c; c = c->next)
        same += c->uid == uid;
    if (!quota_admits(QUOTA_CLIENTS, b->settings, &b->quotas, b->n_clients))
        return "the daemon has as many clients as it may have";
    return quota_admits(QUOTA_CLIENTS_PER_UID, b->settings, &b->quotas, same)
               ? NULL
               : "this user has as many connections as one user may have";
}

static void refuse_connection(int fd, const char *why)
{
    struct frame_writer w;
    struct frame_header h = {.type = WIRE_ERROR};
    Pelton__Error m = PELTON__ERROR__INIT;
    m.code = PELTON_ERR_LIMIT;
    m.message = (char *)why;
    m.retryable = true;
    frame_writer_init(&w);
    if (frame_writer_put(&w, &h, &m.base, NULL, 0) == FRAME_OK)
        frame_writer_flush(&w, fd);
    frame_writer_free(&w);
    close(fd);
}

int client_accept(struct broker *b, int fd, bool is_private)
{
    struct client *c = calloc(1, sizeof(*c));
    if (!c) {
        refuse_connection(fd, "out of memory");
        return -1;
    }
    const char *why = client_identify(c, fd) ? over_quota(b, c->uid) : "not a Unix socket";
    if (why) {
        log_line(LOG_LEVEL_WARNING, "pid %d, uid %u refused: %s", (int)c->pid, (unsigned)c->uid,
                 why);
        refuse_connection(fd, why);
        client_free(c);
        return -1;
    }
    c->broker = b;
    c->number = ++b->last_client;
    c->is_private = is_private;
    c->accepted_ms = uv_now(&b->loop);
    if (channel_open(&c->ch, &b->loop, fd, &client_callbacks, c) < 0) {
        client_free(c);
        return -1;
    }
    c->next = b->clients;
    b->clients = c;
    b->n_clients++;
    broker_changed(b);
    return 0;
}

void clients_check(struct broker *b, uint64_t now_ms)
{
    for (struct client *c = b->clients; c; c = c->next) {
        if (c->closing)
            continue;
        if (!c->hello) {
            if (!c->is_private && /* its end is the daemon's, however slow it is */
                !quota_admits(QUOTA_HELLO_MS, b->settings, &b->quotas, now_ms - c->accepted_ms))
                client_close(c, "no hello in time");
        } else if (channel_check_silence(&c->ch, now_ms, b->settings->timing.ping_ms,
                                         b->settings->timing.dead_ms) &&
                   !c->is_private && c->streams.count > 0) {
            log_line(LOG_LEVEL_WARNING, "client %s, pid %d: silent for %llu ms", c->name,
                     (int)c->pid, (unsigned long long)b->settings->timing.dead_ms);
            b->quotas.refused[QUOTA_DEAD_MS]++;
            client_close(c, "silent for too long");
        }
    }
}
