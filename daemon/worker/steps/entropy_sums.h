/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What entropy decoding on the GPU did, and why it did no more. The log tells it at the end.
 *
 * Thread: that of entropy_gpu.c, with the engine's lock.
 */
#ifndef PELTON_ENTROPY_SUMS_H
#define PELTON_ENTROPY_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why no batch began at the last look. */
enum entropy_wait {
    ENTROPY_BEGUN,         /* one did */
    ENTROPY_WAIT_BATCH,    /* as many as may be are in work */
    ENTROPY_WAIT_PICTURES, /* too little waits in the queue */
    ENTROPY_WAIT_ARRAYS,   /* arrays for results are being made */
    ENTROPY_WAIT_MEMORY,   /* no memory for one more batch */
    ENTROPY_WAIT_KEPT,     /* decoded pictures fill their part of the look-ahead */
    ENTROPY_WAIT_FAR,      /* too few pictures are far enough ahead */
    ENTROPY_WAITS
};

/* What the thread does. */
enum entropy_step {
    ENTROPY_STEP_MOTION,  /* batches of motion: begun, and handed back */
    ENTROPY_STEP_DECODED, /* results are fetched, and handed back */
    ENTROPY_STEP_BEGINS,  /* a batch is chosen and submitted */
    ENTROPY_STEP_RESTS,
    ENTROPY_STEPS
};

struct entropy_sums {
    uint64_t batches, decoded, given_back, late;
    uint64_t stayed; /* pictures whose coefficients stayed on the device */
    /* of batches: seconds until decoded, until fetched, and of the device; weights of the largest
     * slices; bytes */
    double decoding, seconds, device, largest, bytes;
    /* since the first batch, while there was work */
    int64_t look_ns;
    enum entropy_wait wait;
    double waits[ENTROPY_WAITS];
    double total, busy; /* seconds; seconds of all batches in work */
    int64_t step_ns;    /* since when it does that; 0: it has not begun */
    double steps[ENTROPY_STEPS];
};

/* It has done this since the last call. */
void entropy_sums_step(struct entropy_sums *s, enum entropy_step step, int64_t now_ns);

/* Until now it was as at the last look; from now on it is as told. */
void entropy_sums_look(struct entropy_sums *s, enum entropy_wait wait, uint32_t busy, bool works,
                       int64_t now_ns);
/* Lines for the log. most: batches at once; bytes: that stayed on the device; cpu: seconds. */
void entropy_sums_text(const struct entropy_sums *s, uint32_t most, uint64_t bytes, double cpu,
                       char *line, size_t size);
void entropy_sums_waits(const struct entropy_sums *s, char *line, size_t size);

#endif
