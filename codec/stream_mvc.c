/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The second view of a multiview stream (annex H). It is a stream of its own inside the stream of
 * the base view, with its own DPB, numbers and parameter sets. Its pictures may refer to the base
 * picture of the same access unit.
 */
#include "codec/nal.h"
#include "codec/parameter_sets.h"
#include "codec/stream.h"

/* The base picture in the same access unit: the one that is being parsed, or the last that was. All
 * pictures of an access unit are frames, or fields of one parity (7.4.1.2.4). One whose samples are
 * others than the view's, by damage, is none to refer to. */
static void set_inter_view(struct h264_stream *s, const struct h264_sps *sps,
                           const struct h264_slice_header *h)
{
    struct h264_dpb *dpb = &s->view->dpb;
    struct h264_picture *base = s->cur;
    unsigned structure = !h->field_pic_flag     ? REC_FRAME
                         : h->bottom_field_flag ? REC_BOTTOM
                                                : REC_TOP;
    dpb->inter_view = (struct h264_dpb_entry){0};
    dpb->inter_view_lists = 0;
    if (!base || !base->slice_count || !base->slices[0].hdr.inter_view_flag ||
        base->structure != structure || !h264_sps_same_samples(base->sps, sps))
        return;
    dpb->inter_view.pic = base->first_field ? base->first_field : base;
    dpb->inter_view.poc[0] = base->poc[0];
    dpb->inter_view.poc[1] = base->poc[1];
    dpb->inter_view_lists = sps->view_refs[h->anchor_pic_flag];
}

int h264_stream_view_slice(struct h264_stream *s, const uint8_t *nal, size_t size,
                           struct h264_diag *diag)
{
    const struct h264_sps *sps;
    const struct h264_pps *pps;
    struct h264_slice_header h;
    size_t data_bit;
    int error;
    if (!s->view || size < 5 || (nal[1] & 0x80)) /* svc_extension_flag */
        return H264_OK;
    s->view->have_tag = true;
    s->view->tag = s->tag;
    s->view->next_id = s->next_id;
    error = h264_stream_parse_slice(s->view, nal, size, &sps, &pps, &h, &data_bit, diag);
    if (error)
        return error;
    if (sps->num_views < 2 || h.view_id != sps->view_id[1])
        return H264_OK; /* further views are not decoded */
    set_inter_view(s, sps, &h);
    error = h264_stream_place_slice(s->view, sps, pps, &h, data_bit, nal, size, diag);
    s->view->dpb.inter_view.pic = NULL;
    s->next_id = s->view->next_id;
    return error;
}

int h264_stream_view_params(struct h264_stream *s, const uint8_t *nal, size_t size)
{
    int error;
    if (!s->view)
        return H264_OK;
    if ((nal[0] & 31) != H264_NAL_PPS && (error = h264_stream_finish_picture(s, NULL)))
        return error; /* it may end the view's picture, which must follow that of the base view */
    error = (nal[0] & 31) == H264_NAL_PPS ? h264_stream_store_pps(s->view, nal, size, NULL)
                                          : h264_stream_store_sps(s->view, nal, size, NULL);
    h264_stream_collect_view(s);
    /* what is wrong with a set shows when the view's slices need it */
    return error == H264_ERR_NOMEM ? error : H264_OK;
}
