/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Where a transcoding has its frames from: a session, whose pool lies in the device's memory, or a
 * raw camera, whose pool lies in memory of the host. Slots go back from any thread.
 */
#ifndef PELTON_FRAME_SOURCE_H
#define PELTON_FRAME_SOURCE_H

#include "daemon/worker/camera/camera_host.h"
#include "daemon/worker/session.h"

enum { FRAME_SOURCE_SLOTS = 8 /* of its pool */ };

/* Of its opening */
struct frame_wish {
    struct session_extra session;
    struct camera_host *cameras; /* NULL: a session */
    struct camera_extra camera;
};

struct held_slot {
    uint32_t epoch, slot, generation;
};

struct frame_source {
    struct session *session; /* loop thread; NULL: it has ended, or there is a camera */
    struct camera_reader *camera;
    bool of_camera;    /* constant once it is open */
    uv_async_t *async; /* of the loop thread, which then calls frame_source_give_back */
    uint8_t *memory;   /* a camera's frames; else NULL */
    uint64_t size;
    uv_mutex_t lock; /* of the slots that are to go back to the camera */
    struct held_slot done[FRAME_SOURCE_SLOTS];
    unsigned n_done;
};

void frame_source_init(struct frame_source *s, uv_async_t *async);
/* After the end, when no slot is in use. */
void frame_source_clear(struct frame_source *s);

/* ---- loop thread ---- */

/* Of params the encoding does not count. enum pelton_error; a camera's has a failure. A camera
 * scales its frames to lie within output.width and output.height. */
int frame_source_open(struct frame_source *s, struct engine *engine,
                      const struct pelton_open_params *params, const struct frame_wish *wish,
                      const struct feed_callbacks *callbacks, void *ctx,
                      struct pelton_failure *failure);
/* Before the first frame of a format. False: no memory */
bool frame_source_map(struct frame_source *s, const struct feed_format *format);
void frame_source_give_back(struct frame_source *s);
/* False: it has ended. */
bool frame_source_stats(struct frame_source *s, struct pelton_stats *out);
void frame_source_close(struct frame_source *s); /* on_end follows, if it has not ended */
static inline void frame_source_ended(struct frame_source *s)
{
    s->session = NULL;
    s->camera = NULL;
}
static inline bool frame_source_lives(const struct frame_source *s)
{
    return s->session || s->camera;
}

/* ---- any thread ---- */

/* A session stays while a slot of its pool is held. */
void frame_source_release(struct frame_source *s, const struct feed_frame *frame);

#endif
