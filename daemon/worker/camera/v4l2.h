/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Capture from V4L2 devices: their formats, buffers, exposure and gain. v4l2_device.c and
 * v4l2_buffers.c are what every kind of device has in common, whichever of V4L2's two forms of
 * buffers it speaks (single-planar, multi-planar); v4l2_source.c makes a camera of those whose
 * frames are samples or JPEG, v4l2_stream.c access units of those that give H.264.
 *
 * Thread: that of the device's owner, but for v4l2_stream_wanted: any.
 */
#ifndef PELTON_CAMERA_V4L2_H
#define PELTON_CAMERA_V4L2_H

#include "daemon/worker/camera/camera_source.h"
#include "daemon/worker/camera/media_pipe.h"

enum { V4L2_BUFFERS = SOURCE_BUFFERS, V4L2_PLANES = 3 };

struct v4l2_kind {
    uint32_t fourcc, order, depth, packing, coding;
    uint32_t planes; /* pieces of memory that a frame comes in */
};
/* NULL: none of those that can be read */
const struct v4l2_kind *v4l2_kind_by_fourcc(uint32_t fourcc);
/* as the format setting; else the four characters */
void v4l2_fourcc_name(uint32_t fourcc, char out[12]);

/* A format as either form says it. */
struct v4l2_image {
    uint32_t fourcc, width, height, field, planes;
    uint32_t stride[V4L2_PLANES], bytes[V4L2_PLANES];
    uint32_t colorspace, ycbcr_enc, quantization;
};
/* The type of buffers of an open device: V4L2_BUF_TYPE_VIDEO_CAPTURE, or _MPLANE where it has only
 * that; 0: it captures none. -1 with errno. *media: it has V4L2_CAP_IO_MC. */
int v4l2_capture_type(int fd, bool *media);
/* -1 with errno. The second asks for image's fourcc and size; it becomes what the device made of
 * that. */
int v4l2_image_get(int fd, uint32_t type, struct v4l2_image *out);
int v4l2_image_set(int fd, uint32_t type, struct v4l2_image *image);

struct v4l2_choice {
    const struct v4l2_kind *kind; /* NULL: none */
    bool other_order;             /* then: what was asked for, but for the Bayer order, is there */
    /* of what the device has that which can be read; where there is none of that, all */
    char list[120];
};
/* Of those formats only that the video node makes of a code that arrives at its pad. */
struct v4l2_filter {
    struct media_code code;
    bool exact; /* the driver lists all formats for each code, so the depth has to agree */
};
/* The device's format for params: the one that was asked for, else by preference: raw Bayer, NV12,
 * YUYV, UYVY, NV21, YU12, MJPEG, grey, H.264; of these the first that reaches params->fps at this
 * size. filter NULL: of all formats. */
void v4l2_kind_choose(int fd, uint32_t type, const struct camera_params *params, uint32_t width,
                      uint32_t height, const struct v4l2_filter *filter, struct v4l2_choice *out);

struct v4l2_queryctrl;
/* One control of a device or sub-device that can be set; false: there is none. */
bool v4l2_control_query(int fd, uint32_t id, struct v4l2_queryctrl *out);
/* Of 32 bits or, as pixel rates are, of 64. False: it cannot be read. */
bool v4l2_control_read(int fd, uint32_t id, int64_t *out);
/* false: refused, or not there */
bool v4l2_control_write(int fd, uint32_t id, int32_t value);

/* Exposure and gain of an open device, or of its sub-devices (v4l2_controls.c). */
struct v4l2_controls {
    int time_fd, gain_fd;        /* of those who have them; borrowed */
    uint32_t time_id, gain_id;   /* 0: the device has none */
    double time_unit;            /* microseconds of one step */
    struct media_gain model;     /* where the sensor's is known; else: */
    double gain_unit, gain_base; /* factor = gain_base + control / gain_unit */
    int64_t time, gain;          /* as the device has them */
};
struct v4l2_device;
/* Finds them and narrows the limits of params to the device's. */
void v4l2_controls_open(const struct v4l2_device *d, struct v4l2_controls *c,
                        struct camera_params *params);
/* Switches the device's own exposure control off. */
void v4l2_controls_manual(const struct v4l2_device *d);
/* What the device made of e. */
struct ae_exposure v4l2_controls_set(struct v4l2_controls *c, const struct ae_exposure *e);
/* Sets params' list of controls by name, each on the sub-device that has it, else on the device
 * (v4l2_named.c). */
int v4l2_controls_named(const struct v4l2_device *d, const struct camera_params *params,
                        struct pelton_failure *failure);

/* again where a signal came; -1 with errno */
int v4l2_ioctl(int fd, unsigned long request, void *argument);

/* ---- an open device ---- */

/* Rows of a frame as the driver lays them out: one part, or one for each of Y, Cb, Cr (or the pairs
 * of both). */
struct v4l2_part {
    uint32_t stride, bytes, rows;
};

struct v4l2_buffer_memory {
    uint8_t *memory[V4L2_PLANES];
    size_t size[V4L2_PLANES];
};

struct v4l2_device {
    int fd;           /* -1: closed */
    const char *path; /* borrowed */
    bool media;       /* V4L2_CAP_IO_MC: its formats and links are set through sub-devices */
    struct media_pipe pipe;
    const struct v4l2_kind *kind;
    uint32_t type; /* of its buffers */
    struct v4l2_image image;
    /* each in a piece of memory of its own, or all one after another in the first */
    struct v4l2_part parts[V4L2_PLANES];
    uint32_t n_parts;
    /* bytes of a whole frame in each piece of memory; of coded ones: the fewest */
    size_t least[V4L2_PLANES];
    double fps;
    uint32_t memory_type; /* V4L2_MEMORY_MMAP or _USERPTR */
    struct v4l2_buffer_memory buffers[V4L2_BUFFERS];
    uint32_t n_buffers;
    bool streaming, counted;
    uint32_t sequence; /* the driver's, that comes next */
    uint64_t lost;     /* since the last good frame */
    int64_t heard_ns;
};

/* A filled buffer, which is the caller's until v4l2_device_give. */
struct v4l2_taken {
    uint32_t index;
    const uint8_t *data[V4L2_PLANES]; /* of each piece of memory */
    size_t size;                      /* of the first */
    int64_t captured_ns;
};

/* Opens, checks, sets format and rate; params become the device's. Negative, with the failure, and
 * nothing open. */
int v4l2_device_open(struct v4l2_device *d, struct camera_params *params,
                     struct pelton_failure *failure);
/* USERPTR buffers in this memory, of which those of the mask `free` are queued, and streaming.
 * False: the driver takes none, or other numbers, or its frames come in several pieces of memory.
 */
bool v4l2_device_start_user(struct v4l2_device *d, const struct source_buffers *memory,
                            uint32_t free);
/* Memory-mapped buffers, and streaming. */
int v4l2_device_start(struct v4l2_device *d, struct pelton_failure *failure);
/* SOURCE_OK, SOURCE_AGAIN after a tenth of a second without a frame, or after one that is damaged
 * or holds less than d->least; or negative. */
int v4l2_device_take(struct v4l2_device *d, struct v4l2_taken *out, struct pelton_failure *failure);
int v4l2_device_give(struct v4l2_device *d, uint32_t index, struct pelton_failure *failure);
void v4l2_device_close(struct v4l2_device *d);
int v4l2_device_fail(const struct v4l2_device *d, struct pelton_failure *failure, int code,
                     const char *cause, const char *hint);
/* as errno says; what: the call */
int v4l2_device_fail_errno(const struct v4l2_device *d, struct pelton_failure *failure,
                           const char *what);

/* Whether an address is that of a camera whose frames come as H.264 (v4l2_stream.h); one that does
 * not say its format is asked: opened for a moment. */
bool v4l2_stream_wanted(const char *uri);

void *v4l2_source_create(void);
extern const struct source_ops v4l2_source_ops;

#endif
