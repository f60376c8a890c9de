/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Binarizations of macroblock syntax elements except residual, with the increments that neighbours
 * give (9.3.2, 9.3.3.1.1), as encode/bin_elements.c and encode/mb_elements.c. The including shader
 * has put(code).
 */
#ifndef PELTON_ENCODE_BIN_ELEMENTS_GLSL
#define PELTON_ENCODE_BIN_ELEMENTS_GLSL

void put_bin(uint context, bool bin)
{
    put(context << 1 | (bin ? 1u : 0u));
}

/* A decision, and a sign after it */
void put_signed(uint context, bool bin, bool negative)
{
    put(context << 1 | (bin ? 1u : 0u) | BIN_SIGN | (negative ? BIN_SIGN_ONE : 0u));
}

void put_bypass(uint n, uint v)
{
    for (; n > 8u; n -= 8u)
        put(BIN_BYPASS | 7u << 11 | v >> n - 8u & 255u);
    if (n > 0u)
        put(BIN_BYPASS | n - 1u << 11 | v & (1u << n) - 1u);
}

/* 9.3.2.3 */
void put_exp_golomb(uint k, uint v)
{
    uint ones = 0u;
    for (; v >= 1u << k; ones++)
        v -= 1u << k++;
    put_bypass(ones + 1u, (1u << ones + 1u) - 2u);
    put_bypass(k, v);
}

uint increment(bool a, bool b)
{
    return (has_a && a ? 1u : 0u) + (has_b && b ? 1u : 0u);
}

/* ---- mb_type ---- */

/* Tables 9-36: after the bins that tell Intra_16x16 from other types. ctx: of the bin for luma */
void put_intra_16x16(uint type, uint ctx, uint ctx_second_chroma, uint ctx_mode)
{
    uint chroma = (type - 1u) / 4u % 3u, mode = type - 1u & 3u;
    put(BIN_TERMINATE);
    put_bin(ctx, type > 12u);
    put_bin(ctx + 1u, chroma > 0u);
    if (chroma > 0u)
        put_bin(ctx_second_chroma, chroma == 2u);
    put_bin(ctx_mode, mode > 1u);
    put_bin(in_p ? ctx_mode : ctx_mode + 1u, (mode & 1u) != 0u);
}

void put_type_i(uint type)
{
    put_bin(3u + increment(!is_nxn(at_a), !is_nxn(at_b)), type > 0u);
    if (type > 0u)
        put_intra_16x16(type, 6u, 8u, 9u);
}

void put_type_p(uint type)
{
    bool intra = is_intra(at);
    put_bin(14u, intra);
    if (intra) {
        put_bin(17u, type > 0u);
        if (type > 0u)
            put_intra_16x16(type, 18u, 19u, 20u);
        return;
    }
    bool halves = type == REC_PART_16X8 || type == REC_PART_8X16;
    put_bin(15u, halves);
    put_bin(halves ? 17u : 16u, type == REC_PART_16X8 || type == REC_PART_8X8);
}

/* ---- motion ---- */

/* 9.3.3.1.1.6 */
void put_ref(uint q)
{
    bool a = (q & 1u) != 0u ? ref_of(at, q - 1u) > 0u
                            : has_a && !is_intra(at_a) && ref_of(at_a, q + 1u) > 0u;
    bool b =
        q > 1u ? ref_of(at, q - 2u) > 0u : has_b && !is_intra(at_b) && ref_of(at_b, q + 2u) > 0u;
    uint ctx = 54u + (a ? 1u : 0u) + (b ? 2u : 0u), value = ref_of(at, q);
    for (uint i = 0u; i < value; i++) {
        put_bin(ctx, true);
        ctx = i > 0u ? 59u : 58u;
    }
    put_bin(ctx, false);
}

uint magnitude_at(bool there, uint record, uint q, uint k)
{
    return there ? min(uint(abs(int(syntax[record].mvd[q][k]))), 255u) : 0u;
}

/* UEG3, signedValFlag 1, uCoff 9 (9.3.3.1.1.7) */
void put_mvd(uint q, uint k)
{
    int mvd = int(syntax[at].mvd[q][k]);
    uint magnitude = uint(abs(mvd)), base = k > 0u ? 47u : 40u;
    uint sum = ((q & 1u) != 0u ? magnitude_at(true, at, q - 1u, k)
                               : magnitude_at(has_a, at_a, q + 1u, k)) +
               (q > 1u ? magnitude_at(true, at, q - 2u, k) : magnitude_at(has_b, at_b, q + 2u, k));
    uint ctx = base + (sum > 2u ? 1u : 0u) + (sum > 32u ? 1u : 0u);
    for (uint i = 0u; i < min(magnitude, 9u); i++) {
        put_bin(ctx, true);
        ctx = base + (i < 3u ? 3u + i : 6u);
    }
    if (magnitude >= 9u) {
        put_exp_golomb(3u, magnitude - 9u);
        put_bypass(1u, mvd < 0 ? 1u : 0u);
    } else if (magnitude > 0u) {
        put_signed(ctx, false, mvd < 0);
    } else {
        put_bin(ctx, false);
    }
}

/* ---- others ---- */

void put_mode(int rem)
{
    put_bin(68u, rem < 0);
    for (uint i = 0u; i < 3u && rem >= 0; i++)
        put_bin(69u, (rem >> i & 1) != 0);
}

bool has_chroma_mode(uint record)
{
    return is_intra(record) && uint(mbs[record].intra_chroma_mode) > 0u;
}

/* 9.3.3.1.1.8 */
void put_chroma_mode()
{
    uint mode = uint(mbs[at].intra_chroma_mode);
    put_bin(64u + increment(has_chroma_mode(at_a), has_chroma_mode(at_b)), mode > 0u);
    for (uint i = 1u; i <= mode && i < 3u; i++)
        put_bin(67u, mode > i);
}

/* 9.3.3.1.1.4: for luma a neighbouring 8x8 block counts when its bit is clear. */
void put_pattern()
{
    uint cbp = uint(syntax[at].cbp), clear = ~cbp;
    uint a = has_a ? uint(syntax[at_a].cbp) : 15u, b = has_b ? uint(syntax[at_b].cbp) : 15u;
    put_bin(73u + (~a >> 1 & 1u) + (~b >> 1 & 2u), (cbp & 1u) != 0u);
    put_bin(73u + (clear & 1u) + (~b >> 2 & 2u), (cbp & 2u) != 0u);
    put_bin(73u + (~a >> 3 & 1u) + 2u * (clear & 1u), (cbp & 4u) != 0u);
    put_bin(73u + (clear >> 2 & 1u) + (clear & 2u), (cbp & 8u) != 0u);
    if (!has_chroma())
        return;
    put_bin(77u + (a > 15u ? 1u : 0u) + (b > 15u ? 2u : 0u), cbp > 15u);
    if (cbp > 15u)
        put_bin(81u + (a > 31u ? 1u : 0u) + (b > 31u ? 2u : 0u), cbp > 31u);
}

bool has_big(uint record)
{
    return (uint(mbs[record].flags) & REC_MB_TRANSFORM_8X8) != 0u;
}

void put_transform_8x8()
{
    put_bin(399u + increment(has_big(at_a), has_big(at_b)), is_big());
}

/* 9.3.2.7. The first context: had the macroblock before an mb_qp_delta that is not 0? */
void put_qp_delta()
{
    int delta = qp_delta(), before = qp_before(at, 1u);
    bool changed =
        mb > 0u && mbs[at - 1u].slice == mbs[at].slice && qp_before(at - 1u, 2u) != before;
    uint mapped = delta > 0 ? 2u * uint(delta) - 1u : 2u * uint(-delta);
    for (uint i = 0u; i <= mapped; i++)
        put_bin(i == 0u ? (changed ? 61u : 60u) : i == 1u ? 62u : 63u, i < mapped);
}

#endif
