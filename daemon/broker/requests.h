/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The messages of clients.
 */
#ifndef PELTON_REQUESTS_H
#define PELTON_REQUESTS_H

#include "daemon/broker/client.h"

/* Takes every message after the hello. */
void client_message(struct client *c, struct frame *f);

#endif
