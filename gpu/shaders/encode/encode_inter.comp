/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Inter macroblocks (encode/reference/code_inter.c): their motion or that of P_Skip, with 4x4 or
 * 8x8 transforms or without a residual, by squared error and bits. A prediction that is near has no
 * residual. 8x8 transforms are tried where 4x4 has levels of luma. P_Skip's motion is tried where
 * the other one has levels, and with a residual where its error is not far greater. Grid:
 * macroblocks in x, pictures in z.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#define SEARCH_THREADS 32
#include "gpu/shaders/lib/encode_search.glsl"
#include "gpu/shaders/lib/encode_satd.glsl"
#include "gpu/shaders/lib/encode_motion.glsl"
#include "gpu/shaders/lib/encode_predict.glsl"
#include "gpu/shaders/lib/encode_inter_blocks.glsl"
#include "gpu/shaders/lib/encode_inter_wide.glsl"
#include "gpu/shaders/lib/encode_inter_keep.glsl"

/* A prediction whose squared error is worth this many bits, or fewer, has no residual. */
#define NEAR_BITS 32u

shared uint part_bits[4];

/* Quadrants of the partitions before a thread's one, by shape: 16x16, 16x8, 8x16, 8x8 */
uint quadrants_before(uint shape, uint part)
{
    return part == 0u ? 0u : shape == 1u ? 3u : shape == 2u ? 5u : (1u << part) - 1u;
}

/* The type and the vectors of partitions, in 16ths of a bit. A thread has a partition. */
uint parted_bits(bool rows, bool columns)
{
    uint t = gl_LocalInvocationIndex;
    uint shape = rows && columns ? 0u : rows ? 1u : columns ? 2u : 3u;
    uint count = shape == 0u ? 1u : shape == 3u ? 4u : 2u;
    barrier();
    if (t < 4u)
        part_bits[t] = 0u;
    if (t < count) {
        ivec4 place = part_places[shape == 0u ? 0u : 2u * shape - 1u + t];
        ivec2 saved_mv[4] = own_mv, mv;
        int saved_ref[4] = own_ref, ref;
        uint before = quadrants_before(shape, t);
        mv = own_mv_of(uint(2 * place.y + place.x));
        ref = own_ref_of(uint(2 * place.y + place.x));
        [[unroll]] for (int i = 0; i < 4; i++)
            if ((before >> i & 1u) == 0u) {
                own_mv[i] = ivec2(0);
                own_ref[i] = -1;
            }
        part_bits[t] = vector_bits(mv, predict_vector(place, ref)) + ref_bits(uint(ref));
        own_mv = saved_mv;
        own_ref = saved_ref;
    }
    barrier();
    return 16u * ((shape == 0u   ? 1u
                   : shape == 3u ? 9u
                                 : 3u) +
                  part_bits[0] + part_bits[1] + part_bits[2] + part_bits[3]);
}

/* Bits of the type and the vectors of the threads' own motion, in 16ths. whole: the vector that is
 * predicted for a whole macroblock in the newest reference */
uint syntax_bits(ivec2 whole)
{
    bvec2 rows, columns; /* halves that have one motion */
    for (int i = 0; i < 2; i++) {
        rows[i] = own_mv[2 * i] == own_mv[2 * i + 1] && own_ref[2 * i] == own_ref[2 * i + 1];
        columns[i] = own_mv[i] == own_mv[i + 2] && own_ref[i] == own_ref[i + 2];
    }
    if (all(rows) && all(columns) && own_ref[0] == 0)
        return 16u * (1u + vector_bits(own_mv[0], whole) + ref_bits(0u));
    return parted_bits(all(rows), all(columns));
}

/* The steps of 8x8 blocks */
void code_wide(uint t)
{
    scan8_fill(t);
    rows8_forward(t);
    barrier();
    columns8_forward(t);
    barrier();
    eighth_begin(t);
    barrier();
    bool changed = near_one != 0u;
    if (changed) {
        eighth_end(t);
        barrier();
        eighth_levels(t);
        barrier();
        rows8_back(t);
        barrier();
        columns8_back(t);
        barrier();
    }
    row8_rebuild(t, changed);
    barrier();
}

/* Predict by the threads' own motion; the squared error of the prediction alone. A thread adds up
 * the words that it has made. */
uint prediction_error(bool chroma)
{
    uint t = gl_LocalInvocationIndex, error = 0u;
    barrier();
    if (t == 0u)
        error_alone = 0u;
    predict_words(t, chroma);
    for (uint w = t; w < (chroma ? MB_WORDS : LUMA_WORDS); w += SEARCH_THREADS) [[unroll]]
        for (int i = 0; i < 4; i++)
            error += square(sample_of(source_words[w], i) - sample_of(pred_words[w], i));
    barrier();
    atomicAdd(error_alone, error);
    barrier();
    return error_alone;
}

/* What the residual costs; big: 8x8 transforms are better; any: it has levels */
uint code_residual(bool chroma, out bool big, out bool any)
{
    uint t = gl_LocalInvocationIndex;
    bool mine = t < (chroma ? 24u : 16u), has = false;
    uint qp = t < 16u ? qps.x : t < 20u ? qps.y : qps.z;
    int v[16];
    if (t < SUMS)
        errors[t] = bits[t] = coded[t] = 0u;
    if (t == 0u)
        near_one = 0u;
    if (mine)
        has = block4_begin(t, qp, v);
    barrier();
    if (mine)
        block4_end(t, qp, v, has);
    barrier();
    bool with8 =
        (uint(pictures[picture].flags) & ENC_TRANSFORM_8X8) != 0u && coded[SUM_LUMA4] != 0u;
    if (with8)
        code_wide(t);
    uint luma = weighed(errors[SUM_LUMA4], bits[SUM_LUMA4]),
         luma8 = weighed(errors[SUM_LUMA8], bits[SUM_LUMA8]);
    big = with8 && luma8 < luma;
    uint cost = big ? luma8 : luma;
    for (uint i = SUM_CB; i < SUMS && chroma; i++)
        cost += weighed(errors[i], bits[i]);
    any = (coded[big ? SUM_LUMA8 : SUM_LUMA4] | coded[2] | coded[3]) != 0u;
    return cost;
}

/* The cost of the threads' own motion; none: without levels. alone: its squared error */
uint code_motion(uint alone, ivec2 whole, bool skip, bool chroma, out bool none, out bool big)
{
    bool any = false;
    none = true;
    big = false;
    if (alone <= weighed(0u, 16u * NEAR_BITS)) /* no other motion costs less that is tried */
        return weighed(alone, 8u);
    uint bits16 = syntax_bits(whole), cost = weighed(alone, skip ? 8u : bits16 + 16u);
    uint residual = weighed(code_residual(chroma, big, any), bits16 + 48u);
    none = cost <= residual || !any;
    return none ? cost : residual;
}

/* The motion of the field; if it has levels, that of P_Skip, too, if it is another one */
void motions_try(ivec2 whole, ivec2 skip_mv, bool other, bool chroma)
{
    uint best = NO_COST, most = NO_COST;
    bool skip = own_is(skip_mv);
    [[dont_unroll]] for (int i = 0; i < (other ? 2 : 1); i++) {
        if (i > 0)
            own_set(ivec4(0, 0, 2, 2), 0, skip_mv);
        uint alone = prediction_error(chroma), cost = weighed(alone, 8u);
        bool none = true, big = false;
        if (alone <= most)
            cost = code_motion(alone, whole, skip || i > 0, chroma, none, big);
        if (cost < best)
            inter_keep(none, big);
        if (none)
            break;
        best = min(cost, best);
        most = 2u * alone;
    }
}

void main()
{
    uint t = gl_LocalInvocationIndex;
    if (!search_begin())
        return;
    uint at = record_at(mb);
    bool chroma = (uint(pictures[picture].flags) & ENC_CHROMA) != 0u;
    source_load(t, chroma);
    own_load(FIELD);
    if (uint(mbs[at].kind) != REC_MB_INTER) {
        own_store(1u - FIELD, t);
        return;
    }
    qps = uvec3(uint(mbs[at].qp[0]), uint(mbs[at].qp[1]), uint(mbs[at].qp[2]));
    around_load();
    ivec2 whole = predict_vector(ivec4(0, 0, 2, 2), 0), skip_mv = skip_vector(whole);
    motions_try(whole, skip_mv, !own_is(skip_mv) && allowed(skip_mv), chroma);
}
