/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The engine: threads, one lock, one device, one schedule.
 *
 * Threads: the loop thread (callbacks), a source thread per session (libavformat and step 1), the
 * coders (steps 2 and 3), the device's thread (steps 4 and 5), and one for entropy and motion on
 * the GPU. Helpers make frame pools and arrays ahead of time, and one
 * frees pools.
 *
 * engine.lock guards every field that is not marked with its thread. Nothing slow happens under it:
 * no decoding, no Vulkan, no system call that may block. Nobody unreferences a picture under it, as
 * its last reference takes it.
 */
#ifndef PELTON_ENGINE_H
#define PELTON_ENGINE_H

#include "daemon/worker/clock.h"
#include "daemon/worker/engine/device_sums.h"
#include "daemon/worker/memory/host_memory.h"
#include "daemon/worker/schedule/schedule.h"
#include "daemon/worker/session.h"
#include "gpu/tune/tune.h"

#include <stdatomic.h>

/* A thread of steps 2 and 3. */
struct coder {
    struct engine *engine;
    uv_thread_t thread;
    struct h264_scratch *scratch;
    uint64_t random; /* for shuffle_seed */
    uv_cond_t wake;
    atomic_bool idle;
    struct coder *next_idle;
};

struct engine_loop {
    uv_loop_t *loop;
    uv_async_t async;
    uv_idle_t awake;             /* keeps the loop thread awake, */
    atomic_llong awake_until_ns; /* until a frame of a live stream is there */
    bool closing;
    void (*closed)(void *ctx);
    void *closed_ctx;
};

/* How often threads wanted the lock and somebody had it. With the lock. */
struct lock_sums {
    uint64_t taken, waited;
    int64_t waited_ns, most_ns;
};

/* CPU time of the device's thread: what a session that was always there has to bear, seconds. */
struct device_cpu {
    double works, waits;
};

struct engine_threads {
    unsigned cores;       /* of this engine, if no other has work */
    struct coder *coders; /* [cores]; those from schedule.setting.coders on rest */
    struct coder *idle;   /* the last one that became so first: its caches are the warmest */
    unsigned coders_started;
    uv_thread_t device;
    bool device_started;
    uv_thread_t pools;
    bool pools_started;
    bool pools_stopping;
    uv_cond_t pool_work;
    uv_cond_t device_work;
    atomic_bool device_signal; /* something changed since the device's thread looked */
    uv_cond_t gpu_coder_work;
    bool gpu_coder_sleeps;
    bool stopping;
    struct lock_sums sums;
    struct device_sums device_sums;
    struct device_cpu device_cpu;
};

/* Bandwidth of device memory, measured if stages are timed. */
struct engine_bandwidth {
    double bytes_per_second;
    bool due;
    unsigned measured; /* times */
};

/* What may be given back after a while without work; the device's thread. */
struct engine_idle {
    int64_t look_ns;  /* when to look again */
    int64_t since_ns; /* since when there are no sessions; 0: there are some */
    bool given;       /* host memory has been given back since then */
    bool due;         /* there is more to give back later */
};

struct engine {
    struct engine_params params;
    int64_t idle_ns; /* without work, before memory is given back */
    struct engine_idle idle;
    struct live_sources *live;   /* cameras that give H.264, and network sources */
    struct index_cache *indexes; /* of files */
    bool lavc;                   /* sessions are decoded by libavcodec where it can; constant */
    uv_mutex_t gpu_opens;        /* held while the device is opened; never with the lock */
    int gpu_error;   /* under gpu_opens: the threads on the device could not be started */
    struct gpu *gpu; /* NULL: not opened yet */
    const struct gpu_device_info *device;
    bool software;
    bool gpu_lost;
    int64_t short_ns; /* device's thread: since when a stream waits for the budget; 0: none does */
    int64_t asked_ns; /* device's thread: when the broker heard of such a stream */
    struct tune tune; /* which kernels its stores take */
    struct engine_bandwidth bandwidth;
    struct gpu_pulse *pulse; /* device's thread: keeps clocks up for live streams; NULL: not yet */
    struct memory memory;
    uint64_t refused[H264_LIMITS]; /* of all streams, by their limits */
    uv_mutex_t restores;           /* held while a coder restores records; never with the lock */
    atomic_uint_fast64_t restored; /* pictures whose records were */

    uv_mutex_t lock;
    struct engine_loop loop;
    struct engine_threads threads;
    struct schedule schedule;
    struct entropy_gpu *entropy_gpu; /* NULL: the CPU does it all */
    uint64_t entropy_bytes;          /* of the device, for entropy and motion on the GPU */
    struct session *sessions;
    struct session *noted, **noted_tail; /* those that the loop thread has to call back */
    struct pool *old_pools;              /* of sessions that have ended: pool_ends.h */
    struct pool *kept_pools; /* the same, for the next session of their readers; oldest first */
    uint32_t old_pool_count, session_count;
};

int engine_lock_init(struct engine *e); /* 0 or enum pelton_error */
void engine_lock_destroy(struct engine *e);
/* The lock. Whoever has work by the schedule's wakes is signalled when it is dropped. */
void engine_lock(struct engine *e);
void engine_unlock(struct engine *e);
/* How much threads waited for it, to the log of work on pelton. With the lock. */
void engine_lock_log(const struct engine *e);
/* With the lock, dropped meanwhile; timeout_ns 0: no limit. */
void engine_wait(struct engine *e, uv_cond_t *cond, uint64_t timeout_ns);
/* With the lock: signals now. For the device's thread, before it looks at device_signal. */
void engine_signal(struct engine *e);

/* With the lock: whether an idle coder is among the first that a LIVE picture takes, one a slice
 * and no more than half of all coders. */
bool coder_is_next(const struct coder *c);

void engine_notify(struct engine *e); /* any thread: run sessions_dispatch on the loop */
/* Any thread: a frame of a live stream is about to be finished. */
void engine_expect(struct engine *e);
/* With the lock: every session fails with it. After GPU_ERR_LOST the device is not asked again. */
void engine_device_failed(struct engine *e, int error);

static inline void engine_log(const struct engine *e, int level, const char *line)
{
    if (e->params.log)
        e->params.log(e->params.log_ctx, level, line);
}

#endif
