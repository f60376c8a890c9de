/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Tickets and progress of the persistent wavefront. Progress is in words that hold what they announce, so that seeing one is
 * enough: no order among several stores is asked for.
 *
 * llvmpipe (22.3) ends every loop of a shader once all its loops together have gone round 65535 times, so there (PATIENT) one
 * turn of the waiting loop asks 256 times: enough for tests, but a software device is better served by diagonals.
 */
#ifndef PELTON_PROGRESS_GLSL
#define PELTON_PROGRESS_GLSL

layout(set = SET_BATCH, binding = BIND_COUNTERS, scalar) coherent buffer counter_buffer { uint counters[]; };
layout(set = SET_BATCH, binding = BIND_PROGRESS, scalar) coherent volatile buffer progress_buffer { uint progress_of[]; };

layout(constant_id = 0) const uint PATIENT = 0;

shared uint ticket_taken;

/* By all threads of a workgroup together. */
uint take_ticket(uint counter)
{
    if (gl_LocalInvocationIndex == 0u)
        ticket_taken = atomicAdd(counters[counter], 1u);
    barrier();
    return ticket_taken;
}

void progress_publish(uint at, uint value)
{
    progress_of[at] = PROGRESS_VALID | value;
}

#define ASK_4(at)                                                                                                              \
    atomicOr(progress_of[at], 0u), atomicOr(progress_of[at], 0u), atomicOr(progress_of[at], 0u), atomicOr(progress_of[at], 0u);
#define ASK_16(at) ASK_4(at) ASK_4(at) ASK_4(at) ASK_4(at)
#define ASK_64(at) ASK_16(at) ASK_16(at) ASK_16(at) ASK_16(at)

/* The value that a lower ticket publishes. */
uint progress_wait(uint at)
{
    uint value = PATIENT != 0u ? atomicOr(progress_of[at], 0u) : progress_of[at];
    while ((value & PROGRESS_VALID) == 0u) {
        if (PATIENT != 0u) {
            ASK_64(at)
            ASK_64(at)
            ASK_64(at)
            ASK_64(at)
            value = atomicOr(progress_of[at], 0u);
        } else {
            value = progress_of[at];
        }
    }
    return value & ~PROGRESS_VALID;
}

#endif
