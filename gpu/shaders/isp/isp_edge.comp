/* SPDX-License-Identifier: BSD-2-Clause
 *
 * isp_develop with an edge-directed demosaic. The differences green - red and green - blue vary
 * little across edges. They are estimated along rows and along columns (J. F. Hamilton and J. E.
 * Adams, US patent 5,629,734, 1997), then mixed. The weight of an estimate is the inverse square of
 * the sum of its gradients over 5 x 5 pixels. This follows I. Pekkucuksen and Y. Altunbasak,
 * "Gradient based threshold free color filter array interpolation", ICIP 2010, with one weight for
 * each direction. Red and blue then follow from green by bilinear differences. A thread makes two
 * pixels.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_EXT_control_flow_attributes : require
#include "gpu/shaders/lib/isp_common.glsl"

#define THREADS 256
layout(local_size_x = THREADS) in;

#define TILE_X 32
#define TILE_Y 16
#define HALO_X 8
#define HALO_Y 8
#include "gpu/shaders/lib/isp_tile.glsl"
#include "gpu/shaders/lib/isp_statistics.glsl"

layout(set = ISP_SET_BATCH, binding = ISP_BIND_RGB, scalar) writeonly restrict buffer rgb_buffer
{
    uvec4 rgb_pairs[];
};

/* Around the tile: differences with 4 pixels, x: along rows, y: along columns, in quarters, so that
 * they are whole numbers; their gradients with 3; the chosen difference with 1. */
#define DIFF_X     (TILE_X + 8)
#define DIFF_Y     (TILE_Y + 8)
#define GRADIENT_X (TILE_X + 6)
#define GRADIENT_Y (TILE_Y + 6)
#define CHOSEN_X   (TILE_X + 2)
#define CHOSEN_Y   (TILE_Y + 2)
shared vec2 differences[DIFF_X * DIFF_Y];
shared vec2 gradients[GRADIENT_X * GRADIENT_Y];
shared float chosen[CHOSEN_X * CHOSEN_Y];

bool is_green(int row, int column)
{
    return ((row ^ column ^ RED_X ^ RED_Y) & 1) != 0;
}

void make_differences()
{
    for (int i = int(gl_LocalInvocationIndex); i < DIFF_X * DIFF_Y; i += THREADS) {
        int row = i / DIFF_X, column = i % DIFF_X, r = row + HALO_Y - 4, c = column + HALO_X - 4;
        float here = 2.0 * sample_at(r, c), sign = is_green(row, column) ? 1.0 : -1.0;
        float we = 2.0 * (sample_at(r, c - 1) + sample_at(r, c + 1)) - sample_at(r, c - 2) -
                   sample_at(r, c + 2);
        float ns = 2.0 * (sample_at(r - 1, c) + sample_at(r + 1, c)) - sample_at(r - 2, c) -
                   sample_at(r + 2, c);
        differences[i] = sign * vec2(here - we, here - ns);
    }
    barrier();
}

void make_gradients()
{
    for (int i = int(gl_LocalInvocationIndex); i < GRADIENT_X * GRADIENT_Y; i += THREADS) {
        int at = (i / GRADIENT_X + 1) * DIFF_X + i % GRADIENT_X + 1;
        gradients[i] = vec2(abs(differences[at + 1].x - differences[at - 1].x),
                            abs(differences[at + DIFF_X].y - differences[at - DIFF_X].y));
    }
    barrier();
}

/* Whole numbers again, green - colour, where the sample is red or blue: every other pixel of a row.
 */
void make_chosen()
{
    for (int i = int(gl_LocalInvocationIndex); i < CHOSEN_X / 2 * CHOSEN_Y; i += THREADS) {
        int row = i / (CHOSEN_X / 2), column = i % (CHOSEN_X / 2) * 2 + ((row ^ RED_X ^ RED_Y) & 1),
            at = (row + 3) * DIFF_X + column + 3;
        vec2 sums = vec2(1.0);
        [[unroll]] for (int y = 0; y < 5; y++) [[unroll]]
            for (int x = 0; x < 5; x++)
                sums += gradients[(row + y) * GRADIENT_X + column + x];
        vec2 weights = sums.yx * sums.yx;
        float along = 2.0 * differences[at].x + differences[at - 1].x + differences[at + 1].x;
        float across =
            2.0 * differences[at].y + differences[at - DIFF_X].y + differences[at + DIFF_X].y;
        float mixed = (weights.x * along + weights.y * across) / (weights.x + weights.y) * 0.0625;
        float here = sample_at(row + HALO_Y - 1, column + HALO_X - 1);
        chosen[row * CHOSEN_X + column] = clamp(roundEven(mixed), -here, 65535.0 - here);
    }
    barrier();
}

float scaled(float v)
{
    return clamp(v, 0.0, 65535.0);
}

/* Pixel (column, row) of the tile. */
vec3 pixel(int column, int row)
{
    float c = sample_at(row + HALO_Y, column + HALO_X);
    if (MONO)
        return vec3(c);
    int at = (row + 1) * CHOSEN_X + column + 1;
    bool red_row = ((row ^ RED_Y) & 1) == 0;
    if (is_green(row, column)) {
        float along = scaled(c - 0.5 * (chosen[at - 1] + chosen[at + 1]));
        float across = scaled(c - 0.5 * (chosen[at - CHOSEN_X] + chosen[at + CHOSEN_X]));
        return red_row ? vec3(along, c, across) : vec3(across, c, along);
    }
    float green = c + chosen[at];
    float corners = chosen[at - CHOSEN_X - 1] + chosen[at - CHOSEN_X + 1] +
                    chosen[at + CHOSEN_X - 1] + chosen[at + CHOSEN_X + 1];
    float other = scaled(green - 0.25 * corners);
    return red_row ? vec3(c, green, other) : vec3(other, green, c);
}

void main()
{
    uint frame = first_frame + gl_WorkGroupID.z;
    ivec2 origin = ivec2(gl_WorkGroupID.xy) * ivec2(TILE_X, TILE_Y),
          size = ivec2(CAMERA.width, CAMERA.height);
    statistics_begin();
    load_tile(frame, origin);
    if (!MONO) {
        make_differences();
        make_gradients();
        make_chosen();
    }
    [[unroll]] for (int i = int(gl_LocalInvocationIndex); i < TILE_X / 2 * TILE_Y; i += THREADS) {
        ivec2 inside = ivec2(i % (TILE_X / 2) * 2, i / (TILE_X / 2)), at = origin + inside;
        if (at.x >= size.x || at.y >= size.y)
            continue;
        vec3 a = pixel(inside.x, inside.y), b = pixel(inside.x + 1, inside.y);
        rgb_pairs[(args[frame].rgb + uint(at.y * size.x + at.x)) >> 1] =
            uvec4(to_pair(a.r, a.g), to_uint(a.b), to_pair(b.r, b.g), to_uint(b.b));
        int r = inside.y + HALO_Y, c = inside.x + HALO_X;
        if ((inside.y & 1) == 0)
            cell_measure(sample_at(r, c), sample_at(r, c + 1), sample_at(r + 1, c),
                         sample_at(r + 1, c + 1));
    }
    statistics_end(frame, origin);
}
