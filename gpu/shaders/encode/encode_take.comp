/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A frame that lies on the device, as whole macroblocks: the last column and row repeat. Luma goes
 * where encode_load takes it, chroma into the source's set of planes. A thread has a word of four
 * samples in each of ROWS rows. Grid: words of a row of luma in x, groups of its rows in y, planes
 * in z.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#include "gpu/shaders/lib/encode_args.h"

#define ROWS ENC_PLANE_ROWS

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
    uvec2 at = uvec2(4u * gl_GlobalInvocationID.x, ROWS * gl_GlobalInvocationID.y);
    uvec2 whole = 16u * uvec2(args.mb_width, args.mb_height);
    uint plane = gl_WorkGroupID.z, w = whole.x, h = whole.y, half_of = min(plane, 1u);
    uvec2 last = ((uvec2(args.width, args.height) + half_of) >> half_of) - 1u;
    whole >>= half_of;
    if (any(greaterThanEqual(at, whole)))
        return;
    uint words[ROWS];
    [[unroll]] for (uint i = 0u; i < ROWS; i++) {
        uint row = args.offset[plane] + min(at.y + i, last.y) * args.stride[plane];
        words[i] = host[row + (min(at.x, last.x) >> 2)];
    }
    uint to = plane == 0u ? args.picture * ENC_FRAME_SIZE(w, h)
                          : args.set * ENC_SET_SIZE(w, h) + ENC_CHROMA_AT(w, h) +
                                (plane - 1u) * (w * h / 4u);
    [[unroll]] for (uint i = 0u; i < ROWS; i++) {
        uint place = (to + (at.y + i) * whole.x + at.x) >> 2, word = ended(words[i], at.x, last.x);
        if (plane == 0u)
            frames[place] = word;
        else
            plane_words[place] = word;
    }
}
