/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Sorts blocks into case lists (cases.h). A thread looks at 4x4 luma blocks, one after the other.
 * With a block it looks at the chroma of its quadrant and at the residual. Grid: x CLASSIFY_BLOCKS
 * blocks of a picture, y pictures.
 *
 * The shader runs twice. The first run counts. classify_starts then computes the starts, and the
 * second run writes entries. All workgroups count in the same few words. So each workgroup adds up
 * its counts in shared memory and adds once for each case. When writing, it therefore looks at its
 * blocks twice.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "gpu/shaders/lib/common.glsl"
#include "gpu/shaders/lib/debug.glsl"

layout(local_size_x = CLASSIFY_THREADS) in;
layout(constant_id = 0) const uint WRITE = 0;

layout(set = SET_BATCH, binding = BIND_MOTION, scalar) readonly buffer motion_buffer
{
    rec_motion motion[];
};
layout(set = SET_BATCH, binding = BIND_LISTS, scalar) writeonly buffer list_buffer
{
    uint lists[];
};
layout(set = SET_BATCH, binding = BIND_COUNTERS, scalar) buffer counter_buffer
{
    uint counters[];
};

/* Entries of each case that the workgroup has; then where the next one goes. */
shared uint found[CASE_SLOTS];
bool writing = false;

void emit(uint kase, uint entry)
{
    if (kase == CASE_NONE)
        return;
    uint at = atomicAdd(found[kase], 1u);
    if (writing)
        lists[at] = entry;
}

uint luma_class(uint at, uint list, uint block)
{
    uint x = uint(motion[at].mv[list][block][0]) & 3u, y = uint(motion[at].mv[list][block][1]) & 3u;
    if (y == 0u)
        return x == 0u ? LUMA_FULL : LUMA_ROW;
    if (x == 0u)
        return LUMA_COLUMN;
    return x == 2u ? LUMA_CENTRE_V : y == 2u ? LUMA_CENTRE_H : LUMA_DIAGONAL;
}

/* Do the four blocks of the quadrant whose first one is block move alike in this list? */
bool together(uint at, uint list, uint block)
{
    bool same = true;
    for (uint c = 0u; c < 2u; c++) {
        int16_t first = motion[at].mv[list][block][c];
        same = same && motion[at].mv[list][block + 1u][c] == first &&
               motion[at].mv[list][block + 4u][c] == first &&
               motion[at].mv[list][block + 5u][c] == first;
    }
    return same;
}

/* Of luma, and of chroma that is coded like it. */
uint luma_residual_case(rec_mb mb, uint c, uint blk)
{
    if ((uint(mb.coded[c]) >> blk & 1u) == 0u)
        return CASE_NONE;
    bool size8 = (uint(mb.flags) & REC_MB_TRANSFORM_8X8) != 0u;
    if (size8 && (blk & 3u) != 0u)
        return CASE_NONE;
    if (uint(mb.kind) == REC_MB_INTRA_PCM)
        return CASE_RES_COPY + c;
    if ((uint(mb.flags) & REC_MB_BYPASS) != 0u)
        return (size8 ? CASE_RES_COPY_8X8 : CASE_RES_COPY) + c;
    return (size8                                 ? CASE_RES_8X8
            : uint(mb.kind) == REC_MB_INTRA_16X16 ? CASE_RES_16X16
                                                  : CASE_RES_4X4) +
           c;
}

/* Of subsampled chroma: c is 0 or 1. */
uint chroma_residual_case(rec_mb mb, uint c, uint b)
{
    if ((uint(mb.coded[1u + c]) >> b & 1u) == 0u)
        return CASE_NONE;
    bool plain = uint(mb.kind) == REC_MB_INTRA_PCM || (uint(mb.flags) & REC_MB_BYPASS) != 0u;
    return (plain ? CASE_RES_COPY + 1 : CASE_RES_CHROMA) + c;
}

void look_at(uint picture, uint addr, uint block)
{
    uint at = pictures[picture].mb_base + addr, where = picture << 24 | addr << 4;
    rec_mb mb = mbs[at];
    uint blk = swap_blk(block);
    uint luma = CASE_NONE, chroma = CASE_NONE;
    if (uint(mb.kind) == REC_MB_INTER) {
        uint quadrant = blk >> 2;
        bool use0 = motion[at].ref_idx[0][quadrant] >= 0,
             use1 = motion[at].ref_idx[1][quadrant] >= 0;
        bool both = use0 && use1;
        uint mode = uint(slices[pictures[picture].slice_base + mb.slice].weight_mode);
        uint weighted =
            mode == REC_WEIGHT_EXPLICIT || (mode == REC_WEIGHT_IMPLICIT && both) ? 1u : 0u;
        uint class0 = luma_class(at, use0 ? 0u : 1u, block);
        luma = CASE_LUMA_ONE + 2u * class0 + weighted;
        if (both)
            luma = CASE_LUMA_BOTH + 2u * (class0 * LUMA_CLASSES + luma_class(at, 1u, block)) +
                   weighted;
        if ((CHROMA_FORMAT == 1u || CHROMA_FORMAT == 2u) && (blk & 3u) == 0u) {
            bool alike = (!use0 || together(at, 0u, block)) && (!use1 || together(at, 1u, block));
            chroma = CASE_CHROMA + (alike ? 0u : 4u) + (both ? 2u : 0u) + weighted;
        }
    }
    emit(luma, where | block);
    emit(chroma, where | blk >> 2);
    emit(luma_residual_case(mb, 0u, blk), where | blk);
    if (CHROMA_FORMAT == 3u) {
        emit(luma_residual_case(mb, 1u, blk), where | blk);
        emit(luma_residual_case(mb, 2u, blk), where | blk);
    } else if (CHROMA_FORMAT != 0u) {
        const uint bits = CHROMA_FORMAT == 1u ? 2u : 3u; /* of a block's number */
        emit(block >> bits < 2u
                 ? chroma_residual_case(mb, block >> bits, block & ((1u << bits) - 1u))
                 : CASE_NONE,
             where | (block & ((1u << bits) - 1u)));
    }
}

void main()
{
    uint picture = push.first_picture + gl_WorkGroupID.y, t = gl_LocalInvocationIndex;
    if (gl_WorkGroupID.y >= push.picture_count)
        return;
    DEBUG_FIRST_X(DEBUG_MB_COUNT, picture, pictures[picture].mb_count);
    if (t < CASE_SLOTS)
        found[t] = 0u;
    barrier();
    [[dont_unroll]] for (uint turn = 0u; turn <= WRITE; turn++) {
        writing = turn > 0u;
        [[dont_unroll]] for (uint i = t; i < CLASSIFY_BLOCKS; i += CLASSIFY_THREADS) {
            uint index = (pictures[picture].row_first * push.mb_width << 4) +
                         gl_WorkGroupID.x * CLASSIFY_BLOCKS + i;
            if (index >> 4 <
                min(pictures[picture].mb_count, pictures[picture].row_end * push.mb_width))
                look_at(picture, index >> 4, index & 15u);
        }
        barrier();
        if (turn == 0u && t < CASE_SLOTS && found[t] > 0u)
            found[t] =
                atomicAdd(counters[(WRITE != 0u ? COUNTER_CURSOR : COUNTER_LENGTH) + t], found[t]);
        barrier();
    }
}
