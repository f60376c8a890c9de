/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The devices of the daemon, and the worker process of each.
 */
#ifndef PELTON_DEVICES_H
#define PELTON_DEVICES_H

#include "daemon/broker/worker_process.h"
#include "proto/wire.h"

enum { DEVICE_NAME_BYTES = 64 };

enum devices_state {
    DEVICES_WRONG,   /* the list cannot be used */
    DEVICES_LIST,    /* the first worker has to say which there are */
    DEVICES_OPENING, /* several: devices_awaited have to be open before any gets streams */
    DEVICES_READY
};

struct broker_devices {
    enum devices_state state;
    bool all;                                   /* not named by the user: those that there are */
    char names[WORKERS_MAX][DEVICE_NAME_BYTES]; /* where there are several */
    struct worker_process workers[WORKERS_MAX];
    struct pelton_failure failure; /* code not 0: a device could not be opened */
    bool known;
    struct pelton_device first; /* of the first worker; its name says how many more there are */
};

/* Makes b->devices and b->workers. False: out of memory. */
bool devices_create(struct broker *b);
void devices_free(struct broker *b);
/* Asks a worker that runs for its devices, unless it has answered or is being asked. */
void devices_ask(struct worker_process *w);
/* Takes an answer. True: it was an answer to devices_ask. */
bool devices_answer(struct worker_process *w, const struct frame *f, const ProtobufCMessage *body);
/* A worker has lost its device. After the last loss that is allowed in the restart window,
 * libavcodec decodes in its place, unless the settings name a device. */
void devices_lost(struct worker_process *w, uint64_t now_ms);
/* Takes over what a worker says of the device that it has opened. */
void devices_opened(struct worker_process *w, const Pelton__Device *m);
/* The workers whose devices have to be open before the first stream: those of a list, because its
 * user means all of them; of "all" the first. */
unsigned devices_awaited(const struct broker *b);
/* A worker could not open its device, as a stream's end says. True: the stream is to be given to
 * another one. */
bool devices_passes_over(struct worker_process *w, const struct broker_stream *s, int code);
/* Tells workers that have streams how many they are. They share the cores. */
void devices_share_cores(struct broker *b);
struct worker_process *devices_choose(const struct broker_stream *s, uint64_t now_ms);

#endif
