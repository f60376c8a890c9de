/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Macroblocks in bins of CABAC with their contexts (7.3.5, 9.3): the numbers of codes of their
 * parts, then the codes (codec/abi/bin_codes.h), as encode/mb_write.c. Grid: macroblocks in x,
 * pictures in z.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "codec/abi/bin_codes.h"
#include "gpu/shaders/lib/encode_syntax.glsl"

layout(set = 0, binding = ENC_BIND_COEFFS, scalar) writeonly buffer data_buffer
{
    uint16_t data[];
};

uint codes_at;

void put(uint code)
{
    if (WRITE != 0u)
        data[2u * data_first() + codes_at] = uint16_t(code);
    codes_at++;
}
#include "gpu/shaders/lib/encode_bin_elements.glsl"
#include "gpu/shaders/lib/encode_bins_block.glsl"

void put_intra()
{
    bool nxn = is_nxn(at);
    if (nxn && may_transform_8x8())
        put_transform_8x8();
    for (uint blk = 0u; nxn && blk < 16u; blk += is_big() ? 4u : 1u)
        put_mode(mode_coded(blk));
    if (has_chroma())
        put_chroma_mode();
    if (nxn)
        put_pattern();
}

void put_inter()
{
    for (uint q = 0u; q < 4u && uint(syntax[at].part) == REC_PART_8X8; q++)
        put_bin(21u, true); /* sub_mb_type: 8x8 */
    for (uint i = 0u; i < part_count() && pictures[picture].ref_count > 1u; i++)
        put_ref(part_quadrant(i));
    for (uint i = 0u; i < part_count(); i++)
        for (uint k = 0u; k < 2u; k++)
            put_mvd(part_quadrant(i), k);
    put_pattern();
    if ((uint(syntax[at].cbp) & 15u) != 0u && may_transform_8x8())
        put_transform_8x8();
}

/* Up to mb_qp_delta */
void put_head()
{
    if (in_p)
        put_bin(11u + increment(!is_skipped(at_a), !is_skipped(at_b)), is_skipped(at));
    if (is_skipped(at))
        return;
    if (in_p)
        put_type_p(type_of());
    else
        put_type_i(type_of());
    if (is_intra(at))
        put_intra();
    else
        put_inter();
    if (has_qp_delta())
        put_qp_delta();
}

void main()
{
    uint part = gl_LocalInvocationIndex;
    if (!syntax_begin(ENC_BINS))
        return;
    codes_at = WRITE != 0u ? part_place() : 0u;
    if (part == ENC_PART_HEAD)
        put_head();
    else if (part == ENC_PART_END)
        put(BIN_TERMINATE | (is_last() ? 1u : 0u));
    else if (has_block(part, is_big()))
        put_block(part);
    if (WRITE == 0u)
        parts_store(codes_at);
}
