/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files of the worker's engine share: the objects, who owns them, and one lock.
 *
 * Threads: the loop thread (callbacks), one stream thread per session (libavformat and step 1,
 * stream.c), the codec workers (steps 2 and 3, workers.c) and one GPU thread (steps 4 and 5,
 * gpu_thread.c), which alone calls gpu.h and recon.h after start-up. Where the GPU does step 2,
 * too, a thread of its own gives it pictures and takes them back (entropy_gpu.c,
 * gpu/h264/gpu_entropy.h).
 *
 * engine.lock guards every field below that is not marked with the thread that owns it. Nothing
 * slow happens under it: no decode, no Vulkan, no system call that may block. A picture is never
 * unreferenced under it, for job_picture_freed takes it.
 */
#ifndef PELTON_ENGINE_INTERNAL_H
#define PELTON_ENGINE_INTERNAL_H

#include "codec/h264.h"
#include "daemon/worker/clock.h"
#include "daemon/worker/feed/subscription.h"
#include "daemon/worker/session.h"
#include "gpu/h264/recon.h"
#include "gpu/tune/tune.h"

#include <limits.h>
#include <stdatomic.h>

#define BATCH_DELIVERIES 64
#define LIVE_NS          1000000000ll /* a live stream without a picture for so long is asleep */
/* of a live stream that are in work at most; else it is read faster than it plays */
#define LIVE_PICTURES 2

/* ---- pictures (jobs.c) ---- */

/* PARSING -> READY (motion derived) -> SUBMITTED (in a batch) -> DONE (samples exist).
 * A picture that is lost is READY with failed set: its samples are a copy. */
enum job_state { JOB_PARSING, JOB_READY, JOB_SUBMITTED, JOB_DONE };

struct job;
struct job_wait { /* "waiter needs the motion of the job whose list this is in" */
    struct job *waiter;
    struct job_wait *next;
};

/* What the pictures of one frame share: a frame is one picture, two fields, three colour planes, or
 * three of each field. */
struct frame_state {
    /* how many there are, and how many of them are past that; all are there before the output is */
    uint8_t pictures, submitted, done;
    bool corrupt;   /* as of the pictures submitted */
    bool filled;    /* of a single field: its rows stand for the other one's too */
    uint64_t batch; /* the last one that writes the slot */
    int32_t poc[2]; /* of the fields */
    int64_t trace[PELTON_TRACE_POINTS]; /* of the last picture that got there */
};

/* The engine's side of a picture; lives exactly as long as the picture (on_free releases both job
 * and frame slot). */
struct job {
    /* What is looked at in passing, as windows and queues are long. */
    enum job_state state; /* job_set_state */
    struct job *next;     /* session.window, in decoding order */
    struct job *next_entropy, *prev_entropy;
    /* of its slices; the latter entropy_slice_weight's, only where offloads has been true */
    uint64_t bytes, largest_slice;
    uint64_t turn; /* its place in engine.entropy */
    struct session *session;

    /* the reference of the session's window, until the job is retired from it */
    struct h264_picture *pic;
    /* of the frame slot: that of the first field, of plane 0, whose picture this one holds; else
     * itself */
    struct job *owner;
    struct frame_state frame; /* the owner's */
    struct store *store;      /* where slot lies, NULL before submission */
    bool failed;              /* not reconstructable: copied from another frame */
    bool queued;              /* in engine.entropy */
    bool motion_done;
    bool allocated; /* the picture's arrays exist */
    bool counts;    /* in session.arrays */
    bool urgent;    /* others that have been decoded wait for it */
    bool offloads;  /* the GPU may entropy-decode it, as long as nobody has begun */
    /* of a live stream, whose next picture has not come yet: counts in engine.live_jobs until it is
     * submitted */
    bool live;
    uint32_t slice_next, slices_left, slice_chunk;
    uint32_t *slice_order; /* with shuffle_seed: a permutation; else NULL */
    bool follows; /* motion of its slices may be derived one by one, once motion_waits is 1 */
    /* macroblocks whose motion is derived and whose records are validated, and what these have */
    uint32_t followed;
    struct rec_seen seen;
    uint32_t motion_waits; /* jobs whose motion must come first, plus one for the own entropy */
    /* of its colocated pictures, and of the one that concealment goes on from */
    struct job_wait waits[33];
    uint32_t wait_count;
    struct job_wait *waiters;
    uint32_t seat;  /* session.seat when it took its slot */
    uint64_t batch; /* serial number of the batch that holds it, 0 before */
    uint64_t kept;  /* in engine.entropy_kept */
    /* units of coefficients that it has from the GPU; 0: none, or they are taken over */
    uint32_t fetched;
    bool derives;   /* the GPU may derive its motion */
    bool sends;     /* and is to, though a worker entropy-decodes it; its slices are not followed */
    uint32_t units; /* of coefficients, where sends */
    /* its records in the device's memory, until the GPU has derived their motion (motion_gpu.h);
     * NULL: none */
    void *raw;
    struct job *motion_left, *motion_right; /* engine.motion or derive */
    uint32_t motion_rank;
    struct job *next_follow;
};

/* ---- output (stream.c makes, scheduler.c submits, gpu_thread.c completes, session_tend.c
 * announces) ---- */

enum output_state { OUTPUT_QUEUED, OUTPUT_SUBMITTED, OUTPUT_COMPLETE };

struct output {
    struct h264_picture *pic; /* own reference; its job is the frame's owner */
    uint8_t structure;        /* REC_FRAME, or the field that leaves */
    enum output_state state;
    bool drop;               /* not to be announced: before start_us, or dropped by policy */
    struct feed_frame frame; /* owns its side */
    struct pool *pool;       /* once submitted */
    struct output *next;
};

/* ---- frame stores (store.c) ---- */

struct store_key {
    uint32_t mb_width, mb_height;
    uint8_t chroma_format_idc, bit_depth[2];
    bool interlaced, separate_planes;
};

/* A recon and the meaning of its slots. Shared by sessions of one picture size; each has a quota of
 * slots. */
struct store {
    struct store_key key;
    struct recon *recon;
    uint32_t slots, width, flight;
    uint32_t users; /* sessions */
    uint32_t live;  /* slots in use */
    uint32_t owed;  /* free slots that sessions are sure of, as of the batch being collected */
    uint32_t kept;  /* free slots that pictures ahead leave for the next session */
    int32_t *free_slots;
    uint32_t free_count;
    struct batch *first, *last; /* in flight, oldest first */
    struct batch *spare;
    uint32_t in_flight;
    uint64_t idle_since;      /* engine.serial when it was last used */
    struct recon_times times; /* as of the last completion */
    uint64_t memory;
    struct store *next;
};

bool store_key_equal(const struct store_key *a, const struct store_key *b);
struct store_key store_key_of(const struct h264_sps *sps);
/* Attach s to a store for pictures with this SPS; detaches it from its former one. STORE_LATER:
 * other sessions have to give back slots first. GPU thread, with the lock, which it drops
 * meanwhile. */
#define STORE_LATER 1
int store_attach(struct engine *e, struct session *s, const struct h264_sps *sps);
void store_detach(struct session *s);
/* slots that a stream needs to make progress in decoding order */
uint32_t store_base(const struct session *s, const struct h264_sps *sps);
/* the session's store can hold its pictures */
bool store_serves(const struct session *s, const struct h264_sps *sps);
/* free what is idle; GPU thread, with the lock, dropped meanwhile */
void store_collect(struct engine *e, bool all);
/* host memory of a picture in a window, an upper estimate */
uint64_t window_picture_bytes(const struct h264_sps *sps, uint32_t mb_count);
uint32_t arrays_for(const struct engine *e, uint64_t picture_bytes, uint32_t sessions);
uint32_t lookahead_for(const struct engine *e, uint64_t picture_bytes, uint32_t sessions);
/* free slots that its sessions are sure of */
uint32_t slots_owed(const struct engine *e, const struct store *st);

/* ---- batches (scheduler.c, gpu_thread.c) ---- */

struct batch {
    struct batch *next;
    struct store *store;
    uint64_t serial, ticket;
    uint32_t n, m;
    struct job **jobs; /* [store.width]; NULL where a slot is only filled with grey */
    struct recon_picture *pictures;
    struct rec_view *views;
    struct {
        struct session *session;
        struct output *output;
    } outputs[BATCH_DELIVERIES];
    struct recon_delivery deliveries[BATCH_DELIVERIES];
};

void gpu_thread_main(void *engine);
/* with the lock */
void gpu_fail_all(struct engine *e, int code, const char *cause, const char *hint);

/* ---- memory (memory.c) ---- */

#define MEMORY_CLASSES 256
struct memory {
    uv_mutex_t lock;
    void *free_list[MEMORY_CLASSES];
    struct slab *slabs[MEMORY_CLASSES];   /* with a free block */
    uint32_t slab_blocks[MEMORY_CLASSES]; /* free ones of theirs */
    /* of the slabs; NULL: all blocks from the heap. Set before the first block is taken */
    struct gpu *gpu;
    size_t slab_bytes;
    uint64_t cached, limit; /* bytes of free blocks */
};
/* A session's view of it, which the codec holds. Lives until the session and the last block are
 * gone: pictures may be freed on another thread a moment after their session. */
struct account {
    struct h264_allocator allocator, bytes;
    struct memory *memory;
    atomic_uint_fast64_t used;
    atomic_uint refs;
};
int memory_init(struct memory *m, uint64_t cache_limit);
void memory_free(struct memory *m);
/* How many of `count` blocks of that size there are not, if they come from slabs. */
uint32_t memory_missing(struct memory *m, size_t size, uint32_t count);
/* A slab of what is missing, or of a part. False: nothing is, or there is no memory. Takes a tenth
 * of a second, in which allocations of other threads go on. */
bool memory_provide(struct memory *m, size_t size, uint32_t count);
struct account *account_create(struct memory *m);
void account_unref(struct account *a); /* NULL allowed */

/* ---- sessions (session.c) ---- */

struct session {
    struct engine *engine;
    struct session *next;
    struct subscription sub;

    /* Parameters, copied; constant after session_open, but params.blur_width and blur_height (GPU
     * thread). */
    struct pelton_open_params params;
    struct wire_stretch stretch;
    char *uri, *name, *pix_fmt;
    int fd;
    bool probe_only;
    uint64_t resume_sequence;
    bool live; /* access units come at their own pace; constant once the source is open */
    /* store and pool are made for it while the stream thread waits in room */
    const struct h264_sps *ahead;

    uv_thread_t thread;
    bool thread_started, thread_ended;
    atomic_bool stop;  /* the source is to end at once: closing, or enough has been seen */
    bool abort;        /* what is in flight is thrown away: closing, GPU lost */
    uv_cond_t room;    /* the stream thread waits here for the window to shrink */
    bool source_waits; /* it does */

    struct job *window, **window_tail; /* decoding order, PARSING to DONE; retired from the front */
    uint32_t window_busy;              /* of these, not DONE */
    struct job *waiting;               /* the oldest one that is not submitted; NULL: all are */
    uint32_t frames_ahead;             /* submitted before it, though later */
    uint32_t ready;                    /* pictures in that state */
    struct job *last_queued; /* of its pictures in engine.entropy the last one; NULL: no telling */
    uint32_t queued; /* of its pictures there, those that nobody has begun and nobody waits for */
    uint64_t picture_bytes; /* window_picture_bytes of its first picture, 0 before it */
    struct output *outputs, **outputs_tail;
    uint32_t live_pictures; /* jobs that exist */
    int64_t live_ns;        /* when the last picture that was decoded as it came did */
    uint64_t jobs;          /* that ever were */
    /* jobs that a worker has begun and that are not DONE; and how many may be while the GPU
     * decodes, too */
    uint32_t arrays, arrays_most;
    uint64_t turn; /* of its last job */

    struct store *store;
    /* frame slots: allowed, of these needed for in-order progress, in use */
    uint32_t quota, base, held;
    uint32_t want, seat; /* pictures ahead that it can use; counts the stores it was attached to */
    int64_t store_wait_ns; /* since when it waits for slots of a store; 0: it does not */

    struct pelton_probe_sei probe_sei; /* first is the session's */
    bool has_container_colour;
    struct pelton_colour container_colour;
    struct pelton_rational container_sar;

    struct account *account;
    struct pelton_stats stats; /* without the fields that session_stats computes */
    uint64_t dropped_decoder;
    uint64_t peak_host, peak_gpu; /* most bytes held */
    int64_t opened_ns, ended_ns;
    struct recon_times gpu_base; /* the store's times when this session attached to it */
    struct recon_times gpu_sum;  /* from stores used before */
    uint64_t gpu_pictures;       /* submitted to the present store */
};

/* with the lock; the first cause stays */
void session_fail(struct session *s, int code, const char *cause, const char *hint);
void session_account_memory(struct session *s); /* with the lock: notes the most */
/* with the lock: sum over stores */
void session_account_gpu(struct session *s, struct recon_times *out);
void sessions_dispatch(struct engine *e); /* loop thread, without the lock */
void stream_thread_main(void *session);

/* ---- entropy decoding on the GPU (entropy_gpu.c) ---- */

struct entropy_rate {
    double seconds, bytes; /* of late; 0: nothing is known */
};

/* no thread where the setting or the device is against it */
int entropy_gpu_start(struct engine *e);
void entropy_gpu_stop(struct engine *e); /* once e->stopping is set and the GPU thread has ended */
void entropy_gpu_wake(struct engine *e); /* with the lock: a picture for it is in the queue */
bool entropy_gpu_works(const struct engine *e);      /* these with the lock */
uint32_t entropy_gpu_depth(const struct engine *e);  /* pictures that it has in work at most */
uint64_t entropy_gpu_memory(const struct engine *e); /* bytes of the device */

/* ---- the engine ---- */

struct worker {
    struct engine *engine;
    uv_thread_t thread;
    struct h264_scratch *scratch;
    uint64_t random;
    uv_cond_t wake;
    atomic_bool idle;
    struct worker *next_idle;
};

struct engine {
    uv_loop_t *loop;
    uv_async_t async;
    uv_idle_t awake;             /* keeps the loop thread awake */
    atomic_llong awake_until_ns; /* for the frame of a live stream that the GPU is at work on */
    struct engine_params params;
    struct v4l2_streams *streams; /* cameras that give H.264 */
    struct gpu *gpu;
    const struct gpu_device_info *device;
    bool software;
    struct tune tune; /* which kernels its stores take */
    double bandwidth; /* of device memory, bytes per second, where stages are timed */
    bool measure;     /* GPU thread: that has to be done, and how often it was */
    unsigned measured;

    uv_mutex_t lock;
    uv_cond_t gpu_work;     /* the GPU thread */
    atomic_bool gpu_signal; /* something changed since the GPU thread looked */
    uint32_t live_jobs;     /* the GPU thread stays awake for them */
    /* GPU thread: keeps the device's clocks up between live pictures; NULL: not needed yet */
    struct gpu_pulse *pulse;
    int64_t live_ns;     /* when the last live picture came; 0: none did */
    int64_t live_due_ns; /* when the next one of its stream is expected; 0: no telling */
    bool stopping, gpu_stop, gpu_lost;

    /* pictures with slices that nobody has taken, in the order of their turns */
    struct job *entropy, *entropy_last;
    uint64_t turn_taken; /* of the last one that was begun */
    uint32_t entropy_count;
    uint64_t entropy_bytes;          /* of their slices */
    struct entropy_gpu *entropy_gpu; /* NULL: the CPU does it all */
    bool entropy_all;                /* the GPU does all that it can */
    /* of one worker, motion included; of a batch, from the queue until it is decoded, */
    struct entropy_rate cpu_rate, gpu_rate;
    struct entropy_rate gpu_fetch; /* and from then on, a batch counting as one byte */
    double cpu_spent;              /* seconds of the workers, on slices and their motion */
    double gpu_margin;             /* the GPU may take so many times as long; 0: not known yet */
    int64_t gpu_chosen_ns;         /* when the last batch was chosen */
    /* host memory of what the GPU has taken, when it will be decoded, until it is DONE */
    uint64_t entropy_kept;
    struct job *motion; /* pictures whose motion may be derived: a heap, the first turn on top */
    struct job *derive; /* the same of those whose motion the GPU derives */
    /* of pictures of so many macroblocks at most, also those that workers have decoded; 0: of none
     * (motion_gpu.h) */
    uint32_t derives;
    struct job *follow; /* pictures of one slice, whose motion may be derived while it is decoded */
    struct session *sessions;
    uint32_t session_count;
    struct store *stores;
    struct memory memory;
    /* host memory of the pictures in all windows that are not DONE; see store.c */
    uint64_t window_budget;
    bool store_waits; /* GPU thread: a session waits for slots of a store */
    uint64_t serial;  /* of the last batch */
    uint32_t turn;    /* rotates the session that goes first */

    struct worker *workers;
    /* those without work; the last one to become so first, as its caches are the warmest */
    struct worker *idle;
    unsigned worker_count, workers_started;
    uv_thread_t gpu_thread;
    bool gpu_started;
    bool closing; /* loop thread */
    void (*closed)(void *ctx);
    void *closed_ctx;
};

void engine_wake_gpu(struct engine *e); /* with the lock */
void engine_notify(struct engine *e);   /* any thread: run sessions_dispatch on the loop */
/* any thread: a frame of a live stream is about to be finished */
void engine_expect(struct engine *e);
void engine_maybe_closed(struct engine *e);                     /* loop thread */
void job_trace(struct job *job, enum pelton_trace_point point); /* with the lock: it is there now */

/* ---- jobs.c, job_queues.c, workers.c ---- */

/* stream thread; takes the caller's reference */
int job_create(struct session *s, struct h264_picture *pic);
bool frame_submitted(const struct job *owner); /* every picture of the frame is; with the lock */
/* the other one never came; once the frame is output */
bool frame_is_single_field(const struct job *owner);
/* these with the lock; out of engine.entropy */
void entropy_remove(struct engine *e, struct job *job);
/* back at its turn, for the workers, at once */
void entropy_put(struct engine *e, struct job *job);
void job_decoded(struct engine *e, struct job *job); /* all slices are, or nobody wants them */
/* The GPU has: its arrays hold so many units, at least one, and records that nobody has looked at,
 * which is done when its motion may be derived. It has not, or they are not good. */
void job_fetched(struct engine *e, struct job *job, uint32_t units);
void job_give_back(struct engine *e, struct job *job);
void job_motion_finished(struct engine *e, struct job *job); /* step 3 is done, by whomever */
void job_set_state(struct job *job, enum job_state state);   /* with the lock */
void worker_main(void *worker);
void workers_wake(struct engine *e, unsigned most); /* with the lock */
void job_settled(struct job *job); /* with the lock: it is submitted, or never will be */
/* with the lock */
void jobs_retire(struct session *s, struct h264_picture **unref, uint32_t *count, uint32_t max);

#endif
