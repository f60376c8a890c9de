/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Huffman codes of a row of MCUs, and how many bytes they are in the file. A thread has a block.
 * Grid: rows of MCUs in x, pictures in z.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/jpeg_common.glsl"

#define SUM_THREADS 256

layout(local_size_x = SUM_THREADS) in;

layout(set = 0, binding = JPEG_BIND_CODES, scalar) coherent buffer code_buffer
{
    uint codes[];
};
layout(set = 0, binding = JPEG_BIND_ROWS, scalar) writeonly buffer row_buffer
{
    jpeg_row rows[];
};

uint row_word; /* the row's first word */

#define BIT_OR(word, bits) atomicOr(codes[row_word + (word)], bits)
#include "gpu/shaders/lib/bit_string.glsl"
#include "gpu/shaders/lib/jpeg_block_code.glsl"
#include "gpu/shaders/lib/sums_before.glsl"

shared uint stuffed;

/* The level of DC less that of the block before, of the same component. block: in the row */
int dc_of(uint first, uint block, uint part)
{
    uint luma = JOB.sampling[0] * JOB.sampling[1], back = JOB.mcu_blocks;
    if (part > 0u && part < luma)
        back = 1u;
    else if (part == 0u)
        back -= luma - 1u;
    int dc = level_of(first + block, 0u);
    return back > block ? dc : dc - level_of(first + block - back, 0u);
}

/* Words that bits [from, to) begin become 0. */
void words_clear(uint from, uint to)
{
    for (uint w = (from + 31u) / 32u + gl_LocalInvocationIndex; 32u * w < to; w += SUM_THREADS)
        codes[row_word + w] = 0u;
    memoryBarrierBuffer();
    barrier();
}

/* Bytes 0xff of the row's bits */
void stuffed_count(uint bits)
{
    uint sum = 0u;
    memoryBarrierBuffer();
    barrier();
    for (uint w = gl_LocalInvocationIndex; 32u * w < bits; w += SUM_THREADS)
        for (uint word = codes[row_word + w], i = 0u; i < 4u; i++)
            sum += (word >> 8u * i & 0xffu) == 0xffu ? 1u : 0u;
    atomicAdd(stuffed, sum);
    barrier();
}

void main()
{
    uint t = gl_LocalInvocationIndex, row = gl_WorkGroupID.x, at = 0u, total;
    if (row >= JOB.mcus[1])
        return;
    uint count = JOB.mcus[0] * JOB.mcu_blocks, first = JOB.first_block + row * count;
    row_word = JOB.first_code + row * count * JPEG_CODE_WORDS;
    codes_load();
    if (t == 0u)
        stuffed = 0u;
    for (uint base = 0u; base < count; base += SUM_THREADS) {
        uint block = base + t, part = block % JOB.mcu_blocks;
        uint table = part < JOB.sampling[0] * JOB.sampling[1] ? 0u : 1u;
        int dc = block < count ? dc_of(first, block, part) : 0;
        uint bits = block < count ? block_code(first + block, dc, table, false) : 0u;
        uint begin = at + sums_before(bits, total);
        words_clear(at, at + total);
        bits_begin(begin);
        if (block < count)
            block_code(first + block, dc, table, true);
        bits_end();
        at += total;
    }
    if (t == 0u && at % 8u != 0u) { /* ones up to the end of a byte */
        bits_begin(at);
        bits_put(8u - at % 8u, (1u << 8u - at % 8u) - 1u);
        bits_end();
    }
    stuffed_count(at);
    if (t == 0u)
        rows[JOB.first_row + row] = jpeg_row((at + 7u) / 8u, stuffed);
}
