/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Deliveries: which frames of a session leave with a batch, and where in the pool they go.
 *
 * The schedule says whose turn it is (batch_next_output). A full pool stops the session, or drops
 * the frame if the reader asked for that.
 */
#include "daemon/worker/feed/blur_rects.h"
#include "daemon/worker/steps/reconstruct.h"

#include <stdio.h>

/* The frame's rows and planes, into a slot that is WRITING. */
static void delivery_add(struct submission *sub, struct session *s, struct delivery *to,
                         struct pool *pool, uint32_t slot)
{
    const struct feed_format *f = &pool->format;
    const struct h264_picture *pic = to->output.pic;
    struct recon_delivery *d = &sub->deliveries[sub->delivery_count];
    bool field = to->output.structure != REC_FRAME;
    uint64_t offset;
    struct gpu_host *host = pool_host(pool, slot, &offset);
    *d = (struct recon_delivery){.slot = (uint32_t)pic->holder.slot,
                                 .host = host,
                                 .crop_x = pic->sps->crop_left,
                                 .crop_y = pic->sps->crop_top / (field ? 2 : 1),
                                 .width = f->picture_width,
                                 .height = f->picture_height,
                                 .format = pool->delivered,
                                 .conversion = pool->conversion,
                                 .structure = to->output.structure};
    blur_delivery(&s->params, d);
    for (uint32_t i = 0; i < f->planes && i < 3; i++) { /* a fourth one follows the third */
        d->offset[i] = offset + f->plane_offset[i];
        d->stride[i] = f->stride[i];
    }
    to->pool = pool;
    to->output.state = OUTPUT_SUBMITTED;
    to->frame.slot = slot;
    to->frame.generation = pool->slots[slot].generation;
    sub->to[sub->delivery_count].session = s;
    sub->to[sub->delivery_count].delivery = to;
    sub->delivery_count++;
}

static void delivery_drop(struct session *s, struct delivery *to)
{
    to->output.state = OUTPUT_COMPLETE;
    to->output.drop = true;
    s->dropped_decoder++;
    wake_window(&s->window);
}

/* Applies the stream's on_error. True: the frame is not delivered. */
static bool delivery_is_refused(struct session *s, struct delivery *to)
{
    const struct picture *owner = to->output.pic->holder.user;
    char cause[200];
    if (!owner->frame.corrupt && !to->output.pic->damage.second_lost)
        return false;
    if (s->params.on_error == PELTON_ON_ERROR_DROP) {
        delivery_drop(s, to);
        return true;
    }
    if (s->params.on_error != PELTON_ON_ERROR_FAIL)
        return false;
    snprintf(cause, sizeof(cause), "%.120s: frame %llu is damaged", s->name,
             (unsigned long long)to->frame.sequence);
    session_abort(s, PELTON_ERR_DECODE, cause, "--on-error show or drop goes on after damage");
    return true;
}

/* False: this frame and later ones must wait. Whether a frame fits the pool is found out once it is
 * the first that waits (session_ensure_pool). */
static bool deliver_one(struct submission *sub, struct session *s, struct delivery *to)
{
    const struct h264_picture *pic = to->output.pic;
    struct pool *pool = s->sub.pools;
    uint32_t slot;
    bool all = s->params.policy == PELTON_LOSSLESS || s->params.bench.transport == PELTON_READBACK;
    if (delivery_is_refused(s, to))
        return true;
    if (pool->fits[pic->view] != pic->sps->serial)
        return false;
    if (!pool_has_slots(pool)) { /* PELTON_NONE: done when the picture is */
        to->pool = pool;
        to->output.state = OUTPUT_SUBMITTED;
        wake_window(&s->window); /* it may be done already */
        return true;
    }
    bool slot_free = pool_take(pool, &slot);
    if (!slot_free && all)
        return false;
    if (!slot_free)
        delivery_drop(s, to);
    else
        delivery_add(sub, s, to, pool, slot);
    return true;
}

/* True: frames are left that another batch can take. What else a frame may wait for makes its
 * window due again: a picture is submitted, or the window is noted. */
static bool session_deliver(struct submission *sub, struct session *s)
{
    struct output *out = NULL;
    if (!s->sub.pools)
        return false;
    while (sub->delivery_count < BATCH_DELIVERIES) {
        out = batch_next_output(&s->window, &sub->batch, pool_has_slots(s->sub.pools), out);
        if (!out)
            return batch_leaves_output(&s->window, &sub->batch);
        if (!deliver_one(sub, s, delivery_of(out)))
            return false;
    }
    return true;
}

void submission_deliver(struct engine *e, struct submission *sub)
{
    struct window **at = &e->schedule.due;
    while (*at)
        if (session_deliver(sub, session_of(*at)))
            at = &(*at)->due.next;
        else
            window_not_due(&e->schedule, at);
}
