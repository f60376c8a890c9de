/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the thread of a live source reads: a V4L2 device that gives H.264, frames of another camera
 * that it encodes, or an address. And how readers of the source see it: a container of their own,
 * without input.
 */
#ifndef PELTON_LIVE_INPUT_H
#define PELTON_LIVE_INPUT_H

#include "daemon/worker/camera/v4l2_stream.h"
#include "daemon/worker/encoding/camera_encodings.h"
#include "daemon/worker/source/file_source.h"

/* The container as a reader of the source gets it. */
struct live_shape {
    AVFormatContext *format;  /* streams and their parameters; NULL: not known yet */
    unsigned chosen;          /* the stream of the access units */
    bool counted, shows_part; /* as struct source */
};

struct live_input {
    struct v4l2_stream *camera;       /* or */
    struct camera_encoding *encoding; /* or */
    struct source source;
    bool opened; /* the address was, or was tried */
};

enum { LIVE_NONE, LIVE_UNIT, LIVE_OPEN, LIVE_STATE, LIVE_END };
struct live_news {
    bool running; /* LIVE_STATE: it is there again; else why it is not: */
    char cause[256];
    struct live_shape shape; /* LIVE_OPEN: the caller's */
    int64_t received_ns;     /* LIVE_UNIT */
    uint64_t lost;           /* units that the source has lost before this one */
};

/* Opens nothing yet. encodings: the address is a camera whose frames are to be encoded, with the
 * rectangles of params; else NULL, and params is not used. */
int live_input_create(struct live_input *in, const char *uri, int stop_fd,
                      struct camera_encodings *encodings, const struct pelton_open_params *params,
                      struct pelton_failure *failure);
void live_input_close(struct live_input *in);
/* The next event; LIVE_OPEN comes once, before any unit. It comes with a failure where the address
 * has a container that cannot be used. A failure of an address begins with a colon, as each reader
 * calls it by another name. uri, video, stop: of the address. */
int live_input_next(struct live_input *in, const char *uri, uint32_t video, const atomic_bool *stop,
                    AVPacket *unit, struct live_news *news, struct pelton_failure *failure);
/* It waits for nobody. */
static inline bool live_input_is_device(const struct live_input *in)
{
    return in->camera || in->encoding;
}
/* A device's next key picture comes soon, where it can do that. Of other inputs nothing happens. */
void live_input_ask_for_key(struct live_input *in);
/* A file on a server, which has an end: each reader reads it for itself, as fast as it likes. */
bool live_input_ends(const struct live_input *in);

/* False: no memory, and *out is empty. */
bool live_shape_copy(const struct live_shape *from, struct live_shape *out);
void live_shape_free(struct live_shape *shape);
/* The source has sent other parameters with this packet. */
void live_shape_update(struct live_shape *shape, const AVPacket *packet);

#endif
