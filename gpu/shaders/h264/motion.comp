/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Step 3 of one picture by one workgroup (8.4.1): vectors from differences, in place. MOT_ROWS rows
 * of macroblocks are in work at once, each two macroblocks behind the one above. Each row has a
 * thread for each of the two lists. Shared memory carries state from row to row, and registers
 * carry it from macroblock to macroblock. The shader never reads the arrays of other macroblocks,
 * so their order in memory does not matter. It loads a macroblock's own data a step ahead.
 *
 * Records may hold anything. Addresses follow only from the picture and its slices, which the host
 * has checked. No derived value is an index. motion_check.comp finds faulty records.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/motion_common.glsl"
#include "gpu/shaders/lib/motion_predict.glsl"
#include "gpu/shaders/lib/motion_mb.glsl"

layout(local_size_x = 2 * MOT_ROWS) in;

der_picture picture;
der_slice slice; /* of the macroblock to be loaded */

/* The one that the address lies in: slices cover the picture in order. */
void find_slice(uint addr)
{
    uint low = 0u, high = picture.slice_count;
    [[dont_unroll]] while (high - low > 1u) {
        uint middle = (low + high) / 2u;
        if (slices[picture.slice_base + middle].first_mb <= addr)
            low = middle;
        else
            high = middle;
    }
    slice = slices[picture.slice_base + low];
}

macroblock load_macroblock(uint row, uint x)
{
    uint addr = row * picture.mb_width + x, at = picture.mb_base + addr, words = at * MOTION_WORDS;
    macroblock m;
    if (addr >= slice.end_mb)
        find_slice(addr);
    m.wanted = list == 0u ? slice.type != I_SLICE : slice.type == B_SLICE;
    if (!m.wanted)
        return m;
    m.addr = addr;
    m.x = x;
    m.first_mb = slice.first_mb;
    m.corners = slice.corners != 0;
    m.still = slice.map == DER_NO_MAP ? 0u : uint(maps[slice.map + addr]);
    m.syntax = syntax[at];
    m.refs = motion[words + MOTION_REFS];
    words += list * 8u;
    [[unroll]] for (uint q = 0u; q < 4u; q++) {
        uint first = words + (q >> 1) * 4u + (q & 1u);
        m.difference[q] = uvec4(motion[first], motion[first + 2u]);
    }
    return m;
}

void main()
{
    const uint thread = gl_LocalInvocationIndex % MOT_ROWS;
    picture = pictures[gl_WorkGroupID.x];
    list = gl_LocalInvocationIndex / MOT_ROWS;
    slice.end_mb = 0u;
    /* Row r of a band is 2 r steps behind its first one; a band follows the one before when that
     * one's first row, and two steps behind its last one, is through. One step more for loads; the
     * last is idle. */
    uint width = picture.mb_width, rows = picture.mb_count / width,
         band = max(width, 2u * MOT_ROWS);
    uint bands = (rows + MOT_ROWS - 1u) / MOT_ROWS, last = rows - (bands - 1u) * MOT_ROWS;
    uint steps = (bands - 1u) * band + 2u * (last - 1u) + width + 2u, step_ = 0u;
    uint row = thread;
    int x = -2 * int(thread);
    macroblock m, ahead;
    ahead.wanted = false;
    [[dont_unroll]] for (; step_ < steps; step_++) {
        m = ahead;
        ahead.wanted = false;
        if (x >= 0 && row < rows)
            ahead = load_macroblock(row, uint(x));
        if (m.wanted)
            derive_macroblock(m, picture.mb_base, width);
        x++;
        if (x == int(width)) {
            x -= int(band);
            row += MOT_ROWS;
        }
        barrier();
    }
    /* llvmpipe leaves every loop once a thread has gone through 65535 iterations of loops */
    if (step_ != steps && thread == 0u)
        atomicOr(results[gl_WorkGroupID.x * MOT_RESULTS], DER_BAD);
}
