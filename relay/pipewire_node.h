/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A node of PipeWire that gives pictures, as a camera's does. A thread of PipeWire's library serves
 * the daemon of PipeWire; the functions here are called by one other thread.
 *
 * The happy path is pipewire_node_new, pipewire_node_offer with a size, then, while
 * pipewire_node_wants names a layout, pipewire_node_picture for each frame, pipewire_node_free. The
 * failure modes are a PipeWire that is not there, or goes: pipewire_node_lost.
 */
#ifndef PELTON_PIPEWIRE_NODE_H
#define PELTON_PIPEWIRE_NODE_H

#include "client/exit_code.h"
#include "relay/picture_layout.h"

struct pipewire_node;

/* name and title: borrowed. NULL: PipeWire does not answer, or memory is out; why has 128 bytes. */
struct pipewire_node *pipewire_node_new(const char *name, const char *title, char *why);
void pipewire_node_free(struct pipewire_node *n); /* NULL allowed */

/* Pictures of this size, to whom wants them. Readers agree on a format again. False: they were
 * offered before, or cannot be. */
bool pipewire_node_offer(struct pipewire_node *n, uint32_t width, uint32_t height);
/* What somebody reads now; NULL: nobody does. */
const struct picture_layout *pipewire_node_wants(struct pipewire_node *n);
/* Gives a frame of that layout to the readers. False: they had no room for it, or it is of another
 * size. */
bool pipewire_node_picture(struct pipewire_node *n, const struct pelton_frame *frame);
/* PipeWire has gone; why tells it. */
bool pipewire_node_lost(struct pipewire_node *n, char *why);
/* Waits until somebody begins to read, or PipeWire goes, or the time is over. */
void pipewire_node_wait(struct pipewire_node *n, int timeout_ms);

#endif
