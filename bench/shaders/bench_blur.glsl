/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Shared by the blurs: pixels of three formats in buffers, weights, and pixels of one format in
 * shared memory. Include it after the constants FROM and TO (formats) and READ_SCRATCH,
 * WRITE_SCRATCH.
 */
#ifndef PELTON_BENCH_BLUR_GLSL
#define PELTON_BENCH_BLUR_GLSL

layout(constant_id = 6) const uint TAPS = 3;
const int R = int(TAPS) / 2;

layout(set = 0, binding = BENCH_BIND_INPUT, std430) readonly buffer InWords
{
    uint in_words[];
};
layout(set = 0, binding = BENCH_BIND_INPUT, std430) readonly buffer InPixels
{
    vec4 in_pixels[];
};
layout(set = 0, binding = BENCH_BIND_OUTPUT, std430) writeonly buffer OutWords
{
    uint out_words[];
};
layout(set = 0, binding = BENCH_BIND_OUTPUT, std430) writeonly buffer OutPixels
{
    vec4 out_pixels[];
};
layout(set = 0, binding = BENCH_BIND_SCRATCH, std430) buffer MidWords
{
    uint mid_words[];
};
layout(set = 0, binding = BENCH_BIND_SCRATCH, std430) buffer MidHalves
{
    uvec2 mid_halves[];
};
layout(set = 0, binding = BENCH_BIND_SCRATCH, std430) buffer MidPixels
{
    vec4 mid_pixels[];
};
layout(set = 0, binding = BENCH_BIND_PARAMS, std430) readonly buffer Weights
{
    float weights[BENCH_MAX_TAPS];
};

vec4 unpack_bytes(uint word)
{
    return vec4(word & 255u, word >> 8 & 255u, word >> 16 & 255u, word >> 24);
}

uint pack_bytes(vec4 v)
{
    uvec4 b = uvec4(v + 0.5);
    return b.x | b.y << 8 | b.z << 16 | b.w << 24;
}

vec4 unpack_halves(uvec2 h)
{
    return vec4(unpackHalf2x16(h.x), unpackHalf2x16(h.y));
}

uvec2 pack_halves(vec4 v)
{
    return uvec2(packHalf2x16(v.xy), packHalf2x16(v.zw));
}

uint index_of(int x, int y)
{
    return uint(clamp(y, 0, int(push.height) - 1)) * push.width +
           uint(clamp(x, 0, int(push.width) - 1));
}

vec4 fetch(int x, int y)
{
    uint i = index_of(x, y);
    if (READ_SCRATCH)
        return FROM == BENCH_RGBA8  ? unpack_bytes(mid_words[i])
               : FROM == BENCH_HALF ? unpack_halves(mid_halves[i])
                                    : mid_pixels[i];
    return FROM == BENCH_RGBA8 ? unpack_bytes(in_words[i]) : in_pixels[i];
}

void store(int x, int y, vec4 v)
{
    uint i = uint(y) * push.width + uint(x);
    if (WRITE_SCRATCH) {
        if (TO == BENCH_RGBA8)
            mid_words[i] = pack_bytes(v);
        else if (TO == BENCH_HALF)
            mid_halves[i] = pack_halves(v);
        else
            mid_pixels[i] = v;
    } else if (TO == BENCH_RGBA8) {
        out_words[i] = pack_bytes(v);
    } else {
        out_pixels[i] = v;
    }
}

bool outside(int x, int y)
{
    return x >= int(push.width) || y >= int(push.height);
}

/* A line of shared memory of `size` pixels in the least words that their format takes. */
#define CACHE_OF(name, format, size)                                                               \
    shared uint name##_words[(format) == BENCH_RGBA8 ? (size) : 1];                                \
    shared uvec2 name##_halves[(format) == BENCH_HALF ? (size) : 1];                               \
    shared vec4 name##_pixels[(format) == BENCH_RGBA32F ? (size) : 1];                             \
    vec4 name##_get(uint i)                                                                        \
    {                                                                                              \
        return (format) == BENCH_RGBA8  ? unpack_bytes(name##_words[i])                            \
               : (format) == BENCH_HALF ? unpack_halves(name##_halves[i])                          \
                                        : name##_pixels[i];                                        \
    }                                                                                              \
    void name##_put(uint i, vec4 v)                                                                \
    {                                                                                              \
        if ((format) == BENCH_RGBA8)                                                               \
            name##_words[i] = pack_bytes(v);                                                       \
        else if ((format) == BENCH_HALF)                                                           \
            name##_halves[i] = pack_halves(v);                                                     \
        else                                                                                       \
            name##_pixels[i] = v;                                                                  \
    }

#endif
