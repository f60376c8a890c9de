/* SPDX-License-Identifier: BSD-2-Clause
 *
 * N x N taps a pixel, from memory or from a tile in shared memory.
 */
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "bench/shaders/bench_args.h"

layout(constant_id = 0) const uint LX = 16;
layout(constant_id = 1) const uint LY = 16;
layout(constant_id = 3) const uint CACHE = 0;
layout(constant_id = 4) const uint FROM = 0;
layout(constant_id = 5) const uint TO = 0;
layout(local_size_x_id = 0, local_size_y_id = 1) in;
const bool READ_SCRATCH = false, WRITE_SCRATCH = false;
#include "bench/shaders/bench_blur.glsl"

const uint CX = LX + TAPS - 1, CY = LY + TAPS - 1;
CACHE_OF(tile, FROM, CACHE != 0 ? CX * CY : 1)

void main()
{
    int x = int(gl_GlobalInvocationID.x), y = int(gl_GlobalInvocationID.y);
    uint tid = gl_LocalInvocationIndex;
    if (CACHE != 0) {
        ivec2 from = ivec2(gl_WorkGroupID.xy * uvec2(LX, LY)) - R;
        for (uint i = tid; i < CX * CY; i += LX * LY)
            tile_put(i, fetch(from.x + int(i % CX), from.y + int(i / CX)));
        barrier();
    }
    if (outside(x, y))
        return;
    vec4 sum = vec4(0);
    for (int j = 0; j < int(TAPS); j++) {
        vec4 row = vec4(0);
        for (int i = 0; i < int(TAPS); i++) {
            vec4 v = CACHE != 0
                         ? tile_get((gl_LocalInvocationID.y + j) * CX + gl_LocalInvocationID.x + i)
                         : fetch(x + i - R, y + j - R);
            row += weights[i] * v;
        }
        sum += weights[j] * row;
    }
    store(x, y, sum);
}
