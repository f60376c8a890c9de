/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The queue of pictures between step 1 and the window: see selection.h.
 *
 * A frame's state is the mark in its first picture's holder.user: fields and colour planes share
 * their frame's fate. Marks are addresses; any other value is the picture's owner in the window.
 */
#include "daemon/worker/source/selection.h"

#include "codec/h264.h"
#include "daemon/worker/source/stream_internal.h"
#include "daemon/worker/steps/delivery.h"

#include <stdlib.h>

/* Pictures that wait for a frame that needs them. More of them are decoded without one. */
#define SELECTION_MOST 320

static char undecided, unwanted, needed;

/* The first picture of pic's frame. */
static struct h264_picture *frame_of(const struct h264_picture *pic)
{
    const struct h264_picture *first = pic->plane0 ? pic->plane0 : pic;
    return (struct h264_picture *)(uintptr_t)(first->first_field ? first->first_field : first);
}

static const void *mark_of(const struct h264_picture *pic)
{
    return frame_of(pic)->holder.user;
}

bool selection_waits(const struct h264_picture *pic)
{
    const void *mark = mark_of(pic);
    return mark == &undecided || mark == &unwanted || mark == &needed;
}

static bool is_needed(const struct h264_picture *pic)
{
    return mark_of(pic) == &needed;
}

static bool is_key(const struct h264_picture *pic)
{
    return pic->idr || (pic->recovery.present && pic->recovery.recovery_frame_cnt == 0);
}

void selection_open(struct stream *st)
{
    const struct session *s = st->session;
    struct selection *sel = &st->selection;
    bool frames = !s->params.fields && s->params.views == PELTON_VIEW_BASE;
    sel->outputs_tail = &sel->outputs;
    sel->left_tag = -1;
    /* a live frame would wait for those behind it */
    sel->chooses =
        (s->params.max_fps > 0 && frames && !s->window.live) || st->selection.chosen.active;
    sel->active = !s->probe_only && (sel->chooses || s->params.skip != PELTON_SKIP_NONE);
}

/* ---- the ring ---- */

static struct waiting_unit *unit_at(const struct selection *sel, uint32_t i)
{
    return &sel->queue[(sel->first + i) % sel->capacity];
}

static bool ring_grow(struct selection *sel)
{
    uint32_t capacity = sel->capacity ? 2 * sel->capacity : 32;
    struct waiting_unit *queue = malloc(capacity * sizeof(*queue));
    if (!queue)
        return false;
    for (uint32_t i = 0; i < sel->count; i++)
        queue[i] = *unit_at(sel, i);
    free(sel->queue);
    sel->queue = queue;
    sel->capacity = capacity;
    sel->first = 0;
    return true;
}

/* False: without memory the session fails, and the unit stays the caller's. */
static bool ring_push(struct stream *st, struct waiting_unit unit)
{
    struct selection *sel = &st->selection;
    if (sel->count == sel->capacity && !ring_grow(sel)) {
        stream_report_failure(st, PELTON_ERR_NOMEM, "out of memory", "");
        return false;
    }
    sel->count++;
    *unit_at(sel, sel->count - 1) = unit;
    return true;
}

static struct waiting_unit ring_pop(struct selection *sel)
{
    struct waiting_unit unit = *unit_at(sel, 0);
    sel->first = (sel->first + 1) % sel->capacity;
    sel->count--;
    return unit;
}

/* ---- decisions ---- */

/* A frame that waits is needed, and so is each that it refers to. They stand before it. */
static void frame_need(struct selection *sel, struct h264_picture *pic)
{
    frame_of(pic)->holder.user = &needed;
    for (uint32_t i = sel->count; i-- > 0;) {
        const struct h264_picture *p = unit_at(sel, i)->pic;
        for (uint32_t r = 0; p && is_needed(p) && r < p->refs_held_count; r++)
            if (selection_waits(p->refs_held[r]))
                frame_of(p->refs_held[r])->holder.user = &needed;
    }
}

static bool any_needed(const struct selection *sel)
{
    for (uint32_t i = sel->count; i-- > 0;)
        if (unit_at(sel, i)->pic && is_needed(unit_at(sel, i)->pic))
            return true;
    return false;
}

/* By max_fps. */
static bool spaced_out(struct stream *st, const struct packet_times *t)
{
    double tick = av_q2d(st->source.stream->time_base), fps = st->session->params.max_fps;
    return st->selection.chooses && t->pts != TIMESTAMPS_NONE &&
           frame_spacing_leaves_out(&st->selection.spacing, fps,
                                    (double)(t->pts + st->loop_offset) * tick);
}

bool selection_wants(struct stream *st, struct h264_picture *pic, const struct packet_times *t)
{
    struct selection *sel = &st->selection;
    if (!sel->active)
        return true;
    if (stretch_left_out(pic))
        return false;
    if (st->selection.chosen.active ? !chosen_copies(&st->selection.chosen, st->sequence)
                                    : spaced_out(st, t)) {
        selection_unwanted(pic);
        return false;
    }
    if (selection_waits(pic))
        frame_need(sel, pic);
    return true;
}

void selection_unwanted(struct h264_picture *pic)
{
    if (mark_of(pic) == &undecided)
        frame_of(pic)->holder.user = &unwanted;
}

/* By decoding order alone: a frame may be left out before its turn in output order. */
static bool skipped(const struct stream *st, const struct h264_picture *pic)
{
    switch (st->session->params.skip) {
    case PELTON_SKIP_NONREF:
        return !pic->nal_ref_idc;
    case PELTON_SKIP_NONKEY:
        return !is_key(pic);
    default:
        return false;
    }
}

/* ---- in and out ---- */

/* The picture's frame is new, so its state is that of its first picture. */
static void frame_enter(struct stream *st, struct h264_picture *pic)
{
    struct selection *sel = &st->selection;
    struct h264_picture *previous = pic->damage.previous;
    if (skipped(st, pic))
        stretch_mark(pic);
    else
        pic->holder.user = sel->chooses ? &undecided : &needed;
    /* what concealment might copy is no reason to decode it */
    if (previous && sel->chooses && selection_waits(previous) && !is_needed(previous))
        h264_picture_forget(pic, previous);
}

void selection_add(struct stream *st, struct h264_picture *pic)
{
    if (frame_of(pic) == pic)
        frame_enter(st, pic);
    if (!ring_push(st, (struct waiting_unit){.pic = pic, .tag = pic->tag})) {
        h264_picture_unref(pic);
        return;
    }
    /* its frame may have been chosen when only its first field had come */
    if (st->selection.chooses && is_needed(pic))
        frame_need(&st->selection, pic);
}

void selection_packet(struct stream *st)
{
    if (!st->session->lavc || !st->lavc)
        return;
    struct AVPacket *packet = av_packet_clone(st->packet);
    if (!packet)
        stream_report_failure(st, PELTON_ERR_NOMEM, "out of memory", "");
    else if (!ring_push(st, (struct waiting_unit){.packet = packet, .tag = st->tag}))
        av_packet_free(&packet);
    selection_advance(st, false);
}

static void outputs_release(struct stream *st)
{
    struct selection *sel = &st->selection;
    while (sel->outputs && !selection_waits(sel->outputs->pic)) {
        struct delivery *out = delivery_of(sel->outputs);
        sel->outputs = out->output.next;
        if (!sel->outputs)
            sel->outputs_tail = &sel->outputs;
        out->output.next = NULL;
        stream_give_output(st, out);
    }
}

void selection_output(struct stream *st, struct delivery *out)
{
    struct selection *sel = &st->selection;
    out->output.next = NULL;
    *sel->outputs_tail = &out->output;
    sel->outputs_tail = &out->output.next;
    outputs_release(st);
}

/* References that were left out are as lost. A whole stream has them only at key pictures. */
static void picture_go(struct stream *st, struct h264_picture *pic)
{
    for (uint32_t i = pic->refs_held_count; i-- > 0;)
        if (stretch_left_out(frame_of(pic->refs_held[i])))
            h264_picture_forget(pic, pic->refs_held[i]);
    struct h264_picture *previous = pic->damage.previous;
    if (previous && (stretch_left_out(frame_of(previous)) || selection_waits(previous)))
        h264_picture_forget(pic, previous);
    if (st->selection.chooses)
        stream_wait_for_room(st);
    stream_admit(st, pic);
    outputs_release(st);
}

static void picture_leave_out(struct stream *st, struct h264_picture *pic)
{
    stretch_mark(frame_of(pic));
    if (!pic->nal_ref_idc)
        st->selection.left_tag = pic->tag;
    h264_picture_unref(pic);
}

/* Without a reference libavcodec would infer frames in its place. */
static void packet_go(struct stream *st, struct waiting_unit unit)
{
    if (unit.tag != st->selection.left_tag)
        stream_lavc_feed(st, unit.packet, unit.tag);
    av_packet_free(&unit.packet);
}

enum fate { WAITS, GOES, LEFT };

/* Of a picture at the front, not needed as yet by any frame that was chosen. */
static enum fate fate_of_reference(const struct selection *sel, const struct h264_picture *pic)
{
    /* neither the buffer of step 1 nor a picture behind it holds it */
    bool alone = atomic_load(&pic->refs) == 1;
    if (alone)
        return LEFT;
    return sel->count > SELECTION_MOST || any_needed(sel) ? GOES : WAITS;
}

static enum fate fate_of(const struct selection *sel, const struct h264_picture *pic)
{
    const struct h264_picture *frame = frame_of(pic);
    const void *mark = frame->holder.user;
    if (stretch_left_out(frame))
        return LEFT;
    if (mark != &undecided && mark != &unwanted)
        return GOES;
    if (frame->nal_ref_idc)
        return fate_of_reference(sel, pic);
    return mark == &unwanted || atomic_load(&pic->refs) == 1 ? LEFT : WAITS;
}

void selection_advance(struct stream *st, bool last)
{
    struct selection *sel = &st->selection;
    while (sel->count) {
        const struct waiting_unit *front = unit_at(sel, 0);
        enum fate fate = front->pic ? fate_of(sel, front->pic) : GOES;
        if (fate == WAITS && !last)
            return;
        struct waiting_unit unit = ring_pop(sel);
        if (!unit.pic) {
            packet_go(st, unit);
            continue;
        }
        if (fate == GOES)
            picture_go(st, unit.pic);
        else
            picture_leave_out(st, unit.pic);
    }
}

void selection_close(struct stream *st)
{
    struct selection *sel = &st->selection;
    while (sel->count) {
        struct waiting_unit unit = ring_pop(sel);
        h264_picture_unref(unit.pic);
        av_packet_free(&unit.packet);
    }
    while (sel->outputs) {
        struct delivery *out = delivery_of(sel->outputs);
        sel->outputs = out->output.next;
        delivery_discard(out);
    }
    free(sel->queue);
    *sel = (struct selection){0};
}
