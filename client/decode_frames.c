/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pelton decode: one frame after the other. A frame is converted to the wanted format, compared,
 * given its time and written.
 */
#include "client/av_picture.h"
#include "client/decode.h"

#include "proto/frame_rate.h"

#include <libavutil/avutil.h>
#include <libavutil/mathematics.h>
#include <libavutil/pixdesc.h>
#include <string.h>

enum {
    /* So many base frames at most come before the second view's frame of an access unit: more than
     * a DPB holds. */
    SECOND_BEHIND = 64
};

static void decode_describe_frame(const struct decode *d, const AVFrame *frame,
                                  struct output_stream *s)
{
    struct pelton_rational rate = info_frame_rate(&d->info);
    AVRational tick = {rate.den, rate.num};
    *s = (struct output_stream){
        .pix_fmt = frame->format,
        .width = frame->width,
        .height = frame->height,
        .time_base =
            d->format->synced || !strcmp(d->format->name, "yuv4mpegpipe") ? tick : frame->time_base,
        .frame_rate = {rate.num, rate.den},
        .sar = frame->sample_aspect_ratio,
        .primaries = frame->color_primaries,
        .transfer = frame->color_trc,
        .matrix = frame->colorspace,
        .range = frame->color_range,
        .siting = frame->chroma_location,
        .field_order = !picture_interlaced(frame) ? AV_FIELD_PROGRESSIVE
                       : picture_top_first(frame) ? AV_FIELD_TB
                                                  : AV_FIELD_BT,
    };
    s->sar = s->sar.num > 0 && s->sar.den > 0 ? s->sar : (AVRational){0, 1};
}

/* The header of a stream without frames, from the stream's format. */
int decode_begin_without_frame(struct decode *d)
{
    enum AVPixelFormat format =
        d->wanted != AV_PIX_FMT_NONE ? d->wanted : av_get_pix_fmt(d->info.pix_fmt);
    if (!d->out || output_begun(d->out) || format == AV_PIX_FMT_NONE || d->info.width == 0 ||
        d->info.width > 65536 || d->info.height > 65536) {
        return 0;
    }
    AVFrame *p = d->picture;
    p->format = format;
    const struct pelton_output *output = &d->o->read.output;
    p->width = (int)(output->width ? output->width : d->info.width);
    p->height = (int)(output->height ? output->height : d->info.height);
    p->time_base = (AVRational){d->info.time_base.num, d->info.time_base.den};
    p->sample_aspect_ratio = (AVRational){d->info.sar.num, d->info.sar.den};
    struct output_stream s;
    decode_describe_frame(d, p, &s);
    return output_begin(d->out, &s, d->f);
}

/* True: -t has passed, counted from the first frame as in ffmpeg. */
static bool decode_duration_passed(const struct decode *d, const struct pelton_frame *frame)
{
    if (d->o->read.duration_us < 0 || frame->pts == INT64_MIN || d->first_pts == INT64_MIN ||
        frame->time_base.num <= 0 || frame->time_base.den <= 0) {
        return false;
    }
    AVRational tb = {frame->time_base.num, frame->time_base.den};
    return frame->pts - d->first_pts >= av_rescale_q(d->o->read.duration_us, AV_TIME_BASE_Q, tb);
}

/* The time of a frame: in the muxer's time base for synced formats, else in the frame's own. count:
 * frames before it. */
static int64_t decode_frame_time(struct decode *d, struct sync *sync, uint64_t count,
                                 const struct pelton_frame *in)
{
    int64_t at;
    if (d->format->synced) {
        d->mended += !sync_frame(sync, in->pts, in->duration, &at);
        return at;
    }
    if (!strcmp(d->format->name, "matroska")) {
        /* output_frame moves equal ones apart */
        return in->pts == INT64_MIN ? 0 : sync_time(sync, in->pts);
    }
    return (int64_t)count;
}

static int decode_write_picture(struct decode *d, struct client_output *out, const AVFrame *picture)
{
    if (!output_begun(out)) {
        struct output_stream s;
        decode_describe_frame(d, picture, &s);
        int rc = output_begin(out, &s, d->f);
        if (rc)
            return rc;
    }
    return output_frame(out, picture, d->f);
}

static void decode_count_frame(struct decode *d, const struct pelton_frame *frame, uint32_t width,
                               uint32_t height)
{
    d->state.frames++;
    d->state.dropped = frame->dropped_source + frame->dropped_decoder + frame->dropped_client;
    d->corrupt += (frame->flags & PELTON_FRAME_CORRUPT) != 0;
    d->width = width;
    d->height = height;
    d->state.bytes = d->out ? output_bytes(d->out) : 0;
    struct pelton_rational rate = info_frame_rate(&d->info);
    double media = (double)d->state.frames * rate.den / rate.num;
    if (frame->pts != INT64_MIN && frame->time_base.den > 0 && d->first_pts != INT64_MIN) {
        double at =
            (double)(frame->pts - d->first_pts) * frame->time_base.num / frame->time_base.den;
        media = at > d->state.media_s ? at : d->state.media_s;
    }
    d->state.media_s = media;
}

/* Turns the picture, and converts it to the format that the user wants. *picture becomes d->picture
 * or another one. */
static int decode_convert(struct decode *d, const struct pelton_frame *frame,
                          const AVFrame **picture)
{
    uint32_t shown = orientation_of(frame->view ? &d->second_orientation : &d->orientation, frame);
    uint32_t orientation = d->o->read.leave_unturned ? 0 : shown;
    const AVFrame *turned;
    int rc = turn_frame(&d->turn, d->picture, orientation, &turned, d->f);
    *picture = turned;
    if (rc || d->wanted == AV_PIX_FMT_NONE || turned->format == d->wanted)
        return rc;
    if (!d->convert)
        ui_log(LOG_INFO, "%s is converted to %s in the client", frame->pix_fmt,
               d->o->write.pix_fmt);
    return convert_frame(&d->convert, turned, d->wanted, picture, d->f);
}

/* True: the output has all its frames. */
static bool decode_base_done(const struct decode *d)
{
    return d->passed || (d->o->read.max_frames > 0 && d->state.frames >= d->o->read.max_frames);
}

static bool decode_second_done(const struct decode *d)
{
    return !d->second || d->second_passed ||
           (d->o->read.max_frames > 0 && d->second_frames >= d->o->read.max_frames);
}

static int decode_second_frame(struct decode *d, const struct pelton_frame *frame)
{
    const AVFrame *picture;
    d->behind = 0;
    d->second_passed |= decode_duration_passed(d, frame);
    if (decode_second_done(d))
        return 0;
    int rc = picture_borrow(frame, d->picture, d->f);
    rc = rc ? rc : decode_convert(d, frame, &picture);
    if (rc == 0) {
        ((AVFrame *)picture)->pts = decode_frame_time(d, &d->second_sync, d->second_frames, frame);
        rc = decode_write_picture(d, d->second, picture);
    }
    if (rc == 0 && d->side)
        rc = side_file_frame(d->side, d->second_frames, frame, d->f);
    d->second_frames += rc == 0;
    d->corrupt += rc == 0 && (frame->flags & PELTON_FRAME_CORRUPT);
    return rc;
}

/* From the start of the stream, as -ss counts. */
static double decode_frame_seconds(const struct decode *d, const struct pelton_frame *frame)
{
    if (frame->pts == INT64_MIN || frame->time_base.den <= 0) {
        struct pelton_rational rate = info_frame_rate(&d->info);
        return (double)d->state.frames * rate.den / rate.num;
    }
    int64_t start = d->info.start_pts == INT64_MIN ? d->first_pts : d->info.start_pts;
    return (double)(frame->pts - start) * frame->time_base.num / frame->time_base.den;
}

int decode_write_sheet(struct decode *d)
{
    const AVFrame *sheet = NULL;
    int rc = d->sheet ? contact_sheet_draw(d->sheet, &sheet, d->f) : 0;
    if (rc == 0 && d->sheet && !sheet && !interrupted()) {
        return fail_with(d->f, X_INPUT, "pelton probe tells the duration",
                         "%s: no frame for a contact sheet", d->source.name);
    }
    return rc == 0 && sheet ? decode_write_picture(d, d->out, sheet) : rc;
}

/* A JPEG file, which the daemon has made */
static int decode_unit(struct decode *d, const struct pelton_frame *unit)
{
    int rc = output_file(d->out, unit->data[0], unit->plane_width[0], d->f);
    if (rc == 0)
        decode_count_frame(d, unit, unit->width, unit->height);
    return rc;
}

static int decode_base_frame(struct decode *d, const struct pelton_frame *frame)
{
    const AVFrame *picture;
    if (d->first_pts == INT64_MIN)
        d->first_pts = frame->pts;
    d->passed |= decode_duration_passed(d, frame);
    if (decode_base_done(d)) {
        d->behind++;
        return 0;
    }
    if (d->files)
        return decode_unit(d, frame);
    int rc = picture_borrow(frame, d->picture, d->f);
    rc = rc ? rc : decode_convert(d, frame, &picture);
    if (rc == 0 && d->verify)
        rc = verify_frame(d->verify, picture, d->f);
    if (rc == 0 && d->sheet)
        rc = contact_sheet_frame(d->sheet, picture, decode_frame_seconds(d, frame), d->f);
    if (rc == 0 && !d->sheet) {
        ((AVFrame *)picture)->pts = decode_frame_time(d, &d->sync, d->state.frames, frame);
        rc = decode_write_picture(d, d->out, picture);
    }
    if (rc == 0 && d->side)
        rc = side_file_frame(d->side, d->state.frames, frame, d->f);
    if (rc == 0)
        decode_count_frame(d, frame, (uint32_t)picture->width, (uint32_t)picture->height);
    return rc;
}

int decode_frame(struct decode *d, const struct pelton_frame *frame)
{
    return frame->view && d->second ? decode_second_frame(d, frame) : decode_base_frame(d, frame);
}

bool decode_done(const struct decode *d)
{
    return decode_base_done(d) && (decode_second_done(d) || d->behind >= SECOND_BEHIND);
}
