/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Who decides when the client encodes: the device of --device where that names a GPU, else the C of
 * encode/reference on all CPUs. Both give the same bytes.
 */
#ifndef CLIENT_ENCODE_DEVICE_H
#define CLIENT_ENCODE_DEVICE_H

#include "client/options.h"
#include "encode/decider.h"

struct encode_device;

/* Returns an exit code. */
int encode_device_open(const struct client_options *o, struct encode_device **out,
                       struct failure *f);
/* After the end of all its deciders. NULL is allowed. */
void encode_device_close(struct encode_device *d);

/* ctx: the struct encode_device */
decider_begin encode_device_begin;

#endif
