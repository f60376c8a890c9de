/* SPDX-License-Identifier: BSD-2-Clause
 *
 * residual_block_cavlc() (9.2), as encode/cavlc_writer.c. The including shader has put(n, code).
 */
#ifndef PELTON_ENCODE_CAVLC_BLOCK_GLSL
#define PELTON_ENCODE_CAVLC_BLOCK_GLSL

/* TotalCoeff of a block of the selected component; x or y may be -1: of A or B */
uint total_at(int x, int y)
{
    uint from = x < 0 ? at_a : y < 0 ? at_b : at;
    if (block_component > 0u)
        return uint(syntax[from].total[12u + 4u * block_component + uint(2 * (y & 1) + (x & 1))]);
    return uint(syntax[from].total[block_at(x & 3, y & 3)]);
}

/* nC (9.2.1) */
uint nc_of()
{
    uint i = block_index;
    int x = int(i & 1u | (block_component == 0u ? i >> 1 & 2u : 0u));
    int y = int(i >> 1 & 1u | (block_component == 0u ? i >> 2 & 2u : 0u));
    bool a = x > 0 || has_a, b = y > 0 || has_b;
    uint sum = (a ? total_at(x - 1, y) : 0u) + (b ? total_at(x, y - 1) : 0u);
    return a && b ? (sum + 1u) >> 1 : sum;
}

void put_code(uint code)
{
    put(code >> 16, code & 0xffffu);
}

/* level_prefix, its one, and level_suffix (9.2.2.1) */
void put_level(uint code, uint suffix_length)
{
    uint prefix = 15u;
    if (code >> suffix_length < (suffix_length > 0u ? 15u : 14u)) {
        put((code >> suffix_length) + 1u, 1u);
        put(suffix_length, code & (1u << suffix_length) - 1u);
        return;
    }
    if (suffix_length == 0u && code < 30u) {
        put(19u, 16u | code - 14u);
        return;
    }
    code -= suffix_length > 0u ? 15u << suffix_length : 30u;
    /* each prefix begins where the suffixes of the one before end */
    while (code >= 4096u && code + 4096u >= 2u << (prefix - 3u))
        prefix++;
    if (prefix > 15u)
        code -= (1u << (prefix - 3u)) - 4096u;
    put(prefix + 1u, 1u);
    put(prefix - 3u, code);
}

void put_levels(uint left, uint suffix_length, bool less)
{
    while (left != 0u) {
        uint i = uint(findMSB(left));
        int level = level_of(i);
        uint magnitude = uint(abs(level)), code = 2u * magnitude - 2u + (level < 0 ? 1u : 0u);
        put_level(less ? code - 2u : code, suffix_length);
        less = false;
        suffix_length = max(suffix_length, 1u);
        if (magnitude > 3u << (suffix_length - 1u) && suffix_length < 6u)
            suffix_length++;
        left ^= 1u << i;
    }
}

/* total_zeros and run_before (9.2.3) */
void put_runs(uint left)
{
    uint total = uint(bitCount(left)), last = uint(findMSB(left)), zeros = last + 1u - total;
    if (total < block_count)
        put_code(codes.total_zeros[block_count == 4u ? 1 : 0][total - 1u][zeros]);
    while (zeros > 0u && (left & left - 1u) != 0u) {
        left ^= 1u << last;
        uint next = uint(findMSB(left)), run = last - next - 1u;
        put_code(codes.run_before[min(zeros, 7u) - 1u][run]);
        zeros -= run;
        last = next;
    }
}

/* The block that is selected */
void put_block()
{
    uint places = block_places(0u), left = places, ones = 0u, signs = 0u;
    uint nc = block_count == 4u ? ENC_NC_CHROMA_DC : nc_of(), total = uint(bitCount(places));
    while (left != 0u && ones < 3u) {
        uint i = uint(findMSB(left));
        int level = level_of(i);
        if (abs(level) != 1)
            break;
        signs = signs << 1 | (level < 0 ? 1u : 0u);
        ones++;
        left ^= 1u << i;
    }
    put_code(codes.coeff_token[codes.nc_class[nc]][total][ones]);
    if (total == 0u)
        return;
    put(ones, signs);
    put_levels(left, total > 10u && ones < 3u ? 1u : 0u, ones < 3u);
    put_runs(places);
}

#endif
