/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The second of two passes: pixels of 8 bytes to NV12. A thread makes 4 x 2.
 */
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "bench/shaders/bench_args.h"

layout(constant_id = 0) const uint LX = 16;
layout(constant_id = 1) const uint LY = 8;
layout(local_size_x_id = 0, local_size_y_id = 1) in;

layout(set = 0, binding = BENCH_BIND_OUTPUT, std430) buffer Words
{
    uint out_words[];
};
layout(set = 0, binding = BENCH_BIND_OUTPUT, std430) buffer Pixels
{
    uvec2 out_pixels[];
};
#include "bench/shaders/bench_nv12.glsl"

void main()
{
    uint x = 4 * gl_GlobalInvocationID.x, y = 2 * gl_GlobalInvocationID.y;
    uvec3 rows[2][4];
    if (x >= push.width || y >= push.height)
        return;
    [[unroll]] for (int j = 0; j < 2; j++) {
        [[unroll]] for (int i = 0; i < 4; i++) {
            uvec2 v = out_pixels[(y + j) * push.width + x + i];
            rows[j][i] = uvec3(v.x & 0xffffu, v.x >> 16, v.y);
        }
    }
    store_nv12(x, y, rows[0], rows[1]);
}
