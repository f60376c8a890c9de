/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Straightens the picture of a lens. Pixels outside the picture are black. A thread makes 4 x 2
 * pixels.
 *
 * - POSITION 0: a map holds the position of each pixel, in 1/32 pixel, as two 16-bit offsets from
 *   its own place. 1: the shader computes it (D. C. Brown, "Close-range camera calibration", 1971).
 * - SOURCE: 16-bit pixels from a buffer (0), fetched from an image (1), interpolated by the texture
 *   unit (2); the same with half floats (3, 4, 5).
 * - KEYS: bicubic with a = -0.75 instead of bilinear (R. G. Keys, "Cubic convolution interpolation
 *   for digital image processing", 1981).
 * - FUSED: the output is NV12 instead of RGB.
 */
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "bench/shaders/bench_args.h"

layout(constant_id = 0) const uint LX = 16;
layout(constant_id = 1) const uint LY = 8;
layout(constant_id = 2) const uint SOURCE = 0;
layout(constant_id = 3) const uint POSITION = 0;
layout(constant_id = 4) const uint KEYS = 0;
layout(constant_id = 5) const uint FUSED = 0;
layout(local_size_x_id = 0, local_size_y_id = 1) in;

layout(set = 0, binding = BENCH_BIND_INPUT, std430) readonly buffer Input
{
    uvec2 in_pixels[];
};
layout(set = 0, binding = BENCH_BIND_SCRATCH, std430) readonly buffer Halves
{
    uvec2 in_halves[];
};
layout(set = 0, binding = BENCH_BIND_PARAMS, std430) readonly buffer Map
{
    uvec4 map[];
};
layout(set = 0, binding = BENCH_BIND_OUTPUT, std430) writeonly buffer Words
{
    uint out_words[];
};
layout(set = 0, binding = BENCH_BIND_OUTPUT, std430) writeonly buffer Pairs
{
    uvec4 out_pairs[];
};
layout(set = 0, binding = BENCH_BIND_TEXTURE) uniform sampler2D texels;
layout(set = 0, binding = BENCH_BIND_TEXTURE_2) uniform sampler2D half_texels;
#include "bench/shaders/bench_nv12.glsl"

const bool WHOLE = SOURCE < 2; /* samples are whole numbers, and sums of them exact */
const float MAGIC = 8388608.0;

/* A pixel, 0..65535. */
vec3 load(ivec2 at)
{
    if (any(greaterThanEqual(uvec2(at), uvec2(push.width, push.height))))
        return vec3(0);
    uint i = uint(at.y) * push.width + uint(at.x);
    if (SOURCE == 0) {
        precise vec3 v =
            uintBitsToFloat(uvec3(in_pixels[i].x & 0xffffu, in_pixels[i].x >> 16, in_pixels[i].y) |
                            floatBitsToUint(MAGIC)) -
            MAGIC;
        return v;
    }
    if (SOURCE == 3)
        return 65535.0 * vec3(unpackHalf2x16(in_halves[i].x), unpackHalf2x16(in_halves[i].y).x);
    return SOURCE == 1 ? roundEven(65535.0 * texelFetch(texels, at, 0).rgb)
                       : 65535.0 * texelFetch(half_texels, at, 0).rgb;
}

uvec3 rounded(vec3 v)
{
    return uvec3(roundEven(clamp(v, 0.0, 65535.0)));
}

uvec3 linear(ivec2 at, vec2 f, ivec2 f32)
{
    vec3 a = load(at), b = load(at + ivec2(1, 0)), c = load(at + ivec2(0, 1)),
         d = load(at + ivec2(1, 1));
    if (WHOLE && POSITION == 0) {
        uvec2 r = uvec2(f32), l = 32u - r;
        return l.x * l.y * uvec3(a) + r.x * l.y * uvec3(b) + l.x * r.y * uvec3(c) +
                   r.x * r.y * uvec3(d) + 512u >>
               10;
    }
    return rounded(mix(mix(a, b, f.x), mix(c, d, f.x), f.y));
}

vec4 keys(float f)
{
    const float a = -0.75;
    float g = 1.0 - f;
    return vec4(a * f * g * g, ((a + 2.0) * f - (a + 3.0)) * f * f + 1.0,
                ((a + 2.0) * g - (a + 3.0)) * g * g + 1.0, a * f * f * g);
}

/* In 1/2048; their sum is 1. */
ivec4 whole_keys(int f32)
{
    ivec4 w = ivec4(roundEven(2048.0 * keys(float(f32) / 32.0)));
    w.w = 2048 - w.x - w.y - w.z;
    return w;
}

uvec3 cubic(ivec2 at, vec2 f, ivec2 f32)
{
    if (WHOLE && POSITION == 0) {
        ivec4 wx = whole_keys(f32.x), wy = whole_keys(f32.y);
        ivec3 sum = ivec3(1024);
        [[dont_unroll]] for (int y = 0; y < 4; y++) {
            ivec3 row = ivec3(1024);
            [[unroll]] for (int x = 0; x < 4; x++)
                row += wx[x] * ivec3(load(at + ivec2(x - 1, y - 1)));
            sum += wy[y] * (row >> 11);
        }
        return uvec3(clamp(sum >> 11, 0, 65535));
    }
    vec4 wx = keys(f.x), wy = keys(f.y);
    vec3 sum = vec3(0);
    [[dont_unroll]] for (int y = 0; y < 4; y++) [[unroll]]
        for (int x = 0; x < 4; x++)
            sum += wx[x] * wy[y] * load(at + ivec2(x - 1, y - 1));
    return rounded(sum);
}

/* Where pixel (x, y) comes from: whole pixels, and what is more, exactly in 1/32 where that is what
 * a map says. */
void position(uint x, uint y, uint entry, out ivec2 at, out vec2 f, out ivec2 f32)
{
    if (POSITION == 0) {
        ivec2 p = 32 * ivec2(x, y) + (ivec2(entry << 16, entry) >> 16);
        at = p >> 5;
        f32 = p & 31;
        f = vec2(f32) / 32.0;
    } else { /* weights: 1 / focal length, focal length, centre (2), k1, k2, p1, p2, k3 */
        vec2 centre = vec2(push.weights[2], push.weights[3]),
             u = (vec2(x, y) - centre) * push.weights[0];
        float r2 = dot(u, u),
              radial = 1.0 + r2 * (push.weights[4] + r2 * (push.weights[5] + r2 * push.weights[8]));
        vec2 p = vec2(push.weights[6], push.weights[7]),
             tangential = 2.0 * u.x * u.y * p + (r2 + 2.0 * u * u) * p.yx;
        vec2 from = clamp((u * radial + tangential) * push.weights[1] + centre, vec2(-64),
                          vec2(push.width, push.height) + 64.0);
        at = ivec2(floor(from));
        f = from - floor(from);
        f32 = ivec2(0);
    }
}

uvec3 sampled(uint x, uint y, uint entry)
{
    ivec2 at, f32;
    vec2 f;
    position(x, y, entry, at, f, f32);
    if (SOURCE == 2 || SOURCE == 5) {
        vec2 place = (vec2(at) + f + 0.5) / vec2(push.width, push.height);
        return rounded(65535.0 * (SOURCE == 2 ? textureLod(texels, place, 0.0)
                                              : textureLod(half_texels, place, 0.0))
                                     .rgb);
    }
    return KEYS != 0 ? cubic(at, f, f32) : linear(at, f, f32);
}

void main()
{
    uint x = 4 * gl_GlobalInvocationID.x, y = 2 * gl_GlobalInvocationID.y;
    uvec3 rows[2][4];
    if (x >= push.width || y >= push.height)
        return;
    [[unroll]] for (int j = 0; j < 2; j++) {
        uvec4 entries = POSITION == 0 ? map[((y + j) * push.width + x) / 4] : uvec4(0);
        [[unroll]] for (int i = 0; i < 4; i++)
            rows[j][i] = sampled(x + i, y + j, entries[i]);
        [[unroll]] for (int i = 0; i < 2 && FUSED == 0; i++) {
            uvec3 a = rows[j][2 * i], b = rows[j][2 * i + 1];
            out_pairs[((y + j) * push.width + x) / 2 + i] =
                uvec4(a.x | a.y << 16, a.z, b.x | b.y << 16, b.z);
        }
    }
    if (FUSED != 0)
        store_nv12(x, y, rows[0], rows[1]);
}
