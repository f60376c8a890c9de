/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The edge-directed demosaic of docs/design/isp.md. Green minus colour is estimated along rows and
 * columns (J. F. Hamilton, J. E. Adams, US patent 5,629,734). The weights are the inverse squares
 * of the variation of each in 5 x 5 pixels (after I. Pekkucuksen, Y. Altunbasak, "Gradient based
 * threshold free color filter array interpolation", ICIP 2010). A thread makes 2 x 2 pixels. SUMS
 * 1: the 25 gradients are first added along rows, for all pixels of a row.
 */
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#include "bench/shaders/bench_args.h"

layout(constant_id = 0) const uint LX = 16;
layout(constant_id = 1) const uint LY = 8;
layout(constant_id = 2) const uint SUMS = 0;
layout(constant_id = 4) const uint CACHE = 2;
layout(constant_id = 5) const uint OUT = 0;
layout(constant_id = 6) const uint FORMAT = BENCH_BAYER8;
layout(local_size_x_id = 0, local_size_y_id = 1) in;

const int TILE_X = 2 * int(LX), TILE_Y = 2 * int(LY), HALO_X = 8, HALO_Y = 6,
          THREADS = int(LX * LY);
#include "bench/shaders/bench_bayer.glsl"

/* Around the tile: differences with 4 pixels, x: along rows, y: along columns, in quarters; their
 * gradients with 3; sums of five of these, with 1 beside and 3 above and below; the chosen
 * difference with 1. */
const int DX = TILE_X + 8, DY = TILE_Y + 8, GX = TILE_X + 6, GY = TILE_Y + 6, CX = TILE_X + 2,
          CY = TILE_Y + 2;
shared vec2 differences[DX * DY];
shared vec2 gradients[GX * GY];
shared vec2 row_sums[SUMS != 0 ? CX * GY : 1];
shared float chosen[CX * CY];

bool is_green(int row, int column)
{
    return ((row ^ column) & 1) != 0;
}

void make_differences()
{
    for (int i = int(gl_LocalInvocationIndex); i < DX * DY; i += THREADS) {
        int row = i / DX, column = i % DX, r = row + HALO_Y - 4, c = column + HALO_X - 4;
        float here = 2.0 * tile_at(r, c), sign = is_green(row, column) ? 1.0 : -1.0;
        float we =
            2.0 * (tile_at(r, c - 1) + tile_at(r, c + 1)) - tile_at(r, c - 2) - tile_at(r, c + 2);
        float ns =
            2.0 * (tile_at(r - 1, c) + tile_at(r + 1, c)) - tile_at(r - 2, c) - tile_at(r + 2, c);
        differences[i] = sign * vec2(here - we, here - ns);
    }
    barrier();
}

void make_gradients()
{
    for (int i = int(gl_LocalInvocationIndex); i < GX * GY; i += THREADS) {
        int at = (i / GX + 1) * DX + i % GX + 1;
        gradients[i] = vec2(abs(differences[at + 1].x - differences[at - 1].x),
                            abs(differences[at + DX].y - differences[at - DX].y));
    }
    barrier();
    if (SUMS == 0)
        return;
    for (int i = int(gl_LocalInvocationIndex); i < CX * GY; i += THREADS) {
        int at = i / CX * GX + i % CX;
        row_sums[i] = gradients[at] + gradients[at + 1] + gradients[at + 2] + gradients[at + 3] +
                      gradients[at + 4];
    }
    barrier();
}

vec2 variation(int row, int column)
{
    vec2 sum = vec2(1);
    if (SUMS != 0) {
        [[unroll]] for (int y = 0; y < 5; y++)
            sum += row_sums[(row + y) * CX + column];
    } else {
        [[unroll]] for (int y = 0; y < 5; y++) [[unroll]]
            for (int x = 0; x < 5; x++)
                sum += gradients[(row + y) * GX + column + x];
    }
    return sum;
}

/* Only where the sample is red or blue: every other pixel of a row. */
void make_chosen()
{
    for (int i = int(gl_LocalInvocationIndex); i < CX / 2 * CY; i += THREADS) {
        int row = i / (CX / 2), column = i % (CX / 2) * 2 + (row & 1),
            at = (row + 3) * DX + column + 3;
        vec2 v = variation(row, column), s = v * v;
        float along = 2.0 * differences[at].x + differences[at - 1].x + differences[at + 1].x;
        float across = 2.0 * differences[at].y + differences[at - DX].y + differences[at + DX].y;
        float mixed = (s.y * along + s.x * across) / (s.x + s.y) * 0.0625,
              here = tile_at(row + HALO_Y - 1, column + HALO_X - 1);
        chosen[row * CX + column] = clamp(roundEven(mixed), -here, 65535.0 - here);
    }
    barrier();
}

vec3 pixel(int column, int row)
{
    float c = tile_at(row + HALO_Y, column + HALO_X);
    int at = (row + 1) * CX + column + 1;
    bool red_row = (row & 1) == 0;
    if (is_green(row, column)) {
        float along = clamp(c - 0.5 * (chosen[at - 1] + chosen[at + 1]), 0.0, 65535.0);
        float across = clamp(c - 0.5 * (chosen[at - CX] + chosen[at + CX]), 0.0, 65535.0);
        return red_row ? vec3(along, c, across) : vec3(across, c, along);
    }
    float green = c + chosen[at];
    float corners =
        chosen[at - CX - 1] + chosen[at - CX + 1] + chosen[at + CX - 1] + chosen[at + CX + 1];
    float other = clamp(green - 0.25 * corners, 0.0, 65535.0);
    return red_row ? vec3(c, green, other) : vec3(other, green, c);
}

void main()
{
    ivec2 origin = ivec2(gl_WorkGroupID.xy) * ivec2(TILE_X, TILE_Y),
          inside = ivec2(gl_LocalInvocationID.xy) * 2, at = origin + inside;
    load_tile(origin);
    make_differences();
    make_gradients();
    make_chosen();
    if (at.x >= int(push.width) || at.y >= int(push.height))
        return;
    store_pair(at.x, at.y, pixel(inside.x, inside.y), pixel(inside.x + 1, inside.y));
    store_pair(at.x, at.y + 1, pixel(inside.x, inside.y + 1), pixel(inside.x + 1, inside.y + 1));
}
