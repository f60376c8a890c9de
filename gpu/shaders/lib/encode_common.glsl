/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The beginning of every shader of the encoder.
 */
#ifndef PELTON_ENCODE_COMMON_GLSL
#define PELTON_ENCODE_COMMON_GLSL

#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require

#include "gpu/shaders/lib/encode_args.h"

layout(push_constant, scalar) uniform push_block
{
    enc_args args;
};
layout(set = 0, binding = ENC_BIND_PICTURES, scalar) readonly buffer picture_buffer
{
    enc_picture pictures[];
};

uint luma_width()
{
    return 16u * args.mb_width;
}

uint luma_height()
{
    return 16u * args.mb_height;
}

/* The set that a pass of planes makes: of the source, or of the reconstruction */
uint set_made(uint picture)
{
    return args.step == ENC_STEP_SOURCE ? pictures[picture].source : pictures[picture].pending;
}

/* Has an earlier batch made it? */
bool set_is_made(uint picture)
{
    return args.step == ENC_STEP_SOURCE && (uint(pictures[picture].flags) & ENC_LOADED) != 0u;
}

/* Where sample (0, 0) of a plane is */
uint plane_origin(uint set, uint plane)
{
    uint stride = ENC_STRIDE(luma_width(), ENC_LEVEL(plane));
    return set * ENC_SET_SIZE(luma_width(), luma_height()) +
           ENC_PLANE_AT(luma_width(), luma_height(), plane) + ENC_MARGIN * stride + ENC_MARGIN;
}

uint plane_stride(uint plane)
{
    return ENC_STRIDE(luma_width(), ENC_LEVEL(plane));
}

/* Cb (0) or Cr (1): without a margin */
uint chroma_origin(uint set, uint c)
{
    uint w = luma_width(), h = luma_height();
    return set * ENC_SET_SIZE(w, h) + ENC_CHROMA_AT(w, h) + c * w * h / 4u;
}

#endif
