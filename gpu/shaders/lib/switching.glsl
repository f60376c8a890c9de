/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Blocks of SP and SI slices (8.6). The prediction is transformed, joined with the levels and
 * quantised by QS. So different predictions may give the same samples. Only 8 bits and 4:2:0.
 * Levels beyond those of a legal stream wrap at 32 bits, as in the reference.
 */
#ifndef PELTON_SWITCHING_GLSL
#define PELTON_SWITCHING_GLSL

#include "gpu/shaders/lib/transform.glsl"

layout(set = SET_BATCH, binding = BIND_COEFFS, scalar) readonly buffer coeff_buffer
{
    int16_t coeffs[];
};

#define NO_UNIT 0xffffffffu

/* LevelScale2 and A (8.6.1), by position as normAdjust4x4. */
const ivec3 level_scale2[6] =
    ivec3[](ivec3(13107, 5243, 8066), ivec3(11916, 4660, 7490), ivec3(10082, 4194, 6554),
            ivec3(9362, 3647, 5825), ivec3(8192, 3355, 5243), ivec3(7282, 2893, 4559));
const ivec3 switching_norm = ivec3(16, 25, 20);

/* How a component of a macroblock is decoded. */
struct switching {
    int qp, qs;
    /* levels are added after the prediction's quantisation (8.6.2), not before (8.6.1) */
    bool after;
};

/* Is the residual of a macroblock not added to its prediction, but joined with it? */
bool is_switching(rec_mb mb, uint slice)
{
    return (uint(mb.flags) & REC_MB_SI) != 0u ||
           (uint(mb.kind) == REC_MB_INTER && uint(slices[slice].slice_type) == 3u);
}

switching switching_of(rec_mb mb, uint slice, uint c)
{
    bool after = (uint(mb.flags) & REC_MB_SI) != 0u || uint(slices[slice].sp_for_switch) != 0u;
    return switching(int(mb.qp[c]), int(slices[slice].qs[c]), after);
}

uint switching_block(uint coeff_base, rec_mb mb, uint c, uint b)
{
    return (uint(mb.coded[c]) >> b & 1u) != 0u ? coeff_block_of(coeff_base, mb, c, b) : NO_UNIT;
}

int switching_level(uint coeff_block, int i)
{
    return coeff_block < push.coeff_block_total ? int(coeffs[coeff_block * 16u + uint(i)]) : 0;
}

/* Sign(v) * ((Abs(v) * scale + half) >> bits), bits 15..24: the product takes more than 32 bits. */
int quantised(int v, int scale, int bits)
{
    uint high, low, carry;
    umulExtended(uint(abs(v)), uint(scale), high, low);
    low = uaddCarry(low, 1u << (bits - 1), carry);
    int level = int((high + carry) << (32 - bits) | low >> bits);
    return v < 0 ? -level : level;
}

/* Level of coefficient i at QS from the prediction's and the one in the stream. extra: bits by
 * which the chroma DC transform enlarges it. */
int requantised(switching s, int predicted, int level, int i, int extra)
{
    int scale = at_position(level_scale2[s.qs % 6], i), bits = 15 + extra + s.qs / 6;
    if (s.after)
        return level + quantised(predicted, scale, bits);
    int residual = (level * norm_adjust4(s.qp % 6, i) * at_position(switching_norm, i))
                   << (s.qp / 6);
    return quantised(predicted + (residual >> (6 - extra)), scale, bits);
}

/* One dimension of the forward transform (8.6.1). */
ivec4 forward_line(int a, int b, int c, int d)
{
    int e0 = a + d, e1 = b + c, e2 = b - c, e3 = a - d;
    return ivec4(e0 + e1, 2 * e3 + e2, e0 - e1, e3 - 2 * e2);
}

void forward4(inout int d[16])
{
    for (int y = 0; y < 4; y++) {
        ivec4 f = forward_line(d[4 * y], d[4 * y + 1], d[4 * y + 2], d[4 * y + 3]);
        d[4 * y] = f.x, d[4 * y + 1] = f.y, d[4 * y + 2] = f.z, d[4 * y + 3] = f.w;
    }
    for (int x = 0; x < 4; x++) {
        ivec4 f = forward_line(d[x], d[4 + x], d[8 + x], d[12 + x]);
        d[x] = f.x, d[4 + x] = f.y, d[8 + x] = f.z, d[12 + x] = f.w;
    }
}

ivec4 transform2x2(ivec4 v)
{
    ivec4 h = ivec4(v.x + v.y, v.x - v.y, v.z + v.w, v.z - v.w);
    return ivec4(h.xy + h.zw, h.xy - h.zw);
}

/* The scaled DC of chroma block b, from those of the four transformed predictions. */
int switching_dc(switching s, ivec4 predicted, uvec4 coeff_blocks, uint b)
{
    ivec4 v = transform2x2(predicted);
    for (int k = 0; k < 4; k++)
        v[k] = requantised(s, v[k], switching_level(coeff_blocks[k], 0), 0, 1);
    return ((transform2x2(v)[b] * norm_adjust4(s.qs % 6, 0)) << (s.qs / 6)) >> 1;
}

/* d: the transformed prediction of a block; then its samples, not clipped. In chroma dc, from
 * switching_dc, stands for the first coefficient. */
void switching_finish(switching s, uint coeff_block, bool chroma, int dc, inout int d[16])
{
    for (int i = 0; i < 16; i++)
        d[i] = scale_level(requantised(s, d[i], switching_level(coeff_block, i), i, 0),
                           16 * norm_adjust4(s.qs % 6, i), s.qs, 4);
    if (chroma)
        d[0] = dc;
    inverse4(d);
}

#endif
