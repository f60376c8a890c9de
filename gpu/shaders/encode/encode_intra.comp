/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Intra macroblocks (encode/reference/code_intra.c): predicted from unfiltered samples,
 * transformed, quantised and reconstructed. The only pass whose macroblocks wait for each other.
 *
 * A workgroup has luma or chroma of a macroblock, as neither waits for the other. Either there is
 * one dispatch for each diagonal of slope 2: macroblocks in x, luma and chroma in y,
 * pictures in z. Or there is one dispatch: diagonals in y, luma and chroma in z. Then a workgroup
 * waits for the intra macroblocks A to D alone. It takes its macroblock by a ticket, so those that
 * it waits for have begun.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/encode_search.glsl"
#include "gpu/shaders/lib/encode_intra.glsl"
#include "gpu/shaders/lib/encode_motion.glsl"
#include "gpu/shaders/lib/encode_code.glsl"
#include "gpu/shaders/lib/encode_blocks.glsl"
#include "gpu/shaders/lib/encode_store.glsl"

/* 2: patiently. llvmpipe (22.3) ends every loop of a shader once all its loops together have run
 * 65535 times. There one turn of the loop that waits asks 256 times. */
layout(constant_id = 1) const uint AT_ONCE = 0;

layout(set = 0, binding = ENC_BIND_TICKETS, scalar) coherent volatile buffer ticket_buffer
{
    uint tickets[];
};

shared uint ticket;

#define PART_LUMA   0u
#define PART_CHROMA 1u
uint part; /* of the macroblock, which the workgroup has */

/* The part's samples, as pred has them */
uint part_first()
{
    return part == PART_LUMA ? 0u : 256u;
}

uint part_end()
{
    return part == PART_LUMA ? 256u : 384u;
}

/* A sample before deblocking; beside the picture: the nearest one, which is not used */
int sample_at(uint c, ivec2 at)
{
    ivec2 end = (c == 0u ? 16 : 8) * ivec2(args.mb_width, args.mb_height) - 1;
    return int(unfiltered[unfiltered_at(c, clamp(at, ivec2(0), end))]);
}

/* Samples around the macroblock. Those that are not available are not used. Cb is in columns -1..7,
 * Cr in columns 11..19. */
void load_border()
{
    int t = int(gl_LocalInvocationIndex), half_t = t & 31, c = t >> 5, x = 12 * c;
    if (part == PART_LUMA && t < TILE_PITCH)
        tile[t] = sample_at(0u, 16 * mb_at + ivec2(t - 1, -1));
    else if (part == PART_LUMA && t >= 32 && t < 48)
        TILE_AT(-1, t - 32) = sample_at(0u, 16 * mb_at + ivec2(-1, t - 32));
    else if (part == PART_CHROMA && half_t < 9)
        TILE_AT(x + half_t - 1, -1) = sample_at(1u + uint(c), 8 * mb_at + ivec2(half_t - 1, -1));
    else if (part == PART_CHROMA && half_t >= 16 && half_t < 24)
        TILE_AT(x - 1, half_t - 16) = sample_at(1u + uint(c), 8 * mb_at + ivec2(-1, half_t - 16));
    barrier();
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

/* Sample i of the macroblock is predicted as p. */
void put_prediction(uint i, int p)
{
    pred[i] = p;
    residual[i] -= p;
}

/* The mode of a block */
int mode_of(uint at, uint blk)
{
    return int(mbs[at].intra_mode[blk >> 3] >> 4u * (blk & 7u) & 15u);
}

/* By the first eight threads */
void code_luma8(int block)
{
    uint t = gl_LocalInvocationIndex;
    if (t < 8u)
        rows_forward8(8u * uint(block) + t);
    code_rest8(t < 8u, 8u * uint(block) + t);
}

/* 8x8 blocks one after the other */
void code_8x8(uint at, uint avail)
{
    int t = int(gl_LocalInvocationIndex), x = t & 7, y = t >> 3;
    [[dont_unroll]] for (int block = 0; block < 4; block++) {
        ivec2 place = 2 * ivec2(block & 1, block >> 1), corner = 4 * place;
        block_sides s = sides_of(avail, place, 2);
        border_fill(place, s);
        barrier();
        put_prediction(uint(16 * (corner.y + y) + corner.x + x),
                       intra_8x8(mode_of(at, 4u * uint(block)), x, y, s.left, s.top, DEPTH));
        barrier();
        code_luma8(block);
        barrier();
        TILE_AT(corner.x + x, corner.y + y) = work[LUMA8_FIRST + 64 * block + t];
        barrier();
    }
}

/* 4x4 blocks in a wavefront of ten steps, two at a time by 16 threads each */
void code_4x4(uint at, uint avail)
{
    int t = int(gl_LocalInvocationIndex), second = t >> 4 & 1;
    block_factors f = factors4(qps.x);
    uvec2 modes = uvec2(mbs[at].intra_mode[0], mbs[at].intra_mode[1]);
    [[dont_unroll]] for (int step = 0; step < 10; step++) {
        ivec2 place = ivec2((step & 1) + 2 * second, (step >> 1) - second), corner = 4 * place,
              to = ivec2(t & 3, t >> 2 & 3);
        bool here = t < 32 && place.y >= 0 && place.y < 4;
        uint blk =
            uint((place.x & 1) | (place.y & 1) << 1 | (place.x & 2) << 1 | (place.y & 2) << 2);
        int first = 16 * corner.y + corner.x, mode = int(modes[blk >> 3] >> 4u * (blk & 7u) & 15u);
        place_choice p;
        int c = 0;
        if (here) {
            block_sides s = sides_of(avail, place, 1);
            put_prediction(
                uint(first + 16 * to.y + to.x),
                intra_4x4(mode, corner.x, corner.y, to.x, to.y, s.left, s.top, s.right, DEPTH));
        }
        barrier();
        if (here)
            p = place4_begin(first, 16, false, f, c);
        barrier();
        if (here)
            place4_cost(p);
        barrier();
        bool any = false;
        if (here)
            any = place4_level(16 * int(blk), f, p, c);
        if (any && (t & 15) == 0)
            atomicOr(coded[WAY_LUMA4], 1u << blk);
        barrier();
        if (here) {
            int r = place4_sample(pred[first + 16 * to.y + to.x]);
            work[16 * int(blk) + 4 * to.y + to.x] = r;
            TILE_AT(corner.x + to.x, corner.y + to.y) = r;
        }
        barrier();
    }
}

void code_16x16(uint at, block_sides s)
{
    uint t = gl_LocalInvocationIndex;
    int v[16], mode = int(mbs[at].intra_mode[0] & 15u);
    ivec3 terms = mode == 3 ? plane_terms_of(0, 16) : ivec3(0);
    int mean = mode == 2 ? mean_of_luma(s) : 0;
    for (uint i = t; i < 256u; i += SEARCH_THREADS) {
        ivec2 to = ivec2(i & 15u, i >> 4);
        put_prediction(i, mode == 0   ? TILE_AT(to.x, -1)
                          : mode == 1 ? TILE_AT(-1, to.y)
                          : mode == 2 ? mean
                                      : plane_sample(terms, to - 7));
    }
    barrier();
    if (t < 16u)
        whole4_begin(t, v);
    barrier();
    if (t == 0u)
        luma_dc();
    barrier();
    if (t < 16u)
        whole4_end(t, v);
}

/* The prediction of both components */
void predict_chroma(uint at, block_sides s)
{
    int t = int(gl_LocalInvocationIndex), x = t & 7, y = t >> 3;
    int mode = int(mbs[at].intra_chroma_mode);
    [[dont_unroll]] for (int c = 0; c < 2; c++) {
        int first = 12 * c, p;
        if (mode == 0)
            p = mean_of_chroma(uint(4 * c + 2 * (y >> 2) + (x >> 2)), s);
        else if (mode == 3)
            p = plane_sample(plane_terms_of(first, 8), ivec2(x, y) - 3);
        else
            p = mode == 2 ? TILE_AT(first + x, -1) : TILE_AT(first - 1, y);
        put_prediction(uint(256 + 64 * c + t), p);
    }
    barrier();
}

/* Both components, one after the other: 16 threads a block */
void code_chroma(uint at, block_sides s)
{
    int t = int(gl_LocalInvocationIndex), blk = t >> 4, coefficient;
    predict_chroma(at, s);
    [[dont_unroll]] for (int c = 1; c <= 2; c++) {
        int corner = chroma_block_at(uint(4 * (c - 1) + blk)),
            first = CHROMA_BLOCK + 64 * (c - 1) + 16 * blk;
        block_factors f = factors4(qps[c]);
        place_choice p = place4_begin(corner, 8, true, f, coefficient);
        if ((t & 15) == 0)
            dc[blk] = coefficient;
        barrier();
        place4_cost(p);
        barrier();
        bool any = place4_level(first, f, p, coefficient);
        if ((t & 15) == 0)
            place4_dc(uint(c), first, any);
        barrier();
        work[first + (t & 15)] = place4_sample(pred[corner + 8 * (t >> 2 & 3) + (t & 3)]);
        barrier();
    }
}

/* The i-th macroblock from the top of the diagonal x + 2 y = step; whether there is one */
bool diagonal_place(int step, int i)
{
    int beyond = step - int(args.mb_width) + 1;
    mb_at.y = (max(beyond, 0) + 1) / 2 + i;
    mb_at.x = step - 2 * mb_at.y;
    mb = uint(mb_at.y) * args.mb_width + uint(mb_at.x);
    return mb_at.x >= 0 && mb_at.y < int(args.mb_height);
}

bool diagonal_begin()
{
    picture = gl_WorkGroupID.z;
    part = gl_WorkGroupID.y;
    return diagonal_place(int(args.step), int(gl_WorkGroupID.x));
}

/* Up to the samples in work, and the levels */
void code_part()
{
    uint t = gl_LocalInvocationIndex, at = record_at(mb), kind = uint(mbs[at].kind),
         avail = uint(mbs[at].intra_avail);
    block_sides s = sides_of(avail, ivec2(0), 4);
    qps = uvec3(uint(mbs[at].qp[0]), uint(mbs[at].qp[1]), uint(mbs[at].qp[2]));
    if (t < WAYS)
        coded[t] = 0u;
    load_border();
    if (part == PART_CHROMA)
        code_chroma(at, s);
    else if (kind == REC_MB_INTRA_16X16)
        code_16x16(at, s);
    else if (kind == REC_MB_INTRA_8X8)
        code_8x8(at, avail);
    else
        code_4x4(at, avail);
    barrier();
}

/* What no macroblock waits for */
void keep_rest(bool big)
{
    uint t = gl_LocalInvocationIndex;
    keep_levels(part_first(), part_end(), big);
    if (t < 3u && (t > 0u) == (part == PART_CHROMA))
        mbs[record_at(mb)].coded[t] = uint16_t(coded[t > 0u ? t + 1u : big ? 1u : 0u]);
}

/* ---- all macroblocks in one dispatch ---- */

/* The ticket's macroblock: diagonals one after the other, and their pictures side by side */
bool ticket_begin()
{
    uint rows = min(args.mb_height, (args.mb_width + 1u) / 2u);
    if (gl_LocalInvocationIndex == 0u)
        ticket = atomicAdd(tickets[0], 1u);
    barrier();
    uint place = ticket / (2u * args.picture_count);
    picture = ticket / 2u % args.picture_count;
    part = ticket & 1u;
    return diagonal_place(int(place / rows), int(place % rows));
}

/* Where a macroblock tells which of its parts are done, a bit each */
uint done_at(uint address)
{
    return 1u + record_at(address);
}

#define ASK_4(at)                                                                                  \
    atomicOr(tickets[at], 0u), atomicOr(tickets[at], 0u), atomicOr(tickets[at], 0u),               \
        atomicOr(tickets[at], 0u);
#define ASK_16(at)  ASK_4(at) ASK_4(at) ASK_4(at) ASK_4(at)
#define ASK_64(at)  ASK_16(at) ASK_16(at) ASK_16(at) ASK_16(at)
#define ASK_256(at) ASK_64(at) ASK_64(at) ASK_64(at) ASK_64(at)

/* A load takes less of the device than an atomic operation. llvmpipe would not load again. */
bool part_is_done(uint at)
{
    uint done = AT_ONCE == 2u ? atomicOr(tickets[at], 0u) : tickets[at];
    return (done >> part & 1u) != 0u;
}

/* Those of the macroblocks A to D that are intra are done, by a thread for each. */
void sides_wait(uint avail)
{
    const uint sides[4] = uint[4](REC_AVAIL_A, REC_AVAIL_B, REC_AVAIL_C, REC_AVAIL_D);
    uint t = gl_LocalInvocationIndex;
    if (t < 4u && (avail & sides[t]) != 0u) {
        uint back = t == 0u ? 1u : args.mb_width + (t == 1u ? 0u : t == 2u ? 0xffffffffu : 1u);
        uint at = done_at(mb - back);
        if (uint(mbs[record_at(mb - back)].kind) != REC_MB_INTER)
            while (!part_is_done(at))
                if (AT_ONCE == 2u) {
                    ASK_256(at)
                }
    }
    barrier();
    memoryBarrierBuffer();
}

void part_announce()
{
    memoryBarrierBuffer();
    barrier();
    if (gl_LocalInvocationIndex == 0u)
        atomicOr(tickets[done_at(mb)], 1u << part);
}

void main()
{
    bool here = AT_ONCE == 0u ? diagonal_begin() : ticket_begin();
    if (!here || uint(mbs[record_at(mb)].kind) == REC_MB_INTER ||
        (part == PART_CHROMA && (uint(pictures[picture].flags) & ENC_CHROMA) == 0u))
        return;
    bool big = part == PART_LUMA && uint(mbs[record_at(mb)].kind) == REC_MB_INTRA_8X8;
    scan8[gl_LocalInvocationIndex] = zigzag8[gl_LocalInvocationIndex];
    load_source();
    if (AT_ONCE != 0u)
        sides_wait(uint(mbs[record_at(mb)].intra_avail));
    code_part();
    keep_samples(part_first(), part_end(), big);
    if (AT_ONCE != 0u)
        part_announce();
    keep_rest(big);
}
