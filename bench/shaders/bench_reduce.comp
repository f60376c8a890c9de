/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Parallel reduction of a picture to its luminance. The methods are those of W. Engel, "Compute
 * Shader Optimizations for AMD GPUs: Parallel Reduction" (2014), and newer ones. Each workgroup
 * sums GROUP * VALUES items. bench_reduce_final sums the workgroups; with TICKET the last workgroup
 * does. All sums are of integers, so every order gives the same result.
 */
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "bench/shaders/bench_args.h"

layout(constant_id = 0) const uint GROUP = 256;
layout(constant_id = 1) const uint VALUES = 1;
layout(constant_id = 2) const uint METHOD = 0;
layout(constant_id = 3) const uint TICKET = 0;
layout(constant_id = 4) const uint HISTOGRAM = 0;
layout(constant_id = 5) const uint QUADS = 0; /* 16 bytes a load */
layout(constant_id = 6) const uint FORMAT = 0;
layout(local_size_x_id = 0) in;

const uint INTERLEAVED = 0, SEQUENTIAL = 1, UNROLLED = 2, DOUBLED = 3, SUBGROUP = 4;

layout(set = 0, binding = BENCH_BIND_INPUT, std430) readonly buffer Words
{
    uint words[];
};
layout(set = 0, binding = BENCH_BIND_INPUT, std430) readonly buffer Quads
{
    uvec4 quads[];
};
layout(set = 0, binding = BENCH_BIND_INPUT, std430) readonly buffer Pixels
{
    vec4 pixels[];
};
/* low, high word; bins from 4 on */
layout(set = 0, binding = BENCH_BIND_OUTPUT, std430) buffer Output
{
    uint result[];
};
layout(set = 0, binding = BENCH_BIND_SCRATCH, std430) coherent buffer Scratch
{
    uint ticket, unused[3], partial[];
};

shared uint sums[METHOD == DOUBLED ? 2 * GROUP : GROUP];
shared uint bins[HISTOGRAM != 0 ? BENCH_BINS : 1];
shared uint high[TICKET != 0 ? GROUP : 1];
shared bool last;

uint luma_of(uvec3 rgb)
{
    return (BENCH_RED * rgb.r + BENCH_GREEN * rgb.g + BENCH_BLUE * rgb.b) >> 8;
}

uvec4 bytes_of(uint word)
{
    return uvec4(word & 255u, word >> 8 & 255u, word >> 16 & 255u, word >> 24);
}

void count(uint luma)
{
    if (HISTOGRAM != 0)
        atomicAdd(bins[luma >> 8], 1u);
}

uint item_of_word(uint word, uint i)
{
    uvec4 b = bytes_of(word);
    if (FORMAT == BENCH_RGBA8) {
        uint luma = luma_of(b.rgb);
        count(luma);
        return luma;
    }
    if (FORMAT == BENCH_BAYER8) {
        bool odd = (i / (push.width / 4) & 1u) != 0;
        uvec4 weights =
            odd ? uvec4(2u * BENCH_GREEN, 4u * BENCH_BLUE, 2u * BENCH_GREEN, 4u * BENCH_BLUE)
                : uvec4(4u * BENCH_RED, 2u * BENCH_GREEN, 4u * BENCH_RED, 2u * BENCH_GREEN);
        b = b * weights >> 8;
        return b.x + b.y + b.z + b.w;
    }
    return (b.x + b.y + b.z + b.w) << 8;
}

uint item(uint i)
{
    if (i >= push.items)
        return 0;
    if (FORMAT == BENCH_RGBA32F) {
        uint luma = luma_of(uvec3(pixels[i].rgb));
        count(luma);
        return luma;
    }
    return item_of_word(words[i], i);
}

uint fetch(uint first, uint tid, uint begin, uint end)
{
    uint sum = 0;
    if (QUADS != 0) {
        for (uint k = begin; k < end; k += 4) {
            uint i = first + k * GROUP + 4 * tid;
            if (i + 3 < push.items) {
                uvec4 q = quads[i / 4];
                sum += item_of_word(q.x, i) + item_of_word(q.y, i + 1) + item_of_word(q.z, i + 2) +
                       item_of_word(q.w, i + 3);
            } else {
                sum += item(i) + item(i + 1) + item(i + 2) + item(i + 3);
            }
        }
    } else {
        for (uint k = begin; k < end; k++)
            sum += item(first + k * GROUP + tid);
    }
    return sum;
}

/* sums[0 .. 2 * half) to sums[0]; a barrier a step. */
void tree(uint tid, uint from)
{
    for (uint s = from; s > 0; s >>= 1) {
        if (tid < s)
            sums[tid] += sums[tid + s];
        barrier();
    }
}

void interleaved(uint tid)
{
    for (uint s = 1; s < GROUP; s *= 2) {
        if (tid % (2 * s) == 0)
            sums[tid] += sums[tid + s];
        barrier();
    }
}

/* Steps inside one subgroup need no barrier of the workgroup. */
void unrolled(uint tid)
{
    uint s = GROUP / 2;
    for (; s >= gl_SubgroupSize; s >>= 1) {
        if (tid < s)
            sums[tid] += sums[tid + s];
        barrier();
    }
    for (; s > 0; s >>= 1) {
        uint other = tid < s ? sums[tid + s] : 0;
        subgroupMemoryBarrierShared();
        subgroupBarrier();
        if (tid < s)
            sums[tid] += other;
        subgroupMemoryBarrierShared();
        subgroupBarrier();
    }
    barrier();
}

void in_subgroups(uint sum)
{
    uint s = subgroupAdd(sum);
    if (subgroupElect())
        sums[gl_SubgroupID] = s;
    barrier();
    if (gl_SubgroupID == 0) {
        s = 0;
        for (uint i = gl_SubgroupInvocationID; i < gl_NumSubgroups; i += gl_SubgroupSize)
            s += sums[i];
        s = subgroupAdd(s);
        if (subgroupElect())
            sums[0] = s;
    }
    barrier();
}

void reduce(uint first, uint tid)
{
    if (METHOD == SUBGROUP) {
        in_subgroups(fetch(first, tid, 0, VALUES));
        return;
    }
    if (METHOD == DOUBLED) {
        sums[tid] = fetch(first, tid, 0, VALUES / 2);
        sums[tid + GROUP] = fetch(first, tid, VALUES / 2, VALUES);
        barrier();
        tree(tid, GROUP);
        return;
    }
    sums[tid] = fetch(first, tid, 0, VALUES);
    barrier();
    if (METHOD == INTERLEAVED)
        interleaved(tid);
    else if (METHOD == SEQUENTIAL)
        tree(tid, GROUP / 2);
    else
        unrolled(tid);
}

/* The workgroup that finishes last sums all partial sums, in two words. */
void finish(uint tid)
{
    if (tid == 0) {
        memoryBarrierBuffer();
        last = atomicAdd(ticket, 1u) == push.groups - 1;
    }
    barrier();
    if (!last)
        return;
    memoryBarrierBuffer();
    uint lo = 0, hi = 0;
    for (uint i = tid; i < push.groups; i += GROUP) {
        uint carry;
        lo = uaddCarry(lo, partial[i], carry);
        hi += carry;
    }
    sums[tid] = lo & 0xffffu;
    high[tid] = lo >> 16 | hi << 16;
    barrier();
    for (uint s = GROUP / 2; s > 0; s >>= 1) {
        if (tid < s) {
            sums[tid] += sums[tid + s];
            high[tid] += high[tid + s];
        }
        barrier();
    }
    if (tid == 0) {
        uint carry;
        result[0] = uaddCarry(high[0] << 16, sums[0], carry);
        result[1] = (high[0] >> 16) + carry;
        ticket = 0;
    }
}

void main()
{
    uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    /* neighbours of one subgroup fetch neighbouring items; for UNROLLED it also says who shares a
     * subgroup */
    uint tid = METHOD >= UNROLLED && METHOD != DOUBLED
                   ? gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID
                   : gl_LocalInvocationIndex;
    if (HISTOGRAM != 0) {
        for (uint i = tid; i < BENCH_BINS; i += GROUP)
            bins[i] = 0;
        barrier();
    }
    reduce(group * GROUP * VALUES, tid);
    if (HISTOGRAM != 0)
        for (uint i = tid; i < BENCH_BINS; i += GROUP)
            if (bins[i] != 0)
                atomicAdd(result[4 + i], bins[i]);
    if (tid == 0)
        partial[group] = sums[0];
    if (TICKET != 0)
        finish(tid);
}
