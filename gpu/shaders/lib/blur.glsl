/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Privacy blur. Means of large cells (blur_cells.comp) replace the samples inside a rectangle.
 * Straight lines join the means, so that no edge of a cell shows. Nothing else of the samples
 * inside is left. All arithmetic is in whole numbers, the same on every device.
 */
#ifndef PELTON_BLUR_GLSL
#define PELTON_BLUR_GLSL

#ifndef BLUR_COMPONENTS
#define BLUR_COMPONENTS 3u
#endif
#define BLUR_PLANE(rect, plane) (((rect)*BLUR_COMPONENTS + (plane)) * uint(BLUR_SIDE * BLUR_SIDE))

/* Rounded; also where half of count does not fit beside the sum. */
uint blur_mean(uint sum, uint count)
{
    uint whole = sum / count, rest = sum % count;
    return whole + (rest >= (count + 1u) / 2u && rest > 0u ? 1u : 0u);
}

/* Where column (row) i of n cells begins in a rectangle of `size` samples. */
uint blur_edge(uint i, uint n, uint size)
{
    return i * size / n;
}

/* The two cells between whose middles `at` lies, and how far it is from the first one, in 1/64. */
ivec3 blur_between(uint at, uint n, uint size)
{
    int u = int((2u * at + 1u) * n * 32u / size) - 32;
    return ivec3(max(u >> 6, 0), min((u >> 6) + 1, int(n) - 1), u & 63);
}

#endif
