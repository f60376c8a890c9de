/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Codes of a block: scan_block of jpeg/jpeg_encode.c. The same walk counts bits and puts them.
 */
#ifndef PELTON_JPEG_BLOCK_CODE_GLSL
#define PELTON_JPEG_BLOCK_CODE_GLSL

layout(set = 0, binding = JPEG_BIND_LEVELS, scalar) readonly buffer level_buffer
{
    uint levels[];
};
layout(set = 0, binding = JPEG_BIND_MASKS, scalar) readonly buffer mask_buffer
{
    uint masks[];
};

shared uint dc_codes[2 * 16], ac_codes[2 * 256];

void codes_load()
{
    for (uint i = gl_LocalInvocationIndex; i < 512u; i += gl_WorkGroupSize.x) {
        ac_codes[i] = tables.ac[i / 256u][i % 256u];
        if (i < 32u)
            dc_codes[i] = tables.dc[i / 16u][i % 16u];
    }
    barrier();
}

int level_of(uint block, uint k)
{
    uint word = levels[block * JPEG_BLOCK_WORDS + k / 2u];
    return bitfieldExtract(int(word), int(k % 2u) * 16, 16);
}

uint category_of(int v)
{
    return uint(findMSB(uint(abs(v))) + 1);
}

/* A code, and the bits of the value behind it. Returns their number. */
uint code_put(uint code, int v, uint bits, bool put)
{
    uint low = uint(v < 0 ? v - 1 : v) & (1u << bits) - 1u;
    if (put)
        bits_put((code >> 16) + bits, (code & 0xffffu) << bits | low);
    return (code >> 16) + bits;
}

/* The bits of a block; they are put at bits_at if that is wanted. */
uint block_code(uint block, int dc, uint table, bool put)
{
    uint first = table * 256u, after = 1u, category = category_of(dc);
    uint sum = code_put(dc_codes[table * 16u + category], dc, category, put);
    for (uint part = 0u; part < 2u; part++)
        for (uint left = masks[2u * block + part] & (part == 0u ? ~1u : ~0u); left != 0u;
             left &= left - 1u) {
            uint k = 32u * part + uint(findLSB(left)), run = k - after;
            int level = level_of(block, k);
            for (; run > 15u; run -= 16u)
                sum += code_put(ac_codes[first + 0xf0u], 0, 0u, put);
            category = category_of(level);
            sum += code_put(ac_codes[first + (run << 4 | category)], level, category, put);
            after = k + 1u;
        }
    if (after < 64u)
        sum += code_put(ac_codes[first], 0, 0u, put);
    return sum;
}

#endif
