/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Rows of a picture on several threads: the macroblocks of a pass do not wait for each other. The
 * result is the same with any number.
 */
#ifndef PELTON_ROW_THREADS_H
#define PELTON_ROW_THREADS_H

#include <stdint.h>

struct row_threads;

/* NULL: fewer than two threads were asked for, or there is no memory. */
struct row_threads *row_threads_create(unsigned count);
void row_threads_free(struct row_threads *t); /* NULL is allowed */

/* Calls row(ctx, 0) to row(ctx, count - 1), each once, and returns after the last. t NULL: here, in
 * order */
void row_threads_run(struct row_threads *t, void (*row)(void *ctx, uint32_t index), void *ctx,
                     uint32_t count);

#endif
