/* SPDX-License-Identifier: BSD-2-Clause
 *
 * residual_block_cabac (7.3.5.3.3). A context is loaded before the bin that leads to it is decided.
 */
#ifndef PELTON_ENTROPY_BLOCK_CABAC_GLSL
#define PELTON_ENTROPY_BLOCK_CABAC_GLSL

/* significant_coeff_flag and last_significant_coeff_flag of a coefficient, whose contexts are in
 * the states of these rows. True: it is the last one. */
bool significant(uvec2 sig, uvec2 last, uint sig_at, uint last_at, uint bit, inout uint mask)
{
    uint next;
    engine_ready();
    bool one = decide(sig, next);
    contexts[sig_at] = uint8_t(next);
    if (one) {
        mask |= bit;
        one = decide(last, next);
        contexts[last_at] = uint8_t(next);
    }
    return one;
}

/* The same (9.3.3.1.3) of a block of `count` coefficients, 16 at most: those that are not 0, as
 * bits. Two coefficients a turn, whose rows stay in the registers that they are loaded into. */
uint significance(uint sig_at, uint last_at, uint count)
{
    uint mask = 0u, bit = 1u, stop = 1u << (count - 1u);
    sig_at += context_base;
    last_at += context_base;
    uvec2 sig = state_of(uint(contexts[sig_at])), last = state_of(uint(contexts[last_at]));
    uint next_sig = uint(contexts[sig_at + 1u]), next_last = uint(contexts[last_at + 1u]);
    bool more = true;
    [[dont_unroll]] while (more) { /* `more` is known before a bin, not behind it */
        uvec2 second_sig = state_of(next_sig), second_last = state_of(next_last);
        next_sig = uint(contexts[sig_at + 2u]);
        next_last = uint(contexts[last_at + 2u]);
        uint second = bit << 1;
        more = second != stop;
        if (significant(sig, last, sig_at, last_at, bit, mask))
            return mask;
        bit = second;
        if (!more)
            break;
        sig = state_of(next_sig);
        last = state_of(next_last);
        next_sig = uint(contexts[sig_at + 3u]);
        next_last = uint(contexts[last_at + 3u]);
        uint third = bit << 1;
        more = third != stop;
        if (significant(second_sig, second_last, sig_at + 1u, last_at + 1u, bit, mask))
            return mask;
        bit = third;
        sig_at += 2u;
        last_at += 2u;
    }
    return mask | bit;
}

/* The same of 64 coefficients, where some share a context with the one before. */
uvec2 significance_64(uint sig_at, uint last_at)
{
    /* inc: ctxIdxInc, sig, last << 4 */
    uint table = field_pic * 64u, inc = 0u, bit = 1u, after_sig, after_last;
    sig_at += context_base;
    last_at += context_base;
    uvec2 mask = uvec2(0u), sig = state_of(uint(contexts[sig_at])),
          last = state_of(uint(contexts[last_at]));
    [[dont_unroll]] for (uint i = 1u; i < 64u; i++) {
        uint next_inc = uint(table_8x8[table + i]);
        uint next_sig = uint(contexts[sig_at + (next_inc & 15u)]),
             next_last = uint(contexts[last_at + (next_inc >> 4)]);
        uvec2 following_sig = state_of(next_sig), following_last = state_of(next_last);
        engine_ready();
        bool one = decide(sig, after_sig);
        contexts[sig_at + (inc & 15u)] = uint8_t(after_sig);
        if (one) {
            mask.x |= bit;
            one = decide(last, after_last);
            contexts[last_at + (inc >> 4)] = uint8_t(after_last);
            if (one)
                return i > 32u ? mask.yx : mask;
            if (((inc ^ next_inc) & 0xf0u) == 0u)
                following_last = state_of(after_last);
        }
        sig = ((inc ^ next_inc) & 15u) == 0u ? state_of(after_sig) : following_sig;
        last = following_last;
        inc = next_inc;
        bit <<= 1;
        if (bit == 0u) { /* the other half */
            mask = mask.yx;
            bit = 1u;
        }
    }
    return uvec2(mask.y, mask.x | bit);
}

/* coeff_abs_level_minus1 (9.3.3.1.3) beyond its first bin, which was 1; its contexts are from `at`
 * on. */
uint large_level(uint at)
{
    uint state = uint(contexts[at]), level = 1u;
    bool more;
    [[dont_unroll]] do {
        level++;
        uvec2 row = state_of(state);
        engine_ready();
        more = decide(row, state);
    } while (more && level < 14u);
    contexts[at] = uint8_t(state);
    if (more)
        level = 15u + exp_golomb(0u);
    failed = failed || level > 32767u;
    return level;
}

/* Levels of the coefficients in mask, the last one first: that of bit i goes to coeffs[to +
 * scan[scan_at + i]], or, of chroma DC, to chroma_dc[to + i]. abs_at: contexts. */
void levels(uvec2 mask, uint abs_at, uint scan_at, uint to, bool chroma_dc_block)
{
    bool upper = mask.y != 0u;
    uint word = upper ? mask.y : mask.x, rest = upper ? mask.x : 0u,
         first = upper ? scan_at + 32u : scan_at, large = 0u, next;
    /* contexts after a level above 1 and, first, of none above 1 before */
    uint zero_at = context_base + abs_at, at = zero_at + 1u;
    uvec2 row = state_of(uint(contexts[at]));
    [[dont_unroll]] while (word != 0u) {
        [[dont_unroll]] do {
            uint i = uint(findMSB(word)), level = 1u, state_after = uint(contexts[at + 1u]);
            uint place = uint(scan[first + i]);
            bool grows = at - zero_at - 1u < 3u; /* 1 to 3 levels of 1 */
            uvec2 row_after = state_of(state_after);
            word ^= 1u << i;
            engine_ready();
            bool more = decide(row, next);
            contexts[at] = uint8_t(next);
            row = grows ? row_after : state_of(next);
            at = grows ? at + 1u : at;
            if (more) {
                row = state_of(uint(contexts[zero_at]));
                at = zero_at;
                reader_reserve(); /* 140 bits, and what is left of the blocks */
                level = large_level(zero_at + 5u + large);
                large = min(large + 1u, chroma_dc_block ? 3u : 4u);
                engine_ready();
            }
            int signed_level = bypass_ready() ? -int(level) : int(level);
            if (chroma_dc_block)
                chroma_dc[to + i] = int16_t(signed_level);
            else
                coeffs[to + place] = int16_t(signed_level);
        } while (word != 0u);
        word = rest;
        rest = 0u;
        first = scan_at;
    }
}

uint cbf_inc(uint grid, uint bit)
{
    return (grid >> bit - 1u & 1u) | (grid >> bit - 5u & 1u) << 1;
}

/* The DC block of a component. */
uint dc_inc(uint component)
{
    uint flag = EDGE_CBF_DC << component;
    bool intra = kind != REC_MB_INTER; /* where a neighbour is not available */
    bool a = (left_flags & EDGE_AVAILABLE) != 0u ? (left_flags & flag) != 0u : intra;
    bool b = (top_flags & EDGE_AVAILABLE) != 0u ? (top_flags & flag) != 0u : intra;
    return (a ? 1u : 0u) + (b ? 2u : 0u);
}

/* Block k of its kind, with its coded_block_flag where it has one. */
void residual_block(block_kind b, uint k)
{
    uint where = 6u + (k & 1u) + (k >> 1 & 1u) * 5u + (k >> 2 & 1u) * 2u + (k >> 3) * 10u,
         component = b.chroma_dc ? k + 1u : 0u;
    uvec2 mask = uvec2(0u);
    if (b.wide)
        mask = significance_64(b.contexts.y, b.contexts.z);
    else if (bin(b.contexts.x + (b.dc ? dc_inc(component) : cbf_inc(blocks_grid, where))) != 0u)
        mask.x = significance(b.contexts.y, b.contexts.z, b.count);
    if ((mask.x | mask.y) == 0u)
        return;
    uint coeff_block = block_take(b, k);
    levels(mask, b.contexts.w, b.scan_at,
           b.chroma_dc ? chroma_dc_base + k * 4u : (slice.coeff_block_base + coeff_block) * 16u,
           b.chroma_dc);
    block_done(b, k, component, coeff_block);
    if (!b.dc)
        blocks_grid |= (b.wide ? CBF_8X8 : 1u) << where;
}

#endif
