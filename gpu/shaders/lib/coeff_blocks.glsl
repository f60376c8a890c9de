/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Residual samples: the residual pass writes them, and the prediction passes add them.
 */
#ifndef PELTON_COEFF_BLOCKS_GLSL
#define PELTON_COEFF_BLOCKS_GLSL

layout(set = SET_BATCH, binding = BIND_RESIDUAL, std430) readonly buffer residual_buffer
{
    uvec4 residual[];
};

/* Row y of a coefficient block. */
ivec4 residual_row(uint coeff_block, uint y)
{
    uvec4 half_block = residual[coeff_block * 2u + (y >> 1)];
    uvec2 w = (y & 1u) == 0u ? half_block.xy : half_block.zw;
    return ivec4(low16(w.x), high16(w.x), low16(w.y), high16(w.y));
}

#endif
