/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Raw samples to linear RGB of 16 bits, and statistics beside it: unpack, black level, white balance, defect clamp and demosaic in
 * one pass over a tile in shared memory. DEMOSAIC 0: bilinear. 1: H. S. Malvar, L. He, R. Cutler, "High-quality linear interpolation
 * for demosaicing of Bayer-patterned color images", ICASSP 2004, figure 2, whose coefficients are here times 16.
 * A thread makes 2 x 4 pixels; all sums are of whole numbers under 2^24, so floats are exact; results round to nearest, ties to even.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_EXT_control_flow_attributes : require
#include "gpu/shaders/lib/isp_common.glsl"

layout(local_size_x = 32, local_size_y = 8) in;

#define THREADS 256
#define TILE_X 64
#define TILE_Y 32
#define HALO_X 4
#define HALO_Y 4
#include "gpu/shaders/lib/isp_tile.glsl"
#include "gpu/shaders/lib/isp_statistics.glsl"

layout(set = ISP_SET_BATCH, binding = ISP_BIND_RGB, rg32ui) writeonly uniform uimage2DArray rgb;

layout(constant_id = 3) const uint DEMOSAIC = 0u;

float window[8][6]; /* rows y - 2.., columns x - 2.. */

float scaled(float sum, float scale)
{
    return clamp(sum * scale, 0.0, 65535.0);
}

/* Pixel (i, j) of the thread's 2 x 4. */
vec3 pixel(int i, int j)
{
    float c = window[j + 2][i + 2];
    if (MONO)
        return vec3(c);
    float ns = window[j + 1][i + 2] + window[j + 3][i + 2], we = window[j + 2][i + 1] + window[j + 2][i + 3];
    float corners = window[j + 1][i + 1] + window[j + 1][i + 3] + window[j + 3][i + 1] + window[j + 3][i + 3];
    float far_ns = window[j][i + 2] + window[j + 4][i + 2], far_we = window[j + 2][i] + window[j + 2][i + 4];
    bool red_column = ((i ^ RED_X) & 1) == 0, red_row = ((j ^ RED_Y) & 1) == 0;
    if (red_column == red_row) {
        float green, other;
        if (DEMOSAIC == 0u) {
            green = scaled(ns + we, 0.25);
            other = scaled(corners, 0.25);
        } else {
            green = scaled(8.0 * c + 4.0 * (ns + we) - 2.0 * (far_ns + far_we), 0.0625);
            other = scaled(12.0 * c + 4.0 * corners - 3.0 * (far_ns + far_we), 0.0625);
        }
        return red_row ? vec3(c, green, other) : vec3(other, green, c);
    }
    float along, across; /* the colours of the row and of the column */
    if (DEMOSAIC == 0u) {
        along = scaled(we, 0.5);
        across = scaled(ns, 0.5);
    } else {
        along = scaled(10.0 * c + 8.0 * we - 2.0 * far_we - 2.0 * corners + far_ns, 0.0625);
        across = scaled(10.0 * c + 8.0 * ns - 2.0 * far_ns - 2.0 * corners + far_we, 0.0625);
    }
    return red_row ? vec3(along, c, across) : vec3(across, c, along);
}

void main()
{
    uint frame = first_frame + gl_WorkGroupID.z;
    ivec2 origin = ivec2(gl_WorkGroupID.xy) * ivec2(TILE_X, TILE_Y), size = ivec2(args[frame].width, args[frame].height);
    ivec2 inside = ivec2(gl_LocalInvocationID.xy) * ivec2(2, 4), at = origin + inside;
    statistics_begin();
    load_tile(frame, origin);
    [[unroll]] for (int j = 0; j < 8; j++)
        [[unroll]] for (int i = 0; i < 6; i++)
            window[j][i] = sample_at(inside.y + HALO_Y - 2 + j, inside.x + HALO_X - 2 + i);
    [[unroll]] for (int j = 0; j < 4; j++) {
        if (at.x >= size.x || at.y + j >= size.y)
            continue;
        [[unroll]] for (int i = 0; i < 2; i++) {
            vec3 c = pixel(i, j);
            imageStore(rgb, ivec3(at + ivec2(i, j), args[frame].layer), uvec4(to_pair(c.r, c.g), to_uint(c.b), 0u, 0u));
        }
        if ((j & 1) == 0)
            cell_measure(window[j + 2][2], window[j + 2][3], window[j + 3][2], window[j + 3][3]);
    }
    statistics_end(frame, origin);
}
