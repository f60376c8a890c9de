/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Where each macroblock's coefficient blocks begin, by sums of prefixes, and the QP of those
 * without mb_qp_delta: that of the one before in the slice (7.4.5). Grid: pictures in z; a
 * workgroup has a picture.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "gpu/shaders/lib/encode_common.glsl"

/* A power of two; the device says how many are possible. */
layout(constant_id = 0) const uint THREADS = 256;
#define RUN 8 /* macroblocks of a thread, one after the other */

layout(local_size_x_id = 0) in;

layout(set = 0, binding = ENC_BIND_MBS, scalar) buffer mb_buffer
{
    rec_mb mbs[];
};
layout(set = 0, binding = ENC_BIND_TOTALS, scalar) writeonly buffer total_buffer
{
    enc_total totals[];
};

/* By thread: blocks up to the end of its run; the last macroblock up to there, and one more, whose
 * QP is its own */
shared uint blocks[2][THREADS], owners[2][THREADS];

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
    for (uint base = 0u; base < count; base += THREADS * RUN) {
        uint from = base + t * RUN, mine[RUN], owned[RUN], sum = 0u, last = 0u;
        [[unroll]] for (uint i = 0u; i < RUN; i++) {
            bool here = from + i < count;
            mine[i] = here ? blocks_of(first + from + i) : 0u;
            owned[i] = here && owns_qp(first, from + i, mine[i]) ? from + i + 1u : 0u;
            sum += mine[i];
            last = max(last, owned[i]);
        }
        barrier();
        blocks[0][t] = sum;
        owners[0][t] = last;
        uint now = prefix_sums(), at = before + blocks[now][t] - sum;
        uint own = max(owner, t > 0u ? owners[now][t - 1u] : 0u);
        [[unroll]] for (uint i = 0u; i < RUN; i++) {
            uint mb = first + from + i;
            own = max(own, owned[i]);
            if (from + i < count) {
                mbs[mb].coeff = at;
                mbs[mb].nonzero = uint16_t(nonzero_of(uint(mbs[mb].coded[0])));
                for (uint k = 0u; k < 3u && own - 1u != from + i; k++)
                    mbs[mb].qp[k] = mbs[first + own - 1u].qp[k];
            }
            at += mine[i];
        }
        before += blocks[now][THREADS - 1];
        owner = max(owner, owners[now][THREADS - 1]);
    }
    if (t == 0u) {
        totals[gl_WorkGroupID.z].blocks = before;
        totals[gl_WorkGroupID.z].units = ENC_NO_UNITS;
    }
}
