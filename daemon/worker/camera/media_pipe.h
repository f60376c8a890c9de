/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A camera behind a media controller: the sub-devices from the sensor to the video node, their
 * links, formats and rate. Where a video node has V4L2_CAP_IO_MC (or with media=on) all of that is
 * set here; else the driver does, and sub-devices only serve controls that the video node lacks.
 *
 * Thread: that of the device's owner.
 */
#ifndef PELTON_MEDIA_PIPE_H
#define PELTON_MEDIA_PIPE_H

#include "camera/camera_params.h"
#include "camera/media_bus.h"
#include "camera/media_graph.h"

struct v4l2_device;
struct v4l2_choice;
struct pelton_failure;

/* A hop of the plan as a device. */
struct media_station {
    int fd;           /* of its sub-device; -1: it has no node; the video node's is the device's */
    int sink, source; /* numbers of pads; -1: none */
    char name[64];
};

/* A link off the way whose sink has to agree with its source all the same. */
struct media_side {
    struct media_station from, to; /* source and sink count */
};

struct media_pipe {
    struct media_station stations[MEDIA_HOPS]; /* the sensor first, the video node last */
    uint32_t n;                                /* 0: no pipe */
    struct media_side sides[MEDIA_SIDES];
    uint32_t n_sides;
    bool full;                            /* links and formats are set here */
    uint32_t sensor_width, sensor_height; /* as it sends them; 0: not known */
};

/* Finds the pipe of an open device and connects it. A device without one has n = 0. Negative, with
 * the failure; what is open then media_pipe_close closes. */
int media_pipe_open(struct v4l2_device *d, const struct camera_params *params,
                    struct pelton_failure *failure);
void media_pipe_close(struct media_pipe *pipe);

/* Of a pipe that is full. Sets the formats of all pads for what params ask for; *width and *height
 * become those of the video node's format, out its kind. */
int media_pipe_format(struct v4l2_device *d, const struct camera_params *params,
                      struct v4l2_choice *out, uint32_t *width, uint32_t *height,
                      struct pelton_failure *failure);
/* Tells the sensor the rate; *fps becomes its own, where it says it. */
void media_pipe_rate(const struct media_pipe *pipe, double *fps);
/* The sensor's clock; false: it does not say it. */
bool media_pipe_timing(const struct media_pipe *pipe, struct media_timing *out);

#endif
