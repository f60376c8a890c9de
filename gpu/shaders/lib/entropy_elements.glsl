/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Syntax elements of macroblocks: binarizations (9.3.2) and context increments (9.3.3.1), as
 * codec/mb_cabac.c.
 */
#ifndef PELTON_ENTROPY_ELEMENTS_GLSL
#define PELTON_ENTROPY_ELEMENTS_GLSL

uint flags_inc(uint flag)
{
    return ((left_flags & flag) != 0u ? 1u : 0u) + ((top_flags & flag) != 0u ? 1u : 0u);
}

/* Ones before a zero, `most` of them at most: contexts of the first bin, the second one, the
 * others. */
uint unary(uint first, uint second, uint others, uint most)
{
    uint v = 0u;
    [[dont_unroll]] while (v < most && bin(first) != 0u) {
        v++;
        first = v == 1u ? second : others;
    }
    return v;
}

/* A leaf of a tree of ent_tables, from its root on; inc: ctxIdxInc of the first bin. */
uint walk(uint node, uint inc)
{
    [[dont_unroll]] do {
        uint n = tree[node];
        node = n >> (bin((n & 255u) + inc) != 0u ? 16 : 8) & 255u;
        inc = 0u;
    } while (node < uint(ENT_TREE_LEAF));
    return node - uint(ENT_TREE_LEAF);
}

/* Table 9-36 after its first bin. c: ctxIdx of the bin for luma; small: one context for both bins
 * of chroma, and of the mode. */
uint intra_16x16_type(uint c, uint small)
{
    if (terminate())
        return 25u; /* I_PCM */
    uint v = 0u;    /* luma, chroma, which chroma, mode */
    [[dont_unroll]] for (uint k = 0u; k < 5u; k++) {
        if (k != 2u || (v & 1u) != 0u)
            v = v << 1 | bin(c + k - (k >= 2u ? small : 0u) - (k == 4u ? small : 0u));
        else
            v <<= 1;
    }
    return 1u + 12u * (v >> 4) + ((v & 8u) != 0u ? 4u + (v & 4u) : 0u) + (v & 3u);
}

/* Intra: mb_type of I slices, from 0; inter: as in the slice, intra from 5 (P) or 23 (B). */
uint mb_type()
{
    uint root = slice.type == I_SLICE   ? uint(ENT_TREE_I)
                : slice.type == P_SLICE ? uint(ENT_TREE_P)
                                        : uint(ENT_TREE_B);
    uint inc = slice.type == P_SLICE
                   ? 0u
                   : flags_inc(slice.type == I_SLICE ? EDGE_NOT_I_NXN : EDGE_NOT_DIRECT);
    uint type = walk(root, inc);
    if (type != ENT_TREE_INTRA_16X16)
        return type;
    type = intra_16x16_type(slice.type == I_SLICE   ? 6u
                            : slice.type == P_SLICE ? 18u
                                                    : 33u,
                            slice.type == I_SLICE ? 0u : 1u);
    return type + (slice.type == I_SLICE ? 0u : slice.type == P_SLICE ? 5u : 23u);
}

uint sub_mb_type()
{
    return walk(slice.type == B_SLICE ? uint(ENT_TREE_SUB_B) : uint(ENT_TREE_SUB_P), 0u);
}

/* 9.3.3.1.1.6. Stops at 32, which no list allows. */
uint ref_idx(uint list, uint inc)
{
    return unary(54u + inc, 58u, 59u, 32u);
}

/* UEG3 with signedValFlag 1, uCoff 9; i: x or y; sum: absMvdComp of A and B (9.3.3.1.1.7) */
int mvd_component(uint i, uint sum)
{
    uint base = 40u + 7u * i, v = 0u, at = base + (sum > 2u ? 1u : 0u) + (sum > 32u ? 1u : 0u);
    [[dont_unroll]] while (v < 9u && bin(at) != 0u) {
        v++;
        at = base + 2u + min(v, 4u);
    }
    if (v == 0u)
        return 0;
    if (v == 9u)
        v += exp_golomb(3u);
    return bypass() != 0u ? -int(v) : int(v);
}

/* 9.3.2.7. Stops at 27, which is past the range. */
int mb_qp_delta()
{
    uint k = unary(60u + last_delta, 62u, 63u, 53u);
    return (k & 1u) != 0u ? int(k + 1u) / 2 : -int(k / 2u);
}

bool transform_size_8x8_flag()
{
    return bin(399u + flags_inc(EDGE_TRANSFORM_8X8)) != 0u;
}

/* Both contexts of intra modes stay in registers. */
uint mode_flag_state, mode_rem_state;

void modes_begin()
{
    mode_flag_state = uint(contexts[context_base + 68u]);
    mode_rem_state = uint(contexts[context_base + 69u]);
}

void modes_end()
{
    contexts[context_base + 68u] = uint8_t(mode_flag_state);
    contexts[context_base + 69u] = uint8_t(mode_rem_state);
}

/* -1: prev_intra4x4_pred_mode_flag, else rem_intra4x4_pred_mode */
int intra_pred_mode()
{
    uvec2 flag = state_of(mode_flag_state), rem_row = state_of(mode_rem_state);
    engine_ready();
    if (decide(flag, mode_flag_state))
        return -1;
    uint rem = 0u;
    [[dont_unroll]] for (uint k = 1u; k < 8u; k <<= 1) {
        engine_ready();
        rem |= decide(rem_row, mode_rem_state) ? k : 0u;
        rem_row = state_of(mode_rem_state);
    }
    return int(rem);
}

uint intra_chroma_pred_mode()
{
    return unary(64u + flags_inc(EDGE_CHROMA_MODE), 67u, 67u, 3u);
}

/* 9.3.3.1.1.4: for luma a neighbouring 8x8 block counts when its bit is clear. */
uint coded_block_pattern()
{
    uint v = 0u, a = ~left_cbp, b = ~top_cbp;
    [[dont_unroll]] for (uint i = 0u; i < 4u; i++) {
        uint from_a = (i & 1u) != 0u ? ~v >> (i - 1u) : a >> (i + 1u);
        uint from_b = (i & 2u) != 0u ? ~v >> (i - 2u) : b >> (i + 2u);
        v |= bin(73u + (from_a & 1u) + (from_b & 1u) * 2u) << i;
    }
    a = left_cbp >> 4;
    b = top_cbp >> 4;
    uint at = 77u + (a != 0u ? 1u : 0u) + (b != 0u ? 2u : 0u), chroma = 0u;
    [[dont_unroll]] while (slice.chroma_blocks != 0u && chroma < 2u && bin(at) != 0u) {
        chroma++;
        at = 81u + (a == 2u ? 1u : 0u) + (b == 2u ? 2u : 0u);
    }
    v |= chroma << 4;
    return v;
}

bool mb_skipped()
{
    return slice.type != I_SLICE &&
           bin((slice.type == B_SLICE ? 24u : 11u) + flags_inc(EDGE_CODED)) != 0u;
}

/* After a macroblock. */
bool slice_ends()
{
    return terminate();
}

/* 9.3.1.2: the last bit that was read is the stop bit, or near it. */
bool ends_at_stop_bit()
{
    return slice.size <= (engine_position() + 7u >> 3) + 1u + ENT_BYTES_BEHIND;
}

#endif
