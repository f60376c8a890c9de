/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The end of encode_intra_choose.comp: one thread compares kinds, and chroma modes.
 */
#ifndef PELTON_ENCODE_INTRA_KINDS_GLSL
#define PELTON_ENCODE_INTRA_KINDS_GLSL

/* Cost and modes of kind 0 (4x4) or 1 (8x8) */
void kind_sum(uint kind)
{
    uint at = record_at(mb), cost = weighed_bits(kind_bits[kind]), modes[2] = uint[2](0u, 0u);
    for (uint blk = 0u; blk < 16u; blk += kind == 0u ? 1u : 4u) {
        cost += block_costs[kind][blk];
        modes[blk >> 3] |= block_modes[kind][blk] << 4u * (blk & 7u);
    }
    intra[at].kind_cost[kind] = cost;
    intra[at].kind_modes[kind][0] = modes[0];
    intra[at].kind_modes[kind][1] = modes[1];
}

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

void kinds_choose(uint avail, bool big)
{
    uint at = record_at(mb), best, kind = REC_MB_INTRA_4X4;
    uint mode = whole_choose(avail, false, best);
    kind_sum(0u);
    intra[at].kind_cost[1] = NO_COST;
    intra[at].kind_modes[1][0] = intra[at].kind_modes[1][1] = 0u;
    if (big)
        kind_sum(1u);
    intra[at].kind_cost[2] = best + weighed_bits(kind_bits[2]);
    intra[at].kind_modes[2][0] = mode;
    intra[at].kind_modes[2][1] = 0u;
    for (uint i = 1u; i < 3u; i++)
        if (intra[at].kind_cost[i] < intra[at].kind_cost[kind])
            kind = i;
    intra[at].kind = uint8_t(kind);
    intra[at].modes[0] = intra[at].kind_modes[kind][0];
    intra[at].modes[1] = intra[at].kind_modes[kind][1];
    intra[at].cost = intra[at].kind_cost[kind];
    intra[at].chroma_mode = uint8_t(0);
    intra[at].reserved[0] = intra[at].reserved[1] = uint8_t(0);
}

void chroma_choose(uint avail)
{
    uint at = record_at(mb), best;
    intra[at].chroma_mode = uint8_t(whole_choose(avail, true, best));
    intra[at].cost += best;
}

#endif
