/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Shared by records_validate*.c.
 */
#ifndef PELTON_CODEC_RECORDS_CHECK_H
#define PELTON_CODEC_RECORDS_CHECK_H

#include "codec/abi/records.h"

#include <stdbool.h>

/* Return with a reason where the condition does not hold. */
#define REQUIRE(condition, text)                                                                   \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            *reason = (text);                                                                      \
            return -1;                                                                             \
        }                                                                                          \
    } while (0)

/* Where a macroblock is, and which neighbours the picture has for it. */
struct rec_position {
    const struct rec_mb *mb, *other; /* other: of its pair in an MBAFF frame, else NULL */
    bool left, right;
    bool above, corner; /* above: B, and C where there is one; corner: D */
    bool above_right;
    /* A may be two macroblocks: left of a field macroblock a frame macroblock pair */
    bool split_left;
    /* A is rows of two macroblocks in turn: left of a frame macroblock a field macroblock pair */
    bool mixed_left;
};

/* records_validate_slices.c. The head of the picture and all slices, but for references. */
int records_check_begin(const struct rec_view *v, const char **reason);
/* The slots of the picture and of its references. */
int records_check_slots(const struct rec_view *v, uint32_t slot_count, const char **reason);

/* records_validate_intra.c. An intra macroblock: its modes, and the neighbours that they need. */
int records_check_intra(const struct rec_view *v, const struct rec_position *p,
                        const char **reason);

#endif
