/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See camera_encodings.h: the threads that encode. Each starts its encoding, asks for its events,
 * encodes the newest frame out of the camera's pool, and leaves.
 */
#include "daemon/log.h"
#include "daemon/worker/clock.h"
#include "daemon/worker/encoding/camera_encodings_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NICER = 5 }; /* the CPU's decisions leave it to those who develop and deliver */
#define LOOK_NS (NS_PER_S / 10)

static bool cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    bool good = pthread_cond_init(cond, &monotonic) == 0;
    pthread_condattr_destroy(&monotonic);
    return good;
}

struct camera_encoding *camera_encoding_start(struct camera_encodings *all, const char *address,
                                              const struct pelton_open_params *params)
{
    struct camera_encoding *e = calloc(1, sizeof(*e));
    char *uri = e ? strdup(address) : NULL;
    if (!uri || !cond_init(&e->news)) {
        free(uri);
        free(e);
        return NULL;
    }
    e->all = all;
    e->uri = uri;
    e->params = (struct pelton_open_params){.uri = uri,
                                            .name = "",
                                            .fd = -1,
                                            .pix_fmt = "yuv420p",
                                            .policy = PELTON_LATEST,
                                            .depth = POOL_SLOTS,
                                            .n_blur = params->n_blur,
                                            .blur_width = params->blur_width,
                                            .blur_height = params->blur_height};
    memcpy(e->params.blur, params->blur, sizeof(e->params.blur));
    pthread_mutex_lock(&all->lock);
    e->next = all->first;
    all->first = e;
    pthread_mutex_unlock(&all->lock);
    uv_async_send(&all->async);
    return e;
}

void camera_encoding_ask_for_key(struct camera_encoding *e)
{
    pthread_mutex_lock(&e->all->lock);
    e->wants_key = true;
    pthread_mutex_unlock(&e->all->lock);
}

void camera_encoding_leave(struct camera_encoding *e)
{
    if (!e)
        return;
    struct camera_encodings *all = e->all;
    picture_encoder_free(e->encoder);
    e->encoder = NULL;
    pthread_mutex_lock(&all->lock);
    e->left = true; /* from now on the loop thread's alone */
    pthread_mutex_unlock(&all->lock);
    uv_async_send(&all->async);
}

/* With the lock: for a moment, at most. */
static void encoding_wait(struct camera_encoding *e)
{
    int64_t until = now_ns() + LOOK_NS;
    struct timespec t = {until / NS_PER_S, until % NS_PER_S};
    pthread_cond_timedwait(&e->news, &e->all->lock, &t);
}

static bool has_news(const struct camera_encoding *e)
{
    return e->state == ENCODING_OVER || e->state_due || (e->mapped && !e->told) || e->has_frame;
}

/* With the lock: what there is to tell. ENCODING_UNIT: a frame, which is the caller's. */
static int encoding_take(struct camera_encoding *e, struct encoding_news *news,
                         struct pelton_failure *failure)
{
    if (e->state == ENCODING_OVER) {
        *failure = e->failure;
        return failure->code < 0 ? failure->code : ENCODING_END;
    }
    if (e->state_due) {
        e->state_due = false;
        news->running = e->running;
        memcpy(news->cause, e->cause, sizeof(news->cause));
        return ENCODING_STATE;
    }
    if (e->mapped && !e->told) {
        e->told = true;
        news->width = e->format.width;
        news->height = e->format.height;
        news->rate = e->rate;
        return ENCODING_OPEN;
    }
    if (!e->has_frame)
        return ENCODING_NONE;
    uint64_t lost = e->frame.dropped_source + e->frame.dropped_decoder;
    news->captured_ns = e->frame.received_ns;
    news->missed = e->missed + (e->lost_known ? lost - e->lost_base : 0);
    e->lost_base = lost;
    e->lost_known = true;
    e->missed = 0;
    e->has_frame = false;
    return ENCODING_UNIT;
}

/* With the lock. A pool has no more slots than `done`, and each is there once. */
static void slot_done(struct camera_encoding *e, const struct feed_frame *frame)
{
    if (e->n_done < POOL_SLOTS)
        e->done[e->n_done++] = (struct encoding_slot){frame->epoch, frame->slot, frame->generation};
}

static int fail(struct pelton_failure *failure, const char *why)
{
    *failure = (struct pelton_failure){.code = PELTON_ERR_OTHER};
    snprintf(failure->cause, sizeof(failure->cause), ": its frames cannot be encoded: %s", why);
    return failure->code;
}

/* The encoder, for the first frame */
static int encoder_make(struct camera_encoding *e, struct pelton_failure *failure)
{
    const struct camera_encodings *all = e->all;
    const struct encoding_settings *s = &all->settings;
    const struct picture_encoder_params params = {.gpu = all->gpu,
                                                  .threads = all->threads,
                                                  .quality = s->quality,
                                                  .bit_rate = s->bit_rate,
                                                  .key_ns = s->key_ms * (NS_PER_S / 1000),
                                                  .rate = e->rate,
                                                  .format = &e->format};
    char why[ENCODING_WHY];
    if (!all->gpu) /* threads that the encoder makes inherit it */
        thread_gives_way(NICER);
    if (picture_encoder_new(&params, &e->encoder, why) < 0)
        return fail(failure, why);
    log_line(LOG_LEVEL_INFO, "encoding: %ux%u by the %s", e->format.width, e->format.height,
             picture_encoder_on_gpu(e->encoder) ? "GPU" : "CPU");
    return 0;
}

static bool unit_fill(AVPacket *out, const struct encoder_unit *unit,
                      const struct feed_camera *camera)
{
    if (av_new_packet(out, (int)unit->size) < 0)
        return false;
    memcpy(out->data, unit->data, unit->size);
    out->opaque_ref = av_buffer_alloc(sizeof(*camera));
    if (!out->opaque_ref)
        return false;
    memcpy(out->opaque_ref->data, camera, sizeof(*camera));
    out->pts = out->dts = unit->pts;
    out->flags = unit->key ? AV_PKT_FLAG_KEY : 0;
    return true;
}

static int frame_encode(struct camera_encoding *e, const struct feed_frame *frame, bool wants_key,
                        struct encoder_unit *unit, struct pelton_failure *failure)
{
    char why[ENCODING_WHY];
    int rc = e->encoder ? 0 : encoder_make(e, failure);
    if (rc < 0)
        return rc;
    rc = picture_encoder_push(e->encoder, e->memory + frame->slot * e->format.slot_size,
                              frame->received_ns, wants_key, unit, why);
    return rc < 0 ? fail(failure, why) : 0;
}

static void unit_count(struct camera_encoding *e, const struct encoder_unit *unit, uint64_t missed)
{
    struct encoding_usage *u = &e->all->usage;
    u->pictures++;
    u->missed += missed;
    u->bytes += unit->size;
    u->gpu = picture_encoder_on_gpu(e->encoder);
}

int camera_encoding_next(struct camera_encoding *e, AVPacket *out, struct encoding_news *news,
                         struct pelton_failure *failure)
{
    struct camera_encodings *all = e->all;
    struct encoder_unit unit = {0};
    pthread_mutex_lock(&all->lock);
    if (!has_news(e))
        encoding_wait(e);
    int rc = encoding_take(e, news, failure);
    const struct feed_frame frame = e->frame;
    const struct feed_camera camera = e->camera;
    bool wants_key = e->wants_key;
    pthread_mutex_unlock(&all->lock);
    if (rc != ENCODING_UNIT)
        return rc;
    int err = frame_encode(e, &frame, wants_key, &unit, failure);
    pthread_mutex_lock(&all->lock);
    slot_done(e, &frame);
    e->wants_key &= !unit.key;
    if (err == 0)
        unit_count(e, &unit, news->missed);
    pthread_mutex_unlock(&all->lock);
    uv_async_send(&all->async);
    if (err == 0 && !unit_fill(out, &unit, &camera)) {
        av_packet_unref(out);
        err = fail(failure, "out of memory");
    }
    return err < 0 ? err : ENCODING_UNIT;
}
