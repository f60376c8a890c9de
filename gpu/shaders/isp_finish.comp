/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Developed frames to pictures: region, size and lens by the camera's map, colour matrix, tone curve, output format. A thread makes
 * 4 x 2 pixels. Samples outside the sensor's picture are black. Chroma of 4:2:0 is the mean of four pixels.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_16bit_storage : require
#include "gpu/shaders/lib/isp_common.glsl"
#include "gpu/shaders/lib/debug.glsl"

layout(local_size_x = 16, local_size_y = 8) in;

layout(set = ISP_SET_BATCH, binding = ISP_BIND_RGB, scalar) readonly restrict buffer rgb_buffer { uvec2 rgb[]; };
layout(set = ISP_SET_BATCH, binding = ISP_BIND_OUTPUT, scalar) writeonly restrict buffer output_buffer { uint words[]; };
layout(set = ISP_SET_BATCH, binding = ISP_BIND_OUTPUT, scalar) writeonly restrict buffer output_halves { uint16_t halves[]; };
layout(set = ISP_SET_CAMERA, binding = 0, scalar) readonly restrict buffer table_buffer { uint table[]; };
layout(set = ISP_SET_CAMERA, binding = 0, scalar) readonly restrict buffer table_pairs { vec2 pairs[]; };
layout(set = ISP_SET_CAMERA, binding = 0, scalar) readonly restrict buffer table_quads { uvec4 quads[]; };

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

layout(constant_id = 3) const uint MATRIX = 0u; /* 0: colours stay as they are */

uvec3 split(uvec2 v)
{
    return uvec3(v.x & 0xffffu, v.x >> 16, v.y);
}

uvec3 load(ivec2 at, uint frame)
{
    if (any(greaterThanEqual(uvec2(at), uvec2(args[frame].width, args[frame].height))))
        return uvec3(0u);
    return split(rgb[args[frame].rgb + uint(at.y) * args[frame].width + uint(at.x)]);
}

vec3 bilinear(ivec2 at, uint frame)
{
    ivec2 p = at >> ISP_MAP_BITS;
    uvec2 f = uvec2(at & 31), g = 32u - f;
    uvec3 v;
    uint width = args[frame].width;
    if (uint(p.x) < width - 1u && uint(p.y) < args[frame].height - 1u) {
        uint i = args[frame].rgb + uint(p.y) * width + uint(p.x);
        v = g.x * g.y * split(rgb[i]) + f.x * g.y * split(rgb[i + 1u]) + g.x * f.y * split(rgb[i + width]) +
            f.x * f.y * split(rgb[i + width + 1u]);
    } else {
        v = g.x * g.y * load(p, frame) + f.x * g.y * load(p + ivec2(1, 0), frame) + g.x * f.y * load(p + ivec2(0, 1), frame) +
            f.x * f.y * load(p + ivec2(1, 1), frame);
    }
    v = (v + 512u) >> 10;
    return vec3(to_float(v.x), to_float(v.y), to_float(v.z));
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

vec3 sampled(uint entry, ivec2 base, uint frame)
{
    if (entry == ISP_MAP_NONE)
        return vec3(0.0);
    ivec2 at = base + ivec2(entry & 0xffffu, entry >> 16);
    return SAMPLING == ISP_SAMPLE_BILINEAR ? bilinear(at, frame) : bicubic(at, frame);
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
    if (MATRIX == 0u) {
        v = min(v * args[frame].colour[0], vec3(ISP_TONE_STEPS));
        return CURVE == 0u ? v * (1.0 / float(ISP_TONE_STEPS)) : vec3(curve(v.r, frame), curve(v.g, frame), curve(v.b, frame));
    }
    vec3 red = vec3(args[frame].colour[0], args[frame].colour[3], args[frame].colour[6]);
    vec3 green = vec3(args[frame].colour[1], args[frame].colour[4], args[frame].colour[7]);
    vec3 blue = vec3(args[frame].colour[2], args[frame].colour[5], args[frame].colour[8]);
    vec3 t = clamp(red * v.r + green * v.g + blue * v.b, 0.0, float(ISP_TONE_STEPS));
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

void store_luma(ivec2 at, uint frame, vec3 a, vec3 b, vec3 c, vec3 d)
{
    float offset = args[frame].luma_offset;
    float y0 = dot3(args[frame].luma, a, offset), y1 = dot3(args[frame].luma, b, offset);
    float y2 = dot3(args[frame].luma, c, offset), y3 = dot3(args[frame].luma, d, offset);
    uint row = args[frame].plane[0] + uint(at.y) * args[frame].plane_stride[0];
    if (FORMAT == P010) {
        words[row + uint(at.x >> 1)] = words10(y0, y1);
        words[row + uint(at.x >> 1) + 1u] = words10(y2, y3);
    } else {
        words[row + uint(at.x >> 2)] = bytes(y0, y1, y2, y3);
    }
}

/* left, right: means of four pixels each */
void store_chroma(ivec2 at, uint frame, vec3 left, vec3 right)
{
    float most = FORMAT == P010 ? 1023.0 : 255.0, offset = args[frame].chroma_offset;
    float cb0 = min(dot3(args[frame].cb, left, offset), most), cr0 = min(dot3(args[frame].cr, left, offset), most);
    float cb1 = min(dot3(args[frame].cb, right, offset), most), cr1 = min(dot3(args[frame].cr, right, offset), most);
    uint row = args[frame].plane[1] + uint(at.y >> 1) * args[frame].plane_stride[1];
    if (FORMAT == NV12) {
        words[row + uint(at.x >> 2)] = bytes(cb0, cr0, cb1, cr1);
    } else if (FORMAT == P010) {
        words[row + uint(at.x >> 1)] = words10(cb0, cr0);
        words[row + uint(at.x >> 1) + 1u] = words10(cb1, cr1);
    } else {
        uint last = args[frame].plane[2] + uint(at.y >> 1) * args[frame].plane_stride[2];
        halves[2u * row + uint(at.x >> 2)] = uint16_t(to_uint(cb0) | to_uint(cb1) << 8);
        halves[2u * last + uint(at.x >> 2)] = uint16_t(to_uint(cr0) | to_uint(cr1) << 8);
    }
}

void store_rgb(ivec2 at, uint frame, vec3 a, vec3 b, vec3 c, vec3 d)
{
    uint row = args[frame].plane[0] + uint(at.y) * args[frame].plane_stride[0], x = uint(at.x >> 2);
    float scale = FORMAT == RGB48 ? 65535.0 : 255.0;
    a *= scale;
    b *= scale;
    c *= scale;
    d *= scale;
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

void store_row(ivec2 at, uint frame, vec3 a, vec3 b, vec3 c, vec3 d)
{
    if (FORMAT == RGB24 || FORMAT == RGBA || FORMAT == RGB48)
        store_rgb(at, frame, a, b, c, d);
    else
        store_luma(at, frame, a, b, c, d);
}

/* One output pixel. entry: of the map. */
vec3 developed(ivec2 at, uint entry, ivec2 base, uint frame)
{
    if (SAMPLING == ISP_SAMPLE_NONE)
        return toned(vec3(load(at + ivec2(args[frame].region_x, args[frame].region_y), frame)), frame);
    return toned(sampled(entry, base, frame), frame);
}

void main()
{
    uint frame = first_frame + gl_WorkGroupID.z;
    ivec2 at = ivec2(gl_GlobalInvocationID.xy) * ivec2(4, 2), size = ivec2(args[frame].out_width, args[frame].out_height);
    if (at.x >= size.x || at.y >= size.y)
        return;
    ivec2 base = ivec2(0);
    uvec4 upper = uvec4(0u), lower = uvec4(0u);
    if (SAMPLING != ISP_SAMPLE_NONE) {
        uint block = args[frame].map_base + 2u * (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x);
        uint entry = (args[frame].map + uint(at.y) * args[frame].map_stride + uint(at.x)) >> 2;
        base = ivec2(table[block], table[block + 1u]);
        upper = quads[entry];
        lower = quads[entry + (args[frame].map_stride >> 2)];
    }
    vec3 a0 = developed(at, upper.x, base, frame), b0 = developed(at + ivec2(1, 0), upper.y, base, frame);
    vec3 c0 = developed(at + ivec2(2, 0), upper.z, base, frame), d0 = developed(at + ivec2(3, 0), upper.w, base, frame);
    vec3 a1 = developed(at + ivec2(0, 1), lower.x, base, frame), b1 = developed(at + ivec2(1, 1), lower.y, base, frame);
    vec3 c1 = developed(at + ivec2(2, 1), lower.z, base, frame), d1 = developed(at + ivec2(3, 1), lower.w, base, frame);
    DEBUG_FIRST(DEBUG_RED, frame, a0.r);
    store_row(at, frame, a0, b0, c0, d0);
    if (at.y + 1 < size.y)
        store_row(at + ivec2(0, 1), frame, a1, b1, c1, d1);
    if (FORMAT == I420 || FORMAT == NV12 || FORMAT == P010)
        store_chroma(at, frame, 0.25 * (a0 + b0 + a1 + b1), 0.25 * (c0 + d0 + c1 + d1));
}
