/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The broker as a whole. It owns sockets, subscribers and pools; it never parses video and never
 * loads a driver. Everything runs on one loop thread.
 *
 * Messages only change state and forward frames. Whoever changes state that has consequences calls
 * broker_changed; the loop then calls broker_step (broker_step.h) once, before it waits again.
 */
#ifndef PELTON_BROKER_H
#define PELTON_BROKER_H

#include "daemon/broker/id_table.h"
#include "daemon/broker/quarantine.h"
#include "daemon/quota.h"
#include "daemon/settings.h"

#include <uv.h>

struct ask;
struct broker_devices;
struct broker_stream;
struct client;
struct frame;
struct named_source;
struct worker_process;

struct broker {
    uv_loop_t loop;
    const struct settings *settings;
    bool changed; /* broker_step is due */
    bool ending;  /* the end was asked for */
    bool closing; /* and has begun */
    bool failed;  /* it ends because it cannot go on */

    struct client *clients;
    unsigned n_clients;
    unsigned heard;                                /* messages in this turn of the loop */
    struct broker_stream *streams, **streams_tail; /* in the order of their opening */
    unsigned n_streams;                            /* without those that are closed */
    struct id_table streams_by_wid;                /* those that a worker has */
    struct ask *asks;
    struct named_source *named;
    struct client *keeper; /* opens sources that are kept open (kept_open.c); NULL: none yet */
    struct broker_devices *devices;
    struct worker_process *workers;
    unsigned n_workers; /* at least 1 */
    int spawner;        /* socket of the process that starts them */
    bool caches_fail;   /* a file that a driver had mapped got no room on its disk */
    struct quarantine quarantine;
    struct quota_counts quotas;
    uint32_t sandbox; /* enum pelton_sandbox, of this process */

    uint32_t last_wid, last_request, last_kept;
    uint64_t last_stream, last_client, started_ms;
    char boot_id[40];
    /* takes what a worker sends */
    void (*on_worker_frame)(struct worker_process *w, struct frame *f);
};

static inline void broker_changed(struct broker *b)
{
    b->changed = true;
}

#endif
