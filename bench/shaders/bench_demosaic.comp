/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Raw samples to linear RGB by sums of neighbours. A thread makes CELLS cells of 2 x 2 pixels, one
 * below the other. Sums are of whole numbers below 2^24, so floats are exact.
 *
 * METHOD 0: bilinear. 1: H. S. Malvar, L. He, R. Cutler, "High-quality linear interpolation for
 * demosaicing of Bayer-patterned color images", ICASSP 2004, figure 2, coefficients times 16.
 */
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#include "bench/shaders/bench_args.h"

layout(constant_id = 0) const uint LX = 32;
layout(constant_id = 1) const uint LY = 8;
layout(constant_id = 2) const uint CELLS = 1;
layout(constant_id = 3) const uint METHOD = 0;
layout(constant_id = 4) const uint CACHE = 1;
layout(constant_id = 5) const uint OUT = 0;
layout(constant_id = 6) const uint FORMAT = BENCH_BAYER8;
layout(local_size_x_id = 0, local_size_y_id = 1) in;

const int TILE_X = 2 * int(LX), TILE_Y = 2 * int(LY * CELLS), HALO_X = 4, HALO_Y = 2,
          THREADS = int(LX * LY);
#include "bench/shaders/bench_bayer.glsl"

/* Columns x - 2 .. x + 3 of a row */
struct window_row {
    vec2 left, here, right;
};

float scaled(float sum, float scale)
{
    return clamp(sum * scale, 0.0, 65535.0);
}

/* ns, we: sums of the two next to it in its column and row; far_: of the two beyond; corners: of
 * four. */
vec3 pixel(bool red_column, bool red_row, float c, float ns, float we, float far_ns, float far_we,
           float corners)
{
    if (red_column == red_row) {
        float green = METHOD == 0
                          ? scaled(ns + we, 0.25)
                          : scaled(8.0 * c + 4.0 * (ns + we) - 2.0 * (far_ns + far_we), 0.0625);
        float other = METHOD == 0
                          ? scaled(corners, 0.25)
                          : scaled(12.0 * c + 4.0 * corners - 3.0 * (far_ns + far_we), 0.0625);
        return red_row ? vec3(c, green, other) : vec3(other, green, c);
    }
    float along = METHOD == 0
                      ? scaled(we, 0.5)
                      : scaled(10.0 * c + 8.0 * we - 2.0 * far_we - 2.0 * corners + far_ns, 0.0625);
    float across =
        METHOD == 0 ? scaled(ns, 0.5)
                    : scaled(10.0 * c + 8.0 * ns - 2.0 * far_ns - 2.0 * corners + far_we, 0.0625);
    return red_row ? vec3(along, c, across) : vec3(across, c, along);
}

void make(int x, int y, bool red_row, window_row n2, window_row n1, window_row c, window_row s1,
          window_row s2)
{
    vec2 ns = n1.here + s1.here, far_ns = n2.here + s2.here;
    vec3 a = pixel(true, red_row, c.here.x, ns.x, c.left.y + c.here.y, far_ns.x,
                   c.left.x + c.right.x, n1.left.y + s1.left.y + n1.here.y + s1.here.y);
    vec3 b = pixel(false, red_row, c.here.y, ns.y, c.here.x + c.right.x, far_ns.y,
                   c.left.y + c.right.y, n1.here.x + s1.here.x + n1.right.x + s1.right.x);
    store_pair(x, y, a, b);
}

void main()
{
    ivec2 origin = ivec2(gl_WorkGroupID.xy) * ivec2(TILE_X, TILE_Y),
          inside = ivec2(gl_LocalInvocationID.xy) * ivec2(2, 2 * CELLS);
    ivec2 at = origin + inside;
    window_row rows[2 * CELLS + 4];
    load_tile(origin);
    if (at.x >= int(push.width) || at.y >= int(push.height))
        return;
    [[unroll]] for (int i = 0; i < 2 * int(CELLS) + 4; i++) {
        int row = inside.y + i, column = inside.x + HALO_X;
        rows[i] = window_row(pair_at(origin, row, column - 2), pair_at(origin, row, column),
                             pair_at(origin, row, column + 2));
    }
    [[unroll]] for (int i = 0; i < 2 * int(CELLS); i++)
        if (at.y + i < int(push.height))
            make(at.x, at.y + i, (i & 1) == 0, rows[i], rows[i + 1], rows[i + 2], rows[i + 3],
                 rows[i + 4]);
}
