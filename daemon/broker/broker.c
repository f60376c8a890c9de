/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The broker as a whole: set up, the tick, the end.
 *
 * The happy path is run until a signal, a Shutdown, or, for a private daemon, the end of its one
 * connection. The failure modes at the start are logged and become the exit code. The end waits for
 * everything that may still be in flight: the listener, every client's channel, each worker's
 * process and channel; then timer and signals close, and the loop runs out.
 */
#include "daemon/broker/broker_main.h"

#include "daemon/broker/broker.h"

#include "daemon/log.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TICK_MAX_MS = 250, TICK_MIN_MS = 5 };

static uint64_t tick_period(const struct settings *o)
{
    uint64_t shortest =
        o->timing.hello_ms < o->timing.ping_ms ? o->timing.hello_ms : o->timing.ping_ms;
    uint64_t period = shortest / 4;
    return period > TICK_MAX_MS ? TICK_MAX_MS : period < TICK_MIN_MS ? TICK_MIN_MS : period;
}

static void on_tick(uv_timer_t *timer)
{
    struct broker *b = timer->data;
    uint64_t now = uv_now(&b->loop);
    clients_check(b, now);
    workers_check(b, now);
    recovery_check(b, now);
    reconnect_check(b, now);
    listener_resume(b);
    if (!b->clients && !workers_spawned(b))
        uv_timer_stop(timer); /* nothing to watch: sleep */
}

void broker_tick(struct broker *b)
{
    if (!uv_is_closing((uv_handle_t *)&b->tick) && !uv_is_active((uv_handle_t *)&b->tick))
        uv_timer_start(&b->tick, on_tick, tick_period(b->settings), tick_period(b->settings));
}

void broker_try_finish(struct broker *b)
{
    if (!b->closing || b->clients || workers_spawned(b) || b->listen_fd >= 0 ||
        uv_is_closing((uv_handle_t *)&b->tick)) {
        return;
    }
    uv_close((uv_handle_t *)&b->tick, NULL);
    uv_close((uv_handle_t *)&b->watchdog, NULL);
    uv_close((uv_handle_t *)&b->sigterm, NULL);
    uv_close((uv_handle_t *)&b->sigint, NULL);
    uv_close((uv_handle_t *)&b->sighup, NULL);
}

void broker_shutdown(struct broker *b)
{
    if (b->closing) {
        broker_try_finish(b);
        return;
    }
    b->closing = true;
    service_notify("STOPPING=1");
    listener_close(b);
    for (struct client *c = b->clients; c; c = c->next)
        client_close(c, "the daemon ends");
    workers_stop(b);
    broker_try_finish(b);
}

static void on_signal(uv_signal_t *handle, int signum)
{
    broker_shutdown(handle->data);
}

static void on_hangup(uv_signal_t *handle, int signum)
{
    struct pelton_reloaded unused;
    char why[256];
    struct broker *b = handle->data;
    if (!b->closing)
        reload(b, &unused, why); /* logged there */
}

static void read_boot_id(char out[40])
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, out, 36);
    out[n > 0 ? n : 0] = 0;
    if (fd >= 0)
        close(fd);
}

static void broker_init(struct broker *b, const struct settings *settings)
{
    b->settings = settings;
    b->listen_fd = -1;
    b->streams_tail = &b->streams;
    devices_init(b);
    read_boot_id(b->boot_id);
    b->started_ms = uv_now(&b->loop);
    uv_timer_init(&b->loop, &b->tick);
    uv_timer_init(&b->loop, &b->watchdog);
    uv_signal_init(&b->loop, &b->sigterm);
    uv_signal_init(&b->loop, &b->sigint);
    uv_signal_init(&b->loop, &b->sighup);
    b->tick.data = b->sigterm.data = b->sigint.data = b->sighup.data = b;
}

/* A private daemon shares its client's terminal: keys that stop the client are not for it, the
 * connection's end is. */
static int broker_listen(struct broker *b)
{
    uv_signal_start(&b->sigterm, on_signal, SIGTERM);
    if (b->settings->process.private_fd >= 0) {
        signal(SIGINT, SIG_IGN);
        signal(SIGHUP, SIG_IGN);
        fcntl(b->settings->process.private_fd, F_SETFD, FD_CLOEXEC);
        return client_accept(b, b->settings->process.private_fd, true) < 0 ? 1 : 0;
    }
    uv_signal_start(&b->sigint, on_signal, SIGINT);
    uv_signal_start(&b->sighup, on_hangup, SIGHUP);
    int rc = listener_open(b);
    if (rc == 0) {
        service_watchdog(&b->watchdog);
        service_notify("READY=1");
    }
    return rc;
}

int broker_run(const struct settings *settings)
{
    struct broker *b = calloc(1, sizeof(*b));
    if (!b || uv_loop_init(&b->loop) < 0) {
        log_line(LOG_LEVEL_ERROR, "no memory or descriptors to start");
        free(b);
        return 1;
    }
    broker_init(b, settings);
    int rc = 1;
    if (named_init(b))
        rc = broker_listen(b);
    else
        log_line(LOG_LEVEL_ERROR, "out of memory");
    if (rc == 0)
        broker_tick(b);
    else
        broker_shutdown(b);
    uv_run(&b->loop, UV_RUN_DEFAULT);
    uv_loop_close(&b->loop);
    named_end(b);
    free(b);
    return rc;
}
