/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Runs behind entropy.comp, a workgroup a slice. It computes the inverse transforms of slices that
 * are complete. A slice fails where a value is out of its range (8.5.10 to 8.5.13), as
 * codec/residual_range.c has it. Then a coder decodes the picture, and marks it. The levels of
 * other slices are packed. Pictures have 8 bits, in 4:2:0 or 4:0:0.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#extension GL_EXT_control_flow_attributes : require
#include "codec/abi/entropy_abi.h"
#include "gpu/shaders/lib/entropy_args.h"
#include "gpu/shaders/lib/transform.glsl"

layout(local_size_x = ENT_RANGES_THREADS) in;

layout(push_constant) uniform push
{
    uint slice_count, piece;
};
layout(set = 0, binding = ENT_BIND_SLICES, scalar) readonly buffer slice_buffer
{
    ent_slice slices[];
};
layout(set = 0, binding = ENT_BIND_BYTES, scalar) readonly buffer byte_buffer
{
    uint8_t bytes[];
};
layout(set = 0, binding = ENT_BIND_MBS, scalar) readonly buffer mb_buffer
{
    rec_mb mbs[];
};
layout(set = 0, binding = ENT_BIND_COEFFS, scalar) readonly buffer coeff_buffer
{
    int16_t coeffs[];
};
/* the same, two each */
layout(set = 0, binding = ENT_BIND_MBS, std430) readonly buffer packed_mb_buffer
{
    uvec4 packed_mbs[];
};
/* the same, eight levels each */
layout(set = 0, binding = ENT_BIND_COEFFS, std430) readonly buffer packed_buffer
{
    uvec4 packed_levels[];
};
layout(set = 0, binding = ENT_BIND_RESULTS, scalar) buffer result_buffer
{
    ent_result results[];
};
layout(set = 0, binding = ENT_BIND_COUNTS, std430) buffer count_buffer
{
    uint counts[];
};
layout(set = 0, binding = ENT_BIND_PACKED, std430) writeonly buffer packed_words_buffer
{
    uint packed_words[];
};

shared uint wrong; /* macroblocks of the slice with a value that is out of range */
ent_slice slice;
bool within; /* all values of the macroblock */

void test(int v)
{
    within = within && v == bitfieldExtract(v, 0, 16);
}

#include "gpu/shaders/lib/entropy_ranges.glsl"
#include "gpu/shaders/lib/entropy_pack.glsl"

void main()
{
    uint index = gl_WorkGroupID.y * ENT_RANGES_ROW + gl_WorkGroupID.x;
    if (index >= slice_count || results[index].status != ENT_COMPLETE)
        return;
    slice = slices[index];
    if (gl_LocalInvocationIndex == 0u)
        wrong = 0u;
    barrier();
    [[dont_unroll]] for (uint addr = slice.first_mb + gl_LocalInvocationIndex; addr < slice.end_mb;
                         addr += ENT_RANGES_THREADS)
        if (suspect(slice.mb_base + addr) && !macroblock_within(mbs[slice.mb_base + addr]))
            atomicAdd(wrong, 1u);
    barrier();
    bool good = wrong == 0u;
    if (gl_LocalInvocationIndex == 0u)
        results[index].status = good ? ENT_CHECKED : ENT_FAILED;
    if (good && slice.packed_count > 0u)
        pack_slice();
}
