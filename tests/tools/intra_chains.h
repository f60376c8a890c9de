/* SPDX-License-Identifier: BSD-2-Clause
 *
 * How long intra prediction of a picture takes at least, in macroblocks that wait for each other. A
 * row of a frame without MBAFF has some workgroups, which take its runs of intra macroblocks in
 * turn (gpu/shaders/h264/intra_persistent.comp).
 */
#ifndef PELTON_TESTS_INTRA_CHAINS_H
#define PELTON_TESTS_INTRA_CHAINS_H

#include "codec/abi/records.h"

struct h264_picture;

/* The longest chain of mbs[height][width]. parts: workgroups of a row, 8 at most; 0: one for each
 * run. */
uint32_t intra_chain(const struct rec_mb *mbs, uint32_t width, uint32_t height, uint32_t parts);

#define INTRA_CHAIN_KINDS 3 /* of pictures: all is intra, others refer to it, nobody does */
#define INTRA_CHAIN_PARTS 6
struct intra_chains {
    uint64_t pictures[INTRA_CHAIN_KINDS], sums[INTRA_CHAIN_KINDS][INTRA_CHAIN_PARTS];
};

void intra_chains_add(struct intra_chains *c, const struct h264_picture *pic);
/* The means, a line for each kind. */
void intra_chains_print(const struct intra_chains *c);

#endif
