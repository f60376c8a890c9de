/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Gaps in frame_num (8.2.5.2): frames that are inferred between two pictures.
 */
#include "codec/damage.h"
#include "codec/diag.h"
#include "codec/h264_picture.h"
#include "codec/output_order.h"
#include "codec/poc.h"
#include "codec/stream.h"

int h264_stream_reserve(struct h264_stream *s)
{
    int error = h264_queue_reserve(&s->decode, 2 * H264_DPB_MAX + 2);
    return error ? error : h264_queue_reserve(&s->output, 2 * H264_DPB_MAX + 2);
}

static struct h264_picture *last_reference(const struct h264_dpb *dpb)
{
    struct h264_picture *last = NULL;
    for (unsigned i = 0; i < dpb->count; i++)
        if (h264_entry_marked(&dpb->entries[i]) && (!last || dpb->entries[i].pic->id > last->id))
            last = dpb->entries[i].pic;
    return last;
}

/* One inferred "non-existing" frame (8.2.5.2). */
static int insert_inferred(struct h264_stream *s, const struct h264_sps *sps, uint32_t frame_num)
{
    struct h264_slice_header h = {.nal_ref_idc = 1, .frame_num = frame_num};
    struct h264_picture *pic = h264_picture_create(s->allocator, sps, REC_FRAME),
                        *source = last_reference(&s->dpb);
    struct h264_dpb_entry e = {.short_term = REC_FRAME, .frame_num = frame_num};
    if (!pic)
        return H264_ERR_NOMEM;
    if (source)
        h264_picture_hold(pic, source);
    if (h264_picture_complete(pic, NULL, 0) || h264_picture_alloc(pic)) {
        h264_picture_unref(pic);
        return H264_ERR_NOMEM;
    }
    pic->id = s->next_id++;
    pic->tag = s->tag;
    pic->nal_ref_idc = 1;
    pic->non_existing = 1;
    h264_picture_damage(pic);
    if (sps->poc_type != 0) {
        h264_poc_derive(&s->poc, sps, &h, pic->poc);
        h264_poc_after(&s->poc, sps, &h, false, pic->poc);
    } else if (source) {
        pic->poc[0] = source->poc[0];
        pic->poc[1] = source->poc[1];
    }
    pic->output_poc = h264_frame_poc(pic->poc);
    h264_dpb_slide(&s->dpb, frame_num, NULL);
    e.pic = pic;
    e.poc[0] = pic->poc[0];
    e.poc[1] = pic->poc[1];
    h264_queue_push(&s->decode, pic);
    h264_output_store(&s->dpb, &e, &s->output); /* takes the reference */
    return H264_OK;
}

bool h264_stream_frame_num_repeats(const struct h264_stream *s, const struct h264_slice_header *h)
{
    return !h->idr && s->started && h->frame_num == s->prev_ref_frame_num;
}

/* Before sps is activated. */
static uint32_t frame_num_after(const struct h264_stream *s, const struct h264_sps *sps,
                                const struct h264_slice_header *h)
{
    return (h->frame_num - s->prev_ref_frame_num) & ((1u << sps->log2_max_frame_num) - 1);
}

bool h264_stream_frame_num_counts(const struct h264_stream *s, const struct h264_slice_header *h)
{
    return !h->idr && s->started && s->active && h->nal_ref_idc &&
           frame_num_after(s, s->active, h) == 1;
}

bool h264_stream_frame_num_falls(const struct h264_stream *s, const struct h264_sps *sps,
                                 const struct h264_slice_header *h)
{
    return !h->idr && s->started && !sps->gaps_in_frame_num_allowed &&
           frame_num_after(s, sps, h) > 1u << (sps->log2_max_frame_num - 1);
}

int h264_stream_fill_gap(struct h264_stream *s, const struct h264_sps *sps,
                         const struct h264_slice_header *h, struct h264_diag *diag)
{
    uint32_t max = s->dpb.max_frame_num, from = (s->prev_ref_frame_num + 1) % max;
    uint32_t missing = (h->frame_num + max - from) % max;
    int error;
    if (h->idr || h->frame_num == s->prev_ref_frame_num || !missing)
        return H264_OK;
    s->stats.gaps++;
    if (!sps->gaps_in_frame_num_allowed) {
        s->stats.errors++;
        h264_recovery_breach(s, H264_BREACH_ORDER);
        if (s->params.strict)
            return h264_fail(diag, H264_ERR_DATA, "frame_num", h->frame_num,
                             "frames are missing before this one");
    }
    if (missing > s->dpb.max_refs) {
        uint32_t skipped = missing - s->dpb.max_refs, last = (from + skipped - 1) % max;
        struct h264_slice_header inferred = {.nal_ref_idc = 1, .frame_num = last};
        int32_t poc[2];
        if (sps->poc_type != 0) {
            h264_poc_derive(&s->poc, sps, &inferred, poc);
            h264_poc_after(&s->poc, sps, &inferred, false, poc);
        }
        from = (last + 1) % max;
    }
    for (; from != h->frame_num; from = (from + 1) % max) {
        if ((error = h264_stream_reserve(s)) || (error = insert_inferred(s, sps, from)))
            return error;
        s->prev_ref_frame_num = from;
    }
    return H264_OK;
}
