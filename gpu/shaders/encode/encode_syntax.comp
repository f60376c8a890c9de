/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the syntax of macroblocks and of those beside them needs (encode/mb_plan.c): numbers of
 * levels, coded_block_pattern, partitions, vector differences, skipped macroblocks before. Grid:
 * groups of macroblocks in x, pictures in z.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#define SEARCH_MBS     ENC_SYNTAX_MBS
#define SEARCH_THREADS (32 * SEARCH_MBS)
#include "gpu/shaders/lib/encode_search.glsl"
#include "gpu/shaders/lib/encode_motion.glsl"
uint at; /* the macroblock's record */
#include "gpu/shaders/lib/encode_order.glsl"

layout(set = 0, binding = ENC_BIND_SYNTAX, scalar) writeonly buffer syntax_buffer
{
    enc_syntax syntax[];
};

/* By macroblock. Quadrants of luma, then Cb and Cr in bit 4; components; two more than the address
 * of the last macroblock that counts */
shared uint any_ac[SEARCH_MBS], any_dc[SEARCH_MBS], stop[SEARCH_MBS];

void levels_count(uint t)
{
    uint total, c = t < 16u ? 0u : t / 4u - 3u;
    block_select(t < 16u ? ENC_PART_LUMA + t : ENC_PART_CHROMA + t - 16u);
    total = uint(bitCount(block_places(0u)));
    syntax[at].total[t] = uint8_t(total);
    if (total > 0u)
        atomicOr(any_ac[mb_here()], 1u << min(t / 4u, 4u));
    if (block_coded && (c > 0u || uint(mbs[at].kind) == REC_MB_INTRA_16X16) &&
        levels[(at * ENC_BLOCKS + t) * 16u] != int16_t(0))
        atomicOr(any_dc[mb_here()], 1u << c);
}

/* Do all macroblocks of the workgroup have it? */
bool all_stop()
{
    bool all_have = true;
    for (uint i = 0u; i < SEARCH_MBS; i++)
        all_have = all_have && stop[i] > 0u;
    return all_have;
}

/* From the last macroblock before that is not skipped, or from the slice's first one; wanted: else
 * any number */
uint skipped_before(uint t, bool wanted)
{
    uint found = wanted ? 0u : 1u;
    for (int from = int(mb) - 1;; from -= MB_THREADS) {
        int a = from - int(t);
        uint record = record_at(uint(max(a, 0)));
        if (found == 0u && (a < 0 || mbs[record].slice != mbs[at].slice ||
                            (uint(mbs[record].flags) & REC_MB_SKIP) == 0u))
            atomicMax(stop[mb_here()], uint(max(a, -1) + 2));
        else if (found > 0u && t == 0u)
            stop[mb_here()] = found;
        barrier();
        bool done = all_stop();
        found = stop[mb_here()];
        barrier();
        if (done)
            return mb + 1u - found;
    }
}

bool same_motion(uint q, uint r)
{
    return own_ref_of(q) == own_ref_of(r) && own_mv_of(q) == own_mv_of(r);
}

/* The largest partitions that have one motion */
uint part_of()
{
    bool rows = same_motion(0u, 1u) && same_motion(2u, 3u);
    bool columns = same_motion(0u, 2u) && same_motion(1u, 3u);
    return rows && columns ? REC_PART_16X16
           : rows          ? REC_PART_16X8
           : columns       ? REC_PART_8X16
                           : REC_PART_8X8;
}

void mvd_store(uint q, ivec2 mvd)
{
    syntax[at].mvd[q][0] = int16_t(mvd.x);
    syntax[at].mvd[q][1] = int16_t(mvd.y);
}

/* A quadrant has the difference of its partition. */
ivec2 difference_of(uint q, uint part)
{
    int width = part == REC_PART_16X16 || part == REC_PART_16X8 ? 2 : 1;
    int height = part == REC_PART_16X16 || part == REC_PART_8X16 ? 2 : 1;
    ivec2 corner = ivec2(width == 2 ? 0 : int(q & 1u), height == 2 ? 0 : int(q >> 1));
    return own_mv_of(q) - predict_vector(ivec4(corner, width, height), own_ref_of(q));
}

uint pattern_of()
{
    uint luma = any_ac[mb_here()] & 15u;
    if (uint(mbs[at].kind) == REC_MB_INTRA_16X16)
        luma = luma != 0u ? 15u : 0u;
    return luma | (any_ac[mb_here()] > 15u ? 32u : any_dc[mb_here()] > 1u ? 16u : 0u);
}

bool is_skipped()
{
    return (uint(mbs[at].flags) & REC_MB_SKIP) != 0u;
}

void syntax_store(uint t, uint run)
{
    bool coded = uint(mbs[at].kind) == REC_MB_INTER && !is_skipped();
    uint part = part_of();
    if (t < 4u)
        mvd_store(t, coded ? difference_of(t, part) : ivec2(0));
    if (t > 0u)
        return;
    syntax[at].cbp = uint8_t(pattern_of());
    syntax[at].part = uint8_t(part);
    syntax[at].dc = uint8_t(any_dc[mb_here()]);
    syntax[at].run = run;
}

/* CAVLC codes the run before a macroblock that is not skipped, and before the end of a slice. */
bool run_wanted()
{
    bool last = mb + 1u == args.mb_width * args.mb_height || mbs[at + 1u].slice != mbs[at].slice;
    return (uint(pictures[picture].flags) & ENC_CAVLC) != 0u && (last || !is_skipped());
}

void main()
{
    uint t = mb_thread();
    if ((uint(pictures[gl_WorkGroupID.z].flags) & (ENC_CAVLC | ENC_BINS)) == 0u)
        return;
    search_begin();
    bool there = mb_is_there();
    at = record_at(min(mb, args.mb_width * args.mb_height - 1u));
    if (t == 0u)
        any_ac[mb_here()] = any_dc[mb_here()] = stop[mb_here()] = 0u;
    around_load();
    own_load(FIELD);
    if (t < ENC_BLOCKS && there)
        levels_count(t);
    uint run = skipped_before(t, there && run_wanted());
    if (there)
        syntax_store(t, run);
}
