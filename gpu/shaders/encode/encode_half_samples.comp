/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Planes of the half samples b, h and j (8.4.2.2.1) of references, at all positions whose filter
 * stays in the margin. A workgroup makes a tile of 16x16 samples; rows of the tile are filtered
 * once for b and j. Grid: tiles in x and y, pictures in z.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/encode_common.glsl"

#define TILE    16
#define THREADS 64
#define EDGE    (ENC_MARGIN - 3)

layout(local_size_x = THREADS) in;

layout(set = 0, binding = ENC_BIND_PLANES, scalar) buffer plane_buffer
{
    uint8_t planes[];
};

/* Samples of the tile and its surroundings; b before rounding, of the rows that j needs */
shared int samples[TILE + 5][TILE + 5];
shared int rows[TILE + 5][TILE];

int tap6(int a, int b, int c, int d, int e, int f)
{
    return a - 5 * b + 20 * c + 20 * d - 5 * e + f;
}

int clip8(int v)
{
    return clamp(v, 0, 255);
}

void main()
{
    ivec2 size = ivec2(luma_width(), luma_height());
    ivec2 corner = ivec2(gl_WorkGroupID.xy) * TILE - EDGE;
    uint set = set_made(gl_WorkGroupID.z), t = gl_LocalInvocationIndex;
    int stride = int(plane_stride(0u)), origin = int(plane_origin(set, 0u));
    for (uint i = t; i < (TILE + 5) * (TILE + 5); i += THREADS) {
        ivec2 at = ivec2(i % (TILE + 5), i / (TILE + 5));
        /* what lies beyond the margin is not used */
        ivec2 from = min(corner + at - 2, size + ENC_MARGIN - 1);
        samples[at.y][at.x] = int(planes[origin + from.y * stride + from.x]);
    }
    barrier();
    for (uint i = t; i < (TILE + 5) * TILE; i += THREADS) {
        uint y = i / TILE, x = i % TILE;
        rows[y][x] = tap6(samples[y][x], samples[y][x + 1], samples[y][x + 2], samples[y][x + 3],
                          samples[y][x + 4], samples[y][x + 5]);
    }
    barrier();
    for (uint i = t; i < TILE * TILE; i += THREADS) {
        uint y = i / TILE, x = i % TILE;
        ivec2 at = corner + ivec2(x, y);
        if (any(greaterThanEqual(at, size + EDGE)))
            continue;
        int h = tap6(samples[y][x + 2], samples[y + 1][x + 2], samples[y + 2][x + 2],
                     samples[y + 3][x + 2], samples[y + 4][x + 2], samples[y + 5][x + 2]);
        int j = tap6(rows[y][x], rows[y + 1][x], rows[y + 2][x], rows[y + 3][x], rows[y + 4][x],
                     rows[y + 5][x]);
        int to = at.y * stride + at.x;
        planes[int(plane_origin(set, ENC_HALF_X)) + to] =
            uint8_t(clip8((rows[y + 2][x] + 16) >> 5));
        planes[int(plane_origin(set, ENC_HALF_Y)) + to] = uint8_t(clip8((h + 16) >> 5));
        planes[int(plane_origin(set, ENC_HALF_XY)) + to] = uint8_t(clip8((j + 512) >> 10));
    }
}
