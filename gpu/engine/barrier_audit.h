/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Checks that recorded barriers order what commands declare. It keeps times where barrier.c keeps
 * what is pending, so the two can disagree: a barrier that is wrong, too narrow or left out is
 * found on any device, also one that would have run the commands in order anyway.
 *
 * A chain of two barriers orders nothing here, as in barrier.c.
 */
#ifndef PELTON_GPU_BARRIER_AUDIT_H
#define PELTON_GPU_BARRIER_AUDIT_H

#include <stdint.h>

#define BARRIER_RESOURCES 32

enum barrier_stage {
    BARRIER_TRANSFER,
    BARRIER_COMPUTE,
    BARRIER_INDIRECT,
    BARRIER_HOST,
    BARRIER_STAGES
};

/* A barrier: sets of stages. Nothing to do where from is 0. */
struct barrier_need {
    uint8_t from;  /* stages to wait for */
    uint8_t flush; /* those of them whose writes have to become visible */
    uint8_t to;    /* stages that wait */
};

/* Times count accesses and barriers; 0: never. */
struct barrier_audit {
    uint64_t now;
    uint64_t written[BARRIER_RESOURCES][BARRIER_STAGES]; /* since the last ordered write */
    uint64_t read[BARRIER_RESOURCES][BARRIER_STAGES];    /* the same */
    uint64_t waited[BARRIER_STAGES][BARRIER_STAGES];     /* [from][to] */
    uint64_t flushed[BARRIER_STAGES][BARRIER_STAGES];
};

/* Returns the resources that an access from `stage` now would not be ordered after. */
uint32_t barrier_audit_check(const struct barrier_audit *a, enum barrier_stage stage,
                             uint32_t reads, uint32_t writes);
/* Such an access; a write begins the resource's times anew. */
void barrier_audit_accessed(struct barrier_audit *a, enum barrier_stage stage, uint32_t reads,
                            uint32_t writes);
/* A barrier is in the command buffer. */
void barrier_audit_recorded(struct barrier_audit *a, const struct barrier_need *barrier);
/* See barrier_forget. */
void barrier_audit_forget(struct barrier_audit *a, uint32_t mask);

#endif
