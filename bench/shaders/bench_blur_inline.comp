/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A separable blur in one dispatch. A workgroup filters the rows of its tile along x into shared
 * memory, and from there along y. CACHE: the input is loaded into shared memory first. MID: format
 * of the intermediate pixels.
 */
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "bench/shaders/bench_args.h"

layout(constant_id = 0) const uint LX = 16;
layout(constant_id = 1) const uint LY = 16;
layout(constant_id = 2) const uint MID = BENCH_RGBA32F;
layout(constant_id = 3) const uint CACHE = 0;
layout(constant_id = 4) const uint FROM = 0;
layout(constant_id = 5) const uint TO = 0;
layout(local_size_x_id = 0, local_size_y_id = 1) in;
const bool READ_SCRATCH = false, WRITE_SCRATCH = false;
#include "bench/shaders/bench_blur.glsl"

const uint CX = LX + TAPS - 1, CY = LY + TAPS - 1;
CACHE_OF(tile, FROM, CACHE != 0 ? CX * CY : 1)
CACHE_OF(middle, MID, LX *CY)

void main()
{
    int x = int(gl_GlobalInvocationID.x), y = int(gl_GlobalInvocationID.y);
    uint tid = gl_LocalInvocationIndex;
    ivec2 from = ivec2(gl_WorkGroupID.xy * uvec2(LX, LY)) - R;
    if (CACHE != 0) {
        for (uint i = tid; i < CX * CY; i += LX * LY)
            tile_put(i, fetch(from.x + int(i % CX), from.y + int(i / CX)));
        barrier();
    }
    for (uint k = tid; k < LX * CY; k += LX * LY) {
        uint column = k % LX, row = k / LX;
        vec4 sum = vec4(0);
        [[unroll]] for (int i = 0; i < int(TAPS); i++)
            sum += weights[i] * (CACHE != 0 ? tile_get(row * CX + column + i)
                                            : fetch(from.x + int(column) + i, from.y + int(row)));
        middle_put(k, sum);
    }
    barrier();
    if (outside(x, y))
        return;
    vec4 sum = vec4(0);
    [[unroll]] for (int i = 0; i < int(TAPS); i++)
        sum += weights[i] * middle_get((gl_LocalInvocationID.y + i) * LX + gl_LocalInvocationID.x);
    store(x, y, sum);
}
