/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Questions of clients that only a worker can answer: the totals of a stream, the controls of a
 * camera, the machine's devices. The step sends them.
 */
#ifndef PELTON_ASK_H
#define PELTON_ASK_H

#include "daemon/broker/stream_state.h"

/* Answers at once where the worker does not have the stream. */
void ask_stats(struct broker_stream *s, uint32_t client_request);
/* Takes controls over. */
void ask_controls(struct broker_stream *s, uint32_t client_request, ProtobufCMessage *controls);
void ask_devices(struct client *c, uint32_t client_request, bool current);

/* A question about devices waits for the first worker. */
bool asks_want_worker(const struct broker *b);
void asks_send(struct broker *b); /* those whose worker runs */
/* Passes a worker's answer on. */
void asks_answer(struct worker_process *w, const struct frame *f, ProtobufCMessage *body);
/* Answers the questions about streams that no worker has any more, with the last known totals. */
void asks_settle(struct broker *b);
void asks_worker_lost(struct worker_process *w);
/* Refuses those that wait for a worker. */
void asks_refuse(struct broker *b, const struct pelton_failure *failure);
/* Drops those of clients and streams that are closed. */
void asks_drop(struct broker *b);

#endif
