/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Half of a plane's size: rounded means of four samples, with the margin around them. A thread has
 * a word of four in each of ROWS rows. Grid: words of the plane that is made in x, groups of its
 * rows in y, pictures in z.
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

/* Of sums of four samples */
uint word_of_means(uvec2 sums)
{
    uvec2 means = (sums + 0x00020002u) >> 2 & 0x00ff00ffu;
    means |= means >> 8;
    return (means.x & 0xffffu) | means.y << 16;
}

void main()
{
    ivec2 size = ivec2(luma_width(), luma_height()) >> ENC_LEVEL(TO), at = word_at();
    uint set = set_made(gl_WorkGroupID.z);
    uvec2 sums[ROWS];
    if (at.x >= size.x + ENC_MARGIN || set_is_made(gl_WorkGroupID.z))
        return;
    [[unroll]] for (int i = 0; i < ROWS; i++) {
        ivec2 from = 2 * inside(at + ivec2(0, i), size);
        sums[i] = pairs(two_words(set, from)) + pairs(two_words(set, from + ivec2(0, 1)));
    }
    [[unroll]] for (int i = 0; i < ROWS; i++)
        if (at.y + i < size.y + ENC_MARGIN)
            plane_words[word_place(set, TO, at + ivec2(0, i))] =
                repeated(word_of_means(sums[i]), at.x, size.x);
}
