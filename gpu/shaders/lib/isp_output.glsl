/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Linear samples to pictures, 2 x 2 pixels at a time: colour matrix, tone curve, output format.
 * Chroma of 4:2:0 is the mean of four pixels. The including shader defines OUTPUT_FIRST, the id of
 * its first specialisation constant.
 */
layout(set = ISP_SET_BATCH, binding = ISP_BIND_OUTPUT, scalar) writeonly
    restrict buffer output_buffer
{
    uint words[];
};
layout(set = ISP_SET_BATCH, binding = ISP_BIND_OUTPUT, scalar) writeonly
    restrict buffer output_halves
{
    uint16_t halves[];
};
layout(set = ISP_SET_BATCH, binding = ISP_BIND_OUTPUT, scalar) writeonly
    restrict buffer output_bytes
{
    uint8_t octets[];
};
layout(set = ISP_SET_CAMERA, binding = 0, scalar) readonly restrict buffer table_lines
{
    vec2 lines[];
};

layout(constant_id = OUTPUT_FIRST) const uint FORMAT = 0u;
layout(constant_id = OUTPUT_FIRST + 1) const uint CURVE = 0u;  /* 0: linear */
layout(constant_id = OUTPUT_FIRST + 2) const uint MATRIX = 0u; /* 0: colours stay as they are */

/* enum isp_format */
#define I420  0u
#define NV12  1u
#define P010  2u
#define GRAY8 3u
#define RGB24 4u
#define RGBA  5u
#define RGB48 6u
#define BGR24 7u
#define BGRA  8u

/* v: 0..1 / unit, in which the table's slopes are, too. The curve's piece is found in the bits of 2
 * + v, 2..3. It is continuous, so a whole number may come out of either neighbour. */
float curve(float v, float unit)
{
    precise float above = fma(v, unit, 2.0);
    vec2 line = lines[floatBitsToUint(above) >> 12 & 0x7ffu];
    return fma(v, line.y, line.x);
}

/* v: 0..1 / unit */
vec3 curved(vec3 v, float unit)
{
    return CURVE == 0u ? v * unit : vec3(curve(v.r, unit), curve(v.g, unit), curve(v.b, unit));
}

/* v: samples; unit: of them, in 65535ths of full scale. */
vec3 toned(vec3 v, vec3 unit)
{
    if (MATRIX == 0u) {
        v = clamp(v * (unit * CAMERA.colour[0]), 0.0, 1.0);
    } else {
        vec3 red = vec3(CAMERA.colour[0], CAMERA.colour[3], CAMERA.colour[6]) * unit.r;
        vec3 green = vec3(CAMERA.colour[1], CAMERA.colour[4], CAMERA.colour[7]) * unit.g;
        vec3 blue = vec3(CAMERA.colour[2], CAMERA.colour[5], CAMERA.colour[8]) * unit.b;
        v = clamp(red * v.r + green * v.g + blue * v.b, 0.0, 1.0);
    }
    return curved(v, 1.0);
}

#ifdef OUTPUT_STANDARD
/* Constants: what isp_table.c says of pictures that are not Y, Cb, Cr to begin with. Who includes
 * this defines FULL_RANGE, BT601. */
#define CODE_UNIT (FORMAT == P010 ? 4.0 : 1.0)
#define CODE_MOST (FORMAT == P010 ? 1023.0 : 255.0)
vec3 primaries()
{
    if (BT601)
        return vec3(0.299, 0.587, 0.114);
    return vec3(0.2126, 0.7152, 0.0722);
}

vec4 luma_weights()
{
    return FULL_RANGE ? vec4(primaries() * CODE_MOST, 0.0)
                      : vec4(primaries() * (219.0 * CODE_UNIT), 16.0 * CODE_UNIT);
}

/* i: 0 of Cr, 2 of Cb: H.273 equations 38 to 40 */
vec4 chroma_weights(int i)
{
    vec3 k = primaries(), difference = vec3(i == 0, 0.0, i == 2) - k;
    return vec4(difference * ((FULL_RANGE ? CODE_MOST : 224.0 * CODE_UNIT) / (2.0 - 2.0 * k[i])),
                128.0 * CODE_UNIT);
}
#else
vec4 luma_weights()
{
    return vec4(CAMERA.luma[0], CAMERA.luma[1], CAMERA.luma[2], CAMERA.luma_offset);
}

vec4 chroma_weights(int i)
{
    return i == 0 ? vec4(CAMERA.cr[0], CAMERA.cr[1], CAMERA.cr[2], CAMERA.chroma_offset)
                  : vec4(CAMERA.cb[0], CAMERA.cb[1], CAMERA.cb[2], CAMERA.chroma_offset);
}
#endif

float weighted(vec4 k, vec3 v)
{
    return k.r * v.r + (k.g * v.g + (k.b * v.b + k.a));
}

uint word10(float a, float b)
{
    return to_uint(a) << 6 | to_uint(b) << 22;
}

void store_luma(ivec2 at, uint frame, vec3 a, vec3 b)
{
    float y0 = weighted(luma_weights(), a), y1 = weighted(luma_weights(), b);
    uint row = args[frame].plane[0] + uint(at.y) * CAMERA.plane_stride[0];
    if (FORMAT == P010)
        words[row + uint(at.x >> 1)] = word10(y0, y1);
    else
        halves[2u * row + uint(at.x >> 1)] = uint16_t(to_uint(y0) | to_uint(y1) << 8);
}

/* v: the sum of four pixels */
void store_chroma(ivec2 at, uint frame, vec3 v)
{
    float most = FORMAT == P010 ? 1023.0 : 255.0;
    const vec4 mean = vec4(0.25, 0.25, 0.25, 1.0);
    float cb = min(weighted(mean * chroma_weights(2), v), most),
          cr = min(weighted(mean * chroma_weights(0), v), most);
    uint row = args[frame].plane[1] + uint(at.y >> 1) * CAMERA.plane_stride[1];
    if (FORMAT == NV12) {
        halves[2u * row + uint(at.x >> 1)] = uint16_t(to_uint(cb) | to_uint(cr) << 8);
    } else if (FORMAT == P010) {
        words[row + uint(at.x >> 1)] = word10(cb, cr);
    } else {
        uint last = args[frame].plane[2] + uint(at.y >> 1) * CAMERA.plane_stride[2];
        octets[4u * row + uint(at.x >> 1)] = uint8_t(to_uint(cb));
        octets[4u * last + uint(at.x >> 1)] = uint8_t(to_uint(cr));
    }
}

void store_rgb(ivec2 at, uint frame, vec3 a, vec3 b)
{
    uint row = args[frame].plane[0] + uint(at.y) * CAMERA.plane_stride[0], x = uint(at.x >> 1);
    float scale = FORMAT == RGB48 ? 65535.0 : 255.0;
    bool swapped = FORMAT == BGR24 || FORMAT == BGRA;
    a = (swapped ? a.bgr : a.rgb) * scale;
    b = (swapped ? b.bgr : b.rgb) * scale;
    if (FORMAT == RGB24 || FORMAT == BGR24) {
        halves[2u * row + 3u * x] = uint16_t(to_uint(a.r) | to_uint(a.g) << 8);
        halves[2u * row + 3u * x + 1u] = uint16_t(to_uint(a.b) | to_uint(b.r) << 8);
        halves[2u * row + 3u * x + 2u] = uint16_t(to_uint(b.g) | to_uint(b.b) << 8);
    } else if (FORMAT == RGBA || FORMAT == BGRA) {
        words[row + 2u * x] = to_uint(a.r) | to_uint(a.g) << 8 | to_uint(a.b) << 16 | 0xff000000u;
        words[row + 2u * x + 1u] =
            to_uint(b.r) | to_uint(b.g) << 8 | to_uint(b.b) << 16 | 0xff000000u;
    } else {
        words[row + 3u * x] = to_pair(a.r, a.g);
        words[row + 3u * x + 1u] = to_pair(a.b, b.r);
        words[row + 3u * x + 2u] = to_pair(b.g, b.b);
    }
}

void store_row(ivec2 at, uint frame, vec3 a, vec3 b)
{
    if (FORMAT >= RGB24)
        store_rgb(at, frame, a, b);
    else
        store_luma(at, frame, a, b);
}

/* Toned pixels, row by row; at: of the first, even, inside the picture. Rows have room for a whole
 * pair. */
void store_cell(ivec2 at, uint frame, vec3 a, vec3 b, vec3 c, vec3 d)
{
    store_row(at, frame, a, b);
    if (at.y + 1 < int(CAMERA.out_height))
        store_row(at + ivec2(0, 1), frame, c, d);
    if (FORMAT == I420 || FORMAT == NV12 || FORMAT == P010)
        store_chroma(at, frame, a + b + c + d);
}
