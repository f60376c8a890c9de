/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A frame that lies on the device, as whole macroblocks: the last column and row repeat. Luma goes
 * where encode_load takes it, chroma into the source's set of planes. A thread has a word of four
 * samples. Grid: words of a row of luma in x, rows of luma in y, planes in z.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#include "gpu/shaders/lib/encode_args.h"

layout(local_size_x = ENC_PLANE_WORDS) in;

layout(push_constant, scalar) uniform push_block
{
    enc_take_args args;
};
layout(set = 0, binding = ENC_BIND_FRAMES, scalar) writeonly buffer frame_buffer
{
    uint frames[];
};
layout(set = 0, binding = ENC_BIND_PLANES, scalar) writeonly buffer plane_buffer
{
    uint plane_words[];
};
layout(set = 1, binding = 0, scalar) readonly buffer host_buffer
{
    uint host[];
};

/* Samples after the last one of a row repeat it. */
uint ended(uint word, uint x, uint last)
{
    uint edge = (word >> (8u * (last & 3u)) & 255u) * 0x01010101u;
    uint kept = x > last ? 0u : x + 3u > last ? 0xffffffffu >> (8u * (3u - (last & 3u))) : ~0u;
    return (word & kept) | (edge & ~kept);
}

void main()
{
    uvec2 at = uvec2(4u * gl_GlobalInvocationID.x, gl_GlobalInvocationID.y);
    uvec2 whole = 16u * uvec2(args.mb_width, args.mb_height);
    uint plane = gl_WorkGroupID.z, w = whole.x, h = whole.y, half_of = min(plane, 1u);
    uvec2 last = ((uvec2(args.width, args.height) + half_of) >> half_of) - 1u;
    whole >>= half_of;
    if (any(greaterThanEqual(at, whole)))
        return;
    uint row = args.offset[plane] + min(at.y, last.y) * args.stride[plane];
    uint word = ended(host[row + (min(at.x, last.x) >> 2)], at.x, last.x);
    uint place = at.y * whole.x + at.x;
    if (plane == 0u)
        frames[(args.picture * ENC_FRAME_SIZE(w, h) + place) >> 2] = word;
    else
        plane_words[(args.set * ENC_SET_SIZE(w, h) + ENC_CHROMA_AT(w, h) +
                     (plane - 1u) * (w * h / 4u) + place) >>
                    2] = word;
}
