/* SPDX-License-Identifier: BSD-2-Clause
 *
 * libpelton: receive frames from a pelton daemon. Plain C; it needs libc and protobuf-c only.
 *
 * The happy path is pelton_connect or pelton_spawn, pelton_open, pelton_next until it returns 0,
 * pelton_release for each frame, pelton_stream_close, pelton_close. Parameters that are all zero
 * mean the defaults: the program sets only those that it wants otherwise.
 *
 * Errors. Functions return 0 or more, or a negative enum pelton_error; pelton_failure then gives
 * cause and hint. Out-parameters are untouched on failure, unless stated otherwise. The failure
 * modes are: no daemon (PELTON_ERR_NO_DAEMON). The daemon goes away (PELTON_ERR_GONE, from every
 * later call). The source fails: pelton_next gives its error after the frames that came before it.
 * Nothing comes in time (PELTON_ERR_TIMEOUT).
 *
 * Threads. One thread at a time may use a connection and its streams. Different connections are
 * independent. No function blocks longer than its timeout_ms; -1 waits for ever.
 *
 * Growth. A program runs with every later library of the same soname. Later versions add fields at
 * the end of structures, and values to enumerations. Zero in an added field means that all is as
 * before.
 *
 *   structures that a call takes or gives   The call tells the library the caller's sizeof, and the
 *                                           library touches no byte beyond it. Lists have elements
 *                                           of that size. The functions below pass it on
 *                                           (pelton_sized.h). A size member could be forgotten, and
 *                                           a program that sets all to zero would be wrong.
 *   struct pelton, struct pelton_stream     Opaque: they have state, and the library owns them.
 *   struct pelton_side_data                 The library owns it. Its first member is its size.
 *   pelton_failure, and structures that     They never grow. The compiler adds no padding to any
 *   stand inside others                     structure here.
 *
 * An older library leaves fields that it does not know at zero. It refuses parameters that it does
 * not know (PELTON_ERR_USAGE). Other languages call the functions of pelton_sized.h.
 */
#ifndef PELTON_H
#define PELTON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "pelton_info.h" /* beside this file, installed or not */
#include "pelton_side.h"

#if defined(__GNUC__)
#define PELTON_API __attribute__((visibility("default")))
#else
#define PELTON_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors ---- */

enum pelton_error {
    PELTON_OK = 0,
    PELTON_ERR_OTHER = -1,
    PELTON_ERR_USAGE = -2, /* an argument makes no sense */
    PELTON_ERR_INPUT = -4, /* not found, a directory, empty, not a video, truncated container */
    /* another codec, or an H.264 tool that is not supported: the cause names the syntax element */
    PELTON_ERR_UNSUPPORTED = -5,
    PELTON_ERR_DECODE = -6, /* the stream is damaged, and PELTON_ON_ERROR_FAIL is set */
    PELTON_ERR_NO_DEVICE = -7,
    PELTON_ERR_NO_DAEMON = -8, /* no socket, refused, or it speaks another protocol */
    PELTON_ERR_PERMISSION = -9,
    PELTON_ERR_TIMEOUT = -11,
    PELTON_ERR_GPU_LOST = -12,
    PELTON_ERR_WORKER_LOST = -13, /* the worker process died and the stream could not go on */
    PELTON_ERR_GONE = -14,        /* the connection has ended */
    PELTON_ERR_PROTOCOL = -15,    /* the other side broke the protocol */
    PELTON_ERR_NOMEM = -16,
    PELTON_ERR_LIMIT = -17, /* a quota of the daemon */
    /* sources: cameras and the network */
    PELTON_ERR_NOT_FOUND = -18, /* no such device, or no such stream on the server */
    PELTON_ERR_BUSY = -19,      /* another process has the device; the cause may name it */
    PELTON_ERR_UNPLUGGED = -20, /* the device was there and is gone */
    PELTON_ERR_REFUSED = -21,   /* nobody listens at the address, or there is no route to it */
    PELTON_ERR_DNS = -22,       /* the host's name is unknown */
    PELTON_ERR_AUTH = -23,      /* the server wants another user or password */
    PELTON_ERR_CHANGED = -24    /* the camera's frames changed size or kind. The daemon opens it
                                   again, so no reader sees this */
};

/* The name of a code as it stands above: "PELTON_ERR_TIMEOUT". For a code that this library does
 * not know: "PELTON_ERR_UNKNOWN". Never NULL, static, any thread. */
PELTON_API const char *pelton_error_name(int code);

struct pelton;        /* a connection */
struct pelton_stream; /* a subscription on it */

struct pelton_failure {
    int code;        /* enum pelton_error; a later daemon may send codes that are not there */
    char cause[256]; /* one clause: "clip.mp4: No such file or directory" */
    char hint[256];  /* one line; may be empty */
};
/* The last failure on this connection; conn NULL: of the last connect or spawn on this thread.
 * Never NULL. It stays valid until the next call on the connection (or thread). */
PELTON_API const struct pelton_failure *pelton_failure(const struct pelton *conn);

/* ---- the connection ---- */

/* Connects to a daemon's Unix socket. path NULL: $PELTON_SOCKET, else $XDG_RUNTIME_DIR/pelton.sock
 * where a daemon of this user answers, else /run/pelton/pelton.sock. The caller ends *out by
 * pelton_close. Errors: PELTON_ERR_NO_DAEMON, _PERMISSION, _TIMEOUT. */
PELTON_API int pelton_connect(const char *path, int timeout_ms, struct pelton **out);
/* The path of the daemon's socket; NULL: a private daemon. It lives as long as the connection. */
PELTON_API const char *pelton_socket(const struct pelton *conn);

struct pelton_spawn_params {
    const char *program; /* peltond; NULL: beside the calling program, then in PATH */
    const char *device;  /* auto, gpu, cpu, part of a name, UUID; NULL: auto */
    /* further "key=value" settings as for -c, NULL-terminated, or NULL */
    const char *const *extra;
    int log_fd; /* the daemon logs there; 0, -1: stderr */
    int reserved;
};
/* Starts a private daemon that lives as long as this connection. params NULL: all defaults. The
 * call borrows params. Errors as of pelton_connect. */
static inline int pelton_spawn(const struct pelton_spawn_params *params, int timeout_ms,
                               struct pelton **out);
/* Ends the connection and closes its streams, as pelton_stream_close does. A private daemon ends,
 * too: the call waits for it, at most 2 s. NULL allowed. */
PELTON_API void pelton_close(struct pelton *conn);

struct pelton_device {
    char name[256], uuid[40], driver[256];
    bool software, reserved[3];
    uint32_t devices;          /* devices that share the daemon's streams, this one included */
    uint32_t entropy_pictures; /* pictures in one batch of entropy decoding; 0: the CPU does it */
    /* There is no GPU, and name is that of libavcodec. It decodes all streams that it can. */
    bool libavcodec;
    bool encodes;      /* frames that it decodes can be encoded there: pelton_open_params.encode */
    bool encodes_jpeg; /* by PELTON_CODEC_MJPEG, too */
    uint8_t reserved_end[1];
};
/* The device in use. Opens one where none is open yet, which may take up to 60 s. Error:
 * PELTON_ERR_NO_DEVICE. */
static inline int pelton_device(struct pelton *conn, struct pelton_device *out);
/* All devices of the daemon's machine. The caller frees *out by free(). */
static inline int pelton_devices(struct pelton *conn, int timeout_ms, struct pelton_device **out,
                                 size_t *count);
/* A descriptor for poll(): it is readable when pelton_next(s, 0, frame) may have news. It stays the
 * connection's. */
PELTON_API int pelton_fd(const struct pelton *conn);
PELTON_API const char *pelton_version(void); /* of the library: "0.2.0" */

/* ---- what is wanted of a source ---- */

/* What a reader gets that is slower than its source. Frames that are left out count as dropped and
 * leave a gap in pelton_frame.sequence. */
enum pelton_policy {
    PELTON_LOSSLESS, /* every frame; a source that cannot wait drops when the pool is full */
    PELTON_LATEST,   /* the newest frame */
    PELTON_FIFO      /* the newest `depth` frames, in order */
};
enum { PELTON_FIFO_MOST = 60 }; /* frames that may wait */

/* What becomes of frames that are damaged, by losses or by missing references. */
enum pelton_on_error {
    PELTON_ON_ERROR_SHOW, /* they come concealed, with PELTON_FRAME_CORRUPT */
    PELTON_ON_ERROR_DROP, /* they are left out, and counted */
    PELTON_ON_ERROR_FAIL, /* the stream ends with PELTON_ERR_DECODE */
    /* as SHOW; frames before the first IDR picture or recovery point come, too */
    PELTON_ON_ERROR_SHOW_ALL
};

enum pelton_views {
    PELTON_VIEW_BASE,
    PELTON_VIEWS_BOTH /* of Stereo High streams the second view, too */
};

enum { PELTON_MAX_DEVICES = 16 };

/* A rectangle in pixels of the frames as they leave. With `fields` a field is a frame. */
struct pelton_rect {
    uint32_t x, y, width, height;
};
enum { PELTON_MAX_BLURS = 16 };

/* Where decoded frames end. Benchmarks measure the steps before delivery with NONE and READBACK. */
enum pelton_transport {
    PELTON_SHM,      /* in shared memory, announced one by one: pelton_next gives them */
    PELTON_NONE,     /* on the GPU; no frame is announced */
    PELTON_READBACK, /* in host memory; no frame is announced */
    /* In memory of the GPU, announced one by one, for a program that imports it: pelton_device.h.
     * The daemon's configuration allows it (PELTON_ERR_PERMISSION). Not of raw cameras. */
    PELTON_DEVICE
};
/* All zero, but for benchmarks and for PELTON_DEVICE. */
struct pelton_bench_params {
    enum pelton_transport transport;
    uint32_t reserved;
};

/* A source and the wishes about it. Set uri or fd; everything else may stay 0. Strings are borrowed
 * for the call. A program that sets uri alone gets every frame of the source. */
/* Frames first, first + stride, ..., count of them. count and stride are at least 1. */
struct pelton_frame_range {
    uint64_t first, count, stride;
};
/* Of ranges, and of the frames that all ranges name together. */
enum { PELTON_MAX_WANTED = 4096, PELTON_MAX_WANTED_FRAMES = 65536 };

/* Pictures that are not decoded. Frames keep the numbers and times that they have in the whole
 * stream. Not with both views. */
enum pelton_skip {
    PELTON_SKIP_NONE,
    PELTON_SKIP_NONREF, /* those that no other picture refers to (nal_ref_idc 0) */
    PELTON_SKIP_NONKEY  /* all but IDR pictures and those at which decoding may start */
};

/* The filter that makes frames smaller or larger: docs/design/convert.md has the rules. */
enum pelton_filter { PELTON_BICUBIC, PELTON_BILINEAR, PELTON_AREA, PELTON_NEAREST };
/* Where the values of a pixel stand. */
enum pelton_layout {
    PELTON_LAYOUT_FORMAT, /* as the pixel format says */
    PELTON_NCHW,          /* channel after channel; each is a plane of the frame */
    PELTON_NHWC           /* side by side, in one plane */
};
enum pelton_type { PELTON_U8, PELTON_F16, PELTON_F32 };
enum { PELTON_MOST_SIZE = 16384, PELTON_MOST_RATIO = 64, PELTON_MOST_BATCH = 256 };

/* Frames as they leave. All zero: as they are decoded. A layout or a type of floats is for rgb24,
 * bgr24, rgba, bgra, gbrp and gray, of which it takes the channels and their order. Not of raw
 * cameras, which have sizes of their own. */
struct pelton_output {
    uint32_t width, height;  /* 1 to PELTON_MOST_SIZE; 0: the crop's */
    struct pelton_rect crop; /* luma samples of the decoded picture; all zero: the whole of it */
    enum pelton_filter filter;
    enum pelton_layout layout;
    enum pelton_type type;
    /* Floats are (value - mean) * scale, of values from 0 to 1. n_mean is the number of channels,
     * or 0 for the values themselves. */
    uint32_t n_mean;
    float mean[4], scale[4];
    /* So many frames lie one after another in memory, at equal distances, without a gap where they
     * are tensors of a multiple of 4 bytes. pelton_next_batch gives them. 0, 1: each by itself.
     * Only with PELTON_LOSSLESS and the base view, in host or device memory, by one device. */
    uint32_t batch;
    uint32_t reserved[3];
};

/* Who chooses QP of pictures */
enum pelton_encoding_rate {
    PELTON_RATE_QUALITY, /* quality is constant, as pelton encode -crf */
    PELTON_RATE_QP,      /* quality is QP of P pictures; I pictures have 3 less */
    PELTON_RATE_BITS     /* bit_rate is constant */
};
enum pelton_encoding_profile {
    PELTON_PROFILE_BASELINE, /* Constrained Baseline */
    PELTON_PROFILE_MAIN,
    PELTON_PROFILE_HIGH
};
enum pelton_encoding_codec {
    PELTON_CODEC_H264,
    PELTON_CODEC_MJPEG /* each unit is a JPEG file (JFIF) */
};
/* How decoded frames are encoded on their device. docs/encoder.md tells of the settings. */
struct pelton_encoding {
    bool wanted;
    bool cabac; /* not in Constrained Baseline */
    bool no_deblocking, scene_cuts, adaptive;
    uint8_t codec; /* enum pelton_encoding_codec; MJPEG has quality and alike, and no more */
    uint8_t reserved[2];
    enum pelton_encoding_rate rate;
    uint32_t quality; /* 0..51; of MJPEG 1..100, as in libjpeg */
    /* bits a second that are never passed, and bits of the decoder's buffer; 0: without limit, half
     * a second */
    uint64_t bit_rate, buffer;
    uint32_t key_interval; /* pictures from an IDR picture to the next; 0: only the first is one */
    enum pelton_encoding_profile profile;
    uint32_t level;              /* level_idc; 0: the least that is enough */
    uint32_t references, slices; /* 1..4; 0: 1 */
    uint32_t alike; /* streams of this size that will be encoded at the same time; 0: one */
};

struct pelton_open_params {
    const char *uri;  /* the daemon opens it: a configured source, an allowed URL; NULL: fd */
    const char *name; /* for messages: the path as typed; NULL: the uri, or "input" */
    /* FFmpeg's name of a pixel format; NULL: the stream's own. The daemon can also give gray of the
     * same depth, nv12 of 8-bit 4:2:0, planar YUV with grey chroma of 4:0:0, and rgb24, bgr24, rgba
     * and bgra. With `output` it gives planar YUV of every depth, too, and gbrp. */
    const char *pix_fmt;
    /* An open file, pipe or socket; it stays the caller's. -1: none. 0 is standard input, which
     * must not be a terminal. */
    int fd;
    bool any_pix_fmt; /* give the stream's own format where pix_fmt is impossible; else fail */
    /* Fields of sequences that may be interlaced leave as frames of half the height. */
    bool fields;
    bool loop;     /* read the source again from its start */
    bool realtime; /* read a file at its own pace */
    enum pelton_policy policy;
    uint32_t depth; /* PELTON_FIFO: frames that wait; else frames of the pool; 0: the daemon's */
    /* Frames per second of the source's time that the reader wants. Frames in between are left out
     * by their time stamps; of files they are decoded only where others refer to them. 0: all */
    double max_fps;
    uint32_t loops; /* with loop: number of passes; 0: no end */
    enum pelton_on_error on_error;
    /* Microseconds of the source from its start; 0, -1: the start. Beyond the end the stream ends
     * without a frame and without a failure. */
    int64_t start_us;
    int64_t duration_us; /* 0, -1: to the end */
    /* Frames to decode; 0: all. Frames that policy, skip, max_fps or on_error leave out count here.
     */
    uint64_t max_frames;
    enum pelton_views views;
    /* So many of the daemon's devices share a file; its frames come in order all the same. 0, 1:
     * one device. Only a regular file by fd with PELTON_LOSSLESS is shared, and not with fields,
     * both views, realtime, PELTON_ON_ERROR_FAIL or PELTON_DEVICE. Other sources use one device. */
    uint32_t devices;
    /* Rectangles that leave blurred, besides those of the source's configuration. A rectangle
     * outside the picture ends the stream with PELTON_ERR_USAGE. */
    uint32_t n_blur;
    struct pelton_rect blur[PELTON_MAX_BLURS];
    /* The rectangles mean pictures of this size and are scaled for others; 0: the first picture's
     * size. */
    uint32_t blur_width, blur_height;
    enum pelton_side_request side_data; /* contents of pelton_frame.side, or of a probe's sei */
    struct pelton_bench_params bench;
    /* Which video stream of a container: 1 is the first. 0: as ffmpeg chooses, by the container's
     * default flag and by size. */
    uint32_t video;
    enum pelton_skip skip;
    /* Only these frames of a file, in this order; repeated ones come again. The file is read from
     * the key picture before each, and only pictures that they need are decoded. Frames are
     * numbered as a decode of the whole file gives them, from 0. sequence of a frame is then its
     * place in this list. A number past the end ends the stream with PELTON_ERR_INPUT. n_wanted 0:
     * all frames. Borrowed for the call. */
    const struct pelton_frame_range *wanted;
    /* The same by times: microseconds of the frames' pts. The frame that is shown then comes. A
     * time past the end ends the stream with PELTON_ERR_INPUT. Not together with wanted. */
    const int64_t *wanted_us;
    uint32_t n_wanted, n_wanted_us; /* at most PELTON_MAX_WANTED */
    /* Access units of the H.264 stream as they came, and nothing is decoded. Frames of a camera
     * that gives samples are encoded. A frame's data[0] and plane_width[0] are then one access unit
     * and its bytes, in decoding order; pix_fmt is "h264". The first one is a key picture. After a
     * drop it goes on at a key picture, too. An H.264 source whose rectangles are blurred gives
     * none (PELTON_ERR_PERMISSION). Only with PELTON_SHM and without what concerns pictures:
     * pix_fmt, fields, max_fps, views, skip, wanted, devices, side_data, output; blur only of a
     * camera that gives samples. start_us goes to the key picture before it. */
    bool encoded;
    uint8_t reserved_end[7];
    struct pelton_output output; /* rectangles to be blurred mean pictures before this */
    /* With encoded: the source is decoded, and its frames are encoded anew where they are, on a
     * device that encodes (pelton_device). What concerns pictures may be set then, but fields,
     * views, devices, and layout, type and batch of output; pix_fmt is yuv420p or gray. Rectangles
     * are blurred before. No unit is dropped: policy leaves frames out before they are encoded.
     * PELTON_ERR_UNSUPPORTED: frames that are no 8-bit 4:2:0 or luma, or are to be turned. MJPEG
     * takes yuv422p and yuv444p, too. Its units are key pictures, and have pix_fmt "mjpeg". Raw
     * cameras give it, but no H.264 here. */
    struct pelton_encoding encode;
};
/* Sets every field to its default and fd to -1, so that a missing source is an error. */
static inline void pelton_open_params_init(struct pelton_open_params *out);

/* ---- opening ---- */

/* Opens a source and subscribes. Fills *info where info is not NULL, also on
 * PELTON_ERR_UNSUPPORTED. The caller ends *out by pelton_stream_close. */
static inline int pelton_open(struct pelton *conn, const struct pelton_open_params *params,
                              int timeout_ms, struct pelton_info *info, struct pelton_stream **out);
/* The same in two steps, so that many streams open at once. After pelton_open_start the caller may
 * already read *out; a failure to open comes from pelton_next, too. */
static inline int pelton_open_start(struct pelton *conn, const struct pelton_open_params *params,
                                    struct pelton_stream **out);
/* Returns what pelton_open would. It closes nothing, and may be called again after a time-out. */
static inline int pelton_open_wait(struct pelton_stream *s, int timeout_ms,
                                   struct pelton_info *info);
/* The reason why the source is absent while the daemon tries again (named sources); NULL: it is
 * there, as far as is known. Valid until the next call for the stream. */
PELTON_API const char *pelton_waiting(const struct pelton_stream *s);
/* Gives only the information; nothing is decoded. Returns 0 for unsupported streams, too
 * (info->supported is false). */
static inline int pelton_probe(struct pelton *conn, const struct pelton_open_params *params,
                               int timeout_ms, struct pelton_info *info);
/* The same with SEI messages, as params->side_data asks. sei is filled on success; NULL allowed. */
static inline int pelton_probe_sei(struct pelton *conn, const struct pelton_open_params *params,
                                   int timeout_ms, struct pelton_info *info,
                                   struct pelton_probe_sei *sei);
/* Ends the subscription and frees the stream. Frames that are still held are given back with it:
 * their data[] is unmapped and their side data freed, so the caller must not read them any more.
 * Nor may it release them: their stream is gone. Frames of other streams stay. NULL allowed. */
PELTON_API void pelton_stream_close(struct pelton_stream *stream);

/* ---- frames ---- */

enum pelton_frame_flags {
    PELTON_FRAME_KEY = 1,
    PELTON_FRAME_CORRUPT = 2, /* damaged and concealed */
    PELTON_FRAME_DISCONT = 4, /* time stamps jump before this frame */
    PELTON_FRAME_LAST = 8,    /* no frame follows */
    /* Not of the source: a picture, once a second, while the source is down. Only where the
     * configuration says so, and never for PELTON_LOSSLESS. */
    PELTON_FRAME_PLACEHOLDER = 16
};

/* A frame of an interlaced stream holds both fields, woven; the name says which is first in time.
 * With params.fields each field is a frame of half the height. */
enum pelton_field_order {
    PELTON_PROGRESSIVE,
    PELTON_TOP_FIRST,
    PELTON_BOTTOM_FIRST,
    PELTON_TOP_FIELD,
    PELTON_BOTTOM_FIELD
};

/* Settings of a camera that are in effect for a frame. Units and names are libcamera's. */
enum pelton_ae_state { PELTON_AE_SEARCHING, PELTON_AE_CONVERGED, PELTON_AE_LOCKED };
struct pelton_camera {
    double exposure_us, analogue_gain, digital_gain;
    double red_gain, blue_gain;
    double mean, clipped; /* of linear luminance as metered, 0..1 */
    enum pelton_ae_state ae_state;
    bool present, reserved[3]; /* present false: the frame is not a camera's */
    struct pelton_rect crop;   /* ScalerCrop: the part of the straightened picture in this frame */
};

/* The light in a camera's frame. A bin counts cells of 2x2 samples of the sensor, all of it: bin i
 * those whose linear luminance lies between i and i + 1 of 64 parts of white. Black level, white
 * balance and digital gain are done. mean and clipped of pelton_camera weigh the same cells as
 * AeMeteringMode says. */
enum { PELTON_HISTOGRAM_BINS = 64 };
struct pelton_exposure {
    double target; /* of mean, with ExposureValue */
    uint32_t histogram[PELTON_HISTOGRAM_BINS];
};

/* Steps towards a frame, for the last of its pictures. All but GPU are times of CLOCK_MONOTONIC.
 * Those before SENT lie in this order between received_ns and decoded_ns. */
enum pelton_trace_point {
    PELTON_TRACE_PARSED,        /* headers are parsed, the picture may be decoded */
    PELTON_TRACE_ENTROPY_BEGIN, /* its first slice begins */
    PELTON_TRACE_ENTROPY_END,   /* its last slice is done */
    PELTON_TRACE_MOTION_BEGIN,
    PELTON_TRACE_MOTION_END,   /* records are complete and validated */
    PELTON_TRACE_SUBMIT_BEGIN, /* chosen for a batch of the GPU */
    PELTON_TRACE_SUBMIT_END,   /* the GPU has it */
    PELTON_TRACE_SENT,         /* the daemon announces the frame to its reader */
    PELTON_TRACE_GPU,          /* duration of its batch on the GPU, ns; 0: not measured */
    PELTON_TRACE_POINTS
};
enum { PELTON_TRACE_MOST = 16 }; /* room for points of later versions */

/* Where the values of a frame stand, and their type. */
struct pelton_tensor {
    enum pelton_layout layout;
    enum pelton_type type;
    uint32_t channels; /* of a pixel */
    uint32_t batch;    /* frames of a batch; the place in it is slot % batch. 0: each by itself */
};

struct pelton_frame {
    uint64_t sequence;                /* counts frames of the source; a gap means dropped frames */
    uint32_t epoch, slot, generation; /* of the shared memory; for pelton_release */
    uint32_t view; /* 1: second view; it follows the base view's frame of the same access unit */
    uint32_t width, height; /* pixels, cropped */
    char pix_fmt[16];       /* FFmpeg's name */
    uint32_t planes;
    uint32_t flags; /* enum pelton_frame_flags */
    /* Read-only shared memory, valid until pelton_release; NULL with PELTON_DEVICE. */
    const uint8_t *data[4];
    uint32_t stride[4];                       /* bytes from row to row */
    uint32_t plane_width[4], plane_height[4]; /* bytes of a row, rows */
    int64_t pts;      /* best-effort presentation time in time_base; INT64_MIN: none */
    int64_t dts;      /* of the access unit, in time_base */
    int64_t duration; /* in time_base; 0: unknown */
    struct pelton_rational time_base, sar;
    enum pelton_field_order field_order;
    struct pelton_colour colour;
    /* CLOCK_MONOTONIC: the access unit was read (of a camera: captured); the frame became readable
     */
    int64_t received_ns, decoded_ns;
    /* The wall clock (CLOCK_REALTIME, ns since 1970 UTC) at received_ns; 0: unknown. The daemon's
     * two clocks were read within 0.1 ms of each other. A later step of the wall clock is followed.
     * A file's frames get the time of reading, not of recording. */
    int64_t realtime_ns;
    /* frames lost so far: by the source, as damaged, for want of a faster reader */
    uint64_t dropped_source, dropped_decoder, dropped_client;
    /* By enum pelton_trace_point; of cameras 0. */
    int64_t trace_ns[PELTON_TRACE_MOST];
    struct pelton_vui vui;
    uint32_t reserved;
    struct pelton_camera camera;
    /* NULL: no message came, or none was asked for. Valid until pelton_release. */
    const struct pelton_side_data *side;
    uint32_t orientation; /* enum pelton_orientation */
    uint32_t reserved_end;
    uint64_t number;                 /* of the frame in its file, from 0 */
    struct pelton_exposure exposure; /* where camera.present; else 0 */
    /* With params.encoded: the parameter sets of the epoch, valid until pelton_release. nal_length
     * is the number of bytes that tell a NAL unit's length; the sets are then the content of an
     * avcC box. 0: both have start codes, and there may be no sets here. */
    const uint8_t *parameter_sets;
    uint32_t parameter_sets_size, nal_length;
    struct pelton_tensor tensor; /* as asked for in pelton_output; all zero: pix_fmt says it */
};

/* Returns 1: *out is the next frame, which the caller gives back by pelton_release. 0: the stream
 * has ended. Negative: PELTON_ERR_TIMEOUT (no frame yet), or the failure that ended the stream. */
static inline int pelton_next(struct pelton_stream *stream, int timeout_ms,
                              struct pelton_frame *out);
/* The same of output.batch frames at once: returns their number, 0 at the end, or a failure. All
 * lie at the same distance in data[], or slot_size of pelton_device.h. Each has its own flags.
 * There are fewer at the stream's end, before a new epoch, and where frames are missing: after the
 * loss of a worker, and with max_fps of live sources. A failure takes no frame. out has room for
 * output.batch frames, else PELTON_ERR_USAGE. The daemon writes the memory again once all of them
 * are released. */
static inline int pelton_next_batch(struct pelton_stream *stream, int timeout_ms,
                                    struct pelton_frame *out, uint32_t room);
/* Gives a frame back; the daemon may write its memory again. Any order is allowed. Only sequence,
 * epoch, slot and generation of the frame are read. */
PELTON_API void pelton_release(struct pelton_stream *stream, const struct pelton_frame *frame);

/* ---- totals ---- */

/* What a worker holds memory for. */
enum pelton_memory {
    PELTON_MEMORY_OTHER,
    PELTON_MEMORY_SLOTS,        /* frames of the decoder */
    PELTON_MEMORY_BATCHES,      /* reconstruction, its staging included */
    PELTON_MEMORY_ENTROPY,      /* batches of entropy decoding on the GPU */
    PELTON_MEMORY_COEFFICIENTS, /* their results */
    PELTON_MEMORY_MOTION,       /* batches of motion derivation on the GPU */
    PELTON_MEMORY_ARRAYS,       /* records and coefficients of the coders */
    PELTON_MEMORY_POOLS,        /* frames for readers */
    PELTON_MEMORY_CAMERAS,      /* development of camera frames */
    PELTON_MEMORY_HEAP,         /* access units, small pictures */
    PELTON_MEMORY_USES
};
enum { PELTON_MEMORY_MOST = 16 /* for later uses */ };

/* Faults of a source that cost no frame. */
enum pelton_warnings {
    PELTON_WARN_TRUNCATED = 1, /* the file ends before its container says so */
    PELTON_WARN_VUI = 2        /* the VUI of a sequence parameter set is broken: it is left out */
};

/* Times are seconds, sizes are bytes. */
struct pelton_stats {
    uint64_t access_units, frames, corrupt, dropped, bytes_in, bytes_uploaded, bytes_delivered,
        worker_restarts;
    uint64_t memory_host, memory_gpu; /* held by this stream now */
    double wall, cpu_demux, cpu_entropy, cpu_motion, cpu_submit;
    /* Work and waiting of the thread that submits, shared among its sessions. */
    double cpu_device, cpu_wait;
    double gpu_upload, gpu_classify, gpu_residual, gpu_inter, gpu_intra, gpu_deblock, gpu_deliver;
    double gpu_entropy;            /* its batches may run at once, beside everything else */
    uint64_t gpu_entropy_pictures; /* entropy-decoded on the GPU */
    /* Bytes per second of device memory, read and written; 0: not measured. The setting
     * timestamps=true measures it. */
    double device_bandwidth;
    uint64_t gpu_entropy_bytes; /* of bytes_in: slices that the GPU decoded */
    bool libavcodec;            /* libavcodec decodes it, or did; else Pelton */
    uint8_t reserved[7];
    /* Bytes that the worker holds now, for all its streams, by enum pelton_memory: of the GPU's
     * memory, and of the host's. */
    uint64_t worker_gpu[PELTON_MEMORY_MOST], worker_host[PELTON_MEMORY_MOST];
    uint32_t warnings; /* enum pelton_warnings */
    uint32_t reserved_end;
    uint64_t pictures; /* decoded: frames, and fields of frames that are coded apart */
    /* All that crossed between host memory and the device's for it, both ways: slices, records,
     * and frames that were delivered in host memory. bytes_uploaded is the part of it that
     * reconstruction fetched. */
    uint64_t bytes_over_bus;
};
/* The totals of a stream, also after its end. */
static inline int pelton_stats(struct pelton_stream *stream, int timeout_ms,
                               struct pelton_stats *out);
/* Adds more to sum. wall becomes the larger one, and so does the worker's memory; bandwidth becomes
 * that of more. Any thread. */
static inline void pelton_stats_add(struct pelton_stats *sum, const struct pelton_stats *more);

/* ---- controls of a camera ---- */

/* Names are libcamera's: AeEnable, ExposureTime (us), AnalogueGain, ColourCorrectionMatrix,
 * ScalerCrop. */
enum { PELTON_MAX_CONTROLS = 32, PELTON_CONTROL_VALUES = 9 };
struct pelton_control {
    char name[32];
    uint32_t n; /* values */
    uint32_t reserved;
    double value[PELTON_CONTROL_VALUES], least, most;
};
/* Sets n_set controls (0: none), then fills out with all there are, *n_out of them.
 * PELTON_ERR_USAGE: no such control, out of range, or no camera. */
static inline int pelton_controls(struct pelton_stream *stream, int timeout_ms,
                                  const struct pelton_control *set, uint32_t n_set,
                                  struct pelton_control out[PELTON_MAX_CONTROLS], uint32_t *n_out);

#include "pelton_daemon.h" /* named sources, and the daemon itself */
#include "pelton_device.h" /* frames in memory of the GPU */
#include "pelton_sized.h"  /* the functions that pass sizes on */

#ifdef __cplusplus
}
#endif
#endif
