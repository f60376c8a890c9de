/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A row's bytes to their place in the scan: behind those of the rows before, with a byte 0 after
 * each 0xff (B.1.1.5), then RSTm, or EOI after the last row. Bytes beyond the room of a file are
 * counted, not written. Grid: rows of MCUs in x, pictures in z.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/jpeg_common.glsl"

#define SUM_THREADS 256

layout(local_size_x = SUM_THREADS) in;

layout(set = 0, binding = JPEG_BIND_CODES, scalar) readonly buffer code_buffer
{
    uint codes[];
};
layout(set = 0, binding = JPEG_BIND_ROWS, scalar) readonly buffer row_buffer
{
    jpeg_row rows[];
};
layout(set = 0, binding = JPEG_BIND_FILES, scalar) writeonly buffer file_buffer
{
    uint8_t files[];
};
layout(set = 0, binding = JPEG_BIND_TOTALS, scalar) writeonly buffer total_buffer
{
    uint totals[];
};

#include "gpu/shaders/lib/sums_before.glsl"

void file_put(uint at, uint byte)
{
    if (at < JOB.file_room)
        files[JOB.file + at] = uint8_t(byte);
}

/* Bytes of all rows before */
uint row_begin(uint row)
{
    uint sum = 0u, total;
    for (uint i = gl_LocalInvocationIndex; i < row; i += SUM_THREADS) {
        jpeg_row r = rows[JOB.first_row + i];
        sum += r.bytes + r.stuffed + JPEG_MARKER;
    }
    sums_before(sum, total);
    return total;
}

uint stuffed_in(uint word, uint bytes)
{
    uint sum = 0u;
    [[unroll]] for (uint i = 0u; i < 4u; i++)
        sum += i < bytes && (word >> 8u * i & 0xffu) == 0xffu ? 1u : 0u;
    return sum;
}

void word_put(uint at, uint word, uint bytes)
{
    [[unroll]] for (uint i = 0u; i < 4u; i++) {
        uint byte = word >> 8u * i & 0xffu;
        if (i < bytes) {
            file_put(at++, byte);
            if (byte == 0xffu)
                file_put(at++, 0u);
        }
    }
}

void main()
{
    uint t = gl_LocalInvocationIndex, row = gl_WorkGroupID.x, total;
    if (row >= JOB.mcus[1])
        return;
    uint at = row_begin(row), bytes = rows[JOB.first_row + row].bytes;
    uint first = JOB.first_code + row * JOB.mcus[0] * JOB.mcu_blocks * JPEG_CODE_WORDS;
    for (uint base = 0u; base < bytes; base += 4u * SUM_THREADS) {
        uint from = base + 4u * t, here = from < bytes ? min(bytes - from, 4u) : 0u;
        uint word = here > 0u ? codes[first + from / 4u] : 0u;
        word_put(at + sums_before(here + stuffed_in(word, here), total), word, here);
        at += total;
    }
    bool last = row + 1u == JOB.mcus[1];
    if (t == 0u) {
        file_put(at, 0xffu);
        file_put(at + 1u, last ? 0xd9u : 0xd0u + row % 8u);
        if (last)
            totals[PICTURE] = at + JPEG_MARKER;
    }
}
