/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Tickets of the persistent wavefronts, and the number of attempts while waiting for a lower
 * ticket.
 *
 * On llvmpipe (PATIENT) one turn of a waiting loop asks 256 times. That is enough for tests, but
 * diagonals serve a software device better.
 */
#ifndef PELTON_TICKETS_GLSL
#define PELTON_TICKETS_GLSL

#include "gpu/shaders/lib/ask.glsl"

layout(set = SET_BATCH, binding = BIND_COUNTERS, scalar) coherent buffer counter_buffer
{
    uint counters[];
};

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

#endif
