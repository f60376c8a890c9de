/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files of the camera host share. host.lock guards every field that is not marked with the
 * thread that owns it; nothing slow happens under it.
 *
 * Life cycle of a raw frame: FREE -> FILLING (capture) -> FULL -> DEVELOPING (a batch) -> FREE.
 * Life cycle of a camera: OPENING -> RUNNING <-> BACKOFF -> ENDED; freed when its thread has ended,
 * nothing is in flight and no reader is left.
 */
#ifndef PELTON_CAMERA_INTERNAL_H
#define PELTON_CAMERA_INTERNAL_H

#include "daemon/worker/camera/camera_host.h"
#include "daemon/worker/camera/camera_source.h"
#include "daemon/worker/engine_internal.h"
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

struct camera_tone {
    uint16_t *values; /* NULL: none */
    uint32_t count;
};

enum camera_state { CAMERA_OPENING, CAMERA_RUNNING, CAMERA_BACKOFF, CAMERA_ENDED };

struct camera {
    struct camera *next;
    struct camera_host *host;
    char *uri;
    /* params: as asked; from RUNNING on the device's, changed by the capture thread only while it
     * opens */
    struct camera_params asked, params;
    const struct source_ops *ops;
    void *source; /* capture thread */
    uv_thread_t thread;
    /* known: the device was open once, so its format stands */
    bool thread_started, thread_ended, stop, known;
    enum camera_state state;
    uv_cond_t room; /* a raw frame is free, or stop */
    int stop_fd;    /* an eventfd that is readable from stop on */
    struct raw raws[RAWS];
    /* where their memory is, so that the device fetches them without a copy by the CPU */
    struct gpu_arena *arena;
    size_t raw_size;
    bool direct; /* the device fills them by itself; capture thread */
    /* of frames that are copied there, that the device has written there */
    uint32_t copied_stride, direct_stride;
    /* of the next frame; dropped by the device or for want of a raw frame */
    uint64_t sequence, lost;
    uint32_t n_readers, flying;
    bool undeveloped; /* nothing of it is on the device any more, nor will be */
    struct pelton_failure failure;
    char absent[256]; /* CAMERA_BACKOFF: why */
    int64_t period_ns;
    struct camera_tone tone; /* from known on */

    /* control */
    struct ae ae;
    struct ae_params limits; /* as set; those of ae are narrower where time or gain are manual */
    struct ae_exposure manual;
    bool time_manual, gain_manual, locked;
    bool awb;
    uint32_t metering;
    struct isp_rect meter_region;
    double ccm[9];
    struct isp_rect crop;
    uint32_t look;              /* counts the changes of ccm and crop */
    double red_gain, blue_gain; /* as they are now */
    double mean, clipped;       /* of the last frame measured */

    /* development thread */
    struct isp_camera *isp[ISP_FORMATS]; /* made for the first reader that wants the format */
    uint32_t isp_look[ISP_FORMATS];      /* the look it was made for */
    struct isp_camera *meter; /* develops into a few pixels where no reader takes the frame */
};

struct camera_event {
    struct camera_event *next;
    enum { EVENT_OF_FORMAT, EVENT_OF_FRAME, EVENT_OF_STATE } kind;
    struct feed_frame frame;
    struct pelton_camera camera;
    bool running; /* EVENT_OF_STATE */
    char cause[256];
};

struct camera_reader {
    struct camera_reader *next;
    struct camera *camera;
    struct feed_callbacks callbacks;
    void *ctx;
    struct pelton_open_params params; /* no strings */
    char name[256];
    enum isp_format format;
    bool probe, closing, info_sent, format_posted;
    /* development is set up; the device is known; its pool exists; it has been taken down */
    bool prepared, info_ready, ready, released;
    bool pool_wanted, pool_making; /* reader_pool.c */
    int64_t ready_ns;              /* frames of a device in real time from then on are its own */
    struct feed_format layout;
    struct isp_camera *isp; /* its own, where it is blurred; development thread */
    uint32_t isp_look;
    struct pool *made; /* of the thread that makes it */
    int pool_error;
    uv_work_t work;
    bool calling;  /* its callbacks are running */
    uint64_t base; /* of its sequence numbers */
    bool done;     /* no frames any more: max_frames, or the camera has ended */
    struct pelton_failure failure;
    struct pool *pool;
    struct camera_event *events, **events_tail;
    uint32_t flying;
    uint64_t dropped, frames;
    struct pelton_stats stats;
    int64_t opened_ns;
};

/* A frame on the device. */
struct flight {
    struct flight *next;
    struct camera *camera;
    struct raw *raw;
    uint64_t ticket;
    float gain[3];
    double digital;
    struct isp_rect crop;
    enum ae_state state;
    uint32_t n;
    struct {
        struct camera_reader *reader;
        uint32_t slot;
        /* the index of the one that it is a copy of; its own: it is developed for this reader */
        uint32_t from;
        uint64_t dropped; /* before it, for want of a slot */
    } to[CAMERA_READERS];
    struct isp_statistics statistics;
};

struct camera_host {
    uv_loop_t *loop;
    uv_async_t async;
    uv_mutex_t lock;
    uv_cond_t work; /* the development thread */
    uv_thread_t thread;
    bool signal, stopping, closing, lost, joined;
    bool shares; /* readers of the same frames: one is developed for, the others get copies */
    struct camera *cameras;
    struct camera_reader *readers;
    struct flight *flights, **flights_tail; /* development thread */
    void (*closed)(void *ctx);
    void *closed_ctx;

    struct gpu *gpu; /* development thread, after start-up */
    struct isp *isp;
    void *scratch; /* where meters write */
    struct gpu_host *scratch_host;
};

void host_wake(struct camera_host *h);   /* with the lock */
void host_notify(struct camera_host *h); /* any thread */
void develop_thread(void *host);
void capture_thread(void *camera);
void reader_fail(struct camera_reader *r, int code, const char *cause); /* with the lock */
/* loop thread, without the lock: where its pool is wanted */
void reader_pool_make(struct camera_reader *r);
void reader_post(struct camera_reader *r, const struct camera_event *ev); /* with the lock */

/* Replaces the calibration file by its lens, once the size is known. 0, or a code with the failure.
 * Any thread. */
int camera_calibrate(struct camera_params *params, struct pelton_failure *failure);
/* The values of a tone table, free() them; without one *out is untouched. Any thread. */
int camera_tone_load(const struct camera_params *params, struct camera_tone *out,
                     struct pelton_failure *failure);

/* control.c, with the lock */
void control_start(struct camera *c);
void control_frame(struct camera *c, const struct isp_statistics *statistics,
                   const struct ae_exposure *in_effect);

/* reader.c */
/* with the lock; the device is open */
void reader_params(const struct camera *c, enum isp_format format, struct isp_params *out);
bool reader_format_of(const char *pix_fmt, bool any, enum isp_format *out);
const char *reader_pix_fmt(enum isp_format format);
/* the same */
void reader_layout(const struct camera *c, enum isp_format format, struct feed_format *out);

/* Sources; NULL: out of memory. */
void *sim_source_create(struct camera *c, struct engine *engine);
extern const struct source_ops sim_source_ops;
/* loop thread: stops the clip; true when nothing of it is left */
bool sim_source_close(void *source);
void *bayer_source_create(void);
extern const struct source_ops bayer_source_ops;

#endif
