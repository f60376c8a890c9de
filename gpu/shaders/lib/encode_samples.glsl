/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Samples of macroblocks before deblocking.
 */
#ifndef PELTON_ENCODE_SAMPLES_GLSL
#define PELTON_ENCODE_SAMPLES_GLSL

layout(set = 0, binding = ENC_BIND_UNFILTERED, scalar) coherent buffer unfiltered_buffer
{
    uint8_t unfiltered[];
};

/* Where the sample of a component of the picture is, by its place in the component */
int unfiltered_at(uint c, ivec2 at)
{
    uint w = luma_width(), h = luma_height(), size = w * h;
    uint base = picture * ENC_FRAME_SIZE(w, h) + (c == 0u ? 0u : size + (c - 1u) * size / 4u);
    return int(base) + at.y * int(c == 0u ? w : w / 2u) + at.x;
}

/* Place in its component of sample i of a macroblock, as pred has them; z: the component */
ivec3 sample_place(uint i)
{
    uint c = i < 256u ? 0u : i < 320u ? 1u : 2u, k = i & 63u;
    return c == 0u ? ivec3(16 * mb_at + ivec2(i & 15u, i >> 4), 0)
                   : ivec3(8 * mb_at + ivec2(k & 7u, k >> 3), c);
}

#endif
