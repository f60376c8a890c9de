/* SPDX-License-Identifier: BSD-2-Clause
 *
 * isp_develop with an edge-directed demosaic. The differences green - red and green - blue vary little across edges, so they are
 * estimated along rows and along columns (J. F. Hamilton and J. E. Adams, US patent 5,629,734, 1997, for the directional estimates)
 * and mixed by how much each varies around the pixel: weights are inverse squares of sums of the gradients of the differences over
 * 5 x 5 pixels, as in I. Pekkucuksen and Y. Altunbasak, "Gradient based threshold free color filter array interpolation", ICIP 2010,
 * here with one weight for each direction. Red and blue then follow from green by bilinear differences.
 * A thread makes 2 x 2 pixels.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_EXT_control_flow_attributes : require
#include "gpu/shaders/lib/isp_common.glsl"

layout(local_size_x = 16, local_size_y = 8) in;

#define THREADS 128
#define TILE_X 32
#define TILE_Y 16
#define HALO_X 8
#define HALO_Y 8
#include "gpu/shaders/lib/isp_tile.glsl"
#include "gpu/shaders/lib/isp_statistics.glsl"

layout(set = ISP_SET_BATCH, binding = ISP_BIND_RGB, scalar) writeonly restrict buffer rgb_buffer { uvec4 rgb_pairs[]; };

/* Around the tile: directional differences with 4 pixels, their gradients with 3, the chosen difference with 1. */
#define DIFF_X (TILE_X + 8)
#define DIFF_Y (TILE_Y + 8)
#define GRADIENT_X (TILE_X + 6)
#define GRADIENT_Y (TILE_Y + 6)
shared float difference_we[DIFF_Y][DIFF_X], difference_ns[DIFF_Y][DIFF_X];
shared float gradient_we[GRADIENT_Y][GRADIENT_X], gradient_ns[GRADIENT_Y][GRADIENT_X];
shared float chosen[TILE_Y + 2][TILE_X + 2];

bool is_green(int row, int column)
{
    return ((row ^ column ^ RED_X ^ RED_Y) & 1) != 0;
}

/* Each in quarters, so that they are whole numbers. */
void make_differences()
{
    for (int i = int(gl_LocalInvocationIndex); i < DIFF_X * DIFF_Y; i += THREADS) {
        int row = i / DIFF_X, column = i % DIFF_X, r = row + HALO_Y - 4, c = column + HALO_X - 4;
        float here = sample_at(r, c), sign = is_green(row, column) ? 1.0 : -1.0;
        float we = 2.0 * (sample_at(r, c - 1) + sample_at(r, c + 1)) - sample_at(r, c - 2) - sample_at(r, c + 2);
        float ns = 2.0 * (sample_at(r - 1, c) + sample_at(r + 1, c)) - sample_at(r - 2, c) - sample_at(r + 2, c);
        difference_we[row][column] = sign * (2.0 * here - we);
        difference_ns[row][column] = sign * (2.0 * here - ns);
    }
    barrier();
}

void make_gradients()
{
    for (int i = int(gl_LocalInvocationIndex); i < GRADIENT_X * GRADIENT_Y; i += THREADS) {
        int row = i / GRADIENT_X, column = i % GRADIENT_X;
        gradient_we[row][column] = abs(difference_we[row + 1][column + 2] - difference_we[row + 1][column]);
        gradient_ns[row][column] = abs(difference_ns[row + 2][column + 1] - difference_ns[row][column + 1]);
    }
    barrier();
}

/* Whole numbers again, green - colour, where the sample is red or blue. */
void make_chosen()
{
    for (int i = int(gl_LocalInvocationIndex); i < (TILE_X + 2) * (TILE_Y + 2); i += THREADS) {
        int row = i / (TILE_X + 2), column = i % (TILE_X + 2);
        if (is_green(row + 1, column + 1)) {
            chosen[row][column] = 0.0;
            continue;
        }
        float we = 1.0, ns = 1.0; /* sums of gradients */
        for (int y = 0; y < 5; y++) {
            for (int x = 0; x < 5; x++) {
                we += gradient_we[row + y][column + x];
                ns += gradient_ns[row + y][column + x];
            }
        }
        float along = 2.0 * difference_we[row + 3][column + 3] + difference_we[row + 3][column + 2] + difference_we[row + 3][column + 4];
        float across = 2.0 * difference_ns[row + 3][column + 3] + difference_ns[row + 2][column + 3] + difference_ns[row + 4][column + 3];
        float mixed = (ns * ns * along + we * we * across) / (ns * ns + we * we) * 0.0625;
        float here = sample_at(row + HALO_Y - 1, column + HALO_X - 1);
        chosen[row][column] = clamp(roundEven(mixed), -here, 65535.0 - here);
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
    int x = column + 1, y = row + 1;
    bool red_row = ((row ^ RED_Y) & 1) == 0;
    if (is_green(row, column)) {
        float along = scaled(c - 0.5 * (chosen[y][x - 1] + chosen[y][x + 1]));
        float across = scaled(c - 0.5 * (chosen[y - 1][x] + chosen[y + 1][x]));
        return red_row ? vec3(along, c, across) : vec3(across, c, along);
    }
    float green = c + chosen[y][x];
    float other = scaled(green - 0.25 * (chosen[y - 1][x - 1] + chosen[y - 1][x + 1] + chosen[y + 1][x - 1] + chosen[y + 1][x + 1]));
    return red_row ? vec3(c, green, other) : vec3(other, green, c);
}

void main()
{
    uint frame = first_frame + gl_WorkGroupID.z;
    ivec2 origin = ivec2(gl_WorkGroupID.xy) * ivec2(TILE_X, TILE_Y), size = ivec2(args[frame].width, args[frame].height);
    ivec2 inside = ivec2(gl_LocalInvocationID.xy) * 2, at = origin + inside;
    statistics_begin();
    load_tile(frame, origin);
    if (!MONO) {
        make_differences();
        make_gradients();
        make_chosen();
    }
    if (at.x < size.x && at.y < size.y) {
        uint to = (args[frame].rgb + uint(at.y * size.x + at.x)) >> 1;
        for (int j = 0; j < 2; j++) {
            vec3 a = pixel(inside.x, inside.y + j), b = pixel(inside.x + 1, inside.y + j);
            rgb_pairs[to + uint(j * size.x >> 1)] = uvec4(to_pair(a.r, a.g), to_uint(a.b), to_pair(b.r, b.g), to_uint(b.b));
        }
        int r = inside.y + HALO_Y, c = inside.x + HALO_X;
        cell_measure(sample_at(r, c), sample_at(r, c + 1), sample_at(r + 1, c), sample_at(r + 1, c + 1));
    }
    statistics_end(frame, origin);
}
