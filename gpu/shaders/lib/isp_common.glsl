/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Bindings and helpers of the camera pipeline's shaders. Conversions between integers and floats go
 * through the mantissa of 2^23 + value. That is a full-rate addition and rounds to nearest, ties to
 * even. `precise` keeps compilers from removing the addition.
 */
#include "gpu/shaders/lib/isp_args.h"

layout(set = ISP_SET_BATCH, binding = ISP_BIND_ARGS, scalar) uniform args_block
{
    isp_args args[ISP_MOST_FRAMES];
};
/* of the dispatch */
layout(push_constant, scalar) uniform push_block
{
    uint first_frame, end_frame;
};

#define CAMERA args[first_frame] /* what all frames of a dispatch have in common */

#define MAGIC 8388608.0
/* Its bits, which compilers do not know to be constant: so that a mask and they become one
 * instruction. */
#define MAGIC_BITS (0x4b000000u | end_frame >> 7)

/* 0 <= v < 2^23 */
float to_float(uint v)
{
    precise float f = uintBitsToFloat(0x4b000000u | v) - MAGIC;
    return f;
}

/* 0 <= v <= 65535 */
uint to_uint(float v)
{
    precise float biased = v + MAGIC;
    return floatBitsToUint(biased) & 0xffffu;
}

uint to_pair(float low, float high)
{
    return to_uint(low) | to_uint(high) << 16;
}
