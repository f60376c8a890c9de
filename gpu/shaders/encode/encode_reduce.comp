/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Half of a plane's size: rounded means of four samples, with the margin around them. A thread has
 * a word of four. Grid: words of the plane that is made in x, its rows in y, pictures in z.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/encode_planes.glsl"

layout(constant_id = 0) const uint FROM = 0;
layout(constant_id = 1) const uint TO = ENC_PLANE_HALF;

/* Sums of pairs of samples, two in a word */
uvec2 pairs(uvec2 words)
{
    return (words & 0x00ff00ffu) + (words >> 8 & 0x00ff00ffu);
}

uvec2 two_words(uint set, ivec2 at)
{
    uint place = word_place(set, FROM, at);
    return uvec2(plane_words[place], plane_words[place + 1u]);
}

void main()
{
    ivec2 size = ivec2(luma_width(), luma_height()) >> ENC_LEVEL(TO), at = word_at();
    if (any(greaterThanEqual(at, size + ENC_MARGIN)) || set_is_made(gl_WorkGroupID.z))
        return;
    ivec2 from = 2 * inside(at, size);
    uint set = set_made(gl_WorkGroupID.z);
    uvec2 sums = pairs(two_words(set, from)) + pairs(two_words(set, from + ivec2(0, 1)));
    uvec2 means = (sums + 0x00020002u) >> 2 & 0x00ff00ffu;
    means |= means >> 8;
    plane_words[word_place(set, TO, at)] =
        repeated((means.x & 0xffffu) | means.y << 16, at.x, size.x);
}
