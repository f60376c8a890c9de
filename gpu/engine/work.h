/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Work on queues. A gpu_work is a ring of submissions that are recorded, submitted, and found
 * complete again and again. A submission has one or more parts, each a command buffer on its own
 * queue. Nothing is freed late: whatever must follow a submission happens in its callback.
 *
 *   begin -> record, (depend, sync, commands, stamp).. for each part -> submit -> poll: done()
 *
 * A submission that is not submitted needs no undoing: the next begin returns the same one, and
 * barriers are as of the last submission. A lost device is not completion: every function returns
 * GPU_ERR_LOST and done() is never called again.
 *
 * Thread: one at a time from begin to submit; any for the functions that say so.
 */
#ifndef PELTON_GPU_WORK_H
#define PELTON_GPU_WORK_H

#include "gpu/engine/barrier.h"
#include "gpu/engine/vk.h"

#define GPU_WORK_PARTS 4
#define GPU_WORK_BEGIN UINT32_MAX /* name of the timestamp at the start of each part */

struct gpu_work;

struct gpu_submission {
    struct gpu_work *work;
    uint32_t index;                 /* in the ring, 0..depth-1 */
    VkCommandBuffer commands;       /* of the part that is being recorded */
    struct barrier_state *barriers; /* of its queue */
    bool alone;                     /* at gpu_work_begin nothing else was in flight */
    struct gpu_point last;          /* once submitted: when it is reached, all parts are done */
};

struct gpu_work_params {
    /* The queue of each part, open until gpu_work_free. NULL: no such part. */
    struct gpu_queue *queues[GPU_WORK_PARTS];
    uint32_t depth;  /* submissions in flight at most */
    uint32_t stamps; /* timestamps of one submission at most; 0: none */
    /* Both are called with the ring's lock held, so they must not call functions of gpu_work other
     * than gpu_work_times. NULL allowed.
     * submitted: by gpu_work_submit, before any thread can find the submission complete.
     * done: in the order of submission, by the thread that finds it complete. */
    void (*submitted)(void *ctx, const struct gpu_submission *s);
    void (*done)(void *ctx, const struct gpu_submission *s);
    void *ctx;
};

int gpu_work_create(struct gpu *g, const struct gpu_work_params *params, struct gpu_work **out);
/* Waits for the device, without done(). NULL allowed. */
void gpu_work_free(struct gpu_work *w);

/* The next submission of the ring. Polls first, and waits up to timeout_ns for the oldest one when
 * all are in flight. Returns 1 if the ring is still full. */
int gpu_work_begin(struct gpu_work *w, uint64_t timeout_ns, struct gpu_submission **out);
/* Begin to record a part; ends the part that was being recorded. Each part once. */
int gpu_work_record(struct gpu_submission *s, uint32_t part);
/* The part that is being recorded starts after the point, and sees all writes before it. */
void gpu_work_depend(struct gpu_submission *s, struct gpu_point point);
/* The same of an earlier part of this submission; nothing if that part is not recorded. */
void gpu_work_depend_part(struct gpu_submission *s, uint32_t part);
/* The next command of the part accesses these resources from the stage. Records the barrier that
 * follows from that. Masks are the user's own numbering of resources. place: the caller, for
 * barrier_drop.h. */
void gpu_work_sync_at(struct gpu_submission *s, enum barrier_stage stage, uint32_t reads,
                      uint32_t writes, const char *place);
#define gpu_work_sync(s, stage, reads, writes) gpu_work_sync_at(s, stage, reads, writes, __func__)
/* Nothing has to be waited for of these resources: the host or a point has done so, or they are
 * other memory now. */
void gpu_work_forget(struct gpu_submission *s, uint32_t resources);
/* The host reads these resources when the submission is done. */
void gpu_work_sync_host_at(struct gpu_submission *s, uint32_t reads, const char *place);
#define gpu_work_sync_host(s, reads) gpu_work_sync_host_at(s, reads, __func__)
/* Write a timestamp when all commands before it have finished. Nothing where the queue has none,
 * gpu_params.timestamps is not set, or params.stamps are used up. */
void gpu_work_stamp(struct gpu_submission *s, uint32_t name);
/* Submit the recorded parts in their order. The last one must depend on all others. After an error
 * none of them is running. */
int gpu_work_submit(struct gpu_submission *s);

/* The last submission of a part; value 0: none yet. Thread: that of begin. */
struct gpu_point gpu_work_last(const struct gpu_work *w, uint32_t part);
/* Call done() for each submission that is complete, oldest first, up to the first that is not.
 * Does not block. Thread: any. */
int gpu_work_poll(struct gpu_work *w);
/* Wait for the oldest submission in flight, then poll. Returns 0, 1 on timeout, or an error. At
 * once 0 when nothing is in flight. Thread: any. */
int gpu_work_wait(struct gpu_work *w, uint64_t timeout_ns);
/* Wait until nothing is in flight. Thread: any. */
int gpu_work_drain(struct gpu_work *w);
/* The end of the oldest submission in flight; false: none. Thread: any. */
bool gpu_work_oldest(struct gpu_work *w, struct gpu_point *out);
/* Inside done(): for each timestamp but GPU_WORK_BEGIN, the seconds since the one before it. */
void gpu_work_times(const struct gpu_submission *s,
                    void (*add)(void *ctx, uint32_t name, double seconds), void *ctx);

/* Record by a callback into a command buffer of the main queue, submit it after `count` points, and
 * wait for it. Thread: any. */
typedef void (*gpu_record_fn)(struct gpu *g, VkCommandBuffer commands, void *ctx);
int gpu_run_after(struct gpu *g, const struct gpu_point *after, uint32_t count,
                  gpu_record_fn record, void *ctx);
int gpu_run(struct gpu *g, gpu_record_fn record, void *ctx);

#endif
