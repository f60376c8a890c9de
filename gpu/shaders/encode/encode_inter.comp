/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A round of coding inter macroblocks (encode/reference/code_inter.c): their motion or that of
 * P_Skip, with 4x4 or 8x8 transforms or without a residual, by squared error and bits. Grid:
 * macroblocks in x, pictures in z.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/encode_search.glsl"
#include "gpu/shaders/lib/encode_satd.glsl"
#include "gpu/shaders/lib/encode_motion.glsl"
#include "gpu/shaders/lib/encode_code.glsl"
#include "gpu/shaders/lib/encode_blocks.glsl"
#include "gpu/shaders/lib/encode_store.glsl"

shared uint ssd_none;

/* Four samples of a row, and their residual */
void predict_luma(uint t)
{
    ivec2 at = ivec2(4u * (t & 3u), t >> 2), place = 16 * mb_at + at;
    uint quadrant = (t >> 5) * 2u + (t >> 1 & 1u);
    ivec2 from = two_samples_at(uint(pictures[picture].reference[own_ref[quadrant]]),
                                4 * place + own_mv[quadrant]);
    int source =
        int(plane_origin(pictures[picture].source, 0u)) + place.y * int(plane_stride(0u)) + place.x;
    for (int i = 0; i < 4; i++) {
        int p = (int(planes[from.x + i]) + int(planes[from.y + i]) + 1) >> 1, to = 16 * at.y + at.x;
        pred[to + i] = p;
        residual[to + i] = int(planes[source + i]) - p;
    }
}

/* One sample of each component (8.4.2.2.2) */
void predict_chroma(uint t)
{
    ivec2 at = ivec2(t & 7u, t >> 3), place = 8 * mb_at + at;
    ivec2 size = 8 * ivec2(args.mb_width, args.mb_height);
    uint quadrant = 2u * (t >> 5) + (t >> 2 & 1u);
    uint set = uint(pictures[picture].reference[own_ref[quadrant]]);
    ivec2 from = place + (own_mv[quadrant] >> 3), f = own_mv[quadrant] & 7;
    ivec2 low = clamp(from, ivec2(0), size - 1), high = clamp(from + 1, ivec2(0), size - 1);
    for (uint c = 0u; c < 2u; c++) {
        int base = int(chroma_origin(set, c)), to = CHROMA_FIRST + 64 * int(c) + int(t);
        int a = int(planes[base + low.y * size.x + low.x]);
        int b = int(planes[base + low.y * size.x + high.x]);
        int d = int(planes[base + high.y * size.x + low.x]);
        int e = int(planes[base + high.y * size.x + high.x]);
        int p = ((8 - f.y) * ((8 - f.x) * a + f.x * b) + f.y * ((8 - f.x) * d + f.x * e) + 32) >> 6;
        int source = int(chroma_origin(pictures[picture].source, c)) + place.y * size.x + place.x;
        pred[to] = p;
        residual[to] = int(planes[source]) - p;
    }
}

/* Bits of the type and the vectors of the threads' own motion, in 16ths */
uint syntax_bits()
{
    ivec2 mv[4] = own_mv;
    int ref[4] = own_ref;
    bvec2 rows, columns; /* halves that have one motion */
    for (int i = 0; i < 2; i++) {
        rows[i] = mv[2 * i] == mv[2 * i + 1] && ref[2 * i] == ref[2 * i + 1];
        columns[i] = mv[i] == mv[i + 2] && ref[i] == ref[i + 2];
    }
    uint first = all(rows) && all(columns) ? 0u : all(rows) ? 1u : all(columns) ? 3u : 5u;
    uint sum = first == 0u ? 1u : first == 5u ? 9u : 3u;
    uint end = first == 0u ? 1u : first == 5u ? 9u : first + 2u;
    own_clear();
    for (uint part = first; part < end; part++) {
        ivec4 place = part_places[part];
        int i = 2 * place.y + place.x;
        sum += vector_bits(mv[i], predict_vector(place, ref[i])) + ref_bits(uint(ref[i]));
        own_set(place, ref[i], mv[i]);
    }
    return 16u * sum;
}

/* Threads 0 to 31 have luma by 8x8 transforms, 32 to 47 by 4x4 ones, 48 to 55 chroma. */
void code_blocks(bool with8, bool chroma)
{
    uint t = gl_LocalInvocationIndex;
    bool big = with8 && t < 32u, luma4 = t >= 32u && t < 48u,
         chroma4 = chroma && t >= 48u && t < 56u, any = false;
    int v[16];
    if (big)
        rows_forward8(t);
    else if (luma4)
        code_luma4(t - 32u, v);
    else if (chroma4)
        any = chroma4_begin(t - 48u, v);
    barrier();
    if (chroma4)
        chroma4_end(t - 48u, v, any, ROUNDING_INTER);
    code_rest8(big, t);
}

/* Code the threads' own motion. The cost of the best way; *big: with 8x8 transforms, *none: the
 * prediction alone. */
uint code_motion(ivec2 skip_mv, out bool big, out bool none)
{
    uint t = gl_LocalInvocationIndex, flags = uint(pictures[picture].flags);
    bool chroma = (flags & ENC_CHROMA) != 0u;
    uint bits16 = syntax_bits();
    barrier();
    if (t < WAYS)
        ssd[t] = bits[t] = coded[t] = 0u;
    if (t == 0u)
        ssd_none = 0u;
    predict_luma(t);
    if (chroma)
        predict_chroma(t);
    barrier();
    uint error = 0u;
    for (uint i = t; i < (chroma ? 384u : 256u); i += SEARCH_THREADS)
        error += uint(residual[i] * residual[i]);
    atomicAdd(ssd_none, error);
    code_blocks((flags & ENC_TRANSFORM_8X8) != 0u, chroma);
    barrier();
    uint luma = weighed(ssd[0], bits[0]), luma8 = weighed(ssd[1], bits[1]);
    big = (flags & ENC_TRANSFORM_8X8) != 0u && luma8 < luma;
    uint cost = (big ? luma8 : luma) + weighed(0u, bits16 + 48u);
    if (chroma)
        cost += weighed(ssd[2], bits[2]) + weighed(ssd[3], bits[3]);
    uint cost_none = weighed(ssd_none, own_is(skip_mv) ? 8u : bits16 + 16u);
    none = cost_none <= cost || (coded[big ? 1 : 0] | coded[2] | coded[3]) == 0u;
    return none ? cost_none : cost;
}

void main()
{
    uint t = gl_LocalInvocationIndex;
    bool big, none;
    if (!search_begin())
        return;
    uint at = record_at(mb);
    own_load(FIELD);
    if (uint(mbs[at].kind) != REC_MB_INTER) {
        own_store(1u - FIELD, t);
        return;
    }
    qps = uvec3(uint(mbs[at].qp[0]), uint(mbs[at].qp[1]), uint(mbs[at].qp[2]));
    scan8[t] = zigzag8[t];
    around_load();
    ivec2 skip_mv = predict_skip();
    bool other = !own_is(skip_mv) && allowed(skip_mv);
    uint best = NO_COST;
    [[dont_unroll]] for (int i = 0; i < (other ? 2 : 1); i++) {
        if (i > 0)
            own_set(ivec4(0, 0, 2, 2), 0, skip_mv);
        uint cost = code_motion(skip_mv, big, none);
        if (cost < best)
            inter_keep(big, none);
        best = min(cost, best);
    }
}
