/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Residual samples one at a time, as intra macroblocks add them; lossless ones included.
 */
#ifndef PELTON_INTRA_RESIDUAL_GLSL
#define PELTON_INTRA_RESIDUAL_GLSL

layout(set = SET_BATCH, binding = BIND_RESIDUAL, scalar) readonly buffer residual_buffer { int16_t residual[]; };

/* Residual of sample (x, y) of component c. */
int residual_at(uint coeff_base, rec_mb mb, uint c, int x, int y)
{
    uint b = c == 0u ? swap_blk(uint((y >> 2) * 4 + (x >> 2))) : uint((y >> 2) * 2 + (x >> 2));
    if ((uint(mb.coded[c]) >> b & 1u) == 0u)
        return 0;
    return int(residual[unit_of(coeff_base, mb, c, b) * 16u + uint((y & 3) * 4 + (x & 3))]);
}

/* Residual of a sample, summed along the direction of prediction where a lossless block of size n predicts straight down or
 * straight to the right (8.5.15). mode is 0 vertical, 1 horizontal. */
int residual_of(uint coeff_base, rec_mb mb, uint c, int x, int y, int mode, int n)
{
    if ((uint(mb.flags) & REC_MB_BYPASS) == 0u || mode > 1)
        return residual_at(coeff_base, mb, c, x, y);
    int sum = 0;
    for (int k = (mode == 0 ? y : x) & -n; k <= (mode == 0 ? y : x); k++)
        sum += mode == 0 ? residual_at(coeff_base, mb, c, x, k) : residual_at(coeff_base, mb, c, k, y);
    return sum;
}

#endif
