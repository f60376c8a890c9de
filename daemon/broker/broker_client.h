/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The life of a client: accepted, greeted, heard, closed.
 */
#ifndef PELTON_BROKER_CLIENT_H
#define PELTON_BROKER_CLIENT_H

#include "daemon/broker/client.h"

/* fd becomes the client's, also on failure. 0, or -1. */
int client_accept(struct broker *b, int fd, bool is_private);
/* Closes clients that say no hello, or nothing for too long. */
void clients_check(struct broker *b, uint64_t now_ms);

#endif
