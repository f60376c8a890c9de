/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Luma of a frame into its set of planes, with the margin around it. A thread has a word of four
 * samples. Grid: words of the plane and its margins in x, rows in y, pictures in z.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/encode_planes.glsl"

layout(set = 0, binding = ENC_BIND_FRAMES, scalar) readonly buffer frame_buffer
{
    uint frames[];
};

void main()
{
    ivec2 size = ivec2(luma_width(), luma_height()), at = word_at(), from = inside(at, size);
    uint picture = gl_WorkGroupID.z, set = set_made(picture);
    if (any(greaterThanEqual(at, size + ENC_MARGIN)) || set_is_made(picture))
        return;
    uint word = frames[(picture * ENC_FRAME_SIZE(luma_width(), luma_height()) +
                        uint(from.y * size.x + from.x)) >>
                       2];
    plane_words[word_place(set, 0u, at)] = repeated(word, at.x, size.x);
}
