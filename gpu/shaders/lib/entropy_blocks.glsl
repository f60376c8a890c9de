/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Coefficient blocks of a macroblock, for both codings: what a block belongs to, and where its
 * levels go.
 */
#ifndef PELTON_ENTROPY_BLOCKS_GLSL
#define PELTON_ENTROPY_BLOCKS_GLSL

const uint CAT_LUMA_DC = 0u, CAT_LUMA_AC = 1u, CAT_LUMA_4X4 = 2u, CAT_CHROMA_DC = 3u,
           CAT_CHROMA_AC = 4u, CAT_LUMA_8X8 = 5u;

/* coded_block_flag in 25 bits: a grid of 4x4 blocks with a border to the left and above, A is the
 * bit before, B the fifth bit before. */
const uint CBF_LEFT = 0x00108420u, CBF_ALL = 0x01ffffffu, CBF_8X8 = 0x63u;

/* residual() as one loop over all blocks of a macroblock, so that what decodes a block is there
 * once: instructions have to be fetched, and hundreds of slices are each at another place. Steps:
 * luma DC, 16 of luma (four where they are 8x8), DC of Cb and Cr, four of Cb, four of Cr. */
const uint STEP_LUMA = 1u, STEP_CHROMA_DC = 17u, STEP_CB = 19u, STEP_CR = 23u, STEPS = 27u;
const uint NONE = 0xffffffffu;

/* What goes from block to block. */
uint blocks_grid;  /* of the component */
uint blocks_base;  /* its first coefficient block where these are there already, or NONE */
uint blocks_coded; /* chroma: bits of the component */

/* Blocks of one kind and component. */
struct block_kind {
    uvec4 contexts; /* category_of */
    uint begin;     /* step of the first */
    uint count;     /* coefficients */
    uint scan_at, coeff_blocks;
    bool luma, dc, chroma_dc, wide; /* wide: 8x8 */
};

/* AC of Cb or Cr begins: four coefficient blocks where there is DC. */
void chroma_begin(uint c)
{
    blocks_grid = ((c == 0u ? left_cbf[1] : left_cbf[2]) >> 2 & CBF_LEFT) |
                  (top_cbf >> 4u + 2u * c & 3u) << 1;
    blocks_base = NONE;
    blocks_coded = 0u;
    if ((own_flags & EDGE_CBF_DC << c + 1u) == 0u)
        return;
    blocks_base = coeff_block_next;
    coeff_block_next += 4u;
    blocks_coded = 15u;
    [[dont_unroll]] for (uint i = 0u; i < 4u; i++)
        coeffs[(slice.coeff_block_base + blocks_base + i) * 16u] =
            chroma_dc[chroma_dc_base + c * 4u + i];
}

void chroma_end(uint c)
{
    if ((cbp & 0x20u) != 0u) {
        if (c == 0u)
            left_cbf[1] = blocks_grid;
        else
            left_cbf[2] = blocks_grid;
    }
    coded_c |= blocks_coded << 16u * c;
}

block_kind kind_begin(uint step, bool i16, bool large)
{
    block_kind b;
    b.begin = step;
    b.luma = step == STEP_LUMA;
    b.dc = step == 0u || step == STEP_CHROMA_DC;
    b.chroma_dc = step == STEP_CHROMA_DC;
    b.wide = b.luma && large;
    b.count = b.chroma_dc ? 4u : b.dc || (b.luma && !i16) ? 16u : 15u;
    b.coeff_blocks = step == 0u ? 16u : b.wide ? 4u : 1u;
    b.scan_at = field_pic * SCANS + (b.wide ? SCAN_8X8
                                     : b.dc ? SCAN_LUMA_DC
                                            : SCAN_4X4 + 16u - b.count);
    uint of_luma = b.wide ? CAT_LUMA_8X8 : i16 ? CAT_LUMA_AC : CAT_LUMA_4X4;
    b.contexts = category_of(step == 0u ? CAT_LUMA_DC
                             : b.luma   ? of_luma
                             : b.dc     ? CAT_CHROMA_DC
                                        : CAT_CHROMA_AC);
    if (step >= STEP_CB) {
        chroma_begin(step == STEP_CB ? 0u : 1u);
    } else if (b.chroma_dc) {
        left_cbf[0] = blocks_grid;
        [[dont_unroll]] for (uint i = 0u; i < 8u; i++)
            chroma_dc[chroma_dc_base + i] = int16_t(0);
    }
    return b;
}

/* A block with levels: its coefficient block, which is taken where there is none yet. */
uint block_take(block_kind b, uint k)
{
    uint coeff_block = CAVLC && b.wide ? blocks_base : blocks_base + k;
    if (b.chroma_dc || blocks_base != NONE)
        return coeff_block;
    coeff_block = coeff_block_next;
    coeff_block_next += b.coeff_blocks;
    if (CAVLC && b.wide) /* for all four lists of the 8x8 block */
        blocks_base = coeff_block;
    return coeff_block;
}

/* Its flags, in the record and for blocks that follow. */
void block_done(block_kind b, uint k, uint component, uint coeff_block)
{
    if (b.dc) {
        own_flags |= EDGE_CBF_DC << component;
        if (!b.chroma_dc) {
            blocks_base = coeff_block;
            coded_y = 0xffffu;
        }
    } else if (b.luma) {
        coded_y |= b.wide ? 15u << (k & 12u) : 1u << k;
    } else {
        blocks_coded |= 1u << k;
    }
}

#endif
