/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Where each macroblock's coefficient blocks begin, by sums of prefixes, and the QP of those
 * without mb_qp_delta: that of the one before in the slice (7.4.5). The first round leaves sums of
 * runs of macroblocks, the second one goes on from those before its own. Grid: runs in x, pictures
 * in z; a thread has a macroblock.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/encode_common.glsl"

#define SUM_THREADS ENC_RUN_MBS
#include "gpu/shaders/lib/sums_before.glsl"

layout(local_size_x = SUM_THREADS) in;

layout(constant_id = 0) const uint ROUND = 0;

layout(set = 0, binding = ENC_BIND_MBS, scalar) buffer mb_buffer
{
    rec_mb mbs[];
};
layout(set = 0, binding = ENC_BIND_RUNS, scalar) buffer run_buffer
{
    enc_run runs[];
};
layout(set = 0, binding = ENC_BIND_TOTALS, scalar) writeonly buffer total_buffer
{
    enc_total totals[];
};

shared uint earlier_blocks, earlier_owner; /* of the runs before */
shared uint owners[SUM_THREADS];

uint blocks_of(uint at)
{
    return uint(bitCount(uint(mbs[at].coded[0])) + bitCount(uint(mbs[at].coded[1])) +
                bitCount(uint(mbs[at].coded[2])));
}

bool owns_qp(uint first, uint mb, uint blocks)
{
    uint at = first + mb;
    return mb == 0u || mbs[at].slice != mbs[at - 1u].slice || blocks != 0u ||
           uint(mbs[at].kind) == REC_MB_INTRA_16X16;
}

/* blkIdx order to raster order */
uint nonzero_of(uint c)
{
    uint swap = (c >> 2 ^ c) & 0x0c0cu;
    return (c ^ swap ^ swap << 2) & 0xffffu;
}

/* Sums of the runs of the picture before this one */
void earlier_add(uint first)
{
    for (uint i = gl_LocalInvocationIndex; i < gl_WorkGroupID.x; i += SUM_THREADS) {
        atomicAdd(earlier_blocks, runs[first + i].blocks);
        atomicMax(earlier_owner, runs[first + i].owner);
    }
}

/* The last macroblock up to the thread's one whose QP is its own, and one more */
uint owner_of(uint t)
{
    uint owner = earlier_owner;
    for (uint i = 0u; i <= t; i++)
        owner = max(owner, owners[i]);
    return owner;
}

void mb_store(uint first, uint mb, uint place, uint owner)
{
    uint at = first + mb;
    mbs[at].coeff = place;
    mbs[at].nonzero = uint16_t(nonzero_of(uint(mbs[at].coded[0])));
    for (uint k = 0u; k < 3u && owner != mb + 1u; k++)
        mbs[at].qp[k] = mbs[first + owner - 1u].qp[k];
}

void main()
{
    uint t = gl_LocalInvocationIndex, count = args.mb_width * args.mb_height, total;
    uint first = gl_WorkGroupID.z * count, mb = gl_WorkGroupID.x * SUM_THREADS + t;
    uint first_run = gl_WorkGroupID.z * gl_NumWorkGroups.x, run = first_run + gl_WorkGroupID.x;
    uint blocks = mb < count ? blocks_of(first + mb) : 0u;
    if (t == 0u)
        earlier_blocks = earlier_owner = 0u;
    owners[t] = mb < count && owns_qp(first, mb, blocks) ? mb + 1u : 0u;
    uint before = sums_before(blocks, total);
    if (ROUND == 0u) {
        if (t == 0u)
            runs[run] = enc_run(total, owner_of(SUM_THREADS - 1u));
        return;
    }
    earlier_add(first_run);
    barrier();
    if (mb < count)
        mb_store(first, mb, earlier_blocks + before, owner_of(t));
    if (mb + 1u == count)
        totals[gl_WorkGroupID.z].blocks = earlier_blocks + before + blocks;
    if (mb == 0u)
        totals[gl_WorkGroupID.z].units = ENC_NO_UNITS;
}
