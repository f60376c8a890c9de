/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See frame_source.h. A camera may end while its frames are encoded, so they are mapped again here.
 */
#include "daemon/worker/encoding/frame_source.h"

#include <string.h>
#include <sys/mman.h>

void frame_source_init(struct frame_source *s, uv_async_t *async)
{
    s->async = async;
    uv_mutex_init(&s->lock);
}

void frame_source_clear(struct frame_source *s)
{
    if (s->memory)
        munmap(s->memory, s->size);
    uv_mutex_destroy(&s->lock);
}

static int camera_begin(struct frame_source *s, const struct pelton_open_params *params,
                        const struct frame_wish *wish, const struct feed_callbacks *callbacks,
                        void *ctx, struct pelton_failure *failure)
{
    struct pelton_open_params p = *params;
    struct camera_extra extra = wish->camera;
    extra.fit_width = p.output.width;
    extra.fit_height = p.output.height;
    p.output.width = p.output.height = 0;
    p.depth = FRAME_SOURCE_SLOTS;
    return camera_open(wish->cameras, &p, &extra, callbacks, ctx, &s->camera, failure);
}

/* The session's reader is the transcoding, and its frames stay on the device. */
static int session_begin(struct frame_source *s, struct engine *engine,
                         const struct pelton_open_params *params, const struct frame_wish *wish,
                         const struct feed_callbacks *callbacks, void *ctx)
{
    struct pelton_open_params p = *params;
    struct session_extra inside = wish->session;
    p.bench.transport = PELTON_DEVICE;
    p.depth = FRAME_SOURCE_SLOTS;
    inside.inside = true;
    return session_open(engine, &p, &inside, callbacks, ctx, &s->session);
}

int frame_source_open(struct frame_source *s, struct engine *engine,
                      const struct pelton_open_params *params, const struct frame_wish *wish,
                      const struct feed_callbacks *callbacks, void *ctx,
                      struct pelton_failure *failure)
{
    struct pelton_open_params p = *params;
    p.encoded = false;
    p.any_pix_fmt = true;
    s->of_camera = wish->cameras != NULL;
    return wish->cameras ? camera_begin(s, &p, wish, callbacks, ctx, failure)
                         : session_begin(s, engine, &p, wish, callbacks, ctx);
}

/* A camera's reader has one pool. */
bool frame_source_map(struct frame_source *s, const struct feed_format *format)
{
    if (!s->of_camera || s->memory)
        return true;
    void *memory = mmap(NULL, format->memfd_size, PROT_READ, MAP_SHARED, format->memfd, 0);
    if (memory == MAP_FAILED)
        return false;
    s->memory = memory;
    s->size = format->memfd_size;
    return true;
}

void frame_source_give_back(struct frame_source *s)
{
    struct held_slot done[FRAME_SOURCE_SLOTS];
    uv_mutex_lock(&s->lock);
    unsigned n = s->n_done;
    memcpy(done, s->done, sizeof(done));
    s->n_done = 0;
    uv_mutex_unlock(&s->lock);
    for (unsigned i = 0; i < n && s->camera; i++)
        camera_release(s->camera, done[i].epoch, done[i].slot, done[i].generation);
}

void frame_source_release(struct frame_source *s, const struct feed_frame *frame)
{
    if (!s->of_camera) {
        session_release(s->session, frame->epoch, frame->slot, frame->generation);
        return;
    }
    uv_mutex_lock(&s->lock);
    if (s->n_done < FRAME_SOURCE_SLOTS) /* it has no more slots */
        s->done[s->n_done++] = (struct held_slot){frame->epoch, frame->slot, frame->generation};
    uv_mutex_unlock(&s->lock);
    uv_async_send(s->async);
}

bool frame_source_stats(struct frame_source *s, struct pelton_stats *out)
{
    if (s->session)
        session_stats(s->session, out);
    else if (s->camera)
        camera_stats(s->camera, out);
    return frame_source_lives(s);
}

void frame_source_close(struct frame_source *s)
{
    if (s->session)
        session_close(s->session);
    else if (s->camera)
        camera_close(s->camera);
}
