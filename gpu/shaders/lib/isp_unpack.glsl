/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Raw samples out of their packing. Samples outside the picture mirror about its border samples,
 * which keeps their colour.
 */
layout(set = ISP_SET_BATCH, binding = ISP_BIND_RAW, scalar) readonly restrict buffer raw_buffer
{
    uint raw[];
};

layout(constant_id = 0) const uint ORDER = 0u;
/* 0: 8 bits, 1: 16-bit words; MIPI of 10, 12, 14 bits: their number */
layout(constant_id = 1) const uint PACK = 0u;

#define MONO  (ORDER == 4u)
#define RED_X (ORDER == 1u || ORDER == 3u ? 1 : 0) /* where red is in a cell of 2x2 */
#define RED_Y (ORDER == 2u || ORDER == 3u ? 1 : 0)

int mirror(int i, int size)
{
    i = abs(i);
    i = i < size ? i : 2 * (size - 1) - i;
    return max(i, 0);
}

/* The words that hold samples x..x+3 of a row that starts at word `row`; x is a multiple of 4. */
uvec3 fetch(uint row, uint x)
{
    uint at = row + (PACK == 0u ? x >> 2 : PACK == 1u ? x >> 1 : ((x >> 2) * (PACK >> 1)) >> 2);
    return uvec3(raw[at], PACK == 0u ? 0u : raw[at + 1u], PACK == 14u ? raw[at + 2u] : 0u);
}

/* Samples x..x+3 out of their words. */
uvec4 unpack(uvec3 w, uint x)
{
    if (PACK == 0u)
        return uvec4(w.x & 0xffu, (w.x >> 8) & 0xffu, (w.x >> 16) & 0xffu, w.x >> 24);
    if (PACK == 1u)
        return uvec4(w.x & 0xffffu, w.x >> 16, w.y & 0xffffu, w.y >> 16);
    uint shift = (((x >> 2) * (PACK >> 1)) & 3u) * 8u, a = w.x, b = w.y;
    if (shift != 0u) {
        a = w.x >> shift | w.y << (32u - shift);
        b = w.y >> shift | (PACK == 14u ? w.z << (32u - shift) : 0u);
    }
    if (PACK == 10u) /* four high bytes, then the low bits, the first sample's lowest */
        return uvec4((a & 0xffu) << 2 | (b & 3u), (a >> 8 & 0xffu) << 2 | (b >> 2 & 3u),
                     (a >> 16 & 0xffu) << 2 | (b >> 4 & 3u), (a >> 24) << 2 | (b >> 6 & 3u));
    if (PACK == 12u)
        return uvec4((a & 0xffu) << 4 | (a >> 16 & 0xfu), (a >> 8 & 0xffu) << 4 | (a >> 20 & 0xfu),
                     (a >> 24) << 4 | (b >> 8 & 0xfu), (b & 0xffu) << 4 | (b >> 12 & 0xfu));
    return uvec4((a & 0xffu) << 6 | (b & 0x3fu), (a >> 8 & 0xffu) << 6 | (b >> 6 & 0x3fu),
                 (a >> 16 & 0xffu) << 6 | (b >> 12 & 0x3fu), (a >> 24) << 6 | (b >> 18 & 0x3fu));
}

/* The words that hold samples x..x+7 of a row that starts at word `row`; x is a multiple of 8. */
struct words_8 {
    uvec3 low, high;
};

uint word_8(uint x) /* of a row, where it does not depend on more of x */
{
    return PACK == 12u ? (x >> 3) * 3u : 0u;
}

words_8 fetch_8_at(uint from, uint x) /* from: row + word_8(x) */
{
    if (PACK == 12u)
        return words_8(uvec3(raw[from], raw[from + 1u], raw[from + 2u]), uvec3(0u));
    return words_8(fetch(from, x), fetch(from, x + 4u));
}

words_8 fetch_8(uint row, uint x)
{
    return fetch_8_at(row + word_8(x), x);
}

/* Samples x..x+7, in the mantissa of 2^23. */
void unpack_8(words_8 w, uint x, out vec4 low, out vec4 high)
{
    uvec4 l, h;
    if (PACK == 12u) {
        uint a = w.low.x, b = w.low.y, c = w.low.z;
        l = (uvec4(a << 4, a >> 4, a >> 20, b << 4) & 0xff0u | MAGIC_BITS) |
            uvec4(a >> 16, a >> 20, b >> 8, b >> 12) & 0xfu;
        h = (uvec4(b >> 12, b >> 20, c >> 4, c >> 12) & 0xff0u | MAGIC_BITS) |
            uvec4(c & 0xfu, c >> 4 & 0xfu, c >> 24 & 0xfu, c >> 28);
    } else {
        l = unpack(w.low, x) | 0x4b000000u;
        h = unpack(w.high, x + 4u) | 0x4b000000u;
    }
    low = uintBitsToFloat(l);
    high = uintBitsToFloat(h);
}

uint one(uint row, int x, int width)
{
    uint at = uint(mirror(x, width));
    uvec4 v = unpack(fetch(row, at & ~3u), at);
    return (at & 2u) == 0u ? ((at & 1u) == 0u ? v.x : v.y) : ((at & 1u) == 0u ? v.z : v.w);
}
