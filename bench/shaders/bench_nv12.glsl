/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Linear RGB of 16 bits to NV12 of full range (Rec. ITU-R BT.709-6, 3.2 and 3.3), in whole numbers.
 * The NV12 picture follows width x height pixels of 8 bytes.
 */
uint luma_of(uvec3 p)
{
    return min(6966u * p.r + 23436u * p.g + 2366u * p.b + (1u << 22) >> 23, 255u);
}

uint chroma_of(ivec3 p)
{
    int cb = 128 + (-3754 * p.r - 12630 * p.g + 16384 * p.b + (1 << 22) >> 23);
    int cr = 128 + (16384 * p.r - 14882 * p.g - 1502 * p.b + (1 << 22) >> 23);
    return uint(clamp(cb, 0, 255)) | uint(clamp(cr, 0, 255)) << 8;
}

/* Pixels x..x+3 of rows y and y + 1; x a multiple of 4, y even. */
void store_nv12(uint x, uint y, uvec3 upper[4], uvec3 lower[4])
{
    uint base = 2 * push.width * push.height, chroma = base + push.width * push.height / 4,
         word[2] = uint[](0, 0), pairs = 0;
    [[unroll]] for (int i = 0; i < 4; i++) {
        word[0] |= luma_of(upper[i]) << 8 * i;
        word[1] |= luma_of(lower[i]) << 8 * i;
    }
    [[unroll]] for (int i = 0; i < 2; i++)
        pairs |= chroma_of(ivec3(
                     upper[2 * i] + upper[2 * i + 1] + lower[2 * i] + lower[2 * i + 1] + 2u >> 2))
                 << 16 * i;
    out_words[base + (y * push.width + x) / 4] = word[0];
    out_words[base + ((y + 1) * push.width + x) / 4] = word[1];
    out_words[chroma + (y / 2 * push.width + x) / 4] = pairs;
}
