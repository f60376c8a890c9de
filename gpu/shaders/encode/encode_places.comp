/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Where each macroblock's bits or codes begin, by sums of prefixes. A slice begins at a whole unit.
 * Words where a macroblock's bits begin or a slice's end become zero, as others share them. Grid:
 * slices in y, pictures in z; a workgroup has a slice, and adds up those before it.
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
shared uint sums[ENC_SLICES];

void word_clear(uint bit)
{
    if (bit >> 5 < words)
        data[first * ENC_BLOCKS * 8u + (bit >> 5)] = 0u;
}

/* The first macroblock of a slice */
uint slice_begin(uint i, uint slices)
{
    return i * args.mb_height / slices * args.mb_width;
}

/* Units of the slices before this one. A slice has whole units. */
uint units_before(uint slice, uint slices, uint size)
{
    uint units = 0u;
    if (gl_LocalInvocationIndex < ENC_SLICES)
        sums[gl_LocalInvocationIndex] = 0u;
    barrier();
    for (uint i = 0u; i < slice; i++) {
        uint sum = 0u, to = slice_begin(i + 1u, slices);
        for (uint mb = slice_begin(i, slices) + gl_LocalInvocationIndex; mb < to; mb += SUM_THREADS)
            sum += places[first + mb].count;
        atomicAdd(sums[i], sum);
    }
    barrier();
    for (uint i = 0u; i < slice; i++)
        units += (sums[i] + size - 1u) / size;
    return units;
}

/* Macroblocks from..to - 1, from place `begin` on; returns the sum. */
uint slice_places(uint from, uint to, uint begin, bool clear)
{
    uint before = 0u;
    for (uint base = from; base < to; base += SUM_THREADS * RUN) {
        uint mine[RUN], sum = 0u, total, here = base + gl_LocalInvocationIndex * RUN;
        [[unroll]] for (uint i = 0u; i < RUN; i++) {
            mine[i] = here + i < to ? places[first + here + i].count : 0u;
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
    uint count = args.mb_width * args.mb_height, slice = gl_WorkGroupID.y;
    picture = gl_WorkGroupID.z;
    first = picture * count;
    words = count * ENC_BLOCKS * 8u;
    uint flags = uint(pictures[picture].flags);
    uint slices = min(uint(pictures[picture].slices), args.mb_height);
    bool cavlc = (flags & ENC_CAVLC) != 0u;
    uint size = cavlc ? ENC_UNIT_BITS : ENC_UNIT_CODES;
    if ((flags & (ENC_CAVLC | ENC_BINS)) == 0u || slice >= slices)
        return;
    uint units = units_before(slice, slices, size), from = slice_begin(slice, slices);
    uint sum = slice_places(from, slice_begin(slice + 1u, slices), units * size, cavlc);
    if (gl_LocalInvocationIndex > 0u)
        return;
    totals[picture].count[slice] = sum;
    totals[picture].qp[slice] = int(mbs[first + from].qp[0]);
    if (cavlc)
        word_clear(units * size + sum);
    if (slice + 1u == slices)
        totals[picture].units = units + (sum + size - 1u) / size;
}
