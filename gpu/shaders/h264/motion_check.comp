/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Runs after step 3, one thread a macroblock. It collects flags of the picture, the references that
 * its slices use, and the colZeroFlag of its blocks. It checks that steps 2 and 3 can have made the
 * macroblock. The checks are those of codec/entropy_export.c and codec/records_validate.c for
 * macroblocks of such pictures.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "gpu/shaders/lib/motion_common.glsl"
#include "gpu/shaders/lib/motion_check.glsl"

layout(local_size_x = MOT_CHECK_THREADS) in;

/* Blocks of those in `mask` that stand still (codec/abi/motion_abi.h). */
uint still_blocks(uint words, uvec2 refs, uint mask)
{
    uint bits = 0u;
    [[dont_unroll]] for (uint left = mask; left != 0u; left &= left - 1u) {
        uint block = uint(findLSB(left)), q = (block >> 1 & 1u) + (block >> 3) * 2u;
        uint list = byte_at(refs.x, q) < 0 ? 1u : 0u;
        if (byte_at(refs[list], q) != 0)
            continue;
        uint mv = motion[words + list * 8u + block / 2u][block & 1u];
        ivec2 v = ivec2(bitfieldExtract(int(mv), 0, 16), int(mv) >> 16);
        bits |= all(lessThanEqual(abs(v), ivec2(1))) ? 1u << block : 0u;
    }
    return bits;
}

/* Entries of the lists that four bytes each name */
uvec2 entries_of(uvec2 refs)
{
    uvec2 bits = uvec2(0u);
    for (uint list = 0u; list < 2u; list++)
        for (uint q = 0u; q < 4u; q++) {
            int ref = byte_at(refs[list], q);
            bits[list] |= ref >= 0 ? 1u << uint(ref) : 0u;
        }
    return bits;
}

/* Threads of one slice need one atomic operation. */
void note_used(uint slice, uvec2 entries)
{
    uint first = subgroupMin(slice), last = subgroupMax(slice);
    uvec2 all = subgroupOr(entries);
    bool several = first != last, acts = several || subgroupElect();
    uvec2 bits = several ? entries : all;
    for (uint list = 0u; list < 2u; list++)
        if (acts && bits[list] != 0u)
            atomicOr(used[2u * slice + list], bits[list]);
}

/* DER_* of the macroblock */
uint look(der_picture picture, uint addr)
{
    uint at = picture.mb_base + addr, words = at * MOTION_WORDS;
    mb = mb_of(mbs[at * 2u], mbs[at * 2u + 1u]);
    if (mb.slice >= picture.slice_count)
        return DER_BAD;
    der_slice slice = slices[picture.slice_base + mb.slice];
    uvec2 refs = motion[words + MOTION_REFS];
    place p = place_of(addr, picture.mb_width);
    if (addr < slice.first_mb || addr >= slice.end_mb || !syntax_good(slice, syntax[at]) ||
        !record_good(picture, slice, p) ||
        !(mb.kind == REC_MB_INTER ? refs_good(slice, refs) : intra_good(picture, p, refs)))
        return DER_BAD;
    note_used(picture.slice_base + mb.slice,
              mb.kind == REC_MB_INTER ? entries_of(refs) : uvec2(0u));
    still_maps[at] =
        uint16_t(still_blocks(words, refs, slice.corners != 0 ? uint(DER_CORNERS) : 0xffffu));
    return (mb.kind == REC_MB_INTER ? DER_INTER : DER_INTRA) |
           (mb.deblock != 0u ? DER_DEBLOCK : 0u);
}

void main()
{
    der_picture picture = pictures[gl_WorkGroupID.y];
    uint addr = gl_GlobalInvocationID.x;
    uint said = addr < picture.mb_count ? look(picture, addr) : 0u;
    said = subgroupOr(said);
    if (subgroupElect() && said != 0u)
        atomicOr(results[gl_WorkGroupID.y * MOT_RESULTS], said);
}
