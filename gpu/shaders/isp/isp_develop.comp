/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Raw samples to linear RGB of 16 bits, with statistics. Unpack, black level, white balance, defect
 * clamp and demosaic run in one pass over a tile in shared memory. A thread makes 2 x 2 pixels. All
 * sums are of whole numbers below 2^24, so floats are exact. Results round to nearest, ties to
 * even.
 *
 * DEMOSAIC 0: bilinear. 1: H. S. Malvar, L. He, R. Cutler, "High-quality linear interpolation for
 * demosaicing of Bayer-patterned color images", ICASSP 2004, figure 2, coefficients times 16.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_EXT_control_flow_attributes : require
#include "gpu/shaders/lib/isp_common.glsl"
#include "gpu/shaders/lib/debug.glsl"

layout(local_size_x = 32, local_size_y = 8) in;

#define THREADS 256
#define TILE_X  64
#define TILE_Y  16
#define HALO_X  4
#define HALO_Y  4
#include "gpu/shaders/lib/isp_tile.glsl"
#include "gpu/shaders/lib/isp_statistics.glsl"

layout(set = ISP_SET_BATCH, binding = ISP_BIND_RGB, scalar) writeonly restrict buffer rgb_buffer
{
    uvec4 rgb_pairs[];
};

layout(constant_id = 3) const uint DEMOSAIC = 0u;

/* Columns x - 2 .. x + 3 of a row */
struct window_row {
    vec2 left, here, right;
};

window_row row_at(int row, int column)
{
    return window_row(pair_at(row, column - 2), pair_at(row, column), pair_at(row, column + 2));
}

float scaled(float sum, float scale)
{
    return clamp(sum * scale, 0.0, 65535.0);
}

/* A pixel from itself and what is around it: sums of the two samples next to it in its column and
 * row, of the two beyond, and of the four at its corners. */
vec3 pixel(bool red_column, bool red_row, float c, float ns, float we, float far_ns, float far_we,
           float corners)
{
    if (MONO)
        return vec3(c);
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

/* Two pixels of a row, from it and two rows above and below. to: the pair of pixels in the buffer.
 */
void make(uint to, bool red_row, window_row n2, window_row n1, window_row c, window_row s1,
          window_row s2)
{
    vec2 ns = n1.here + s1.here, far_ns = n2.here + s2.here;
    float corners = n1.left.y + s1.left.y + n1.here.y + s1.here.y;
    float corners_right = n1.here.x + s1.here.x + n1.right.x + s1.right.x;
    vec3 a = pixel(RED_X == 0, red_row, c.here.x, ns.x, c.left.y + c.here.y, far_ns.x,
                   c.left.x + c.right.x, corners);
    vec3 b = pixel(RED_X == 1, red_row, c.here.y, ns.y, c.here.x + c.right.x, far_ns.y,
                   c.left.y + c.right.y, corners_right);
    rgb_pairs[to] = uvec4(to_pair(a.r, a.g), to_uint(a.b), to_pair(b.r, b.g), to_uint(b.b));
}

void main()
{
    uint frame = first_frame + gl_WorkGroupID.z;
    ivec2 origin = ivec2(gl_WorkGroupID.xy) * ivec2(TILE_X, TILE_Y),
          size = ivec2(args[frame].width, args[frame].height);
    ivec2 inside = ivec2(gl_LocalInvocationID.xy) * 2, at = origin + inside;
    int row = inside.y + HALO_Y - 2, column = inside.x + HALO_X;
    uint pitch = uint(size.x) >> 1,
         to = (args[frame].rgb >> 1) + uint(at.y) * pitch + (uint(at.x) >> 1);
    DEBUG_FIRST(DEBUG_GAIN, frame, args[frame].gain[0]);
    statistics_begin();
    load_tile(frame, origin);
    if (at.x < size.x && at.y < size.y) {
        window_row r0 = row_at(row, column), r1 = row_at(row + 1, column),
                   r2 = row_at(row + 2, column);
        window_row r3 = row_at(row + 3, column), r4 = row_at(row + 4, column),
                   r5 = row_at(row + 5, column);
        make(to, RED_Y == 0, r0, r1, r2, r3, r4);
        make(to + pitch, RED_Y == 1, r1, r2, r3, r4, r5);
        cell_measure(r2.here.x, r2.here.y, r3.here.x, r3.here.y);
    }
    statistics_end(frame, origin);
}
