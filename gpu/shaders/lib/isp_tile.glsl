/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A tile of raw samples with its surroundings in shared memory: unpacked, black level off, white
 * balanced, defects clamped. Samples are whole numbers 0..65535. The including shader defines
 * TILE_X, HALO_X (multiples of 4), TILE_Y and HALO_Y (even), and THREADS. DEFECT uses 2 of HALO_Y.
 */
#include "gpu/shaders/lib/isp_unpack.glsl"

layout(constant_id = 2) const uint DEFECT = 0u;

#define COLUMNS (TILE_X + 2 * HALO_X)
#define ROWS    (TILE_Y + 2 * HALO_Y)
#define LOADS   ((ROWS * (COLUMNS / 4) + THREADS - 1) / THREADS)

shared vec2 loaded[ROWS][COLUMNS / 2];
shared vec2 cleaned[DEFECT != 0u ? ROWS : 1][COLUMNS / 2];

/* black: with the mantissa's bias on top */
vec2 level(uvec2 value, vec2 black, vec2 gain)
{
    precise vec2 above = max(uintBitsToFloat(uvec2(0x4b000000u) | value) - black, vec2(0.0));
    precise vec2 scaled = min(above * gain, vec2(65535.0));
    precise vec2 biased = scaled + MAGIC;
    precise vec2 whole = biased - MAGIC;
    return whole;
}

float loaded_at(int row, int column)
{
    return loaded[row][column >> 1][column & 1];
}

/* ISP_MONO: neighbours are next to each other; else two apart. */
float clamp_defect(int row, int column, float excess)
{
    int d = MONO ? 1 : 2;
    float low = 65535.0, high = 0.0;
    for (int i = 0; i < 9; i++) {
        if (i == 4)
            continue;
        float v = loaded_at(row + (i / 3 - 1) * d, column + (i % 3 - 1) * d);
        low = min(low, v);
        high = max(high, v);
    }
    return clamp(loaded_at(row, column), low - excess, high + excess);
}

/* The whole workgroup. origin: of the tile in the picture; even. */
void load_tile(uint frame, ivec2 origin)
{
    /* rows above and below that only the clamp asks for */
    const int skipped = DEFECT == 0u ? 2 : 0;
    int width = int(args[frame].width), height = int(args[frame].height);
    uint start = args[frame].raw, stride = args[frame].raw_stride;
    vec4 black = vec4(args[frame].black[0], args[frame].black[1], args[frame].black[2],
                      args[frame].black[3]) +
                 MAGIC;
    vec4 gain =
        vec4(args[frame].gain[0], args[frame].gain[1], args[frame].gain[2], args[frame].gain[3]);
    uvec3 words[LOADS]; /* all are asked for before the first is needed */
    [[unroll]] for (int n = 0; n < LOADS; n++) {
        int i = int(gl_LocalInvocationIndex) + n * THREADS,
            x = origin.x - HALO_X + i % (COLUMNS / 4) * 4;
        int y = mirror(origin.y - HALO_Y + i / (COLUMNS / 4) + skipped, height);
        words[n] = uvec3(0u);
        if (i < (ROWS - 2 * skipped) * (COLUMNS / 4) && x >= 0 && x + 3 < width)
            words[n] = fetch(start + uint(y) * stride, uint(x));
    }
    [[unroll]] for (int n = 0; n < LOADS; n++) {
        int i = int(gl_LocalInvocationIndex) + n * THREADS;
        int row = i / (COLUMNS / 4) + skipped, column = i % (COLUMNS / 4) * 2; /* of pairs */
        int x = origin.x - HALO_X + 2 * column, y = mirror(origin.y - HALO_Y + row, height);
        vec2 b = (y & 1) == 0 ? black.xy : black.zw, g = (y & 1) == 0 ? gain.xy : gain.zw;
        if (i >= (ROWS - 2 * skipped) * (COLUMNS / 4))
            break;
        if (x >= 0 && x + 3 < width) {
            uvec4 v = unpack(words[n], uint(x));
            loaded[row][column] = level(v.xy, b, g);
            loaded[row][column + 1] = level(v.zw, b, g);
        } else {
            uint from = start + uint(y) * stride;
            [[dont_unroll]] for (int k = 0; k < 2; k++)
                loaded[row][column + k] = level(
                    uvec2(one(from, x + 2 * k, width), one(from, x + 2 * k + 1, width)), b, g);
        }
    }
    barrier();
    if (DEFECT == 0u)
        return;
    float defect = float(args[frame].defect);
    for (int i = int(gl_LocalInvocationIndex); i < (ROWS - 4) * (COLUMNS - 4); i += THREADS) {
        int row = 2 + i / (COLUMNS - 4), column = 2 + i % (COLUMNS - 4);
        vec2 g = (row & 1) == 0 ? gain.xy : gain.zw;
        cleaned[row][column >> 1][column & 1] =
            clamp_defect(row, column, roundEven(defect * ((column & 1) == 0 ? g.x : g.y)));
    }
    barrier();
}

/* column: even */
vec2 pair_at(int row, int column)
{
    return DEFECT != 0u ? cleaned[row][column >> 1] : loaded[row][column >> 1];
}

float sample_at(int row, int column)
{
    return DEFECT != 0u ? cleaned[row][column >> 1][column & 1]
                        : loaded[row][column >> 1][column & 1];
}
