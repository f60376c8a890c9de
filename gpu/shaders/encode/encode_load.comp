/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Luma of a frame into its set of planes, with the margin around it. A thread has a word of four
 * samples in each of ROWS rows. Grid: words of the plane and its margins in x, groups of rows in y,
 * pictures in z.
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
    ivec2 size = ivec2(luma_width(), luma_height()), at = word_at();
    uint picture = gl_WorkGroupID.z, set = set_made(picture), words[ROWS];
    uint first = picture * ENC_FRAME_SIZE(luma_width(), luma_height());
    if (at.x >= size.x + ENC_MARGIN || set_is_made(picture))
        return;
    [[unroll]] for (int i = 0; i < ROWS; i++) {
        ivec2 from = inside(at + ivec2(0, i), size);
        words[i] = frames[(first + uint(from.y * size.x + from.x)) >> 2];
    }
    [[unroll]] for (int i = 0; i < ROWS; i++)
        if (at.y + i < size.y + ENC_MARGIN)
            plane_words[word_place(set, 0u, at + ivec2(0, i))] = repeated(words[i], at.x, size.x);
}
