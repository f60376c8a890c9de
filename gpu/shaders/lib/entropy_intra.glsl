/* SPDX-License-Identifier: BSD-2-Clause
 *
 * mb_pred() of intra macroblocks (7.3.5.1): prediction modes, chroma mode, samples of I_PCM.
 */
#ifndef PELTON_ENTROPY_INTRA_GLSL
#define PELTON_ENTROPY_INTRA_GLSL

const uint NEED_A = REC_AVAIL_A, NEED_B = REC_AVAIL_B,
           NEED_ABD = REC_AVAIL_A | REC_AVAIL_B | REC_AVAIL_D;

/* Neighbours that the block at column x, row y has. */
uint block_avail(uint x, uint y)
{
    uint a = intra_avail & NEED_A;
    if (x != 0u && y != 0u)
        return NEED_ABD;
    if (x != 0u)
        return NEED_A | ((intra_avail & NEED_B) != 0u ? NEED_B | uint(REC_AVAIL_D) : 0u);
    if (y != 0u)
        return NEED_B | a | (a != 0u ? uint(REC_AVAIL_D) : 0u);
    return intra_avail & NEED_ABD;
}

/* Neighbours that Intra4x4PredMode and Intra8x8PredMode need (8.3.1.2, 8.3.2.2) */
uint mode_needs(uint mode)
{
    if (mode >= 4u && mode <= 6u)
        return NEED_ABD;
    return mode == 1u || mode == 8u ? NEED_A : mode == 2u ? 0u : NEED_B;
}

/* 8.3.1.1, 8.3.2.1 */
void intra_nxn_modes(bool large)
{
    uint step = large ? 4u : 1u, ones = large ? 0xffu : 0xfu;
    modes_begin();
    bool all = (intra_avail & NEED_ABD) == NEED_ABD;
    [[dont_unroll]] for (uint blk = 0u; blk < 16u; blk += step) {
        uint x = (blk & 1u) | (blk >> 1 & 2u), y = (blk >> 1 & 1u) | (blk >> 2 & 2u);
        uint least = min(left_modes >> y * 4u & 15u, top_modes >> x * 4u & 15u); /* mode + 1 */
        uint mode = least == 0u ? 2u : least - 1u;
        int rem = intra_pred_mode();
        if (rem >= 0)
            mode = uint(rem) < mode ? uint(rem) : uint(rem) + 1u;
        if (!all && (mode_needs(mode) & ~block_avail(x, y)) != 0u)
            failed = true;
        uint nibble = mode << (blk & 7u) * 4u;
        intra_modes |= blk < 8u ? uvec2(nibble, 0u) : uvec2(0u, nibble);
        uint nibbles = (mode + 1u) * 0x11u & ones;
        left_modes = left_modes & ~(ones << y * 4u) | nibbles << y * 4u;
        top_modes = top_modes & ~(ones << x * 4u) | nibbles << x * 4u;
    }
    modes_end();
}

/* 8.3.4 */
void intra_chroma_mode()
{
    if (slice.chroma_blocks == 0)
        return;
    chroma_mode = intra_chroma_pred_mode();
    if (chroma_mode != 0u)
        own_flags |= EDGE_CHROMA_MODE;
    uint needs = chroma_mode == 0u   ? 0u
                 : chroma_mode == 1u ? NEED_A
                 : chroma_mode == 2u ? NEED_B
                                     : NEED_ABD;
    if ((needs & ~intra_avail) != 0u)
        failed = true;
}

/* pcm_sample_luma, pcm_sample_chroma (7.3.5) */
void intra_pcm()
{
    uint byte = (engine_position() + 7u) >> 3,
         count = 256u + 128u * (uint(slice.chroma_blocks) >> 2);
    coeff_blocks_reserve();
    if (failed || byte > slice.size || count > slice.size - byte) {
        failed = true;
        return;
    }
    coeff = coeff_block_next;
    [[dont_unroll]] for (uint i = 0u; i < count; i++, byte++) {
        uint x, y, coeff_block;
        if (i < 256u) {
            x = i & 15u;
            y = i >> 4;
            coeff_block = (x >> 2 & 1u) | (y >> 2 & 1u) << 1 | (x >> 3) << 2 | (y >> 3) << 3;
        } else {
            x = i & 7u;
            y = i >> 3 & 7u;
            coeff_block = 16u + (i - 256u >> 6) * 4u + (x >> 2) + (y >> 2) * 2u;
        }
        uint sample_ = words[slice.word + (byte >> 2)] >> (byte & 3u) * 8u & 255u;
        coeffs[(slice.coeff_block_base + coeff_block_next + coeff_block) * 16u + (y & 3u) * 4u +
               (x & 3u)] = int16_t(sample_);
    }
    coeff_block_next += count >> 4;
    coded_y = nonzero = 0xffffu;
    coded_c = slice.chroma_blocks == 0 ? 0u : 0xf000fu;
    own_flags |= EDGE_PCM | EDGE_NOT_I_NXN | EDGE_CBF_DC * 7u;
    cbp = 0x2fu;
    no_left_cbf(CBF_ALL);
    top_cbf = 0xffu;
    left_total = top_total = uvec2(0x10101010u);
    last_delta = 0u;
    engine_start(byte);
}

#endif
