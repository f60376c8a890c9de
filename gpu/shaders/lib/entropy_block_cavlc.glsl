/* SPDX-License-Identifier: BSD-2-Clause
 *
 * residual_block_cavlc (7.3.5.3.2, 9.2), as codec/residual_cavlc_tmpl.c. An 8x8 block is four lists
 * of 16 levels that interleave. An entry of a table is a code's length and value, or 0.
 */
#ifndef PELTON_ENTROPY_BLOCK_CAVLC_GLSL
#define PELTON_ENTROPY_BLOCK_CAVLC_GLSL

/* of ent_tables */
shared uint16_t token_codes[4 * 128];
shared uint8_t token_codes_8[64];
shared uint8_t zeros_codes[15 * 40];
shared uint8_t zeros_codes_420[3 * 16];
shared uint8_t run_codes[7 * 8];
shared int16_t level_of[SHARE * 16]; /* of the block, in the order of the stream */

void fill_coder_tables(uint step)
{
    for (uint i = gl_LocalInvocationIndex; i < 512u; i += step)
        token_codes[i] = tables.coeff_token[i >> 7][i >> 3 & 15u][i & 7u];
    for (uint i = gl_LocalInvocationIndex; i < 64u; i += step)
        token_codes_8[i] = tables.coeff_token_8[i];
    for (uint i = gl_LocalInvocationIndex; i < 600u; i += step)
        zeros_codes[i] = tables.total_zeros[i / 40u][i % 40u >> 2][i & 3u];
    for (uint i = gl_LocalInvocationIndex; i < 48u; i += step)
        zeros_codes_420[i] = tables.total_zeros_420[i >> 4][i >> 2 & 3u][i & 3u];
    for (uint i = gl_LocalInvocationIndex; i < 56u; i += step)
        run_codes[i] = tables.run_before[i >> 3][i & 7u];
}

/* Column of Table 9-5 for nC: 0, 1, 2, or 4 for 8 and more; 3 is chroma DC. */
const uint COLUMN_CHROMA_DC = 3u, COLUMN_8 = 4u;

uint token_column(uint nc)
{
    return nc < 2u ? 0u : nc < 4u ? 1u : nc < 8u ? 2u : COLUMN_8;
}

/* coeff_token: length << 8 | TotalCoeff << 2 | TrailingOnes, or 0. After bits_ready. */
uint coeff_token(uint column)
{
    if (column == COLUMN_8) {
        uint entry = uint(token_codes_8[value >> 26]);
        return entry == 255u ? 0u : 6u << 8 | entry;
    }
    uint zeros = bits_zeros(15u);
    return uint(token_codes[column * 128u + zeros * 8u + (value >> 28u - zeros & 7u)]);
}

/* length << 4 | total_zeros, of `total` levels, fewer than `count`. After bits_ready. */
uint zeros_code(uint total, uint count)
{
    uint zeros = bits_zeros(count == 4u ? 3u : 9u), next = value >> 29u - bits_zeros(9u) & 3u;
    return uint(count == 4u ? zeros_codes_420[(total - 1u) * 16u + zeros * 4u + next]
                            : zeros_codes[(total - 1u) * 40u + zeros * 4u + next]);
}

/* length << 4 | run_before, of zeros_left, more than 0. After bits_ready. */
uint run_code(uint zeros_left)
{
    uint entry = uint(run_codes[(min(zeros_left, 7u) - 1u) * 8u + (value >> 29)]);
    uint zeros = bits_zeros(11u);
    return entry == 0u && zeros <= 10u ? zeros + 1u << 4 | zeros + 4u : entry;
}

/* level_prefix, 25 at most: more than levels of 16 bits need */
uint level_prefix()
{
    bits_ready();
    uint zeros = bits_zeros(16u), more = 0u;
    if (zeros == 16u) {
        bits_skip(16u);
        bits_ready();
        more = bits_zeros(16u);
        failed = failed || more > 9u;
        more = min(more, 9u);
        bits_skip(more + 1u);
    } else {
        bits_skip(zeros + 1u);
    }
    return zeros + more;
}

/* Levels after the trailing ones (9.2.2.1), `total` in all */
void read_levels(uint ones, uint total)
{
    uint suffix_length = total > 10u && ones < 3u ? 1u : 0u;
    [[dont_unroll]] for (uint i = ones; i < total; i++) {
        uint prefix = level_prefix(), size = suffix_length;
        if (prefix >= 15u)
            size = prefix - 3u;
        else if (prefix == 14u && suffix_length == 0u)
            size = 4u;
        uint code = min(prefix, 15u) << suffix_length;
        if (size > 16u)
            code += bits_read(size - 16u) << 16;
        code += bits_read(min(size, 16u));
        code += prefix >= 15u && suffix_length == 0u ? 15u : 0u;
        code += prefix >= 16u ? (1u << prefix - 3u) - 4096u : 0u;
        code += i == ones && ones < 3u ? 2u : 0u;
        int level = (code & 1u) != 0u ? -int(code + 1u >> 1) : int(code + 2u >> 1);
        failed = failed || level != bitfieldExtract(level, 0, 16);
        level_of[member * 16u + i] = int16_t(level);
        bool grows = suffix_length < 6u && (code >> 1) + 1u > 3u << max(suffix_length, 1u) - 1u;
        suffix_length = max(suffix_length, 1u) + (grows ? 1u : 0u);
    }
}

/* Levels into coeffs[to + scan[..]], or chroma_dc; list: which of an 8x8 block. token is not 0. */
void block_levels(block_kind b, uint token, uint to, uint list)
{
    uint ones = token & 3u, total = token >> 2 & 31u, zeros = 0u, entry;
    [[dont_unroll]] for (uint i = 0u; i < ones; i++)
        level_of[member * 16u + i] = bits_read(1u) != 0u ? int16_t(-1) : int16_t(1);
    read_levels(ones, total);
    bits_ready();
    if (total < b.count) {
        entry = zeros_code(total, b.count);
        zeros = entry & 15u;
        bits_skip(entry >> 4);
        failed = failed || entry == 0u || total + zeros > b.count;
        zeros = min(zeros, b.count - total);
    }
    uint at = total + zeros - 1u;
    [[dont_unroll]] for (uint i = 0u;; at--) {
        if (b.chroma_dc)
            chroma_dc[to + at] = level_of[member * 16u + i];
        else
            coeffs[to + uint(scan[b.scan_at + (b.wide ? at * 4u + list : at)])] =
                level_of[member * 16u + i];
        if (++i == total)
            break;
        if (zeros != 0u) {
            bits_ready();
            entry = run_code(zeros);
            bits_skip(entry >> 4);
            failed = failed || entry == 0u || (entry & 15u) > zeros;
            uint run = min(entry & 15u, zeros);
            zeros -= run;
            at -= run;
        }
    }
}

/* Block k of its kind. */
void residual_block(block_kind b, uint k)
{
    uint x = (k & 1u) | (k >> 1 & 2u), y = (k >> 1 & 1u) | (k >> 2 & 2u),
         component = b.chroma_dc ? k + 1u : 0u, column = COLUMN_CHROMA_DC;
    bool chroma = b.begin >= STEP_CB;
    uint column_at = 8u * x + (b.begin == STEP_CR ? 16u : 0u), row_at = column_at + 8u * (y - x);
    if (!b.chroma_dc) { /* nC (9.2.1) */
        uint a = get_bits(chroma ? left_total.y : left_total.x, row_at, 8u),
             above = get_bits(chroma ? top_total.y : top_total.x, column_at, 8u);
        bool both = (x != 0u || (left_flags & EDGE_AVAILABLE) != 0u) &&
                    (y != 0u || (top_flags & EDGE_AVAILABLE) != 0u);
        column = token_column(both ? a + above + 1u >> 1 : a + above);
    }
    if (b.wide && (k & 3u) == 0u)
        blocks_base = NONE;
    bits_ready();
    uint token = coeff_token(column), total = token >> 2 & 31u;
    bits_skip(token >> 8);
    if (token == 0u || total > b.count) {
        failed = true;
        total = 0u;
    }
    if (chroma) {
        left_total.y = put_bits(left_total.y, total, row_at, 8u);
        top_total.y = put_bits(top_total.y, total, column_at, 8u);
    } else if (b.luma) {
        left_total.x = put_bits(left_total.x, total, row_at, 8u);
        top_total.x = put_bits(top_total.x, total, column_at, 8u);
    }
    if (total == 0u)
        return;
    uint coeff_block = block_take(b, k);
    block_levels(b, token,
                 b.chroma_dc ? chroma_dc_base + k * 4u
                             : (slice.coeff_block_base + coeff_block) * 16u,
                 k & 3u);
    block_done(b, k, component, coeff_block);
}

#endif
