/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The answer to Status.
 */
#ifndef PELTON_STATUS_H
#define PELTON_STATUS_H

#include "daemon/broker/client.h"

/* all: the streams of every user */
void status_send(struct client *c, uint32_t request_id, bool all);

#endif
