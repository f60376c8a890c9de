/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The configuration read again.
 */
#ifndef PELTON_RELOAD_H
#define PELTON_RELOAD_H

#include "daemon/broker/broker.h"
#include "proto/pelton.h"

/* 0 with the counts, or -1 with the reason, and nothing has changed. */
int reload(struct broker *b, struct pelton_reloaded *out, char why[256]);

#endif
