/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The life of a stream: functions that change its state (stream_state.h).
 */
#ifndef PELTON_BROKER_STREAM_H
#define PELTON_BROKER_STREAM_H

#include "daemon/broker/stream_state.h"

/* NULL: out of memory. body (of f's type) becomes the stream's. */
struct broker_stream *stream_create(struct client *c, const struct frame *f,
                                    ProtobufCMessage *body);
/* Every change of state goes through here. */
void stream_enter(struct broker_stream *s, enum stream_state state);
/* Takes it from its worker, which is told. The caller gives it another state than OPEN. */
void stream_withdraw(struct broker_stream *s);
/* The worker's session is over. failure code 0: as it should be. */
void stream_over(struct broker_stream *s, const struct pelton_failure *failure);
/* The next step tells the client, when no announced frame waits any more. A probe, and a stream
 * that was never opened, is then closed. */
void stream_end(struct broker_stream *s, const struct pelton_failure *failure);
void stream_fail(struct broker_stream *s, int code, const char *hint, const char *cause, ...)
    __attribute__((format(printf, 4, 5)));
/* Frees its object number at once, its memory with the next step. */
void stream_close(struct broker_stream *s);
void stream_free(struct broker_stream *s); /* of one that is closed; the step does that */

#endif
