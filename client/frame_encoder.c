/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See frame_encoder.h. A frame is turned and converted as pelton decode does, then encoded. The
 * failure modes are settings that do not fit the pictures, which the first picture tells, and no
 * memory.
 */
#include "client/frame_encoder.h"

#include "client/av_picture.h"
#include "client/carried_sei.h"
#include "client/convert.h"
#include "client/encode_device.h"
#include "client/turn.h"
#include "encode/encoder.h"

#include <libavutil/pixdesc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INTRA_LESS = 3, LEAST_QP = 10 /* of a constant bit rate */ };

struct frame_encoder {
    const struct client_options *o;
    struct pelton_rational rate;
    bool sets_apart;
    AVFrame *borrowed;
    struct turn turn;
    struct convert *convert;
    struct carried_sei carried;
    struct encode_place place;
    struct encoder_params params; /* of the encoder */
    struct encoder *encoder;      /* NULL: there was no picture yet */
    bool fresh;                   /* it has had no picture */
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

static struct rate_settings rate_settings_of(const struct encode_options *e)
{
    if (e->bit_rate)
        return (struct rate_settings){
            .mode = RATE_BITS, .qp = LEAST_QP, .bit_rate = e->bit_rate, .buffer = e->buffer};
    return (struct rate_settings){.mode = e->qp_given ? RATE_QP : RATE_CRF,
                                  .qp = (int)(e->qp_given ? e->qp : e->crf),
                                  .bit_rate = e->max_rate,
                                  .buffer = e->buffer,
                                  .intra_less = INTRA_LESS};
}

/* RGB became BT.601 (convert.c). */
static struct encoding_colour colour_of(const AVFrame *frame)
{
    return (struct encoding_colour){
        .primaries = (uint8_t)frame->color_primaries,
        .transfer = (uint8_t)frame->color_trc,
        .matrix =
            (uint8_t)(frame->colorspace == AVCOL_SPC_RGB ? AVCOL_SPC_SMPTE170M : frame->colorspace),
        .full_range = frame->color_range == AVCOL_RANGE_JPEG};
}

/* Of the present picture */
static void params_fill(const struct frame_encoder *e, const AVFrame *frame,
                        struct encoder_params *p)
{
    const struct encode_options *o = &e->o->encode;
    AVRational sar = frame->sample_aspect_ratio;
    memset(p, 0, sizeof(*p));
    encoding_default(&p->encoding, (uint32_t)frame->width, (uint32_t)frame->height);
    p->encoding.chroma_format_idc = frame->format != AV_PIX_FMT_GRAY8;
    p->encoding.rate = (uint32_t)e->rate.num;
    p->encoding.rate_scale = (uint32_t)e->rate.den;
    if (sar.num > 0 && sar.den > 0 && av_reduce(&sar.num, &sar.den, sar.num, sar.den, UINT16_MAX)) {
        p->encoding.sar_width = (uint16_t)sar.num;
        p->encoding.sar_height = (uint16_t)sar.den;
    }
    p->encoding.colour = colour_of(frame);
    p->encoding.profile = o->profile;
    p->encoding.level_idc = o->level_idc;
    p->encoding.cabac =
        o->coder == CODER_CABAC || (o->coder == CODER_AUTO && o->profile != ENCODING_BASELINE);
    p->encoding.transform_8x8 = o->profile == ENCODING_HIGH;
    p->encoding.references = (uint8_t)o->references;
    p->encoding.slices = (uint8_t)o->slices;
    p->encoding.deblocking = o->no_deblocking;
    p->rate = rate_settings_of(o);
    p->encoding.bit_rate = p->rate.bit_rate;
    p->encoding.buffer = p->rate.buffer;
    p->key_interval = o->key_interval;
    p->scene_cuts = !o->no_scene_cuts;
    p->adaptive = o->adaptive;
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
                                .rate = rate,
                                .sets_apart = sets_apart,
                                .borrowed = borrowed,
                                .place = {.device = device}};
    *out = e;
    return 0;
}

void frame_encoder_free(struct frame_encoder *e)
{
    if (!e)
        return;
    encoder_free(e->encoder);
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

/* All that params_fill takes from a picture. Structures have padding, so they are no bytes. */
static bool same_kind(const struct encoding *a, const struct encoding *b)
{
    return a->width == b->width && a->height == b->height &&
           a->chroma_format_idc == b->chroma_format_idc && a->sar_width == b->sar_width &&
           a->sar_height == b->sar_height && a->colour.primaries == b->colour.primaries &&
           a->colour.transfer == b->colour.transfer && a->colour.matrix == b->colour.matrix &&
           a->colour.full_range == b->colour.full_range;
}

/* An encoder for pictures such as this one. time_codes: its source has room for them. That alone
 * begins no sequence. */
static int encoder_fit(struct frame_encoder *e, const AVFrame *frame, bool time_codes,
                       struct failure *f)
{
    struct encoder_params params;
    char why[ENCODING_WHY];
    params_fill(e, frame, &params);
    if (e->encoder && same_kind(&params.encoding, &e->params.encoding))
        return 0;
    params.encoding.time_codes = time_codes;
    e->params = params;
    params.idr_pic_id = e->encoder ? encoder_idr_pic_id(e->encoder) : 0;
    encoder_free(e->encoder);
    e->encoder = NULL;
    e->fresh = true;
    return encoder_new(&params, encode_place_begin, &e->place, &e->encoder, why) < 0
               ? fail_encoding(why, f)
               : 0;
}

/* The first picture of a sequence is as small as it gets, and larger than the rate allows. */
static int refuse_rate(const struct frame_encoder *e, const struct encoder_unit *unit,
                       struct failure *f)
{
    return fail_with(f, X_USAGE, "raise the rate or -bufsize, or scale pictures by -s",
                     "bit rate %llu: the first picture has %zu bits at QP %d, and its buffer holds "
                     "fewer",
                     (unsigned long long)e->params.rate.bit_rate, 8 * unit->size, unit->qp);
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
    unit->sar =
        (struct pelton_rational){e->params.encoding.sar_width, e->params.encoding.sar_height};
    unit->data[0] = coded->data + apart;
    unit->plane_width[0] = (uint32_t)(coded->size - apart);
    unit->plane_height[0] = 1;
    unit->dts = frame->pts;
    memset(&unit->vui, 0, sizeof(unit->vui));
    unit->parameter_sets = encoder_sets(e->encoder, &sets);
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
        int err = encoder_push(e->encoder, in, coded, why);
        if (err == 0)
            return 0;
        if (err != ENCODER_DEVICE)
            return fail_with(f, X_OTHER, "this is a bug of pelton", "%s", why);
        ui_log(LOG_WARNING, "--device %s: %s while it encoded", e->o->connect.device, why);
        e->sums.losses++;
        if (encoder_restart(e->encoder, encode_place_begin_again, &e->place, why) < 0)
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
    if (coded.over && e->fresh)
        return refuse_rate(e, &coded, f);
    e->fresh = false;
    picture_count(e, frame, &coded);
    unit_fill(e, frame, picture, &coded, unit);
    return 0;
}
