/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Intra prediction of blocks from any picture: the source, where modes are chosen, or the
 * unfiltered reconstruction, where they are used. Frames without MBAFF.
 */
#ifndef PELTON_INTRA_BLOCKS_H
#define PELTON_INTRA_BLOCKS_H

#include "encode/reference/picture_work.h"

/* A component of a macroblock in a picture */
struct intra_place {
    const uint16_t *origin; /* its first sample */
    ptrdiff_t stride;
    uint8_t avail; /* rec_mb.intra_avail */
};

/* Neighbours of the block of size x size samples at (x, y) in the macroblock. Availability is that
 * of luma blocks; of a whole component with size 16, where `samples` of it are on each side. */
struct ref_neighbours intra_neighbours(const struct intra_place *place, int x, int y, int size,
                                       int samples);
/* Whether a mode's samples are there; needs: REC_NEEDS_*. */
bool intra_mode_serves(const struct ref_neighbours *n, unsigned needs, int mode);

#endif
