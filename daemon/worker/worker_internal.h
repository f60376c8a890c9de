/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Structures that the protocol side of the worker shares. Thread: the loop thread, for everything.
 */
#ifndef PELTON_WORKER_INTERNAL_H
#define PELTON_WORKER_INTERNAL_H

#include "daemon/channel.h"
#include "daemon/worker/camera/camera_host.h"
#include "daemon/worker/encoding/camera_encodings.h"
#include "daemon/worker/encoding/transcoding.h"
#include "daemon/worker/session.h"
#include "daemon/worker/worker_proto.h"
#include "proto/wire.h"

/* A stream of the broker: a decoded one, one that is encoded anew, or a camera. */
struct worker_stream {
    struct worker_stream *next;
    struct worker_proto *worker;
    uint32_t wid;
    bool probe;
    struct session *session;         /* one of these */
    struct transcoding *transcoding; /* one */
    struct camera_reader *camera;    /* one */
    struct stretch_table *table;     /* until a session takes it; NULL: none */
};

struct worker_proto {
    uv_loop_t loop;
    const struct settings *settings;
    struct channel ch;
    struct gpu *gpu;               /* the one device of this process; NULL: not needed yet */
    bool lavc;                     /* libavcodec decodes; the device is a software one */
    char uuid[64];                 /* of the device, where "all" were asked for */
    struct gpu_device_info *found; /* then, until the broker has asked; NULL: none */
    size_t n_found;
    struct engine *engine;              /* on the device; NULL: not needed yet */
    struct camera_host *cameras;        /* on the same device; NULL: none was asked for yet */
    struct camera_encodings *encodings; /* of them */
    struct transcodings *transcodings;  /* on the same device; NULL: none was asked for yet */
    struct worker_stream *streams;
    uv_timer_t totals;               /* runs while there are streams, or memory to be given back */
    uint64_t memory_sent;            /* bytes, the last time */
    uint64_t encoded[3], encoded_ms; /* bytes by cameras, H.264, JPEG, and when that was */
    uint64_t rests;                  /* times that nothing has changed, without streams */
    bool ending;
    bool closed_in;                         /* the second step of its sandbox is done */
    uint32_t sandbox;                       /* enum pelton_sandbox; 0: not yet */
    void (*closed)(struct worker_proto *w); /* once engine and cameras are */
    char complaint[256];                    /* the last error line of device and engine */
};

/* ---- worker_events.c: callbacks to messages ---- */

/* Of sessions and cameras; ctx is the worker_stream, which is gone after on_end. */
extern const struct feed_callbacks worker_callbacks;
void worker_send_end(struct worker_stream *ws, const struct pelton_failure *failure,
                     const struct pelton_stats *stats);
void worker_send_error(struct worker_proto *w, const struct frame *f,
                       const struct pelton_failure *failure);
void worker_stream_free(struct worker_stream *ws);

/* ---- worker_device.c: the device, and what runs on it ---- */

/* Open the device and the engine, or the cameras too. 0, or enum pelton_error with the failure. */
int worker_need_engine(struct worker_proto *w, struct pelton_failure *failure);
/* The same while nobody waits: the reason of a failure goes to the log alone. */
void worker_warm_up(struct worker_proto *w);
int worker_need_cameras(struct worker_proto *w, struct pelton_failure *failure);
/* Or what encodes decoded frames. */
int worker_need_transcodings(struct worker_proto *w, struct pelton_failure *failure);
void worker_answer_devices(struct worker_proto *w, const struct frame *f, const Pelton__Devices *m);
/* Closes cameras, then the engine, which decodes clips of simulated sensors; then calls back. */
void worker_close_engine(struct worker_proto *w, void (*closed)(struct worker_proto *w));

/* ---- worker_streams.c: messages to streams ---- */

void worker_open_stream(struct worker_proto *w, struct frame *f, const Pelton__Open *m);
/* ws NULL: it has ended. */
void worker_close_stream(struct worker_proto *w, struct worker_stream *ws, uint32_t wid,
                         const Pelton__Close *m);
void worker_release_slot(struct worker_stream *ws, const Pelton__Release *m);
void worker_send_totals(const struct worker_stream *ws, uint32_t request_id);
/* What this process holds and has refused, of no stream. True: as much as the last time. */
bool worker_send_held(struct worker_proto *w);
/* ws NULL: there is no such stream. */
void worker_answer_controls(struct worker_proto *w, const struct worker_stream *ws,
                            const struct frame *f, const Pelton__Controls *m);

#endif
