/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the gateway knows of the daemon: see daemon_watch.h. The failure modes are those of
 * pelton_connect, and a daemon that goes away; both are told in words and tried again.
 */
#include "web/daemon_watch.h"

#include "daemon/log.h"
#include "daemon/monotonic.h"
#include "web/control_board.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONNECT_MS = 3000, SLICE_MS = 200, AGAIN_MS = 250, MOST = 1024 };

struct daemon_watch {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    atomic_bool ending;
    char *socket;
    struct control_board *board;
    struct watched_daemon daemon;
    struct watched_source sources[MOST];
    size_t n_sources;
    struct pelton_stream_status *streams;
    size_t n_streams;
    uint64_t change;
    bool asked; /* it is known whether the daemon is there, and which sources it has */
};

/* ---- under the lock ---- */

/* The place of a name, or where it belongs. */
static size_t source_place(const struct daemon_watch *w, const char *name, bool *found)
{
    size_t from = 0, to = w->n_sources;
    while (from < to) {
        size_t middle = (from + to) / 2;
        int order = strcmp(w->sources[middle].source.name, name);
        if (order == 0) {
            *found = true;
            return middle;
        }
        from = order < 0 ? middle + 1 : from;
        to = order < 0 ? to : middle;
    }
    *found = false;
    return from;
}

static void source_set(struct daemon_watch *w, const struct pelton_source *source)
{
    bool found;
    size_t at = source_place(w, source->name, &found);
    if (!found && w->n_sources == MOST)
        return;
    if (!found) {
        memmove(&w->sources[at + 1], &w->sources[at], (w->n_sources - at) * sizeof(*w->sources));
        w->n_sources++;
    }
    w->sources[at] = (struct watched_source){*source, ++w->change};
}

/* Those that the daemon no longer names are told as removed. */
static void sources_forget(struct daemon_watch *w)
{
    for (size_t i = 0; i < w->n_sources; i++) {
        if (w->sources[i].source.state == PELTON_SOURCE_REMOVED)
            continue;
        w->sources[i].source.state = PELTON_SOURCE_REMOVED;
        w->sources[i].change = ++w->change;
    }
}

/* ---- the thread ---- */

static void connection_is(struct daemon_watch *w, bool connected, const struct pelton_failure *f)
{
    pthread_mutex_lock(&w->lock);
    bool told = w->daemon.connected != connected || !w->asked;
    w->asked = true;
    w->daemon.connected = connected;
    w->daemon.known = w->daemon.known && connected;
    w->daemon.connects += connected;
    snprintf(w->daemon.cause, sizeof(w->daemon.cause), "%s", f ? f->cause : "");
    snprintf(w->daemon.hint, sizeof(w->daemon.hint), "%s", f ? f->hint : "");
    if (!connected)
        sources_forget(w);
    w->change++;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    if (told && connected)
        log_line(LOG_LEVEL_NOTICE, "the daemon is there");
    else if (told)
        log_line(LOG_LEVEL_WARNING, "no daemon: %s; waiting for it", f->cause);
}

static int status_ask(struct daemon_watch *w, struct pelton *conn)
{
    struct pelton_status status;
    struct pelton_stream_status *streams = NULL;
    size_t n = 0;
    int rc = pelton_status(conn, CONNECT_MS, &status, &streams, &n);
    if (rc < 0)
        return rc;
    pthread_mutex_lock(&w->lock);
    free(w->streams);
    w->streams = streams;
    w->n_streams = n;
    w->daemon.status = status;
    w->daemon.known = true;
    pthread_mutex_unlock(&w->lock);
    return 0;
}

/* One change of a source, or of its controls. */
static void change_take(struct daemon_watch *w, const struct pelton *conn,
                        const struct pelton_source *source)
{
    struct control_list list = {.n = 0};
    list.n = pelton_source_controls(conn, list.control);
    if (list.n) {
        snprintf(list.source, sizeof(list.source), "%s", source->name);
        control_board_put(w->board, &list);
    } else if (source->state != PELTON_SOURCE_RUNNING) {
        control_board_forget(w->board, source->name);
    }
    pthread_mutex_lock(&w->lock);
    source_set(w, source);
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

/* All sources, and the state. The reply about the state comes after the sources. */
static int sources_take(struct daemon_watch *w, struct pelton *conn)
{
    struct pelton_source source;
    int rc = pelton_sources_watch(conn, CONNECT_MS);
    rc = rc < 0 ? rc : status_ask(w, conn);
    while (rc >= 0 && (rc = pelton_sources_next(conn, 0, &source)) > 0)
        change_take(w, conn, &source);
    return rc == PELTON_ERR_TIMEOUT ? 0 : rc;
}

/* Until the daemon goes away; its last failure then says why. */
static void changes_follow(struct daemon_watch *w, struct pelton *conn)
{
    int64_t asked_ns = monotonic_ns();
    int rc = 0;
    while (rc >= 0 && !atomic_load(&w->ending)) {
        struct pelton_source source;
        if (monotonic_ns() - asked_ns > 1000000000) {
            rc = status_ask(w, conn);
            asked_ns = monotonic_ns();
        }
        rc = rc < 0 ? rc : pelton_sources_next(conn, SLICE_MS, &source);
        if (rc > 0)
            change_take(w, conn, &source);
        rc = rc == PELTON_ERR_TIMEOUT ? 0 : rc;
    }
}

static void *watch_run(void *ctx)
{
    struct daemon_watch *w = ctx;
    while (!atomic_load(&w->ending)) {
        struct pelton *conn = NULL;
        if (pelton_connect(w->socket, CONNECT_MS, &conn) == 0 && sources_take(w, conn) == 0) {
            connection_is(w, true, NULL);
            changes_follow(w, conn);
        }
        if (!atomic_load(&w->ending))
            connection_is(w, false, pelton_failure(conn));
        pelton_close(conn);
        if (!atomic_load(&w->ending))
            nanosleep(&(struct timespec){.tv_nsec = AGAIN_MS * 1000000}, NULL);
    }
    return NULL;
}

struct daemon_watch *daemon_watch_new(const char *socket, struct control_board *board)
{
    struct daemon_watch *w = calloc(1, sizeof(*w));
    if (!w)
        return NULL;
    w->board = board;
    w->socket = socket ? strdup(socket) : NULL;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
    if ((w->socket || !socket) && pthread_create(&w->thread, NULL, watch_run, w) == 0)
        return w;
    free(w->socket);
    free(w);
    return NULL;
}

void daemon_watch_free(struct daemon_watch *w)
{
    if (!w)
        return;
    atomic_store(&w->ending, true);
    pthread_join(w->thread, NULL);
    free(w->streams);
    free(w->socket);
    free(w);
}

/* ---- questions ---- */

void daemon_watch_begin(struct daemon_watch *w)
{
    pthread_mutex_lock(&w->lock);
    while (!w->asked)
        pthread_cond_wait(&w->changed, &w->lock);
    pthread_mutex_unlock(&w->lock);
}

void daemon_watch_state(struct daemon_watch *w, struct watched_daemon *out)
{
    pthread_mutex_lock(&w->lock);
    *out = w->daemon;
    pthread_mutex_unlock(&w->lock);
}

int daemon_watch_sources(struct daemon_watch *w, struct watched_source **out, size_t *n)
{
    pthread_mutex_lock(&w->lock);
    struct watched_source *copy = malloc((w->n_sources + 1) * sizeof(*copy));
    if (copy) {
        memcpy(copy, w->sources, w->n_sources * sizeof(*copy));
        *n = w->n_sources;
        *out = copy;
    }
    pthread_mutex_unlock(&w->lock);
    return copy ? 0 : -1;
}

int daemon_watch_streams(struct daemon_watch *w, struct pelton_stream_status **out, size_t *n)
{
    pthread_mutex_lock(&w->lock);
    struct pelton_stream_status *copy = malloc((w->n_streams + 1) * sizeof(*copy));
    if (copy && w->n_streams)
        memcpy(copy, w->streams, w->n_streams * sizeof(*copy));
    if (copy) {
        *n = w->n_streams;
        *out = copy;
    }
    pthread_mutex_unlock(&w->lock);
    return copy ? 0 : -1;
}

bool daemon_watch_source(struct daemon_watch *w, const char *name, struct watched_source *out)
{
    bool found;
    pthread_mutex_lock(&w->lock);
    size_t at = source_place(w, name, &found);
    found = found && w->sources[at].source.state != PELTON_SOURCE_REMOVED;
    if (found)
        *out = w->sources[at];
    pthread_mutex_unlock(&w->lock);
    return found;
}

uint64_t daemon_watch_wait(struct daemon_watch *w, uint64_t seen, int timeout_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    int64_t ns = until.tv_nsec + (int64_t)timeout_ms * 1000000;
    until.tv_sec += ns / 1000000000;
    until.tv_nsec = ns % 1000000000;
    pthread_mutex_lock(&w->lock);
    int rc = 0;
    while (w->change <= seen && rc == 0)
        rc = pthread_cond_timedwait(&w->changed, &w->lock, &until);
    uint64_t newest = w->change;
    pthread_mutex_unlock(&w->lock);
    return newest;
}
