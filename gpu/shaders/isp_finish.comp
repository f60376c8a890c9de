/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Developed frames to pictures: region, size and lens by the camera's map, colour matrix, tone curve, output format. A thread makes
 * 4 x 2 pixels. Samples outside the sensor's picture are black. Chroma of 4:2:0 is the mean of four pixels.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_control_flow_attributes : require
#include "gpu/shaders/lib/isp_common.glsl"

layout(local_size_x = 16, local_size_y = 8) in;

layout(set = ISP_SET_BATCH, binding = ISP_BIND_RGB, rg32ui) readonly uniform uimage2DArray rgb;
layout(set = ISP_SET_BATCH, binding = ISP_BIND_TEXTURE) uniform sampler2DArray texels;
layout(set = ISP_SET_BATCH, binding = ISP_BIND_OUTPUT, scalar) writeonly buffer output_buffer { uint words[]; };
layout(set = ISP_SET_BATCH, binding = ISP_BIND_OUTPUT, scalar) writeonly buffer output_halves { uint16_t halves[]; };
layout(set = ISP_SET_CAMERA, binding = 0, scalar) readonly buffer table_buffer { uint table[]; };
layout(set = ISP_SET_CAMERA, binding = 0, scalar) readonly buffer table_pairs { vec2 pairs[]; };
layout(set = ISP_SET_CAMERA, binding = 0, scalar) readonly buffer table_quads { uvec4 quads[]; };

layout(constant_id = 0) const uint SAMPLING = ISP_SAMPLE_NONE;
layout(constant_id = 1) const uint FORMAT = 0u;
layout(constant_id = 2) const uint CURVE = 0u; /* 0: linear */

/* enum isp_format */
#define I420 0u
#define NV12 1u
#define P010 2u
#define GRAY8 3u
#define RGB24 4u
#define RGBA 5u
#define RGB48 6u

uvec3 load(ivec2 at, uint frame)
{
    if (any(greaterThanEqual(uvec2(at), uvec2(args[frame].width, args[frame].height))))
        return uvec3(0u);
    uvec2 v = imageLoad(rgb, ivec3(at, args[frame].layer)).xy;
    return uvec3(v.x & 0xffffu, v.x >> 16, v.y);
}

vec3 bilinear(ivec2 at, uint frame)
{
    ivec2 p = at >> ISP_MAP_BITS;
    uvec2 f = uvec2(at & 31), g = 32u - f;
    uvec3 v = g.x * g.y * load(p, frame) + f.x * g.y * load(p + ivec2(1, 0), frame) + g.x * f.y * load(p + ivec2(0, 1), frame) +
              f.x * f.y * load(p + ivec2(1, 1), frame);
    return vec3((v + 512u) >> 10);
}

/* R. G. Keys, "Cubic convolution interpolation for digital image processing", 1981, with a = -0.75, in 1/2048. */
ivec4 cubic(int phase)
{
    const float a = -0.75;
    float f = float(phase) / 32.0, g = 1.0 - f;
    ivec4 w = ivec4(roundEven(2048.0 * vec4(a * f * g * g, ((a + 2.0) * f - (a + 3.0)) * f * f + 1.0,
                                            ((a + 2.0) * g - (a + 3.0)) * g * g + 1.0, a * f * f * g)));
    w.w = 2048 - w.x - w.y - w.z;
    return w;
}

vec3 bicubic(ivec2 at, uint frame)
{
    ivec2 p = (at >> ISP_MAP_BITS) - 1;
    ivec4 wx = cubic(at.x & 31), wy = cubic(at.y & 31);
    ivec3 sum = ivec3(1024);
    for (int y = 0; y < 4; y++) {
        ivec3 row = ivec3(1024);
        for (int x = 0; x < 4; x++)
            row += wx[x] * ivec3(load(p + ivec2(x, y), frame));
        sum += wy[y] * (row >> 11);
    }
    return vec3(clamp(sum >> 11, 0, 65535));
}

vec3 textured(ivec2 at, uint frame)
{
    vec2 size = vec2(args[frame].width, args[frame].height);
    return 65535.0 * textureLod(texels, vec3((vec2(at) / 32.0 + 0.5) / size, args[frame].layer), 0.0).rgb;
}

vec3 sampled(uint entry, ivec2 base, uint frame)
{
    if (entry == ISP_MAP_NONE)
        return vec3(0.0);
    ivec2 at = base + ivec2(entry & 0xffffu, entry >> 16);
    if (SAMPLING == ISP_SAMPLE_BILINEAR)
        return bilinear(at, frame);
    if (SAMPLING == ISP_SAMPLE_BICUBIC)
        return bicubic(at, frame);
    return textured(at, frame);
}

/* v: 0..ISP_TONE_STEPS. Continuous, so a whole number may come out of either of its neighbours' pieces. */
float curve(float v, uint frame)
{
    precise float biased = max(v - 0.5, 0.0) + MAGIC;
    precise float whole = biased - MAGIC;
    vec2 pair = pairs[(args[frame].tone >> 1) + (floatBitsToUint(biased) & 0x7ffu)];
    return pair.x + (v - whole) * pair.y;
}

vec3 toned(vec3 v, uint frame)
{
    vec3 t;
    [[unroll]] for (int i = 0; i < 3; i++)
        t[i] = clamp(args[frame].colour[3 * i] * v.r + args[frame].colour[3 * i + 1] * v.g + args[frame].colour[3 * i + 2] * v.b, 0.0,
                     float(ISP_TONE_STEPS));
    if (CURVE == 0u)
        return t * (1.0 / float(ISP_TONE_STEPS));
    return vec3(curve(t.r, frame), curve(t.g, frame), curve(t.b, frame));
}

float dot3(float k[3], vec3 v, float offset)
{
    return k[0] * v.r + (k[1] * v.g + (k[2] * v.b + offset));
}

uint bytes(float a, float b, float c, float d)
{
    return to_uint(a) | to_uint(b) << 8 | to_uint(c) << 16 | to_uint(d) << 24;
}

uint words10(float a, float b)
{
    return to_uint(a) << 6 | to_uint(b) << 22;
}

vec3 px[2][4];

void store_luma(ivec2 at, int j, uint frame)
{
    float y[4];
    [[unroll]] for (int i = 0; i < 4; i++)
        y[i] = dot3(args[frame].luma, px[j][i], args[frame].luma_offset);
    uint row = args[frame].plane[0] + uint(at.y + j) * args[frame].plane_stride[0];
    if (FORMAT == P010) {
        words[row + uint(at.x >> 1)] = words10(y[0], y[1]);
        words[row + uint(at.x >> 1) + 1u] = words10(y[2], y[3]);
    } else {
        words[row + uint(at.x >> 2)] = bytes(y[0], y[1], y[2], y[3]);
    }
}

void store_chroma(ivec2 at, uint frame)
{
    float most = FORMAT == P010 ? 1023.0 : 255.0, cb[2], cr[2];
    [[unroll]] for (int i = 0; i < 2; i++) {
        vec3 mean = 0.25 * (px[0][2 * i] + px[0][2 * i + 1] + px[1][2 * i] + px[1][2 * i + 1]);
        cb[i] = min(dot3(args[frame].cb, mean, args[frame].chroma_offset), most);
        cr[i] = min(dot3(args[frame].cr, mean, args[frame].chroma_offset), most);
    }
    uint row = args[frame].plane[1] + uint(at.y >> 1) * args[frame].plane_stride[1];
    if (FORMAT == NV12) {
        words[row + uint(at.x >> 2)] = bytes(cb[0], cr[0], cb[1], cr[1]);
    } else if (FORMAT == P010) {
        words[row + uint(at.x >> 1)] = words10(cb[0], cr[0]);
        words[row + uint(at.x >> 1) + 1u] = words10(cb[1], cr[1]);
    } else {
        uint last = args[frame].plane[2] + uint(at.y >> 1) * args[frame].plane_stride[2];
        halves[2u * row + uint(at.x >> 2)] = uint16_t(to_uint(cb[0]) | to_uint(cb[1]) << 8);
        halves[2u * last + uint(at.x >> 2)] = uint16_t(to_uint(cr[0]) | to_uint(cr[1]) << 8);
    }
}

void store_rgb(ivec2 at, int j, uint frame)
{
    uint row = args[frame].plane[0] + uint(at.y + j) * args[frame].plane_stride[0];
    float scale = FORMAT == RGB48 ? 65535.0 : 255.0;
    vec3 a = scale * px[j][0], b = scale * px[j][1], c = scale * px[j][2], d = scale * px[j][3];
    uint x = uint(at.x >> 2);
    if (FORMAT == RGB24) {
        words[row + 3u * x] = bytes(a.r, a.g, a.b, b.r);
        words[row + 3u * x + 1u] = bytes(b.g, b.b, c.r, c.g);
        words[row + 3u * x + 2u] = bytes(c.b, d.r, d.g, d.b);
    } else if (FORMAT == RGBA) {
        words[row + 4u * x] = bytes(a.r, a.g, a.b, 255.0);
        words[row + 4u * x + 1u] = bytes(b.r, b.g, b.b, 255.0);
        words[row + 4u * x + 2u] = bytes(c.r, c.g, c.b, 255.0);
        words[row + 4u * x + 3u] = bytes(d.r, d.g, d.b, 255.0);
    } else {
        words[row + 6u * x] = to_pair(a.r, a.g);
        words[row + 6u * x + 1u] = to_pair(a.b, b.r);
        words[row + 6u * x + 2u] = to_pair(b.g, b.b);
        words[row + 6u * x + 3u] = to_pair(c.r, c.g);
        words[row + 6u * x + 4u] = to_pair(c.b, d.r);
        words[row + 6u * x + 5u] = to_pair(d.g, d.b);
    }
}

void main()
{
    uint frame = first_frame + gl_WorkGroupID.z;
    ivec2 at = ivec2(gl_GlobalInvocationID.xy) * ivec2(4, 2), size = ivec2(args[frame].out_width, args[frame].out_height);
    if (at.x >= size.x || at.y >= size.y)
        return;
    ivec2 base = ivec2(0);
    if (SAMPLING != ISP_SAMPLE_NONE) {
        uint block = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
        base = ivec2(table[args[frame].map_base + 2u * block], table[args[frame].map_base + 2u * block + 1u]);
    }
    [[unroll]] for (int j = 0; j < 2; j++) {
        uvec4 entries = uvec4(0u);
        if (SAMPLING != ISP_SAMPLE_NONE)
            entries = quads[(args[frame].map + uint(at.y + j) * args[frame].map_stride + uint(at.x)) >> 2];
        [[unroll]] for (int i = 0; i < 4; i++) {
            vec3 v;
            if (SAMPLING == ISP_SAMPLE_NONE)
                v = vec3(load(at + ivec2(i, j) + ivec2(args[frame].region_x, args[frame].region_y), frame));
            else
                v = sampled(entries[i], base, frame);
            px[j][i] = toned(v, frame);
        }
    }
    bool rgb_format = FORMAT == RGB24 || FORMAT == RGBA || FORMAT == RGB48;
    [[unroll]] for (int j = 0; j < 2; j++) {
        if (at.y + j >= size.y)
            continue;
        if (rgb_format)
            store_rgb(at, j, frame);
        else
            store_luma(at, j, frame);
    }
    if (!rgb_format && FORMAT != GRAY8)
        store_chroma(at, frame);
}
