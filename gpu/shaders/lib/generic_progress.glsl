/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Progress of the persistent wavefronts over frames of any format: a word of BIND_PROGRESS per row
 * of macroblocks, or of pairs, says how many of them from the left need no more waiting for. All
 * functions are called by all threads of a workgroup together.
 */
#ifndef PELTON_ANY_PROGRESS_GLSL
#define PELTON_ANY_PROGRESS_GLSL

#include "gpu/shaders/lib/tickets.glsl"

layout(set = SET_BATCH, binding = BIND_PROGRESS, scalar) coherent buffer progress_buffer
{
    uint progress_of[];
};

/* What this workgroup has stored in images is seen by whoever sees the value. */
void progress_publish(uint at, uint value)
{
    memoryBarrier();
    barrier();
    if (gl_LocalInvocationIndex == 0u)
        atomicMax(progress_of[at], value);
}

/* Wait for a value that a lower ticket publishes. */
void progress_wait(uint at, uint value)
{
    if (gl_LocalInvocationIndex == 0u) {
        while (atomicOr(progress_of[at], 0u) < value) {
            if (PATIENT != 0u) {
                ASK_256(at)
            }
        }
    }
    barrier();
    memoryBarrier();
}

#endif
