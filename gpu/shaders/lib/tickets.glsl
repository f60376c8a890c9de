/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Tickets of the persistent wavefronts, and the number of attempts while waiting for a lower
 * ticket.
 *
 * llvmpipe (22.3) ends every loop of a shader once all its loops together have run 65535 times.
 * There (PATIENT) one turn of a waiting loop asks 256 times. That is enough for tests, but
 * diagonals serve a software device better.
 */
#ifndef PELTON_TICKETS_GLSL
#define PELTON_TICKETS_GLSL

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

#define ASK_4(at)                                                                                  \
    atomicOr(progress_of[at], 0u), atomicOr(progress_of[at], 0u), atomicOr(progress_of[at], 0u),   \
        atomicOr(progress_of[at], 0u);
#define ASK_16(at)  ASK_4(at) ASK_4(at) ASK_4(at) ASK_4(at)
#define ASK_64(at)  ASK_16(at) ASK_16(at) ASK_16(at) ASK_16(at)
#define ASK_256(at) ASK_64(at) ASK_64(at) ASK_64(at) ASK_64(at)

#endif
