/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The schedule in simulated time: what the files of the simulation share. times_main.c says what it
 * is for.
 */
#ifndef PELTON_TESTS_TIMES_H
#define PELTON_TESTS_TIMES_H

#include "daemon/worker/schedule/batch.h"
#include "daemon/worker/schedule/knobs.h"
#include "daemon/worker/schedule/queues.h"
#include "daemon/worker/schedule/slots.h"
#include "daemon/worker/schedule/split.h"

#define STEP_NS       50000
#define CODERS        16
#define STREAMS       64
#define IDLE          900
#define PICTURES      8192
#define CLIP_PICTURES 216
#define HELD          4 /* reference pictures of a stream */
#define MBS           8160
#define FETCH_S       0.012
#define LOOKS         40 /* steps between two looks of the entropy thread */

struct machine {
    double cpu[3];       /* ns a byte of a coder: I, P, B */
    double gpu;          /* ns a byte of a slice's weight, with nothing beside it */
    double gpu_most;     /* subgroups that the GPU has at full speed */
    double gpu_part;     /* of that, beside reconstruction that never stops */
    double gpu_slow;     /* times slower each slice is beside it, less one */
    double share;        /* part of its time that a slice takes longer for each doubling */
    double recon;        /* s a batch, */
    double recon_one;    /* and s a picture */
    double beside;       /* times slower with 960 subgroups beside it, less one */
    double motion;       /* s a batch of motion derivation */
    double parse;        /* s a picture */
    double device, host; /* MiB that the worker may hold of each */
};
extern struct machine machine;

struct sim_picture {
    struct picture p;
    struct h264_picture pic;
    struct h264_slice slice;
    uint32_t readers; /* pictures not DONE that refer to it, and the DPB */
    bool retired;
    struct sim_picture *next;
};

struct sim_stream {
    struct window w;
    uint32_t at;
    double parsed_s; /* when the source has the next picture */
    struct sim_picture *held[HELD], *before, *middle;
};

struct sim_batch {
    struct picture *pictures[SPLIT_PICTURES];
    uint32_t count, at, share;
    uint64_t largest;
    double begin_s, decoded_s, begin_v;
    bool works, decoded;
};

struct sim {
    struct schedule s;
    struct h264_sps sps;
    struct sim_stream streams[STREAMS];
    struct window idle[IDLE];
    struct sim_picture *all, *spare;
    struct slots slots;
    struct coder_work work[CODERS];
    double work_end_s[CODERS];
    struct split_capacity capacity;
    struct sim_batch batches[SPLIT_BATCHES];
    struct picture *motion[SPLIT_PICTURES];
    uint32_t motion_count, done_batches, active;
    uint64_t resident; /* bytes of slices of pictures that the GPU has decoded */
    uint32_t waiting;  /* and how many these are */
    double motion_begin_s, motion_end_s,
        slice_v; /* seconds that a slice in work since the start has come on */
    struct batch recon[BATCHES_IN_FLIGHT];
    struct batch_entry entries[BATCHES_IN_FLIGHT][BATCH_WIDTH];
    uint32_t in_flight;
    double recon_left_s, recon_busy;
    double now_s;
    uint32_t streams_used, id;
    const char *kinds;
    const uint32_t *bytes;
    struct {
        uint64_t frames, bytes, gpu_bytes, gpu_pictures, late, batches;
        double busy, batch_s, coders, full, far, recon, ready, resident;
        uint64_t looks, submitted, open, free_slots, short_of_slots;
    } sum;
};
extern struct sim sim;

static inline int64_t sim_ns(void)
{
    return (int64_t)(sim.now_s * 1e9) + 1;
}

static inline struct sim_picture *sim_of(struct picture *p)
{
    return (struct sim_picture *)p;
}

/* times_streams.c: pictures come and go. */

void picture_unread(struct sim_picture *q); /* by one reader less */
void pictures_retire(void);
void sources_step(void);

/* times_decode.c: coders, and the GPU's entropy decoding and motion. */

void coders_step(void);
void entropy_step(bool look);
void motion_step(void);

/* times_device.c */

void recon_step(void);

#endif
