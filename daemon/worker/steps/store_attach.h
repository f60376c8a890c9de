/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Sessions and the stores that they use. Thread: the device's, with the lock.
 */
#ifndef PELTON_STORE_ATTACH_H
#define PELTON_STORE_ATTACH_H

#include "daemon/worker/engine/session_internal.h"

/* Attach s to a store for pictures with this SPS; it leaves its former one. STORE_LATER: other
 * sessions have to give back slots first. Else as recon_create. Drops the lock meanwhile. */
#define STORE_LATER 1
int store_attach(struct session *s, const struct h264_sps *sps);
void store_detach(struct session *s);
/* No stream waits for memory of the device. */
void stores_want_nothing(struct engine *e);

#endif
