/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Samples of a frame in the colours of JFIF: colour_at of jpeg/jpeg_transform.c, for eight samples
 * of a row.
 */
#ifndef PELTON_JPEG_SAMPLES_GLSL
#define PELTON_JPEG_SAMPLES_GLSL

layout(set = 0, binding = JPEG_BIND_FRAMES, scalar) readonly buffer frame_buffer
{
    uint frames[];
};

/* Beyond an edge its samples repeat. */
int sample_at(uint c, uint x, uint y)
{
    uint at = JOB.plane[c] + min(y, JOB.height[c] - 1u) * JOB.stride[c] + min(x, JOB.width[c] - 1u);
    return int(frames[at >> 2] >> 8u * (at & 3u) & 0xffu);
}

int[8] samples_of(uint c, uint x, uint y)
{
    int v[8];
    if (x + 8u > JOB.width[c]) {
        [[unroll]] for (uint i = 0u; i < 8u; i++)
            v[i] = sample_at(c, x + i, y);
        return v;
    }
    uint at = JOB.plane[c] + min(y, JOB.height[c] - 1u) * JOB.stride[c] + x, shift = 8u * (at & 3u);
    uint a = frames[at >> 2], b = frames[(at >> 2) + 1u], low = a, high = b;
    if (shift != 0u) {
        low = a >> shift | b << 32u - shift;
        high = b >> shift | frames[(at >> 2) + 2u] << 32u - shift;
    }
    [[unroll]] for (int i = 0; i < 4; i++) {
        v[i] = int(low >> 8 * i & 0xffu);
        v[i + 4] = int(high >> 8 * i & 0xffu);
    }
    return v;
}

/* What chroma adds to luma: the chroma sample that covers it counts. */
int luma_of_chroma(uint x, uint y)
{
    uint at_x = min(x, JOB.width[0] - 1u) / JOB.sampling[0];
    uint at_y = min(y, JOB.height[0] - 1u) / JOB.sampling[1];
    return JOB.luma[1] * (sample_at(1u, at_x, at_y) - 128) +
           JOB.luma[2] * (sample_at(2u, at_x, at_y) - 128);
}

/* Without their mean of 128 */
int[8] colours_of(uint c, uint x, uint y)
{
    bool far = JOB.components == 3u && (JOB.luma[1] | JOB.luma[2]) != 0;
    int v[8] = samples_of(c, x, y), other[8], cross = 0, own = JOB.luma[0], black = JOB.black;
    if (c > 0u) {
        own = JOB.chroma[c - 1u][c - 1u];
        cross = JOB.chroma[c - 1u][2u - c];
        black = 128;
    }
    if (cross != 0)
        other = samples_of(3u - c, x, y);
    [[unroll]] for (uint i = 0u; i < 8u; i++) {
        int sum = own * (v[i] - black);
        if (c == 0u && far)
            sum += luma_of_chroma(x + i, y);
        if (cross != 0)
            sum += cross * (other[i] - 128);
        v[i] = clamp((sum + 8192 >> 14) + (c > 0u ? 128 : 0), 0, 255) - 128;
    }
    return v;
}

#endif
