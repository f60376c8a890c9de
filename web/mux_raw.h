/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Raw video in a container, by a muxer of libavformat. Its bytes gather in memory.
 */
#ifndef PELTON_MUX_RAW_H
#define PELTON_MUX_RAW_H

#include "web/web_feed.h"

struct mux_raw;

/* name: libavformat's. NULL: why says what the container cannot hold. */
struct mux_raw *mux_raw_new(const char *name, const struct web_frame *first,
                            struct pelton_rational rate, struct pelton_failure *why);
/* *size bytes, valid until the next call. NULL: no memory. */
const uint8_t *mux_raw_frame(struct mux_raw *m, const struct web_frame *frame, size_t *size);
const uint8_t *mux_raw_end(struct mux_raw *m, size_t *size);
void mux_raw_free(struct mux_raw *m); /* NULL allowed */

#endif
