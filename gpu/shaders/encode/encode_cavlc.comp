/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Macroblocks in CAVLC (7.3.5, 9.1, 9.2): the lengths of their parts, then their bits, as
 * encode/mb_write.c. Grid: macroblocks in x, pictures in z.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/encode_syntax.glsl"

layout(set = 0, binding = ENC_BIND_COEFFS, scalar) coherent buffer data_buffer
{
    uint data[];
};
#define BIT_OR(word, bits) atomicOr(data[data_first() + (word)], bits)
#include "gpu/shaders/lib/bit_string.glsl"

void put(uint n, uint code)
{
    if (WRITE != 0u)
        bits_put(n, code);
    else
        bits_at += n;
}
#include "gpu/shaders/lib/encode_cavlc_block.glsl"

void put_ue(uint v)
{
    uint zeros = uint(findMSB(v + 1u));
    put(zeros, 0u);
    put(zeros + 1u, v + 1u);
}

void put_se(int v)
{
    put_ue(v > 0 ? 2u * uint(v) - 1u : 2u * uint(-v));
}

/* te(v) with range 0 .. most */
void put_te(uint v, uint most)
{
    if (most == 1u)
        put(1u, 1u - v);
    else
        put_ue(v);
}

/* P_8x8ref0: all references are the first one, and none is sent. */
bool is_ref0()
{
    return uint(syntax[at].part) == REC_PART_8X8 && pictures[picture].ref_count > 1u &&
           ref_of(at, 0u) + ref_of(at, 1u) + ref_of(at, 2u) + ref_of(at, 3u) == 0u;
}

void put_pattern()
{
    put_ue(codes.cbp[has_chroma() ? 1 : 0][is_intra(at) ? 0 : 1][uint(syntax[at].cbp)]);
}

void put_intra()
{
    bool nxn = is_nxn(at);
    if (nxn && may_transform_8x8())
        put(1u, is_big() ? 1u : 0u);
    for (uint blk = 0u; nxn && blk < 16u; blk += is_big() ? 4u : 1u) {
        int rem = mode_coded(blk);
        put(rem < 0 ? 1u : 4u, rem < 0 ? 1u : uint(rem));
    }
    if (has_chroma())
        put_ue(uint(mbs[at].intra_chroma_mode));
    if (nxn)
        put_pattern();
}

void put_inter()
{
    uint refs = pictures[picture].ref_count;
    if (uint(syntax[at].part) == REC_PART_8X8)
        put(4u, 15u); /* sub_mb_type: 8x8, four times */
    for (uint i = 0u; i < part_count() && refs > 1u && !is_ref0(); i++)
        put_te(ref_of(at, part_quadrant(i)), refs - 1u);
    for (uint i = 0u; i < part_count(); i++)
        for (uint k = 0u; k < 2u; k++)
            put_se(int(syntax[at].mvd[part_quadrant(i)][k]));
    put_pattern();
    if ((uint(syntax[at].cbp) & 15u) != 0u && may_transform_8x8())
        put(1u, is_big() ? 1u : 0u);
}

/* Up to mb_qp_delta. A skipped macroblock counts in the run of the next one, or of the slice's end.
 */
void put_head()
{
    if (is_skipped(at)) {
        if (is_last())
            put_ue(syntax[at].run + 1u);
        return;
    }
    if (in_p)
        put_ue(syntax[at].run);
    put_ue(type_of() + (in_p && is_intra(at) ? 5u : !is_intra(at) && is_ref0() ? 1u : 0u));
    if (is_intra(at))
        put_intra();
    else
        put_inter();
    if (has_qp_delta())
        put_se(qp_delta());
}

void put_part(uint part)
{
    if (part == ENC_PART_HEAD) {
        put_head();
    } else if (has_block(part, false)) {
        block_select(part);
        put_block();
    }
}

/* Words that no other macroblock has */
void words_clear(uint from, uint to)
{
    for (uint word = (from >> 5) + 1u + gl_LocalInvocationIndex; word < to >> 5;
         word += ENC_PARTS_OF_MB)
        data[data_first() + word] = 0u;
    memoryBarrierBuffer();
    barrier();
}

void main()
{
    uint t = gl_LocalInvocationIndex;
    if (!syntax_begin(ENC_CAVLC))
        return;
    bits_begin(WRITE != 0u ? part_place() : 0u);
    if (WRITE != 0u) /* the last part is empty, so it begins at the end */
        words_clear(places[at].at, places[at].at + uint(places[at].part[ENC_PARTS_OF_MB - 1u]));
    put_part(t);
    if (WRITE != 0u)
        bits_end();
    else
        parts_store(bits_at);
}
