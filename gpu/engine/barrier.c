/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Derivation of barriers (barrier.h).
 */
#include "gpu/engine/barrier.h"

#include <string.h>

/* ---- the audit ---- */

/* The lowest resource of a set that is not empty; it is taken out. */
static uint32_t resource_take(uint32_t *mask)
{
    uint32_t r = (uint32_t)__builtin_ctz(*mask);
    *mask &= *mask - 1;
    return r;
}

static void audit_forget(struct barrier_audit *a, uint32_t mask)
{
    while (mask) {
        uint32_t r = resource_take(&mask);
        memset(a->written[r], 0, sizeof(a->written[r]));
        memset(a->read[r], 0, sizeof(a->read[r]));
    }
}

static uint32_t audit_check(const struct barrier_audit *a, enum barrier_stage stage, uint32_t reads,
                            uint32_t writes)
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

static void audit_accessed(struct barrier_audit *a, enum barrier_stage stage, uint32_t reads,
                           uint32_t writes)
{
    a->now++;
    audit_forget(a, writes);
    reads &= ~writes;
    while (writes)
        a->written[resource_take(&writes)][stage] = a->now;
    while (reads)
        a->read[resource_take(&reads)][stage] = a->now;
}

static void audit_recorded(struct barrier_audit *a, const struct barrier_need *barrier)
{
    if (!barrier->from)
        return;
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

/* ---- what is pending ---- */

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
    audit_accessed(&state->audit, stage, reads, writes);
    for (int next = 0; next < BARRIER_STAGES; next++) {
        state->writes[next][stage] |= writes;
        state->reads[next][stage] |= reads & ~writes;
    }
}

void barrier_forget(struct barrier_state *state, uint32_t mask)
{
    audit_forget(&state->audit, mask);
    for (int next = 0; next < BARRIER_STAGES; next++) {
        for (int from = 0; from < BARRIER_STAGES; from++) {
            state->writes[next][from] &= ~mask;
            state->reads[next][from] &= ~mask;
        }
    }
}

/* ---- accesses as data ---- */

static struct barrier_need access_need(const struct barrier_state *state,
                                       const struct barrier_access *a)
{
    struct barrier_need need = {0};
    if (a->kind == BARRIER_FOR_HOST)
        barrier_declare(state, BARRIER_HOST, a->reads, 0, &need);
    if (a->kind == BARRIER_COMMAND) {
        barrier_declare(state, a->stage, a->reads, a->writes, &need);
        if (a->indirect)
            barrier_declare(state, BARRIER_INDIRECT, a->indirect, 0, &need);
    }
    return need;
}

static uint32_t access_unordered(const struct barrier_audit *audit, const struct barrier_access *a)
{
    if (a->kind == BARRIER_FOR_HOST)
        return audit_check(audit, BARRIER_HOST, a->reads, 0);
    if (a->kind != BARRIER_COMMAND)
        return 0;
    return audit_check(audit, a->stage, a->reads, a->writes) |
           audit_check(audit, BARRIER_INDIRECT, a->indirect, 0);
}

static void access_note(struct barrier_state *state, const struct barrier_access *a)
{
    if (a->kind == BARRIER_FORGET)
        barrier_forget(state, a->writes);
    if (a->kind != BARRIER_COMMAND && a->kind != BARRIER_ONLY_NOTED)
        return;
    barrier_accessed(state, a->stage, a->reads, a->writes);
    if (a->indirect)
        barrier_accessed(state, BARRIER_INDIRECT, a->indirect & ~a->writes, 0);
}

struct barrier_need barrier_note(struct barrier_state *state, const struct barrier_access *a,
                                 const struct barrier_watch *watch, const char *place)
{
    struct barrier_need need = access_need(state, a);
    barrier_applied(state, &need);
    if (need.from && watch->dropped && watch->dropped(watch->ctx, place, a, &need))
        need = (struct barrier_need){0};
    audit_recorded(&state->audit, &need);
    uint32_t unordered = watch->unordered ? access_unordered(&state->audit, a) : 0;
    if (unordered)
        watch->unordered(watch->ctx, place, unordered);
    access_note(state, a);
    return need;
}
