/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The beginning of every reconstruction shader: extensions, records, push constants, small helpers.
 */
#ifndef PELTON_COMMON_GLSL
#define PELTON_COMMON_GLSL

#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require

#include "codec/abi/records.h"
#include "gpu/shaders/lib/bindings.h"
#include "gpu/shaders/lib/cases.h"
#include "gpu/shaders/lib/format.glsl"

layout(set = SET_BATCH, binding = BIND_PICTURES, scalar) readonly buffer picture_buffer
{
    rec_picture pictures[];
};
layout(set = SET_BATCH, binding = BIND_MBS, scalar) readonly buffer mb_buffer
{
    rec_mb mbs[];
};
layout(set = SET_BATCH, binding = BIND_SLICES, scalar) readonly buffer slice_buffer
{
    rec_slice slices[];
};

/* Raster block <-> blkIdx (6.4.3): swaps bits 1 and 2; its own inverse. */
uint swap_blk(uint b)
{
    return (b & 9u) | ((b & 2u) << 1) | ((b & 4u) >> 1);
}

/* Unit of block b of component c, which must be coded (rec_mb.coded). */
uint coeff_block_of(uint coeff_base, rec_mb mb, uint c, uint b)
{
    uint coeff_block = coeff_base + mb.coeff + uint(bitCount(uint(mb.coded[c]) & ((1u << b) - 1u)));
    if (c > 0u)
        coeff_block += uint(bitCount(uint(mb.coded[0])));
    if (c > 1u)
        coeff_block += uint(bitCount(uint(mb.coded[1])));
    return coeff_block;
}

bool is_intra(uint kind)
{
    return kind <= REC_MB_INTRA_PCM;
}

int low16(uint w)
{
    return bitfieldExtract(int(w), 0, 16);
}

int high16(uint w)
{
    return int(w) >> 16;
}

int clip1(int v)
{
    return clamp(v, 0, 255);
}

uint pack4(ivec4 v)
{
    uvec4 c = uvec4(clamp(v, 0, 255));
    return c.x | c.y << 8 | c.z << 16 | c.w << 24;
}

#endif
