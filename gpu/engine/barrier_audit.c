/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Whether barriers order the accesses (barrier_audit.h).
 */
#include "gpu/engine/barrier_audit.h"

#include <string.h>

uint32_t barrier_audit_check(const struct barrier_audit *a, enum barrier_stage stage,
                             uint32_t reads, uint32_t writes)
{
    uint32_t hazards = 0;
    for (uint32_t r = 0; r < BARRIER_RESOURCES; r++)
        for (int from = 0; from < BARRIER_STAGES; from++) {
            uint32_t bit = 1u << r;
            if ((reads | writes) & bit && a->written[r][from] > a->flushed[from][stage])
                hazards |= bit;
            if (writes & bit && a->read[r][from] > a->waited[from][stage])
                hazards |= bit;
        }
    return hazards;
}

void barrier_audit_accessed(struct barrier_audit *a, enum barrier_stage stage, uint32_t reads,
                            uint32_t writes)
{
    a->now++;
    barrier_audit_forget(a, writes);
    for (uint32_t r = 0; r < BARRIER_RESOURCES; r++)
        if (writes & (1u << r))
            a->written[r][stage] = a->now;
        else if (reads & (1u << r))
            a->read[r][stage] = a->now;
}

void barrier_audit_recorded(struct barrier_audit *a, const struct barrier_need *barrier)
{
    a->now++;
    for (int from = 0; from < BARRIER_STAGES; from++)
        for (int to = 0; to < BARRIER_STAGES; to++) {
            if (!(barrier->to & (1u << to)))
                continue;
            if (barrier->from & (1u << from))
                a->waited[from][to] = a->now;
            if (barrier->flush & (1u << from))
                a->flushed[from][to] = a->now;
        }
}

void barrier_audit_forget(struct barrier_audit *a, uint32_t mask)
{
    for (uint32_t r = 0; r < BARRIER_RESOURCES; r++)
        if (mask & (1u << r)) {
            memset(a->written[r], 0, sizeof(a->written[r]));
            memset(a->read[r], 0, sizeof(a->read[r]));
        }
}
