/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Privacy blur: what is inside a rectangle is replaced by means of large cells (blur_cells.comp), joined by straight lines so that
 * no edge of a cell shows. All of it in whole numbers, the same on every device. Nothing else of the samples inside is left.
 */
#ifndef PELTON_BLUR_GLSL
#define PELTON_BLUR_GLSL

#define BLUR_PLANE(rect, plane) (((rect) * 3u + (plane)) * uint(BLUR_SIDE * BLUR_SIDE))

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
