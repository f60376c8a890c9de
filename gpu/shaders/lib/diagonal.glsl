/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Wavefronts of slope 2: (x, y) comes after (x - 1, y), (x - 1, y - 1), (x, y - 1) and (x + 1, y -
 * 1).
 */
#ifndef PELTON_DIAGONAL_GLSL
#define PELTON_DIAGONAL_GLSL

/* The i-th macroblock from the top of the diagonal x + 2 y = step; x < 0 or y too large: there is
 * none. */
ivec2 diagonal_mb(uint step, uint i)
{
    int beyond = int(step) - int(push.mb_width) + 1; /* rows above would have x >= mb_width */
    int y = (max(beyond, 0) + 1) / 2 + int(i);
    return ivec2(int(step) - 2 * y, y);
}

#endif
