/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources that the daemon itself keeps open: those that are always on, and those that stay open for
 * a time after their last reader.
 */
#ifndef PELTON_KEPT_OPEN_H
#define PELTON_KEPT_OPEN_H

#include "daemon/broker/named.h"

/* Opens and closes what is due. A part of broker_step. */
void kept_open_step(struct broker *b, uint64_t now_ms);
/* A time has to be watched though nobody is connected. */
bool kept_open_waits(const struct broker *b);
void kept_open_free(struct broker *b);

#endif
