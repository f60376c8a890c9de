/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The device's thread cares for a session: store, pool, frames, end.
 */
#ifndef PELTON_ANNOUNCE_H
#define PELTON_ANNOUNCE_H

#include "daemon/worker/engine/session_internal.h"
#include "daemon/worker/schedule/knobs.h"

/* Pictures that the sessions of a round need no more. */
struct unref {
    struct h264_picture *pictures[DEVICE_UNREF];
    uint32_t count;
};

/* All that a session has to have done for it in a round. True: something changed, and it is to be
 * tended to again. unref has room for some, and gets the pictures that the caller is to unreference
 * (pictures_unref). Device's thread, with the lock, dropped meanwhile. */
bool session_tend(struct engine *e, struct session *s, struct unref *unref);
/* The pool of the next epoch: one that a former stream of the reader has left, else a thread makes
 * it. False: there is no thread. With the lock. */
bool session_start_pool(struct session *s, const struct feed_format *format,
                        enum recon_format delivered);

#endif
