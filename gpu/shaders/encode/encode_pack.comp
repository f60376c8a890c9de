/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Coefficient blocks that are coded, one after the other in the picture's room, unless slice data
 * are wanted there and fit. Grid: macroblocks in x, pictures in z.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/encode_common.glsl"

#define THREADS     64
#define BLOCK_WORDS 8

layout(local_size_x = THREADS) in;

layout(set = 0, binding = ENC_BIND_MBS, scalar) readonly buffer mb_buffer
{
    rec_mb mbs[];
};
layout(set = 0, binding = ENC_BIND_LEVELS, scalar) readonly buffer level_buffer
{
    uint levels[];
};
layout(set = 0, binding = ENC_BIND_COEFFS, scalar) writeonly buffer coeff_buffer
{
    uint coeffs[];
};
layout(set = 0, binding = ENC_BIND_TOTALS, scalar) readonly buffer total_buffer
{
    enc_total totals[];
};

void main()
{
    uint count = args.mb_width * args.mb_height, first = gl_WorkGroupID.z * count;
    if (totals[gl_WorkGroupID.z].units <= count * ENC_BLOCKS)
        return;
    uint at = first + gl_WorkGroupID.x;
    uint coded =
        uint(mbs[at].coded[0]) | uint(mbs[at].coded[1]) << 16 | uint(mbs[at].coded[2]) << 20;
    uint to = (first * ENC_BLOCKS + mbs[at].coeff) * BLOCK_WORDS;
    for (uint i = gl_LocalInvocationIndex; i < ENC_BLOCKS * BLOCK_WORDS; i += THREADS) {
        uint block = i / BLOCK_WORDS;
        if ((coded >> block & 1u) != 0u)
            coeffs[to + uint(bitCount(coded & ((1u << block) - 1u))) * BLOCK_WORDS +
                   i % BLOCK_WORDS] = levels[at * ENC_BLOCKS * BLOCK_WORDS + i];
    }
}
