/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The device's thread cares for a session: store, pool, frames, end.
 */
#ifndef PELTON_ANNOUNCE_H
#define PELTON_ANNOUNCE_H

#include "daemon/worker/engine/session_internal.h"

/* All that a session has to have done for it in a round. True: something changed. Device's thread,
 * with the lock, dropped meanwhile. */
bool session_tend(struct engine *e, struct session *s);
/* The pool of the next epoch: one that a former stream of the reader has left, else a thread makes
 * it. False: there is no thread. With the lock. */
bool session_start_pool(struct session *s, const struct feed_format *format,
                        enum recon_format delivered);

#endif
