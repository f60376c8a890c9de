/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Progress of the persistent wavefronts over frames of any format. BIND_PROGRESS has a word for
 * each row of macroblocks or pairs. The word counts those from the left that nobody has to wait for
 * any more. All threads of a workgroup call these functions together.
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
                ASK_256(progress_of[at])
            }
        }
    }
    barrier();
    memoryBarrier();
}

#endif
