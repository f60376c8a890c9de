/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Blocks of 16 x 16 samples that wait for each other as macroblocks do, with little work in each. MODE 0, like intra prediction: samples
 * are predicted from the row above, the column to the left and the row of the block above right. MODE 1, like the deblocking filter: the
 * left and the upper edge are smoothed in place, three samples to either side. ORDER 0: a dispatch does a diagonal x + 2 y. ORDER 1: a
 * workgroup takes a row, in the order of tickets, and waits for the row above. ORDER 2: the input is moved to the output.
 *
 * PATIENT: see lib/tickets.glsl.
 */
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#include "gpu/shaders/lib/bench_args.h"

layout(constant_id = 0) const uint MODE = 0;
layout(constant_id = 1) const uint ORDER = 0;
layout(local_size_x = 64) in;

layout(set = 0, binding = BENCH_BIND_INPUT, std430) readonly buffer Input { uint8_t samples_in[]; };
layout(set = 0, binding = BENCH_BIND_OUTPUT, std430) coherent buffer Output { uint8_t samples[]; };
layout(set = 0, binding = BENCH_BIND_INPUT, std430) readonly buffer InQuads { uvec4 quads_in[]; };
layout(set = 0, binding = BENCH_BIND_OUTPUT, std430) writeonly buffer OutQuads { uvec4 quads[]; };
layout(set = 0, binding = BENCH_BIND_SCRATCH, std430) coherent buffer Scratch { uint ticket, unused[15], done[]; };

shared uint taken;

uint at(uint picture, uint x, uint y)
{
    return (picture * push.height + y) * push.width + x;
}

int filtered(uint i)
{
    return int(samples[i]);
}

void predict(uint picture, uint bx, uint by)
{
    uint last = push.width / 16 - 1;
    for (uint k = gl_LocalInvocationIndex; k < 256; k += 64) {
        uint x = k % 16, y = k / 16, px = bx * 16 + x, py = by * 16 + y;
        int above = by > 0 ? filtered(at(picture, px, by * 16 - 1)) : 128;
        int left = bx > 0 ? filtered(at(picture, bx * 16 - 1, py)) : 128;
        int right = by > 0 && bx < last ? filtered(at(picture, px + 16, by * 16 - 1)) : above;
        samples[at(picture, px, py)] = uint8_t((2 * above + left + right + 2 >> 2) + int(samples_in[at(picture, px, py)]) & 255);
    }
}

void smooth_line(uint first, uint stride)
{
    int p[6];
    for (uint i = 0; i < 6; i++)
        p[i] = filtered(first + i * stride);
    for (uint i = 1; i < 5; i++)
        samples[first + i * stride] = uint8_t(p[i - 1] + 2 * p[i] + p[i + 1] + 2 >> 2);
}

void soften(uint picture, uint bx, uint by)
{
    uint k = gl_LocalInvocationIndex;
    if (k < 16 && bx > 0)
        smooth_line(at(picture, bx * 16 - 3, by * 16 + k), 1);
    memoryBarrierBuffer();
    barrier();
    if (k < 16 && by > 0)
        smooth_line(at(picture, bx * 16 + k, by * 16 - 3), push.width);
}

void block(uint picture, uint bx, uint by)
{
    if (MODE == 0)
        predict(picture, bx, by);
    else
        soften(picture, bx, by);
}

#define ASK_4(i) atomicOr(done[i], 0u), atomicOr(done[i], 0u), atomicOr(done[i], 0u), atomicOr(done[i], 0u);
#define ASK_16(i) ASK_4(i) ASK_4(i) ASK_4(i) ASK_4(i)

void wait_for(uint row, uint count)
{
    uint value = atomicOr(done[row], 0u);
    while (value < count) {
        if (push.patient != 0) {
            ASK_16(row) ASK_16(row) ASK_16(row) ASK_16(row)
            ASK_16(row) ASK_16(row) ASK_16(row) ASK_16(row)
        }
        value = atomicOr(done[row], 0u);
    }
}

void rows()
{
    uint across = push.width / 16, down = push.height / 16;
    if (gl_LocalInvocationIndex == 0)
        taken = atomicAdd(ticket, 1u);
    barrier();
    uint picture = taken % push.pictures, by = taken / push.pictures, row = picture * down + by;
    for (uint bx = 0; bx < across; bx++) {
        if (by > 0 && gl_LocalInvocationIndex == 0)
            wait_for(row - 1, min(bx + 2, across));
        barrier();
        memoryBarrierBuffer();
        block(picture, bx, by);
        memoryBarrierBuffer();
        barrier();
        if (gl_LocalInvocationIndex == 0)
            atomicExchange(done[row], bx + 1);
    }
}

void main()
{
    if (ORDER == 2) {
        if (gl_GlobalInvocationID.x < push.items / 4)
            quads[gl_GlobalInvocationID.x] = quads_in[gl_GlobalInvocationID.x];
        return;
    }
    if (ORDER == 1) {
        rows();
        return;
    }
    uint across = push.width / 16, first = push.step < across ? 0 : (push.step - across + 2) / 2;
    uint by = first + gl_WorkGroupID.x;
    block(gl_WorkGroupID.y, push.step - 2 * by, by);
}
