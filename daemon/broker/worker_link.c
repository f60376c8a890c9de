/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The worker process as the broker holds it: this program once more, joined by a socketpair.
 *
 * The happy path is start on first need, frames to and fro, stop. The failure modes are: it cannot be started; it dies (its end
 * of the socketpair closes after the last frame it sent, SIGCHLD comes before or after); it breaks the protocol or falls
 * silent, and is killed. It is gone when the process is reaped, its handle closed and the channel closed: then recovery
 * decides. It dies with us by PR_SET_PDEATHSIG and by the end of the socketpair.
 */
#include "daemon/broker/broker.h"

#include "daemon/log.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WORKER_FD = 3, STOP_MS = 1000, STRAY_MS = 500, ARGS = 2 * OPTIONS_MAX_VALUES + 16 };

bool worker_running(const struct broker *b)
{
    const struct worker *w = &b->worker;
    return w->spawned && !w->exited && !w->stopping && w->ch.open && !w->ch.lost && !w->ch.closing;
}

static void try_gone(struct broker *b)
{
    struct worker *w = &b->worker;
    if (w->spawned && w->reaped && w->channel_closed) {
        w->spawned = false;
        recovery_worker_gone(b);
        broker_try_finish(b);
    }
}

static void on_reaped(uv_handle_t *handle)
{
    struct broker *b = handle->data;
    b->worker.reaped = true;
    try_gone(b);
}

static void on_exit(uv_process_t *process, int64_t status, int signal)
{
    struct broker *b = process->data;
    b->worker.exited = true;
    b->worker.exit_ms = uv_now(&b->loop);
    if (!b->worker.stopping) {
        log_line(LOG_LEVEL_ERROR, "worker %d ended: %s %d", process->pid, signal ? "signal" : "exit status",
                 signal ? signal : (int)status);
    }
    uv_close((uv_handle_t *)process, on_reaped);
}

static void on_frame(struct channel *ch, struct frame *f)
{
    worker_message(ch->ctx, f);
}

static void on_lost(struct channel *ch, int error)
{
    struct broker *b = ch->ctx;
    if (error != FRAME_ERR_CLOSED) {
        log_line(LOG_LEVEL_ERROR, "worker: %s", frame_error_text(error));
    }
    if (!b->worker.exited && !b->worker.stopping) {
        uv_process_kill(&b->worker.process, SIGKILL);
    }
    channel_close(ch);
}

static void on_closed(struct channel *ch)
{
    struct broker *b = ch->ctx;
    b->worker.channel_closed = true;
    try_gone(b);
}

static const struct channel_callbacks worker_callbacks = {on_frame, on_lost, on_closed};

static void build_arguments(const struct options *o, char pid[16], char *argv[ARGS])
{
    unsigned n = 0;
    snprintf(pid, 16, "%d", (int)getpid());
    argv[n++] = "peltond";
    argv[n++] = "--worker-fd";
    argv[n++] = "3";
    argv[n++] = "--parent";
    argv[n++] = pid;
    argv[n++] = "--log-level";
    argv[n++] = (char *)o->log_name;
    for (unsigned i = 0; i < o->n_values; i++) {
        argv[n++] = "-c";
        argv[n++] = (char *)o->values[i];
    }
    if (o->device) {
        argv[n++] = "--device";
        argv[n++] = (char *)o->device;
    }
    argv[n] = NULL;
}

static void on_unspawned(uv_handle_t *handle)
{
    ((struct broker *)handle->data)->worker.reaped = true;
}

static int spawn(struct broker *b, int peer)
{
    char *argv[ARGS], pid[16];
    build_arguments(b->options, pid, argv);
    uv_stdio_container_t stdio[WORKER_FD + 1] = {{.flags = UV_IGNORE},
                                                 {.flags = UV_IGNORE},
                                                 {.flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO},
                                                 {.flags = UV_INHERIT_FD, .data.fd = peer}};
    uv_process_options_t options = {
        .exit_cb = on_exit, .file = "/proc/self/exe", .args = argv, .stdio_count = WORKER_FD + 1, .stdio = stdio};
    b->worker.process.data = b;
    int rc = uv_spawn(&b->loop, &b->worker.process, &options);
    if (rc < 0) {
        uv_close((uv_handle_t *)&b->worker.process, on_unspawned);
    }
    return rc;
}

int worker_start(struct broker *b, struct pelton_failure *failure)
{
    struct worker *w = &b->worker;
    int pair[2], rc;
    if (w->process.type == UV_PROCESS && !w->reaped) {
        rc = UV_EBUSY; /* the handle of a failed start has not closed yet */
    } else if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0) {
        rc = -errno;
    } else {
        memset(w, 0, sizeof *w);
        rc = spawn(b, pair[1]);
        close(pair[1]);
        if (rc < 0) {
            close(pair[0]);
        }
    }
    if (rc < 0) {
        failure->code = PELTON_ERR_OTHER;
        snprintf(failure->cause, sizeof failure->cause, "the worker process cannot be started: %s", uv_strerror(rc));
        return -1;
    }
    w->spawned = true;
    if (channel_open(&w->ch, &b->loop, pair[0], &worker_callbacks, b) < 0) {
        w->channel_closed = true;
        uv_process_kill(&w->process, SIGKILL);
    }
    log_line(LOG_LEVEL_INFO, "worker %d started", w->process.pid);
    broker_tick(b);
    return 0;
}

void worker_stop(struct broker *b)
{
    struct worker *w = &b->worker;
    if (!w->spawned || w->stopping) {
        return;
    }
    channel_send(&w->ch, WIRE_SHUTDOWN, 0, 0, NULL, NULL, 0);
    w->stopping = true;
    w->stop_ms = uv_now(&b->loop);
}

void worker_kill(struct broker *b, const char *why)
{
    if (b->worker.spawned && !b->worker.exited) {
        log_line(LOG_LEVEL_ERROR, "worker %d is killed: %s", b->worker.process.pid, why);
        uv_process_kill(&b->worker.process, SIGKILL);
    }
}

void worker_check(struct broker *b, uint64_t now_ms)
{
    struct worker *w = &b->worker;
    if (!w->spawned) {
        return;
    }
    if (w->exited) {
        if (now_ms - w->exit_ms >= STRAY_MS) {
            channel_close(&w->ch); /* something it started holds the other end */
        }
    } else if (w->stopping) {
        if (now_ms - w->stop_ms >= STOP_MS) {
            uv_process_kill(&w->process, SIGKILL);
        }
    } else if (channel_check_silence(&w->ch, now_ms, b->options->ping_ms, b->options->worker_dead_ms)) {
        worker_kill(b, "it does not answer");
    }
}
