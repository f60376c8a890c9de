/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Shared by the demosaics of the kernel bench: reading raw RGGB samples and four ways to store
 * pixels. Samples are whole numbers 0..65535, from memory or from a tile in shared memory. Samples
 * outside the picture mirror about its border samples. push.weights holds the gains of the samples
 * of a 2x2 cell, then the black level.
 *
 * The including shader defines these constants:
 * - TILE_X, TILE_Y, HALO_X (multiples of 4), HALO_Y (even), THREADS, FORMAT, OUT;
 * - CACHE 0: no tile. 1: a tile. 2: all words of the tile are loaded before the first is unpacked.
 *   3: as 2, and samples are kept as 16 bits.
 */
layout(set = 0, binding = BENCH_BIND_INPUT, std430) readonly buffer Words
{
    uint raw[];
};
layout(set = 0, binding = BENCH_BIND_INPUT, std430) readonly buffer Bytes
{
    uint8_t bytes[];
};
layout(set = 0, binding = BENCH_BIND_OUTPUT, std430) writeonly buffer Pairs
{
    uvec4 pixel_pairs[];
};
layout(set = 0, binding = BENCH_BIND_IMAGE, rgba32ui) writeonly uniform uimage2D pair_image;
layout(set = 0, binding = BENCH_BIND_IMAGE_2, rgba16f) writeonly uniform image2D half_image;

#define OUT_BUFFER      0
#define OUT_IMAGE       1
#define OUT_HALF_BUFFER 2
#define OUT_HALF_IMAGE  3

/* 2^23: a float that holds an integer in its low bits, and rounds to the nearest, ties to even */
const float MAGIC = 8388608.0;
const int COLUMNS = TILE_X + 2 * HALO_X, ROWS = TILE_Y + 2 * HALO_Y;
const int QUADS = ROWS * (COLUMNS / 4), LOADS = CACHE != 0 ? (QUADS + THREADS - 1) / THREADS : 1;

shared vec2 tile[CACHE == 1 || CACHE == 2 ? ROWS * (COLUMNS / 2) : 1];
shared uint short_tile[CACHE == 3 ? ROWS * (COLUMNS / 2) : 1];

int mirror(int i, int size)
{
    i = abs(i);
    return i < size ? i : max(2 * (size - 1) - i, 0);
}

float level(uint value, int x, int y)
{
    precise float above =
        max(uintBitsToFloat(value | floatBitsToUint(MAGIC)) - MAGIC - push.weights[4], 0.0);
    precise float gained = min(above * push.weights[(y & 1) * 2 + (x & 1)], 65535.0) + MAGIC;
    precise float whole = gained - MAGIC;
    return whole;
}

/* One sample by its bytes. */
float sample_of(int x, int y)
{
    x = mirror(x, int(push.width));
    y = mirror(y, int(push.height));
    if (FORMAT == BENCH_BAYER8)
        return level(uint(bytes[uint(y) * push.width + uint(x)]), x, y);
    uint at = uint(y) * (push.width / 2 * 3) + uint(x >> 1) * 3;
    return level(uint(bytes[at + uint(x & 1)]) << 4 | (uint(bytes[at + 2]) >> 4 * (x & 1) & 15u), x,
                 y);
}

/* The words that hold samples x..x+3, x a multiple of 4, inside the picture. */
uvec2 fetch(int x, int y)
{
    if (FORMAT == BENCH_BAYER8)
        return uvec2(raw[(uint(y) * push.width + uint(x)) / 4], 0);
    uint at = uint(y) * (push.width / 8 * 3) + uint(x >> 2) * 6 / 4;
    return uvec2(raw[at], raw[at + 1]);
}

uvec4 unpack(uvec2 w, int x)
{
    if (FORMAT == BENCH_BAYER8)
        return uvec4(w.x & 255u, w.x >> 8 & 255u, w.x >> 16 & 255u, w.x >> 24);
    if ((x & 4) != 0) /* the six bytes begin in the middle of a word */
        w = uvec2(w.x >> 16 | w.y << 16, w.y >> 16);
    return uvec4((w.x & 255u) << 4 | (w.x >> 16 & 15u), (w.x >> 4 & 0xff0u) | (w.x >> 20 & 15u),
                 w.x >> 24 << 4 | (w.y >> 8 & 15u), (w.y & 255u) << 4 | (w.y >> 12 & 15u));
}

void tile_put(int i, vec2 a, vec2 b)
{
    if (CACHE == 3) {
        short_tile[2 * i] = uint(a.x) | uint(a.y) << 16;
        short_tile[2 * i + 1] = uint(b.x) | uint(b.y) << 16;
    } else {
        tile[2 * i] = a;
        tile[2 * i + 1] = b;
    }
}

void place_of(int i, ivec2 origin, out int x, out int y)
{
    x = origin.x - HALO_X + i % (COLUMNS / 4) * 4;
    y = origin.y - HALO_Y + i / (COLUMNS / 4);
}

bool is_inside(int x)
{
    return x >= 0 && x + 4 <= int(push.width);
}

void unpack_to_tile(int i, uvec2 words, int x, int y)
{
    int row = mirror(y, int(push.height));
    if (is_inside(x)) {
        uvec4 v = unpack(words, x);
        tile_put(i, vec2(level(v.x, 0, row), level(v.y, 1, row)),
                 vec2(level(v.z, 0, row), level(v.w, 1, row)));
    } else {
        tile_put(i, vec2(sample_of(x, y), sample_of(x + 1, y)),
                 vec2(sample_of(x + 2, y), sample_of(x + 3, y)));
    }
}

/* The whole workgroup. origin: of the tile in the picture. */
void load_tile(ivec2 origin)
{
    int tid = int(gl_LocalInvocationIndex), x, y;
    uvec2 words[LOADS];
    if (CACHE == 0)
        return;
    [[unroll]] for (int n = 0; n < LOADS && CACHE > 1; n++) {
        place_of(tid + n * THREADS, origin, x, y);
        words[n] = tid + n * THREADS < QUADS && is_inside(x) ? fetch(x, mirror(y, int(push.height)))
                                                             : uvec2(0);
    }
    [[unroll]] for (int n = 0; n < LOADS; n++) {
        int i = tid + n * THREADS;
        place_of(i, origin, x, y);
        if (i < QUADS)
            unpack_to_tile(i,
                           CACHE > 1      ? words[n]
                           : is_inside(x) ? fetch(x, mirror(y, int(push.height)))
                                          : uvec2(0),
                           x, y);
    }
    barrier();
}

/* Two samples of a tile, or of the picture where there is none; column (counted from the halo's
 * begin) is even. */
vec2 pair_at(ivec2 origin, int row, int column)
{
    int i = row * (COLUMNS / 2) + column / 2, x = origin.x - HALO_X + column,
        y = origin.y - HALO_Y + row;
    if (CACHE == 0)
        return vec2(sample_of(x, y), sample_of(x + 1, y));
    return CACHE == 3 ? vec2(short_tile[i] & 0xffffu, short_tile[i] >> 16) : tile[i];
}

float tile_at(int row, int column)
{
    return tile[row * (COLUMNS / 2) + column / 2][column & 1];
}

uint short_of(float v)
{
    precise float biased = v + MAGIC;
    return floatBitsToUint(biased) & 0xffffu;
}

/* Pixels x and x + 1, x even; 0..65535. */
void store_pair(int x, int y, vec3 a, vec3 b)
{
    const float one = 1.0 / 65535.0;
    uint at = (uint(y) * push.width + uint(x)) / 2;
    if (OUT == OUT_HALF_IMAGE) {
        imageStore(half_image, ivec2(x, y), vec4(a * one, 0));
        imageStore(half_image, ivec2(x + 1, y), vec4(b * one, 0));
    } else if (OUT == OUT_HALF_BUFFER) {
        pixel_pairs[at] = uvec4(packHalf2x16(a.xy * one), packHalf2x16(vec2(a.z * one, 0)),
                                packHalf2x16(b.xy * one), packHalf2x16(vec2(b.z * one, 0)));
    } else {
        uvec4 words = uvec4(short_of(a.x) | short_of(a.y) << 16, short_of(a.z),
                            short_of(b.x) | short_of(b.y) << 16, short_of(b.z));
        if (OUT == OUT_IMAGE)
            imageStore(pair_image, ivec2(x / 2, y), words);
        else
            pixel_pairs[at] = words;
    }
}
