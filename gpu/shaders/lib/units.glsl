/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Residual samples, written by the residual pass, as the prediction passes add them.
 */
#ifndef PELTON_UNITS_GLSL
#define PELTON_UNITS_GLSL

layout(set = SET_BATCH, binding = BIND_RESIDUAL, std430) readonly buffer residual_buffer
{
    uvec4 residual[];
};

/* Row y of a unit. */
ivec4 residual_row(uint unit, uint y)
{
    uvec4 half_unit = residual[unit * 2u + (y >> 1)];
    uvec2 w = (y & 1u) == 0u ? half_unit.xy : half_unit.zw;
    return ivec4(low16(w.x), high16(w.x), low16(w.y), high16(w.y));
}

#endif
