/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A thread that makes memory for picture arrays before it is needed. The thread that looks after
 * batches on the GPU must not wait for it: a slab takes long to fill with
 * pages and to pin.
 */
#ifndef PELTON_PREFETCH_H
#define PELTON_PREFETCH_H

#include "daemon/worker/memory/device_memory.h"
#include "daemon/worker/memory/host_memory.h"

struct array_maker;

/* NULL: no thread or memory; then arrays are made when they are taken. resident: where coefficients
 * stay on the device; NULL allowed. */
struct array_maker *array_maker_start(struct memory *m, struct resident *resident);
/* So many pictures of mb_count macroblocks will need their arrays but for coefficients. False: they
 * are being made, ask again. True: they are there, or there is no memory for more. coeff_bytes:
 * about what their coefficients will take; that room is made too, but nobody waits for it. One
 * thread; NULL allowed: true. */
bool array_maker_ready(struct array_maker *a, uint32_t mb_count, uint32_t count,
                       uint64_t coeff_bytes);
void array_maker_stop(struct array_maker *a); /* NULL allowed */

#endif
