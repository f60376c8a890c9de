/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Motion derivation: buffers, and names for the numbers in them.
 */
#ifndef PELTON_MOTION_COMMON_GLSL
#define PELTON_MOTION_COMMON_GLSL

#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#extension GL_EXT_control_flow_attributes : require

#include "codec/abi/motion_abi.h"
#include "gpu/shaders/lib/motion_args.h"

layout(set = 0, binding = MOT_BIND_PICTURES, scalar) readonly buffer picture_buffer
{
    der_picture pictures[];
};
layout(set = 0, binding = MOT_BIND_SLICES, scalar) readonly buffer slice_buffer
{
    der_slice slices[];
};
/* two each */
layout(set = 0, binding = MOT_BIND_MBS, std430) readonly buffer mb_buffer
{
    uvec4 mbs[];
};
/* 17 each */
layout(set = 0, binding = MOT_BIND_MOTION, std430) buffer motion_buffer
{
    uvec2 motion[];
};
layout(set = 0, binding = MOT_BIND_SYNTAX, std430) readonly buffer syntax_buffer
{
    uvec2 syntax[];
};
layout(set = 0, binding = MOT_BIND_MAPS, scalar) readonly buffer map_buffer
{
    uint16_t maps[];
};
layout(set = 0, binding = MOT_BIND_STILL, scalar) writeonly buffer still_buffer
{
    uint16_t still_maps[];
};
/* by picture, MOT_RESULTS each */
layout(set = 0, binding = MOT_BIND_RESULTS, std430) buffer result_buffer
{
    uint results[];
};

/* by slice, two each: entries of list 0 and 1 that its macroblocks refer to */
layout(set = 0, binding = MOT_BIND_USED, std430) buffer used_buffer
{
    uint used[];
};

/* rec_motion in words of two */
const uint MOTION_WORDS = 17u, MOTION_REFS = 16u;

const uint P_SLICE = 0u, B_SLICE = 1u, I_SLICE = 2u;
const uint PART_16X16 = REC_PART_16X16, PART_16X8 = REC_PART_16X8, PART_8X16 = REC_PART_8X16,
           PART_8X8 = REC_PART_8X8, PART_SKIP = REC_PART_SKIP, PART_DIRECT = REC_PART_DIRECT,
           PART_INTRA = REC_PART_INTRA;
const uint SUB_8X8 = REC_SUB_8X8, SUB_8X4 = REC_SUB_8X4, SUB_4X8 = REC_SUB_4X8,
           SUB_4X4 = REC_SUB_4X4, SUB_DIRECT = REC_SUB_DIRECT;

/* Byte i of a word, signed. */
int byte_at(uint word, uint i)
{
    return bitfieldExtract(int(word), int(8u * i), 8);
}

/* The sub-macroblock types of its quadrants as bytes; others than 0 in PART_8X8 alone. */
uint subs_of(uvec2 syntax)
{
    return (syntax.x & 255u) == PART_8X8 ? syntax.x >> 8 | syntax.y << 24 : 0u;
}

bool begins_partition(uint part, uint q)
{
    return q == 0u || part == PART_8X8 || (part == PART_16X8 && q == 2u) ||
           (part == PART_8X16 && q == 1u);
}

#endif
