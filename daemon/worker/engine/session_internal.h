/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A session: a subscription to the frames of one source, and the window of its pictures.
 *
 * The engine's lock guards every field that is not marked with its thread.
 */
#ifndef PELTON_SESSION_INTERNAL_H
#define PELTON_SESSION_INTERNAL_H

#include "daemon/worker/engine/engine.h"
#include "daemon/worker/feed/subscription.h"
#include "gpu/h264/recon.h"

#include <stddef.h>

/* What was there before it. */
struct session_base {
    struct device_cpu cpu;  /* when it was opened */
    struct recon_times gpu; /* the store's times when it attached to that */
};

/* In the engine's lists. */
struct session_place {
    struct session *next, **link; /* of all; link: where a pointer to it is */
    struct session *next_noted;   /* of engine.noted */
    struct session *next_due;     /* loop thread: of those that it calls back */
    bool noted;
    bool ends; /* loop thread: it had ended before that */
};

struct session {
    struct engine *engine;
    struct session_place place;
    struct subscription sub;
    /* its stream thread makes its frames, from libavcodec's or as access units; else the device's
     * thread */
    bool lavc;

    /* Parameters, copied. Constant after session_open, but params.blur_width and blur_height (the
     * device's thread). */
    struct pelton_open_params params;
    struct wire_stretch stretch;
    struct stretch_table *table; /* see session_extra */
    uint64_t join_bytes;
    char *uri, *name, *pix_fmt;
    int fd;
    bool probe_only, shared;
    bool inside; /* as session_extra */
    struct camera_encodings *encodings;
    uint64_t resume_sequence;

    uv_thread_t thread;
    atomic_bool stop; /* the source is to end at once: closing, or enough has been seen */
    uv_cond_t room;   /* the source waits here for room in the window */
    /* store and pool are made for it, and the source of a live stream waits in room; a reference */
    const struct h264_sps *ahead;
    struct window window;
    struct pelton_failure source_failure;
    int store_error; /* the oldest picture that waits gets no store; 0: none failed */

    struct pelton_probe_sei probe_sei; /* first is the session's */
    bool has_container_colour;
    struct pelton_colour container_colour;
    struct pelton_rational container_sar;
    uint32_t orientation;

    struct account *account;
    struct pelton_stats stats; /* without the fields that session_stats computes */
    uint64_t dropped_decoder;
    uint64_t dropped_late;        /* access units, for want of a faster reader */
    uint64_t peak_host, peak_gpu; /* most bytes held */
    int64_t opened_ns, ended_ns;
    struct session_base base;
    struct recon_times gpu_sum; /* from stores used before */
};

static inline struct session *session_of(const struct window *w)
{
    return (struct session *)((char *)(uintptr_t)w - offsetof(struct session, window));
}

/* Of a failure that the reader can do something about. */
static inline const char *session_hint(int code)
{
    return code == PELTON_ERR_NOMEM   ? "decode fewer streams at once"
           : code == PELTON_ERR_USAGE ? "docs/formats.md has the formats, sizes and crops"
                                      : "";
}

/* With the lock: the source cannot go on. Its first cause stays, and a failure of earlier pictures
 * counts more. */
void session_fail(struct session *s, int code, const char *cause, const char *hint);
/* With the lock: a picture or the device failed, and nobody wants its pictures any more. The first
 * cause stays. */
void session_abort(struct session *s, int code, const char *cause, const char *hint);
/* Hands a frame to the reader. Without memory for that the session ends, as no frame is left out.
 */
void session_post_frame(struct session *s, struct pool *pool, struct feed_frame *frame);
void session_end_subscription(struct session *s); /* with the lock: the failure is settled */
void session_give_up(struct session *s); /* with the lock: nobody wants its pictures any more */
void session_account_memory(struct session *s); /* with the lock: notes the most */
/* With the lock: sum over stores. */
void session_account_gpu(struct session *s, struct recon_times *out);
void sessions_dispatch(struct engine *e); /* loop thread, without the lock */
void stream_thread_main(void *session);

#endif
