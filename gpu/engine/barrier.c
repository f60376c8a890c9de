/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Derivation of barriers (barrier.h).
 */
#include "gpu/engine/barrier.h"

void barrier_declare(const struct barrier_state *state, enum barrier_stage stage, uint32_t reads,
                     uint32_t writes, struct barrier_need *need)
{
    uint8_t flush = 0, wait = 0;
    for (int from = 0; from < BARRIER_STAGES; from++) {
        if (state->writes[stage][from] & (reads | writes))
            flush |= (uint8_t)(1u << from);
        if (state->reads[stage][from] & writes)
            wait |= (uint8_t)(1u << from);
    }
    if (!flush && !wait)
        return;
    need->flush |= flush;
    need->from |= flush | wait;
    need->to |= (uint8_t)(1u << stage);
}

void barrier_applied(struct barrier_state *state, const struct barrier_need *need)
{
    for (int to = 0; to < BARRIER_STAGES; to++) {
        for (int from = 0; from < BARRIER_STAGES && need->to & (1u << to); from++) {
            if (need->flush & (1u << from))
                state->writes[to][from] = 0;
            if (need->from & (1u << from))
                state->reads[to][from] = 0;
        }
    }
}

void barrier_accessed(struct barrier_state *state, enum barrier_stage stage, uint32_t reads,
                      uint32_t writes)
{
    if (writes)
        barrier_forget(state, writes);
    barrier_audit_accessed(&state->audit, stage, reads, writes);
    for (int next = 0; next < BARRIER_STAGES; next++) {
        state->writes[next][stage] |= writes;
        state->reads[next][stage] |= reads & ~writes;
    }
}

void barrier_forget(struct barrier_state *state, uint32_t mask)
{
    barrier_audit_forget(&state->audit, mask);
    for (int next = 0; next < BARRIER_STAGES; next++) {
        for (int from = 0; from < BARRIER_STAGES; from++) {
            state->writes[next][from] &= ~mask;
            state->reads[next][from] &= ~mask;
        }
    }
}

struct barrier_need barrier_plan(struct barrier_state *state, const struct barrier_access *a)
{
    struct barrier_need need = {0};
    if (a->kind == BARRIER_FOR_HOST)
        barrier_declare(state, BARRIER_HOST, a->reads, 0, &need);
    if (a->kind == BARRIER_COMMAND) {
        barrier_declare(state, a->stage, a->reads, a->writes, &need);
        if (a->indirect)
            barrier_declare(state, BARRIER_INDIRECT, a->indirect, 0, &need);
    }
    if (need.from)
        barrier_applied(state, &need);
    return need;
}

uint32_t barrier_unordered(const struct barrier_state *state, const struct barrier_access *a)
{
    const struct barrier_audit *audit = &state->audit;
    if (a->kind == BARRIER_FOR_HOST)
        return barrier_audit_check(audit, BARRIER_HOST, a->reads, 0);
    if (a->kind != BARRIER_COMMAND)
        return 0;
    return barrier_audit_check(audit, a->stage, a->reads, a->writes) |
           barrier_audit_check(audit, BARRIER_INDIRECT, a->indirect, 0);
}

void barrier_note(struct barrier_state *state, const struct barrier_access *a)
{
    if (a->kind == BARRIER_FORGET)
        barrier_forget(state, a->writes);
    if (a->kind != BARRIER_COMMAND && a->kind != BARRIER_ONLY_NOTED)
        return;
    barrier_accessed(state, a->stage, a->reads, a->writes);
    if (a->indirect)
        barrier_accessed(state, BARRIER_INDIRECT, a->indirect & ~a->writes, 0);
}
