/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Derivation of barriers (barrier.h).
 */
#include "gpu/engine/barrier.h"

#include <string.h>

void barrier_declare(const struct barrier_state *state, enum barrier_stage stage, uint32_t reads,
                     uint32_t writes, struct barrier_need *need)
{
    uint8_t flush = 0, wait = 0;
    for (int i = 0; i < BARRIER_RESOURCES; i++) {
        uint32_t bit = 1u << i;
        if ((reads | writes) & bit)
            flush |= state->resources[i].writes[stage];
        if (writes & bit)
            wait |= state->resources[i].reads[stage];
    }
    if (!flush && !wait)
        return;
    need->flush |= flush;
    need->from |= flush | wait;
    need->to |= (uint8_t)(1u << stage);
}

void barrier_applied(struct barrier_state *state, const struct barrier_need *need)
{
    for (int i = 0; i < BARRIER_RESOURCES; i++) {
        for (int stage = 0; stage < BARRIER_STAGES; stage++) {
            if (!(need->to & (1u << stage)))
                continue;
            state->resources[i].writes[stage] &= (uint8_t)~need->flush;
            state->resources[i].reads[stage] &= (uint8_t)~need->from;
        }
    }
}

void barrier_accessed(struct barrier_state *state, enum barrier_stage stage, uint32_t reads,
                      uint32_t writes)
{
    for (int i = 0; i < BARRIER_RESOURCES; i++) {
        struct barrier_resource *r = &state->resources[i];
        if (writes & (1u << i)) {
            memset(r->writes, 1 << stage, sizeof(r->writes));
            memset(r->reads, 0, sizeof(r->reads));
        } else if (reads & (1u << i)) {
            for (int s = 0; s < BARRIER_STAGES; s++)
                r->reads[s] |= (uint8_t)(1u << stage);
        }
    }
}

void barrier_forget(struct barrier_state *state, uint32_t mask)
{
    for (int i = 0; i < BARRIER_RESOURCES; i++)
        if (mask & (1u << i))
            memset(&state->resources[i], 0, sizeof(state->resources[i]));
}

struct barrier_need barrier_note(struct barrier_state *state, const struct barrier_access *a)
{
    struct barrier_need need = {0};
    if (a->kind == BARRIER_FORGET)
        barrier_forget(state, a->writes);
    if (a->kind == BARRIER_FOR_HOST)
        barrier_declare(state, BARRIER_HOST, a->reads, 0, &need);
    if (a->kind == BARRIER_COMMAND) {
        barrier_declare(state, a->stage, a->reads, a->writes, &need);
        barrier_declare(state, BARRIER_INDIRECT, a->indirect, 0, &need);
    }
    if (need.from)
        barrier_applied(state, &need);
    if (a->kind == BARRIER_COMMAND || a->kind == BARRIER_ONLY_NOTED) {
        barrier_accessed(state, a->stage, a->reads, a->writes);
        barrier_accessed(state, BARRIER_INDIRECT, a->indirect & ~a->writes, 0);
    }
    return need;
}
