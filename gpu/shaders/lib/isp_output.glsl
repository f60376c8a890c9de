/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Linear samples to pictures, 2 x 2 pixels at a time: colour matrix, tone curve, output format. Chroma of 4:2:0 is the mean of four
 * pixels. Who includes this defines OUTPUT_FIRST, the id of its first specialisation constant.
 */
layout(set = ISP_SET_BATCH, binding = ISP_BIND_OUTPUT, scalar) writeonly restrict buffer output_buffer { uint words[]; };
layout(set = ISP_SET_BATCH, binding = ISP_BIND_OUTPUT, scalar) writeonly restrict buffer output_halves { uint16_t halves[]; };
layout(set = ISP_SET_BATCH, binding = ISP_BIND_OUTPUT, scalar) writeonly restrict buffer output_bytes { uint8_t octets[]; };
layout(set = ISP_SET_CAMERA, binding = 0, scalar) readonly restrict buffer table_lines { vec2 lines[]; };

layout(constant_id = OUTPUT_FIRST) const uint FORMAT = 0u;
layout(constant_id = OUTPUT_FIRST + 1) const uint CURVE = 0u; /* 0: linear */
layout(constant_id = OUTPUT_FIRST + 2) const uint MATRIX = 0u; /* 0: colours stay as they are */

/* enum isp_format */
#define I420 0u
#define NV12 1u
#define P010 2u
#define GRAY8 3u
#define RGB24 4u
#define RGBA 5u
#define RGB48 6u

/* v: 0..1. The curve's piece is found in the bits of 1 + v, 1..2. It is continuous, so a whole number may come out of either
 * neighbour. */
float curve(float v, uint first)
{
    precise float above = 1.0 + v;
    vec2 line = lines[first + (floatBitsToUint(above) >> 13)];
    return fma(v, line.y, line.x);
}

/* v: samples; unit: of them, in 65535ths of full scale. */
vec3 toned(vec3 v, vec3 unit, uint frame)
{
    if (MATRIX == 0u) {
        v = clamp(v * (unit * args[frame].colour[0]), 0.0, 1.0);
    } else {
        vec3 red = vec3(args[frame].colour[0], args[frame].colour[3], args[frame].colour[6]) * unit.r;
        vec3 green = vec3(args[frame].colour[1], args[frame].colour[4], args[frame].colour[7]) * unit.g;
        vec3 blue = vec3(args[frame].colour[2], args[frame].colour[5], args[frame].colour[8]) * unit.b;
        v = clamp(red * v.r + green * v.g + blue * v.b, 0.0, 1.0);
    }
    uint first = (args[frame].tone >> 1) - (0x3f800000u >> 13);
    return CURVE == 0u ? v : vec3(curve(v.r, first), curve(v.g, first), curve(v.b, first));
}

float dot3(float k[3], vec3 v, float offset)
{
    return k[0] * v.r + (k[1] * v.g + (k[2] * v.b + offset));
}

uint word10(float a, float b)
{
    return to_uint(a) << 6 | to_uint(b) << 22;
}

void store_luma(ivec2 at, uint frame, vec3 a, vec3 b)
{
    float offset = args[frame].luma_offset;
    float y0 = dot3(args[frame].luma, a, offset), y1 = dot3(args[frame].luma, b, offset);
    uint row = args[frame].plane[0] + uint(at.y) * args[frame].plane_stride[0];
    if (FORMAT == P010)
        words[row + uint(at.x >> 1)] = word10(y0, y1);
    else
        halves[2u * row + uint(at.x >> 1)] = uint16_t(to_uint(y0) | to_uint(y1) << 8);
}

/* v: the mean of four pixels */
void store_chroma(ivec2 at, uint frame, vec3 v)
{
    float most = FORMAT == P010 ? 1023.0 : 255.0, offset = args[frame].chroma_offset;
    float cb = min(dot3(args[frame].cb, v, offset), most), cr = min(dot3(args[frame].cr, v, offset), most);
    uint row = args[frame].plane[1] + uint(at.y >> 1) * args[frame].plane_stride[1];
    if (FORMAT == NV12) {
        halves[2u * row + uint(at.x >> 1)] = uint16_t(to_uint(cb) | to_uint(cr) << 8);
    } else if (FORMAT == P010) {
        words[row + uint(at.x >> 1)] = word10(cb, cr);
    } else {
        uint last = args[frame].plane[2] + uint(at.y >> 1) * args[frame].plane_stride[2];
        octets[4u * row + uint(at.x >> 1)] = uint8_t(to_uint(cb));
        octets[4u * last + uint(at.x >> 1)] = uint8_t(to_uint(cr));
    }
}

void store_rgb(ivec2 at, uint frame, vec3 a, vec3 b)
{
    uint row = args[frame].plane[0] + uint(at.y) * args[frame].plane_stride[0], x = uint(at.x >> 1);
    float scale = FORMAT == RGB48 ? 65535.0 : 255.0;
    a *= scale;
    b *= scale;
    if (FORMAT == RGB24) {
        halves[2u * row + 3u * x] = uint16_t(to_uint(a.r) | to_uint(a.g) << 8);
        halves[2u * row + 3u * x + 1u] = uint16_t(to_uint(a.b) | to_uint(b.r) << 8);
        halves[2u * row + 3u * x + 2u] = uint16_t(to_uint(b.g) | to_uint(b.b) << 8);
    } else if (FORMAT == RGBA) {
        words[row + 2u * x] = to_uint(a.r) | to_uint(a.g) << 8 | to_uint(a.b) << 16 | 0xff000000u;
        words[row + 2u * x + 1u] = to_uint(b.r) | to_uint(b.g) << 8 | to_uint(b.b) << 16 | 0xff000000u;
    } else {
        words[row + 3u * x] = to_pair(a.r, a.g);
        words[row + 3u * x + 1u] = to_pair(a.b, b.r);
        words[row + 3u * x + 2u] = to_pair(b.g, b.b);
    }
}

void store_row(ivec2 at, uint frame, vec3 a, vec3 b)
{
    if (FORMAT == RGB24 || FORMAT == RGBA || FORMAT == RGB48)
        store_rgb(at, frame, a, b);
    else
        store_luma(at, frame, a, b);
}

/* Toned pixels, row by row; at: of the first, even, inside the picture. Rows have room for a whole pair. */
void store_cell(ivec2 at, uint frame, vec3 a, vec3 b, vec3 c, vec3 d)
{
    store_row(at, frame, a, b);
    if (at.y + 1 < int(args[frame].out_height))
        store_row(at + ivec2(0, 1), frame, c, d);
    if (FORMAT == I420 || FORMAT == NV12 || FORMAT == P010)
        store_chroma(at, frame, 0.25 * (a + b + c + d));
}
