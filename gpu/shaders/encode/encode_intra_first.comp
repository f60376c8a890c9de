/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Modes of 4x4 blocks from source samples, without rates: the first round of
 * encode/reference/choose_intra.c. Grid: macroblocks in x, pictures in z.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/encode_search.glsl"
#include "gpu/shaders/lib/encode_source.glsl"

void main()
{
    uint t = gl_LocalInvocationIndex, best = NO_COST, chosen = 2u;
    search_begin();
    uint at = record_at(mb);
    tile_source(0u);
    costs_4x4(uint(mbs[at].intra_avail));
    if (t >= 16u)
        return;
    for (uint mode = 0u; mode < NXN_MODES; mode++)
        if (nxn_costs[t * NXN_MODES + mode] < best) {
            best = nxn_costs[t * NXN_MODES + mode];
            chosen = mode;
        }
    intra[at].mode4[t] = uint8_t(chosen);
}
