/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Begin and end of a picture in step 1: activation of parameter sets, random access, marking and
 * output.
 */
#include "codec/damage.h"
#include "codec/diag.h"
#include "codec/h264_picture.h"
#include "codec/output_order.h"
#include "codec/parameter_sets.h"
#include "codec/poc.h"
#include "codec/sei.h"
#include "codec/stream.h"

#include <stdlib.h>

/* Whether pictures of both sets can refer to each other. */
static bool same_sequence(const struct h264_sps *a, const struct h264_sps *b)
{
    return h264_sps_same_samples(a, b) && a->log2_max_frame_num == b->log2_max_frame_num &&
           a->poc_type == b->poc_type;
}

static void sequence_restart(struct h264_stream *s)
{
    h264_output_flush(&s->dpb, &s->output);
    h264_dpb_clear(&s->dpb);
}

static void sequence_activate(struct h264_stream *s, const struct h264_sps *sps)
{
    h264_sps_unref(s->active);
    s->active = h264_sps_ref(sps);
    s->dpb.max_refs = sps->max_num_ref_frames ? sps->max_num_ref_frames : 1;
    s->dpb.size = sps->max_dpb_frames > s->dpb.max_refs ? sps->max_dpb_frames : s->dpb.max_refs;
    s->dpb.max_frame_num = 1u << sps->log2_max_frame_num;
}

/* A first picture without an IDR: whatever was before is unknown. */
static void start_without_idr(struct h264_stream *s, const struct h264_slice_header *h)
{
    s->poc = (struct h264_poc_state){.prev_frame_num = h->frame_num};
    s->prev_ref_frame_num = h->frame_num;
}

/* Decoding starts at an IDR picture, a recovery point or an intra slice that opens a picture. */
static bool may_start(const struct h264_stream *s, const struct h264_slice_header *h)
{
    return h->idr || s->params.any_start || (h->first_mb == 0 && h->anchor_pic_flag) ||
           (h->first_mb == 0 && (s->recovery.present || h->type == H264_I));
}

/* The picture in the DPB that is nearest in output order. */
static struct h264_picture *nearest_picture(const struct h264_dpb *dpb, int32_t poc)
{
    const struct h264_dpb_entry *nearest = NULL;
    int64_t least = INT64_MAX;
    for (unsigned i = 0; i < dpb->count; i++) {
        int64_t d = (int64_t)h264_frame_poc(dpb->entries[i].poc) - poc;
        if ((d < 0 ? -d : d) < least) {
            least = d < 0 ? -d : d;
            nearest = &dpb->entries[i];
        }
    }
    return nearest ? nearest->pic : NULL;
}

/* What concealment may copy where pic turns out to name no reference. */
static void picture_set_previous(struct h264_stream *s, struct h264_picture *pic,
                                 struct h264_picture *first)
{
    struct h264_picture *previous = first       ? first
                                    : s->before ? s->before
                                                : nearest_picture(&s->dpb, pic->output_poc);
    if (previous && same_sequence(previous->sps, pic->sps))
        pic->damage.previous = h264_picture_ref(previous);
    h264_picture_unref(s->before);
    s->before = NULL;
}

/* All slices are there. A picture that predicts, and has nothing to predict from, takes what was
 * before. */
static void picture_choose_previous(struct h264_picture *pic)
{
    bool predicts = false;
    if (!pic->damage.previous)
        return;
    for (uint32_t i = 0; i < pic->slice_count; i++)
        predicts |= pic->slices[i].num_ref[0] > 0;
    if (predicts && !pic->refs_held_count)
        h264_picture_hold(pic, pic->damage.previous); /* its second field may be gone */
    else if (pic->refs_held_count) {
        h264_picture_unref(pic->damage.previous);
        pic->damage.previous = NULL;
    }
}

/* Activation and the state of the sequence. False: the picture is skipped. */
static bool sequence_enter(struct h264_stream *s, const struct h264_sps *sps,
                           const struct h264_slice_header *h)
{
    if (s->active != sps && s->active && !h->idr && !same_sequence(s->active, sps)) {
        s->stats.errors++; /* 7.4.1.2.1: only an IDR picture may activate another SPS */
        sequence_restart(s);
        h264_recovery_breach(s, H264_BREACH_SEQUENCE);
        s->started = false;
    }
    if (s->active && s->active != sps && !h->idr && !h264_sps_same_decoding(s->active, sps))
        h264_recovery_breach(s, H264_BREACH_SEQUENCE);
    if (!s->started && !may_start(s, h)) {
        s->stats.skipped_before_idr += h->first_mb == 0;
        return false;
    }
    if (h->idr) {
        struct h264_picture *last = nearest_picture(&s->dpb, INT32_MAX);
        h264_picture_unref(s->before);
        s->before = last ? h264_picture_ref(last) : NULL;
        sequence_restart(s);
    }
    if (s->active != sps)
        sequence_activate(s, sps);
    if (!s->started && !h->idr)
        start_without_idr(s, h);
    return true;
}

/* The entry of the first field that awaits its second one. */
static struct h264_dpb_entry *first_entry(struct h264_stream *s)
{
    if (s->pending.pic)
        return &s->pending;
    for (unsigned i = 0; i < s->dpb.count; i++)
        if (s->dpb.entries[i].pic == s->first)
            return &s->dpb.entries[i];
    return NULL;
}

static bool has_reset(const struct h264_slice_header *h)
{
    for (unsigned i = 0; i < h->mmco_count; i++)
        if (h->mmco[i].op == 5)
            return true;
    return false;
}

/* Of a field of the other parity than the reference field before: they have one frame_num, and are
 * no pair (3.30, 7.4.3). */
static bool resets_alone(const struct h264_stream *s, const struct h264_slice_header *h)
{
    return s->first && s->first->nal_ref_idc && h->field_pic_flag && has_reset(h) &&
           s->first->structure == (h->bottom_field_flag ? REC_TOP : REC_BOTTOM);
}

/* Whether h opens the second field of s->first's frame: the next field in decoding order, of the
 * other parity and the same frame_num. One with operation 5 stands alone (3.30), and so does an IDR
 * picture but for encoders that give both fields type 5. A frame ends with its sequence. */
static bool is_second(struct h264_stream *s, const struct h264_sps *sps,
                      const struct h264_slice_header *h)
{
    const struct h264_dpb_entry *e = s->first ? first_entry(s) : NULL;
    return e && !s->habits.over && sps == s->first->sps && h->field_pic_flag &&
           s->first->structure == (h->bottom_field_flag ? REC_TOP : REC_BOTTOM) &&
           e->frame_num == h->frame_num && (!h->nal_ref_idc || s->first->nal_ref_idc) &&
           (!h->idr || (s->first->idr && h->idr_pic_id == s->habits.idr_pic_id)) && !has_reset(h);
}

static void output_trim(struct h264_stream *s, const struct h264_sps *sps)
{
    if (sps->poc_type == 2 || s->low_delay_output)
        h264_output_trim(&s->dpb, sps->reorder_frames, &s->output);
}

void h264_stream_close_field(struct h264_stream *s)
{
    struct h264_picture *first = s->first;
    if (!first)
        return;
    first->damage.second_lost = h264_stream_field_is_odd(s, first);
    if (first->damage.second_lost && first->nal_ref_idc)
        h264_recovery_breach(s, H264_BREACH_ORDER); /* half of it is missing, or another frame's */
    if (s->pending.pic)
        h264_output_store(&s->dpb, &s->pending, &s->output);
    s->first = NULL;
    output_trim(s, first->sps);
    h264_picture_unref(first);
}

/* What a new frame or first field changes before it. repeats: its frame_num breaks 7.4.3. *skip: it
 * is not decoded. */
static int begin_frame(struct h264_stream *s, const struct h264_sps *sps,
                       const struct h264_slice_header *h, bool repeats, bool *skip,
                       struct h264_diag *diag)
{
    int error;
    h264_stream_close_field(s);
    *skip = !sequence_enter(s, sps, h);
    if (*skip)
        return H264_OK;
    if (repeats && h->nal_ref_idc)
        h264_recovery_breach(s, H264_BREACH_ORDER);
    error = h264_stream_fill_gap(s, sps, h, diag);
    return error ? error : h264_stream_reserve(s);
}

/* No slice starts anywhere as yet. */
static int starts_clear(struct h264_stream *s, uint32_t mb_count)
{
    if (s->starts_capacity < mb_count) {
        uint8_t *starts = realloc(s->starts, mb_count);
        if (!starts)
            return H264_ERR_NOMEM;
        s->starts = starts;
        s->starts_capacity = mb_count;
    }
    memset(s->starts, 0, mb_count);
    return H264_OK;
}

static void sei_clear(struct h264_stream *s)
{
    h264_sei_clear(&s->sei);
    s->recovery.present = false;
}

/* The messages before pic become its own. Without memory for them the picture stands alone. */
static void picture_move_sei(struct h264_stream *s, struct h264_picture *pic)
{
    if (h264_sei_take(&s->sei, &pic->sei))
        s->stats.errors++;
    sei_clear(s);
}

int h264_stream_begin_picture(struct h264_stream *s, const struct h264_sps *sps,
                              const struct h264_slice_header *h, struct h264_diag *diag)
{
    struct h264_picture *pic, *first = NULL;
    bool skip = false, repeats = h264_stream_frame_num_repeats(s, h) && !resets_alone(s, h),
         counts = h264_stream_frame_num_counts(s, h),
         falls = h264_stream_frame_num_falls(s, sps, h);
    int error = h264_stream_reserve(s);
    if (error)
        return error;
    if (is_second(s, sps, h)) {
        first = s->first;
    } else if ((error = begin_frame(s, sps, h, repeats, &skip, diag)) || skip) {
        sei_clear(s);
        return error;
    }
    pic = h264_picture_create(s->allocator, sps,
                              !h->field_pic_flag     ? REC_FRAME
                              : h->bottom_field_flag ? REC_BOTTOM
                                                     : REC_TOP);
    if (!pic || starts_clear(s, pic->mb_count)) {
        h264_picture_unref(pic);
        return H264_ERR_NOMEM;
    }
    if (first) {
        pic->first_field = h264_picture_ref(first);
        first->second_field = pic;
    }
    h264_poc_derive(&s->poc, sps, h, pic->poc);
    if (h->field_pic_flag)
        pic->poc[!h->bottom_field_flag] = pic->poc[h->bottom_field_flag];
    pic->id = s->next_id++;
    pic->tag = s->tag;
    pic->idr = h->idr;
    pic->view = s->view_index;
    pic->nal_ref_idc = h->nal_ref_idc;
    pic->mbaff = sps->mb_adaptive_frame_field_flag && !h->field_pic_flag;
    pic->recovery = s->recovery;
    picture_move_sei(s, pic);
    pic->output_poc = h264_frame_poc(pic->poc);
    picture_set_previous(s, pic, first);
    h264_recovery_begin(s, h, pic);
    repeats = repeats && !first;
    if (repeats && !h->nal_ref_idc) {
        h264_picture_damage(pic);
        if (!sps->frame_mbs_only_flag) /* it may be a field of a reference */
            h264_recovery_breach(s, H264_BREACH_ORDER);
    }
    s->started = true;
    s->cur = pic;
    if (!first)
        h264_stream_judge_frame_num(s, repeats && h->nal_ref_idc, counts);
    if (falls && !first) /* what refers to it means another picture (7.4.3) */
        h264_recovery_breach(s, H264_BREACH_ORDER);
    s->habits.over_before = s->habits.over;
    s->cur_boundary = s->cur_ended = s->habits.over = false;
    s->bytes_size = 0;
    s->stats.pictures++;
    return H264_OK;
}

/* 8.2.5.1: marks earlier pictures and sets the marks of the current frame, or field of the entry e.
 * own: e where it is in the DPB already. */
static int picture_mark(struct h264_stream *s, const struct h264_picture *pic,
                        const struct h264_slice_header *h, struct h264_dpb_entry *e,
                        const struct h264_dpb_entry *own, bool *reset)
{
    uint32_t long_term_idx = H264_NO_LONG_TERM;
    int error = H264_OK;
    if (!h->nal_ref_idc)
        return H264_OK;
    if (h->idr) { /* the buffer was emptied when the picture began */
        s->dpb.max_long_term = h->long_term_reference_flag;
        if (h->long_term_reference_flag)
            long_term_idx = 0;
    } else if (h->adaptive_marking_flag) {
        error = h264_dpb_adapt(&s->dpb, h, own, &long_term_idx, reset);
    } else if (!e->short_term) { /* 8.2.5.3: not for the second field of a short-term reference */
        h264_dpb_slide(&s->dpb, h->frame_num, own);
    }
    if (long_term_idx == H264_NO_LONG_TERM) {
        e->short_term |= pic->structure;
        return error;
    }
    if (e->long_term && e->long_term_frame_idx != long_term_idx)
        e->long_term = 0;
    e->long_term |= pic->structure;
    e->long_term_frame_idx = long_term_idx;
    return error;
}

/* After operation 5 the picture counts as frame_num 0 with POC relative to itself (8.2.1), and as
 * an IDR for output (C.4.4). */
static void reset_numbers(struct h264_stream *s, struct h264_dpb_entry *e)
{
    uint32_t first = (uint32_t)h264_frame_poc(e->poc);
    h264_output_flush(&s->dpb, &s->output);
    e->poc[0] = (int32_t)((uint32_t)e->poc[0] - first);
    e->poc[1] = (int32_t)((uint32_t)e->poc[1] - first);
    h264_recovery_reset(s, e->frame_num);
    e->frame_num = 0;
}

/* Marking and numbering of a complete picture whose entry e is. */
static int picture_mark_and_number(struct h264_stream *s, struct h264_picture *pic,
                                   const struct h264_slice_header *h, struct h264_dpb_entry *e,
                                   const struct h264_dpb_entry *own, struct h264_diag *diag)
{
    bool reset = false;
    int error = picture_mark(s, pic, h, e, own, &reset);
    if (error) {
        if (s->recovering.from_idr)
            h264_picture_damage(pic);
        h264_recovery_breach(s, H264_BREACH_REFERENCE);
        h264_fail(diag, error, "memory_management_control_operation", h->mmco_count,
                  "names a picture that is not there");
    }
    if (reset)
        reset_numbers(s, e);
    h264_poc_after(&s->poc, pic->sps, h, reset, e->poc);
    if (h->nal_ref_idc)
        s->prev_ref_frame_num = e->frame_num;
    return error;
}

/* A frame, or a field that is the first of its frame as yet. */
static int finish_frame(struct h264_stream *s, struct h264_picture *pic,
                        const struct h264_slice_header *h, struct h264_diag *diag)
{
    struct h264_dpb_entry e = {.pic = pic,
                               .waiting = 1,
                               .frame_num = h->frame_num,
                               .long_term_frame_idx = H264_NO_LONG_TERM,
                               .poc = {pic->poc[0], pic->poc[1]}};
    int error = picture_mark_and_number(s, pic, h, &e, NULL, diag);
    h264_entry_hold(&e);
    if (pic->structure != REC_FRAME) {
        s->first = h264_picture_ref(pic);
        if (!pic->nal_ref_idc) {
            s->pending = e;
            return error;
        }
    }
    h264_output_store(&s->dpb, &e, &s->output);
    if (pic->structure == REC_FRAME)
        output_trim(s, pic->sps);
    return error;
}

/* The first field stands for the frame. */
static void field_join_sei(struct h264_picture *first, struct h264_picture *second)
{
    struct h264_sei **end = &first->sei;
    while (*end)
        end = &(*end)->next;
    *end = second->sei;
    second->sei = NULL;
}

/* The second field joins the entry of the first one. */
static int finish_second(struct h264_stream *s, struct h264_picture *pic,
                         const struct h264_slice_header *h, struct h264_diag *diag)
{
    struct h264_dpb_entry *e = first_entry(s);
    unsigned i = pic->structure == REC_BOTTOM;
    int error = H264_OK;
    pic->first_field->paired = 1;
    field_join_sei(pic->first_field, pic);
    if (e) {
        h264_entry_add(e, pic);
        e->poc[i] = pic->poc[i];
        error = picture_mark_and_number(s, pic, h, e, e == &s->pending ? NULL : e, diag);
    }
    h264_stream_close_field(s);
    return error;
}

static int plane_complete(const struct h264_stream *s, struct h264_picture *pic)
{
    int error = h264_picture_complete(pic, s->bytes, s->bytes_size);
    return error || s->late_arrays ? error : h264_picture_alloc(pic);
}

/* pic, and its other colour planes, which become pictures of their own here. */
static int picture_complete(struct h264_stream *s, struct h264_picture *pic)
{
    for (unsigned i = 0; pic->sps->separate_colour_plane_flag && i < 2; i++) {
        struct h264_picture *plane = h264_picture_take_plane(pic, i + 1);
        if (!plane)
            return H264_ERR_NOMEM;
        pic->planes[i] = plane;
        plane->id = s->next_id++;
        if (plane_complete(s, plane))
            return H264_ERR_NOMEM;
    }
    return plane_complete(s, pic);
}

/* What only this function holds of pic. */
static void picture_release(struct h264_picture *pic)
{
    struct h264_picture *planes[2] = {pic->planes[0], pic->planes[1]};
    h264_picture_unref(pic);
    h264_picture_unref(planes[0]);
    h264_picture_unref(planes[1]);
}

int h264_stream_store_picture(struct h264_stream *s, bool *stored, struct h264_diag *diag)
{
    struct h264_picture *pic = s->cur;
    struct h264_slice_header h;
    int error;
    *stored = true;
    if (!pic)
        return H264_OK;
    s->cur = NULL;
    error = pic->slice_count ? H264_OK : H264_ERR_DATA;
    if (!error) {
        h = pic->slices[0].hdr;
        picture_choose_previous(pic);
        error = picture_complete(s, pic);
    }
    if (error) {
        /* of a picture without slices its only slice told the error */
        error = error == H264_ERR_NOMEM ? error : H264_OK;
        if (pic->first_field)
            pic->first_field->second_field = NULL;
        picture_release(pic);
        *stored = false;
        return error;
    }
    error = pic->first_field ? finish_second(s, pic, &h, diag) : finish_frame(s, pic, &h, diag);
    h264_queue_push(&s->decode, pic);
    for (unsigned i = 0; i < 2; i++)
        if (pic->planes[i])
            h264_queue_push(&s->decode, pic->planes[i]);
    picture_release(pic);
    return error;
}
