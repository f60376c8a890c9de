/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Derives barriers from the reads and writes that commands declare. Plain logic without Vulkan,
 * unit-tested without a device.
 *
 * The state holds, for each of 32 resources and each stage, the stages whose earlier accesses a new
 * access from that stage must still wait for. One global barrier in front of a command clears its
 * stages for all resources at once.
 */
#ifndef PELTON_GPU_BARRIER_H
#define PELTON_GPU_BARRIER_H

#include <stdbool.h>
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

/* An audit of the same accesses, and of the barriers that were recorded. It keeps times where the
 * rest of the state keeps what is pending, so the two can disagree: a barrier that is wrong, too
 * narrow or left out is found on any device, also on one that runs commands in order. A chain of
 * two barriers orders nothing, here and there.
 *
 * Times count accesses and barriers; 0: never. */
struct barrier_audit {
    uint64_t now;
    uint64_t written[BARRIER_RESOURCES][BARRIER_STAGES]; /* since the last ordered write */
    uint64_t read[BARRIER_RESOURCES][BARRIER_STAGES];    /* the same */
    uint64_t waited[BARRIER_STAGES][BARRIER_STAGES];     /* [from][to] */
    uint64_t flushed[BARRIER_STAGES][BARRIER_STAGES];
};

/* Sets of resources, a bit each, so that an access costs a few operations for all of them. */
struct barrier_state {
    /* [stage of the next access][stage]: their last write by `stage` is not yet visible there */
    uint32_t writes[BARRIER_STAGES][BARRIER_STAGES];
    /* the same: it is not yet ordered after their reads by `stage` since then */
    uint32_t reads[BARRIER_STAGES][BARRIER_STAGES];
    struct barrier_audit audit;
};

/* Declare that the next command accesses the resources of the masks reads and writes (a bit each)
 * from stage; adds to need. */
void barrier_declare(const struct barrier_state *state, enum barrier_stage stage, uint32_t reads,
                     uint32_t writes, struct barrier_need *need);
/* The barrier has been recorded. */
void barrier_applied(struct barrier_state *state, const struct barrier_need *need);
/* The command has been recorded, after the barrier it needed. */
void barrier_accessed(struct barrier_state *state, enum barrier_stage stage, uint32_t reads,
                      uint32_t writes);
/* Forget what happened to the resources of mask: the host has waited for all of it, or they are
 * other memory now. */
void barrier_forget(struct barrier_state *state, uint32_t mask);

/* An access as data. */
enum barrier_access_kind {
    BARRIER_COMMAND,    /* by the next command, after the barrier that it needs */
    BARRIER_ONLY_NOTED, /* by a command that needed none */
    BARRIER_FOR_HOST,   /* the host reads `reads` later; not noted, the timeline orders its reads */
    BARRIER_FORGET      /* see barrier_forget: `writes` */
};

struct barrier_access {
    enum barrier_access_kind kind;
    enum barrier_stage stage;
    uint32_t reads, writes;
    uint32_t indirect; /* resources that hold the command's arguments */
};

/* What tests look at; a member may be NULL. place: where the access is declared. */
struct barrier_watch {
    void *ctx;
    /* is this barrier left out? */
    bool (*dropped)(void *ctx, const char *place, const struct barrier_access *a,
                    const struct barrier_need *need);
    /* recorded barriers do not order the access to these resources */
    void (*unordered)(void *ctx, const char *place, uint32_t resources);
};

/* Note the access. Returns the barrier to record in front of the command. */
struct barrier_need barrier_note(struct barrier_state *state, const struct barrier_access *a,
                                 const struct barrier_watch *watch, const char *place);

#endif
