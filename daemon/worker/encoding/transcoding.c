/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See transcoding.h. The happy path of a frame: the loop thread hears of it and puts it into the
 * list. The thread takes it, encodes it out of the session's pool, gives its slot back, and puts
 * the unit into a pool of its own. The loop thread tells the reader.
 *
 * The failure modes: frames of a kind that is not encoded here, settings that do not fit, no
 * memory, a lost device. Each ends the session first, and then the transcoding with its cause.
 */
#include "daemon/worker/encoding/transcoding.h"

#include "daemon/log.h"
#include "daemon/worker/clock.h"
#include "daemon/worker/encoding/camera_encodings.h"
#include "daemon/worker/encoding/carried_sei.h"
#include "daemon/worker/encoding/frame_source.h"
#include "daemon/worker/encoding/jpeg_batches.h"
#include "daemon/worker/encoding/sequence_encoder.h"
#include "daemon/worker/feed/subscription.h"
#include "gpu/encode/gpu_encode.h"
#include "gpu/encode/gpu_encoder.h"
#include "proto/frame_rate.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    UNIT_SLOTS = 16,      /* of units */
    SLOT_LEAST = 1 << 16, /* bytes of a unit's slot */
    SLOT_ROOM = 2,        /* a slot takes so many times the unit that it was made for */
    MOST_ALIKE = 16,      /* streams that share buffers and batches */
    JFIF_MATRIX = 6       /* matrix_coefficients of BT.601 */
};

/* A frame that waits, with its format and what goes with it into its unit */
struct waiting_frame {
    struct waiting_frame *next;
    struct feed_format format;
    struct feed_frame frame;
    struct carried_sei carried;
    struct encoder_frame in;
    bool camera; /* it is a camera's, with: */
    struct feed_camera settings;
};

struct transcoding {
    struct transcodings *all;
    struct transcoding *next;
    struct frame_source source;
    char *name;
    uv_mutex_t lock; /* of the subscription, too */
    uv_cond_t news;
    uv_thread_t thread;
    struct feed_format format; /* loop thread: the source's newest */
    uint32_t wanted[2];        /* size of the frames; 0: theirs */

    /* with the lock */
    struct subscription sub; /* of the units */
    struct waiting_frame *first, **last;
    unsigned waiting, most; /* frames; beyond `most` the oldest one goes */
    uint64_t left_out;
    bool no_more; /* the source has ended */
    bool stop;    /* the thread has failed, and the source is to be closed */
    bool stopped; /* and was */
    struct pelton_stats stats;

    /* the thread's */
    struct sequence_encoder sequence; /* of H.264 */
    struct jpeg_stream *jpeg;         /* else NULL */
};

struct transcodings {
    uv_async_t async;
    struct engine *engine;
    struct gpu *gpu;
    struct transcoding *first;   /* loop thread */
    struct gpu_encoder *encoder; /* loop thread; NULL: nobody has needed it */
    struct jpeg_batches *jpegs;  /* the same */
    uv_mutex_t usage_lock;
    struct encoding_usage usage[2]; /* H.264, JPEG */
    void (*closed)(void *ctx);
    void *closed_ctx;
};

/* ---- the loop thread: what the session tells ---- */

/* With the lock: the first cause stays. */
static void transcoding_fail(struct transcoding *t, int code, const char *what)
{
    char cause[256];
    const char *hint = strstr(what, "; ");
    snprintf(cause, sizeof(cause), "%.100s: %.*s", t->name,
             hint ? (int)(hint - what) : (int)strlen(what), what);
    subscription_fail(&t->sub, code, cause, hint ? hint + 2 : "");
    t->stop = true;
}

static bool encodes_frames(const struct transcoding *t, const struct feed_format *format)
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
    if (!info->supported || (encodes_frames(t, &format) && !turned)) {
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

static void waiting_free(struct waiting_frame *w)
{
    carried_sei_clear(&w->carried);
    free(w);
}

/* The oldest one; NULL: there is none. With the lock */
static struct waiting_frame *waiting_pop(struct transcoding *t)
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

/* A unit of so many bytes; 0: a frame was left out. */
static void transcoding_count(struct transcoding *t, size_t bytes)
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
                                                .on_end = on_end};

/* ---- the thread: units into the pool ---- */

/* The pool of the next epoch. With the lock, dropped meanwhile */
static int units_replace(struct transcoding *t, const struct feed_format *format)
{
    const struct pool_params params = {.format = *format, .memory = true};
    while (!subscription_maker_free(&t->sub, true))
        uv_cond_wait(&t->news, &t->lock);
    if (!subscription_pool_start(&t->sub, &params))
        return PELTON_ERR_NOMEM;
    while (!subscription_pool_made(&t->sub))
        uv_cond_wait(&t->news, &t->lock);
    return subscription_pool_adopt(&t->sub);
}

static void units_describe(const struct transcoding *t, struct feed_format *f)
{
    const struct encoding *e = &t->sequence.params.encoding;
    size_t sets_size;
    f->sets = encoder_sets(t->sequence.encoder, &sets_size);
    f->sets_size = (uint32_t)sets_size;
    f->sar = (struct pelton_rational){e->sar_width, e->sar_height};
    strcpy(f->pix_fmt, "h264");
}

/* JFIF has BT.601 in full range. */
static void files_describe(struct feed_format *f)
{
    f->colour.matrix = JFIF_MATRIX;
    f->colour.range = PELTON_RANGE_FULL;
    strcpy(f->pix_fmt, "mjpeg");
}

static struct feed_format units_format(const struct transcoding *t, const struct waiting_frame *w,
                                       size_t bytes)
{
    size_t least = bytes * SLOT_ROOM;
    struct feed_format f = {.memfd = -1,
                            .slots = UNIT_SLOTS,
                            .width = w->format.width,
                            .height = w->format.height,
                            .picture_width = w->format.picture_width,
                            .picture_height = w->format.picture_height,
                            .time_base = w->format.time_base,
                            .sar = w->format.sar,
                            .colour = w->format.colour,
                            .blur_width = w->format.blur_width,
                            .blur_height = w->format.blur_height,
                            .encoded = true,
                            .slot_size = least > SLOT_LEAST ? least : SLOT_LEAST};
    if (t->jpeg)
        files_describe(&f);
    else
        units_describe(t, &f);
    feed_format_close(&f);
    return f;
}

/* Parameter sets tell all of H.264. JPEG files have none. */
static bool units_alike(const struct feed_format *a, const struct feed_format *b)
{
    if (a->sets_size || b->sets_size)
        return a->sets_size == b->sets_size && !memcmp(a->sets, b->sets, a->sets_size);
    return a->width == b->width && a->height == b->height && a->sar.num == b->sar.num &&
           a->sar.den == b->sar.den && a->colour.primaries == b->colour.primaries &&
           a->colour.transfer == b->colour.transfer;
}

/* One that takes so many bytes. NULL: the transcoding has failed. With the lock, dropped
 * meanwhile */
static struct pool *units_pool(struct transcoding *t, const struct waiting_frame *w, size_t bytes)
{
    struct feed_format format = units_format(t, w, bytes);
    const struct pool *old = t->sub.pools;
    bool same = old && units_alike(&old->format, &format);
    if (same && bytes <= old->format.slot_size)
        return t->sub.pools;
    if (old && format.slot_size < old->format.slot_size)
        format.slot_size = old->format.slot_size;
    int err = units_replace(t, &format);
    if (err < 0)
        transcoding_fail(t, err, "no memory for its access units");
    return err < 0 ? NULL : t->sub.pools;
}

/* False: nobody wants it any more. With the lock, dropped meanwhile */
static bool units_slot(struct transcoding *t, struct pool *pool, uint32_t *slot)
{
    while (!t->sub.closing && !pool_take(pool, slot))
        uv_cond_wait(&t->news, &t->lock);
    return !t->sub.closing;
}

static void unit_post(struct transcoding *t, struct waiting_frame *w,
                      const struct encoder_unit *unit)
{
    struct feed_frame f = w->frame;
    uv_mutex_lock(&t->lock);
    struct pool *pool = units_pool(t, w, unit->size);
    if (pool && units_slot(t, pool, &f.slot)) {
        uv_mutex_unlock(&t->lock);
        memcpy((uint8_t *)pool->memory + f.slot * pool->format.slot_size, unit->data, unit->size);
        uv_mutex_lock(&t->lock);
        f.epoch = pool->format.epoch;
        f.generation = pool->slots[f.slot].generation;
        f.dts = f.pts;
        f.bytes = unit->size;
        f.decoded_ns = now_ns();
        f.dropped_client += t->left_out;
        f.flags = (f.flags & (PELTON_FRAME_DISCONT | PELTON_FRAME_CORRUPT | PELTON_FRAME_LAST)) |
                  (unit->key ? PELTON_FRAME_KEY : 0);
        f.field_order = PELTON_PROGRESSIVE;
        subscription_post_frame(&t->sub, pool, &f, w->camera ? &w->settings : NULL);
        subscription_pools_free(&t->sub, false);
    }
    uv_mutex_unlock(&t->lock);
    uv_async_send(&t->all->async);
}

/* ---- the thread: frames to units ---- */

static struct gpu_encode_source source_of(const struct waiting_frame *w)
{
    struct gpu_encode_source s = {
        .host = w->format.host, .width = w->format.width, .height = w->format.height};
    for (uint32_t i = 0; i < w->format.planes && i < 3; i++) {
        s.offset[i] = w->frame.slot * w->format.slot_size + w->format.plane_offset[i];
        s.stride[i] = w->format.stride[i];
    }
    return s;
}

static int frame_to_h264(struct transcoding *t, struct waiting_frame *w, struct encoder_unit *unit,
                         char *why)
{
    const struct gpu_encode_source source = source_of(w);
    const struct sequence_kind kind = {.width = w->format.width,
                                       .height = w->format.height,
                                       .gray = !strcmp(w->format.pix_fmt, "gray"),
                                       .sar = w->format.sar,
                                       .colour = sequence_colour(&w->format.colour),
                                       .time_codes = w->format.vui.pic_struct};
    w->in.pts = w->frame.pts;
    w->in.source.device = &source;
    if (sequence_fit(&t->sequence, &kind, why) < 0)
        return PELTON_ERR_USAGE;
    int rc = sequence_push(&t->sequence, &w->in, unit, why);
    return rc == SEQUENCE_RATE    ? PELTON_ERR_USAGE
           : rc == ENCODER_DEVICE ? PELTON_ERR_GPU_LOST
           : rc < 0               ? PELTON_ERR_OTHER
                                  : 0;
}

static int frame_to_jpeg(struct transcoding *t, const struct waiting_frame *w,
                         struct encoder_unit *unit, char *why)
{
    *unit = (struct encoder_unit){.key = true, .pts = w->frame.pts};
    const uint8_t *memory = t->source.memory;
    const uint8_t *frame = memory ? memory + w->frame.slot * w->format.slot_size : NULL;
    int err = jpeg_stream_push(t->jpeg, &w->format, w->frame.slot, frame, &unit->data, &unit->size);
    if (err == GPU_OK)
        return 0;
    snprintf(why, ENCODING_WHY, "its frames cannot become JPEG files: %s", gpu_error_text(err));
    return err == GPU_ERR_LOST    ? PELTON_ERR_GPU_LOST
           : err == GPU_ERR_NOMEM ? PELTON_ERR_NOMEM
                                  : PELTON_ERR_OTHER;
}

static int frame_encode(struct transcoding *t, struct waiting_frame *w, struct encoder_unit *unit,
                        char *why)
{
    if (!encodes_frames(t, &w->format) || !(w->format.host || t->source.memory))
        return snprintf(why, ENCODING_WHY, "its frames became %.15s, which is not encoded here",
                        w->format.pix_fmt),
               PELTON_ERR_UNSUPPORTED;
    return t->jpeg ? frame_to_jpeg(t, w, unit, why) : frame_to_h264(t, w, unit, why);
}

static void frame_take(struct transcoding *t, struct waiting_frame *w, bool wanted)
{
    struct encoder_unit unit;
    char why[ENCODING_WHY];
    int rc = wanted ? frame_encode(t, w, &unit, why) : 0;
    frame_source_release(&t->source, &w->frame);
    if (rc < 0) {
        uv_mutex_lock(&t->lock);
        transcoding_fail(t, rc, why);
        uv_mutex_unlock(&t->lock);
        uv_async_send(&t->all->async);
    } else if (wanted) {
        transcoding_count(t, unit.size);
        unit_post(t, w, &unit);
    }
    waiting_free(w);
}

/* Once the reader has been told everything, the pools are given up. */
static void thread_end(struct transcoding *t)
{
    sequence_end(&t->sequence);
    uv_mutex_lock(&t->lock);
    while (!subscription_quiet(&t->sub))
        uv_cond_wait(&t->news, &t->lock);
    subscription_end(&t->sub);
    uv_mutex_unlock(&t->lock);
    uv_async_send(&t->all->async);
}

static void thread_main(void *transcoding)
{
    struct transcoding *t = transcoding;
    struct waiting_frame *w;
    pthread_setname_np(pthread_self(), "pelton-encode");
    uv_mutex_lock(&t->lock);
    while ((w = waiting_pop(t)) || !t->no_more) {
        bool wanted = !t->stop && !t->sub.closing;
        if (!w) {
            uv_cond_wait(&t->news, &t->lock);
            continue;
        }
        uv_mutex_unlock(&t->lock);
        frame_take(t, w, wanted);
        uv_mutex_lock(&t->lock);
    }
    uv_mutex_unlock(&t->lock);
    thread_end(t);
}

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
    subscription_init(&t->sub, &(struct subscription_owner){&t->lock, NULL, transcoding_wake, t},
                      to, ctx);
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
    if (uv_thread_create(&t->thread, thread_main, t)) {
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
