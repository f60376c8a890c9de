/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Checks that the generator cannot do while it writes.
 */
#ifndef PELTON_STREAMGEN_CHECK_H
#define PELTON_STREAMGEN_CHECK_H

#include "gen.h"

/* Whether all vectors of the stream in g->out are in the range of its level. A stream that does not
 * decode passes: the comparison of decoders is what finds it. */
bool check_vectors(const struct gen *g);

#endif
