/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Sums of prefixes over a workgroup of SUM_THREADS threads in one dimension.
 */
#ifndef PELTON_SUMS_BEFORE_GLSL
#define PELTON_SUMS_BEFORE_GLSL

shared uint prefix_sums[2][SUM_THREADS];

/* The sum of the values of all threads before this one, and of all. All threads call it. */
uint sums_before(uint value, out uint total)
{
    uint t = gl_LocalInvocationIndex, now = 0u;
    barrier(); /* an earlier call reads its total */
    prefix_sums[0][t] = value;
    for (uint step = 1u; step < SUM_THREADS; step *= 2u) {
        barrier();
        prefix_sums[1u - now][t] =
            prefix_sums[now][t] + (t >= step ? prefix_sums[now][t - step] : 0u);
        now = 1u - now;
    }
    barrier();
    total = prefix_sums[now][SUM_THREADS - 1];
    return prefix_sums[now][t] - value;
}

#endif
