/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Whether all values of the inverse transforms of a macroblock are in their range. The includer has
 * test(), which clears `within` for one that is not.
 */
#ifndef PELTON_ENTROPY_RANGES_GLSL
#define PELTON_ENTROPY_RANGES_GLSL

const int M8 = 96; /* 8x8 lists are behind six lists of 16, as in rec_scaling */

/* Entry i of the slice's scaling lists */
int weight(int i)
{
    return slice.weights == 0u ? 16 : int(bytes[slice.word * 4u + slice.weights + uint(i)]);
}

/* v * s << qp / 6 >> bits, rounded. From a product of 2^22 on it is out of range. */
int scale(int v, int s, int qp, int bits)
{
    bool large = abs(float(v) * float(s)) >= 4194304.0;
    int d = large ? 1 << 20 : scale_level(v, s, qp, bits);
    test(d);
    return d;
}

/* 8.5.12.2, of d scaled */
void test_4x4(int d[16])
{
    [[unroll]] for (int y = 0; y < 4; y++) {
        ivec4 f = butterfly4(d[4 * y], d[4 * y + 1], d[4 * y + 2], d[4 * y + 3]);
        [[unroll]] for (int x = 0; x < 4; x++) {
            test(f[x]);
            d[4 * y + x] = f[x];
        }
    }
    [[unroll]] for (int x = 0; x < 4; x++) {
        ivec4 f = butterfly4(d[x], d[4 + x], d[8 + x], d[12 + x]);
        [[unroll]] for (int y = 0; y < 4; y++)
            test(f[y] < 0 ? f[y] : f[y] + 32);
    }
}

/* A block of 4x4 that begins at coefficient `at`; dc: its DC value where that is ready. */
void block_4x4(uint at, bool has_levels, int list, int qp, bool dc_ready, int dc)
{
    int d[16];
    [[unroll]] for (int i = 0; i < 16; i++)
        d[i] = has_levels && !(dc_ready && i == 0)
                   ? scale(int(coeffs[at + uint(i)]),
                           weight(list * 16 + i) * norm_adjust4(qp % 6, i), qp, 4)
                   : 0;
    d[0] = dc_ready ? dc : d[0];
    test_4x4(d);
}

/* 8.5.13 */
void block_8x8(uint at, int list, int qp)
{
    int d[64];
    [[unroll]] for (int i = 0; i < 64; i++)
        d[i] = scale(int(coeffs[at + uint(i)]),
                     weight(M8 + list * 64 + i) * norm_adjust8(qp % 6, i & 7, i >> 3), qp, 6);
    [[unroll]] for (int y = 0; y < 8; y++)
        butterfly8(d, 8 * y, 1);
    [[unroll]] for (int i = 0; i < 64; i++)
        test(d[i]);
    [[unroll]] for (int x = 0; x < 8; x++)
        butterfly8(d, x, 8);
    [[unroll]] for (int i = 0; i < 64; i++)
        test(d[i] < 0 ? d[i] : d[i] + 32);
}

/* Four values of 8.5.10's transform */
ivec4 hadamard4(ivec4 v)
{
    int a = v.x + v.y, b = v.x - v.y, c = v.z + v.w, d = v.z - v.w;
    return ivec4(a + c, a - c, b - d, b + d);
}

/* Blocks of luma by blkIdx: column and row */
uint blk_x(uint blk)
{
    return (blk & 1u) | (blk >> 1 & 2u);
}

uint blk_y(uint blk)
{
    return (blk >> 1 & 1u) | (blk >> 2 & 2u);
}

/* Intra_16x16; at: its coefficients. All blocks are coded, or none has DC levels. */
void luma_16x16(uint at, uint coded, int list, int qp)
{
    bool all = coded == 0xffffu;
    ivec4 rows[4];
    [[unroll]] for (uint y = 0u; y < 4u; y++) [[unroll]]
        for (uint x = 0u; x < 4u; x++) {
            uint blk = (x & 1u) | (y & 1u) << 1 | (x & 2u) << 1 | (y & 2u) << 2;
            rows[y][x] = all ? int(coeffs[at + blk * 16u]) : 0;
        }
    [[unroll]] for (int y = 0; y < 4; y++)
        rows[y] = hadamard4(rows[y]);
    [[unroll]] for (int x = 0; x < 4; x++) {
        ivec4 f = hadamard4(ivec4(rows[0][x], rows[1][x], rows[2][x], rows[3][x]));
        [[unroll]] for (int y = 0; y < 4; y++)
            rows[y][x] = scale(f[y], weight(list * 16) * norm_adjust4(qp % 6, 0), qp, 6);
    }
    [[dont_unroll]] for (uint blk = 0u; blk < 16u; blk++) {
        bool has_levels = (coded >> blk & 1u) != 0u;
        block_4x4(at, has_levels, list, qp, true, rows[blk_y(blk)][blk_x(blk)]);
        at += has_levels ? 16u : 0u;
    }
}

/* A component of chroma */
void chroma(uint at, uint coded, int list, int qp)
{
    bool all = coded == 15u;
    ivec4 c = ivec4(0);
    [[unroll]] for (uint i = 0u; i < 4u; i++)
        c[i] = all ? int(coeffs[at + i * 16u]) : 0;
    ivec2 sums = c.xz + c.yw, differences = c.xz - c.yw;
    ivec4 f = ivec4(sums.x + sums.y, differences.x + differences.y, sums.x - sums.y,
                    differences.x - differences.y);
    [[dont_unroll]] for (uint blk = 0u; blk < 4u; blk++) {
        bool has_levels = (coded >> blk & 1u) != 0u;
        int s = weight(list * 16) * norm_adjust4(qp % 6, 0);
        bool large = abs(float(f[blk]) * float(s)) >= 4194304.0;
        int dc = large ? 1 << 20 : (f[blk] * s << qp / 6) >> 5; /* 8.5.11.2 */
        test(dc);
        block_4x4(at, has_levels, list, qp, true, dc);
        at += has_levels ? 16u : 0u;
    }
}

void luma(rec_mb mb, uint at, bool inter)
{
    uint coded = uint(mb.coded[0]);
    int qp = int(mb.qp[0]), list = inter ? 3 : 0;
    if (mb.kind == REC_MB_INTRA_16X16) {
        luma_16x16(at, coded, list, qp);
        return;
    }
    bool wide = (uint(mb.flags) & REC_MB_TRANSFORM_8X8) != 0u;
    [[dont_unroll]] for (uint blk = 0u; blk < 16u; blk += wide ? 4u : 1u) {
        if ((coded >> blk & 1u) == 0u)
            continue;
        if (wide)
            block_8x8(at, inter ? 1 : 0, qp);
        else
            block_4x4(at, true, list, qp, false, 0);
        at += wide ? 64u : 16u;
    }
}

/* ---- which macroblocks are worth a look ---- */

/* Sum of |level| of four packed pairs */
uint pairs_sum(uvec4 v)
{
    ivec4 low = bitfieldExtract(ivec4(v), 0, 16), high = ivec4(v) >> 16;
    uvec4 sums = uvec4(abs(low) + abs(high));
    return sums.x + sums.y + sums.z + sums.w;
}

/* h264_level_limits of codec/residual_range.c for the largest weight: two thirds of 2^15 by the
 * largest scale. */
uint level_limit(int qp)
{
    return uint(21652 * 16 / (int(slice.most_weight) * norm4[qp % 6].y)) >> uint(qp / 6);
}

/* A sum of |level| may be so large that a value is out of range: that of a block; half of that of
 * an 8x8 block; that of a component whose DC levels have a transform of their own. */
bool suspect(uint index)
{
    uvec4 first_half = packed_mbs[2u * index];
    uint luma = uint(bitCount(first_half.z & 0xffffu)),
         chroma_count = uint(bitCount(first_half.z >> 16)),
         count = luma + chroma_count + uint(bitCount(first_half.w & 0xffffu)), sum = 0u, most = 0u;
    if (count == 0u)
        return false;
    bool wide = (first_half.w >> 24 & REC_MB_TRANSFORM_8X8) != 0u,
         luma_dc = (first_half.w >> 16 & 255u) == REC_MB_INTRA_16X16;
    uint at = (slice.coeff_block_base + first_half.y) * 2u;
    [[dont_unroll]] for (uint i = 0u; i < count; i++) {
        bool is_luma = i < luma, first = is_luma ? (luma_dc ? i == 0u : !wide || (i & 3u) == 0u)
                                                 : i == luma || i == luma + chroma_count;
        sum = first ? 0u : sum;
        sum += pairs_sum(packed_levels[at + 2u * i]) + pairs_sum(packed_levels[at + 2u * i + 1u]);
        most = max(most, is_luma && wide ? (sum + 1u) >> 1 : sum);
    }
    int qp = int(packed_mbs[2u * index + 1u].x);
    return most > level_limit(max(bitfieldExtract(qp, 0, 8),
                                  max(bitfieldExtract(qp, 8, 8), bitfieldExtract(qp, 16, 8))));
}

bool macroblock_within(rec_mb mb)
{
    bool inter = mb.kind == REC_MB_INTER;
    uint at = (slice.coeff_block_base + mb.coeff) * 16u;
    within = true;
    if (mb.kind == REC_MB_INTRA_PCM || (uint(mb.flags) & REC_MB_BYPASS) != 0u)
        return true;
    if (mb.coded[0] != 0)
        luma(mb, at, inter);
    at += uint(bitCount(uint(mb.coded[0]))) * 16u;
    [[dont_unroll]] for (int i = 1; i < 3; i++) {
        if (mb.coded[i] != 0)
            chroma(at, uint(mb.coded[i]), inter ? 3 + i : i, int(mb.qp[i]));
        at += uint(bitCount(uint(mb.coded[i]))) * 16u;
    }
    return within;
}

#endif
