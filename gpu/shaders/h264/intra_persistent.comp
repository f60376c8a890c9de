/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Intra prediction in one dispatch. A workgroup takes the next ticket: a part of a row of
 * macroblocks of a picture. Tickets go through the rows of all pictures from the top downwards. The
 * workgroup visits the intra macroblocks of its part. It waits only if a macroblock above is intra
 * and its samples are used. That row has lower tickets, so the dispatch ends on any device. Samples
 * pass from row to row inside the words that a reader waits for (lib/progress.glsl). So there is no
 * separate flag and no memory barrier. Rows that an earlier batch has done are read from the image.
 *
 * Intra macroblocks side by side are a run. The runs of a row need nothing of each other, so its
 * parts take them in turn. A part then waits for nothing but its own runs and the row above.
 *
 * The chain from one macroblock to the next bounds the time, so other work runs beside it. Four
 * roles, a subgroup of 32 each, go through the row in step:
 *   luma     reconstructs macroblock i and announces its last row
 *   chroma   the same, on its own
 *   borders  waits for the luma samples around macroblock i + 1
 *   plans    stores the luma of macroblock i - 1, computes plan and residual of i + 1
 * Luma tiles, plans and residual exist twice, for odd and even i. Without subgroups of 32 (SERIAL),
 * one workgroup of 32 threads plays all roles in turn.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_memory_scope_semantics : require
#include "gpu/shaders/lib/common.glsl"
#include "gpu/shaders/lib/debug.glsl"

layout(constant_id = 1) const uint SERIAL = 1;
layout(local_size_x = 32, local_size_x_id = 2) in;

#define LUMA_TILES  2
#define LANE        int(SERIAL != 0u ? gl_LocalInvocationIndex : gl_SubgroupInvocationID)
#define IS_ROLE(n)  (SERIAL != 0u || gl_SubgroupID == (n))
#define ROLE_LUMA   0u
#define ROLE_CHROMA 1u
#define ROLE_BORDER 2u
#define ROLE_PLAN   3u

void role_barrier()
{
    if (SERIAL != 0u)
        barrier();
    else
        controlBarrier(gl_ScopeSubgroup, gl_ScopeSubgroup, gl_StorageSemanticsShared,
                       gl_SemanticsAcquireRelease);
}

#define PLAN_TABLES
#include "gpu/shaders/lib/intra_mb.glsl"
#include "gpu/shaders/lib/progress.glsl"

#define ROW_WORDS 32 /* 1024 macroblocks */
shared uint intra_here[ROW_WORDS], intra_above[ROW_WORDS];
shared uint intra_mine[ROW_WORDS];    /* of intra_here: those of this part */
shared uint row_list[ROW_WORDS * 32]; /* their columns */
shared uint row_count;

/* The row: where its records, coefficient blocks and samples lie. */
uint row_base, row_coeff;
int row_y, row_layer;
bool row_follows; /* the row above is of this batch */
uint row_part, row_parts;

/* First columns of runs, of the 32 columns of a word. */
uint run_starts(uint word)
{
    uint before = word > 0u ? intra_here[word - 1u] >> 31 : 0u;
    return intra_here[word] & ~(intra_here[word] << 1 | before);
}

/* Of the run that covers a column: how many begin at it or before. */
uint run_number(uint x)
{
    uint number = bitCount(run_starts(x >> 5) & (2u << (x & 31u)) - 1u);
    for (uint w = 0u; w < x >> 5; w++)
        number += bitCount(run_starts(w));
    return number;
}

void find_intra()
{
    uint t = gl_LocalInvocationIndex, size = gl_WorkGroupSize.x;
    if (t < ROW_WORDS) {
        intra_here[t] = 0u;
        intra_above[t] = 0u;
        intra_mine[t] = 0u;
    }
    barrier();
    for (uint x = t; x < push.mb_width; x += size) {
        if (is_intra(uint(mbs[row_base + x].kind)))
            atomicOr(intra_here[x >> 5], 1u << (x & 31u));
        if (row_follows && is_intra(uint(mbs[row_base - push.mb_width + x].kind)))
            atomicOr(intra_above[x >> 5], 1u << (x & 31u));
    }
    barrier();
    for (uint x = t; x < push.mb_width; x += size)
        if ((intra_here[x >> 5] >> (x & 31u) & 1u) != 0u && run_number(x) % row_parts == row_part)
            atomicOr(intra_mine[x >> 5], 1u << (x & 31u));
    barrier();
    for (uint x = t; x <= push.mb_width; x += size) { /* the last one only counts */
        uint word = min(x >> 5, ROW_WORDS - 1u), mask = (1u << (x & 31u)) - 1u;
        uint before = bitCount(intra_mine[word] & mask);
        for (uint w = 0u; w < x >> 5; w++)
            before += bitCount(intra_mine[w]);
        if (x == push.mb_width)
            row_count = before;
        else if ((intra_mine[word] >> (x & 31u) & 1u) != 0u)
            row_list[before] = x;
    }
    barrier();
}

/* Column of the i-th macroblock, or of the last one. */
uint column_of(uint i)
{
    return row_list[min(i, row_count - 1u)];
}

/* Is the i-th macroblock beside the one before it in the list? */
bool adjoins(uint i)
{
    return i > 0u && i < row_count && row_list[i - 1u] + 1u == row_list[i];
}

/* Does a block of luma use the samples above and to the right of the macroblock? */
bool uses_right(rec_mb mb)
{
    int mode = mode_of(uvec2(mb.intra_mode[0], mb.intra_mode[1]),
                       uint(mb.kind) == REC_MB_INTRA_4X4 ? 5u : 4u);
    if (uint(mb.kind) == REC_MB_INTRA_4X4)
        return mode == 3 || mode == 7;
    /* the filter of the row above takes one more */
    return uint(mb.kind) == REC_MB_INTRA_8X8 && mode != 1 && mode != 6 && mode != 8;
}

/* Pair k of the row above the macroblock in column x0: with PROGRESS_VALID, or not there yet. */
uint ask_above(ivec3 k, uint x0, uint avail)
{
    uint x = x0 + uint(k.x), bit = k.x < 0 ? REC_AVAIL_D : k.x == 0 ? REC_AVAIL_B : REC_AVAIL_C;
    if (x >= push.mb_width || (avail & bit) == 0u)
        return PROGRESS_VALID;
    if ((intra_above[x >> 5] >> (x & 31u) & 1u) == 0u)
        return PROGRESS_VALID | load_above(k, ivec2(x0, row_y), row_layer);
    return progress_of[(row_base - push.mb_width + x) * PROGRESS_WORDS +
                       uint(k.y == 0 ? k.z : 4 + 4 * k.y + k.z)];
}

/* The same once it is there; asked: what ask_above said. */
uint wait_above(ivec3 k, uint x0, uint asked)
{
    uint at = (row_base - push.mb_width + x0 + uint(k.x)) * PROGRESS_WORDS +
              uint(k.y == 0 ? k.z : 4 + 4 * k.y + k.z);
    return (asked & PROGRESS_VALID) != 0u ? asked : progress_wait(at);
}

/* ---- luma ---- */

shared uint luma_info[2]; /* of odd and even macroblocks: what reconstruct_luma takes */

void luma_role(uint i)
{
    int tile = int(i & 1u), base = tile * LUMA_TILE, t = LANE;
    uint info = luma_info[tile];
    reconstruct_luma(intra_luma(info & 0xffu, info >> 8 & 0xffu, info >> 16), tile);
    if (t < 8)
        progress_publish((row_base + column_of(i)) * PROGRESS_WORDS + uint(t),
                         uint(LUMA_AT(base, 2 * t, 15)) | uint(LUMA_AT(base, 2 * t + 1, 15)) << 8);
    else if (t >= 16 && adjoins(i + 1u))
        LUMA_AT(LUMA_TILE - base, -1, t - 16) = LUMA_AT(base, 15, t - 16);
}

/* ---- borders of luma ---- */

rec_mb border_mb; /* of the macroblock that comes next */

void border_role(uint i)
{
    int base = int(i & 1u) * LUMA_TILE, t = LANE;
    uint x = column_of(i), avail = uint(border_mb.intra_avail) &
                                   (uses_right(border_mb) ? 0xffu : 0xffu - REC_AVAIL_C);
    border_mb = mbs[row_base + column_of(i + 1u)];
    if (t < LUMA_PAIRS)
        put_above(luma_pair(t), base,
                  wait_above(luma_pair(t), x, ask_above(luma_pair(t), x, avail)));
    else if (t >= 16 && !adjoins(i))
        LUMA_AT(base, -1, t - 16) = load_left(0, t - 16, ivec2(x, row_y), row_layer);
}

/* ---- plans ---- */

/* Records come two macroblocks ahead, residual one: nothing is loaded by an address that is still
 * on its way. */
rec_mb plan_mb, plan_mb_next;
uvec4 plan_residual;

void plan_begin()
{
    plan_mb = mbs[row_base + column_of(0u)];
    plan_mb_next = mbs[row_base + column_of(1u)];
    plan_residual = luma_residual(row_coeff, plan_mb);
}

void plan_role(uint i)
{
    int tile = int(i & 1u);
    rec_mb mb = plan_mb;
    stage_luma_residual(uint(tile), plan_residual);
    plan_mb = plan_mb_next;
    plan_residual = luma_residual(row_coeff, plan_mb);
    plan_mb_next = mbs[row_base + column_of(i + 2u)];
    if (LANE == 0)
        luma_info[tile] =
            uint(mb.kind) | uint(mb.intra_avail) << 8 | (mb.intra_mode[0] & 15u) << 16;
    plan_luma(mb, tile);
}

/* ---- chroma ---- */

rec_mb chroma_mb, chroma_mb_next;
uvec2 chroma_ahead;
/* of the words above: mostly they are there already, and have come when they are needed */
uint chroma_asked;

void chroma_begin()
{
    chroma_mb = mbs[row_base + column_of(0u)];
    chroma_mb_next = mbs[row_base + column_of(1u)];
    chroma_ahead = chroma_residual(row_coeff, chroma_mb);
    chroma_asked = LANE < CHROMA_PAIRS
                       ? ask_above(chroma_pair(LANE), column_of(0u), uint(chroma_mb.intra_avail))
                       : 0u;
}

/* What macroblock i needs, and then nothing more of the one before. */
void chroma_border(uint i)
{
    int t = LANE, left = 0;
    uint x = column_of(i);
    if (t >= 16)
        left = adjoins(i) ? CHROMA_AT((t >> 3) - 2, 7, t & 7)
                          : load_left((t >> 3) - 1, t & 7, ivec2(x, row_y), row_layer);
    role_barrier();
    if (t >= 16)
        CHROMA_AT((t >> 3) - 2, -1, t & 7) = left;
    stage_chroma_residual(chroma_ahead);
    if (t < CHROMA_PAIRS)
        put_above(chroma_pair(t), 0, wait_above(chroma_pair(t), x, chroma_asked));
    role_barrier();
}

void chroma_role(uint i)
{
    int t = LANE, c = (t >> 2) & 1, pair = 2 * (t & 3);
    uint x = column_of(i);
    rec_mb mb = chroma_mb;
    chroma_mb = chroma_mb_next;
    chroma_ahead = chroma_residual(row_coeff, chroma_mb);
    chroma_mb_next = mbs[row_base + column_of(i + 2u)];
    chroma_asked = t < CHROMA_PAIRS
                       ? ask_above(chroma_pair(t), column_of(i + 1u), uint(chroma_mb.intra_avail))
                       : 0u;
    reconstruct_chroma(mb);
    if (t < 8)
        progress_publish((row_base + x) * PROGRESS_WORDS + 8u + uint(t),
                         uint(CHROMA_AT(c, pair, 7)) | uint(CHROMA_AT(c, pair + 1, 7)) << 8);
    store_chroma(ivec2(x, row_y), row_layer);
}

void main()
{
    uint ticket = take_ticket(COUNTER_TICKET_INTRA), row = ticket / push.picture_count;
    rec_picture picture = pictures[push.first_picture + ticket % push.picture_count];
    if (uint(picture.has_intra) == 0u)
        return;
    row_parts = gl_NumWorkGroups.x / (push.picture_count * push.mb_height);
    row_part = row % row_parts;
    row_y = int(row / row_parts);
    row_layer = int(picture.work);
    if (uint(row_y) < picture.row_first || uint(row_y) >= picture.row_end)
        return;
    row_follows = uint(row_y) > picture.row_first;
    row_base = picture.mb_base + uint(row_y) * push.mb_width;
    row_coeff = picture.coeff_base;
    find_intra();
    uint count = row_count;
    DEBUG_ONE(DEBUG_INTRA_MBS, push.first_picture + ticket % push.picture_count, count);
    if (count == 0u)
        return;
    fill_tables();
    if (gl_LocalInvocationIndex == 0u)
        luma_tile[LUMA_GREY] = 128;
    if (IS_ROLE(ROLE_CHROMA))
        chroma_begin();
    if (IS_ROLE(ROLE_PLAN))
        plan_begin();
    if (IS_ROLE(ROLE_BORDER))
        border_mb = mbs[row_base + column_of(0u)];
    barrier();
    /* in step s: plans and borders of macroblock s, reconstruction of s - 1, the store of s - 2 */
    [[dont_unroll]] for (uint s = 0u; s <= count + 1u; s++) {
        if (IS_ROLE(ROLE_LUMA) && s > 0u && s <= count)
            luma_role(s - 1u);
        if (IS_ROLE(ROLE_CHROMA)) {
            if (s > 0u && s <= count)
                chroma_role(s - 1u);
            if (s < count)
                chroma_border(s);
        }
        if (IS_ROLE(ROLE_PLAN)) {
            if (s > 1u)
                store_luma(int(s & 1u), ivec2(column_of(s - 2u), row_y), row_layer);
            if (s < count)
                plan_role(s);
        }
        if (IS_ROLE(ROLE_BORDER) && s < count)
            border_role(s);
        barrier();
    }
}
