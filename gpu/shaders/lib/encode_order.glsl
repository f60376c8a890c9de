/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Levels of a macroblock's blocks in the order of residual() (7.3.5.3). The including shader has
 * mbs[], and `at`: the macroblock's record.
 */
#ifndef PELTON_ENCODE_ORDER_GLSL
#define PELTON_ENCODE_ORDER_GLSL

#extension GL_EXT_control_flow_attributes : require

layout(set = 0, binding = ENC_BIND_LEVELS, scalar) readonly buffer level_buffer
{
    int16_t levels[];
};
layout(set = 0, binding = ENC_BIND_CODES, scalar) readonly buffer code_buffer
{
    enc_codes codes;
};

/* The block that was selected: its levels are those of some entries of codes.order. */
uint block_component, block_index, block_count;
uint level_base, order_from, order_step, level_step;
bool block_coded;

bool is_big()
{
    return (uint(mbs[at].flags) & REC_MB_TRANSFORM_8X8) != 0u;
}

void select_luma(uint index)
{
    uint apart = uint(mbs[at].kind) == REC_MB_INTRA_16X16 ? 1u : 0u;
    block_index = index;
    block_count = 16u - apart;
    level_base += 16u * index;
    order_from = ENC_ORDER_4X4 + apart;
    if (is_big()) { /* 64 levels are dealt to four blocks (7.3.5.3.1) */
        level_base -= 16u * (index & 3u);
        order_from = ENC_ORDER_8X8 + (index & 3u);
        order_step = 4u;
    }
}

/* DC levels are there where all blocks are coded. */
void select_dc(uint component)
{
    block_component = component;
    block_count = component == 0u ? 16u : 4u;
    order_from = component == 0u ? ENC_ORDER_DC : ENC_ORDER_RASTER;
    level_step = 16u;
    block_coded = uint(mbs[at].coded[component]) == (component == 0u ? 0xffffu : 15u);
}

/* part: ENC_PART_* from LUMA_DC on */
void block_select(uint part)
{
    level_base = at * ENC_BLOCKS * 16u;
    order_step = level_step = 1u;
    block_component = block_index = 0u;
    if (part >= ENC_PART_CHROMA_DC) {
        uint u = part < ENC_PART_CHROMA ? 4u * (part - ENC_PART_CHROMA_DC) : part - ENC_PART_CHROMA;
        block_component = 1u + u / 4u;
        block_index = u & 3u;
        block_count = 15u;
        level_base += 16u * (16u + u);
        order_from = ENC_ORDER_4X4 + 1u;
    } else if (part >= ENC_PART_LUMA) {
        select_luma(part - ENC_PART_LUMA);
    }
    block_coded = (uint(mbs[at].coded[block_component]) >> block_index & 1u) != 0u;
    if (part == ENC_PART_LUMA_DC || (part >= ENC_PART_CHROMA_DC && part < ENC_PART_CHROMA))
        select_dc(block_component);
}

int level_of(uint i)
{
    return int(levels[level_base + level_step * codes.order[order_from + order_step * i]]);
}

/* Of the first 16. No load waits for another one. */
uint sixteen_places(uint from)
{
    uint places = 0u, last = min(block_count - from, 16u) - 1u;
    [[unroll]] for (uint i = 0u; i < 16u; i++)
        places |= (level_of(from + min(i, last)) != 0 && i <= last ? 1u : 0u) << i;
    return places;
}

/* Places of the levels that are not 0, of the first 32 from `from` on: bits */
uint block_places(uint from)
{
    if (!block_coded)
        return 0u;
    uint places = sixteen_places(from);
    return block_count > from + 16u ? places | sixteen_places(from + 16u) << 16 : places;
}

#endif
