/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Texels: four samples, leftmost lowest. 8 bits each in 32, or 16 bits each in 64 with PELTON_WIDE.
 */
#ifndef PELTON_SAMPLE_GLSL
#define PELTON_SAMPLE_GLSL

#ifdef PELTON_WIDE

#define SAMPLE_FORMAT rg32ui

ivec4 samples_of(uvec4 texel)
{
    return ivec4(texel.x & 0xffffu, texel.x >> 16, texel.y & 0xffffu, texel.y >> 16);
}

uvec4 texel_of(ivec4 samples)
{
    uvec4 s = uvec4(samples);
    return uvec4(s.x | s.y << 16, s.z | s.w << 16, 0u, 0u);
}

#else

#define SAMPLE_FORMAT r32ui

ivec4 samples_of(uvec4 texel)
{
    uint w = texel.x;
    return ivec4(w & 0xffu, (w >> 8) & 0xffu, (w >> 16) & 0xffu, w >> 24);
}

uvec4 texel_of(ivec4 samples)
{
    uvec4 s = uvec4(samples);
    return uvec4(s.x | s.y << 8 | s.z << 16 | s.w << 24);
}

#endif

/* Four samples from the shift-th of a on; b follows a. */
ivec4 shifted(ivec4 a, ivec4 b, int shift)
{
    return shift == 0   ? a
           : shift == 1 ? ivec4(a.yzw, b.x)
           : shift == 2 ? ivec4(a.zw, b.xy)
                        : ivec4(a.w, b.xyz);
}

#endif
