/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Step 2 of slices. A workgroup is a subgroup and decodes SHARE slices, each by one thread. The
 * shader decodes slice_data() (7.3.4) into the records of its picture, as codec/slice_data.c does
 * on the CPU. The other threads help to fill the tables in shared memory. Of a long slice each
 * dispatch decodes a piece. Compiled twice: for slices in CABAC, and with PELTON_CAVLC for the
 * others. Each leaves the slices of the other coding alone.
 *
 * Threads of a subgroup that are at the same place share its instructions, which are what is short.
 * So syntax of one kind is decoded at one place, and slices of a subgroup are of like size.
 *
 * The bytes may be anything. Reads past the end of the slice give zeros, and the end of the slice
 * detects that at the latest. Every loop is bounded. Array indices follow from the slice's
 * addresses and reserved coefficient blocks, never from parsed values. mv and coefficients are zero
 * before.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/entropy_common.glsl"
#include "gpu/shaders/lib/entropy_reader.glsl"
#ifdef PELTON_CAVLC
#include "gpu/shaders/lib/entropy_codes.glsl"
#include "gpu/shaders/lib/entropy_blocks.glsl"
#include "gpu/shaders/lib/entropy_block_cavlc.glsl"
#else
#include "gpu/shaders/lib/entropy_engine.glsl"
#include "gpu/shaders/lib/entropy_elements.glsl"
#include "gpu/shaders/lib/entropy_blocks.glsl"
#include "gpu/shaders/lib/entropy_block_cabac.glsl"
#endif
#include "gpu/shaders/lib/entropy_residual.glsl"
#include "gpu/shaders/lib/entropy_neighbours.glsl"
#include "gpu/shaders/lib/entropy_intra.glsl"
#include "gpu/shaders/lib/entropy_inter.glsl"
#include "gpu/shaders/lib/entropy_mb.glsl"
#include "gpu/shaders/lib/entropy_pieces.glsl"

layout(push_constant) uniform push
{
    uint slice_count, piece;
};

/* What is read again and again, by the threads of all slices */
void fill_tables()
{
    const uint step = gl_WorkGroupSize.x;
    for (uint i = gl_LocalInvocationIndex; i < 128u; i += step) {
        uint field = i >> 6, k = i & 63u;
        scan[field * SCANS + SCAN_8X8 + k] = tables.scan_8x8[field][k];
    }
    for (uint i = gl_LocalInvocationIndex; i < 32u; i += step) {
        uint field = i >> 4, k = i & 15u;
        scan[field * SCANS + SCAN_4X4 + k] = tables.scan_4x4[field][k];
        /* the first of a coefficient block */
        scan[field * SCANS + SCAN_LUMA_DC + k] = uint8_t(uint(tables.scan_luma_dc[field][k]) * 16u);
    }
    for (uint i = gl_LocalInvocationIndex; i < 52u; i += step)
        chroma_qpc[i] = tables.chroma_qpc[i];
    fill_coder_tables(step);
}

/* llvmpipe leaves every loop once a thread has gone through 65535 iterations of loops; then the
 * records are of no use. */
bool loops_run()
{
    uint n = 0u, most = 2u + (slice.mb_width >> 31);
    [[dont_unroll]] while (n < most)
        n++;
    return n == most;
}

void main()
{
    const uint step = gl_WorkGroupSize.x / SHARE, thread = gl_LocalInvocationIndex % step;
    member = gl_LocalInvocationIndex / step;
    uint place = gl_WorkGroupID.x * SHARE + member;
    uint index = min(place, slice_count - 1u), before = results[index].status;
    slice = slices[index];
    chroma_dc_base = member * 8u;
    field_pic = is_set(ENT_FIELD) ? 1u : 0u;
    fill_tables();
    fill_contexts(before == ENT_PAUSED, index, thread, step);
    barrier();
    if (thread != 0u || place >= slice_count || is_set(ENT_CAVLC) != CAVLC ||
        (before != 0u && before != ENT_PAUSED))
        return;
    slice_begin();
    if (before == ENT_PAUSED)
        piece_resume(index);
    uint status = slice_data(piece);
    if (status == ENT_PAUSED)
        piece_pause(index);
    else
        coeff_blocks_return();
    status = loops_run() ? status : uint(ENT_FAILED);
    results[index] = ent_result(status, mb_addr - slice.first_mb);
}
