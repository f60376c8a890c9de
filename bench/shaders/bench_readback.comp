/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Copies a picture to other memory in one of three orders:
 * - linear, 16 bytes a thread;
 * - in tiles of 16 x 16 samples;
 * - in strips of 16 rows, one thread down each strip.
 */
#version 450
#extension GL_GOOGLE_include_directive : require
#include "bench/shaders/bench_args.h"

layout(constant_id = 0) const uint ORDER = 0;
layout(local_size_x = 256) in;

layout(set = 0, binding = BENCH_BIND_INPUT, std430) readonly buffer InWords
{
    uint in_words[];
};
layout(set = 0, binding = BENCH_BIND_INPUT, std430) readonly buffer InQuads
{
    uvec4 in_quads[];
};
layout(set = 0, binding = BENCH_BIND_OUTPUT, std430) writeonly buffer OutWords
{
    uint out_words[];
};
layout(set = 0, binding = BENCH_BIND_OUTPUT, std430) writeonly buffer OutQuads
{
    uvec4 out_quads[];
};

void main()
{
    uint id = gl_GlobalInvocationID.x, pitch = push.width / 4, rows = push.items / pitch;
    if (ORDER == 0) {
        if (id < push.items / 4)
            out_quads[id] = in_quads[id];
    } else if (ORDER == 1) { /* 64 threads a tile of 4 x 16 words */
        uint tile = id / 64, within = id % 64, across = (pitch + 3) / 4;
        uint x = tile % across * 4 + within % 4, y = tile / across * 16 + within / 4;
        if (x < pitch && y < rows)
            out_words[y * pitch + x] = in_words[y * pitch + x];
    } else {
        uint x = id % pitch, y = id / pitch * 16;
        for (uint k = 0; k < 16 && y + k < rows; k++)
            out_words[(y + k) * pitch + x] = in_words[(y + k) * pitch + x];
    }
}
