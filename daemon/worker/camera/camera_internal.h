/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Structures that the files of the camera host share. host.lock guards every field that is not
 * marked with the thread that owns it; nothing slow happens under it.
 *
 * Life cycle of a raw frame: FREE -> FILLING (capture) -> FULL -> DEVELOPING (a batch) -> FREE.
 * Life cycle of a camera: OPENING -> RUNNING <-> BACKOFF -> ENDED. It is freed once its thread has
 * ended, nothing is in flight and no reader is left.
 */
#ifndef PELTON_CAMERA_INTERNAL_H
#define PELTON_CAMERA_INTERNAL_H

#include "camera/camera_format.h"
#include "daemon/worker/camera/camera_host.h"
#include "daemon/worker/camera/camera_source.h"
#include "daemon/worker/clock.h"
#include "daemon/worker/feed/subscription.h"
#include "gpu/isp/isp.h"

enum { RAWS = SOURCE_BUFFERS, CAMERA_READERS = 48 };

enum raw_state { RAW_FREE, RAW_FILLING, RAW_FULL, RAW_DEVELOPING };
struct raw {
    enum raw_state state;
    uint8_t *memory;         /* in the camera's arena */
    uint32_t stride;         /* of its frame */
    uint64_t sequence, lost; /* lost: before it, since the camera was opened */
    struct source_frame frame;
};

/* The raw frames of a camera. */
struct raw_buffers {
    struct raw raws[RAWS];
    struct gpu_arena *arena; /* their memory, which the device fetches without a copy by the CPU */
    size_t size;             /* of each */
    bool direct;             /* the camera's device fills them by itself; capture thread */
    /* of a row: of frames that are copied there, and that the device has written there */
    uint32_t copied_stride, direct_stride;
};

/* The development of a camera's frames; development thread. */
struct developers {
    struct isp_camera *isp[ISP_FORMATS]; /* made for the first reader that wants the format */
    uint32_t look[ISP_FORMATS];          /* the look each was made for */
    struct isp_camera *meter;            /* develops a few pixels of a frame that no reader takes */
};

enum camera_state { CAMERA_OPENING, CAMERA_RUNNING, CAMERA_BACKOFF, CAMERA_ENDED };

struct camera {
    struct camera *next;
    struct camera_host *host;
    char *uri;
    /* params: as asked; from RUNNING on the device's. The capture thread changes them while it
     * opens, and only then. */
    struct camera_params asked, params;
    const struct source_ops *ops;
    void *source; /* capture thread */
    uv_thread_t thread;
    bool thread_ended, stop;
    bool known; /* the device was open once, so its format stands */
    enum camera_state state;
    uv_cond_t room; /* a raw frame is free, or stop */
    int stop_fd;    /* an eventfd that is readable from stop on */
    struct raw_buffers buffers;
    uint64_t sequence,
        lost; /* of the next frame; dropped by the device or for want of a raw frame */
    uint32_t n_readers, flying;
    bool undeveloped; /* nothing of it is on the device any more, nor will be */
    struct pelton_failure failure;
    char absent[256]; /* CAMERA_BACKOFF: the cause */
    int64_t period_ns;
    struct camera_tone tone;       /* from known on */
    struct camera_control control; /* from known on */
    struct camera_kept kept;       /* to be set when it is known */
    struct developers developers;
};

struct camera_reader {
    struct camera_reader *next;
    struct camera *camera;
    struct subscription sub;
    struct pelton_open_params params; /* no strings */
    char name[256];
    enum isp_format format;
    uint32_t fit[2]; /* camera_extra */
    bool own;        /* it is blurred or scaled, so no other reader has its frames */
    bool probe;
    bool prepared;          /* its development was set up, or could not be */
    bool ready;             /* its pool exists */
    bool done;              /* no frames any more: max_frames, a failure, or the camera has ended */
    int64_t ready_ns;       /* frames of a device in real time from then on are its own */
    struct isp_camera *isp; /* where it has its own; development thread */
    uint32_t isp_look;
    uint64_t base; /* of its sequence numbers */
    uint32_t flying;
    uint64_t dropped;
    struct pelton_stats stats;
    int64_t opened_ns;
};

/* A reader's part of a frame on the device. */
struct flight_target {
    struct camera_reader *reader;
    uint32_t slot;
    uint32_t from;    /* the target that it is a copy of; itself: it is developed for this reader */
    uint64_t dropped; /* before it, for want of a slot */
};

/* A frame on the device. */
struct flight {
    struct flight *next;
    struct camera *camera;
    struct raw *raw;
    uint64_t ticket; /* 0: it has failed */
    float gain[3];
    double digital;
    struct isp_rect crop;
    enum ae_state state;
    uint32_t n;
    struct flight_target to[CAMERA_READERS];
    struct isp_statistics statistics;
};

struct camera_host {
    uv_loop_t *loop;
    uv_async_t async;
    uv_mutex_t lock;
    uv_cond_t work; /* the development thread */
    uv_thread_t thread;
    bool signal, stopping, closing, lost;
    bool shares; /* readers of the same frame: it is developed for one, the others get copies */
    struct camera *cameras;
    struct camera_reader *readers;
    struct flight *flights, **flights_tail; /* development thread */
    void (*closed)(void *ctx);
    void *closed_ctx;

    struct clip_decoder clips; /* loop thread */
    struct gpu *gpu;           /* the worker's */
    struct isp *isp;           /* development thread */
    void *scratch;             /* where meters write */
    struct gpu_host *scratch_host;
};

/* ---- camera_host.c ---- */

void host_wake(struct camera_host *h);   /* with the lock: the development thread */
void host_notify(struct camera_host *h); /* any thread: the loop thread */
/* Loop thread. The camera of an address; the first reader of it starts its thread. was_open: the
 * reader has had frames of it, so its absence passes. */
int camera_find(struct camera_host *h, const char *uri, const struct camera_kept *kept,
                bool was_open, struct camera **out, char why[CAMERA_WHY]);
void camera_stop(struct camera *c); /* with the lock */

/* ---- camera_reader.c ---- */

bool camera_is_blurred(const struct camera *c);                         /* with the lock */
void reader_fail(struct camera_reader *r, int code, const char *cause); /* with the lock */
/* With the lock: its pool and the information are there, or the information alone. */
void reader_inform(struct camera_reader *r);
/* How its frames are developed, but for its rectangles. With the lock; the camera is known, as for
 * the next one: all of a pool's format but epoch, slots and memory. */
void reader_isp_params(const struct camera_reader *r, struct isp_params *out);
void reader_layout(const struct camera_reader *r, struct feed_format *out);
bool readers_end_one(struct camera_host *h); /* loop thread; false: none was due */

/* ---- developers.c: development thread, with the lock, which all but the first drop ---- */

bool reader_wants_developer(const struct camera_reader *r);
/* Sets up what the reader's frames need, and starts its pool. */
void reader_prepare(struct camera_host *h, struct camera_reader *r);
void reader_take_down(struct camera_reader *r);
/* 0, or enum pelton_error with one line. */
int camera_make_meter(struct camera_host *h, struct camera *c, char why[ISP_WHY]);
/* Makes one developer anew from before the last change of the look; false: there is none. */
bool camera_renew_one(struct camera_host *h, struct camera *c);
void camera_undevelop(struct camera *c);

/* ---- threads ---- */

void develop_thread(void *host);
void capture_thread(void *camera);

/* ---- sources; NULL: out of memory ---- */

void *sim_source_create(struct camera *c);
extern const struct source_ops sim_source_ops;
/* loop thread: stops the clip; true when nothing of it is left */
bool sim_source_close(void *source);
void *libcamera_source_create(void);
extern const struct source_ops libcamera_source_ops;
void *bayer_source_create(void);
extern const struct source_ops bayer_source_ops;

#endif
