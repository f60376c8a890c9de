/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Starting worker processes, talking to them, ending them.
 */
#ifndef PELTON_WORKER_LINK_H
#define PELTON_WORKER_LINK_H

#include "daemon/broker/worker_process.h"

bool worker_running(const struct worker_process *w);
/* 0, or -1 with the failure filled. */
int worker_start(struct worker_process *w, struct pelton_failure *failure);
/* Sends a message. A worker that does not run gets nothing. */
void worker_send(struct worker_process *w, unsigned type, uint32_t request_id, uint32_t wid,
                 const ProtobufCMessage *body, const int *fds, unsigned n_fds);
/* The same, at the end of the turn, with all others to this worker: workers_flush. */
void worker_send_soon(struct worker_process *w, unsigned type, uint32_t wid,
                      const ProtobufCMessage *body);
void workers_flush(struct broker *b);
void worker_kill(struct worker_process *w, const char *why);
void workers_stop(struct broker *b);
bool workers_spawned(const struct broker *b); /* any */
bool workers_busy(const struct broker *b);    /* any that has not said its last word */
/* At the end: the loop waits no more for processes that are still ending. */
void workers_forget(struct broker *b);
/* Kills workers that do not answer or do not end. */
void workers_check(struct broker *b, uint64_t now_ms);

#endif
