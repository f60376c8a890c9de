/* SPDX-License-Identifier: BSD-2-Clause
 *
 * libpelton: receive frames from a pelton daemon. Plain C; needs libc and protobuf-c only.
 *
 * The happy path is pelton_connect or pelton_spawn, pelton_open, pelton_next until it returns 0,
 * pelton_release for each frame, pelton_stream_close, pelton_close. The failure modes are: no
 * daemon (PELTON_ERR_NO_DAEMON), the daemon goes away (PELTON_ERR_GONE: every later call says so),
 * the source fails (the code of enum pelton_error that fits, from pelton_next, after the frames
 * decoded before it), time-outs. pelton_failure gives cause and hint of the last failure.
 *
 * Thread: one connection is used by one thread at a time. Nothing here blocks longer than its
 * timeout_ms (-1: for ever).
 */
#ifndef PELTON_H
#define PELTON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pelton_side.h" /* beside this file, installed or not */

#ifdef __cplusplus
extern "C" {
#endif

enum pelton_error {
    PELTON_OK = 0,
    PELTON_ERR_OTHER = -1,
    PELTON_ERR_USAGE = -2, /* an argument makes no sense */
    PELTON_ERR_INPUT = -4, /* not found, a directory, empty, not a video, truncated container */
    /* another codec, or an H.264 tool that is not supported: the text names the syntax element */
    PELTON_ERR_UNSUPPORTED = -5,
    PELTON_ERR_DECODE = -6, /* damaged stream where that was declared fatal */
    PELTON_ERR_NO_DEVICE = -7,
    PELTON_ERR_NO_DAEMON = -8, /* no socket, refused, or it speaks another protocol */
    PELTON_ERR_PERMISSION = -9,
    PELTON_ERR_TIMEOUT = -11,
    PELTON_ERR_GPU_LOST = -12,
    PELTON_ERR_WORKER_LOST = -13, /* the worker process died and the stream could not go on */
    PELTON_ERR_GONE = -14,        /* the connection has ended */
    PELTON_ERR_PROTOCOL = -15,
    PELTON_ERR_NOMEM = -16,
    PELTON_ERR_LIMIT = -17, /* a quota of the daemon */
    /* sources: cameras and the network */
    PELTON_ERR_NOT_FOUND = -18, /* no such device, no such stream on the server */
    /* another process has the device; the cause names it where that is to be seen */
    PELTON_ERR_BUSY = -19,
    PELTON_ERR_UNPLUGGED = -20, /* it was there */
    PELTON_ERR_REFUSED = -21,   /* nobody listens at the address, or there is no way to it */
    PELTON_ERR_DNS = -22,       /* the host's name is not known */
    PELTON_ERR_AUTH = -23,      /* the server wants another user or password */
    PELTON_ERR_CHANGED = -24    /* the camera's frames are of another size or kind now; the daemon
                                   opens it anew, so no reader sees it */
};

struct pelton;        /* a connection */
struct pelton_stream; /* a subscription on it */

struct pelton_failure {
    int code;        /* enum pelton_error */
    char cause[256]; /* one clause: "clip.mp4: No such file or directory" */
    char hint[256];  /* one line, may be empty */
};
/* The last failure on this connection; conn NULL: of the last connect or spawn on this thread. */
const struct pelton_failure *pelton_failure(const struct pelton *conn);

struct pelton_device {
    char name[256], uuid[40], driver[256];
    bool software;
    uint32_t devices;          /* how many the daemon shares streams among, this one included */
    uint32_t entropy_pictures; /* that it entropy-decodes at once; 0: the CPU does it */
};

/* Connect to a daemon's Unix socket; path NULL: $PELTON_SOCKET, then /run/pelton/pelton.sock. */
int pelton_connect(const char *path, int timeout_ms, struct pelton **out);

struct pelton_spawn_params {
    const char *program; /* peltond; NULL: beside the calling program, then in PATH */
    const char *device;  /* auto, gpu, cpu, part of a name, UUID; NULL: auto */
    /* further "key=value" configuration for -c, NULL-terminated, or NULL */
    const char *const *extra;
    int log_fd; /* where the daemon's log goes; -1: stderr */
};
/* Start a private daemon that lives as long as this connection. */
int pelton_spawn(const struct pelton_spawn_params *params, int timeout_ms, struct pelton **out);
void pelton_close(struct pelton *conn); /* NULL allowed; a private daemon ends and is waited for */

int pelton_device(struct pelton *conn, struct pelton_device *out); /* from the daemon's welcome */
int pelton_fd(const struct pelton *conn); /* readable when pelton_next(…, 0) may have news */

/* What a reader that is slower than its source gets: every frame (a source that cannot wait drops
 * when the pool is full); the newest one; the newest `depth`, in order. What is dropped shows as a
 * gap in pelton_frame.sequence and counts. */
enum pelton_policy { PELTON_LOSSLESS, PELTON_LATEST, PELTON_FIFO };
enum { PELTON_FIFO_MOST = 60 }; /* frames that may wait */

/* What becomes of frames that are damaged: by losses, or by references that are missing. */
enum pelton_on_error {
    PELTON_ON_ERROR_SHOW, /* they come concealed, with PELTON_FRAME_CORRUPT */
    PELTON_ON_ERROR_DROP, /* they are left out, and counted */
    PELTON_ON_ERROR_FAIL, /* the stream ends with PELTON_ERR_DECODE */
    /* as SHOW; frames before the first IDR picture or recovery point come too */
    PELTON_ON_ERROR_SHOW_ALL
};

enum pelton_views {
    PELTON_VIEW_BASE,
    PELTON_VIEWS_BOTH /* of Stereo High streams the second one too */
};

enum { PELTON_MAX_DEVICES = 16 };

/* Rectangles of a stream that nobody may read: privacy. Pixels of the frames as they leave, fields
 * of --fields counted as frames. */
enum { PELTON_MAX_BLURS = 16 };
struct pelton_rect {
    uint32_t x, y, width, height;
};

/* Where decoded frames end. Benchmarks measure the steps before delivery with the other two. */
enum pelton_transport {
    PELTON_SHM,     /* in shared memory, announced one by one: pelton_next gives them */
    PELTON_NONE,    /* on the GPU; no frame is announced */
    PELTON_READBACK /* in host memory; no frame is announced */
};
struct pelton_bench_params {
    enum pelton_transport transport;
};

struct pelton_open_params {
    const char *uri;  /* opened by the daemon (configured sources, allowed URLs); NULL: fd */
    int fd;           /* an open file, pipe or socket, passed by descriptor; stays the caller's */
    const char *name; /* what messages call it; for fd: the path as typed */
    /* FFmpeg's name; NULL: the stream's own. Besides that: gray of the same depth, nv12 of 8-bit
     * 4:2:0, planar YUV of 4:0:0 (grey chroma) */
    const char *pix_fmt;
    bool any_pix_fmt; /* where pix_fmt cannot be made of the stream, its own instead of a failure */
    /* of sequences that may be interlaced each field leaves as a frame of its own, of half the
     * height */
    bool fields;
    enum pelton_policy policy;
    /* PELTON_FIFO: frames that wait; else frames of the pool. 0: the daemon's choice */
    uint32_t depth;
    double max_fps; /* frames in between are left out, by their times; 0: all */
    bool loop, realtime;
    uint32_t loops;                /* with loop: how many times; 0: for ever */
    int64_t start_us, duration_us; /* -ss and -t; -1: absent */
    /* 0: all. Those that policy, max_fps or on_error leave out count: a reader that wants so many
     * counts itself */
    uint64_t max_frames;
    enum pelton_on_error on_error;
    enum pelton_views views;
    /* a file is shared among so many of the daemon's devices, a stretch between two IDR pictures
     * each in turn, and its frames come in order all the same; 0, 1: one device. For regular files
     * by fd, lossless and whole: with fields, both views, realtime, PELTON_ON_ERROR_FAIL or any
     * other source one device decodes all */
    uint32_t devices;
    /* rectangles that leave blurred, beside those of a source's configuration. One that does not
     * touch the picture ends the stream with PELTON_ERR_USAGE */
    uint32_t n_blur;
    struct pelton_rect blur[PELTON_MAX_BLURS];
    /* of the pictures that they mean; pictures of another size have them scaled. 0: the first
     * picture's */
    uint32_t blur_width, blur_height;
    /* what pelton_frame.side carries; for a probe what pelton_info.side does */
    enum pelton_side_request side_data;
    struct pelton_bench_params bench; /* all zero, except in benchmarks */
};

struct pelton_rational {
    int32_t num, den;
};

struct pelton_colour {
    uint8_t primaries, transfer, matrix, range /* 0 unknown 1 limited 2 full */, siting,
        source /* 0 assumed 1 bitstream 2 container 3 user */;
};

/* What the container and the bitstream say; known once pelton_open returns. */
struct pelton_info {
    char container[64], codec[32], profile[64], pix_fmt[32];
    int32_t level;
    uint32_t width, height, coded_width, coded_height;
    struct pelton_rational time_base, frame_rate /* as FFmpeg's r_frame_rate */, avg_frame_rate,
        sar;
    int64_t start_pts, duration_us, frames; /* of the container; INT64_MIN or -1: unknown */
    uint64_t bit_rate;
    bool supported;
    char unsupported_element[64]; /* the syntax element that stops us, where not supported */
    char unsupported_what[128];
    struct pelton_colour colour;
    struct pelton_vui vui;
};

/* What the first access units of a stream carry beside their samples. */
enum { PELTON_MAX_SEI_TYPES = 32 };
struct pelton_probe_sei {
    uint32_t pictures; /* that were looked at */
    uint32_t types;
    struct {
        uint32_t type, count;
    } type[PELTON_MAX_SEI_TYPES]; /* payloadType, messages */
    /* the first message of each kind; the caller's: free() it. NULL: none */
    struct pelton_side_data *first;
};

enum {
    PELTON_FRAME_KEY = 1,
    PELTON_FRAME_CORRUPT = 2,
    PELTON_FRAME_DISCONT = 4,
    PELTON_FRAME_LAST = 8
};

/* A frame of an interlaced stream holds both fields, woven; the first one in time is the one named.
 * With params.fields each field is a frame of half the height. */
enum pelton_field_order {
    PELTON_PROGRESSIVE,
    PELTON_TOP_FIRST,
    PELTON_BOTTOM_FIRST,
    PELTON_TOP_FIELD,
    PELTON_BOTTOM_FIELD
};

/* What a camera did for a frame. Units and names are libcamera's. */
enum pelton_ae_state { PELTON_AE_SEARCHING, PELTON_AE_CONVERGED, PELTON_AE_LOCKED };
struct pelton_camera {
    bool present;                                    /* false: the frame is not of a camera */
    double exposure_us, analogue_gain, digital_gain; /* in effect for this frame */
    double red_gain, blue_gain;
    double mean, clipped; /* of linear luminance, 0..1, metered */
    enum pelton_ae_state ae_state;
    struct pelton_rect crop; /* ScalerCrop: what part of the straightened picture the frame shows */
};

/* Steps towards a frame, of the last of its pictures: CLOCK_MONOTONIC, in this order between
 * received_ns and decoded_ns but for the last two. */
enum pelton_trace_point {
    PELTON_TRACE_PARSED,        /* headers are parsed, the picture may be decoded */
    PELTON_TRACE_ENTROPY_BEGIN, /* its first slice is taken */
    PELTON_TRACE_ENTROPY_END,   /* its last slice is done */
    PELTON_TRACE_MOTION_BEGIN,
    PELTON_TRACE_MOTION_END,   /* records are complete and validated */
    PELTON_TRACE_SUBMIT_BEGIN, /* chosen for a batch of the GPU */
    PELTON_TRACE_SUBMIT_END,   /* the GPU has it */
    PELTON_TRACE_SENT,         /* the daemon writes to its reader that the frame is there */
    /* a duration: of the batch on the GPU; 0 where the daemon takes no timestamps there */
    PELTON_TRACE_GPU,
    PELTON_TRACE_POINTS
};

struct pelton_frame {
    uint64_t sequence; /* counts frames of the source; a gap proves drops */
    uint32_t epoch, slot, generation;
    /* 1: of the second view; it follows the base view's frame of the same access unit */
    uint32_t view;
    uint32_t width, height; /* cropped */
    char pix_fmt[16];
    uint32_t planes;
    const uint8_t *data[4]; /* read-only shared memory, valid until pelton_release */
    uint32_t stride[4];     /* bytes */
    uint32_t plane_width[4], plane_height[4]; /* bytes a row, rows */
    int64_t pts;      /* best-effort presentation time in time_base; INT64_MIN: none */
    int64_t dts;      /* of the access unit */
    int64_t duration; /* in time_base, 0 unknown */
    struct pelton_rational time_base, sar;
    uint32_t flags;
    enum pelton_field_order field_order;
    struct pelton_colour colour;
    int64_t received_ns, decoded_ns; /* CLOCK_MONOTONIC: access unit read; frame readable */
    uint64_t dropped_source, dropped_decoder, dropped_client;
    int64_t trace_ns[PELTON_TRACE_POINTS]; /* of cameras 0 */
    struct pelton_vui vui;
    struct pelton_camera camera;
    /* NULL: nothing came, or it was not asked for; valid until pelton_release */
    const struct pelton_side_data *side;
};

/* Sets every field of *out to "absent": no source, from the start to the end, every frame. Call it
 * first, then set uri or fd. */
void pelton_open_params_init(struct pelton_open_params *out);
/* Opens and subscribes. Fills *info when not NULL. On PELTON_ERR_UNSUPPORTED *info is filled too.
 */
int pelton_open(struct pelton *conn, const struct pelton_open_params *params, int timeout_ms,
                struct pelton_info *info, struct pelton_stream **out);
/* The same in two steps, so that many streams open at once. After pelton_open_start *out can be
 * read (its failure comes from pelton_next) and has to be closed. pelton_open_wait gives what
 * pelton_open would; it closes nothing. */
int pelton_open_start(struct pelton *conn, const struct pelton_open_params *params,
                      struct pelton_stream **out);
int pelton_open_wait(struct pelton_stream *s, int timeout_ms, struct pelton_info *info);
/* Why its source is not there at the moment, though the daemon goes on trying (named sources);
 * NULL: it is, as far as is known. Valid until the next call for the stream. */
const char *pelton_waiting(const struct pelton_stream *s);
/* Only the information; nothing is decoded. Returns 0 also for streams that are not supported
 * (info->supported). */
int pelton_probe(struct pelton *conn, const struct pelton_open_params *params, int timeout_ms,
                 struct pelton_info *info);
/* The same, and what its SEI messages say (sei is filled on success). */
int pelton_probe_sei(struct pelton *conn, const struct pelton_open_params *params, int timeout_ms,
                     struct pelton_info *info, struct pelton_probe_sei *sei);

/* 1: *out is the next frame. 0: the stream has ended. Negative: enum pelton_error
 * (PELTON_ERR_TIMEOUT: nothing yet). */
int pelton_next(struct pelton_stream *stream, int timeout_ms, struct pelton_frame *out);
/* the slot may be written again */
void pelton_release(struct pelton_stream *stream, const struct pelton_frame *frame);

/* Totals of a stream, also after its end. Times are seconds. */
struct pelton_stats {
    uint64_t access_units, frames, corrupt, dropped, bytes_in, bytes_uploaded, bytes_delivered,
        worker_restarts;
    uint64_t memory_host, memory_gpu; /* bytes held by this stream now */
    double wall, cpu_demux, cpu_entropy, cpu_motion, cpu_submit;
    /* of the thread that submits: all it does, shared among its sessions; its waits for the device
     */
    double cpu_device, cpu_wait;
    double gpu_upload, gpu_classify, gpu_residual, gpu_inter, gpu_intra, gpu_deblock, gpu_deliver;
    double gpu_entropy; /* several of its batches may run at once, beside everything else */
    uint64_t gpu_entropy_pictures; /* entropy-decoded on the GPU */
    /* bytes per second of device memory, read and written; 0: not measured (timestamps=true does)
     */
    double device_bandwidth;
};
int pelton_stats(struct pelton_stream *stream, int timeout_ms, struct pelton_stats *out);
/* wall: the larger one; bandwidth: that of more */
void pelton_stats_add(struct pelton_stats *sum, const struct pelton_stats *more);

/* Controls of a camera, by libcamera's names: AeEnable, ExposureTime (us), AnalogueGain,
 * ColourCorrectionMatrix, ScalerCrop, ... */
enum { PELTON_MAX_CONTROLS = 32, PELTON_CONTROL_VALUES = 9 };
struct pelton_control {
    char name[32];
    uint32_t n; /* values */
    double value[PELTON_CONTROL_VALUES], least, most;
};
/* Sets n_set of them, perhaps none, then out holds all there are. PELTON_ERR_USAGE: no such
 * control, out of range, or no camera. */
int pelton_controls(struct pelton_stream *stream, int timeout_ms, const struct pelton_control *set,
                    uint32_t n_set, struct pelton_control out[PELTON_MAX_CONTROLS],
                    uint32_t *n_out);
void pelton_stream_close(struct pelton_stream *stream); /* NULL allowed */

/* Sources that the daemon's configuration names; a stream of one is opened by uri "source:NAME".
 * *out is malloc'd. */
enum pelton_source_state {
    PELTON_SOURCE_CLOSED, /* nobody reads it */
    PELTON_SOURCE_OPENING,
    PELTON_SOURCE_RUNNING,
    PELTON_SOURCE_LOST,    /* it was running; cause says what happened */
    PELTON_SOURCE_BACKOFF, /* it is opened again after a while; cause as before */
    PELTON_SOURCE_ENDED,   /* for its last reader; cause says why, empty: as it should */
    PELTON_SOURCE_REMOVED  /* only from pelton_sources_next: the configuration names it no more */
};
struct pelton_source {
    char name[64], uri[256]; /* without passwords */
    uint32_t readers;
    enum pelton_source_state state;
    char cause[256];
    /* from here on what was known when it was open last; empty and 0: it was not */
    char codec[32], format[64];
    uint32_t width, height;
    struct pelton_rational frame_rate;
    int64_t since_ns; /* CLOCK_MONOTONIC: in this state since then */
};
/* From then on pelton_sources_next gives each source as it is, and again whenever its state, its
 * readers or its format change. */
int pelton_sources_watch(struct pelton *conn, int timeout_ms);
/* 1: *out is the next change. PELTON_ERR_TIMEOUT: nothing has changed yet. A caller who is behind
 * by more than 1,024 misses the oldest. */
int pelton_sources_next(struct pelton *conn, int timeout_ms, struct pelton_source *out);
/* At most 128; pelton_sources_watch has no limit. */
int pelton_sources(struct pelton *conn, int timeout_ms, struct pelton_source **out, size_t *count);

/* Have the daemon read its configuration again, as SIGHUP does. For root and the daemon's own user:
 * else PELTON_ERR_PERMISSION. PELTON_ERR_USAGE: the file is wrong, the failure says where, and
 * nothing has changed. */
struct pelton_reloaded {
    uint32_t added, removed, changed, kept; /* sources */
    char note[256]; /* what takes effect only when the daemon is started again; may be empty */
};
int pelton_reload(struct pelton *conn, int timeout_ms, struct pelton_reloaded *out);
/* End the daemon; the same rights. Returns when it has closed the connection. */
int pelton_shutdown(struct pelton *conn, int timeout_ms);

/* What the daemon is doing: its streams, those of other users only for root and the daemon's own
 * user. */
struct pelton_stream_status {
    uint64_t id; /* unlike any other stream's since the daemon has started */
    char name[128], source[64], client[64]; /* source: of the configuration; empty: none */
    int32_t pid;
    uint32_t uid;
    enum pelton_source_state state;
    enum pelton_policy policy;
    uint32_t depth;
    char pix_fmt[16];
    uint32_t width, height;
    uint64_t frames;               /* sent */
    uint32_t waiting, held, slots; /* frames that wait for a credit; slots not free; of so many */
    uint64_t dropped_source, dropped_decoder, dropped_client, restarts;
    int64_t age_ns;                /* of the last frame when it was sent, since it was received */
    uint64_t gpu_entropy_pictures; /* as in pelton_stats, at most a second old */
    double gpu_entropy;
};
struct pelton_status {
    char server[64];
    struct pelton_device device; /* name empty: none is open */
    uint32_t n_streams, most_streams, n_clients, most_clients;
    uint64_t up_ms;
};
/* *streams is malloc'd and holds *count, at most 128. */
int pelton_status(struct pelton *conn, int timeout_ms, struct pelton_status *out,
                  struct pelton_stream_status **streams, size_t *count);

/* Devices of the daemon's machine, for doctor; *out is malloc'd. */
int pelton_devices(struct pelton *conn, int timeout_ms, struct pelton_device **out, size_t *count);

const char *pelton_version(void);

#ifdef __cplusplus
}
#endif
#endif
