/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Planes in words of four samples. Widths and margins are multiples of four, so a word lies in the
 * picture or in a margin.
 */
#ifndef PELTON_ENCODE_PLANES_GLSL
#define PELTON_ENCODE_PLANES_GLSL

#extension GL_EXT_control_flow_attributes : require
#include "gpu/shaders/lib/encode_common.glsl"

#define ROWS ENC_PLANE_ROWS

layout(local_size_x = ENC_PLANE_WORDS) in;

layout(set = 0, binding = ENC_BIND_PLANES, scalar) buffer plane_buffer
{
    uint plane_words[];
};

/* The first sample of the thread's words, which lie in ROWS rows */
ivec2 word_at()
{
    return ivec2(4u * gl_GlobalInvocationID.x, ROWS * gl_GlobalInvocationID.y) - ENC_MARGIN;
}

/* The nearest word in the picture */
ivec2 inside(ivec2 at, ivec2 size)
{
    return clamp(at, ivec2(0), size - ivec2(4, 1));
}

/* A word of a margin repeats the sample at the picture's edge. */
uint repeated(uint word, int x, int width)
{
    return x < 0 ? (word & 255u) * 0x01010101u : x < width ? word : (word >> 24) * 0x01010101u;
}

uint word_place(uint set, uint plane, ivec2 at)
{
    return uint(int(plane_origin(set, plane)) + at.y * int(plane_stride(plane)) + at.x) >> 2;
}

#endif
