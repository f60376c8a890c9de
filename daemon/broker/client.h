/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A client's connection.
 */
#ifndef PELTON_CLIENT_H
#define PELTON_CLIENT_H

#include "daemon/broker/broker.h"
#include "daemon/channel.h"

#include <sys/types.h>

struct client {
    struct client *next;
    struct broker *broker;
    struct channel ch;
    struct id_table streams; /* by the client's object numbers */
    uint64_t accepted_ms;
    uint64_t number; /* from 1 on; no other client has it, or had it */
    uid_t uid;
    pid_t pid;
    gid_t *groups; /* the primary one too */
    size_t n_groups;
    bool hello, is_private, watches;
    bool closing; /* it gets nothing more; its streams go with the next step */
    bool gone;    /* its channel has closed; its memory goes with the next step */
    char name[64];
};

#endif
