/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Syntax elements of macroblocks: binarizations (9.3.2) and context increments (9.3.3.1), as codec/mb_cabac.c.
 */
#ifndef PELTON_ENTROPY_ELEMENTS_GLSL
#define PELTON_ENTROPY_ELEMENTS_GLSL

uint flags_inc(uint flag)
{
    return ((left_flags & flag) != 0u ? 1u : 0u) + ((top_flags & flag) != 0u ? 1u : 0u);
}

/* Table 9-36 after its first bin. c: ctxIdx of the bin for luma; small: one context for both bins of chroma, and of the mode. */
uint intra_16x16_type(uint c, uint small)
{
    if (terminate())
        return 25u; /* I_PCM */
    uint type = 1u + 12u * bin(c);
    if (bin(c + 1u) != 0u)
        type += 4u + 4u * bin(c + 2u - small);
    type += 2u * bin(c + 3u - small);
    return type + bin(c + 4u - 2u * small);
}

/* Intra: mb_type of I slices, from 0; inter: as in the slice, intra from 5 (P) or 23 (B). */
uint mb_type()
{
    if (slice.type == I_SLICE)
        return bin(3u + flags_inc(EDGE_NOT_I_NXN)) != 0u ? intra_16x16_type(6u, 0u) : 0u;
    bool intra;
    if (slice.type == P_SLICE) {
        if (bin(14u) == 0u) {
            if (bin(15u) != 0u)
                return bin(17u) != 0u ? 1u : 2u;
            return bin(16u) != 0u ? 3u : 0u;
        }
        intra = bin(17u) != 0u;
    } else {
        if (bin(27u + flags_inc(EDGE_NOT_DIRECT)) == 0u)
            return 0u;
        if (bin(30u) == 0u)
            return 1u + bin(32u);
        uint v = bin(31u);
        for (int i = 0; i < 3; i++)
            v = v << 1 | bin(32u);
        if (v < 8u)
            return 3u + v;
        if (v >= 14u)
            return v == 14u ? 11u : 22u;
        if (v != 13u)
            return 12u + 2u * (v - 8u) + bin(32u);
        intra = bin(32u) != 0u;
    }
    uint first = slice.type == P_SLICE ? 5u : 23u;
    return first + (intra ? intra_16x16_type(slice.type == P_SLICE ? 18u : 33u, 1u) : 0u);
}

/* Table 9-38 */
uint sub_type_p()
{
    if (bin(21u) != 0u)
        return 0u;
    if (bin(22u) == 0u)
        return 1u;
    return bin(23u) != 0u ? 2u : 3u;
}

uint sub_type_b()
{
    if (bin(36u) == 0u)
        return 0u;
    if (bin(37u) == 0u)
        return 1u + bin(39u);
    uint first = 3u;
    if (bin(38u) != 0u) {
        if (bin(39u) != 0u)
            return 11u + bin(39u);
        first = 7u;
    }
    uint v = bin(39u) << 1;
    return first + (v | bin(39u));
}

/* 9.3.3.1.1.6. Stops at 32, which no list allows. */
uint ref_idx(uint inc)
{
    uint v = bin(54u + inc);
    if (v != 0u && bin(58u) != 0u)
        for (v = 2u; v < 32u && bin(59u) != 0u; v++)
            ;
    return v;
}

/* UEG3 with signedValFlag 1, uCoff 9; sum: absMvdComp of A and B (9.3.3.1.1.7) */
int mvd_component(uint base, uint sum)
{
    uint v = 1u;
    if (bin(base + (sum > 2u ? 1u : 0u) + (sum > 32u ? 1u : 0u)) == 0u)
        return 0;
    while (v < 9u && bin(base + 2u + min(v, 4u)) != 0u)
        v++;
    if (v == 9u)
        v += exp_golomb(3u);
    return bypass() != 0u ? -int(v) : int(v);
}

/* 9.3.2.7. Stops at a value past every range. */
int mb_qp_delta()
{
    uint k = bin(60u + last_delta);
    if (k != 0u && bin(62u) != 0u)
        for (k = 2u; k < 256u && bin(63u) != 0u; k++)
            ;
    return (k & 1u) != 0u ? int(k + 1u) / 2 : -int(k / 2u);
}

uint intra_chroma_pred_mode()
{
    uint v = bin(64u + flags_inc(EDGE_CHROMA_MODE));
    while (v != 0u && v < 3u && bin(67u) != 0u)
        v++;
    return v;
}

/* 9.3.3.1.1.4: for luma a neighbouring 8x8 block counts when its bit is clear. */
uint coded_block_pattern()
{
    uint v = 0u, a = ~left_cbp, b = ~top_cbp;
    for (uint i = 0u; i < 4u; i++) {
        uint from_a = (i & 1u) != 0u ? ~v >> (i - 1u) : a >> (i + 1u);
        uint from_b = (i & 2u) != 0u ? ~v >> (i - 2u) : b >> (i + 2u);
        v |= bin(73u + (from_a & 1u) + (from_b & 1u) * 2u) << i;
    }
    a = left_cbp >> 4;
    b = top_cbp >> 4;
    if (slice.chroma_blocks != 0u && bin(77u + (a != 0u ? 1u : 0u) + (b != 0u ? 2u : 0u)) != 0u)
        v |= 16u << bin(81u + (a == 2u ? 1u : 0u) + (b == 2u ? 2u : 0u));
    return v;
}

#endif
