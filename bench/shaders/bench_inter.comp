/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Luma sample interpolation (8.4.2.2.1) of blocks of 8 x 8 samples, each with a vector. A thread
 * makes PELS samples: a row of 4, 4 x 4, or the whole block. SOURCE selects how the reference is
 * read. CLASS 0..3 handles one list of blocks: no fraction, fraction along x, along y, along both.
 * CLASS 4 handles all blocks, by branches.
 */
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "bench/shaders/bench_args.h"

layout(constant_id = 0) const uint PELS = 16;
layout(constant_id = 1) const uint SOURCE = 0;
layout(constant_id = 2) const uint CLASS = 4;
layout(local_size_x = 64) in;

layout(set = 0, binding = BENCH_BIND_INPUT, std430) readonly buffer Input
{
    uint words[];
};
layout(set = 0, binding = BENCH_BIND_OUTPUT, std430) writeonly buffer Output
{
    uint result[];
};
/* vectors, then four lists */
layout(set = 0, binding = BENCH_BIND_PARAMS, std430) readonly buffer Params
{
    uint counts[4], params[];
};
layout(set = 0, binding = BENCH_BIND_IMAGE, r32ui) readonly uniform uimage2D image;
layout(set = 0, binding = BENCH_BIND_TEXTURE) uniform usampler2D texels;

const int ROWS = PELS == 4 ? 1 : PELS == 16 ? 4 : 8;

uint word_at(int x, int y)
{
    x = clamp(x, 0, int(push.width) / 4 - 1);
    y = clamp(y, 0, int(push.height) - 1);
    return SOURCE == 0   ? words[uint(y) * (push.width / 4) + uint(x)]
           : SOURCE == 1 ? imageLoad(image, ivec2(x, y)).r
                         : texelFetch(texels, ivec2(x, y), 0).r;
}

int sample_at(int x, int y)
{
    x = clamp(x, 0, int(push.width) - 1);
    return int(word_at(x >> 2, y) >> 8 * (x & 3) & 255u);
}

/* Nine samples from x on: three words hold them wherever x lies in a word. */
void load_row(int x, int y, out int p[9])
{
    if (x >= 0 && x + 12 <= int(push.width)) {
        uint w[3] = uint[](word_at(x >> 2, y), word_at((x >> 2) + 1, y), word_at((x >> 2) + 2, y));
        int shift = 8 * (x & 3);
        if (shift != 0) {
            w[0] = w[0] >> shift | w[1] << 32 - shift;
            w[1] = w[1] >> shift | w[2] << 32 - shift;
            w[2] >>= shift;
        }
        [[unroll]] for (int i = 0; i < 9; i++)
            p[i] = int(w[i / 4] >> 8 * (i & 3) & 255u);
    } else {
        [[unroll]] for (int i = 0; i < 9; i++)
            p[i] = sample_at(x + i, y);
    }
}

int tap(int a, int b, int c, int d, int e, int f)
{
    return a - 5 * b + 20 * c + 20 * d - 5 * e + f;
}

int half_of(int sum)
{
    return clamp(sum + 16 >> 5, 0, 255);
}

int g[ROWS + 5][9]; /* integer samples, from two to the left and above on */

int along_x(int r, int c)
{
    return tap(g[r + 2][c], g[r + 2][c + 1], g[r + 2][c + 2], g[r + 2][c + 3], g[r + 2][c + 4],
               g[r + 2][c + 5]);
}

int along_y(int r, int c)
{
    return tap(g[r][c + 2], g[r + 1][c + 2], g[r + 2][c + 2], g[r + 3][c + 2], g[r + 4][c + 2],
               g[r + 5][c + 2]);
}

int middle(int r, int c)
{
    int sum = tap(along_x(r - 2, c), along_x(r - 1, c), along_x(r, c), along_x(r + 1, c),
                  along_x(r + 2, c), along_x(r + 3, c));
    return clamp(sum + 512 >> 10, 0, 255);
}

int only_x(int r, int c, ivec2 f)
{
    int b = half_of(along_x(r, c)), other = f.x == 3 ? g[r + 2][c + 3] : g[r + 2][c + 2];
    return f.x == 2 ? b : b + other + 1 >> 1;
}

int only_y(int r, int c, ivec2 f)
{
    int h = half_of(along_y(r, c)), other = f.y == 3 ? g[r + 3][c + 2] : g[r + 2][c + 2];
    return f.y == 2 ? h : h + other + 1 >> 1;
}

int both(int r, int c, ivec2 f)
{
    int b = half_of(f.y == 3 ? along_x(r + 1, c) : along_x(r, c));
    int h = half_of(f.x == 3 ? along_y(r, c + 1) : along_y(r, c));
    if (f.x != 2 && f.y != 2)
        return b + h + 1 >> 1;
    int j = middle(r, c);
    return f.x == 2 && f.y == 2 ? j : j + (f.x == 2 ? b : h) + 1 >> 1;
}

int value(uint kind, int r, int c, ivec2 f)
{
    if (kind == 0)
        return g[r + 2][c + 2];
    return kind == 1 ? only_x(r, c, f) : kind == 2 ? only_y(r, c, f) : both(r, c, f);
}

/* Four samples wide, ROWS high. */
void strip(ivec2 to, ivec2 vector)
{
    ivec2 f = vector & 3, from = to + (vector >> 2);
    uint kind = CLASS < 4 ? CLASS : (f.x != 0 ? 1u : 0u) + (f.y != 0 ? 2u : 0u);
    [[unroll]] for (int r = 0; r < ROWS + 5; r++)
        if (kind > 1 || (r >= 2 && r < ROWS + 2))
            load_row(from.x - 2, from.y + r - 2, g[r]);
    [[unroll]] for (int r = 0; r < ROWS; r++) {
        uint word = 0;
        [[unroll]] for (int c = 0; c < 4; c++)
            word |= uint(value(kind, r, c, f)) << 8 * c;
        result[uint(to.y + r) * (push.width / 4) + uint(to.x) / 4] = word;
    }
}

void main()
{
    uint each = 64 / PELS, n = gl_GlobalInvocationID.x / each,
         part = gl_GlobalInvocationID.x % each;
    uint across = push.width / 8, blocks = across * (push.height / 8);
    if (n >= (CLASS < 4 ? counts[CLASS & 3] : blocks))
        return;
    uint block = CLASS < 4 ? params[blocks * (1 + (CLASS & 3)) + n] : n;
    int packed = int(params[block]);
    ivec2 vector = ivec2(packed << 16 >> 16, packed >> 16),
          to = 8 * ivec2(block % across, block / across);
    if (PELS == 4) {
        strip(to + ivec2(part % 2 * 4, part / 2), vector);
    } else if (PELS == 16) {
        strip(to + ivec2(part % 2 * 4, part / 2 * 4), vector);
    } else {
        strip(to, vector);
        strip(to + ivec2(4, 0), vector);
    }
}
