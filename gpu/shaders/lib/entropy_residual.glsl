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
    uint mask = 0u, bit = 1u, stop = 1u << (count - 1u);
    uvec2 sig = contexts[sig_at], last = contexts[last_at];
    while (bit != stop) {
        uvec2 next_sig = contexts[sig_at + 1u], next_last = contexts[last_at + 1u];
        engine_ready();
        bool one = decide(sig);
        contexts[sig_at] = sig;
        if (one) {
            mask |= bit;
            one = decide(last);
            contexts[last_at] = last;
            if (one)
                return mask;
        }
        sig = next_sig;
        last = next_last;
        sig_at++;
        last_at++;
        bit <<= 1;
    }
    return mask | bit;
}

/* The same of 64 coefficients, where some share a context with the one before. */
uvec2 significance_64(uint sig_at, uint last_at)
{
    uvec2 mask = uvec2(0u), sig = contexts[sig_at], last = contexts[last_at];
    uint inc = 0u, bit = 1u; /* inc: ctxIdxInc, sig, last << 8 */
    for (uint i = 1u; i < 64u; i++) {
        uint next_inc = table_8x8[i];
        uvec2 next_sig = contexts[sig_at + (next_inc & 15u)], next_last = contexts[last_at + (next_inc >> 8 & 15u)];
        engine_ready();
        bool one = decide(sig);
        contexts[sig_at + (inc & 15u)] = sig;
        if (one) {
            mask.x |= bit;
            one = decide(last);
            contexts[last_at + (inc >> 8 & 15u)] = last;
            if (one)
                return i > 32u ? mask.yx : mask;
            next_last = ((inc ^ next_inc) & 0xf00u) == 0u ? last : next_last;
        }
        sig = ((inc ^ next_inc) & 15u) == 0u ? sig : next_sig;
        last = next_last;
        inc = next_inc;
        bit <<= 1;
        if (bit == 0u) { /* the other half */
            mask = mask.yx;
            bit = 1u;
        }
    }
    return uvec2(mask.y, mask.x | bit);
}

/* coeff_abs_level_minus1 with its suffix, coeff_sign_flag; context: 0..4, gt1: 5.. are their ctxIdxInc (9.3.3.1.3). */
int coefficient(uint first, inout uint context, inout uint gt1, uint gt1_last)
{
    uint level = 1u;
    if (bin(first + context) != 0u) {
        uvec2 row = contexts[first + gt1];
        bool more;
        do {
            level++;
            engine_ready();
            more = decide(row);
        } while (more && level < 14u);
        contexts[first + gt1] = row;
        level += more ? 1u : 0u;
        if (level == 15u)
            level += exp_golomb(0u);
        gt1 = min(gt1 + 1u, gt1_last);
        context = 0u;
    } else if (context - 1u < 3u) {
        context++;
    }
    return bypass() != 0u ? -int(level) : int(level);
}

/* Where a level goes: offsets in coeffs are those of a unit and the scan, of Intra16x16 DC the first of one of 16 units. */
void store_level(uint cat, uint i, uint at, int level)
{
    if (cat == CAT_CHROMA_DC)
        chroma_dc[at + i] = level;
    else if (cat == CAT_LUMA_DC)
        coeffs[at + (table_4x4[i] >> 8) * 16u] = int16_t(level);
    else if (cat == CAT_LUMA_8X8)
        coeffs[at + (table_8x8[i] >> 16)] = int16_t(level);
    else
        coeffs[at + (table_4x4[i + (cat == CAT_LUMA_4X4 ? 0u : 1u)] & 255u)] = int16_t(level);
}

/* residual_block_cabac (7.3.5.3.3). unit: NONE where one is to be taken; of chroma DC the place in chroma_dc. */
const uint NONE = 0xffffffffu;
bool residual_block(uint cat, uint cbf_inc, uint unit)
{
    uvec4 cx = category[cat];
    bool large = cat == CAT_LUMA_8X8;
    if (!large && bin(cx.x + cbf_inc) == 0u) /* of 8x8 blocks it is inferred to be 1 */
        return false;
    uvec2 mask = uvec2(0u);
    if (large)
        mask = significance_64(cx.y, cx.z);
    else
        mask.x = significance(cx.y, cx.z, cat == CAT_CHROMA_DC ? 4u : (cat == CAT_LUMA_AC || cat == CAT_CHROMA_AC) ? 15u : 16u);
    uint at = unit;
    if (cat != CAT_CHROMA_DC) {
        if (unit == NONE) {
            unit = unit_next;
            unit_next += large ? 4u : cat == CAT_LUMA_DC ? 16u : 1u;
        }
        at = (slice.unit_base + unit) * 16u;
    }
    uint context = 1u, gt1 = 5u, gt1_last = cat == CAT_CHROMA_DC ? 8u : 9u;
    while ((mask.x | mask.y) != 0u) {
        uint i = mask.y != 0u ? 32u + uint(findMSB(mask.y)) : uint(findMSB(mask.x));
        if (i < 32u)
            mask.x ^= 1u << i;
        else
            mask.y ^= 1u << (i - 32u);
        int level = coefficient(cx.w, context, gt1, gt1_last);
        if (level != bitfieldExtract(level, 0, 16))
            failed = true;
        store_level(cat, i, at, level);
    }
    return true;
}

/* coded_block_flag at row y, column x of the component whose bits begin at `first`. */
uint cbf_inc(uint first, uint x, uint y)
{
    return (left_cbf >> (first + y) & 1u) | (top_cbf >> (first + x) & 1u) << 1;
}

void cbf_set(uint first, uint x, uint y, uint n, uint flag)
{
    uint ones = (1u << n) - 1u;
    left_cbf = put_bits(left_cbf, flag * ones, first + y, n);
    top_cbf = put_bits(top_cbf, flag * ones, first + x, n);
}

uint dc_inc(uint component)
{
    uint flag = EDGE_CBF_DC << component;
    bool intra = kind != REC_MB_INTER; /* where a neighbour is not available */
    bool a = (left_flags & EDGE_AVAILABLE) != 0u ? (left_flags & flag) != 0u : intra;
    bool b = (top_flags & EDGE_AVAILABLE) != 0u ? (top_flags & flag) != 0u : intra;
    return (a ? 1u : 0u) + (b ? 2u : 0u);
}

void chroma_dc_store(uint component)
{
    for (uint i = 0u; i < 4u; i++)
        coeffs[(slice.unit_base + unit_next + i) * 16u] = int16_t(chroma_dc[component * 4u + i]);
    unit_next += 4u;
}

/* Blocks in the order of the syntax: 0 Intra16x16 DC, 1.. luma, 17, 18 chroma DC, 19.. chroma AC. */
void residual_blocks()
{
    bool i16 = kind == REC_MB_INTRA_16X16, large = (mb_flags & REC_MB_TRANSFORM_8X8) != 0u;
    uint luma_unit = NONE, chroma_unit = NONE, dc = 0u; /* dc: components that have one */
    for (uint k = i16 ? 0u : 1u; k < 27u && !failed; k++) {
        uint cat, inc, unit, blk = 0u, x = 0u, y = 0u, first = 0u;
        if (k == 0u) {
            cat = CAT_LUMA_DC;
            inc = dc_inc(0u);
            unit = NONE;
            luma_unit = unit_next;
        } else if (k < 17u) {
            blk = k - 1u;
            x = (blk & 1u) | (blk >> 1 & 2u);
            y = (blk >> 1 & 1u) | (blk >> 2 & 2u);
            if ((cbp >> (blk >> 2) & 1u) == 0u) {
                cbf_set(0u, x, y, 2u, 0u);
                k += 3u;
                continue;
            }
            cat = large ? CAT_LUMA_8X8 : i16 ? CAT_LUMA_AC : CAT_LUMA_4X4;
            inc = cbf_inc(0u, x, y);
            unit = luma_unit == NONE ? NONE : luma_unit + blk;
        } else if (k < 19u) {
            if ((cbp & 0x30u) == 0u)
                break;
            cat = CAT_CHROMA_DC;
            inc = dc_inc(k - 16u);
            unit = (k - 17u) * 4u;
        } else {
            if ((blk = k - 19u & 3u) == 0u) { /* a component begins */
                chroma_unit = NONE;
                if ((dc >> (k >= 23u ? 2u : 1u) & 1u) != 0u) {
                    chroma_unit = unit_next;
                    chroma_dc_store(k >= 23u ? 1u : 0u);
                }
            }
            if ((cbp & 0x20u) == 0u) {
                k += 3u;
                continue;
            }
            x = blk & 1u;
            y = blk >> 1;
            first = k >= 23u ? 6u : 4u;
            cat = CAT_CHROMA_AC;
            inc = cbf_inc(first, x, y);
            unit = chroma_unit == NONE ? NONE : chroma_unit + blk;
        }
        if (k == 17u)
            for (uint i = 0u; i < 8u; i++)
                chroma_dc[i] = 0;
        bool got = residual_block(cat, inc, unit);
        if (k == 0u || (k >= 17u && k < 19u)) {
            uint component = k == 0u ? 0u : k - 16u;
            if (got) {
                own_flags |= EDGE_CBF_DC << component;
                dc |= 1u << component;
            }
            if (k == 0u) {
                luma_unit = got ? luma_unit : NONE;
                coded_y = got ? 0xffffu : 0u;
            } else if (got) {
                coded_c |= 0xfu << (component == 2u ? 16u : 0u);
            }
        } else if (k < 17u) {
            cbf_set(0u, x, y, large ? 2u : 1u, got ? 1u : 0u);
            coded_y |= got ? (large ? 15u : 1u) << blk : 0u;
            k += large ? 3u : 0u;
        } else {
            cbf_set(first, x, y, 1u, got ? 1u : 0u);
            coded_c |= got ? 1u << (blk + (k >= 23u ? 16u : 0u)) : 0u;
        }
    }
    if ((cbp & 0x20u) == 0u) { /* no AC of chroma */
        left_cbf &= 0xfu;
        top_cbf &= 0xfu;
    }
    uint swap = (coded_y >> 2 ^ coded_y) & 0x0c0cu; /* bits by blkIdx to bits by raster block */
    nonzero = coded_y ^ swap ^ swap << 2;
}

#endif
