/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Where each macroblock's bits or codes begin, by sums of prefixes. A slice begins at a whole unit.
 * Words where a macroblock's bits begin or a slice's end become zero, as others share them. Grid:
 * pictures in z; a workgroup has a picture.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "gpu/shaders/lib/encode_common.glsl"

#define SUM_THREADS 256
#define RUN         8 /* macroblocks of a thread, one after the other */
#include "gpu/shaders/lib/sums_before.glsl"

layout(local_size_x = SUM_THREADS) in;

layout(set = 0, binding = ENC_BIND_MBS, scalar) readonly buffer mb_buffer
{
    rec_mb mbs[];
};
layout(set = 0, binding = ENC_BIND_PLACES, scalar) buffer place_buffer
{
    enc_place places[];
};
layout(set = 0, binding = ENC_BIND_TOTALS, scalar) buffer total_buffer
{
    enc_total totals[];
};
layout(set = 0, binding = ENC_BIND_COEFFS, scalar) writeonly buffer data_buffer
{
    uint data[];
};

uint picture, first, words; /* words: of the picture's room */

void word_clear(uint bit)
{
    if (bit >> 5 < words)
        data[first * ENC_BLOCKS * 8u + (bit >> 5)] = 0u;
}

/* Macroblocks from..to - 1, from place `begin` on; returns the sum. */
uint slice_places(uint from, uint to, uint begin, bool clear)
{
    uint before = 0u;
    for (uint base = from; base < to; base += SUM_THREADS * RUN) {
        uint mine[RUN], sum = 0u, total, here = base + gl_LocalInvocationIndex * RUN;
        [[unroll]] for (uint i = 0u; i < RUN; i++) {
            mine[i] = here + i < to ? places[first + here + i].at : 0u;
            sum += mine[i];
        }
        uint place = begin + before + sums_before(sum, total);
        [[unroll]] for (uint i = 0u; i < RUN; i++) {
            if (here + i < to) {
                places[first + here + i].at = place;
                if (clear)
                    word_clear(place);
            }
            place += mine[i];
        }
        before += total;
    }
    return before;
}

void main()
{
    uint count = args.mb_width * args.mb_height, units = 0u;
    picture = gl_WorkGroupID.z;
    first = picture * count;
    words = count * ENC_BLOCKS * 8u;
    uint flags = uint(pictures[picture].flags);
    uint slices = min(uint(pictures[picture].slices), args.mb_height);
    bool cavlc = (flags & ENC_CAVLC) != 0u;
    uint size = cavlc ? ENC_UNIT_BITS : ENC_UNIT_CODES;
    if ((flags & (ENC_CAVLC | ENC_BINS)) == 0u)
        return;
    for (uint i = 0u; i < slices; i++) {
        uint from = i * args.mb_height / slices * args.mb_width;
        uint to = (i + 1u) * args.mb_height / slices * args.mb_width;
        uint sum = slice_places(from, to, units * size, cavlc);
        if (gl_LocalInvocationIndex == 0u) {
            totals[picture].count[i] = sum;
            totals[picture].qp[i] = int(mbs[first + from].qp[0]);
            if (cavlc)
                word_clear(units * size + sum);
        }
        units += (sum + size - 1u) / size;
    }
    if (gl_LocalInvocationIndex == 0u)
        totals[picture].units = units;
}
