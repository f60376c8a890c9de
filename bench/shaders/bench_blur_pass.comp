/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One of the two passes of a separable blur, along x (input to scratch) or y (scratch to output).
 */
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "bench/shaders/bench_args.h"

layout(constant_id = 0) const uint LX = 16;
layout(constant_id = 1) const uint LY = 16;
layout(constant_id = 2) const uint AXIS = 0;
layout(constant_id = 3) const uint CACHE = 0;
layout(constant_id = 4) const uint FROM = 0;
layout(constant_id = 5) const uint TO = 0;
layout(local_size_x_id = 0, local_size_y_id = 1) in;
const bool READ_SCRATCH = AXIS != 0, WRITE_SCRATCH = AXIS == 0;
#include "bench/shaders/bench_blur.glsl"

const uint CX = LX + (1 - AXIS) * (TAPS - 1), CY = LY + AXIS * (TAPS - 1);
CACHE_OF(tile, FROM, CACHE != 0 ? CX * CY : 1)

void main()
{
    int x = int(gl_GlobalInvocationID.x), y = int(gl_GlobalInvocationID.y);
    uint tid = gl_LocalInvocationIndex;
    uvec2 local = gl_LocalInvocationID.xy;
    if (CACHE != 0) {
        ivec2 from = ivec2(gl_WorkGroupID.xy * uvec2(LX, LY)) - R * ivec2(1 - int(AXIS), int(AXIS));
        for (uint i = tid; i < CX * CY; i += LX * LY)
            tile_put(i, fetch(from.x + int(i % CX), from.y + int(i / CX)));
        barrier();
    }
    if (outside(x, y))
        return;
    vec4 sum = vec4(0);
    [[unroll]] for (int i = 0; i < int(TAPS); i++) {
        vec4 v;
        if (CACHE != 0)
            v = tile_get(AXIS == 0 ? local.y * CX + local.x + i : (local.y + i) * CX + local.x);
        else
            v = AXIS == 0 ? fetch(x + i - R, y) : fetch(x, y + i - R);
        sum += weights[i] * v;
    }
    store(x, y, sum);
}
