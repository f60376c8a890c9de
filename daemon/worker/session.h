/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The worker's engine and its sessions: source -> access units -> pictures -> batches -> frames in
 * a pool. The protocol side of the worker (worker_internal.h) drives it and sends on what the
 * callbacks say.
 *
 * Thread: everything here is called, and calls back, on the loop thread. Inside there are one
 * stream thread per source, a pool of coders, and the device's thread. Back-pressure has one
 * origin: no free picture or pool slot -> coders wait -> the source stops reading.
 *
 * Life cycle of a session: IDLE -> OPENING (on_info) -> RUNNING
 * (on_format, on_frame…) -> on_end exactly once, also after session_close -> CLOSED.
 */
#ifndef PELTON_SESSION_H
#define PELTON_SESSION_H

#include "codec/h264_limits.h"
#include "daemon/worker/feed/feed.h"
#include "daemon/worker/schedule/setting.h"
#include "gpu/engine/gpu.h"
#include "proto/pelton.h"
#include "proto/wire_stretch.h"

#include <uv.h>

struct camera_encodings;
struct engine;
struct session;

struct engine_params {
    /* Stays open until the engine is closed, and the loop has run. NULL: sessions are decoded by
     * libavcodec, and open_gpu gives the device once something needs it. */
    struct gpu *gpu;
    /* Any thread, one call at a time; then tune_force is kept until it has. Returns 0 or enum
     * pelton_error, with a line in the log. */
    int (*open_gpu)(void *ctx, struct gpu **out);
    void *open_gpu_ctx;
    unsigned threads;   /* coders; 0: number of CPUs */
    unsigned lookahead; /* pictures of a stream between step 1 and delivery; 0: by memory */
    unsigned batch;     /* most pictures of a GPU batch; 0: by device */
    /* records in memory that the GPU fetches itself; 0: on hardware, 1: never, 2: always */
    uint8_t arena;
    uint8_t wavefront; /* recon_params.wavefront */
    enum engine_entropy entropy;
    /* bytes of the device's for what it has entropy-decoded; 0: by its memory */
    uint64_t entropy_memory;
    /* bytes that the worker may hold of the device and of the host; 0: by what is free */
    uint64_t memory_device, memory_host;
    uint64_t kept_units;       /* bytes that a live source keeps for new readers; 0: the preset */
    struct h264_limits limits; /* of each stream */
    int64_t idle_ns;           /* without work, before memory is given back; 0: MEMORY_IDLE_NS */
    bool gpu_motion; /* the GPU derives motion, if it entropy-decodes; else the coders do it all */
    /* not 0: entropy-decode the slices of the look-ahead window in a random order (tests the cut)
     */
    uint64_t shuffle_seed;
    uint64_t delay_seed; /* not 0: threads sleep at random before they take the lock (tests) */
    bool live_clocks;    /* the GPU's clocks stay up between the pictures of live streams */
    bool tune;           /* kernels as measured; else by the kind of device */
    /* "family=variant" of gpu/tune/tune.h; NULL or empty: none. Kept until engine_create returns */
    const char *tune_force;
    /* "name=number,..." of schedule/tuning.h; NULL or empty: none. Kept until engine_create returns
     */
    const char *split;
    bool timestamps; /* gpu_params.timestamps was set */
    gpu_log_fn log;
    void *log_ctx;
};
/* Whether so many bytes of video (0: unknown) are too few for entropy decoding by the GPU to begin
 * unasked. Queues and frame slots for it take time to make. threads: as in engine_params. */
bool engine_expects_little(uint64_t bytes, unsigned threads);
/* enum pelton_error */
int engine_create(uv_loop_t *loop, const struct engine_params *params, struct engine **out);
/* NULL: no device is open yet. */
const struct gpu_device_info *engine_device(const struct engine *e);
/* Opens the device where that was put off, and starts its threads. Any thread, without the lock. 0
 * or enum pelton_error. */
int engine_need_gpu(struct engine *e);
/* So many engines of this machine have work, and each takes its share of the cores. Any thread. */
void engine_share_cores(struct engine *e, unsigned engines);
/* So many more streams, or fewer, whose frames the device encodes (split.h). Any thread, without
 * the lock */
void engine_add_encoders(struct engine *e, int count);
/* that the device entropy-decodes at once; 0: the CPU does it */
uint32_t engine_entropy_pictures(struct engine *e);
/* closes all sessions first */
void engine_close(struct engine *e, void (*closed)(void *ctx), void *ctx);
/* The process is about to end by _exit: sums are logged, nothing is freed. */
void engine_leave(struct engine *e);

/* What a session is told beside the parameters of its reader. */
struct session_extra {
    struct wire_stretch stretch;
    /* Who decodes which stretch; NULL: every stretch.count-th. The session's once session_open has
     * succeeded. */
    struct stretch_table *table;
    uint64_t join_bytes; /* of the file that are left, when this part still joins */
    uint64_t resume_sequence;
    bool probe_only;
    bool shared; /* all readers of the address share one connection */
    struct feed_user user;
    /* The reader is in this process, and uses the memory of slots: the session ends once all of
     * them are released. */
    bool inside;
    /* Not NULL: the address is a camera that gives no H.264, and its frames are encoded. */
    struct camera_encodings *encodings;
};

/* Returns at once; a source that cannot be opened ends with on_end. fd, where used, becomes the
 * session's; params and its strings are borrowed for the call only. No callback runs before
 * session_open has returned. resume_sequence: 0, or after the loss of an earlier worker the first
 * sequence that the reader still lacks. The source is the same from its start; sequences, loops,
 * max_frames and duration count from the start as always, and frames before resume_sequence are
 * made, where references need them, but neither get a slot of the pool nor on_frame. (Decoding may
 * start at any earlier IDR whose sequence is known.) */
int session_open(struct engine *e, const struct pelton_open_params *params,
                 const struct session_extra *extra, const struct feed_callbacks *callbacks,
                 void *ctx, struct session **out);
/* A reader is done with a slot; a wrong epoch, slot or generation is ignored. With extra.inside:
 * any thread. */
void session_release(struct session *s, uint32_t epoch, uint32_t slot, uint32_t generation);
/* The reader of a session that may have ended has closed it. all: it has given back every frame;
 * else its pools serve no other stream. */
void engine_pools_returned(struct engine *e, uint32_t stream, bool all);
void session_stats(struct session *s, struct pelton_stats *out);
/* What streams were refused by their limits. */
void engine_refused(struct engine *e, uint64_t out[H264_LIMITS]);
/* Access units of live sources. */
struct live_usage {
    uint64_t held;    /* bytes */
    uint64_t most;    /* bytes that one source keeps for new readers */
    uint64_t refused; /* times that a source gave up such units, as they were too many */
};
void engine_live(struct engine *e, struct live_usage *out);
/* Fills worker_gpu and worker_host: what the whole worker holds. */
void engine_memory(struct engine *e, struct pelton_stats *out);
/* Asynchronous: on_end follows. s is gone when on_end returns, whether session_close was called
 * before or not; slots that readers still hold then are theirs (the pool's memfd outlives the
 * session). */
void session_close(struct session *s);

#endif
