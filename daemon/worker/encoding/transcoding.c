/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See transcoding.h. The happy path of a frame: the loop thread hears of it and puts it into the
 * list. The thread takes it, encodes it out of the session's pool, gives its slot back, and puts
 * the unit into a pool of its own. The loop thread tells the reader.
 *
 * The failure modes: frames of a kind that is not encoded here, settings that do not fit, no
 * memory, a lost device. Each ends the session first, and then the transcoding with its cause.
 */
#include "daemon/worker/encoding/transcoding_internal.h"

#include "gpu/encode/gpu_encoder.h"
#include "proto/frame_rate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ALIKE = 16 }; /* streams that share buffers and batches */

/* ---- the loop thread: what the session tells ---- */

void transcoding_fail(struct transcoding *t, int code, const char *what)
{
    char cause[256];
    const char *hint = strstr(what, "; ");
    snprintf(cause, sizeof(cause), "%.100s: %.*s", t->name,
             hint ? (int)(hint - what) : (int)strlen(what), what);
    subscription_fail(&t->sub, code, cause, hint ? hint + 2 : "");
    t->stop = true;
}

bool transcoding_takes(const struct transcoding *t, const struct feed_format *format)
{
    struct jpeg_settings settings;
    if (t->jpeg)
        return jpeg_settings_of(format, &settings);
    return !strcmp(format->pix_fmt, "yuv420p") || !strcmp(format->pix_fmt, "gray");
}

/* Frames that their reader would have to turn or convert are not encoded here. */
static void on_info(void *ctx, const struct pelton_info *info, const struct pelton_probe_sei *sei)
{
    struct transcoding *t = ctx;
    bool turned = info->orientation > PELTON_UPRIGHT;
    struct feed_format format = {
        .width = info->width, .height = info->height, .colour = info->colour};
    snprintf(format.pix_fmt, sizeof(format.pix_fmt), "%.15s", info->pix_fmt);
    t->sequence.rate = info_frame_rate(info);
    if (!info->supported || (transcoding_takes(t, &format) && !turned)) {
        t->sub.callbacks.on_info(t->sub.ctx, info, sei);
        return;
    }
    uv_mutex_lock(&t->lock);
    transcoding_fail(t, PELTON_ERR_UNSUPPORTED,
                     turned ? "its frames are to be turned, which the device's encoder does not"
                            : "its frames are not those that the device's encoder takes");
    uv_mutex_unlock(&t->lock);
    uv_async_send(&t->all->async);
}

static void on_format(void *ctx, const struct feed_format *format)
{
    struct transcoding *t = ctx;
    bool fits = !t->source.of_camera || !t->wanted[0] ||
                (t->wanted[0] == format->width && t->wanted[1] == format->height);
    t->format = *format;
    if (fits && frame_source_map(&t->source, format))
        return;
    uv_mutex_lock(&t->lock);
    if (fits)
        transcoding_fail(t, PELTON_ERR_NOMEM, "out of memory");
    else
        transcoding_fail(t, PELTON_ERR_UNSUPPORTED,
                         "the camera does not scale its frames to this size");
    uv_mutex_unlock(&t->lock);
    uv_async_send(&t->all->async);
}

void waiting_free(struct waiting_frame *w)
{
    carried_sei_clear(&w->carried);
    free(w);
}

struct waiting_frame *waiting_pop(struct transcoding *t)
{
    struct waiting_frame *w = t->first;
    if (!w)
        return NULL;
    t->first = w->next;
    if (!t->first)
        t->last = &t->first;
    t->waiting--;
    return w;
}

void transcodings_usage(struct transcodings *all, struct encoding_usage *h264,
                        struct encoding_usage *jpeg)
{
    uv_mutex_lock(&all->usage_lock);
    *h264 = all->usage[0];
    *jpeg = all->usage[1];
    uv_mutex_unlock(&all->usage_lock);
}

void transcoding_count(struct transcoding *t, size_t bytes)
{
    struct transcodings *all = t->all;
    struct encoding_usage *u = &all->usage[t->jpeg != NULL];
    uv_mutex_lock(&all->usage_lock);
    u->pictures += bytes > 0;
    u->missed += bytes == 0;
    u->bytes += bytes;
    u->gpu = true;
    uv_mutex_unlock(&all->usage_lock);
}

static void waiting_give_back(struct transcoding *t, struct waiting_frame *w)
{
    if (w)
        frame_source_release(&t->source, &w->frame);
}

static void on_frame(void *ctx, const struct feed_frame *frame)
{
    struct transcoding *t = ctx;
    struct waiting_frame *w = calloc(1, sizeof(*w)), *old = NULL;
    bool good = w && carried_sei_set(&w->carried, frame->side, &w->in);
    uv_mutex_lock(&t->lock);
    if (!good)
        transcoding_fail(t, PELTON_ERR_NOMEM, "out of memory");
    bool kept = good && !t->stop && !t->sub.closing;
    if (kept) {
        w->format = t->format;
        w->frame = *frame;
        w->frame.side = NULL;
        w->frame.camera = NULL;
        w->camera = frame->camera != NULL;
        if (w->camera)
            w->settings = *frame->camera;
        *t->last = w;
        t->last = &w->next;
        old = ++t->waiting > t->most ? waiting_pop(t) : NULL;
        t->left_out += old != NULL;
        uv_cond_signal(&t->news);
    }
    uv_mutex_unlock(&t->lock);
    if (!kept)
        frame_source_release(&t->source, frame);
    waiting_give_back(t, old);
    if (old)
        transcoding_count(t, 0);
    if (old || (!kept && w))
        waiting_free(old ? old : w);
}

static void on_state(void *ctx, bool running, const char *cause)
{
    struct transcoding *t = ctx;
    if (t->sub.callbacks.on_state)
        t->sub.callbacks.on_state(t->sub.ctx, running, cause);
}

static void on_short(void *ctx)
{
    struct transcoding *t = ctx;
    if (t->sub.callbacks.on_short)
        t->sub.callbacks.on_short(t->sub.ctx);
}

static void on_end(void *ctx, const struct pelton_failure *failure,
                   const struct pelton_stats *stats)
{
    struct transcoding *t = ctx;
    uv_mutex_lock(&t->lock);
    frame_source_ended(&t->source);
    t->no_more = true;
    t->stats = *stats;
    if (failure->code)
        subscription_fail(&t->sub, failure->code, failure->cause, failure->hint);
    uv_cond_signal(&t->news);
    uv_mutex_unlock(&t->lock);
}

static const struct feed_callbacks callbacks = {.on_info = on_info,
                                                .on_format = on_format,
                                                .on_frame = on_frame,
                                                .on_state = on_state,
                                                .on_short = on_short,
                                                .on_end = on_end};

/* ---- the loop thread: its part of a life ---- */

static void transcoding_free(struct transcoding *t)
{
    subscription_clear(&t->sub);
    uv_cond_destroy(&t->news);
    uv_mutex_destroy(&t->lock);
    jpeg_stream_free(t->jpeg);
    frame_source_clear(&t->source);
    free(t->name);
    free(t);
}

static void transcoding_wake(void *transcoding)
{
    uv_cond_signal(&((struct transcoding *)transcoding)->news);
}

/* Buffers for as many streams as the first one says. They go when nobody has any more. */
static int encoder_need(struct transcodings *all, const struct pelton_encoding *e)
{
    struct gpu_encoder_params params = {.streams = e->alike < MOST_ALIKE ? e->alike : MOST_ALIKE};
    if (e->codec == PELTON_CODEC_MJPEG) {
        all->jpegs = all->jpegs ? all->jpegs : jpeg_batches_new(all->gpu);
        return all->jpegs ? GPU_OK : GPU_ERR_NOMEM;
    }
    if (all->encoder && all->first)
        return GPU_OK;
    gpu_encoder_free(all->encoder);
    all->encoder = NULL;
    return gpu_encoder_create(all->gpu, &params, &all->encoder);
}

static struct transcoding *transcoding_new(struct transcodings *all,
                                           const struct pelton_open_params *p,
                                           const struct feed_callbacks *to, void *ctx)
{
    struct transcoding *t = calloc(1, sizeof(*t));
    bool jpeg = p->encode.codec == PELTON_CODEC_MJPEG;
    if (t && jpeg)
        t->jpeg = jpeg_stream_new(all->jpegs, p->encode.quality, p->encode.alike);
    if (!t || (jpeg && !t->jpeg) ||
        !(t->name = strdup(p->name  ? p->name
                           : p->uri ? p->uri
                                    : "input"))) {
        if (t)
            jpeg_stream_free(t->jpeg);
        free(t);
        return NULL;
    }
    uv_mutex_init(&t->lock);
    uv_cond_init(&t->news);
    t->all = all;
    frame_source_init(&t->source, &all->async);
    t->last = &t->first;
    t->most = p->policy == PELTON_LOSSLESS ? UINT32_MAX
              : p->policy == PELTON_LATEST ? 1
              : p->depth                   ? p->depth
                                           : FRAME_SOURCE_SLOTS;
    subscription_init(
        &t->sub, &(struct subscription_owner){&t->lock, NULL, transcoding_wake, NULL, t}, to, ctx);
    t->sequence.settings = p->encode;
    t->sequence.begin = gpu_decider_begin;
    t->sequence.ctx = all->encoder;
    return t;
}

static int source_begin(struct transcoding *t, const struct pelton_open_params *params,
                        const struct frame_wish *wish, struct pelton_failure *failure)
{
    struct pelton_open_params p = *params;
    if (!params->pix_fmt && !t->jpeg)
        p.pix_fmt = "yuv420p";
    t->wanted[0] = p.output.width;
    t->wanted[1] = p.output.height;
    return frame_source_open(&t->source, t->all->engine, &p, wish, &callbacks, t, failure);
}

int transcoding_open(struct transcodings *all, const struct pelton_open_params *params,
                     const struct frame_wish *wish, const struct feed_callbacks *to, void *ctx,
                     struct transcoding **out, struct pelton_failure *failure)
{
    if (encoder_need(all, &params->encode) < 0)
        return PELTON_ERR_NOMEM;
    struct transcoding *t = transcoding_new(all, params, to, ctx);
    if (!t)
        return PELTON_ERR_NOMEM;
    if (uv_thread_create(&t->thread, transcoding_thread, t)) {
        transcoding_free(t);
        return PELTON_ERR_NOMEM;
    }
    int rc = source_begin(t, params, wish, failure);
    if (rc < 0) {
        uv_mutex_lock(&t->lock);
        t->no_more = t->sub.closing = true;
        uv_cond_signal(&t->news);
        uv_mutex_unlock(&t->lock);
        uv_thread_join(&t->thread);
        transcoding_free(t);
        return rc;
    }
    t->next = all->first;
    all->first = t;
    engine_add_encoders(all->engine, t->jpeg ? 0 : 1);
    *out = t;
    return 0;
}

void transcoding_release(struct transcoding *t, uint32_t epoch, uint32_t slot, uint32_t generation)
{
    subscription_release(&t->sub, epoch, slot, generation);
}

void transcoding_stats(struct transcoding *t, struct pelton_stats *out)
{
    if (!frame_source_stats(&t->source, out))
        *out = t->stats;
}

void transcoding_close(struct transcoding *t)
{
    uv_mutex_lock(&t->lock);
    t->sub.closing = t->stopped = true;
    uv_cond_signal(&t->news);
    uv_mutex_unlock(&t->lock);
    frame_source_close(&t->source);
}

/* ---- the loop thread: all of them ---- */

/* The thread has failed. */
static void transcoding_stop(struct transcoding *t)
{
    uv_mutex_lock(&t->lock);
    bool due = t->stop && !t->stopped;
    t->stopped |= due;
    uv_mutex_unlock(&t->lock);
    if (due)
        frame_source_close(&t->source);
}

/* Its thread has ended, or is about to. */
static void transcoding_end(struct transcoding **at)
{
    struct transcoding *t = *at;
    struct transcodings *all = t->all;
    uv_thread_join(&t->thread);
    engine_add_encoders(all->engine, t->jpeg ? 0 : -1);
    *at = t->next;
    subscription_call_end(&t->sub, &t->stats);
    transcoding_free(t);
    if (all->first)
        return;
    gpu_encoder_free(all->encoder);
    all->encoder = NULL;
}

/* True: it is gone. */
static bool transcoding_tend(struct transcoding **at)
{
    struct transcoding *t = *at;
    transcoding_stop(t);
    frame_source_give_back(&t->source);
    subscription_dispatch(&t->sub);
    uv_mutex_lock(&t->lock);
    bool over = !frame_source_lives(&t->source) && subscription_over(&t->sub);
    uv_mutex_unlock(&t->lock);
    if (over)
        transcoding_end(at);
    return over;
}

static void on_async(uv_async_t *async)
{
    struct transcodings *all = async->data;
    for (struct transcoding **at = &all->first; *at;)
        if (!transcoding_tend(at))
            at = &(*at)->next;
}

int transcodings_create(uv_loop_t *loop, struct engine *engine, struct gpu *gpu,
                        struct transcodings **out)
{
    struct transcodings *all = calloc(1, sizeof(*all));
    if (!all)
        return PELTON_ERR_NOMEM;
    all->engine = engine;
    all->gpu = gpu;
    all->async.data = all;
    if (uv_async_init(loop, &all->async, on_async)) {
        free(all);
        return PELTON_ERR_NOMEM;
    }
    uv_mutex_init(&all->usage_lock);
    *out = all;
    return 0;
}

void transcodings_stop(struct transcodings *all)
{
    for (struct transcoding *t = all ? all->first : NULL; t; t = t->next)
        transcoding_close(t);
}

static void on_closed(uv_handle_t *handle)
{
    struct transcodings *all = handle->data;
    void (*closed)(void *ctx) = all->closed;
    void *ctx = all->closed_ctx;
    gpu_encoder_free(all->encoder);
    jpeg_batches_free(all->jpegs);
    uv_mutex_destroy(&all->usage_lock);
    free(all);
    closed(ctx);
}

void transcodings_close(struct transcodings *all, void (*closed)(void *ctx), void *ctx)
{
    while (all->first) {
        subscription_dispatch(&all->first->sub); /* the thread waits for the end of its events */
        transcoding_end(&all->first);
    }
    all->closed = closed;
    all->closed_ctx = ctx;
    uv_close((uv_handle_t *)&all->async, on_closed);
}
