/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Intra prediction in one dispatch: a workgroup takes the next ticket, a row of macroblocks of a picture, rows of all pictures
 * from the top downwards, and visits the row's intra macroblocks. It waits only where a macroblock above, a lower ticket's, is
 * intra too and may be used, so it ends on any device. Samples pass from row to row inside the words that are waited for
 * (lib/progress.glsl), so there is no flag beside them and no memory barrier.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "gpu/shaders/lib/common.glsl"
#define PLAN_TABLES
#include "gpu/shaders/lib/intra_mb.glsl"
#include "gpu/shaders/lib/progress.glsl"

layout(local_size_x = INTRA_THREADS) in;

#define ROW_WORDS 32 /* 1024 macroblocks */
shared uint intra_here[ROW_WORDS], intra_above[ROW_WORDS];

void find_intra(uint base, uint row)
{
    uint t = gl_LocalInvocationIndex;
    intra_here[t] = 0u;
    intra_above[t] = 0u;
    barrier();
    for (uint x = t; x < push.mb_width; x += INTRA_THREADS) {
        if (is_intra(uint(mbs[base + x].kind)))
            atomicOr(intra_here[x >> 5], 1u << (x & 31u));
        if (row > 0u && is_intra(uint(mbs[base - push.mb_width + x].kind)))
            atomicOr(intra_above[x >> 5], 1u << (x & 31u));
    }
    barrier();
}

/* The first intra macroblock of the row from x on, or mb_width. */
uint next_intra(uint x)
{
    while (x < push.mb_width) {
        uint mask = intra_here[x >> 5] >> (x & 31u);
        if (mask != 0u)
            return x + uint(findLSB(mask));
        x = (x | 31u) + 1u;
    }
    return push.mb_width;
}

/* Pair k of the row above macroblock x. */
uint wait_above(ivec3 k, uint base, ivec2 at, uint avail, int layer)
{
    uint x = uint(at.x + k.x), bit = k.x < 0 ? REC_AVAIL_D : k.x == 0 ? REC_AVAIL_B : REC_AVAIL_C;
    if (x >= push.mb_width || (avail & bit) == 0u)
        return 0u;
    if ((intra_above[x >> 5] >> (x & 31u) & 1u) == 0u)
        return load_above(k, at, layer);
    return progress_wait((base - push.mb_width + x) * PROGRESS_WORDS + uint(k.y == 0 ? k.z : 4 + 4 * k.y + k.z));
}

/* The last row of the macroblock, for those below. */
void publish(uint at)
{
    int t = int(gl_LocalInvocationIndex), c = (t >> 2) - 2, x = 2 * (t & 3);
    if (t < 8)
        progress_publish(at + uint(t), uint(LUMA_AT(2 * t, 15)) | uint(LUMA_AT(2 * t + 1, 15)) << 8);
    else if (t < 16)
        progress_publish(at + uint(t), uint(CHROMA_AT(c, x, 7)) | uint(CHROMA_AT(c, x + 1, 7)) << 8);
}

void main()
{
    uint ticket = take_ticket(COUNTER_TICKET_INTRA);
    if (ticket >= push.picture_count * push.mb_height)
        return;
    rec_picture picture = pictures[push.first_picture + ticket % push.picture_count];
    uint row = ticket / push.picture_count, base = picture.mb_base + row * push.mb_width;
    if (uint(picture.has_intra) == 0u)
        return;
    find_intra(base, row);
    uint x = next_intra(0u), previous = 0xfffffff0u;
    if (x >= push.mb_width)
        return;
    fill_tables();
    int t = int(gl_LocalInvocationIndex), layer = int(picture.work), c = (t >> 3) - 2;
    /* records come two macroblocks ahead, residual one: nothing is loaded by an address that is still on its way */
    uint x1 = next_intra(x + 1u);
    rec_mb mb = mbs[base + x], mb1 = mbs[base + min(x1, push.mb_width - 1u)];
    intra_residual next = residual_fetch(picture.coeff_base, mb);
    while (x < push.mb_width) {
        ivec2 at = ivec2(x, row);
        intra_plan plan;
        residual_stage(next);
        uint x2 = next_intra(x1 + 1u);
        if (x1 < push.mb_width)
            next = residual_fetch(picture.coeff_base, mb1);
        rec_mb mb2 = mbs[base + min(x2, push.mb_width - 1u)];
        int left = 0;
        if (previous + 1u != x)
            left = load_left(t, at, layer);
        else
            left = t < 16 ? LUMA_AT(15, t) : CHROMA_AT(c, 7, t & 7);
        barrier();
        plan_mb(mb, plan);
        put_left(t, left);
        if (t < ABOVE_PAIRS) {
            ivec3 k = above_pair(t);
            put_above(k, wait_above(k, base, at, uint(mb.intra_avail), layer));
        }
        barrier();
        reconstruct_mb(mb, plan);
        barrier();
        publish((base + x) * PROGRESS_WORDS);
        store_mb(at, layer);
        previous = x;
        x = x1;
        x1 = x2;
        mb = mb1;
        mb1 = mb2;
    }
}
