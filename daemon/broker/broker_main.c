/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The broker process: set up, the turns of the loop, the end.
 *
 * The happy path is run until a signal, a Shutdown, or, for a private daemon, the end of its one
 * connection. The failure modes at the start are logged and become the exit code. The end waits for
 * everything that may still be in flight: the listener, every client's channel, each worker's
 * process and channel. Then the other handles close, and the loop runs out.
 *
 * Before the loop waits, it makes one step if anything has changed. A step that changes state again
 * keeps the loop from waiting, so that messages are read between two steps.
 */
#include "daemon/broker/broker_main.h"

#include "daemon/broker/broker_client.h"
#include "daemon/broker/broker_sandbox.h"
#include "daemon/broker/broker_step.h"
#include "daemon/broker/client_link.h"
#include "daemon/broker/descriptor_reserve.h"
#include "daemon/broker/devices.h"
#include "daemon/broker/kept_open.h"
#include "daemon/broker/listener.h"
#include "daemon/broker/named.h"
#include "daemon/broker/reload.h"
#include "daemon/broker/service.h"
#include "daemon/broker/spawner.h"
#include "daemon/broker/worker_handover.h"
#include "daemon/broker/worker_link.h"
#include "daemon/broker/worker_messages.h"
#include "daemon/log.h"
#include "proto/start_trace.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
    TICK_MAX_MS = 250,
    TICK_MIN_MS = 5,
    CROWD = 128,        /* clients; fewer are served at once */
    MANY = 32,          /* messages of a turn */
    SPACING_NS = 500000 /* of the turns of a crowd, at the least */
};

struct broker_process {
    struct broker broker;
    struct listener listener;
    uv_prepare_t turn; /* before the loop waits */
    uv_idle_t again;   /* active: the loop does not wait */
    uv_timer_t tick, watchdog;
    uv_signal_t sigterm, sigint, sighup;
    uint64_t turned_ns; /* when the loop last began to wait */
    bool finished;
};

/* ---- turns ---- */

static void shut_down(struct broker_process *p)
{
    struct broker *b = &p->broker;
    b->closing = true;
    start_trace("shuts down");
    service_notify("STOPPING=1");
    listener_close(&p->listener);
    for (struct client *c = b->clients; c; c = c->next)
        client_close(c, "the daemon ends");
    workers_stop(b);
}

static void handle_close(void *handle)
{
    uv_close(handle, NULL);
}

static void finish(struct broker_process *p)
{
    p->finished = true;
    workers_forget(&p->broker);
    handle_close(&p->turn);
    handle_close(&p->again);
    handle_close(&p->tick);
    handle_close(&p->watchdog);
    handle_close(&p->sigterm);
    handle_close(&p->sigint);
    handle_close(&p->sighup);
}

static uint64_t tick_period(const struct settings_timing *t)
{
    uint64_t shortest = t->hello_ms < t->ping_ms ? t->hello_ms : t->ping_ms;
    uint64_t period = shortest / 4;
    return period > TICK_MAX_MS ? TICK_MAX_MS : period < TICK_MIN_MS ? TICK_MIN_MS : period;
}

static void on_tick(uv_timer_t *timer)
{
    struct broker_process *p = timer->data;
    struct broker *b = &p->broker;
    uint64_t now = uv_now(&b->loop);
    clients_check(b, now);
    workers_check(b, now);
    listener_resume(&p->listener);
    broker_changed(b);
}

static void on_again(uv_idle_t *idle)
{
}

/* The tick runs while there is something to watch, else the process sleeps. */
static void timers_set(struct broker_process *p)
{
    struct broker *b = &p->broker;
    uint64_t period = tick_period(&b->settings->timing);
    bool paused = p->listener.fd >= 0 && !p->listener.accepting;
    if (!b->clients && !workers_spawned(b) && !paused && !kept_open_waits(b))
        uv_timer_stop(&p->tick);
    else if (!uv_is_active((uv_handle_t *)&p->tick))
        uv_timer_start(&p->tick, on_tick, period, period);
    if (b->changed)
        uv_idle_start(&p->again, on_again);
    else
        uv_idle_stop(&p->again);
}

static void take_turn(struct broker_process *p)
{
    struct broker *b = &p->broker;
    if (!b->changed || p->finished)
        return;
    if (b->ending && !b->closing)
        shut_down(p);
    broker_step(b, uv_now(&b->loop));
    if (b->closing && !b->clients && !workers_busy(b) && p->listener.fd < 0)
        finish(p);
    else
        timers_set(p);
}

/* Messages of a crowd come one by one, and to be woken by each costs more than to read it. So what
 * comes within the spacing is read together. Where many came at once already, nothing waits. */
static void gather(struct broker_process *p)
{
    uint64_t now = uv_hrtime(), since = now - p->turned_ns;
    if (p->broker.n_clients >= CROWD && p->broker.heard < MANY && since < SPACING_NS) {
        const struct timespec rest = {.tv_nsec = (long)(SPACING_NS - since)};
        nanosleep(&rest, NULL);
        now = uv_hrtime();
    }
    p->turned_ns = now;
    p->broker.heard = 0;
}

static void on_turn(uv_prepare_t *prepare)
{
    struct broker_process *p = prepare->data;
    take_turn(p);
    workers_flush(&p->broker);
    gather(p);
}

/* ---- signals ---- */

static void broker_end(struct broker *b)
{
    b->ending = true;
    broker_changed(b);
}

static void on_signal(uv_signal_t *handle, int signum)
{
    struct broker_process *p = handle->data;
    broker_end(&p->broker);
}

static void on_hangup(uv_signal_t *handle, int signum)
{
    struct pelton_reloaded unused;
    char why[256];
    struct broker_process *p = handle->data;
    if (!p->broker.closing)
        reload(&p->broker, &unused, why); /* logged there */
}

/* ---- the process ---- */

static void read_boot_id(char out[40])
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, out, 36);
    out[n > 0 ? n : 0] = 0;
    if (fd >= 0)
        close(fd);
}

static void process_init(struct broker_process *p, const struct settings *settings)
{
    struct broker *b = &p->broker;
    b->settings = settings;
    b->streams_tail = &b->streams;
    b->on_worker_frame = worker_message;
    b->started_ms = uv_now(&b->loop);
    read_boot_id(b->boot_id);
    listener_init(&p->listener, b);
    uv_prepare_init(&b->loop, &p->turn);
    uv_idle_init(&b->loop, &p->again);
    uv_timer_init(&b->loop, &p->tick);
    uv_timer_init(&b->loop, &p->watchdog);
    uv_signal_init(&b->loop, &p->sigterm);
    uv_signal_init(&b->loop, &p->sigint);
    uv_signal_init(&b->loop, &p->sighup);
    p->turn.data = p->tick.data = p->sigterm.data = p->sigint.data = p->sighup.data = p;
    uv_prepare_start(&p->turn, on_turn);
    uv_unref((uv_handle_t *)&p->turn);
}

/* A private daemon shares its client's terminal: keys that stop the client are not for it, the
 * connection's end is. */
static int broker_listen(struct broker_process *p)
{
    struct broker *b = &p->broker;
    int private_fd = b->settings->process.private_fd;
    uv_signal_start(&p->sigterm, on_signal, SIGTERM);
    if (private_fd >= 0) {
        signal(SIGINT, SIG_IGN);
        signal(SIGHUP, SIG_IGN);
        fcntl(private_fd, F_SETFD, FD_CLOEXEC);
        return client_accept(b, private_fd, true) < 0 ? 1 : 0;
    }
    uv_signal_start(&p->sigint, on_signal, SIGINT);
    uv_signal_start(&p->sighup, on_hangup, SIGHUP);
    int rc = listener_open(&p->listener);
    if (rc == 0) {
        service_watchdog(&p->watchdog);
        service_notify("READY=1");
    }
    return rc;
}

static int broker_start(struct broker_process *p)
{
    if (devices_create(&p->broker) && named_init(&p->broker))
        return broker_listen(p);
    log_line(LOG_LEVEL_ERROR, "out of memory");
    return 1;
}

int broker_run(const struct settings *settings)
{
    descriptors_raise();
    struct broker_process *p = calloc(1, sizeof(*p));
    int spawner = p ? spawner_start(settings) : -1;
    if (spawner < 0 || uv_loop_init(&p->broker.loop) < 0) {
        log_line(LOG_LEVEL_ERROR, "no memory or descriptors to start");
        free(p);
        return 1;
    }
    struct broker *b = &p->broker;
    b->spawner = spawner;
    process_init(p, settings);
    int rc = broker_start(p);
    if (rc != 0)
        broker_end(b);
    else
        b->sandbox = broker_sandbox(settings, p->listener.path);
    start_trace("the sandbox holds");
    if (rc == 0 && settings->engine.warm_up)
        workers_warm_up(b, uv_now(&b->loop));
    start_trace("connections are taken");
    broker_changed(b); /* sources that are always on */
    take_turn(p);      /* a loop without handles would not run */
    uv_run(&b->loop, UV_RUN_DEFAULT);
    rc = b->failed ? 1 : rc;
    uv_loop_close(&b->loop);
    kept_open_free(b);
    named_end(b);
    devices_free(b);
    id_table_free(&b->streams_by_wid);
    close(spawner);
    free(p);
    return rc;
}
