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

/* ctx: the struct encode_device. One decider at a time. */
decider_begin encode_device_begin;
/* As encode_device_begin, after a device that failed: it is opened again. Where that is not
 * possible, or was done too often, the CPU goes on. The log tells. */
decider_begin encode_device_begin_again;

#endif
