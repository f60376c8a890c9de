/* SPDX-License-Identifier: BSD-2-Clause
 *
 * residual() (7.3.5.3): blocks of coefficients into units. Contexts are loaded before the bin is decided that leads to them.
 */
#ifndef PELTON_ENTROPY_RESIDUAL_GLSL
#define PELTON_ENTROPY_RESIDUAL_GLSL

const uint CAT_LUMA_DC = 0u, CAT_LUMA_AC = 1u, CAT_LUMA_4X4 = 2u, CAT_CHROMA_DC = 3u, CAT_CHROMA_AC = 4u, CAT_LUMA_8X8 = 5u;

/* significant_coeff_flag and last_significant_coeff_flag (9.3.3.1.3) of a block of `count` coefficients, 16 at most: those that are
 * not 0, as bits. */
uint significance(uint sig_at, uint last_at, uint count)
{
    uint mask = 0u, bit = 1u, stop = 1u << (count - 1u), next;
    sig_at += context_base;
    last_at += context_base;
    uvec2 sig = states[uint(contexts[sig_at])], last = states[uint(contexts[last_at])];
    uint next_sig = uint(contexts[sig_at + 1u]), next_last = uint(contexts[last_at + 1u]);
    while (bit != stop) {
        uvec2 following_sig = states[next_sig], following_last = states[next_last];
        next_sig = uint(contexts[sig_at + 2u]);
        next_last = uint(contexts[last_at + 2u]);
        engine_ready();
        bool one = decide(sig, next);
        contexts[sig_at] = uint8_t(next);
        if (one) {
            mask |= bit;
            one = decide(last, next);
            contexts[last_at] = uint8_t(next);
            if (one)
                return mask;
        }
        sig = following_sig;
        last = following_last;
        sig_at++;
        last_at++;
        bit <<= 1;
    }
    return mask | bit;
}

/* The same of 64 coefficients, where some share a context with the one before. */
uvec2 significance_64(uint sig_at, uint last_at)
{
    uint table = field_pic * 64u, inc = 0u, bit = 1u, after_sig, after_last; /* inc: ctxIdxInc, sig, last << 4 */
    sig_at += context_base;
    last_at += context_base;
    uvec2 mask = uvec2(0u), sig = states[uint(contexts[sig_at])], last = states[uint(contexts[last_at])];
    for (uint i = 1u; i < 64u; i++) {
        uint next_inc = uint(table_8x8[table + i]);
        uint next_sig = uint(contexts[sig_at + (next_inc & 15u)]), next_last = uint(contexts[last_at + (next_inc >> 4)]);
        uvec2 following_sig = states[next_sig], following_last = states[next_last];
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
                following_last = states[after_last];
        }
        sig = ((inc ^ next_inc) & 15u) == 0u ? states[after_sig] : following_sig;
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

/* coeff_abs_level_minus1 (9.3.3.1.3) beyond its first bin, which was 1; its contexts are from `at` on. */
uint large_level(uint at)
{
    uint state = uint(contexts[context_base + at]), level = 1u;
    bool more;
    do {
        level++;
        engine_ready();
        more = decide(states[state], state);
    } while (more && level < 14u);
    contexts[context_base + at] = uint8_t(state);
    if (more)
        level = 15u + exp_golomb(0u);
    failed = failed || level > 32767u;
    return level;
}

/* Levels of the coefficients in mask, last one first: that of bit i goes to coeffs[to + scan[scan_at + i]], or, of chroma DC, to
 * chroma_dc[to + i]. abs_at: contexts. */
void levels(uint mask, uint abs_at, uint scan_at, uint to, bool chroma_dc_block, inout uint context, inout uint large)
{
    while (mask != 0u) {
        uint i = uint(findMSB(mask)), at = context_base + abs_at + context, level = 1u, next;
        uvec2 row = states[uint(contexts[at])];
        mask ^= 1u << i;
        engine_ready();
        bool more = decide(row, next);
        contexts[at] = uint8_t(next);
        if (more) {
            level = large_level(abs_at + 5u + large);
            large = min(large + 1u, chroma_dc_block ? 3u : 4u);
            context = 0u;
            engine_ready();
        } else if (context - 1u < 3u) {
            context++;
        }
        int signed_level = bypass_ready() ? -int(level) : int(level);
        if (chroma_dc_block)
            chroma_dc[chroma_dc_base + to + i] = int16_t(signed_level);
        else
            coeffs[to + uint(scan[scan_at + i])] = int16_t(signed_level);
    }
}

/* residual_block_cabac (7.3.5.3.3) of 16 coefficients at most, with its coded_block_flag. unit: NONE where one is to be taken; `units`
 * are taken then. */
const uint NONE = 0xffffffffu;
bool residual_block(uvec4 cx, uint cbf_inc, uint count, uint scan_at, uint unit, uint units)
{
    if (bin(cx.x + cbf_inc) == 0u)
        return false;
    uint mask = significance(cx.y, cx.z, count), context = 1u, large = 0u;
    if (unit == NONE) {
        unit = unit_next;
        unit_next += units;
    }
    levels(mask, cx.w, scan_at, (slice.unit_base + unit) * 16u, false, context, large);
    return true;
}

/* coded_block_flag in 25 bits: a grid of 4x4 blocks with a border to the left and above, A is the bit before, B the fifth bit before. */
const uint CBF_LEFT = 0x00108420u, CBF_ALL = 0x01ffffffu;

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

/* Luma with the 8x8 transform: coded_block_flag is inferred to be 1. */
void luma_8x8()
{
    uvec4 cx = category_of(5u);
    uint grid = 0u, first = field_pic * SCANS + SCAN_8X8;
    for (uint q = 0u; q < 4u; q++) {
        if ((cbp >> q & 1u) == 0u)
            continue;
        uvec2 mask = significance_64(cx.y, cx.z);
        uint context = 1u, large = 0u, to = (slice.unit_base + unit_next) * 16u;
        unit_next += 4u;
        for (uint half_ = 0u; half_ < 2u; half_++)
            levels(half_ == 0u ? mask.y : mask.x, cx.w, half_ == 0u ? first + 32u : first, to, false, context, large);
        grid |= 0x63u << 6u + (q & 1u) * 2u + (q >> 1) * 10u;
        coded_y |= 15u << 4u * q;
    }
    left_cbf[0] = grid;
}

/* Luma in 4x4 blocks, of Intra_16x16 with a DC block before. */
void luma_4x4(bool i16)
{
    uint grid = (left_cbf[0] >> 4 & CBF_LEFT) | (top_cbf & 15u) << 1, base = NONE, count = 16u;
    uint scan_at = field_pic * SCANS + SCAN_4X4;
    uvec4 cx = category_of(i16 ? 1u : 2u);
    if (i16) {
        uint first = unit_next;
        if (residual_block(category_of(0u), dc_inc(0u), 16u, field_pic * SCANS + SCAN_LUMA_DC, NONE, 16u)) {
            base = first;
            own_flags |= EDGE_CBF_DC;
            coded_y = 0xffffu;
        }
        count = 15u;
        scan_at++;
    }
    for (uint q = 0u; q < 4u; q++) {
        if ((cbp >> q & 1u) == 0u)
            continue;
        uint first = 6u + (q & 1u) * 2u + (q >> 1) * 10u;
        for (uint k = 0u; k < 4u; k++) {
            uint bit = first + (k & 1u) + (k >> 1) * 5u, blk = q * 4u + k;
            if (residual_block(cx, cbf_inc(grid, bit), count, scan_at, base == NONE ? NONE : base + blk, 1u)) {
                grid |= 1u << bit;
                coded_y |= 1u << blk;
            }
        }
    }
    left_cbf[0] = grid;
}

/* DC of both components comes before the AC of both. Returns which have one. */
uint chroma_dc_blocks()
{
    uvec4 cx = category_of(3u);
    uint got = 0u;
    for (uint i = 0u; i < 8u; i++)
        chroma_dc[chroma_dc_base + i] = int16_t(0);
    for (uint c = 0u; c < 2u; c++) {
        if (bin(cx.x + dc_inc(c + 1u)) == 0u)
            continue;
        uint mask = significance(cx.y, cx.z, 4u), context = 1u, large = 0u;
        levels(mask, cx.w, 0u, c * 4u, true, context, large);
        own_flags |= EDGE_CBF_DC << c + 1u;
        got |= 1u << c;
    }
    return got;
}

void chroma()
{
    uint dc = chroma_dc_blocks();
    uvec4 cx = category_of(4u);
    for (uint c = 0u; c < 2u; c++) {
        uint grid = (left_cbf[c + 1u] >> 2 & CBF_LEFT) | (top_cbf >> 4u + 2u * c & 3u) << 1, base = NONE, coded = 0u;
        if ((dc >> c & 1u) != 0u) {
            base = unit_next;
            unit_next += 4u;
            coded = 15u;
            for (uint i = 0u; i < 4u; i++)
                coeffs[(slice.unit_base + base + i) * 16u] = chroma_dc[chroma_dc_base + c * 4u + i];
        }
        if ((cbp & 0x20u) != 0u) {
            for (uint k = 0u; k < 4u; k++) {
                uint bit = 6u + (k & 1u) + (k >> 1) * 5u;
                if (residual_block(cx, cbf_inc(grid, bit), 15u, field_pic * SCANS + SCAN_4X4 + 1u, base == NONE ? NONE : base + k, 1u)) {
                    grid |= 1u << bit;
                    coded |= 1u << k;
                }
            }
            left_cbf[c + 1u] = grid;
        }
        coded_c |= coded << 16u * c;
    }
}

/* residual(); the grids of what is not coded are empty afterwards. */
void residual_blocks()
{
    if ((mb_flags & REC_MB_TRANSFORM_8X8) != 0u)
        luma_8x8();
    else
        luma_4x4(kind == REC_MB_INTRA_16X16);
    uint swap = (coded_y >> 2 ^ coded_y) & 0x0c0cu; /* bits by blkIdx to bits by raster block */
    nonzero = coded_y ^ swap ^ swap << 2;
    if ((cbp & 0x30u) != 0u)
        chroma();
    if ((cbp & 0x20u) == 0u)
        left_cbf[1] = left_cbf[2] = 0u;
    top_cbf = (left_cbf[0] >> 21 & 15u) | (left_cbf[1] >> 11 & 3u) << 4 | (left_cbf[2] >> 11 & 3u) << 6;
}

#endif
