/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A worker process as the broker sees it. Each device has one.
 */
#ifndef PELTON_WORKER_PROCESS_H
#define PELTON_WORKER_PROCESS_H

#include "daemon/broker/broker.h"
#include "daemon/broker/restart.h"
#include "daemon/channel.h"
#include "proto/pelton.h"

enum { WORKERS_MAX = PELTON_MAX_DEVICES };

/* What it has said of itself last (StatsReply) */
struct worker_usage {
    bool known;
    struct pelton_stats held; /* worker_gpu and worker_host alone */
    uint64_t kept_units;      /* bytes: QUOTA_KEPT */
    uint32_t sandbox;         /* enum pelton_sandbox */
    struct quota_counts quotas;
    struct pelton_encoder_usage encoder; /* of cameras */
    struct pelton_encoder_usage transcoder, jpegs;
};

struct worker_process {
    struct broker *broker;
    const char *device; /* its --device; NULL: the -c values choose */
    bool died;          /* and has not been restarted since */
    bool unusable;      /* its device cannot be opened, and others go on */
    struct restart_policy restart;
    struct restart_policy losses; /* of its device */
    struct broker_stream *trial;  /* see worker_recovery.c */
    uint64_t trial_ms;
    bool long_trials; /* the last death left in doubt which stream is guilty */

    /* of the present process: everything from here on is cleared when one is started */
    uv_signal_t child; /* tells of children that have ended */
    pid_t pid;
    struct channel ch;
    bool spawned;                        /* from worker_start until the step has seen its end */
    bool exited, reaped, channel_closed; /* has ended: the process, its handle, the channel */
    bool gone;                           /* all three have ended */
    bool stopping;                       /* we asked it to end */
    uint64_t stop_ms, exit_ms;
    int signal;           /* that it has ended by; 0: none */
    uint32_t question;    /* of devices.c, not answered yet; 0: none */
    bool opened;          /* it has opened its device, as devices.c had asked */
    bool ready;           /* it has a device */
    uint32_t sharing;     /* others that it was told to share the cores with */
    bool killed;          /* by us: its last words do not count */
    bool short_of_memory; /* a stream of it is; until the next step */
    bool lost;            /* it has lost its device, which is counted */
    struct worker_usage usage;
};

#endif
