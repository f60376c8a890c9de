/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Constants of a schedule: the user's choices, and the machine that it plans for.
 */
#ifndef PELTON_SCHEDULE_SETTING_H
#define PELTON_SCHEDULE_SETTING_H

#include "daemon/worker/schedule/tuning.h"

#include <stdbool.h>
#include <stdint.h>

/* Who entropy-decodes slices (step 2).
 * CPU: the coders do all. GPU: the device does all that it can.
 * BOTH: the device helps with files, if it has memory and queues for that.
 * AUTO: as BOTH, but on discrete devices only, and after one second of decoding. */
enum engine_entropy {
    ENGINE_ENTROPY_AUTO,
    ENGINE_ENTROPY_CPU,
    ENGINE_ENTROPY_GPU,
    ENGINE_ENTROPY_BOTH
};

struct schedule_setting {
    enum engine_entropy entropy;
    unsigned coders;        /* threads that decode */
    uint32_t lookahead;     /* pictures of a stream in its window; 0: by memory */
    uint32_t batch;         /* most pictures of a batch; 0: by the device */
    uint64_t shuffle_seed;  /* not 0: slices of the window in random order */
    uint64_t window_budget; /* bytes of host memory for all windows */
    uint64_t pool_budget;   /* bytes of host memory for all pools; 0: no bound */
    bool software;          /* the device is the CPU */
    bool discrete;          /* the device has memory of its own */
    /* bytes that are free; parts of it add up to half, which is the budget */
    uint64_t device_memory;
    uint32_t image_layers; /* most layers of an image array of the device */
    struct split_tuning tuning;
};

#endif
