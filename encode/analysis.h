/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Figures of source pictures before they are decided: what macroblocks cost about, for scene cuts
 * and for the rate, and offsets of QP by variance. Integers, and each macroblock looks at source
 * samples alone. One stream, one thread at a time.
 */
#ifndef PELTON_ENCODE_ANALYSIS_H
#define PELTON_ENCODE_ANALYSIS_H

#include "encode/decider.h"

struct analysis;

/* NULL without memory. e stays where it is. */
struct analysis *analysis_create(const struct encoding *e, const struct encoding_limits *limits);
void analysis_free(struct analysis *a); /* NULL is allowed */

/* Sums over the macroblocks of a picture: differences of samples in half of the size. inter: from
 * the source picture before, or intra where that is less. The first picture has intra alone. */
struct analysis_costs {
    uint64_t intra, inter;
};

/* The next picture of the stream. qp_offsets: one for each macroblock, filled in */
struct analysis_costs analysis_picture(struct analysis *a, const struct decider_source *source,
                                       int8_t *qp_offsets);

#endif
