/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The thread of a transcoding: see transcoding_internal.h. Each waiting frame becomes a unit in the
 * pool of its epoch.
 */
#include "daemon/worker/encoding/transcoding_internal.h"

#include "daemon/worker/clock.h"
#include "gpu/encode/gpu_encode.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum {
    UNIT_SLOTS = 16,      /* of units */
    SLOT_LEAST = 1 << 16, /* bytes of a unit's slot */
    SLOT_ROOM = 2,        /* a slot takes so many times the unit that it was made for */
    JFIF_MATRIX = 6       /* matrix_coefficients of BT.601 */
};

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

/* The frame that follows, where it is sure to be the next one: it is looked at with this one. Of
 * another pool it may have another size. */
static const struct waiting_frame *frame_after(struct transcoding *t, const struct waiting_frame *w)
{
    uv_mutex_lock(&t->lock);
    const struct waiting_frame *next = t->most == UINT32_MAX ? t->first : NULL;
    uv_mutex_unlock(&t->lock);
    return next && next->format.host == w->format.host && next->format.epoch == w->format.epoch
               ? next
               : NULL;
}

static int frame_to_h264(struct transcoding *t, struct waiting_frame *w, struct encoder_unit *unit,
                         char *why)
{
    const struct waiting_frame *after = frame_after(t, w);
    const struct gpu_encode_source source = source_of(w),
                                   source_after = source_of(after ? after : w);
    const struct decider_source next = {.device = &source_after};
    const struct sequence_kind kind = {.width = w->format.width,
                                       .height = w->format.height,
                                       .gray = !strcmp(w->format.pix_fmt, "gray"),
                                       .sar = w->format.sar,
                                       .colour = sequence_colour(&w->format.colour),
                                       .time_codes = w->format.vui.pic_struct};
    w->in.pts = w->frame.pts;
    w->in.source.device = &source;
    w->in.source.next = after ? &next : NULL;
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
    if (!transcoding_takes(t, &w->format) || !(w->format.host || t->source.memory))
        return snprintf(why, ENCODING_WHY, "its frames became %.15s, which is not encoded here",
                        w->format.pix_fmt),
               PELTON_ERR_UNSUPPORTED;
    return t->jpeg ? frame_to_jpeg(t, w, unit, why) : frame_to_h264(t, w, unit, why);
}

static void frame_take(struct transcoding *t, struct waiting_frame *w, bool wanted)
{
    struct encoder_unit unit;
    char why[ENCODING_WHY];
    if (!wanted)
        sequence_end(&t->sequence); /* it may look at this frame */
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

void transcoding_thread(void *transcoding)
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
