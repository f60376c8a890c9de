/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Entropy decoding on the GPU: its batches.
 *
 * A batch is FREE -> DECODING (slices exported and submitted) -> FETCHING (arrays exist, the device
 * copies into them) -> FREE. Only reconstruction reads coefficients. They stay in device memory as
 * long as there is room (device_memory.h). So do the records of pictures whose motion the device
 * derives, too (motion_gpu.h).
 *
 * Pictures of a batch are in no queue. Damage is the CPU's: the device only says that it did not
 * get through.
 *
 * Thread: that of entropy_gpu.c, whose the batches are. The engine's lock guards pictures and
 * statistics.
 */
#ifndef PELTON_ENTROPY_BATCH_H
#define PELTON_ENTROPY_BATCH_H

#include "daemon/worker/engine/engine.h"
#include "daemon/worker/schedule/split.h"
#include "daemon/worker/steps/entropy_sums.h"

#include <uv.h>

enum batch_phase { BATCH_FREE, BATCH_DECODING, BATCH_FETCHING };

struct entropy_batch {
    enum batch_phase phase;
    struct gpu_entropy_batch *work;
    uint32_t count;
    struct {
        struct picture *picture;
        uint32_t index;        /* in the work */
        uint32_t coeff_blocks; /* 0: not decoded there */
        uint32_t packed_words; /* of packed levels in their place; 0: none */
        bool full;             /* it has more than it had room for */
        /* where they will be: the picture's own, once the lock is there */
        enum picture_lives records, coeffs;
    } parts[SPLIT_PICTURES];
    uint64_t largest; /* weight of the largest slice */
    uint64_t bytes;
    bool timely; /* as struct split has it */
    int64_t begin_ns, decoded_ns;
    double seconds; /* of the device */
};

/* The thread and its batches. */
struct entropy_gpu {
    struct engine *engine;
    struct split_capacity capacity;
    struct gpu_entropy *gpu; /* with the lock; NULL: not needed yet */
    /* as long as pictures may lie there; NULL: not needed yet, or no memory */
    struct resident *resident;
    struct gpu_entropy_batch *next; /* memory for the next batch exists; NULL: not yet */
    struct array_maker *arrays;
    struct motion_gpu *motion; /* NULL: not needed yet, or the coders do it */
    bool failed;               /* with the lock: it could not be made, or fails */
    uv_thread_t thread;
    uint32_t busy;     /* batches in work, */
    uint32_t made;     /* that ever were at once, so their memory exists, */
    uint32_t most;     /* and that may be, as memory allows */
    uint32_t done;     /* since none was in work */
    double cpu;        /* seconds of this thread that are charged already */
    int64_t worked_ns; /* when it had work last */
    bool holds;        /* memory since then that can be given back */
    struct entropy_sums sum;
    struct entropy_batch batches[SPLIT_BATCHES];
};

/* Pictures from the queue. False: none. With the lock. */
bool entropy_batch_fill(struct entropy_gpu *g, struct entropy_batch *b);
/* Pictures that could not be added are not ok in the end. 0 or enum gpu_error. Without the lock. */
int entropy_batch_submit(struct entropy_gpu *g, struct entropy_batch *b);
/* *over: nothing of it is in work any more. GPU_ERR_INVALID: nothing was decoded. Without the
 * lock. */
int entropy_batch_advance(struct entropy_gpu *g, struct entropy_batch *b, bool *over);
/* None of it was decoded there. Without the lock. */
void entropy_batch_forget(struct entropy_gpu *g, struct entropy_batch *b);
/* The pictures know where their arrays are. Coefficients in host memory count. With the lock. */
void entropy_batch_keep(struct schedule *s, const struct entropy_batch *b);
/* Its speed, once it is over. With the lock. */
void entropy_batch_measure(struct split *split, const struct entropy_batch *b, int64_t now);
/* The batch is over: its pictures are decoded, or refused. With the lock. */
void entropy_batch_settle(struct entropy_gpu *g, struct entropy_batch *b);

#endif
