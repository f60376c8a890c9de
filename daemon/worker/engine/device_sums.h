/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the device's thread did with its time, and how full its batches were. The log tells it at
 * the end.
 *
 * Thread: the device's, with the engine's lock.
 */
#ifndef PELTON_DEVICE_SUMS_H
#define PELTON_DEVICE_SUMS_H

#include "daemon/worker/schedule/batch.h"
#include "gpu/h264/recon.h"

#include <stddef.h>
#include <stdint.h>

enum device_step {
    DEVICE_COMPLETES,  /* batches that are done */
    DEVICE_TENDS,      /* sessions: frames given out, pools, ends; memory */
    DEVICE_COLLECTS,   /* pictures of the next batch */
    DEVICE_SUBMITS,    /* it */
    DEVICE_WAITS_ROOM, /* as many batches as may be are in flight */
    DEVICE_WAITS_MORE, /* fewer are, and nothing is ready */
    DEVICE_WAITS_ALL,  /* none is in flight, and nothing is ready */
    DEVICE_RESTS,      /* there are no sessions: no part of the sum */
    DEVICE_STEPS
};

struct device_sums {
    double seconds[DEVICE_STEPS];
    int64_t since_ns; /* since when the step is at work */
    enum device_step step;
    uint64_t rounds, batches, pictures, frames; /* frames: that batches delivered */
    /* of those with pictures, which are so many: as struct batch has them */
    uint64_t choices, ready, blocked, free_slots, short_of_slots;
    double submitting[RECON_STEPS]; /* seconds: recon_step_seconds */
};

/* The step before ends, this one begins. */
void device_sums_step(struct device_sums *s, enum device_step step);
void device_sums_batch(struct device_sums *s, const struct batch *b, uint32_t frames);
/* Lines for the log. */
void device_sums_text(const struct device_sums *s, char *line, size_t size);
void device_sums_choice(const struct device_sums *s, char *line, size_t size);
void device_sums_submitting(const struct device_sums *s, char *line, size_t size);

#endif
