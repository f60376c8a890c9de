/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Intra macroblocks (encode/reference/code_intra.c): predicted from unfiltered samples,
 * transformed, quantised and reconstructed. The only pass whose macroblocks wait for each other.
 *
 * Either there is one dispatch for each diagonal of slope 2: macroblocks of the diagonal in x,
 * pictures in z. Or a workgroup takes a row, and waits where the row above has not come far enough:
 * rows in x, pictures in z. It takes rows by tickets, so those that it waits for have begun.
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
layout(constant_id = 1) const uint BY_ROWS = 0;

layout(set = 0, binding = ENC_BIND_TICKETS, scalar) coherent buffer ticket_buffer
{
    uint tickets[];
};

shared uint ticket, intra_mask[SEARCH_THREADS / 32];

/* Samples around the macroblock. Those that are not available are not used. */
void load_border(uint c)
{
    int t = int(gl_LocalInvocationIndex), size = c == 0u ? 16 : 8;
    ivec2 first = size * mb_at, end = size * ivec2(args.mb_width, args.mb_height) - 1;
    barrier();
    if (t < TILE_PITCH)
        tile[t] = int(unfiltered[unfiltered_at(c, clamp(first + ivec2(t - 1, -1), ivec2(0), end))]);
    else if (t >= 32 && t < 32 + size)
        TILE_AT(-1, t - 32) =
            int(unfiltered[unfiltered_at(c, clamp(first + ivec2(-1, t - 32), ivec2(0), end))]);
    barrier();
}

/* Sample i of the macroblock is predicted as p. */
void put_prediction(uint i, int p)
{
    ivec3 at = sample_place(i);
    uint set = pictures[picture].source;
    int source =
        at.z == 0 ? int(plane_origin(set, 0u)) + at.y * int(plane_stride(0u)) + at.x
                  : int(chroma_origin(set, uint(at.z) - 1u)) + at.y * int(luma_width() / 2u) + at.x;
    pred[i] = p;
    residual[i] = int(planes[source]) - p;
}

/* Sample (x, y) of the block at a place in units of 4 samples */
void predict_sample(uint at, uint avail, ivec2 place, uint blk, int x, int y, bool big)
{
    ivec2 corner = 4 * place;
    block_sides s = sides_of(avail, place, big ? 2 : 1);
    int mode = int(mbs[at].intra_mode[blk >> 3] >> 4u * (blk & 7u) & 15u);
    put_prediction(uint(16 * (corner.y + y) + corner.x + x),
                   big ? intra_8x8(mode, x, y, s.left, s.top, DEPTH)
                       : intra_4x4(mode, corner.x, corner.y, x, y, s.left, s.top, s.right, DEPTH));
}

/* By the first eight threads */
void code_luma8(int block)
{
    uint t = gl_LocalInvocationIndex;
    if (t < 8u)
        rows_forward8(8u * uint(block) + t);
    code_rest8(t < 8u, 8u * uint(block) + t);
}

/* 8x8 blocks one after the other, or 4x4 blocks in a wavefront of ten steps, two at a time by 16
 * threads each */
void code_nxn(uint at, uint avail, bool big)
{
    int t = int(gl_LocalInvocationIndex), size = big ? 8 : 4, second = big ? 0 : t >> 4;
    int x = t % size, y = t / size % size, v[16];
    [[dont_unroll]] for (int step = 0; step < (big ? 4 : 10); step++) {
        ivec2 place = big ? 2 * ivec2(step & 1, step >> 1)
                          : ivec2((step & 1) + 2 * second, (step >> 1) - second);
        bool here = big || (t < 32 && place.y >= 0 && place.y < 4);
        uint blk =
            uint((place.x & 1) | (place.y & 1) << 1 | (place.x & 2) << 1 | (place.y & 2) << 2);
        if (big)
            border_fill(place, sides_of(avail, place, 2));
        barrier();
        if (here)
            predict_sample(at, avail, place, blk, x, y, big);
        barrier();
        if (big)
            code_luma8(step);
        else if (here && x + y == 0)
            code_luma4(blk, v);
        barrier();
        if (here)
            TILE_AT(4 * place.x + x, 4 * place.y + y) =
                work[16 * int(blk) + (big ? LUMA8_FIRST : 0) + y * size + x];
        barrier();
    }
}

void code_16x16(uint at, block_sides s)
{
    uint t = gl_LocalInvocationIndex;
    int v[16];
    for (uint i = t; i < 256u; i += SEARCH_THREADS)
        put_prediction(i, intra_16x16(int(mbs[at].intra_mode[0] & 15u), int(i & 15u), int(i >> 4),
                                      s.left, s.top, DEPTH));
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

void code_chroma(uint at, block_sides s)
{
    uint t = gl_LocalInvocationIndex;
    bool any = false;
    int v[16];
    for (uint c = 1u; c <= 2u; c++) {
        load_border(c);
        put_prediction(192u + 64u * c + t, intra_chroma(int(mbs[at].intra_chroma_mode), int(t & 7u),
                                                        int(t >> 3), 8, s.left, s.top, DEPTH));
    }
    barrier();
    if (t < 8u)
        any = chroma4_begin(t, v);
    barrier();
    if (t < 8u)
        chroma4_end(t, v, any, ROUNDING_INTRA);
}

/* The i-th macroblock from the top of the diagonal x + 2 y = step */
bool diagonal_begin()
{
    search_begin();
    int beyond = int(args.step) - int(args.mb_width) + 1;
    mb_at.y = (max(beyond, 0) + 1) / 2 + int(gl_WorkGroupID.x);
    mb_at.x = int(args.step) - 2 * mb_at.y;
    mb = uint(mb_at.y) * args.mb_width + uint(mb_at.x);
    return mb_at.x >= 0 && mb_at.y < int(args.mb_height);
}

void code_mb()
{
    uint t = gl_LocalInvocationIndex, at = record_at(mb), kind = uint(mbs[at].kind),
         avail = uint(mbs[at].intra_avail);
    bool big = kind == REC_MB_INTRA_8X8;
    block_sides s = sides_of(avail, ivec2(0), 4);
    if (kind == REC_MB_INTER)
        return;
    qps = uvec3(uint(mbs[at].qp[0]), uint(mbs[at].qp[1]), uint(mbs[at].qp[2]));
    if (t < WAYS)
        ssd[t] = bits[t] = coded[t] = 0u;
    load_border(0u);
    if (kind == REC_MB_INTRA_16X16)
        code_16x16(at, s);
    else
        code_nxn(at, avail, big);
    if ((uint(pictures[picture].flags) & ENC_CHROMA) != 0u)
        code_chroma(at, s);
    barrier();
    keep_samples(big, false);
    if (t < 3u)
        mbs[at].coded[t] = uint16_t(coded[t > 0u ? t + 1u : big ? 1u : 0u]);
}

/* ---- a workgroup takes a row ---- */

void row_begin()
{
    uint t = gl_LocalInvocationIndex;
    if (t == 0u)
        ticket = atomicAdd(tickets[0], 1u);
    barrier();
    picture = ticket % args.picture_count;
    mb_at = ivec2(0, ticket / args.picture_count);
}

/* Where the row's number of macroblocks that are done is */
uint progress_at(int row)
{
    return 1u + picture * args.mb_height + uint(row);
}

/* All before mb_at.x is done. */
void row_announce(uint done)
{
    memoryBarrierBuffer();
    barrier();
    if (gl_LocalInvocationIndex == 0u)
        atomicMax(tickets[progress_at(mb_at.y)], done);
}

#define ASK_4(at)                                                                                  \
    atomicOr(tickets[at], 0u), atomicOr(tickets[at], 0u), atomicOr(tickets[at], 0u),               \
        atomicOr(tickets[at], 0u);
#define ASK_16(at)  ASK_4(at) ASK_4(at) ASK_4(at) ASK_4(at)
#define ASK_64(at)  ASK_16(at) ASK_16(at) ASK_16(at) ASK_16(at)
#define ASK_256(at) ASK_64(at) ASK_64(at) ASK_64(at) ASK_64(at)

/* The macroblocks above are done. */
void row_wait()
{
    uint wanted = min(uint(mb_at.x) + 2u, args.mb_width);
    if (gl_LocalInvocationIndex == 0u && mb_at.y > 0) {
        uint above = progress_at(mb_at.y - 1);
        while (atomicOr(tickets[above], 0u) < wanted)
            if (BY_ROWS == 2u) {
                ASK_256(above)
            }
    }
    barrier();
    memoryBarrierBuffer();
}

/* The intra macroblocks of those from `first` on in the mask */
void row_part(int first)
{
    uint t = gl_LocalInvocationIndex, x = uint(first) + t;
    barrier();
    if (t < SEARCH_THREADS / 32)
        intra_mask[t] = 0u;
    barrier();
    mb = uint(mb_at.y) * args.mb_width;
    if (x < args.mb_width && uint(mbs[record_at(mb + x)].kind) != REC_MB_INTER)
        atomicOr(intra_mask[t >> 5], 1u << (t & 31u));
    barrier();
    for (uint word = 0u; word < SEARCH_THREADS / 32; word++)
        for (uint left = intra_mask[word]; left != 0u; left &= left - 1u) {
            mb_at.x = first + int(32u * word) + findLSB(left);
            mb = uint(mb_at.y) * args.mb_width + uint(mb_at.x);
            row_announce(uint(mb_at.x));
            row_wait();
            code_mb();
        }
}

void main()
{
    scan8[gl_LocalInvocationIndex] = zigzag8[gl_LocalInvocationIndex];
    if (BY_ROWS == 0u) {
        if (diagonal_begin())
            code_mb();
        return;
    }
    row_begin();
    for (int first = 0; first < int(args.mb_width); first += SEARCH_THREADS)
        row_part(first);
    row_announce(args.mb_width);
}
