/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Intra macroblocks that are predicted as a whole: luma of Intra16x16, and chroma.
 */
#ifndef PELTON_ENCODE_INTRA_WHOLE_GLSL
#define PELTON_ENCODE_INTRA_WHOLE_GLSL

void code_16x16(uint at, uint avail)
{
    uint t = gl_LocalInvocationIndex, mode = uint(mbs[at].intra_mode[0]) & 15u;
    block_sides s = sides_of(avail, ivec2(0), 4);
    int v[16];
    border_begin_luma(sides_of_whole(mode, 2u, REC_NEEDS_16X16, avail));
    border_take_all();
    ivec3 terms = mode == 3u ? plane_terms_of(0, 16) : ivec3(0);
    int mean = mode == 2u ? mean_of_luma(s) : 0;
    for (uint i = t; i < 256u; i += SEARCH_THREADS) {
        ivec2 to = ivec2(i & 15u, i >> 4);
        int p = mode == 0u   ? TILE_AT(to.x, -1)
                : mode == 1u ? TILE_AT(-1, to.y)
                : mode == 2u ? mean
                             : plane_sample(terms, to - 7);
        pred[i] = p;
        residual[i] -= p;
    }
    barrier();
    if (t < 16u)
        whole4_begin(t, v);
    barrier();
    if (t == 0u)
        luma_dc();
    barrier();
    if (t < 16u)
        whole4_end(t, v);
    barrier();
    border_tell(false);
}

/* ---- chroma: 16 threads have four blocks, those of both components at x = 0 or at x = 4 ---- */

#define BLOCKS 4 /* Cb at y = 0 and y = 4, then Cr */

/* The sample of the thread in its block i, in the component */
ivec2 chroma_place(int i)
{
    return ivec2(4u * (LANE >> 4) + (LANE & 3u), 4u * uint(i & 1) + (LANE >> 2 & 3u));
}

void predict_chroma(uint mode, block_sides s, out int p[BLOCKS])
{
    [[unroll]] for (int i = 0; i < BLOCKS; i++) {
        int first = 12 * (i >> 1);
        ivec2 to = chroma_place(i);
        if (mode == 0u)
            p[i] = mean_of_chroma(uint(4 * (i >> 1) + 2 * (i & 1)) + (LANE >> 4), s);
        else if (mode == 3u)
            p[i] = plane_sample(plane_terms_of(first, 8), to - 3);
        else
            p[i] = mode == 2u ? TILE_AT(first + to.x, -1) : TILE_AT(first - 1, to.y);
    }
}

/* DC of a component (8.5.11), of its blocks in raster order: levels, and what becomes of them */
void chroma_dc(uint qp, inout ivec4 v, out ivec4 scaled)
{
    v = hadamard2(v);
    for (int i = 0; i < 4; i++)
        v[i] = quantise_dc(v[i], qp, ROUNDING_INTRA);
    scaled = hadamard2(v) * 16 * norm_adjust4(int(qp % 6u), 0);
    scaled = (scaled << (qp / 6u)) >> 5;
}

/* Levels of both blocks of component c; v: the coefficients, then the scaled ones */
void quantise_chroma(uint c, lane_quantiser q, inout int v[BLOCKS])
{
    uint i = 2u * c, side = LANE >> 4;
    ivec4 dc = ivec4(of_lane(v[i], 0u), of_lane(v[i], 16u), of_lane(v[i + 1u], 0u),
                     of_lane(v[i + 1u], 16u)),
          back;
    chroma_dc(qps[c + 1u], dc, back);
    if (LANE == 0u && dc != ivec4(0))
        atomicOr(coded[WAY_CB + c], 15u);
    [[unroll]] for (uint k = 0u; k < 2u; k++) {
        uint blk = 2u * k + side;
        bool any, first = (LANE & 15u) == 0u;
        int l = lane_level(q, v[i + k], true, any);
        l = first ? dc[blk] : l;
        level[CHROMA_BLOCK + 64u * c + 16u * blk + uint(q.at)] = l;
        v[i + k] = first ? back[blk] : lane_scaled(q, l);
        if (any && first)
            atomicOr(coded[WAY_CB + c], 1u << blk);
    }
}

void code_chroma(uint at, uint avail)
{
    uint mode = uint(mbs[at].intra_chroma_mode);
    int p[BLOCKS], v[BLOCKS];
    lane_quantiser q[2] = lane_quantiser[2](lane_quantiser_of(qps.y), lane_quantiser_of(qps.z));
    border_begin_chroma(sides_of_whole(mode, 0u, REC_NEEDS_CHROMA, avail));
    border_take_all();
    predict_chroma(mode, sides_of(avail, ivec2(0), 4), p);
    [[unroll]] for (int i = 0; i < BLOCKS; i++) {
        ivec2 to = chroma_place(i);
        int r = residual[256 + 64 * (i >> 1) + 8 * to.y + to.x] - p[i];
        v[i] = lane_coefficient(q[i >> 1], r);
    }
    [[unroll]] for (uint c = 0u; c < 2u; c++)
        quantise_chroma(c, q[c], v);
    [[unroll]] for (int i = 0; i < BLOCKS; i++) {
        int r = clamp(p[i] + lane_residual(q[i >> 1], v[i]), 0, 255);
        work[CHROMA_BLOCK + 32 * i + 16 * int(LANE >> 4) + int(LANE & 15u)] = r;
    }
    barrier();
    border_tell(false);
}

#endif
