/* SPDX-License-Identifier: BSD-2-Clause
 *
 * coded_block_flag and residual_block_cabac() in bins (7.3.5.3.3, 9.3.3.1.3), as
 * encode/bin_elements.c and encode/mb_residual.c. The including shader has put(code), and
 * codes_at, the place of the next code.
 */
#ifndef PELTON_ENCODE_BINS_BLOCK_GLSL
#define PELTON_ENCODE_BINS_BLOCK_GLSL

/* ctxBlockCat */
#define DC_16X16  0u
#define AC_16X16  1u
#define LUMA_4X4  2u
#define CHROMA_DC 3u
#define CHROMA_AC 4u
#define LUMA_8X8  5u

uint category_of(uint part)
{
    bool i16 = uint(mbs[at].kind) == REC_MB_INTRA_16X16;
    return part == ENC_PART_LUMA_DC    ? DC_16X16
           : part < ENC_PART_CHROMA_DC ? (i16        ? AC_16X16
                                          : is_big() ? LUMA_8X8
                                                     : LUMA_4X4)
           : part < ENC_PART_CHROMA    ? CHROMA_DC
                                       : CHROMA_AC;
}

/* ---- coded_block_flag (9.3.3.1.1.9) ---- */

/* Of a block of the selected component at (x, y) blocks; x or y may be -1: of A or B */
bool coded_at(int x, int y)
{
    uint from = x < 0 ? at_a : y < 0 ? at_b : at;
    if ((x < 0 && !has_a) || (y < 0 && !has_b))
        return is_intra(at);
    if (block_component > 0u)
        return uint(syntax[from].total[12u + 4u * block_component + uint(2 * (y & 1) + (x & 1))]) >
               0u;
    uint blk = block_at(x & 3, y & 3);
    return has_big(from) ? (uint(syntax[from].cbp) >> blk / 4u & 1u) != 0u
                         : uint(syntax[from].total[blk]) > 0u;
}

bool dc_coded(bool there, uint record)
{
    return there ? (uint(syntax[record].dc) >> block_component & 1u) != 0u : is_intra(at);
}

void put_coded_flag(uint category, bool coded)
{
    uint i = block_index;
    int x = int(i & 1u | (block_component == 0u ? i >> 1 & 2u : 0u));
    int y = int(i >> 1 & 1u | (block_component == 0u ? i >> 2 & 2u : 0u));
    bool dc = category == DC_16X16 || category == CHROMA_DC;
    bool a = dc ? dc_coded(has_a, at_a) : coded_at(x - 1, y);
    bool b = dc ? dc_coded(has_b, at_b) : coded_at(x, y - 1);
    put_bin(codes.cbf_base[category] + (a ? 1u : 0u) + (b ? 2u : 0u), coded);
}

/* ---- levels ---- */

/* ctxIdxInc of the maps at place i */
uint map_increment(uint category, uint i, bool last)
{
    if (category == LUMA_8X8)
        return last ? codes.last_8x8[i] : codes.sig_8x8[i];
    return category == CHROMA_DC ? min(i, 2u) : i;
}

uint last_place(uvec2 places)
{
    return places.y != 0u ? 32u + uint(findMSB(places.y)) : uint(findMSB(places.x));
}

void put_maps(uint category, uvec2 places)
{
    uint sig = codes.sig_base[category], ends = codes.last_base[category];
    uint last = last_place(places), n = uint(bitCount(places.x) + bitCount(places.y));
    if (WRITE == 0u) { /* a code a place, and another one a level, but for the block's last place */
        codes_at += last + 1u < block_count ? last + 1u + n : last + n - 1u;
        return;
    }
    for (uint i = 0u; i <= last && i + 1u < block_count; i++) {
        bool here = ((i < 32u ? places.x >> i : places.y >> i - 32u) & 1u) != 0u;
        put_bin(sig + map_increment(category, i, false), here);
        if (here)
            put_bin(ends + map_increment(category, i, true), i == last);
    }
}

/* coeff_abs_level_minus1 and coeff_sign_flag of a level that is not 1 or -1 */
void put_larger(uint ctx, int level)
{
    uint rest = uint(abs(level)) - 1u;
    for (uint k = 1u; k < min(rest, 14u); k++)
        put_bin(ctx, true);
    if (rest < 14u) {
        put_signed(ctx, false, level < 0);
        return;
    }
    put_exp_golomb(0u, rest - 14u);
    put_bypass(1u, level < 0 ? 1u : 0u);
}

/* Levels that are not 0, the last one first */
void put_levels(uint category, uvec2 places)
{
    uint base = codes.abs_base[category], ones = 0u, larger = 0u;
    uint most = category == CHROMA_DC ? 3u : 4u;
    while ((places.x | places.y) != 0u) {
        uint i = last_place(places);
        int level = level_of(i);
        uint first = base + (larger > 0u ? 0u : min(ones + 1u, 4u));
        if (abs(level) == 1) {
            put_signed(first, false, level < 0);
            ones++;
        } else {
            put_bin(first, true);
            put_larger(base + 5u + min(larger, most), level);
            larger++;
        }
        if (i < 32u)
            places.x ^= 1u << i;
        else
            places.y ^= 1u << i - 32u;
    }
}

/* part: ENC_PART_* of a block */
void put_block(uint part)
{
    uint category = category_of(part);
    block_select(part);
    if (category == LUMA_8X8) { /* whole */
        block_count = 64u;
        order_step = 1u;
    }
    uvec2 places = uvec2(block_places(0u), block_count > 32u ? block_places(32u) : 0u);
    bool coded = (places.x | places.y) != 0u;
    if (category != LUMA_8X8) /* else it is inferred */
        put_coded_flag(category, coded);
    if (coded) {
        put_maps(category, places);
        put_levels(category, places);
    }
}

#endif
