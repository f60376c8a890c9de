/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Who decides when the client encodes: the device of --device where that names a GPU, else the C of
 * encode/reference on all CPUs. Both give the same bytes. All streams share one device, so their
 * pictures share batches.
 */
#ifndef CLIENT_ENCODE_DEVICE_H
#define CLIENT_ENCODE_DEVICE_H

#include "client/options.h"
#include "encode/decider.h"

struct encode_device;

/* Begins to open the device. Returns an exit code. */
int encode_device_open(const struct client_options *o, struct encode_device **out,
                       struct failure *f);
/* Waits until it is open, and says for how many streams it is, and how many of them have one size.
 * Before the first decider. Returns an exit code. */
int encode_device_ready(struct encode_device *d, uint32_t streams, uint32_t alike,
                        struct failure *f);
/* After the end of all its deciders. NULL is allowed. */
void encode_device_close(struct encode_device *d);

/* A stream's place at the device: ctx of the calls below. One decider at a time, while it stays
 * where it is. */
struct encode_place {
    struct encode_device *device;
    struct opened_device *opened; /* of its decider; NULL: the CPU's */
    uint64_t number;              /* of the opened device that it had last */
    struct decider_calls calls;   /* of its decider */
};

/* Thread: any */
decider_begin encode_place_begin;
/* As encode_place_begin, after a device that failed: it is opened again, once for all streams.
 * Where that is not possible, or was done too often, the CPU goes on. The log tells. */
decider_begin encode_place_begin_again;

#endif
