/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the gateway knows of the daemon: its named sources, as they change, and its state, once a
 * second. One thread keeps a connection for that, and connects again when the daemon was gone. So
 * no request waits for the daemon, and a daemon that is gone is told at once.
 *
 * Thread: any; the copies that the functions give are the caller's.
 */
#ifndef PELTON_DAEMON_WATCH_H
#define PELTON_DAEMON_WATCH_H

#include "proto/pelton.h"

struct control_board;
struct daemon_watch;

struct watched_source {
    struct pelton_source source;
    uint64_t change; /* number of its last change; changes of all sources count together */
};

struct watched_daemon {
    bool connected, known; /* connected: its sources are known; known: so is status */
    char cause[256], hint[256];
    uint64_t connects; /* since the start */
    struct pelton_status status;
};

/* socket NULL: as libpelton chooses. Controls that any client sets go to the board. NULL: no
 * memory, no thread. */
struct daemon_watch *daemon_watch_new(const char *socket, struct control_board *board);
void daemon_watch_free(struct daemon_watch *w);
/* Waits until the daemon's sources are known, or it is known why there is no daemon. */
void daemon_watch_begin(struct daemon_watch *w);

void daemon_watch_state(struct daemon_watch *w, struct watched_daemon *out);
/* All sources, by name, removed ones included. The caller frees *out by free(). 0, or -1: no
 * memory. */
int daemon_watch_sources(struct daemon_watch *w, struct watched_source **out, size_t *n);
/* The daemon's streams of the last second. The caller frees *out by free(). 0, or -1: no memory. */
int daemon_watch_streams(struct daemon_watch *w, struct pelton_stream_status **out, size_t *n);
/* False: no source of this name is there. */
bool daemon_watch_source(struct daemon_watch *w, const char *name, struct watched_source *out);
/* Waits until there is a change with a number above `seen`, at most timeout_ms. The newest number.
 */
uint64_t daemon_watch_wait(struct daemon_watch *w, uint64_t seen, int timeout_ms);

#endif
