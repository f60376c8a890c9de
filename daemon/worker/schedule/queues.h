/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What waits, and what the coders do next.
 *
 * A stream's oldest pictures go first, and streams take turns. So each picture has its turn, and
 * the lowest turn is next, be it entropy decoding or motion. With shuffle_seed the order is random
 * over the window, which proves that it does not matter.
 *
 * Thread: any, with the engine's lock.
 */
#ifndef PELTON_QUEUES_H
#define PELTON_QUEUES_H

#include "daemon/worker/schedule/schedule.h"

/* ---- coders: take, work without the lock, done ---- */

enum coder_task {
    TASK_NONE,
    TASK_FOLLOW, /* motion of a LIVE picture's only slice, while another coder decodes it */
    TASK_ARRAYS, /* make the picture's arrays, then coder_arrays_done */
    TASK_SLICES, /* decode the slices from..to */
    TASK_MOTION, /* derive the motion of the picture */
    TASK_IMPORT  /* check what the GPU decoded, and derive its motion */
};
struct coder_work {
    enum coder_task task;
    struct picture *picture;
    uint32_t from, to; /* slices */
    bool follows;      /* their motion may be derived with them, */
    bool shared;       /* which another coder does */
};
/* The window is aborted: the coders drop what waits. */
void queue_abort(const struct window *w);
/* The next work for a coder. random: its state, for shuffle_seed. */
void coder_take(struct schedule *s, uint64_t *random, int64_t now_ns, struct coder_work *out);
/* TASK_ARRAYS is done. *out: slices of the same picture. error: its stream was aborted for that */
void coder_arrays_done(struct schedule *s, struct picture *p, bool error, struct coder_work *out);
/* So many slices were tried, or have been followed. True: all of the picture have, and the caller
 * must say how by coder_decoded. */
bool coder_slices_done(struct picture *p, uint32_t count);
/* intact: nothing is missing, so the GPU may derive the motion. source: concealment reads this
 * picture's motion; NULL: none. */
void coder_decoded(struct schedule *s, struct picture *p, bool intact,
                   const struct h264_picture *source, int64_t now_ns);
/* TASK_MOTION is done; error: the picture becomes a copy. */
void coder_motion_done(struct schedule *s, struct picture *p, bool error, int64_t now_ns);
/* TASK_IMPORT is done; good: else the picture has no arrays any more. */
void coder_import_done(struct schedule *s, struct picture *p, bool good, bool error,
                       int64_t now_ns);

/* ---- the GPU: pictures come from split.h, and go back here ---- */

/* The arrays of the picture are filled by the device: blocks of coefficients, at least 1. */
void gpu_entropy_done(struct schedule *s, struct picture *p, uint32_t coeff_blocks, int64_t now_ns);
/* It could not; the arrays are gone. */
void gpu_entropy_refused(struct schedule *s, struct picture *p, int64_t now_ns);
/* The next picture whose motion the GPU is to derive; NULL: none. */
struct picture *gpu_motion_take(struct schedule *s, int64_t now_ns);
void gpu_motion_untake(struct schedule *s, struct picture *p); /* the batch was full */
void gpu_motion_done(struct schedule *s, struct picture *p, bool error, int64_t now_ns);
/* intact: the records that coders made are still in host memory; else it has no arrays */
void gpu_motion_refused(struct schedule *s, struct picture *p, bool intact, int64_t now_ns);

/* ---- the entropy queue ---- */

void queue_add(struct schedule *s, struct picture *p); /* a new picture, at its turn */
void queue_remove(struct schedule *s, struct picture *p);
/* Back at its turn, for the coders, at once. */
void queue_again(struct schedule *s, struct picture *p);
/* The other picture's motion must come before this one's. */
void queue_wait_for(struct picture *p, const struct h264_picture *other);
/* Its motion is derived, or nobody wants it: those that wait go on. */
void queue_release(struct schedule *s, struct picture *p);

#endif
