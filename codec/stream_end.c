/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The end of a picture in both views of a stream. The picture of the second view follows that of
 * the base view in the same access unit (annex H).
 */
#include "codec/output_order.h"
#include "codec/stream.h"

static void move_queue(struct h264_queue *from, struct h264_queue *to)
{
    struct h264_picture *pic;
    while (from->count && !h264_queue_reserve(to, 1) && (pic = h264_queue_pop(from))) {
        h264_queue_push(to, pic);
        h264_picture_unref(pic);
    }
}

void h264_stream_collect_view(struct h264_stream *s)
{
    s->next_id = s->view->next_id;
    move_queue(&s->view->decode, &s->decode);
    move_queue(&s->view->output, &s->output);
}

/* The picture of the second view, after the base picture of the access unit. */
static int finish_view(struct h264_stream *s, struct h264_diag *diag)
{
    bool stored;
    int error;
    if (!s->view)
        return H264_OK;
    s->view->next_id = s->next_id;
    error = h264_stream_store_picture(s->view, &stored, diag);
    h264_stream_collect_view(s);
    return error;
}

int h264_stream_finish_picture(struct h264_stream *s, struct h264_diag *diag)
{
    bool stored;
    int view_error, error = h264_stream_store_picture(s, &stored, diag);
    if (!stored)
        return error;
    view_error = finish_view(s, error ? NULL : diag);
    return error ? error : view_error;
}
