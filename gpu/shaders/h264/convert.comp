/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Crops frames, scales them, converts their colours and types, and writes them to host memory, by
 * the table of a conversion (lib/conversion_abi.h, docs/design/convert.md). A workgroup makes 16 x
 * 16 output pixels; x is the tile in a row, y the row of tiles, plane below plane, z the delivery.
 * With PELTON_BLUR, a second compilation, samples inside rectangles are blurred before.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_scalar_block_layout : require
#include "gpu/shaders/lib/format.glsl"
#include "gpu/shaders/lib/conversion_abi.h"
#include "gpu/shaders/lib/half.glsl"
#include "gpu/shaders/lib/sample.glsl"

#define TILE CONVERT_TILE
#define ROWS 64u /* source rows that are kept at a time */

layout(local_size_x = TILE, local_size_y = TILE) in;

layout(set = SET_BATCH, binding = BIND_DELIVER, scalar) readonly buffer deliver_buffer
{
    recon_deliver_args deliveries[];
};
layout(set = SET_BATCH, binding = BIND_DELIVER, scalar) readonly buffer table_buffer
{
    uint words[];
};
layout(set = SET_BATCH, binding = BIND_FRAME_Y,
       SAMPLE_FORMAT) readonly uniform uimage2DArray frame_y;
layout(set = SET_BATCH, binding = BIND_FRAME_CB,
       SAMPLE_FORMAT) readonly uniform uimage2DArray frame_cb;
layout(set = SET_BATCH, binding = BIND_FRAME_CR,
       SAMPLE_FORMAT) readonly uniform uimage2DArray frame_cr;
layout(set = SET_HOST, binding = HOST_BINDING, scalar) writeonly buffer host_buffer
{
    uint host[];
};

/* All tables have the chroma format of the store, but for its separate planes. */
layout(constant_id = 0) const uint SOURCE_CHROMA = 1u;

#ifdef PELTON_BLUR
#include "gpu/shaders/lib/blurred.glsl"
#endif

#define HEAD(i) words[d.convert + uint(i)]

shared int rows[ROWS][TILE];
shared uint values[4 * TILE * TILE];

uint index;
recon_deliver_args d;

ivec4 load_texel(uint plane, int x, uint y)
{
    ivec3 at = ivec3(x, int((y * d.row_step) + d.row_first), int(d.slot));
    if (plane == 0u)
        return samples_of(imageLoad(frame_y, ivec3(min(at.x, imageSize(frame_y).x - 1), at.yz)));
    at.x = min(at.x, imageSize(frame_cb).x - 1);
    return samples_of(plane == 1u ? imageLoad(frame_cb, at) : imageLoad(frame_cr, at));
}

int weight_of(uint word, uint which)
{
    return bitfieldExtract(int(word), int(16u * which), 16);
}

/* Four samples from x on of a row, in the picture that leaves. */
ivec4 leaving(ivec4 samples, uint plane, uint x, uint y)
{
#ifdef PELTON_BLUR
    for (uint i = 0u; i < 4u; i++)
        samples[i] = int(blurred(uint(samples[i]), plane, x + i, y, index));
#endif
    return samples;
}

/* The horizontal sum of output column x of a source row. */
int row_sum(uint plane, uint x, uint row)
{
    uint p = uint(CONVERT_PLANES) + plane * uint(CONVERT_PLANE_WORDS),
         taps = HEAD(p + CONVERT_X_TAPS),
         entry = HEAD(p + CONVERT_X) + x * CONVERT_ENTRY_WORDS(taps), first = HEAD(entry),
         shift = HEAD(p + CONVERT_SHIFT);
    bool halved = plane != 0u && SOURCE_CHROMA < 3u, low = plane != 0u && SOURCE_CHROMA == 1u;
    uint left = first + (halved ? d.crop_x >> 1 : d.crop_x),
         y = row + (low ? d.crop_y >> 1 : d.crop_y);
    int texel = int(left >> 2), sum = 1 << shift >> 1;
    ivec4 a = load_texel(plane, texel, y);
    for (uint i = 0u; i < taps; i += 4u) {
        ivec4 b = load_texel(plane, ++texel, y);
        ivec4 s = leaving(shifted(a, b, int(left & 3u)), plane, first + i, row);
        uint lower = HEAD(entry + 1u + i / 2u), upper = HEAD(entry + 2u + i / 2u);
        sum += weight_of(lower, 0u) * s.x + weight_of(lower, 1u) * s.y +
               weight_of(upper, 0u) * s.z + weight_of(upper, 1u) * s.w;
        a = b;
    }
    return min(sum >> shift, CONVERT_ROW_TOP);
}

/* Both sums of a plane for this thread's pixel of the tile at `tile`. All threads of the workgroup
 * call it. Entries behind a last row have weights of 0, so any row will do for them. */
int plane_sum(uint plane, uvec2 tile)
{
    uint p = uint(CONVERT_PLANES) + plane * uint(CONVERT_PLANE_WORDS),
         taps = HEAD(p + CONVERT_Y_TAPS), size = CONVERT_ENTRY_WORDS(taps),
         entries = HEAD(p + CONVERT_Y);
    uvec2 last = uvec2(HEAD(p + CONVERT_WIDTH), HEAD(p + CONVERT_HEIGHT)) - 1u,
          at = min(tile + gl_LocalInvocationID.xy, last);
    uint low = plane != 0u && SOURCE_CHROMA == 1u ? 1u : 0u, most = ((d.height + low) >> low) - 1u,
         begin = HEAD(entries + tile.y * size),
         end = min(HEAD(entries + min(tile.y + TILE - 1u, last.y) * size) + taps - 1u, most),
         entry = entries + at.y * size, first = HEAD(entry);
    int sum = 1 << (CONVERT_ROW_BITS - 1);
    for (uint base = begin; base <= end; base += ROWS) {
        barrier();
        for (uint row = gl_LocalInvocationID.y; row < ROWS && base + row <= end; row += TILE)
            rows[row][gl_LocalInvocationID.x] = row_sum(plane, at.x, base + row);
        barrier();
        uint from = max(base, first), to = min(min(base + ROWS - 1u, end), first + taps - 1u);
        for (uint row = from; row <= to; row++) {
            uint i = row - first;
            sum += weight_of(HEAD(entry + 1u + i / 2u), i & 1u) *
                   rows[row - base][gl_LocalInvocationID.x];
        }
    }
    return sum >> CONVERT_ROW_BITS;
}

/* A level, a half float or a float of a channel's sum. */
uint channel_value(uint channel, ivec3 sums)
{
    int sum = 0;
    if (channel == 3u)
        return HEAD(CONVERT_OPAQUE);
    for (uint p = 0u; p < HEAD(CONVERT_SOURCES); p++)
        sum +=
            int(HEAD(CONVERT_MATRIX + 3u * channel + p)) * (sums[p] - int(HEAD(CONVERT_ZERO + p)));
    if (HEAD(CONVERT_FLOAT) == 0u)
        return uint(clamp((sum + (1 << (CONVERT_LEVEL_BITS - 1))) >> CONVERT_LEVEL_BITS, 0, 255));
    const int shift = CONVERT_LEVEL_BITS - CONVERT_FLOAT_BITS;
    int level = clamp((sum + (1 << (shift - 1))) >> shift, 0, 255 << CONVERT_FLOAT_BITS);
    precise float product = float(level) * uintBitsToFloat(HEAD(CONVERT_SCALE + channel));
    precise float value = product + uintBitsToFloat(HEAD(CONVERT_ADD + channel));
    return HEAD(CONVERT_BYTES) == 2u ? half_of(value) : floatBitsToUint(value);
}

uint plane_value(int sum)
{
    int depth = int(HEAD(CONVERT_DEPTH)), shift = 16 - depth;
    return uint(clamp((sum + (1 << shift >> 1)) >> shift, 0, (1 << depth) - 1));
}

/* The tile's values of one plane, from values[from] on: `side` of them stand in a pixel. Words go
 * past the last value of a row, which ends with zeros. */
void tile_write(uint from, uint side, uvec2 tile, uvec2 size, uint offset, uint stride)
{
    uint bytes = HEAD(CONVERT_BYTES), in_word = 4u / bytes, row_words = TILE * side / in_word,
         most = (size.x * side + in_word - 1u) / in_word, skip = tile.x * side / in_word;
    for (uint w = gl_LocalInvocationIndex; w < TILE * row_words; w += TILE * TILE) {
        uint row = w / row_words, word = w % row_words, result = 0u;
        if (tile.y + row >= size.y || skip + word >= most)
            continue;
        for (uint i = 0u; i < in_word; i++) {
            uint at = word * in_word + i;
            if (tile.x + at / side < size.x)
                result |= values[from + row * TILE * side + at] << (8u * bytes * i);
        }
        host[offset + (tile.y + row) * stride + skip + word] = result;
    }
}

uvec2 plane_size(uint plane)
{
    uint p = uint(CONVERT_PLANES) + plane * uint(CONVERT_PLANE_WORDS);
    return uvec2(HEAD(p + CONVERT_WIDTH), HEAD(p + CONVERT_HEIGHT));
}

void pixels(uvec2 tile)
{
    uvec2 size = plane_size(0u);
    if (tile.x >= size.x || tile.y >= size.y)
        return;
    uint channels = HEAD(CONVERT_CHANNELS), pixel = gl_LocalInvocationIndex;
    bool packed = HEAD(CONVERT_PACKED) != 0u;
    ivec3 sums = ivec3(0);
    for (uint p = 0u; p < HEAD(CONVERT_SOURCES); p++)
        sums[p] = plane_sum(p, tile);
    for (uint i = 0u; i < channels; i++)
        values[packed ? pixel * channels + i : i * TILE * TILE + pixel] = channel_value(i, sums);
    barrier();
    for (uint i = 0u; i < (packed ? 1u : channels); i++)
        tile_write(i * TILE * TILE, packed ? channels : 1u, tile, size,
                   d.offset[0] + i * size.y * d.stride[0], d.stride[0]);
}

void planes(uvec2 tile)
{
    uint plane = 0u, pairs = HEAD(CONVERT_PAIRS);
    uint count = pairs != 0u ? min(2u, HEAD(CONVERT_SOURCES)) : HEAD(CONVERT_SOURCES);
    uvec2 size = plane_size(0u);
    while (tile.y >= (size.y + TILE - 1u) / TILE * TILE) {
        tile.y -= (size.y + TILE - 1u) / TILE * TILE;
        if (++plane >= count)
            return;
        size = plane_size(plane);
    }
    if (tile.x >= size.x)
        return;
    uint side = plane != 0u && pairs != 0u ? 2u : 1u;
    for (uint i = 0u; i < side; i++)
        values[gl_LocalInvocationIndex * side + i] = plane_value(plane_sum(plane + i, tile));
    barrier();
    tile_write(0u, side, tile, size, d.offset[plane], d.stride[plane]);
}

void main()
{
    index = push.first_picture + gl_WorkGroupID.z;
    d = deliveries[index];
    uvec2 tile = gl_WorkGroupID.xy * TILE;
    if (HEAD(CONVERT_KIND) == CONVERT_KIND_PIXELS)
        pixels(tile);
    else
        planes(tile);
}
