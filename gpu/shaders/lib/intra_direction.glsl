/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The directional modes of Intra_4x4 and Intra_8x8 prediction.
 *
 * Both (8.3.1.2, 8.3.2.2) share one rule. Let E(i) be the border. E(0) is the corner. E(1..) is the
 * row above from left to right, and E(-1..) the column to the left downwards. Every directional
 * mode copies one E, or filters two or three neighbouring ones. Clamping i gives the exceptions at
 * the ends.
 */
#ifndef PELTON_INTRA_DIRECTION_GLSL
#define PELTON_INTRA_DIRECTION_GLSL

/* Which border samples make sample (x, y) of a directional mode: index of E, and 1, 2 (E(i), E(i +
 * 1)) or 3 (around E(i)) taps.
 */
ivec2 intra_direction(int mode, int x, int y)
{
    int z;
    switch (mode) {
    case 0: /* vertical */
        return ivec2(x + 1, 1);
    case 1: /* horizontal */
        return ivec2(-y - 1, 1);
    case 3: /* diagonal down left */
        return ivec2(x + y + 2, 3);
    case 4: /* diagonal down right */
        return ivec2(x - y, 3);
    case 5: /* vertical right */
        z = 2 * x - y;
        return z < -1 ? ivec2(z + 1, 3) : ivec2(x - (y >> 1), (z & 1) == 0 ? 2 : 3);
    case 6: /* horizontal down */
        z = 2 * y - x;
        return z < -1         ? ivec2(-z - 1, 3)
               : (z & 1) == 0 ? ivec2((x >> 1) - y - 1, 2)
                              : ivec2((x >> 1) - y, 3);
    case 7: /* vertical left */
        return (y & 1) == 0 ? ivec2(x + (y >> 1) + 1, 2) : ivec2(x + (y >> 1) + 2, 3);
    default: /* horizontal up */
        z = y + (x >> 1);
        return (x & 1) == 0 ? ivec2(-z - 2, 2) : ivec2(-z - 2, 3);
    }
}

#endif
