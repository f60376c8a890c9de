/* SPDX-License-Identifier: BSD-2-Clause
 *
 * From a frame of the daemon to the bytes of a tap: see feed_encode.h.
 *
 * JPEG has BT.601 and full range (JFIF). A frame with other colours is converted, so that browsers
 * show the colours that it has.
 */
#include "web/feed_encode.h"

#include <libavutil/imgutils.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <turbojpeg.h>

/* A picture in memory. */
struct plain_picture {
    enum AVPixelFormat format;
    int width, height;
    const uint8_t *data[4];
    int stride[4];
    struct pelton_colour colour;
};

struct feed_encoder {
    struct feed_key key;
    struct SwsContext *sws;
    struct plain_picture from, to; /* that it converts */
    tjhandle jpeg;
    uint8_t *scaled; /* a picture of the size and format that the tap wants */
    size_t scaled_size;
    unsigned char *packed; /* JPEG */
    unsigned long packed_size;
};

struct feed_encoder *feed_encoder_new(const struct feed_key *key)
{
    struct feed_encoder *e = calloc(1, sizeof(*e));
    if (!e)
        return NULL;
    e->key = *key;
    e->jpeg = key->kind == FEED_JPEG ? tjInitCompress() : NULL;
    if (key->kind != FEED_JPEG || e->jpeg)
        return e;
    free(e);
    return NULL;
}

void feed_encoder_free(struct feed_encoder *e)
{
    if (!e)
        return;
    sws_freeContext(e->sws);
    if (e->jpeg)
        tjDestroy(e->jpeg);
    tjFree(e->packed);
    free(e->scaled);
    free(e);
}

static bool encode_fail(struct pelton_failure *why, const char *cause, const char *hint)
{
    why->code = PELTON_ERR_UNSUPPORTED;
    snprintf(why->cause, sizeof(why->cause), "%s", cause);
    snprintf(why->hint, sizeof(why->hint), "%s", hint);
    return false;
}

static bool picture_of(const struct pelton_frame *f, struct plain_picture *out,
                       struct pelton_failure *why)
{
    enum AVPixelFormat format = av_get_pix_fmt(f->pix_fmt);
    if (format == AV_PIX_FMT_NONE)
        return encode_fail(why, "the frame's pixel format is unknown here", "update pelton-web");
    *out = (struct plain_picture){
        .format = format, .width = (int)f->width, .height = (int)f->height, .colour = f->colour};
    for (int i = 0; i < 4; i++) {
        out->data[i] = f->data[i];
        out->stride[i] = (int)f->stride[i];
    }
    return true;
}

/* ---- scaling and converting ---- */

static bool format_is_rgb(enum AVPixelFormat format)
{
    return av_pix_fmt_desc_get(format)->flags & AV_PIX_FMT_FLAG_RGB;
}

/* Numbers of H.264 annex E are those of libswscale's tables. */
static const int *matrix_of(const struct plain_picture *p)
{
    int number = p->colour.matrix;
    bool known = number == 1 || number == 4 || number == 5 || number == 6 || number == 7 ||
                 number == 9 || number == 10;
    return sws_getCoefficients(known ? number : p->height > 576 ? SWS_CS_ITU709 : SWS_CS_ITU601);
}

static bool is_full(const struct plain_picture *p)
{
    return p->colour.range == PELTON_RANGE_FULL || format_is_rgb(p->format);
}

/* The ranges have to be known at the start: libswscale takes a plain copy otherwise. */
static struct SwsContext *converter_make(const struct plain_picture *in,
                                         const struct plain_picture *out)
{
    struct SwsContext *c = sws_alloc_context();
    const struct {
        const char *name;
        int64_t value;
    } options[] = {
        {"srcw", in->width},        {"srch", in->height},        {"src_format", in->format},
        {"dstw", out->width},       {"dsth", out->height},       {"dst_format", out->format},
        {"src_range", is_full(in)}, {"dst_range", is_full(out)}, {"sws_flags", SWS_AREA},
    };
    for (size_t i = 0; c && i < sizeof(options) / sizeof(*options); i++)
        av_opt_set_int(c, options[i].name, options[i].value, 0);
    if (c && sws_init_context(c, NULL, NULL) >= 0 &&
        sws_setColorspaceDetails(c, matrix_of(in), is_full(in), matrix_of(out), is_full(out), 0,
                                 1 << 16, 1 << 16) >= 0)
        return c;
    sws_freeContext(c);
    return NULL;
}

static bool pictures_alike(const struct plain_picture *a, const struct plain_picture *b)
{
    return a->format == b->format && a->width == b->width && a->height == b->height &&
           is_full(a) == is_full(b) && matrix_of(a) == matrix_of(b);
}

static bool converter_prepare(struct feed_encoder *e, const struct plain_picture *in,
                              const struct plain_picture *out)
{
    if (e->sws && pictures_alike(in, &e->from) && pictures_alike(out, &e->to))
        return true;
    sws_freeContext(e->sws);
    e->sws = converter_make(in, out);
    e->from = *in;
    e->to = *out;
    return e->sws != NULL;
}

/* Fills out, whose format, size and colour are set; its planes are the encoder's. */
static bool picture_convert(struct feed_encoder *e, const struct plain_picture *in,
                            struct plain_picture *out, struct pelton_failure *why)
{
    uint8_t *planes[4];
    int size = av_image_get_buffer_size(out->format, out->width, out->height, 1);
    if (size > 0 && e->scaled_size < (size_t)size) {
        free(e->scaled);
        e->scaled = malloc((size_t)size + 64);
        e->scaled_size = e->scaled ? (size_t)size : 0;
    }
    if (size <= 0 || !e->scaled ||
        av_image_fill_arrays(planes, out->stride, e->scaled, out->format, out->width, out->height,
                             1) < 0 ||
        !converter_prepare(e, in, out))
        return encode_fail(why, "the frame cannot be converted", "ask for another pix_fmt");
    sws_scale(e->sws, in->data, in->stride, 0, in->height, planes, out->stride);
    for (int i = 0; i < 4; i++)
        out->data[i] = planes[i];
    return true;
}

/* ---- JPEG ---- */

/* The chroma of a format that libturbojpeg takes as it is; -1: none. */
static int jpeg_subsampling(enum AVPixelFormat format)
{
    switch (format) {
    case AV_PIX_FMT_YUV420P:
        return TJSAMP_420;
    case AV_PIX_FMT_YUV422P:
        return TJSAMP_422;
    case AV_PIX_FMT_YUV444P:
        return TJSAMP_444;
    case AV_PIX_FMT_GRAY8:
        return TJSAMP_GRAY;
    default:
        return -1;
    }
}

static bool colours_fit_jpeg(const struct plain_picture *p)
{
    return p->colour.range == PELTON_RANGE_FULL &&
           (p->format == AV_PIX_FMT_GRAY8 || p->colour.matrix == 5 || p->colour.matrix == 6);
}

static bool jpeg_write(struct feed_encoder *e, const struct plain_picture *p,
                       struct pelton_failure *why)
{
    const unsigned char *planes[3] = {p->data[0], p->data[1], p->data[2]};
    int sampling = jpeg_subsampling(p->format);
    return tjCompressFromYUVPlanes(e->jpeg, planes, p->width, p->stride, p->height, sampling,
                                   &e->packed, &e->packed_size, (int)e->key.quality,
                                   TJFLAG_FASTDCT) == 0 ||
           encode_fail(why, tjGetErrorStr2(e->jpeg), "ask for another size");
}

/* ---- the frame ---- */

/* The picture that the tap wants, with the format that its bytes have. */
static void picture_wanted(const struct feed_key *key, const struct plain_picture *in,
                           struct plain_picture *out)
{
    *out = *in;
    out->width = key->width ? (int)key->width : in->width;
    out->height = key->height ? (int)key->height : in->height;
    if (key->kind == FEED_JPEG) {
        bool gray = in->format == AV_PIX_FMT_GRAY8;
        bool same = out->width == in->width && out->height == in->height;
        out->format = gray                                        ? in->format
                      : same && jpeg_subsampling(in->format) >= 0 ? in->format
                                                                  : AV_PIX_FMT_YUV420P;
        out->colour.range = PELTON_RANGE_FULL;
        out->colour.matrix = 6;
    } else if (key->pix_fmt[0]) {
        out->format = av_get_pix_fmt(key->pix_fmt);
    }
}

static bool conversion_needed(const struct feed_key *key, const struct plain_picture *in,
                              const struct plain_picture *out)
{
    return in->format != out->format || in->width != out->width || in->height != out->height ||
           (key->kind == FEED_JPEG && !colours_fit_jpeg(in));
}

static struct web_frame *frame_new(const struct pelton_frame *info, const struct plain_picture *p,
                                   size_t size)
{
    struct web_frame *f = malloc(sizeof(*f) + size);
    if (!f)
        return NULL;
    atomic_init(&f->uses, 1);
    f->info = *info;
    memset(f->info.data, 0, sizeof(f->info.data));
    f->info.side = NULL;
    f->width = (uint32_t)p->width;
    f->height = (uint32_t)p->height;
    f->colour = p->colour;
    const char *name = av_get_pix_fmt_name(p->format); /* NULL: of a file */
    snprintf(f->pix_fmt, sizeof(f->pix_fmt), "%.15s", name ? name : info->pix_fmt);
    f->size = size;
    return f;
}

static bool frame_pack(const struct feed_encoder *e, const struct pelton_frame *info,
                       const struct plain_picture *p, struct web_frame **out)
{
    bool jpeg = e->key.kind == FEED_JPEG;
    int raw = av_image_get_buffer_size(p->format, p->width, p->height, 1);
    size_t size = jpeg ? e->packed_size : (size_t)(raw > 0 ? raw : 0);
    struct web_frame *f = size ? frame_new(info, p, size) : NULL;
    if (!f)
        return false;
    if (jpeg)
        memcpy(f->bytes, e->packed, size);
    else
        av_image_copy_to_buffer(f->bytes, raw, p->data, p->stride, p->format, p->width, p->height,
                                1);
    *out = f;
    return true;
}

bool feed_is_file(const struct pelton_frame *frame)
{
    return !strcmp(frame->pix_fmt, "mjpeg");
}

static bool file_copy(const struct pelton_frame *unit, struct web_frame **out)
{
    const struct plain_picture p = {.format = AV_PIX_FMT_NONE,
                                    .width = (int)unit->width,
                                    .height = (int)unit->height,
                                    .colour = unit->colour};
    struct web_frame *f = frame_new(unit, &p, unit->plane_width[0]);
    if (!f)
        return false;
    memcpy(f->bytes, unit->data[0], f->size);
    *out = f;
    return true;
}

bool feed_encode(struct feed_encoder *e, const struct pelton_frame *frame, struct web_frame **out,
                 struct pelton_failure *why)
{
    struct plain_picture in, wanted;
    if (feed_is_file(frame))
        return file_copy(frame, out);
    if (!picture_of(frame, &in, why))
        return false;
    picture_wanted(&e->key, &in, &wanted);
    if (conversion_needed(&e->key, &in, &wanted) && !picture_convert(e, &in, &wanted, why))
        return false;
    if (e->key.kind == FEED_JPEG && !jpeg_write(e, &wanted, why))
        return false;
    return frame_pack(e, frame, &wanted, out);
}
