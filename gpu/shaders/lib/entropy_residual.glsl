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

/* The grids of what is not coded are empty afterwards. */
void residual_blocks()
{
    bool i16 = kind == REC_MB_INTRA_16X16, large = (mb_flags & REC_MB_TRANSFORM_8X8) != 0u;
    uint step = i16 ? 0u : STEP_LUMA, end = (cbp & 0x30u) == 0u ? STEP_CHROMA_DC : STEPS;
    block_kind b;
    blocks_grid = large ? 0u : (left_cbf[0] >> 4 & CBF_LEFT) | (top_cbf & 15u) << 1;
    blocks_base = NONE;
    [[dont_unroll]] do {
        if ((BEGINNINGS >> step & 1u) != 0u)
            b = kind_begin(step, i16, large);
        uint k = step - b.begin, stride = b.wide && !CAVLC ? 4u : 1u;
        if (b.luma ? (cbp >> (k >> 2) & 1u) == 0u : step >= STEP_CB && (cbp & 0x20u) == 0u) {
            stride = 4u;
            if (b.luma)
                totals_clear(k);
        } else {
            residual_block(b, k);
        }
        step += stride;
        if (step == STEP_CR || step == STEPS)
            chroma_end(step == STEP_CR ? 0u : 1u);
    } while (step < end);
    if (end == STEP_CHROMA_DC)
        left_cbf[0] = blocks_grid;
    uint swap = (coded_y >> 2 ^ coded_y) & 0x0c0cu; /* bits by blkIdx to bits by raster block */
    nonzero = coded_y ^ swap ^ swap << 2;
    if ((cbp & 0x20u) == 0u)
        left_cbf[1] = left_cbf[2] = left_total.y = top_total.y = 0u;
    top_cbf =
        (left_cbf[0] >> 21 & 15u) | (left_cbf[1] >> 11 & 3u) << 4 | (left_cbf[2] >> 11 & 3u) << 6;
}

#endif
