/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A thread that makes memory for picture arrays before it is needed: a slab takes long to fill with pages and to pin, in which
 * the thread that looks after batches on the GPU would leave them lying, and everything else wait for these.
 */
#ifndef PELTON_ARRAY_MAKER_H
#define PELTON_ARRAY_MAKER_H

#include "daemon/worker/engine_internal.h"

struct array_maker;

/* NULL: no thread or memory; then arrays are made when they are taken. */
struct array_maker *array_maker_start(struct memory *m);
/* So many pictures of mb_count macroblocks will need their arrays but for coefficients. False: they are being made, ask again. True: they are
 * there, or there is no memory for more. One thread; NULL allowed: true. */
bool array_maker_ready(struct array_maker *a, uint32_t mb_count, uint32_t count);
void array_maker_stop(struct array_maker *a); /* NULL allowed */

#endif
