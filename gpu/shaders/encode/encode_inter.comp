/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A round of coding inter macroblocks (encode/reference/code_inter.c): their motion or that of
 * P_Skip, with 4x4 or 8x8 transforms or without a residual, by squared error and bits. P_Skip's
 * motion has a residual in the second round only, and where its error is not far greater. Grid:
 * macroblocks in x, pictures in z.
 *
 * Only the bits of vectors and P_Skip's motion depend on the macroblocks beside. So the first round
 * leaves what the residual of its motion costs. The second round codes that again only where other
 * levels win.
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

layout(set = 0, binding = ENC_BIND_CODINGS, scalar) buffer coding_buffer
{
    enc_codings codings[];
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

/* What the threads' own motion costs without its syntax */
enc_coding code_motion(bool chroma)
{
    uint t = gl_LocalInvocationIndex;
    bool with8 = (uint(pictures[picture].flags) & ENC_TRANSFORM_8X8) != 0u;
    bool mine = t < (chroma ? 24u : 16u), any = false;
    uint qp = t < 16u ? qps.x : t < 20u ? qps.y : qps.z;
    int v[16];
    enc_coding c;
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
    bool big = with8 && luma8 < luma;
    c.cost = big ? luma8 : luma;
    for (uint i = SUM_CB; i < SUMS && chroma; i++)
        c.cost += weighed(errors[i], bits[i]);
    c.cost_none = error_none;
    c.flags =
        ENC_CODING_KNOWN | (big ? ENC_CODING_8X8 : 0u) |
        ((coded[big ? SUM_LUMA8 : SUM_LUMA4] | coded[2] | coded[3]) != 0u ? ENC_CODING_LEVELS : 0u);
    return c;
}

/* The cost with the syntax; none: without levels */
uint coding_judge(enc_coding c, ivec2 skip_mv, out bool none)
{
    uint bits16 = syntax_bits(), cost = weighed(c.cost, bits16 + 48u),
         cost_none = weighed(c.cost_none, own_is(skip_mv) ? 8u : bits16 + 16u);
    none = cost_none <= cost || (c.flags & ENC_CODING_LEVELS) == 0u;
    return none ? cost_none : cost;
}

/* Is the result of the first round that of the second one, too? cost: of the motion then */
bool coding_known(uint at, ivec2 skip_mv, out uint cost)
{
    enc_coding c = codings[at].own;
    bool none;
    cost = NO_COST;
    if ((c.flags & ENC_CODING_KNOWN) == 0u)
        return false;
    cost = coding_judge(c, skip_mv, none);
    return none == ((c.flags & ENC_CODING_NONE) != 0u);
}

/* What the first round tells the second one */
void coding_store(uint at, enc_coding c, bool none)
{
    c.flags |= none ? ENC_CODING_NONE : 0u;
    if (gl_LocalInvocationIndex == 0u)
        codings[at].own = c;
}

/* The squared error of P_Skip's motion without a residual. It becomes the threads' own motion. */
uint skip_error(ivec2 skip_mv, bool chroma)
{
    own_set(ivec4(0, 0, 2, 2), 0, skip_mv);
    barrier();
    predict_words(gl_LocalInvocationIndex, chroma);
    return prediction_error(chroma);
}

void first_round(uint at, ivec2 skip_mv, bool other, bool chroma)
{
    uint by_skip = other ? weighed(skip_error(skip_mv, chroma), 8u) : NO_COST;
    bool none;
    own_load(FIELD);
    enc_coding c = code_motion(chroma);
    if (by_skip < coding_judge(c, skip_mv, none)) {
        skip_error(skip_mv, chroma);
        none = true;
        c.flags = 0u;
    }
    inter_keep(none, (c.flags & ENC_CODING_8X8) != 0u);
    coding_store(at, c, none);
}

void second_round(uint at, ivec2 skip_mv, bool other, bool chroma)
{
    uint cost, error = codings[at].own.cost_none;
    bool kept = coding_known(at, skip_mv, cost);
    if (kept) /* levels and samples of the first round are there */
        own_store(1u - FIELD, gl_LocalInvocationIndex);
    else
        cost = NO_COST;
    [[dont_unroll]] for (int i = kept ? 1 : 0; i < (other ? 2 : 1); i++) {
        uint alone = i > 0 ? skip_error(skip_mv, chroma) : 0u, now = weighed(alone, 8u);
        enc_coding c = enc_coding(0u, 0u, 0u);
        bool none = true;
        if (alone <= 2u * error) {
            c = code_motion(chroma);
            error = c.cost_none;
            now = coding_judge(c, skip_mv, none);
        }
        if (now < cost)
            inter_keep(none, (c.flags & ENC_CODING_8X8) != 0u);
        cost = min(now, cost);
    }
}

void main()
{
    uint t = gl_LocalInvocationIndex;
    if (!search_begin())
        return;
    uint at = record_at(mb);
    bool chroma = (uint(pictures[picture].flags) & ENC_CHROMA) != 0u;
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
    bool other = !own_is(skip_mv) && allowed(skip_mv);
    if (FIELD == 0u)
        first_round(at, skip_mv, other, chroma);
    else
        second_round(at, skip_mv, other, chroma);
}
