/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A ring of submissions from inside: for work.c and work_play.c.
 */
#ifndef PELTON_GPU_WORK_INTERNAL_H
#define PELTON_GPU_WORK_INTERNAL_H

#include "gpu/engine/work.h"

struct part {
    VkCommandPool pool;
    VkCommandBuffer commands;
    bool recorded, recording;
    struct gpu_point after[GPU_QUEUES];
    uint32_t after_count;
    uint32_t after_parts; /* mask */
    struct barrier_state barriers;
    uint64_t value; /* once submitted */
};

struct entry {
    struct gpu_submission s; /* first: users have a pointer to it */
    struct part parts[GPU_WORK_PARTS];
    uint32_t part; /* that is being recorded */
    VkQueryPool queries;
    struct {
        uint32_t name, part;
    } *stamps;
    uint32_t stamp_count;
    bool busy; /* submitted and not yet found complete; under gpu_work.lock */
};

struct gpu_work {
    struct gpu *g;
    struct gpu_work_params params;
    uint32_t most_stamps; /* with those at the starts of parts; 0: none */
    struct entry *entries;
    struct barrier_state barriers[GPU_WORK_PARTS]; /* as of the last submission */
    struct gpu_point last[GPU_WORK_PARTS];
    pthread_mutex_t lock; /* busy, next; held around callbacks */
    bool lock_made;
    bool idle;     /* the last poll found nothing in flight */
    uint32_t next; /* entry of the next submission: the oldest */
};

static inline struct entry *entry_of(const struct gpu_submission *s)
{
    return (struct entry *)s;
}

#endif
