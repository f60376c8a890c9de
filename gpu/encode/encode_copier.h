/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Frames of the host into memory that the device reads, as whole macroblocks: the last column and
 * row repeat. One CPU takes 0.4 ms for 1080p, so a stream that comes alone has some threads for it.
 */
#ifndef PELTON_ENCODE_COPIER_H
#define PELTON_ENCODE_COPIER_H

#include "encode/decider.h"

#include <stdint.h>

/* Threads that streams share: one of them has all, the others copy without. */
struct encode_copier;

struct encode_copier *encode_copier_create(void); /* NULL: no memory */
void encode_copier_free(struct encode_copier *c); /* NULL is allowed */

/* to: 384 bytes a macroblock, Y, Cb and Cr. In 4:0:0 chroma stays as it is. Thread: any. */
void encode_copier_run(struct encode_copier *c, const struct encoding *e,
                       const struct encoding_limits *limits, const struct decider_source *from,
                       uint8_t *to);

#endif
