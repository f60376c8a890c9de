/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Built pictures for the wavefronts: 4:2:0, 8 bits, every macroblock intra.
 */
#ifndef PELTON_KERNELS_WAVEFRONT_PICTURES_H
#define PELTON_KERNELS_WAVEFRONT_PICTURES_H

#include "codec/abi/records.h"

#include <stdbool.h>

struct wavefront_picture {
    struct rec_view view; /* of the arrays below */
    struct rec_mb *mbs;
    struct rec_slice *slice;
    struct rec_scaling *scaling;
    int16_t *coeffs; /* [16 coefficient blocks a macroblock][16] */
};

/* Kinds, modes, quantisers and, in a third of the macroblocks, levels at random. mbaff: half of the
 * pairs are of field macroblocks; mb_height is even. False without memory; *out can be freed in
 * either case. */
bool wavefront_picture_create(uint32_t mb_width, uint32_t mb_height, bool mbaff, uint64_t *random,
                              struct wavefront_picture *out);
void wavefront_picture_free(struct wavefront_picture *p);

#endif
