/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Tickets and progress of the persistent wavefronts over frames of any format: a word of BIND_PROGRESS per row of macroblocks, or
 * of pairs, says how many of them from the left need no more waiting for. All functions are called by all threads of a workgroup
 * together. PATIENT: see lib/progress.glsl.
 */
#ifndef PELTON_ANY_PROGRESS_GLSL
#define PELTON_ANY_PROGRESS_GLSL

layout(set = SET_BATCH, binding = BIND_COUNTERS, scalar) coherent buffer counter_buffer { uint counters[]; };
layout(set = SET_BATCH, binding = BIND_PROGRESS, scalar) coherent buffer progress_buffer { uint progress_of[]; };

layout(constant_id = 0) const uint PATIENT = 0;

shared uint ticket_taken;

uint take_ticket(uint counter)
{
    if (gl_LocalInvocationIndex == 0u)
        ticket_taken = atomicAdd(counters[counter], 1u);
    barrier();
    return ticket_taken;
}

/* What this workgroup has stored in images is seen by whoever sees the value. */
void progress_publish(uint at, uint value)
{
    memoryBarrier();
    barrier();
    if (gl_LocalInvocationIndex == 0u)
        atomicMax(progress_of[at], value);
}

#define ASK_4(at)                                                                                                              \
    atomicOr(progress_of[at], 0u), atomicOr(progress_of[at], 0u), atomicOr(progress_of[at], 0u), atomicOr(progress_of[at], 0u);
#define ASK_16(at) ASK_4(at) ASK_4(at) ASK_4(at) ASK_4(at)
#define ASK_64(at) ASK_16(at) ASK_16(at) ASK_16(at) ASK_16(at)

/* Wait for a value that a lower ticket publishes. */
void progress_wait(uint at, uint value)
{
    if (gl_LocalInvocationIndex == 0u) {
        while (atomicOr(progress_of[at], 0u) < value) {
            if (PATIENT != 0u) {
                ASK_64(at)
                ASK_64(at)
                ASK_64(at)
                ASK_64(at)
            }
        }
    }
    barrier();
    memoryBarrier();
}

#endif
