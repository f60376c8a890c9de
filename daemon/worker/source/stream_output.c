/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pictures in decoding order enter the window, pictures in output order become frames of the output
 * queue: with time stamps, within the range that was asked for, as frames or fields, of one view or
 * both.
 */
#include "codec/h264_stream.h"
#include "daemon/worker/source/stream_internal.h"
#include "daemon/worker/steps/delivery.h"
#include "daemon/worker/source/field_order.h"
#include "daemon/worker/steps/admit.h"

#include <stdlib.h>
#include <string.h>

uint64_t stream_frames(const struct stream *st)
{
    return st->session->table ? st->sequence : 0;
}

void stream_set_last(struct stream *st)
{
    const uint64_t frames = stream_frames(st);
    struct output *last = st->session->window.outputs;
    while (last && last->next)
        last = last->next;
    if (last && (!frames || delivery_of(last)->frame.sequence + 1 == frames))
        delivery_of(last)->frame.flags |= PELTON_FRAME_LAST;
}

static bool wanted(struct stream *st, const struct packet_times *t)
{
    const struct session *s = st->session;
    if (st->enough || t->discard ||
        (t->pts != TIMESTAMPS_NONE && st->start_pts != TIMESTAMPS_NONE && t->pts < st->start_pts))
        return false;
    if (t->pts != TIMESTAMPS_NONE && st->end_pts != TIMESTAMPS_NONE &&
        t->pts + st->loop_offset >= st->end_pts) {
        st->enough = true;
        return false;
    }
    st->frames++;
    if (s->params.max_frames && st->frames >= s->params.max_frames)
        st->enough = true;
    return true;
}

/* Decoding may start there with nothing missing in output order from there on. */
static bool is_entry(const struct h264_recovery_point *r)
{
    return r->present && r->recovery_frame_cnt == 0;
}

static uint32_t frame_flags(struct stream *st, const struct h264_picture *pic, bool second)
{
    uint32_t flags = second ? 0 : pic->idr || is_entry(&pic->recovery) ? PELTON_FRAME_KEY : 0;
    if (st->discontinuity)
        flags |= PELTON_FRAME_DISCONT;
    st->discontinuity = false;
    return flags;
}

/* In the time base that is given out; fields: of one field of two. */
static int64_t given_time(const struct stream *st, int64_t ts)
{
    return ts == TIMESTAMPS_NONE ? ts : (ts + st->loop_offset) * (st->half_ticks ? 2 : 1);
}

/* One frame for the reader, or one field of it (structure), unless an earlier worker gave it out.
 */
static void emit_output(struct stream *st, struct h264_picture *pic, const struct packet_times *t,
                        uint8_t structure, bool second, enum pelton_field_order order)
{
    struct session *s = st->session;
    uint64_t number = st->selection.chosen.active ? st->sequence : st->sequence++,
             sequence = st->selection.chosen.active ? st->selection.chosen.next++ : number;
    struct delivery *out = sequence >= s->resume_sequence ? calloc(1, sizeof(*out)) : NULL;
    if (sequence >= s->resume_sequence && !out)
        stream_report_failure(st, PELTON_ERR_NOMEM, "out of memory", "");
    if (!out)
        return;
    int64_t duration = t->duration * (st->half_ticks ? 2 : 1),
            length = structure == REC_FRAME ? duration : duration / 2;
    int64_t pts = given_time(st, t->pts);
    out->output.pic = h264_picture_ref(pic);
    out->output.structure = structure;
    out->frame =
        (struct feed_frame){.sequence = sequence,
                            .number = number,
                            .view = pic->view,
                            .pts = second && pts != TIMESTAMPS_NONE ? pts + length : pts,
                            .dts = given_time(st, t->dts),
                            .duration = length,
                            .received_ns = t->received_ns,
                            .dropped_source = st->source.dropped,
                            .flags = frame_flags(st, pic, second),
                            .field_order = structure == REC_FRAME ? order
                                           : structure == REC_TOP ? PELTON_TOP_FIELD
                                                                  : PELTON_BOTTOM_FIELD,
                            .side = second ? NULL : side_data_of(pic, s->params.side_data)};
    if (st->selection.active)
        selection_output(st, out);
    else
        stream_give_output(st, out);
}

void stream_give_output(struct stream *st, struct delivery *out)
{
    if (lavc_has(out->output.pic)) {
        lavc_output(st->lavc, out);
        return;
    }
    engine_lock(st->engine);
    window_output(&st->session->window, &out->output);
    engine_unlock(st->engine);
}

/* A frame that was named several times in a row leaves as often. */
static void emit_whole(struct stream *st, struct h264_picture *pic, const struct packet_times *t,
                       enum pelton_field_order order)
{
    struct chosen *c = &st->selection.chosen;
    uint32_t copies = c->active ? chosen_copies(c, st->sequence) : 1;
    for (uint32_t i = 0; i < copies; i++)
        emit_output(st, pic, t, REC_FRAME, false, order);
    if (c->active) {
        st->sequence++;
        st->enough |= !chosen_remains(c);
    }
}

/* A frame that another session gives out: it counts here, too. Takes the reference of pic. */
static void leave_out(struct stream *st, struct h264_picture *pic)
{
    st->sequence++;
    st->discontinuity = false;
    field_order(pic, pic->poc, &st->interlaced); /* what the next frame is may depend on it */
    h264_picture_unref(pic);
}

/* Of a frame that its window does not know. */
static void waiting_poc(struct h264_picture *pic, int32_t poc[2])
{
    for (unsigned i = 0; i < 2; i++) {
        const struct h264_picture *of = h264_picture_of_parity(pic, i ? REC_BOTTOM : REC_TOP);
        poc[i] = of ? of->poc[i] : pic->poc[!i];
    }
}

/* Of both fields. This thread alone writes them. */
static void frame_poc(struct h264_picture *pic, int32_t poc[2])
{
    if (selection_waits(pic)) {
        waiting_poc(pic, poc);
        return;
    }
    const struct picture *owner = lavc_has(pic) ? NULL : pic->holder.user;
    memcpy(poc, owner ? owner->frame.poc : lavc_poc(pic), 2 * sizeof(*poc));
}

/* With params.fields frames of sequences that may be interlaced (frame_mbs_only_flag 0) leave as
 * their fields, the first one first; of a single field only that. Takes the reference of pic. */
static void emit(struct stream *st, struct h264_picture *pic, const struct packet_times *t)
{
    if (stretch_left_out(pic)) {
        leave_out(st, pic);
        return;
    }
    int32_t poc[2];
    frame_poc(pic, poc);
    bool view_interlaced = st->interlaced;
    enum pelton_field_order order =
        field_order(pic, poc, pic->view ? &view_interlaced : &st->interlaced);
    if (!st->session->params.fields || pic->sps->frame_mbs_only_flag) {
        emit_whole(st, pic, t, order);
    } else {
        bool single = pic->structure != REC_FRAME && !pic->paired;
        uint8_t first = single ? pic->structure : poc[0] <= poc[1] ? REC_TOP : REC_BOTTOM;
        emit_output(st, pic, t, first, false, order);
        if (!single)
            emit_output(st, pic, t, REC_FRAME - first, true, order);
    }
    h264_picture_unref(pic);
}

static void count_order(struct stream *st)
{
    const struct stream_order *o = &st->order;
    if (!o->announced)
        timestamps_order(&st->times, o->poc, o->has_b_slices, o->restart);
}

/* No second field came. */
static void close_field(struct stream *st)
{
    if (st->order.open) {
        count_order(st);
        timestamps_decoded(&st->times, st->order.tag, true);
    }
    st->order.open = false;
}

void stream_output_second(struct stream *st, struct h264_picture *pic, bool last)
{
    static const struct packet_times unknown = {.pts = TIMESTAMPS_NONE, .dts = TIMESTAMPS_NONE};
    const struct second_view_base *base = second_view_base(&st->second, pic->tag);
    if (base && !base->keep)
        h264_picture_unref(pic);
    else if (base)
        emit(st, pic, &base->times);
    else if (last || !second_view_hold(&st->second, pic))
        emit(st, pic, &unknown);
}

/* The index is made, or it has the frame's time. */
static void number_frame(struct stream *st, const struct h264_picture *pic, struct packet_times *t)
{
    struct chosen *c = &st->selection.chosen;
    if (c->maker)
        chosen_note_frame(c, pic, st->sequence, t->pts);
    else if (c->index && st->sequence < c->index->frames)
        t->pts = c->index->pts[st->sequence];
}

/* Takes the reference of pic. */
static void output_picture(struct stream *st, struct h264_picture *pic)
{
    struct packet_times t;
    if (pic->view) {
        stream_output_second(st, pic, false);
        return;
    }
    int64_t tag = pic->tag;
    if (st->session->params.fields)
        stream_give_info(st, true, "", ""); /* decides the time base */
    if (st->order.open && st->order.tag == tag)
        close_field(st);
    timestamps_output(&st->times, tag, &t);
    if (t.pts != TIMESTAMPS_NONE && st->loop_begin == TIMESTAMPS_NONE)
        st->loop_begin = st->loop_end = t.pts;
    if (t.pts != TIMESTAMPS_NONE && t.pts + t.duration > st->loop_end)
        st->loop_end = t.pts + t.duration;
    bool keep = !pic->damage.unrecovered && wanted(st, &t);
    if (keep && st->selection.chosen.active)
        number_frame(st, pic, &t);
    if (!keep) {
        selection_unwanted(pic);
        h264_picture_unref(pic);
    } else if (selection_wants(st, pic, &t)) {
        emit(st, pic, &t);
    } else {
        leave_out(st, pic);
    }
    second_view_note(&st->second, &t, keep);
    while ((pic = second_view_take(&st->second, tag, false)))
        stream_output_second(st, pic, false);
}

/* For streams that do not announce how far they reorder. A frame of two fields counts once the
 * second one is there: by the lower of both counts, and by what the second one is. */
static void note_order(struct stream *st, const struct h264_picture *pic)
{
    const struct h264_slice_header *hdr = pic->slice_count ? &pic->slices[0].hdr : NULL;
    struct stream_order *o = &st->order;
    bool reset = false, second = pic->first_field != NULL;
    int32_t poc = pic->output_poc;
    for (unsigned i = 0; hdr && i < hdr->mmco_count; i++)
        reset |= hdr->mmco[i].op == 5; /* the counts start again with this picture */
    if (second && o->poc < poc)
        poc = o->poc;
    o->poc = reset ? 0 : poc;
    o->restart = pic->idr || reset || (second && o->restart);
    o->has_b_slices = pic->has_b_slices;
    o->announced = pic->sps->vui_present && pic->sps->vui.bitstream_restriction_flag;
    if (pic->structure == REC_FRAME || second)
        count_order(st);
}

/* A frame is decoded when its second field is. */
static void count_picture(struct stream *st, const struct h264_picture *pic)
{
    if (pic->first_field) {
        note_order(st, pic);
        timestamps_decoded(&st->times, pic->tag, pic->tag != st->order.tag);
        st->order.open = false;
        return;
    }
    close_field(st);
    note_order(st, pic);
    st->order.open = pic->structure != REC_FRAME;
    st->order.tag = pic->tag;
    if (!st->order.open)
        timestamps_decoded(&st->times, pic->tag, false);
}

/* Frames whose pictures are admitted leave in their order. */
static void drain_outputs(struct stream *st)
{
    while (st->held || (st->held = h264_stream_next_output(st->codec))) {
        struct h264_picture *pic = st->held;
        if (!pic->holder.user)
            break;
        st->held = NULL;
        output_picture(st, pic);
    }
}

void stream_admit(struct stream *st, struct h264_picture *pic)
{
    struct session *s = st->session;
    st->read.pictures += !pic->non_existing && !s->lavc;
    const char *why = s->lavc && st->lavc ? lavc_refuses(st->lavc, pic) : NULL;
    if (why)
        drain_outputs(st);
    if ((why && !stream_lavc_leave(st, pic, why)) || st->nobody_decodes) {
        h264_picture_unref(pic);
    } else if (s->lavc) {
        if (lavc_admit(st->lavc, pic))
            stream_report_failure(st, PELTON_ERR_NOMEM, "out of memory", "");
    } else if (picture_admit(s, pic)) {
        h264_picture_unref(pic);
        stream_report_failure(st, PELTON_ERR_NOMEM, "out of memory", "");
    }
}

/* While the index is made nothing is decoded. Takes the reference of pic. */
static void picture_note(struct stream *st, struct h264_picture *pic)
{
    if (!pic->non_existing && !pic->view)
        chosen_note_picture(&st->selection.chosen, pic);
    stretch_mark(pic);
    h264_picture_unref(pic);
}

static uint64_t bytes_left(const struct stream *st)
{
    const struct source *src = &st->source;
    if (src->size < 0 || st->session->params.loop)
        return UINT64_MAX;
    return src->position < src->size ? (uint64_t)(src->size - src->position) : 0;
}

void stream_drain(struct stream *st)
{
    struct session *s = st->session;
    struct h264_picture *pic;
    if (s->probe_only) {
        stream_drain_probe(st);
        return;
    }
    if (stream_gives_units(st)) {
        units_drain(st);
        return;
    }
    while ((pic = h264_stream_next_decode(st->codec))) {
        if (!pic->non_existing && !pic->view && !pic->plane0)
            count_picture(st, pic);
        if (st->pictures++ == 0) {
            engine_lock(st->engine);
            s->window.picture_bytes = window_picture_bytes(pic->sps, pic->mb_count);
            engine_unlock(st->engine);
        }
        if (st->selection.chosen.maker)
            picture_note(st, pic);
        else if (stretch_leaves_out(&st->stretch, pic, bytes_left(st)))
            h264_picture_unref(pic);
        else if (st->selection.active)
            selection_add(st, pic);
        else
            stream_admit(st, pic);
    }
    drain_outputs(st);
    if (st->selection.active)
        selection_advance(st, false);
}
