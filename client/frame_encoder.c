/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See frame_encoder.h. A frame is turned and converted as pelton decode does, then encoded. The
 * failure modes are settings that do not fit the pictures, which the first picture tells, and no
 * memory.
 */
#include "client/frame_encoder.h"

#include "client/av_picture.h"
#include "client/convert.h"
#include "client/encode_device.h"
#include "client/turn.h"
#include "daemon/worker/encoding/carried_sei.h"
#include "daemon/worker/encoding/sequence_encoder.h"

#include <libavutil/pixdesc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct frame_encoder {
    const struct client_options *o;
    bool sets_apart;
    AVFrame *borrowed;
    struct turn turn;
    struct convert *convert;
    struct carried_sei carried;
    struct encode_place place;
    struct sequence_encoder sequence;
    struct frame_encoder_sums sums;
};

/* ---- options ---- */

static int refuse_pair(const char *a, const char *b, struct failure *f)
{
    return fail_with(f, X_USAGE, "choose one of -crf, -qp and -b:v", "%s and %s: both choose QP", a,
                     b);
}

int frame_encoder_check(const struct client_options *o, struct failure *f)
{
    const struct encode_options *e = &o->encode;
    if (e->qp_given && e->bit_rate)
        return refuse_pair("-qp", "-b:v", f);
    if (e->crf_given && (e->bit_rate || e->qp_given))
        return refuse_pair("-crf", e->qp_given ? "-qp" : "-b:v", f);
    if (e->bit_rate && e->max_rate && e->max_rate < e->bit_rate)
        return fail_with(f, X_USAGE, "-b:v is never passed, so -maxrate may be left out",
                         "-maxrate %llu: less than -b:v %llu", (unsigned long long)e->max_rate,
                         (unsigned long long)e->bit_rate);
    if (e->buffer && !e->bit_rate && !e->max_rate)
        return fail_with(f, X_USAGE, "as in: -maxrate 4M -bufsize 4M",
                         "-bufsize: there is no rate that fills the buffer");
    if (e->profile == ENCODING_BASELINE && e->coder == CODER_CABAC)
        return fail_with(f, X_USAGE, "leave -coder out, or take -profile:v main",
                         "-coder cabac: Constrained Baseline has none");
    return 0;
}

static const char *coded_format(const struct client_options *o)
{
    return o->write.pix_fmt && !strcmp(o->write.pix_fmt, "gray") ? "gray" : "yuv420p";
}

void frame_encoder_ask(const struct client_options *o, struct pelton_open_params *params)
{
    params->pix_fmt = coded_format(o);
    params->any_pix_fmt = true;
    params->side_data = PELTON_SIDE_KNOWN;
}

struct pelton_encoding frame_encoder_settings(const struct client_options *o)
{
    const struct encode_options *e = &o->encode;
    return (struct pelton_encoding){.wanted = true,
                                    .cabac =
                                        e->coder == CODER_CABAC ||
                                        (e->coder == CODER_AUTO && e->profile != ENCODING_BASELINE),
                                    .no_deblocking = e->no_deblocking,
                                    .scene_cuts = !e->no_scene_cuts,
                                    .adaptive = e->adaptive,
                                    .rate = e->bit_rate   ? PELTON_RATE_BITS
                                            : e->qp_given ? PELTON_RATE_QP
                                                          : PELTON_RATE_QUALITY,
                                    .quality = e->bit_rate   ? 0
                                               : e->qp_given ? e->qp
                                                             : e->crf,
                                    .bit_rate = e->bit_rate ? e->bit_rate : e->max_rate,
                                    .buffer = e->buffer,
                                    .key_interval = e->key_interval,
                                    .profile = (enum pelton_encoding_profile)e->profile,
                                    .level = e->level_idc,
                                    .references = e->references,
                                    .slices = e->slices};
}

/* RGB became BT.601 (convert.c). */
static struct encoding_colour colour_of(const AVFrame *frame)
{
    return (struct encoding_colour){
        .primaries = (uint8_t)frame->color_primaries,
        .transfer = (uint8_t)frame->color_trc,
        .matrix =
            (uint8_t)(frame->colorspace == AVCOL_SPC_RGB ? AVCOL_SPC_SMPTE170M : frame->colorspace),
        .full_range = frame->color_range == AVCOL_RANGE_JPEG,
        .siting = (uint8_t)frame->chroma_location};
}

/* ---- life ---- */

int frame_encoder_new(const struct client_options *o, struct encode_device *device,
                      struct pelton_rational rate, bool sets_apart, struct frame_encoder **out,
                      struct failure *f)
{
    struct frame_encoder *e = calloc(1, sizeof(*e));
    AVFrame *borrowed = av_frame_alloc();
    if (!e || !borrowed) {
        free(e);
        av_frame_free(&borrowed);
        return fail_with(f, X_OTHER, "close other programs", "out of memory");
    }
    *e = (struct frame_encoder){.o = o,
                                .sets_apart = sets_apart,
                                .borrowed = borrowed,
                                .place = {.device = device},
                                .sequence = {.settings = frame_encoder_settings(o),
                                             .rate = rate,
                                             .begin = encode_place_begin,
                                             .ctx = &e->place}};
    *out = e;
    return 0;
}

void frame_encoder_free(struct frame_encoder *e)
{
    if (!e)
        return;
    sequence_end(&e->sequence);
    turn_clear(&e->turn);
    convert_free(e->convert);
    carried_sei_clear(&e->carried);
    memset(e->borrowed->data, 0, sizeof(e->borrowed->data));
    av_frame_free(&e->borrowed);
    free(e);
}

struct frame_encoder_sums frame_encoder_sums(const struct frame_encoder *e)
{
    return e->sums;
}

/* ---- a picture ---- */

/* In the encoder's pixel format, which is 8-bit 4:2:0 or gray. */
static int picture_prepare(struct frame_encoder *e, const struct pelton_frame *in,
                           const AVFrame **out, struct failure *f)
{
    uint32_t orientation = e->o->read.leave_unturned ? 0 : in->orientation;
    enum AVPixelFormat format = av_get_pix_fmt(coded_format(e->o));
    int rc = picture_borrow(in, e->borrowed, f);
    rc = rc ? rc : turn_frame(&e->turn, e->borrowed, orientation, out, f);
    if (rc || (*out)->format == (int)format)
        return rc;
    if (!e->convert)
        ui_log(LOG_INFO, "%s is converted to %s in the client", in->pix_fmt,
               av_get_pix_fmt_name(format));
    return convert_frame(&e->convert, *out, format, out, f);
}

/* "CAUSE; HINT" of encode/ */
static int fail_encoding(const char *why, struct failure *f)
{
    const char *hint = strstr(why, "; ");
    return fail_with(f, X_USAGE, hint ? hint + 2 : "pelton help encode tells the limits", "%.*s",
                     hint ? (int)(hint - why) : (int)strlen(why), why);
}

/* An encoder for pictures such as this one. time_codes: its source has room for them. */
static int encoder_fit(struct frame_encoder *e, const AVFrame *frame, bool time_codes,
                       struct failure *f)
{
    const struct sequence_kind kind = {
        .width = (uint32_t)frame->width,
        .height = (uint32_t)frame->height,
        .gray = frame->format == AV_PIX_FMT_GRAY8,
        .sar = {frame->sample_aspect_ratio.num, frame->sample_aspect_ratio.den},
        .colour = colour_of(frame),
        .time_codes = time_codes};
    char why[ENCODING_WHY];
    return sequence_fit(&e->sequence, &kind, why) < 0 ? fail_encoding(why, f) : 0;
}

/* An access unit as the daemon's frames of an encoded stream */
static void unit_fill(const struct frame_encoder *e, const struct pelton_frame *frame,
                      const AVFrame *picture, const struct encoder_unit *coded,
                      struct pelton_frame *unit)
{
    size_t apart = e->sets_apart ? coded->sets : 0, sets;
    *unit = *frame;
    strcpy(unit->pix_fmt, "h264");
    unit->flags = (frame->flags & PELTON_FRAME_DISCONT) | (coded->key ? PELTON_FRAME_KEY : 0);
    unit->planes = 1;
    unit->width = (uint32_t)picture->width;
    unit->height = (uint32_t)picture->height;
    unit->sar = (struct pelton_rational){e->sequence.params.encoding.sar_width,
                                         e->sequence.params.encoding.sar_height};
    unit->data[0] = coded->data + apart;
    unit->plane_width[0] = (uint32_t)(coded->size - apart);
    unit->plane_height[0] = 1;
    unit->dts = frame->pts;
    memset(&unit->vui, 0, sizeof(unit->vui));
    unit->parameter_sets = encoder_sets(e->sequence.encoder, &sets);
    unit->parameter_sets_size = (uint32_t)sets;
    unit->nal_length = 0;
}

static void picture_count(struct frame_encoder *e, const struct pelton_frame *frame,
                          const struct encoder_unit *coded)
{
    e->sums.pictures++;
    e->sums.keys += coded->key;
    e->sums.bytes += coded->size;
    e->sums.qp += (uint64_t)coded->qp;
    e->sums.repeated += coded->repeated;
    e->sums.corrupt += (frame->flags & PELTON_FRAME_CORRUPT) != 0;
}

/* A device that fails is opened again, or the CPU goes on, with a key picture. */
static int picture_encode(struct frame_encoder *e, const struct encoder_frame *in,
                          struct encoder_unit *coded, struct failure *f)
{
    char why[ENCODING_WHY];
    for (;;) {
        int err = sequence_push(&e->sequence, in, coded, why);
        if (err == 0 || err == SEQUENCE_RATE)
            return err ? fail_encoding(why, f) : 0;
        if (err != ENCODER_DEVICE)
            return fail_with(f, X_OTHER, "this is a bug of pelton", "%s", why);
        ui_log(LOG_WARNING, "--device %s: %s while it encoded", e->o->connect.device, why);
        e->sums.losses++;
        if (encoder_restart(e->sequence.encoder, encode_place_begin_again, &e->place, why) < 0)
            return fail_with(f, X_OTHER, "close other programs", "%s", why);
    }
}

int frame_encoder_push(struct frame_encoder *e, const struct pelton_frame *frame,
                       struct pelton_frame *unit, struct failure *f)
{
    const AVFrame *picture = NULL;
    struct encoder_frame in = {.pts = frame->pts};
    struct encoder_unit coded;
    int rc = picture_prepare(e, frame, &picture, f);
    rc = rc ? rc : encoder_fit(e, picture, frame->vui.pic_struct, f);
    if (rc)
        return rc;
    if (!carried_sei_set(&e->carried, frame->side, &in))
        return fail_with(f, X_OTHER, "close other programs", "out of memory");
    for (int i = 0; i < (picture->format == AV_PIX_FMT_GRAY8 ? 1 : 3); i++) {
        in.source.plane[i] = picture->data[i];
        in.source.stride[i] = (size_t)picture->linesize[i];
    }
    rc = picture_encode(e, &in, &coded, f);
    if (rc)
        return rc;
    picture_count(e, frame, &coded);
    unit_fill(e, frame, picture, &coded, unit);
    return 0;
}
