/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Where each macroblock's coefficient blocks begin, by sums of prefixes, and the QP of those
 * without mb_qp_delta: that of the one before in the slice (7.4.5). Grid: pictures in z; a
 * workgroup has a picture.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/encode_common.glsl"

#define THREADS 256

layout(local_size_x = THREADS) in;

layout(set = 0, binding = ENC_BIND_MBS, scalar) buffer mb_buffer
{
    rec_mb mbs[];
};
layout(set = 0, binding = ENC_BIND_TOTALS, scalar) writeonly buffer total_buffer
{
    uint totals[];
};

/* Blocks up to here; the last macroblock up to here, and one more, whose QP is its own */
shared uint blocks[2][THREADS], owners[2][THREADS];

uint blocks_of(uint at)
{
    return uint(bitCount(uint(mbs[at].coded[0])) + bitCount(uint(mbs[at].coded[1])) +
                bitCount(uint(mbs[at].coded[2])));
}

bool owns_qp(uint first, uint mb)
{
    uint at = first + mb;
    return mb == 0u || mbs[at].slice != mbs[at - 1u].slice || blocks_of(at) != 0u ||
           uint(mbs[at].kind) == REC_MB_INTRA_16X16;
}

/* blkIdx order to raster order */
uint nonzero_of(uint c)
{
    uint swap = (c >> 2 ^ c) & 0x0c0cu;
    return (c ^ swap ^ swap << 2) & 0xffffu;
}

/* Inclusive sums and maxima of all threads; which of both buffers holds them */
uint prefix_sums()
{
    uint t = gl_LocalInvocationIndex, now = 0u;
    for (uint step = 1u; step < THREADS; step *= 2u) {
        bool far = t >= step;
        barrier();
        blocks[1u - now][t] = blocks[now][t] + (far ? blocks[now][t - step] : 0u);
        owners[1u - now][t] = max(owners[now][t], far ? owners[now][t - step] : 0u);
        now = 1u - now;
    }
    barrier();
    return now;
}

void main()
{
    uint t = gl_LocalInvocationIndex, count = args.mb_width * args.mb_height;
    uint first = gl_WorkGroupID.z * count, before = 0u, owner = 0u;
    for (uint base = 0u; base < count; base += THREADS) {
        uint mb = base + t, mine = mb < count ? blocks_of(first + mb) : 0u;
        barrier();
        blocks[0][t] = mine;
        owners[0][t] = mb < count && owns_qp(first, mb) ? mb + 1u : 0u;
        uint now = prefix_sums();
        if (mb < count) {
            uint from = max(owners[now][t], owner) - 1u;
            mbs[first + mb].coeff = before + blocks[now][t] - mine;
            mbs[first + mb].nonzero = uint16_t(nonzero_of(uint(mbs[first + mb].coded[0])));
            for (uint i = 0u; i < 3u && from != mb; i++)
                mbs[first + mb].qp[i] = mbs[first + from].qp[i];
        }
        before += blocks[now][THREADS - 1];
        owner = max(owner, owners[now][THREADS - 1]);
    }
    if (t == 0u)
        totals[gl_WorkGroupID.z] = before;
}
