/* SPDX-License-Identifier: BSD-2-Clause
 *
 * SATD of all modes of 4x4 blocks from source samples, and the best modes without rates: the first
 * round of encode/reference/choose_intra.c, of I pictures. Grid: macroblocks in x, pictures in z.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/encode_search.glsl"
#include "gpu/shaders/lib/encode_source.glsl"

shared uint nxn_costs[16 * NXN_MODES];

void costs_fill(uint avail)
{
    uint t = gl_LocalInvocationIndex, blk = t & 15u;
    block_sides s = sides_of(avail, block_place(blk), 1);
    PAIR source[8];
    own_source(source, own_corner());
    for (uint mode = t >> 4; mode < NXN_MODES; mode += MODES_AT_ONCE) {
        PAIR d[8] = source;
        uint task = blk * NXN_MODES + mode;
        predict_nxn(mode, blk * PITCH4, ivec2(0), LOW4, COUNT4, d);
        nxn_costs[task] = serves(s, REC_NEEDS_NXN, mode) ? satd_of(d) : SATD_NONE;
        levels[record_at(mb) * MB_LEVELS + task] = uint16_t(nxn_costs[task]);
    }
    barrier();
}

void main()
{
    uint t = gl_LocalInvocationIndex, best = SATD_NONE, chosen = 2u;
    if (search_begin()) /* it has references */
        return;
    uint at = record_at(mb), avail = uint(mbs[at].intra_avail);
    tile_source(false);
    taps4_fill(avail);
    costs_fill(avail);
    if (t >= 16u)
        return;
    for (uint mode = 0u; mode < NXN_MODES; mode++)
        if (nxn_costs[t * NXN_MODES + mode] < best) {
            best = nxn_costs[t * NXN_MODES + mode];
            chosen = mode;
        }
    intra[at].mode4[t] = uint8_t(chosen);
}
