/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Neighbours of intra blocks.
 */
#include "encode/reference/intra_blocks.h"

struct ref_neighbours intra_neighbours(const struct intra_place *place, int x, int y, int size,
                                       int samples)
{
    struct ref_neighbours n = {0};
    const uint16_t *at = place->origin + y * place->stride + x;
    ref_intra_avail(place->avail, x / 4, y / 4, size, &n);
    if (size == 16)
        n.top_right = false;
    for (int i = 0; n.left && i < samples; i++)
        n.left_samples[i] = at[i * place->stride - 1];
    for (int i = 0; n.top && i < (n.top_right ? 2 : 1) * samples; i++)
        n.top_samples[i] = at[i - place->stride];
    if (n.corner)
        n.corner_sample = at[-place->stride - 1];
    return n;
}

bool intra_mode_serves(const struct ref_neighbours *n, unsigned needs, int mode)
{
    unsigned have = (n->left ? REC_NEED_LEFT : 0) | (n->top ? REC_NEED_TOP : 0) |
                    (n->corner ? REC_NEED_CORNER : 0);
    return !(REC_NEEDS(needs, mode) & ~have);
}
