/* SPDX-License-Identifier: BSD-2-Clause
 *
 * State of a session's source thread. stream_decode.c has input and life, stream_info.c the
 * information about a stream, stream_output.c the way from pictures to frames. All functions are of
 * that thread.
 */
#ifndef PELTON_DAEMON_STREAM_INTERNAL_H
#define PELTON_DAEMON_STREAM_INTERNAL_H

#include "codec/h264_error.h"
#include "daemon/worker/engine/session_internal.h"
#include "daemon/worker/source/selection.h"
#include "daemon/worker/source/stretch.h"
#include "daemon/worker/source/second_view.h"
#include "daemon/worker/source/side_data.h"
#include "daemon/worker/source/file_source.h"
#include "daemon/worker/source/lavc_stream.h"
#include "daemon/worker/source/stream_units.h"
#include "daemon/worker/source/timestamps.h"

#include <libavcodec/avcodec.h>

struct delivery;

/* What the session's statistics lack until the thread takes the engine's lock for its next access
 * unit. */
struct stream_read {
    uint64_t access_units, bytes, pictures;
    double cpu; /* seconds of the thread that they have */
};

/* What the reordering of the last frame follows from, as far as its fields are there. open: a
 * second field may come, and timestamps count the frame when that is known. */
struct stream_order {
    bool open;
    int64_t tag; /* of its first picture */
    int32_t poc;
    bool has_b_slices, restart, announced;
};

struct stream {
    struct session *session;
    struct engine *engine;
    struct source source;
    struct source_watcher watcher;
    bool source_opened;
    struct h264_stream *codec;
    uint64_t refused[H264_LIMITS]; /* by this codec, as far as they are counted */
    struct lavc_stream
        *lavc; /* NULL: the device decodes, as it does once session.lavc is not set */
    struct timestamps times;
    AVPacket *packet;
    struct h264_picture *held; /* an output picture that has not come out in decoding order yet */
    int64_t tag;               /* of the last access unit */
    struct second_view second;
    struct stretch stretch;
    struct selection selection;
    struct units units;           /* with params.encoded */
    uint64_t sequence;            /* of the next frame */
    uint64_t frames;              /* of the base view, given out or given before */
    int64_t loop_offset;          /* added to time stamps */
    int64_t loop_begin, loop_end; /* first time stamp and largest end of a frame, without it */
    uint64_t loops;
    int64_t start_pts, end_pts; /* frames outside are not given out */
    bool discontinuity;
    struct stream_order order;
    bool interlaced; /* the last frame given out was */
    bool half_ticks; /* fields leave apart, so the time base given out is half the container's */
    bool enough;     /* duration or max_frames are reached */
    bool failed;     /* the session's failure is set, or the stream is unsupported */
    bool unsupported;
    bool nobody_decodes; /* libavcodec cannot, and there is no device */
    int64_t pace_start_ns, pace_start_us;
    uint64_t pictures;
    struct pelton_info info;
    struct side_probe probe;
    struct h264_diag diag;
    struct stream_read read;
};

/* Access units leave as they came. */
static inline bool stream_gives_units(const struct stream *st)
{
    return st->session->params.encoded && !st->session->probe_only;
}

static inline bool stream_stopped(struct stream *st)
{
    return atomic_load(&st->session->stop);
}

/* ---- stream_session.c ---- */

/* The session fails; what came before is still given out. */
void stream_report_failure(struct stream *st, int code, const char *cause, const char *hint);
/* What was read, and CPU seconds of the thread so far. With the lock. */
void stream_account(struct stream *st, double cpu);
/* Waits until the window of the device has room. */
void stream_wait_for_room(struct stream *st);

/* ---- stream_step1.c ---- */

/* A new state of step 1: at the start, at each loop and at each jump. 0, or the stream has failed.
 */
int stream_open_codec(struct stream *st);
/* Counts what step 1 has refused since the last time. True: too many bytes. */
bool stream_count_refused(struct stream *st);
/* The access unit in st->packet; an error of h264_stream.h. */
int stream_parse(struct stream *st);
/* Nothing follows for the present: whatever waits comes out. */
void stream_flush(struct stream *st);

/* ---- stream_jump.c ---- */

/* Frames that were named are looked up, where there are any. False: the stream has failed. */
bool stream_choose(struct stream *st);
/* To the key picture before the next frame that is wanted, where that is shorter than to read on.
 * False: the stream has failed or was stopped. */
bool stream_jump(struct stream *st);
/* As source_read, into st->packet. */
int stream_next_packet(struct stream *st, struct pelton_failure *failure);

/* ---- stream_info.c ---- */

/* Pictures of a probe are looked at, not decoded. */
void stream_drain_probe(struct stream *st);
/* Enough of a probed stream was seen for what was asked. */
bool stream_probed(const struct stream *st);
/* The session's information, once; element and what: of what is not supported, else "". */
void stream_give_info(struct stream *st, bool supported, const char *element, const char *what);
/* st->diag names a syntax element that stops the stream. */
void stream_stop_unsupported(struct stream *st);

/* ---- stream_lavc.c ---- */

/* libavcodec is to decode the stream, where it does so here. */
void stream_lavc_open(struct stream *st);
/* The access unit `tag`. */
void stream_lavc_feed(struct stream *st, const AVPacket *packet, int64_t tag);
/* From this picture on libavcodec cannot go on: the device takes over. False: there is none. */
bool stream_lavc_leave(struct stream *st, struct h264_picture *pic, const char *why);
/* The source is at its end. */
void stream_lavc_close(struct stream *st);

/* ---- stream_output.c ---- */

/* Pictures that are complete go into the look-ahead window, frames whose turn has come into the
 * output queue. */
void stream_drain(struct stream *st);
/* A picture is to be decoded. Takes its reference. */
void stream_admit(struct stream *st, struct h264_picture *pic);
/* A frame whose picture is to be decoded goes to the reader when that is done. */
void stream_give_output(struct stream *st, struct delivery *out);
/* A frame of the second view; last: its base frame does not come any more. Takes the reference of
 * pic. */
void stream_output_second(struct stream *st, struct h264_picture *pic, bool last);
/* Of a whole file that is shared, once all have been counted; 0: it is not shared. */
uint64_t stream_frames(const struct stream *st);
/* The last frame that waits gets PELTON_FRAME_LAST, if no other part has a later one. Under the
 * engine's lock. */
void stream_set_last(struct stream *st);

#endif
