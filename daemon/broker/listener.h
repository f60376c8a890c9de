/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The listening socket, our own or systemd's.
 */
#ifndef PELTON_LISTENER_H
#define PELTON_LISTENER_H

#include "daemon/broker/broker.h"

struct listener {
    struct broker *broker;
    uv_poll_t poll;
    int fd;            /* -1: closed */
    bool accepting;    /* false: no descriptors are left; the next tick tries again */
    uint64_t short_ms; /* when the log last named a shortage of descriptors; 0: never */
    bool short_open;   /* and has not yet named its end */
    char path[108];    /* to unlink; empty: not ours */
};

void listener_init(struct listener *l, struct broker *b);
int listener_open(struct listener *l); /* 0, or an exit code with the reason logged */
void listener_resume(struct listener *l);
void listener_close(struct listener *l);

#endif
