/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Statistics of raw samples alone, for frames that isp_fused develops. The tiles of isp_fused
 * overlap and leave gaps on the sensor, so it cannot make them. A workgroup takes a tile of
 * ISP_TILE_X x ISP_TILE_Y samples, and a thread takes eight cells.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_EXT_control_flow_attributes : require
#include "gpu/shaders/lib/isp_common.glsl"
#include "gpu/shaders/lib/isp_unpack.glsl"

#define THREADS (ISP_TILE_X * ISP_TILE_Y / 32u)
layout(local_size_x = ISP_TILE_X * ISP_TILE_Y / 32u) in;
#include "gpu/shaders/lib/isp_statistics.glsl"

layout(set = ISP_SET_BATCH, binding = ISP_BIND_RAW, scalar) readonly
    restrict buffer raw_pairs_buffer
{
    uvec2 raw_pairs[];
};

#define COLUMNS (ISP_TILE_X / 16u) /* a thread has 16 x 2 samples */
#define BIAS    0x43000000u        /* bits of 128 */

/* value, black: with the mantissa's bias on top; gain: over 65536. The bits are BIAS and the
 * sample, of which full scale and more is 65536. */
uvec4 level(vec4 value, vec2 black, vec2 gain)
{
    precise vec4 biased = clamp((value - black.xyxy) * gain.xyxy, 0.0, 1.0) + 128.0;
    return floatBitsToUint(biased);
}

/* A cell of biased samples of which none is clipped. Luma's bias is 256 times that of its parts,
 * which is none. */
void count_usual(uvec4 v)
{
    uint red = v[RED_Y * 2 + RED_X], blue = v[3 - (RED_Y * 2 + RED_X)];
    uint green = (RED_X == RED_Y ? v.y + v.z + 1u : v.x + v.w + 1u) >> 1;
    if (MONO)
        red = green = blue = ((v.x + v.y + v.z + v.w + 2u) >> 2) + (BIAS - (4u * BIAS >> 2));
    uint luma = (54u * red + 183u * green + 19u * blue) >> 8;
    sums_low += uvec4(luma, biased_log(luma), red, green);
    sums_high.x += blue;
    atomicAdd(shared_bins[luma >> 8], 1u);
}

/* Four cells next to each other, of which `count` are in the picture. */
void count_four(uvec4 cells[4], uint count)
{
    uvec4 most = max(max(cells[0], cells[1]), max(cells[2], cells[3]));
    if (count >= 4u && max(max(most.x, most.y), max(most.z, most.w)) < BIAS + 65535u) {
        [[unroll]] for (uint n = 0u; n < 4u; n++)
            count_usual(cells[n]);
        sums_low -= uvec4(0u, 4u * LOG_BIAS, 4u * BIAS, 4u * BIAS);
        sums_high.x -= 4u * BIAS;
    } else {
        [[unroll]] for (uint n = 0u; n < 4u; n++)
            if (n < count)
                cell_count(min(cells[n] - BIAS, uvec4(65535u)));
    }
}

/* Samples x to x+15 of a row that starts at word `row`, an even one; x is a multiple of 16. */
void fetch_16(uint row, uint x, out words_8 first, out words_8 second)
{
    if (PACK == 12u) {
        uint at = (row >> 1) + (x >> 4) * 3u;
        uvec2 a = raw_pairs[at], b = raw_pairs[at + 1u], c = raw_pairs[at + 2u];
        first = words_8(uvec3(a, b.x), uvec3(0u));
        second = words_8(uvec3(b.y, c), uvec3(0u));
    } else {
        first = fetch_8(row, x);
        second = fetch_8(row, x + 8u);
    }
}

/* Eight samples of two rows, of which `count` columns of cells are in the picture */
void count_words(words_8 upper, words_8 lower, uint x, uint count, vec4 black, vec4 gain)
{
    vec4 u[2], l[2];
    unpack_8(upper, x, u[0], u[1]);
    unpack_8(lower, x, l[0], l[1]);
    uvec4 a = level(u[0], black.xy, gain.xy), b = level(l[0], black.zw, gain.zw);
    uvec4 c = level(u[1], black.xy, gain.xy), d = level(l[1], black.zw, gain.zw);
    uvec4 cells[4] = {uvec4(a.xy, b.xy), uvec4(a.zw, b.zw), uvec4(c.xy, d.xy), uvec4(c.zw, d.zw)};
    count_four(cells, count);
}

void main()
{
    uint frame = first_frame + gl_WorkGroupID.x;
    uvec2 origin = gl_WorkGroupID.yz * uvec2(ISP_TILE_X, ISP_TILE_Y),
          size = uvec2(CAMERA.width, CAMERA.height);
    vec4 black = vec4(CAMERA.black[0], CAMERA.black[1], CAMERA.black[2], CAMERA.black[3]) + MAGIC;
    vec4 gain =
        vec4(args[frame].gain[0], args[frame].gain[1], args[frame].gain[2], args[frame].gain[3]) *
        (1.0 / 65536.0);
    uvec2 at = origin + uvec2(gl_LocalInvocationIndex % COLUMNS * 16u,
                              gl_LocalInvocationIndex / COLUMNS * 2u);
    bool any = at.x < size.x && at.y < size.y;
    words_8 upper[2], lower[2];
    if (any) {
        uint row = args[frame].raw + at.y * CAMERA.raw_stride;
        fetch_16(row, at.x, upper[0], upper[1]);
        fetch_16(row + CAMERA.raw_stride, at.x, lower[0], lower[1]);
    }
    statistics_begin();
    barrier();
    if (any) {
        uint count = (size.x - at.x) / 2u;
        count_words(upper[0], lower[0], at.x, count, black, gain);
        count_words(upper[1], lower[1], at.x + 8u, max(count, 4u) - 4u, black, gain);
    }
    statistics_end(frame, ivec2(origin));
}
