/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See fake_links.h.
 */
#include "tests/daemon/broker/fake_links.h"

#include "daemon/broker/client_link.h"
#include "daemon/broker/worker_link.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE = 160 };

static char sent[4096], taken[4096];
static bool start_refused;

static void sent_add(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void sent_add(const char *format, ...)
{
    va_list args;
    size_t n = strlen(sent);
    if (n + MESSAGE > sizeof(sent))
        return; /* the test does not read so many */
    n += (size_t)snprintf(sent + n, sizeof(sent) - n, "%s", n ? ", " : "");
    va_start(args, format);
    vsnprintf(sent + n, MESSAGE - 2, format, args);
    va_end(args);
}

const char *links_take(void)
{
    memcpy(taken, sent, sizeof(taken));
    sent[0] = 0;
    return taken;
}

void links_refuse_start(bool refuse)
{
    start_refused = refuse;
}

static void sent_detail(unsigned type, const ProtobufCMessage *body, char *out, size_t size)
{
    out[0] = 0;
    if (type == WIRE_FRAME_READY) {
        const Pelton__FrameReady *m = (const Pelton__FrameReady *)body;
        snprintf(out, size, " #%llu%s", (unsigned long long)m->sequence,
                 m->flags & PELTON_FRAME_DISCONT ? " discont" : "");
    } else if (type == WIRE_FORMAT_CHANGED) {
        snprintf(out, size, " epoch %u", ((const Pelton__FormatChanged *)body)->epoch);
    } else if (type == WIRE_SOURCE_STATE) {
        const Pelton__SourceState *m = (const Pelton__SourceState *)body;
        snprintf(out, size, " %s",
                 m->state == PELTON__SOURCE_STATE__STATE__RUNNING ? "running" : "restarting");
    } else if (type == WIRE_EOS) {
        const Pelton__Eos *m = (const Pelton__Eos *)body;
        snprintf(out, size, " %d", m->failure ? m->failure->code : 0);
    } else if (type == WIRE_ERROR) {
        snprintf(out, size, " %d", ((const Pelton__Error *)body)->code);
    } else if (type == WIRE_CORES) {
        snprintf(out, size, " of %u", ((const Pelton__Cores *)body)->workers);
    } else if (type == WIRE_CLOSE) {
        const Pelton__Close *m = (const Pelton__Close *)body;
        snprintf(out, size, "%s", m && m->returned ? " returned" : "");
    } else if (type == WIRE_OPEN) {
        const Pelton__Open *m = (const Pelton__Open *)body;
        snprintf(out, size, " from %llu", (unsigned long long)m->resume_sequence);
    }
}

/* ---- client_link.h ---- */

void client_send(struct client *c, unsigned type, uint32_t request_id, uint32_t object_id,
                 const ProtobufCMessage *body)
{
    char detail[64];
    if (c->closing)
        return;
    sent_detail(type, body, detail, sizeof(detail));
    sent_add("c%d %s %u%s", (int)c->pid, wire_type_name(type), object_id, detail);
}

void client_send_fd(struct client *c, unsigned type, uint32_t object_id,
                    const ProtobufCMessage *body, int fd)
{
    client_send(c, type, 0, object_id, body);
}

void client_error(struct client *c, uint32_t request_id, uint32_t object_id,
                  const struct pelton_failure *failure, bool retryable)
{
    Pelton__Error m = PELTON__ERROR__INIT;
    m.code = failure->code;
    client_send(c, WIRE_ERROR, request_id, object_id, &m.base);
}

/* Its channel closes at once. */
void client_close(struct client *c, const char *reason)
{
    c->closing = c->gone = true;
    broker_changed(c->broker);
}

/* ---- worker_link.h ---- */

static int place(const struct worker_process *w)
{
    return (int)(w - w->broker->workers);
}

bool worker_running(const struct worker_process *w)
{
    return w->spawned && !w->exited && !w->stopping;
}

int worker_start(struct worker_process *w, struct pelton_failure *failure)
{
    if (start_refused) {
        failure->code = PELTON_ERR_OTHER;
        return -1;
    }
    memset(&w->child, 0, sizeof(*w) - offsetof(struct worker_process, child));
    w->spawned = w->ready = true;
    sent_add("w%d start", place(w));
    broker_changed(w->broker);
    return 0;
}

void worker_send(struct worker_process *w, unsigned type, uint32_t request_id, uint32_t wid,
                 const ProtobufCMessage *body, const int *fds, unsigned n_fds)
{
    char detail[64];
    if (!worker_running(w))
        return;
    sent_detail(type, body, detail, sizeof(detail));
    sent_add("w%d %s %u%s", place(w), wire_type_name(type), wid, detail);
}

void worker_send_soon(struct worker_process *w, unsigned type, uint32_t wid,
                      const ProtobufCMessage *body)
{
    worker_send(w, type, 0, wid, body, NULL, 0);
}

void links_worker_dies(struct worker_process *w)
{
    w->exited = w->reaped = w->channel_closed = w->gone = true;
    broker_changed(w->broker);
}

void worker_kill(struct worker_process *w, const char *why)
{
    sent_add("w%d kill", place(w));
    links_worker_dies(w);
}
