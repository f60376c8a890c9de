/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A decoder would find samples' format, profile and level, which the parser finds too or the
 * parameter sets tell later, and how many frames are reordered. That stands in the VUI
 * (max_num_reorder_frames, E.2.1). Where it does not, pictures have to be looked at.
 */
#include "daemon/worker/source/mp4_parameters.h"

#include "codec/h264.h"
#include "codec/h264_error.h"
#include "codec/h264_stream.h"

#include <string.h>

/* The one video stream, if it has H.264 and an avcC box; else NULL. */
static const AVStream *only_video(const AVFormatContext *format)
{
    const AVStream *only = NULL;
    for (unsigned i = 0; i < format->nb_streams; i++) {
        const AVStream *st = format->streams[i];
        if (st->codecpar->codec_type != AVMEDIA_TYPE_VIDEO)
            continue;
        if (only)
            return NULL;
        only = st;
    }
    const AVCodecParameters *par = only ? only->codecpar : NULL;
    bool avcc = par && par->extradata_size > 0 && par->extradata[0] == 1;
    return avcc && par->codec_id == AV_CODEC_ID_H264 ? only : NULL;
}

/* Negative: unknown. */
static int reorder_told(const AVCodecParameters *par)
{
    const struct h264_stream_params params = {.late_arrays = true};
    struct h264_diag diag = {0};
    struct h264_stream *s = NULL;
    int frames = -1;
    if (h264_stream_create(&params, &s))
        return -1;
    h264_stream_extradata(s, par->extradata, (size_t)par->extradata_size, &diag);
    const struct h264_sps *sps = h264_stream_sps(s);
    if (sps && sps->vui_present && sps->vui.bitstream_restriction_flag)
        frames = sps->vui.max_num_reorder_frames;
    h264_stream_free(s);
    return frames;
}

bool mp4_tells_all(const AVFormatContext *format)
{
    const AVStream *st = strstr(format->iformat->name, "mp4") ? only_video(format) : NULL;
    int frames = st ? reorder_told(st->codecpar) : -1;
    if (frames < 0)
        return false;
    if (st->codecpar->video_delay < frames)
        st->codecpar->video_delay = frames;
    return true;
}
