/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Deblocking strengths of all edges (8.7.2.1), and their thresholds (8.7.2.2), as
 * deblock_strength.comp makes them for any stream. Here a reference index says which picture it is,
 * and list 1 is empty. 32 threads do one macroblock. Each computes one strength, of four luma
 * samples of an edge. The first nine also compute one set of thresholds each. The vector in the
 * middle is kept for the search of the picture that follows. Grid: groups of four macroblocks in x,
 * pictures in z.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/encode_common.glsl"
#include "gpu/shaders/lib/cases.h"
#include "gpu/shaders/lib/deblock_tables.glsl"

layout(local_size_x = 32 * ENC_STRENGTH_MBS) in;

layout(set = 0, binding = ENC_BIND_MBS, scalar) readonly buffer mb_buffer
{
    rec_mb mbs[];
};
layout(set = 0, binding = ENC_BIND_MOTION, scalar) readonly buffer motion_buffer
{
    rec_motion motion[]; /* the first field is that of the last round */
};
layout(set = 0, binding = ENC_BIND_STRENGTHS, scalar) writeonly buffer strength_buffer
{
    uint strengths[];
};

layout(set = 0, binding = ENC_BIND_LAST, scalar) writeonly buffer last_buffer
{
    enc_last last[];
};

shared uint words[ENC_STRENGTH_MBS * 4];

bool is_intra(uint at)
{
    return uint(mbs[at].kind) != REC_MB_INTER;
}

/* Do references or vectors of two inter blocks differ enough? p, q: blocks in raster order */
bool motion_differs(uint at_p, uint p, uint at_q, uint q)
{
    uint pq = (p >> 3) * 2u + (p >> 1 & 1u), qq = (q >> 3) * 2u + (q >> 1 & 1u);
    if (motion[at_p].ref_idx[0][pq] != motion[at_q].ref_idx[0][qq])
        return true;
    ivec2 a = ivec2(motion[at_p].mv[0][p][0], motion[at_p].mv[0][p][1]);
    ivec2 b = ivec2(motion[at_q].mv[0][q][0], motion[at_q].mv[0][q][1]);
    return any(greaterThanEqual(abs(a - b), ivec2(4)));
}

uint thresholds(uint p, uint q, uint c)
{
    uint picture = gl_WorkGroupID.z;
    int qp = (int(mbs[p].qp[c]) + int(mbs[q].qp[c]) + 1) >> 1;
    int a = clamp(qp + int(pictures[picture].filter_offset[0]), 0, 51),
        b = clamp(qp + int(pictures[picture].filter_offset[1]), 0, 51);
    return deblock_alpha[a] | deblock_beta[b] << 8 | deblock_tc0[a] << 16;
}

uint strength_of(uint at_p, uint p, uint at_q, uint q, bool inside)
{
    if (is_intra(at_p) || is_intra(at_q))
        return inside ? 3u : 4u;
    if (((uint(mbs[at_p].nonzero) >> p | uint(mbs[at_q].nonzero) >> q) & 1u) != 0u)
        return 2u;
    return motion_differs(at_p, p, at_q, q) ? 1u : 0u;
}

void main()
{
    uint t = gl_LocalInvocationIndex & 31u, local_mb = gl_LocalInvocationIndex >> 5;
    uint address = gl_WorkGroupID.x * ENC_STRENGTH_MBS + local_mb,
         count = args.mb_width * args.mb_height;
    bool exists = address < count;
    if (t < 4u)
        words[local_mb * 4u + t] = 0u;
    barrier();
    uint at = gl_WorkGroupID.z * count + min(address, count - 1u), deblock = uint(mbs[at].deblock);
    uint left = (deblock & REC_DEBLOCK_LEFT) != 0u ? at - 1u : at,
         top = (deblock & REC_DEBLOCK_TOP) != 0u ? at - args.mb_width : at;
    uint direction = t >> 4, edge = t >> 2 & 3u, segment = t & 3u;
    uint beside = edge > 0u ? at : direction == 0u ? left : top;
    uint step_size = direction == 0u ? 1u : 4u, q = edge * step_size + segment * (5u - step_size);
    uint p = edge > 0u ? q - step_size : q + 3u * step_size;
    bool big = (uint(mbs[at].flags) & REC_MB_TRANSFORM_8X8) != 0u;
    bool visited = edge > 0u ? (deblock & REC_DEBLOCK_INTERNAL) != 0u && (!big || (edge & 1u) == 0u)
                             : beside != at;
    if (exists && visited)
        atomicOr(words[local_mb * 4u + (t >> 3)], strength_of(beside, p, at, q, edge > 0u)
                                                      << 4u * (t & 7u));
    barrier();
    if (!exists)
        return;
    if (t < 4u)
        strengths[at * STRENGTH_WORDS + t] = words[local_mb * 4u + t];
    if (t < 2u)
        last[pictures[gl_WorkGroupID.z].kept * count + address].mv[t] = motion[at].mv[0][5][t];
    if (t < 9u) {
        uint place = t / 3u, other = place == STRENGTH_LEFT  ? left
                                     : place == STRENGTH_TOP ? top
                                                             : at;
        strengths[at * STRENGTH_WORDS + STRENGTH_PARAMS + t] = thresholds(other, at, t % 3u);
    }
}
