/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Step 2 of one slice by one workgroup of one subgroup: slice_data() (7.3.4) with CABAC into the records of its picture, as
 * codec/slice_data.c does it on the CPU. The first thread parses; the others help to fill the tables in shared memory.
 *
 * Bytes are anything: reads past the end of the slice give zeros, which is noticed at the latest when the slice ends; every loop is
 * bounded; indices into the arrays follow from the slice's addresses and units reserved, never from what is parsed. mv and
 * coefficients are zero before.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/entropy_common.glsl"
#include "gpu/shaders/lib/entropy_engine.glsl"
#include "gpu/shaders/lib/entropy_elements.glsl"
#include "gpu/shaders/lib/entropy_residual.glsl"
#include "gpu/shaders/lib/entropy_mb.glsl"

layout(local_size_x_id = 0) in;

/* 9.3.1.1, and what is read again and again */
void fill_shared()
{
    const uint step = gl_WorkGroupSize.x;
    uint field = is_set(ENT_FIELD) ? 1u : 0u;
    int qp = clamp(int(slice.qp), 0, 51);
    for (uint i = gl_LocalInvocationIndex; i < 128u; i += step)
        states[i] = uvec2(tables.states[i][0], tables.states[i][1]);
    for (uint i = gl_LocalInvocationIndex; i < 64u; i += step)
        table_8x8[i] = uint(tables.sig_8x8[field][i]) | uint(tables.last_8x8[i]) << 8;
    for (uint i = gl_LocalInvocationIndex; i < 64u; i += step)
        scan[SCAN_8X8 + i] = uint(tables.scan_8x8[field][i]);
    for (uint i = gl_LocalInvocationIndex; i < 16u; i += step) {
        scan[SCAN_4X4 + i] = uint(tables.scan_4x4[field][i]);
        scan[SCAN_LUMA_DC + i] = uint(tables.scan_luma_dc[field][i]) * 16u; /* the first of a unit */
    }
    for (uint i = gl_LocalInvocationIndex; i < 6u; i += step)
        category[i] = uvec4(tables.category[field][i][0], tables.category[field][i][1], tables.category[field][i][2],
                            tables.category[field][i][3]);
    for (uint i = gl_LocalInvocationIndex; i < 52u; i += step)
        chroma_qpc[i] = uint(tables.chroma_qpc[i]);
    barrier();
    for (uint i = gl_LocalInvocationIndex; i < uint(ENT_CONTEXTS); i += step) {
        int m = int(tables.init[slice.model][i][0]), n = int(tables.init[slice.model][i][1]);
        int pre = clamp(((m * qp) >> 4) + n, 1, 126);
        contexts[i] = states[pre >= 64 ? (pre - 64) << 1 | 1 : (63 - pre) << 1];
    }
    barrier();
}

/* llvmpipe leaves every loop once a thread has gone through 65535 iterations of loops; then the records are of no use. */
bool loops_run()
{
    uint n = 0u, most = 2u + (slice.mb_width >> 31);
    [[dont_unroll]] while (n < most)
        n++;
    return n == most;
}

void main()
{
    slice = slices[gl_WorkGroupID.x];
    fill_shared();
    if (gl_LocalInvocationIndex != 0u)
        return;
    slice_begin();
    uint status = slice_data() && loops_run() ? uint(ENT_COMPLETE) : uint(ENT_FAILED);
    units_return();
    results[gl_WorkGroupID.x] = ent_result(status, mb_addr - slice.first_mb);
}
