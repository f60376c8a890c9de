/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Records in host memory that step 3 of a picture is about to read there. Where the GPU derived
 * them and kept them for itself, a coder decodes their picture again, which brings the same ones.
 */
#ifndef PELTON_RECORDS_NEEDED_H
#define PELTON_RECORDS_NEEDED_H

#include "daemon/worker/engine/engine.h"

/* Before step 3 of p reads other pictures: their records are there. all: step 2 of all slices is
 * done, so that concealment may read, too. Returns an enum h264_error: they are not, and step 3
 * must not begin. Coders, without the lock. */
int records_needed(struct coder *c, struct picture *p, bool all);
/* How many pictures that were, in the log. */
void records_needed_log(const struct engine *e);

#endif
