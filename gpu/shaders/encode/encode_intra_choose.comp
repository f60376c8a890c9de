/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Intra modes from source samples with rates, by the modes of the first round beside
 * (encode/reference/choose_intra.c). P pictures have no 4x4 blocks, and their macroblocks are left
 * out where the search has found a prediction that is near. Grid: macroblocks in x, pictures in z.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/encode_search.glsl"
#include "gpu/shaders/lib/encode_source.glsl"

/* Bits of a kind: 4x4, 8x8, 16x16 */
const uint kind_bits[3] = uint[3](40u, 20u, 5u);
/* 8x8 blocks of P pictures have these. */
#define P_8X8_BITS 30u

shared uint sums8[4][NXN_MODES], sums[4];    /* SATD by mode, of 8x8 blocks and of 16x16 */
shared uint kind_costs[2], kind_modes[2][2]; /* of 4x4, and of 8x8 blocks */
shared uint chroma_costs[4];
shared int borders[4][25];   /* of 8x8 blocks, filtered */
shared ivec3 plane_terms[3]; /* of plane prediction: at the middle, by column, by row */
shared int means[9];         /* of luma, of the 4x4 blocks of Cb and Cr */

uint weighed_bits(uint n)
{
    return pictures[picture].lambda * n / 16u;
}

/* The cost of inter prediction, in bits, below which intra prediction is left out. It is left out,
 * too, where the best one of whole luma costs a quarter more. */
#define LEFT_OUT_BITS 100u

/* P: the least cost of a whole macroblock's vector; NO_COST: there are no references */
uint inter_cost()
{
    uint best = NO_COST;
    for (reference = 0u; reference < pictures[picture].ref_count; reference++) {
        uint at = search_at(mb);
        enc_found found = search[at].part[0];
        best = min(best, found.cost +
                             vector_cost(ivec2(found.mv[0], found.mv[1]),
                                         ivec2(search[at].predicted[0], search[at].predicted[1])));
    }
    return best;
}

/* The mode of a 4x4 block of the first round; at: in units of blocks; -1: not available */
int mode_near(uint avail, ivec2 at)
{
    if ((at.x < 0 && (avail & REC_AVAIL_A) == 0u) || (at.y < 0 && (avail & REC_AVAIL_B) == 0u))
        return -1;
    uint address = mb - (at.x < 0 ? 1u : at.y < 0 ? args.mb_width : 0u);
    uint x = uint(at.x & 3), y = uint(at.y & 3);
    uint blk = (x & 1u) | (y & 1u) << 1 | (x & 2u) << 1 | (y & 2u) << 2;
    return int(intra[record_at(address)].mode4[blk]);
}

/* predIntra4x4PredMode by the modes of the first round */
uint mode_predicted(uint avail, ivec2 at)
{
    if (pictures[picture].ref_count > 0u)
        return 2u;
    int a = mode_near(avail, at - ivec2(1, 0)), b = mode_near(avail, at - ivec2(0, 1));
    return a < 0 || b < 0 ? 2u : uint(min(a, b));
}

uint mode_cost(uint satd, uint mode, uint predicted)
{
    return satd == SATD_NONE ? NO_COST : satd + weighed_bits(mode == predicted ? 1u : 6u);
}

/* A block's mode and cost join those of its kind. */
void block_add(uint kind, uint blk, uint cost, uint mode)
{
    atomicAdd(kind_costs[kind], cost);
    atomicOr(kind_modes[kind][blk >> 3], mode << 4u * (blk & 7u));
}

void choose_4x4(uint blk, uint avail)
{
    uint predicted = mode_predicted(avail, block_place(blk)), best = NO_COST, chosen = 0u;
    [[unroll]] for (uint mode = 0u; mode < NXN_MODES; mode++) {
        uint cost = mode_cost(uint(levels[record_at(mb) * MB_LEVELS + blk * NXN_MODES + mode]),
                              mode, predicted);
        chosen = cost < best ? mode : chosen;
        best = min(cost, best);
    }
    block_add(0u, blk, best, chosen);
}

/* ---- 8x8 blocks: four threads have one, and a mode ---- */

void taps8_fill(uint avail)
{
    uint t = gl_LocalInvocationIndex;
    for (uint i = t; i < 100u; i += SEARCH_THREADS) {
        ivec2 place = block_place(i / 25u * 4u);
        block_sides s = sides_of(avail, place, 2);
        borders[i / 25u][i % 25u] = filter_border8(4 * place.x, 4 * place.y, int(i % 25u) - 8,
                                                   s.left, s.top, s.corner, s.right);
    }
    barrier();
    for (uint i = t; i < 4u * COUNT8; i += SEARCH_THREADS) {
        uint b = i / COUNT8;
        int k = int(i % COUNT8), e = k - LOW8 + 8;
        taps_store(b * PITCH8, COUNT8, k, borders[b][clamp(e - 1, 0, 24)],
                   borders[b][clamp(e, 0, 24)], borders[b][clamp(e + 1, 0, 24)]);
    }
    if (t < 4u) {
        block_sides s = sides_of(avail, block_place(4u * t), 2);
        int left_sum = 0, top_sum = 0;
        for (int k = 0; k < 8; k++) {
            left_sum += borders[t][k];
            top_sum += borders[t][9 + k];
        }
        taps[t * PITCH8 + PITCH8 - 1u] =
            sample_with(intra_dc(s.left, s.top, left_sum, top_sum, 3, DEPTH));
    }
    barrier();
}

void sums8_fill(PAIR source[8])
{
    uint t = gl_LocalInvocationIndex, blk = t & 15u;
    for (uint mode = t >> 4; mode < NXN_MODES; mode += MODES_AT_ONCE) {
        PAIR d[8] = source;
        predict_nxn(mode, (blk >> 2) * PITCH8, 4 * ivec2(blk & 1u, blk >> 1 & 1u), LOW8, COUNT8, d);
        atomicAdd(sums8[blk >> 2][mode], satd_of(d));
    }
    barrier();
}

void choose_8x8(uint b, uint avail)
{
    ivec2 place = block_place(4u * b);
    block_sides s = sides_of(avail, place, 2);
    uint predicted = mode_predicted(avail, place), best = NO_COST, chosen = 0u;
    [[unroll]] for (uint mode = 0u; mode < NXN_MODES; mode++) {
        uint cost =
            serves(s, REC_NEEDS_NXN, mode) ? mode_cost(sums8[b][mode], mode, predicted) : NO_COST;
        chosen = cost < best ? mode : chosen;
        best = min(cost, best);
    }
    block_add(1u, 4u * b, best, chosen);
}

/* ---- whole components ---- */

/* Ways of prediction, in the order of luma */
#define WHOLE_ROW_ABOVE 0u
#define WHOLE_COLUMN    1u
#define WHOLE_MEAN      2u

int whole_sample(uint way, ivec3 terms, int x, ivec2 to, int mean, int middle)
{
    return way == WHOLE_ROW_ABOVE ? TILE_AT(x + to.x, -1)
           : way == WHOLE_COLUMN  ? TILE_AT(x - 1, to.y)
           : way == WHOLE_MEAN    ? mean
                                  : plane_sample(terms, to - middle + 1);
}

/* SATD of 4x4 samples at a place of a component at column x of the tile */
uint whole_satd(uint way, uint c, int x, ivec2 at, int mean, int middle, PAIR d[8])
{
    ivec3 terms = plane_terms[c];
    [[unroll]] for (int i = 0; i < 8; i++) {
        ivec2 to = at + ivec2(2 * (i & 1), i >> 1);
        d[i] -= pair_with(whole_sample(way, terms, x, to, mean, middle),
                          whole_sample(way, terms, x, to + ivec2(1, 0), mean, middle));
    }
    return satd_of(d);
}

void luma_whole(block_sides s, PAIR source[8])
{
    uint t = gl_LocalInvocationIndex;
    if (t == 0u)
        plane_terms[0] = plane_terms_of(0, 16);
    if (t == 32u)
        means[0] = mean_of_luma(s);
    barrier();
    atomicAdd(sums[t >> 4], whole_satd(t >> 4, 0u, 0, own_corner(), means[0], 8, source));
    barrier();
}

/* Eight threads have a mode: DC, horizontal, vertical, plane. */
void chroma_whole(block_sides s)
{
    uint t = gl_LocalInvocationIndex, mode = t >> 3, c = t >> 2 & 1u;
    ivec2 at = 4 * ivec2(t & 1u, t >> 1 & 1u);
    tile_source(true);
    if (t < 8u)
        means[1u + t] = mean_of_chroma(t, s);
    if (t >= 32u && t < 34u)
        plane_terms[t - 31u] = plane_terms_of(12 * int(t - 32u), 8);
    if (t < 4u)
        chroma_costs[t] = weighed_bits(2u * uint(findMSB(t + 1u)) + 1u);
    barrier();
    if (t < 32u) {
        PAIR d[8];
        uint way = mode == 0u ? WHOLE_MEAN : mode == 2u ? WHOLE_ROW_ABOVE : mode;
        int x = 12 * int(c);
        own_source(d, at + ivec2(x, 0));
        atomicAdd(chroma_costs[mode], whole_satd(way, 1u + c, x, at, means[1u + (t & 7u)], 4, d));
    }
    barrier();
}

#include "gpu/shaders/lib/encode_intra_kinds.glsl"

void leave_out()
{
    if (gl_LocalInvocationIndex == 0u)
        intra[record_at(mb)].cost = NO_COST;
}

void main()
{
    uint t = gl_LocalInvocationIndex, flags = uint(pictures[gl_WorkGroupID.z].flags);
    bool big = (flags & ENC_TRANSFORM_8X8) != 0u;
    PAIR source[8];
    bool of_p = search_begin();
    uint inter = inter_cost();
    if (inter < weighed_bits(LEFT_OUT_BITS)) {
        leave_out();
        return;
    }
    uint avail = uint(mbs[record_at(mb)].intra_avail);
    block_sides s = sides_of(avail, ivec2(0), 4);
    if (t < 4u * NXN_MODES)
        sums8[t / NXN_MODES][t % NXN_MODES] = 0u;
    if (t < 4u)
        sums[t] = kind_modes[t >> 1][t & 1u] = 0u;
    if (t < 2u)
        kind_costs[t] = weighed_bits(of_p ? P_8X8_BITS : kind_bits[t]);
    tile_source(false);
    own_source(source, own_corner());
    luma_whole(s, source);
    if (of_p && whole_cost(avail) > inter + inter / 4u) {
        leave_out();
        return;
    }
    if (big) {
        taps8_fill(avail);
        sums8_fill(source);
    }
    if (t < 16u && !of_p)
        choose_4x4(t, avail);
    if (t == 0u && of_p)
        kind_costs[0] = NO_COST;
    if (t >= 32u && t < 36u && big)
        choose_8x8(t - 32u, avail);
    barrier();
    bool chroma = (flags & ENC_CHROMA) != 0u;
    if (chroma)
        chroma_whole(s);
    if (t == 0u)
        kinds_choose(avail, big, chroma);
}
