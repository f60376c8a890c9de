/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Messages to a client.
 */
#ifndef PELTON_CLIENT_LINK_H
#define PELTON_CLIENT_LINK_H

#include "daemon/broker/client.h"
#include "proto/wire.h"

/* body NULL: an empty one. A client that is closing gets nothing. */
void client_send(struct client *c, unsigned type, uint32_t request_id, uint32_t object_id,
                 const ProtobufCMessage *body);
/* The descriptor stays the caller's; -1: none. */
void client_send_fd(struct client *c, unsigned type, uint32_t object_id,
                    const ProtobufCMessage *body, int fd);
void client_error(struct client *c, uint32_t request_id, uint32_t object_id,
                  const struct pelton_failure *failure, bool retryable);
/* Closes the connection. reason NULL: without a Goodbye. */
void client_close(struct client *c, const char *reason);

#endif
