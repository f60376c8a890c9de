/* SPDX-License-Identifier: BSD-2-Clause
 *
 * An input of pelton encode and its output. Its thread takes frames, encodes them and writes the
 * units. So inputs are encoded at the same time, and a frame is received while the one before is
 * encoded. The thread of the connection gives frames in and takes them back.
 */
#ifndef CLIENT_ENCODE_LANE_H
#define CLIENT_ENCODE_LANE_H

#include "client/frame_encoder.h"
#include "client/input.h"
#include "client/unit_output.h"

#include <pthread.h>

enum { LANE_FRAMES = 4 /* room; at most two are held */ };

struct encode_lane {
    const struct client_options *o;
    struct failure failure;        /* of its thread, while that runs */
    struct failure source_failure; /* of the connection's */
    char path[4096];               /* of the output */
    /* of the connection's thread */
    struct client_input source;
    struct pelton_stream *stream;
    struct pelton_info info;
    bool encoded;    /* the daemon encodes: its units come, and no frames */
    int64_t news_ns; /* when a frame came last, or nobody wanted one */
    /* of the lane's thread, while it runs */
    struct unit_output out;
    struct frame_encoder *encoder; /* NULL where encoded */
    struct frame_encoder_sums sums;
    pthread_t thread;
    bool started;
    int wake; /* eventfd for the connection's thread: frames are done, or it has finished */
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t news;
    struct pelton_frame waiting[LANE_FRAMES], done[LANE_FRAMES];
    unsigned n_waiting, n_done;
    bool busy;     /* with a frame that is in neither list */
    bool no_more;  /* no frame follows those that wait */
    bool stopped;  /* and those are left out */
    bool finished; /* the output has ended */
    int code;      /* enum exit_code */
    struct progress_state state;
    int64_t first_ns; /* when its first unit was written; 0: not yet */
};

/* The encoder and the thread. After source, stream, info, encoded and out. Returns an exit code. */
int encode_lane_start(struct encode_lane *l, struct encode_device *device);
/* Waits for the end of its thread. Then failure is that of the lane. */
void encode_lane_join(struct encode_lane *l);

/* ---- of the connection's thread ---- */

/* A frame may be given in. */
bool encode_lane_wants(struct encode_lane *l);
void encode_lane_give(struct encode_lane *l, const struct pelton_frame *frame);
/* The source has ended; code: 0, or why. */
void encode_lane_end(struct encode_lane *l, int code);
/* The frame that it is busy with is its last one. */
void encode_lane_stop(struct encode_lane *l);
/* Frames to release: returns their number. */
unsigned encode_lane_take_back(struct encode_lane *l, struct pelton_frame out[LANE_FRAMES]);
bool encode_lane_finished(struct encode_lane *l);
/* What it has done, and when its first unit was written; 0: not yet */
struct progress_state encode_lane_state(struct encode_lane *l, int64_t *first_ns);

#endif
