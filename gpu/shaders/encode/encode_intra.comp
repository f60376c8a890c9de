/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Intra macroblocks (encode/reference/code_intra.c): predicted from unfiltered samples,
 * transformed, quantised and reconstructed. The only pass whose macroblocks wait for each other.
 *
 * A workgroup has luma or chroma of a macroblock, as neither waits for the other. Either there is
 * one dispatch for each diagonal of slope 2: macroblocks in x, luma and chroma in y,
 * pictures in z. Or there is one dispatch. Then a workgroup takes one intra macroblock after the
 * other by tickets, diagonal by diagonal. It waits for the samples that it predicts from: those of
 * macroblocks with lower tickets, which have begun.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#define SEARCH_THREADS 32
#include "gpu/shaders/lib/encode_search.glsl"
#include "gpu/shaders/lib/encode_intra.glsl"
#include "gpu/shaders/lib/encode_motion.glsl"
#include "gpu/shaders/lib/encode_code.glsl"
#include "gpu/shaders/lib/encode_blocks.glsl"
#include "gpu/shaders/lib/encode_store.glsl"
#include "gpu/shaders/lib/encode_marks.glsl"
#include "gpu/shaders/lib/encode_lanes4.glsl"

/* 2: patiently. llvmpipe (22.3) ends every loop of a shader once all its loops together have run
 * 65535 times. There one turn of the loop that waits asks 256 times. */
layout(constant_id = 1) const uint AT_ONCE = 0;

#define PART_LUMA   0u
#define PART_CHROMA 1u
uint part; /* of the macroblock, which the workgroup has */

#include "gpu/shaders/lib/encode_border.glsl"
#include "gpu/shaders/lib/encode_intra_nxn.glsl"
#include "gpu/shaders/lib/encode_intra_whole.glsl"

/* The part's samples, as pred has them */
uint part_first()
{
    return part == PART_LUMA ? 0u : 256u;
}

uint part_end()
{
    return part == PART_LUMA ? 256u : 384u;
}

/* Samples of the source are there before the macroblocks beside are waited for. */
void load_source()
{
    uint set = pictures[picture].source;
    for (uint i = part_first() + gl_LocalInvocationIndex; i < part_end(); i += SEARCH_THREADS) {
        ivec3 at = sample_place(i);
        residual[i] =
            int(planes[at.z == 0 ? int(plane_origin(set, 0u)) + at.y * int(plane_stride(0u)) + at.x
                                 : int(chroma_origin(set, uint(at.z) - 1u)) +
                                       at.y * int(luma_width() / 2u) + at.x]);
    }
}

/* Up to the samples in work, and the levels */
void code_part(bool big)
{
    uint t = gl_LocalInvocationIndex, at = record_at(mb), kind = uint(mbs[at].kind),
         avail = uint(mbs[at].intra_avail);
    qps = uvec3(uint(mbs[at].qp[0]), uint(mbs[at].qp[1]), uint(mbs[at].qp[2]));
    if (t < WAYS)
        coded[t] = 0u;
    load_source();
    barrier();
    if (part == PART_CHROMA)
        code_chroma(at, avail);
    else if (kind == REC_MB_INTRA_16X16)
        code_16x16(at, avail);
    else if (big)
        code_8x8(at, avail);
    else
        code_4x4(at, avail);
    barrier();
}

/* Of an intra macroblock */
void part_run()
{
    uint t = gl_LocalInvocationIndex, at = record_at(mb);
    bool big = part == PART_LUMA && uint(mbs[at].kind) == REC_MB_INTRA_8X8;
    code_part(big);
    keep_samples(part_first(), part_end(), big);
    keep_levels(part_first(), part_end(), big);
    if (t < 3u && (t > 0u) == (part == PART_CHROMA))
        mbs[at].coded[t] = uint16_t(coded[t > 0u ? t + 1u : big ? 1u : 0u]);
    barrier(); /* before the next one */
}

/* The i-th macroblock from the top of the diagonal x + 2 y = step; whether there is one */
bool diagonal_place(int step, int i)
{
    mb_at.y = diagonal_first(step) + i;
    mb_at.x = step - 2 * mb_at.y;
    mb = uint(mb_at.y) * args.mb_width + uint(mb_at.x);
    return mb_at.x >= 0 && mb_at.y < int(args.mb_height);
}

/* ---- all macroblocks in one dispatch ---- */

shared uint ticket, ticket_place;

uint ticket_take()
{
    if (gl_LocalInvocationIndex == 0u)
        ticket = atomicAdd(tickets[tickets_at() + part], 1u);
    barrier();
    return ticket;
}

/* Words of bits that the workgroup has gone through, and the bits that were set in them */
uint words_passed = 0u, bits_passed = 0u;

/* The macroblock that the ticket's bit stands for; false: there are fewer. Tickets of a workgroup
 * rise, so it goes on from the last one. */
bool ticket_find(uint wanted)
{
    uint words = ENC_MARKS(args.mb_width, args.mb_height), marks = tickets_at() + 2u;
    for (; words_passed < words; words_passed += LANES) {
        uint mine = words_passed + LANE, word = mine < words ? tickets[marks + mine] : 0u;
        int count = bitCount(word), before = int(bits_passed) + lanes_before(count, LANES);
        uint end = uint(of_lane(before + count, LANES - 1u));
        if (int(wanted) >= before && int(wanted) < before + count) {
            for (int i = before; i < int(wanted); i++)
                word &= word - 1u;
            ticket_place = 32u * mine + uint(findLSB(word));
        }
        if (wanted < end) {
            barrier();
            uint place = ticket_place, length = 32u * mark_words();
            barrier();
            return diagonal_place(int(place / length), int(place % length));
        }
        bits_passed = end;
    }
    return false;
}

void main()
{
    picture = gl_WorkGroupID.z;
    part = gl_WorkGroupID.y;
    if (part == PART_CHROMA && (uint(pictures[picture].flags) & ENC_CHROMA) == 0u)
        return;
    if (AT_ONCE == 0u) {
        if (diagonal_place(int(args.step), int(gl_WorkGroupID.x)) &&
            uint(mbs[record_at(mb)].kind) != REC_MB_INTER)
            part_run();
        return;
    }
    while (ticket_find(ticket_take()))
        part_run();
}
