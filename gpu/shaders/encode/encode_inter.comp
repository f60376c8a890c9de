/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Inter macroblocks (encode/reference/code_inter.c): their motion or that of P_Skip, with 4x4 or
 * 8x8 transforms or without a residual, by squared error and bits. P_Skip's motion has a residual
 * only where its error is not far greater. Grid: macroblocks in x, pictures in z.
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

/* What a motion costs without its syntax, and its squared error by the prediction alone */
struct inter_cost {
    uint residual, alone;
    bool big, levels; /* 8x8 transforms are better; there is a level */
};

shared uint part_bits[4];

/* Quadrants of the partitions before a thread's one, by shape: 16x16, 16x8, 8x16, 8x8 */
uint quadrants_before(uint shape, uint part)
{
    return part == 0u ? 0u : shape == 1u ? 3u : shape == 2u ? 5u : (1u << part) - 1u;
}

/* Bits of the type and the vectors of the threads' own motion, in 16ths. A thread has a partition.
 */
uint syntax_bits()
{
    uint t = gl_LocalInvocationIndex;
    bvec2 rows, columns; /* halves that have one motion */
    for (int i = 0; i < 2; i++) {
        rows[i] = own_mv[2 * i] == own_mv[2 * i + 1] && own_ref[2 * i] == own_ref[2 * i + 1];
        columns[i] = own_mv[i] == own_mv[i + 2] && own_ref[i] == own_ref[i + 2];
    }
    uint shape = all(rows) && all(columns) ? 0u : all(rows) ? 1u : all(columns) ? 2u : 3u;
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

/* The steps of 8x8 blocks; the first barrier is that after the rows. */
void code_wide(uint t, bool with8)
{
    barrier();
    if (with8)
        columns8_forward(t);
    barrier();
    if (with8)
        eighth_begin(t);
    barrier();
    bool changed = with8 && near_one != 0u;
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
    if (with8)
        row8_rebuild(t, changed);
    barrier();
}

/* The squared error of the prediction alone; pred_words has it. */
uint prediction_error(bool chroma)
{
    uint t = gl_LocalInvocationIndex, error = 0u;
    if (t == 0u)
        error_none = 0u;
    barrier();
    for (uint w = t; w < (chroma ? MB_WORDS : LUMA_WORDS); w += SEARCH_THREADS) [[unroll]]
        for (int i = 0; i < 4; i++)
            error += square(sample_of(source_words[w], i) - sample_of(pred_words[w], i));
    atomicAdd(error_none, error);
    barrier();
    return error_none;
}

/* What the threads' own motion costs */
inter_cost code_motion(bool chroma)
{
    uint t = gl_LocalInvocationIndex;
    bool with8 = (uint(pictures[picture].flags) & ENC_TRANSFORM_8X8) != 0u;
    bool mine = t < (chroma ? 24u : 16u), any = false;
    uint qp = t < 16u ? qps.x : t < 20u ? qps.y : qps.z;
    int v[16];
    inter_cost c;
    barrier();
    if (t < SUMS)
        errors[t] = bits[t] = coded[t] = 0u;
    if (t == 0u)
        error_none = near_one = 0u;
    predict_words(t, chroma);
    barrier();
    if (with8)
        rows8_forward(t);
    if (mine)
        any = block4_begin(t, qp, v);
    barrier();
    if (mine)
        block4_end(t, qp, v, any);
    code_wide(t, with8);
    uint luma = weighed(errors[SUM_LUMA4], bits[SUM_LUMA4]),
         luma8 = weighed(errors[SUM_LUMA8], bits[SUM_LUMA8]);
    c.big = with8 && luma8 < luma;
    c.residual = c.big ? luma8 : luma;
    for (uint i = SUM_CB; i < SUMS && chroma; i++)
        c.residual += weighed(errors[i], bits[i]);
    c.alone = error_none;
    c.levels = (coded[c.big ? SUM_LUMA8 : SUM_LUMA4] | coded[2] | coded[3]) != 0u;
    return c;
}

/* The cost with the syntax; none: without levels */
uint cost_judge(inter_cost c, ivec2 skip_mv, out bool none)
{
    uint bits16 = syntax_bits(), cost = weighed(c.residual, bits16 + 48u),
         alone = weighed(c.alone, own_is(skip_mv) ? 8u : bits16 + 16u);
    none = alone <= cost || !c.levels;
    return none ? alone : cost;
}

/* The squared error of P_Skip's motion without a residual. It becomes the threads' own motion. */
uint skip_error(ivec2 skip_mv, bool chroma)
{
    own_set(ivec4(0, 0, 2, 2), 0, skip_mv);
    barrier();
    predict_words(gl_LocalInvocationIndex, chroma);
    return prediction_error(chroma);
}

/* The motion of the field, then that of P_Skip if it is another one */
void motions_try(ivec2 skip_mv, bool other, bool chroma)
{
    uint best = NO_COST, error = 0u;
    [[dont_unroll]] for (int i = 0; i < (other ? 2 : 1); i++) {
        uint alone = i > 0 ? skip_error(skip_mv, chroma) : 0u, cost = weighed(alone, 8u);
        bool none = true, big = false;
        if (alone <= 2u * error) {
            inter_cost c = code_motion(chroma);
            error = c.alone;
            big = c.big;
            cost = cost_judge(c, skip_mv, none);
        }
        if (cost < best)
            inter_keep(none, big);
        best = min(cost, best);
    }
}

void main()
{
    uint t = gl_LocalInvocationIndex;
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
    scan8[t + 32u] = zigzag8[t + 32u];
    around_load();
    ivec2 skip_mv = predict_skip();
    motions_try(skip_mv, !own_is(skip_mv) && allowed(skip_mv),
                (uint(pictures[picture].flags) & ENC_CHROMA) != 0u);
}
