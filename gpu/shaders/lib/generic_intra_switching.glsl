/* SPDX-License-Identifier: BSD-2-Clause
 *
 * SI macroblocks (8.6.2) inside intra prediction: a predicted block in the shared tile becomes its
 * samples.
 */
#ifndef PELTON_ANY_INTRA_SWITCHING_GLSL
#define PELTON_ANY_INTRA_SWITCHING_GLSL

#include "gpu/shaders/lib/switching.glsl"

shared int predicted_dc[4];

void switching_load(int bx, int by, out int d[16])
{
    for (int i = 0; i < 16; i++)
        d[i] = TILE_AT(bx + (i & 3), by + (i >> 2));
    forward4(d);
}

void switching_store(int bx, int by, int d[16])
{
    for (int i = 0; i < 16; i++)
        TILE_AT(bx + (i & 3), by + (i >> 2)) = clamp(d[i], 0, 255);
}

/* By one thread: the 4x4 block of luma whose prediction is complete. */
void switching_luma(uint coeff_base, rec_mb mb, uint slice, int bx, int by)
{
    int d[16];
    switching_load(bx, by, d);
    uint coeff_block = switching_block(coeff_base, mb, 0u, swap_blk(uint(by + (bx >> 2))));
    switching_finish(switching_of(mb, slice, 0u), coeff_block, false, 0, d);
    switching_store(bx, by, d);
}

/* By all threads: chroma component c of 4:2:0, predicted; the first four threads do a block each.
 */
void switching_chroma(uint coeff_base, rec_mb mb, uint slice, uint c)
{
    uint t = gl_LocalInvocationIndex;
    int bx = int(t & 1u) * 4, by = int(t >> 1 & 1u) * 4, d[16];
    if (t < 4u) {
        switching_load(bx, by, d);
        predicted_dc[t] = d[0];
    }
    barrier();
    if (t < 4u) {
        switching s = switching_of(mb, slice, c);
        uvec4 coeff_blocks;
        for (uint k = 0u; k < 4u; k++)
            coeff_blocks[k] = switching_block(coeff_base, mb, c, k);
        ivec4 dcs = ivec4(predicted_dc[0], predicted_dc[1], predicted_dc[2], predicted_dc[3]);
        switching_finish(s, coeff_blocks[t], true, switching_dc(s, dcs, coeff_blocks, t), d);
        switching_store(bx, by, d);
    }
    barrier();
}

#endif
