/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Prediction of the vectors of P macroblocks in frames (8.4.1.1, 8.4.1.3), as decisions weigh them:
 * from a field of vectors that need not be final. Nothing of codec/ is in it, so that streams show
 * whether both agree.
 *
 * All functions are pure. A macroblock reads its neighbours A to D in its slice, and the quadrants
 * of its own that were set before. Vectors inside a quadrant agree.
 */
#ifndef PELTON_MOTION_PREDICT_H
#define PELTON_MOTION_PREDICT_H

#include "codec/abi/records.h"

#include <stdbool.h>

/* A rectangle of quadrants (8x8 luma samples): its place and size in the macroblock, 0..2 */
struct motion_part {
    uint8_t x, y, width, height;
};

/* What a prediction looks at: motion of the picture by macroblock address, and slices */
struct motion_field {
    const struct rec_mb *mbs; /* only slice is read */
    const struct rec_motion *motion;
    uint32_t mb_width;
};

/* mvpLX of a partition whose reference is ref_idx (8.4.1.3). own: the macroblock's motion, where
 * the partitions before this one are set. */
void motion_predict(const struct motion_field *field, uint32_t mb, const struct rec_motion *own,
                    struct motion_part part, int ref_idx, int16_t mv[2]);

/* The vector of P_Skip (8.4.1.1). */
void motion_predict_skip(const struct motion_field *field, uint32_t mb, int16_t mv[2]);

/* Give a partition its reference and vector, in list 0. */
void motion_set(struct rec_motion *motion, struct motion_part part, int ref_idx,
                const int16_t mv[2]);

/* No references, zero vectors: an intra macroblock */
void motion_clear(struct rec_motion *motion);

/* Whether all quadrants of the rectangle have one reference and one vector. */
bool motion_is_one(const struct rec_motion *motion, struct motion_part part);

#endif
