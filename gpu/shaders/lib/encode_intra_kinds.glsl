/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The end of encode_intra_choose.comp: one thread compares kinds, and chroma modes.
 */
#ifndef PELTON_ENCODE_INTRA_KINDS_GLSL
#define PELTON_ENCODE_INTRA_KINDS_GLSL

/* The best of four modes, by sums of this macroblock or costs of chroma */
uint whole_choose(uint avail, bool chroma, out uint best)
{
    block_sides s = sides_of(avail, ivec2(0), 4);
    uint chosen = 2u;
    best = NO_COST;
    for (uint mode = 0u; mode < 4u; mode++) {
        uint cost = chroma ? chroma_costs[mode] : weighed_bits(1u) + sums[mode];
        if (serves(s, chroma ? REC_NEEDS_CHROMA : REC_NEEDS_16X16, mode) && cost < best) {
            best = cost;
            chosen = mode;
        }
    }
    return chosen;
}

uint whole_cost(uint avail)
{
    uint best;
    whole_choose(avail, false, best);
    return best + weighed_bits(kind_bits[2]);
}

void kinds_choose(uint avail, bool big, bool chroma)
{
    uint at = record_at(mb), best = kind_costs[0], whole, of_chroma = 0u, chroma_mode = 0u;
    uvec2 modes = uvec2(kind_modes[0][0], kind_modes[0][1]);
    uint kind = REC_MB_INTRA_4X4, mode = whole_choose(avail, false, whole);
    uint wide = big ? kind_costs[1] : NO_COST;
    whole += weighed_bits(kind_bits[2]);
    if (chroma)
        chroma_mode = whole_choose(avail, true, of_chroma);
    for (uint i = 0u; i < 2u; i++) {
        intra[at].kind_cost[i] = i == 0u ? best : wide;
        for (uint k = 0u; k < 2u; k++)
            intra[at].kind_modes[i][k] = i == 0u ? modes[k] : kind_modes[1][k];
    }
    intra[at].kind_cost[2] = whole;
    intra[at].kind_modes[2][0] = mode;
    intra[at].kind_modes[2][1] = 0u;
    if (wide < best) {
        kind = REC_MB_INTRA_8X8;
        best = wide;
        modes = uvec2(kind_modes[1][0], kind_modes[1][1]);
    }
    if (whole < best) {
        kind = REC_MB_INTRA_16X16;
        best = whole;
        modes = uvec2(mode, 0u);
    }
    intra[at].kind = uint8_t(kind);
    intra[at].modes[0] = modes.x;
    intra[at].modes[1] = modes.y;
    intra[at].cost = best + of_chroma;
    intra[at].chroma_mode = uint8_t(chroma_mode);
    intra[at].reserved[0] = intra[at].reserved[1] = uint8_t(0);
}

#endif
