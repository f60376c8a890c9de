/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Starting worker processes, talking to them, ending them: see worker_link.h. A worker is this
 * program once more, joined by a socketpair.
 *
 * The happy path is start on first need, frames to and fro, stop. The failure modes are:
 * - It cannot be started.
 * - It dies. Its end of the socketpair closes after the last frame it sent; SIGCHLD comes before or
 *   after. It is gone when the process is reaped, its handle closed and the channel closed.
 * - It breaks the protocol or falls silent. Then it is killed.
 * - We die. PR_SET_PDEATHSIG and the end of the socketpair end it.
 */
#include "daemon/broker/worker_link.h"

#include "daemon/broker/spawner.h"
#include "daemon/log.h"
#include "proto/start_trace.h"
#include "proto/wire.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STOP_MS = 1000, STRAY_MS = 500 };

bool worker_running(const struct worker_process *w)
{
    return w->spawned && !w->exited && !w->stopping && w->ch.open && !w->ch.lost && !w->ch.closing;
}

static void try_gone(struct worker_process *w)
{
    if (w->spawned && w->reaped && w->channel_closed) {
        w->gone = true;
        broker_changed(w->broker);
    }
}

static void on_reaped(uv_handle_t *handle)
{
    struct worker_process *w = handle->data;
    w->reaped = true;
    try_gone(w);
}

/* Some child has ended. */
static void on_child(uv_signal_t *handle, int signum)
{
    struct worker_process *w = handle->data;
    int status;
    if (waitpid(w->pid, &status, WNOHANG) != w->pid)
        return;
    w->exited = true;
    start_trace("the worker has ended");
    w->exit_ms = uv_now(&w->broker->loop);
    w->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    w->broker->caches_fail |= w->signal == SIGBUS;
    if (!w->stopping) {
        log_line(LOG_LEVEL_ERROR, "worker %d ended: %s %d", (int)w->pid,
                 w->signal ? "signal" : "exit status", w->signal ? w->signal : WEXITSTATUS(status));
    }
    uv_close((uv_handle_t *)handle, on_reaped);
}

static void worker_end_now(const struct worker_process *w)
{
    if (!w->exited)
        kill(w->pid, SIGKILL);
}

static void on_frame(struct channel *ch, struct frame *f)
{
    struct worker_process *w = ch->ctx;
    w->broker->heard++;
    w->broker->on_worker_frame(w, f);
}

static void on_lost(struct channel *ch, int error)
{
    struct worker_process *w = ch->ctx;
    if (error != FRAME_ERR_CLOSED)
        log_line(LOG_LEVEL_ERROR, "worker: %s", frame_error_text(error));
    if (!w->exited && !w->stopping)
        worker_end_now(w);
    channel_close(ch);
}

static void on_closed(struct channel *ch)
{
    struct worker_process *w = ch->ctx;
    w->channel_closed = true;
    try_gone(w);
    broker_changed(w->broker);
}

static const struct channel_callbacks worker_callbacks = {on_frame, on_lost, on_closed};

static void on_unspawned(uv_handle_t *handle)
{
    ((struct worker_process *)handle->data)->reaped = true;
}

static void describe_worker(const struct worker_process *w, struct spawn_request *out)
{
    memset(out, 0, sizeof(*out));
    out->no_caches = w->broker->caches_fail;
    wire_copy(out->device, sizeof(out->device), w->device ? w->device : "");
}

/* No worker can be started any more. systemd starts the daemon again. */
static void spawner_lost(struct broker *b)
{
    log_line(LOG_LEVEL_ERROR, "the spawner has ended, and so does the daemon");
    b->ending = b->failed = true;
    broker_changed(b);
}

/* The signal is heard before there is a process, so that no end is missed. */
static int spawn(struct worker_process *w, int peer)
{
    struct spawn_request request;
    describe_worker(w, &request);
    int rc = uv_signal_init(&w->broker->loop, &w->child);
    if (rc < 0)
        return rc;
    w->child.data = w;
    rc = uv_signal_start(&w->child, on_child, SIGCHLD);
    if (rc == 0) {
        w->pid = spawner_ask(w->broker->spawner, &request, peer);
        rc = w->pid < 0 ? w->pid : 0;
        if (rc == -EPIPE || rc == -ECONNRESET)
            spawner_lost(w->broker);
    }
    if (rc < 0)
        uv_close((uv_handle_t *)&w->child, on_unspawned);
    return rc;
}

int worker_start(struct worker_process *w, struct pelton_failure *failure)
{
    int pair[2], rc;
    if (w->child.type == UV_SIGNAL && !w->reaped) {
        rc = UV_EBUSY; /* the handle of a failed start has not closed yet */
    } else if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0) {
        rc = -errno;
    } else {
        memset(&w->child, 0, sizeof(*w) - offsetof(struct worker_process, child));
        rc = spawn(w, pair[1]);
        close(pair[1]);
        if (rc < 0)
            close(pair[0]);
    }
    if (rc < 0) {
        failure->code = PELTON_ERR_OTHER;
        snprintf(failure->cause, sizeof(failure->cause), "the worker process cannot be started: %s",
                 uv_strerror(rc));
        return -1;
    }
    w->spawned = true;
    if (channel_open(&w->ch, &w->broker->loop, pair[0], &worker_callbacks, w) < 0) {
        w->channel_closed = true;
        worker_end_now(w);
    }
    log_line(LOG_LEVEL_INFO, "worker %d started", (int)w->pid);
    start_trace("a worker is started");
    broker_changed(w->broker);
    return 0;
}

void worker_send(struct worker_process *w, unsigned type, uint32_t request_id, uint32_t wid,
                 const ProtobufCMessage *body, const int *fds, unsigned n_fds)
{
    if (worker_running(w))
        channel_send(&w->ch, type, request_id, wid, body, fds, n_fds);
}

void worker_send_soon(struct worker_process *w, unsigned type, uint32_t wid,
                      const ProtobufCMessage *body)
{
    if (worker_running(w))
        channel_put(&w->ch, type, 0, wid, body);
}

void workers_flush(struct broker *b)
{
    for (unsigned i = 0; i < b->n_workers; i++)
        channel_flush(&b->workers[i].ch);
}

/* One that still opens its device hears nothing, and has nothing to save. */
static void worker_stop(struct worker_process *w)
{
    if (!w->spawned || w->stopping)
        return;
    w->stopping = true;
    if (w->ready) {
        channel_send(&w->ch, WIRE_SHUTDOWN, 0, 0, NULL, NULL, 0);
    } else {
        worker_end_now(w);
        channel_close(&w->ch);
    }
    w->stop_ms = uv_now(&w->broker->loop);
}

void workers_stop(struct broker *b)
{
    for (unsigned i = 0; i < b->n_workers; i++)
        worker_stop(&b->workers[i]);
}

/* One that was told to stop and has closed its channel has nothing left to say. The kernel may
 * still be freeing its memory, and nobody has to wait for that. */
bool workers_busy(const struct broker *b)
{
    unsigned i = 0;
    while (i < b->n_workers &&
           (!b->workers[i].spawned || (b->workers[i].stopping && b->workers[i].channel_closed)))
        i++;
    return i < b->n_workers;
}

void workers_forget(struct broker *b)
{
    for (unsigned i = 0; i < b->n_workers; i++)
        if (b->workers[i].spawned && !b->workers[i].exited)
            uv_close((uv_handle_t *)&b->workers[i].child, NULL);
}

bool workers_spawned(const struct broker *b)
{
    unsigned i = 0;
    while (i < b->n_workers && !b->workers[i].spawned)
        i++;
    return i < b->n_workers;
}

void worker_kill(struct worker_process *w, const char *why)
{
    if (w->spawned && !w->exited) {
        log_line(LOG_LEVEL_ERROR, "worker %d is killed: %s", (int)w->pid, why);
        w->killed = true;
        worker_end_now(w);
    }
}

static void worker_check(struct worker_process *w, uint64_t now_ms)
{
    const struct settings *o = w->broker->settings;
    if (!w->spawned)
        return;
    if (w->exited) {
        if (now_ms - w->exit_ms >= STRAY_MS)
            channel_close(&w->ch); /* something it started holds the other end */
    } else if (w->stopping) {
        if (now_ms - w->stop_ms >= STOP_MS)
            worker_end_now(w);
    } else if (channel_check_silence(&w->ch, now_ms, o->timing.ping_ms, o->timing.worker_dead_ms)) {
        worker_kill(w, "it does not answer");
    }
}

void workers_check(struct broker *b, uint64_t now_ms)
{
    for (unsigned i = 0; i < b->n_workers; i++)
        worker_check(&b->workers[i], now_ms);
}
