/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Statistics of raw samples alone, for frames that isp_fused develops: its tiles neither cover the sensor nor keep apart. A
 * workgroup takes a tile of ISP_TILE_X x ISP_TILE_Y samples, a thread eight cells.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_EXT_control_flow_attributes : require
#include "gpu/shaders/lib/isp_common.glsl"
#include "gpu/shaders/lib/isp_unpack.glsl"

#define THREADS 64
layout(local_size_x = THREADS) in;
#include "gpu/shaders/lib/isp_statistics.glsl"

#define COLUMNS (ISP_TILE_X / 8u)

/* black: with the mantissa's bias on top; gain: over 65536. Adding 128 leaves 16 bits behind the point. */
uvec4 level(uvec4 value, vec2 black, vec2 gain)
{
    vec4 above = uintBitsToFloat(0x4b000000u | value) - black.xyxy;
    precise vec4 biased = min(clamp(above * gain.xyxy, 0.0, 1.0), 65535.0 / 65536.0) + 128.0;
    return floatBitsToUint(biased) & 0xffffu;
}

void main()
{
    uint frame = first_frame + gl_WorkGroupID.x;
    uvec2 origin = gl_WorkGroupID.yz * uvec2(ISP_TILE_X, ISP_TILE_Y), size = uvec2(CAMERA.width, CAMERA.height);
    vec4 black = vec4(CAMERA.black[0], CAMERA.black[1], CAMERA.black[2], CAMERA.black[3]) + MAGIC;
    vec4 gain = vec4(args[frame].gain[0], args[frame].gain[1], args[frame].gain[2], args[frame].gain[3]) * (1.0 / 65536.0);
    statistics_begin();
    barrier();
    [[unroll]] for (uint i = gl_LocalInvocationIndex; i < COLUMNS * ISP_TILE_Y / 2u; i += THREADS) {
        uvec2 at = origin + uvec2(i % COLUMNS * 8u, i / COLUMNS * 2u);
        if (at.x >= size.x || at.y >= size.y)
            break;
        uint row = args[frame].raw + at.y * CAMERA.raw_stride;
        words_8 first = fetch_8(row, at.x), second = fetch_8(row + CAMERA.raw_stride, at.x);
        uvec4 upper[2], lower[2];
        unpack_8(first, at.x, upper[0], upper[1]);
        unpack_8(second, at.x, lower[0], lower[1]);
        uvec4 a = level(upper[0], black.xy, gain.xy), b = level(lower[0], black.zw, gain.zw);
        uvec4 c = level(upper[1], black.xy, gain.xy), d = level(lower[1], black.zw, gain.zw);
        uvec4 cells[4] = {uvec4(a.xy, b.xy), uvec4(a.zw, b.zw), uvec4(c.xy, d.xy), uvec4(c.zw, d.zw)};
        if (at.x + 8u <= size.x) { /* without branches between them */
            [[unroll]] for (uint n = 0u; n < 4u; n++)
                cell_count(cells[n]);
        } else {
            for (uint n = 0u; at.x + 2u * n < size.x; n++)
                cell_count(cells[n]);
        }
    }
    statistics_end(frame, ivec2(origin));
}
