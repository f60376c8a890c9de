/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Numbers of knobs.h that a measurement may change without a new build: debug.split.
 */
#ifndef PELTON_SCHEDULE_TUNING_H
#define PELTON_SCHEDULE_TUNING_H

#include <stdbool.h>
#include <stdint.h>

/* 0: as knobs.h has it. */
struct split_tuning {
    uint32_t batches, alone;       /* in work beside coders: of many streams, of one */
    uint32_t pictures;             /* of a batch */
    uint32_t halves, halves_alone; /* of what the GPU may have in work: look-ahead */
    uint32_t wait;                 /* pictures that may wait, at least */
    uint32_t part, blocks;         /* 1/n of device memory for batches; blocks a macroblock */
    uint32_t slots, results;       /* 1/n of device memory for frame slots, for coefficients */
    uint32_t waiting;              /* 1/n of a picture's arrays: the bytes of one that waits */
    uint32_t first;                /* slots of a new store on hardware, beyond base, at most */
    uint32_t kept;                 /* n/8 of the window budget for pictures of the GPU */
    uint32_t ahead;                /* pictures that a coder is ahead of reconstruction */
    uint32_t margin, margin_most;  /* percent of the estimate */
    uint32_t ready;                /* READY pictures, not blocked: beyond that fewer batches */
    uint32_t choice;               /* enum split_choice */
    uint32_t join;                 /* enum split_join */
    uint32_t worth;                /* ms of all coders: a queue that is worth help */
    uint32_t cavlc;                /* enum split_cavlc */
    uint32_t early;                /* pictures of a stream that are never the GPU's */
    uint32_t awake;                /* coders that expect a live picture, at most */
    uint32_t idle;                 /* 1/n of the coders that are idle: encoders have the GPU */
    uint32_t rows;                 /* parts of a live picture of one slice; 1: it is one */
    uint32_t packed;               /* enum split_packed */
    uint32_t fetch;                /* enum split_fetch */
    uint32_t width, flight;        /* pictures of a batch of reconstruction; batches in flight */
    uint32_t share;                /* slices of a subgroup of the GPU's entropy decoding */
    uint32_t small;                /* times as many pictures ahead where they are small, at most */
};
/* A batch has slices of like weight, or as many bytes as it can for the time of the GPU. */
enum split_choice { CHOICE_ALIKE = 1, CHOICE_BYTES };
/* The GPU begins after some time of coders, or when more waits than they do in a batch's time. */
enum split_join { JOIN_SPENT = 1, JOIN_WAITING };
/* Coders alone decode CAVLC, or the GPU too. */
enum split_cavlc { CAVLC_CODERS = 1, CAVLC_BOTH };
/* Levels of coders in coefficient blocks, or without zeros where they may be. */
enum split_packed { PACKED_BLOCKS = 1, PACKED_LEVELS };
/* Motion records of coders are copied whole to the GPU, or it reads what their shapes need. */
enum split_fetch { FETCH_COPIES = 1, FETCH_NEEDED };

static inline uint32_t tuned(uint32_t value, uint32_t preset)
{
    return value ? value : preset;
}

/* "name=number,name=number"; NULL or empty: nothing changes. False: not that; *out is unchanged. */
bool split_tuning_parse(const char *text, struct split_tuning *out);

#endif
