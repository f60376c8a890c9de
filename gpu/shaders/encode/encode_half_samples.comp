/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Planes of the half samples b, h and j (8.4.2.2.1) of references, at all positions whose filter
 * stays in the margin. A thread makes a word of four samples of each in ROWS rows, from registers.
 * Grid: words in x, groups of rows in y, pictures in z. In the outer three samples of the margin
 * there is something that is not used.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/encode_planes.glsl"

#undef ROWS
#define ROWS ENC_HALF_SAMPLE_ROWS
#define TAPS 6

ivec4 tap6(ivec4 a, ivec4 b, ivec4 c, ivec4 d, ivec4 e, ivec4 f)
{
    return a + f - 5 * (b + e) + 20 * (c + d);
}

ivec4 samples_of(uint word)
{
    return ivec4(word & 255u, word >> 8 & 255u, word >> 16 & 255u, word >> 24);
}

uint word_of(ivec4 v)
{
    v = clamp(v, 0, 255);
    return uint(v.x | v.y << 8 | v.z << 16 | v.w << 24);
}

void main()
{
    ivec2 size = ivec2(luma_width(), luma_height()), end = size + ENC_MARGIN;
    ivec2 at = ivec2(word_at().x, ROWS * int(gl_WorkGroupID.y) - ENC_MARGIN);
    uint set = set_made(gl_WorkGroupID.z);
    ivec4 column[ROWS + TAPS - 1], b[ROWS + TAPS - 1]; /* samples, and b before rounding */
    if (at.x >= end.x)
        return;
    [[unroll]] for (int i = 0; i < ROWS + TAPS - 1; i++) {
        uint from = word_place(set, 0u, ivec2(at.x, clamp(at.y + i - 2, -ENC_MARGIN, end.y - 1)));
        ivec4 left = samples_of(plane_words[at.x > -ENC_MARGIN ? from - 1u : from]);
        ivec4 right = samples_of(plane_words[at.x + 4 < end.x ? from + 1u : from]);
        ivec4 middle = samples_of(plane_words[from]);
        column[i] = middle;
        b[i] = tap6(ivec4(left.zw, middle.xy), ivec4(left.w, middle.xyz), middle,
                    ivec4(middle.yzw, right.x), ivec4(middle.zw, right.xy),
                    ivec4(middle.w, right.xyz));
    }
    [[unroll]] for (int i = 0; i < ROWS; i++) {
        ivec2 to = at + ivec2(0, i);
        ivec4 h = tap6(column[i], column[i + 1], column[i + 2], column[i + 3], column[i + 4],
                       column[i + 5]);
        ivec4 j = tap6(b[i], b[i + 1], b[i + 2], b[i + 3], b[i + 4], b[i + 5]);
        plane_words[word_place(set, ENC_HALF_X, to)] = word_of((b[i + 2] + 16) >> 5);
        plane_words[word_place(set, ENC_HALF_Y, to)] = word_of((h + 16) >> 5);
        plane_words[word_place(set, ENC_HALF_XY, to)] = word_of((j + 512) >> 10);
    }
}
