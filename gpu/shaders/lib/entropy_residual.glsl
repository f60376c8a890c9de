/* SPDX-License-Identifier: BSD-2-Clause
 *
 * residual() (7.3.5.3): blocks of coefficients into coefficient blocks.
 */
#ifndef PELTON_ENTROPY_RESIDUAL_GLSL
#define PELTON_ENTROPY_RESIDUAL_GLSL

/* total_coeff of an 8x8 block of luma whose first block is k: 0. */
void totals_clear(uint k)
{
    left_total.x = put_bits(left_total.x, 0u, 16u * (k >> 3), 16u);
    top_total.x = put_bits(top_total.x, 0u, 16u * (k >> 2 & 1u), 16u);
}

/* Steps that have something to do: blocks that are coded; where DC of chroma is, the first of Cb
 * and of Cr. CAVLC: the first of four that are not coded, too, whose totals become 0. */
uint residual_steps(bool i16, bool large)
{
    uint luma = cbp & 15u, steps = i16 ? 1u : 0u;
    uint firsts = (luma & 1u) | (luma & 2u) << 3 | (luma & 4u) << 6 | (luma & 8u) << 9;
    steps |= (large && !CAVLC ? firsts : firsts * 15u) << STEP_LUMA;
    if (CAVLC)
        steps |= 0x1111u << STEP_LUMA;
    if ((cbp & 0x30u) != 0u)
        steps |= 3u << STEP_CHROMA_DC | 1u << STEP_CB | 1u << STEP_CR;
    if ((cbp & 0x20u) != 0u)
        steps |= 0xffu << STEP_CB;
    return steps;
}

/* The grids of what is not coded are empty afterwards. */
void residual_blocks()
{
    bool i16 = kind == REC_MB_INTRA_16X16, large = (mb_flags & REC_MB_TRANSFORM_8X8) != 0u;
    bool has_chroma = (cbp & 0x30u) != 0u;
    uint steps = residual_steps(i16, large), end = 0u; /* of the kind */
    block_kind b;
    blocks_grid = large ? 0u : (left_cbf[0] >> 4 & CBF_LEFT) | (top_cbf & 15u) << 1;
    blocks_base = NONE;
    [[dont_unroll]] while (steps != 0u) {
        uint step = uint(findLSB(steps));
        steps &= steps - 1u;
        if (step >= end) {
            if (step == STEP_CR)
                chroma_end(0u);
            uint begin = step == 0u || step >= STEP_CHROMA_DC ? step : STEP_LUMA;
            b = kind_begin(begin, i16, large);
            end = step == 0u               ? STEP_LUMA
                  : begin == STEP_LUMA     ? STEP_CHROMA_DC
                  : step == STEP_CHROMA_DC ? STEP_CB
                  : step == STEP_CB        ? STEP_CR
                                           : STEPS;
        }
        uint k = step - b.begin;
        if (b.luma ? CAVLC && (cbp >> (k >> 2) & 1u) == 0u
                   : step >= STEP_CB && (cbp & 0x20u) == 0u) {
            if (b.luma)
                totals_clear(k);
        } else {
            /* CABAC: four blocks of 4x4, or one of 8x8, take 1,401 bits and large levels */
            if (CAVLC || (k & 3u) == 0u)
                reader_reserve();
            residual_block(b, k);
        }
    }
    if (has_chroma)
        chroma_end(1u);
    else
        left_cbf[0] = blocks_grid;
    uint swap = (coded_y >> 2 ^ coded_y) & 0x0c0cu; /* bits by blkIdx to bits by raster block */
    nonzero = coded_y ^ swap ^ swap << 2;
    if ((cbp & 0x20u) == 0u)
        left_cbf[1] = left_cbf[2] = left_total.y = top_total.y = 0u;
    top_cbf =
        (left_cbf[0] >> 21 & 15u) | (left_cbf[1] >> 11 & 3u) << 4 | (left_cbf[2] >> 11 & 3u) << 6;
}

#endif
