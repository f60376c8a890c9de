/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the syntax of macroblocks and of those beside them needs (encode/mb_plan.c): numbers of
 * levels, coded_block_pattern, partitions, vector differences, skipped macroblocks before. Grid:
 * macroblocks in x, pictures in z.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#define SEARCH_THREADS 32
#include "gpu/shaders/lib/encode_search.glsl"
#include "gpu/shaders/lib/encode_motion.glsl"
uint at; /* the macroblock's record */
#include "gpu/shaders/lib/encode_order.glsl"

layout(set = 0, binding = ENC_BIND_SYNTAX, scalar) writeonly buffer syntax_buffer
{
    enc_syntax syntax[];
};

shared uint any_ac, any_dc; /* quadrants of luma, then Cb and Cr in bit 4; components */
shared uint stop;           /* two more than the address of the last macroblock that counts */

void levels_count(uint t)
{
    uint total, c = t < 16u ? 0u : t / 4u - 3u;
    block_select(t < 16u ? ENC_PART_LUMA + t : ENC_PART_CHROMA + t - 16u);
    total = uint(bitCount(block_places(0u)));
    syntax[at].total[t] = uint8_t(total);
    if (total > 0u)
        atomicOr(any_ac, 1u << min(t / 4u, 4u));
    if (block_coded && (c > 0u || uint(mbs[at].kind) == REC_MB_INTRA_16X16) &&
        levels[(at * ENC_BLOCKS + t) * 16u] != int16_t(0))
        atomicOr(any_dc, 1u << c);
}

/* From the last macroblock before that is not skipped, or from the slice's first one */
uint skipped_before(uint t)
{
    for (int from = int(mb) - 1;; from -= SEARCH_THREADS) {
        int a = from - int(t);
        uint record = record_at(uint(max(a, 0)));
        if (a < 0 || mbs[record].slice != mbs[at].slice ||
            (uint(mbs[record].flags) & REC_MB_SKIP) == 0u)
            atomicMax(stop, uint(max(a, -1) + 2));
        barrier();
        uint found = stop;
        barrier();
        if (found > 0u)
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

/* Each quadrant has the difference of its partition. */
void differences_store(uint part)
{
    int width = part == REC_PART_16X16 || part == REC_PART_16X8 ? 2 : 1;
    int height = part == REC_PART_16X16 || part == REC_PART_8X16 ? 2 : 1;
    for (uint q = 0u; q < 4u; q++) {
        ivec2 corner = ivec2(width == 2 ? 0 : int(q & 1u), height == 2 ? 0 : int(q >> 1));
        mvd_store(q, own_mv_of(q) - predict_vector(ivec4(corner, width, height), own_ref_of(q)));
    }
}

uint pattern_of()
{
    uint luma = any_ac & 15u;
    if (uint(mbs[at].kind) == REC_MB_INTRA_16X16)
        luma = luma != 0u ? 15u : 0u;
    return luma | (any_ac > 15u ? 32u : any_dc > 1u ? 16u : 0u);
}

void syntax_store(uint run)
{
    bool coded = uint(mbs[at].kind) == REC_MB_INTER && (uint(mbs[at].flags) & REC_MB_SKIP) == 0u;
    uint part = part_of();
    for (uint q = 0u; q < 4u && !coded; q++)
        mvd_store(q, ivec2(0));
    if (coded)
        differences_store(part);
    syntax[at].cbp = uint8_t(pattern_of());
    syntax[at].part = uint8_t(part);
    syntax[at].dc = uint8_t(any_dc);
    syntax[at].run = run;
}

void main()
{
    uint t = gl_LocalInvocationIndex;
    if ((uint(pictures[gl_WorkGroupID.z].flags) & (ENC_CAVLC | ENC_BINS)) == 0u)
        return;
    search_begin();
    at = record_at(mb);
    if (t == 0u)
        any_ac = any_dc = stop = 0u;
    around_load();
    own_load(FIELD);
    if (t < ENC_BLOCKS)
        levels_count(t);
    uint run = skipped_before(t);
    if (t == 0u)
        syntax_store(run);
}
