/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Progress of the persistent wavefront. A progress word holds the samples that it announces, so
 * seeing the word is enough. No order among several stores is needed.
 */
#ifndef PELTON_PROGRESS_GLSL
#define PELTON_PROGRESS_GLSL

#include "gpu/shaders/lib/tickets.glsl"

layout(set = SET_BATCH, binding = BIND_PROGRESS, scalar) coherent volatile buffer progress_buffer
{
    uint progress_of[];
};

void progress_publish(uint at, uint value)
{
    progress_of[at] = PROGRESS_VALID | value;
}

/* The value that a lower ticket publishes. */
uint progress_wait(uint at)
{
    uint value = PATIENT != 0u ? atomicOr(progress_of[at], 0u) : progress_of[at];
    while ((value & PROGRESS_VALID) == 0u) {
        if (PATIENT != 0u) {
            ASK_256(progress_of[at])
            value = atomicOr(progress_of[at], 0u);
        } else {
            value = progress_of[at];
        }
    }
    return value & ~PROGRESS_VALID;
}

#endif
