/* SPDX-License-Identifier: BSD-2-Clause
 *
 * PNG and JPEG files through libavcodec's encoders. The name holds a number (frame%04d.png),
 * counted from 1. Standard output takes one image after the other. A file is written only under its
 * own name. An existing file is replaced only if the user asked for that.
 */
#include "client/output_image.h"
#include "client/av_picture.h"
#include "client/convert.h"
#include "client/output_check.h"
#include "client/sink.h"
#include "client/ui.h"

#include <errno.h>
#include <fcntl.h>
#include <libavcodec/avcodec.h>
#include <libavutil/pixdesc.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* The bytes of a file */
struct image {
    const uint8_t *data;
    size_t size;
};

struct output_images {
    struct output_params params;
    bool to_stdout;
    int number;
    uint64_t bytes;
    AVCodecContext *encoder;
    AVPacket *packet;
    struct convert *convert, *to_jpeg;
    bool jpeg;
};

bool output_images_jpeg(const struct output_format *format, const char *path)
{
    const char *dot = strrchr(path, '.');
    return !strcmp(format->name, "mjpeg") ||
           (dot && (!strcasecmp(dot, ".jpg") || !strcasecmp(dot, ".jpeg")));
}

uint32_t output_images_quality(uint32_t q)
{
    uint32_t percent = 10 * q;
    return percent > 100 ? 5000 / percent : 100 - percent / 2;
}

int output_images_name(const char *path, bool single, int number, char *buffer, size_t size,
                       struct failure *f)
{
    if (strcmp(path, "-") != 0 && av_get_frame_filename(buffer, (int)size, path, number) == 0)
        return 0;
    if (strcmp(path, "-") != 0 && !single) {
        return fail_with(f, X_USAGE,
                         "put a number into the name (frame%04d.png), or take one frame with "
                         "-frames:v 1",
                         "%s: one name for many images", path);
    }
    if (strlen(path) >= size)
        return fail_errno(f, X_USAGE, ENAMETOOLONG, path);
    strcpy(buffer, path);
    return 0;
}

int output_images_open(const struct output_params *params, struct output_images **out,
                       struct failure *f)
{
    struct output_images *o = calloc(1, sizeof(*o));
    if (!o)
        return fail_with(f, X_OTHER, "close other programs", "out of memory");
    o->params = *params;
    o->to_stdout = !strcmp(params->path, "-");
    o->jpeg = output_images_jpeg(params->format, params->path);
    *out = o;
    return 0;
}

void output_images_close(struct output_images *o)
{
    if (!o)
        return;
    avcodec_free_context(&o->encoder);
    av_packet_free(&o->packet);
    convert_free(o->convert);
    convert_free(o->to_jpeg);
    free(o);
}

uint64_t output_images_bytes(const struct output_images *o)
{
    return o->bytes;
}

static const char *encoder_name(const struct output_images *o)
{
    return o->jpeg ? "JPEG" : "PNG";
}

static void encoder_describe(const struct output_images *o, const AVFrame *frame)
{
    AVCodecContext *e = o->encoder;
    e->width = frame->width;
    e->height = frame->height;
    e->pix_fmt = frame->format;
    e->sample_aspect_ratio = frame->sample_aspect_ratio;
    e->time_base = (AVRational){1, 25};
    if (o->jpeg) {
        e->color_range = AVCOL_RANGE_JPEG;
        e->flags |= AV_CODEC_FLAG_QSCALE;
        e->qmin = 1;
        e->global_quality = FF_QP2LAMBDA * (int)o->params.quality;
    }
}

/* Makes an encoder for frames of this kind. Another size needs another encoder. */
static int images_prepare(struct output_images *o, const AVFrame *frame, struct failure *f)
{
    AVCodecContext *e = o->encoder;
    if (e && e->width == frame->width && e->height == frame->height && e->pix_fmt == frame->format)
        return 0;
    avcodec_free_context(&o->encoder);
    av_packet_free(&o->packet);
    const AVCodec *codec = avcodec_find_encoder(o->jpeg ? AV_CODEC_ID_MJPEG : AV_CODEC_ID_PNG);
    o->encoder = codec ? avcodec_alloc_context3(codec) : NULL;
    o->packet = av_packet_alloc();
    if (!codec) {
        return fail_with(f, X_OTHER, "-f y4m needs no encoder", "libavcodec has no %s encoder here",
                         encoder_name(o));
    }
    if (!o->encoder || !o->packet)
        return fail_with(f, X_OTHER, "close other programs", "out of memory");
    encoder_describe(o, frame);
    if (avcodec_open2(o->encoder, codec, NULL) >= 0)
        return 0;
    return fail_with(f, X_OTHER, "--pix-fmt rgb24 fits", "the %s encoder refuses the frames",
                     encoder_name(o));
}

static int write_all(struct output_images *o, int fd, const char *name, struct image image,
                     struct failure *f)
{
    struct sink sink = {.fd = fd, .idle = o->params.idle, .idle_ctx = o->params.idle_ctx};
    bool ok = sink_write(&sink, image.data, image.size);
    o->bytes += sink.bytes;
    if (!ok && sink.error == EINTR && interrupted())
        return interrupted();
    return ok ? 0 : fail_errno(f, X_OTHER, sink.error, name);
}

static int images_open_file(struct output_images *o, const char *name, int *fd, struct failure *f)
{
    *fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (*fd < 0 && errno == EEXIST) {
        bool asked = o->params.overwrite == OVERWRITE_ASK && ui_ask_overwrite(name);
        if (o->params.overwrite != OVERWRITE_YES && !asked && !output_is_special(name))
            return fail_with(f, X_OTHER, "-y overwrites it", "%s: the file exists", name);
        o->params.overwrite = OVERWRITE_YES; /* asked once is enough */
        *fd = open(name, O_WRONLY | O_TRUNC | O_CLOEXEC);
    }
    return *fd < 0 ? fail_errno(f, X_OTHER, errno, name) : 0;
}

static int write_image(struct output_images *o, struct image image, struct failure *f)
{
    char name[4096];
    o->number++;
    if (o->to_stdout)
        return write_all(o, STDOUT_FILENO, "standard output", image, f);
    int fd = -1,
        rc = output_images_name(o->params.path, o->params.single, o->number, name, sizeof(name), f);
    rc = rc ? rc : images_open_file(o, name, &fd, f);
    if (rc == 0) {
        rc = write_all(o, fd, name, image, f);
        int error = close(fd) < 0 ? errno : 0;
        rc = rc == 0 && error ? fail_errno(f, X_OTHER, error, name) : rc;
    }
    return rc;
}

static bool png_holds(enum AVPixelFormat format)
{
    const AVCodec *codec = avcodec_find_encoder(AV_CODEC_ID_PNG);
    const enum AVPixelFormat *p = codec ? picture_encoder_formats(codec) : NULL;
    for (; p && *p != AV_PIX_FMT_NONE; p++)
        if (*p == format)
            return true;
    return false;
}

/* The chroma that keeps most of the frame's. */
static enum AVPixelFormat jpeg_format(enum AVPixelFormat from)
{
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(from);
    if (!d || d->nb_components < 3 || d->log2_chroma_h)
        return AV_PIX_FMT_YUVJ420P;
    return d->log2_chroma_w ? AV_PIX_FMT_YUVJ422P : AV_PIX_FMT_YUVJ444P;
}

/* JPEG files are full-range BT.601 (JFIF). The way there leads over RGB, so that the frame's own
 * matrix and range count. */
static int frame_to_jpeg(struct output_images *o, const AVFrame *frame, const AVFrame **image,
                         struct failure *f)
{
    const AVFrame *rgb = frame;
    int rc = frame->format == AV_PIX_FMT_RGB24
                 ? 0
                 : convert_frame(&o->convert, frame, AV_PIX_FMT_RGB24, &rgb, f);
    if (rc)
        return rc;
    AVFrame jfif = *rgb; /* the same samples; only the matrix of the way back differs */
    jfif.colorspace = AVCOL_SPC_SMPTE170M;
    rc = convert_frame(&o->to_jpeg, &jfif, jpeg_format(frame->format), image, f);
    if (rc == 0)
        ((AVFrame *)*image)->quality = FF_QP2LAMBDA * (int)o->params.quality;
    return rc;
}

static int frame_to_png(struct output_images *o, const AVFrame *frame, const AVFrame **image,
                        struct failure *f)
{
    *image = frame;
    return png_holds(frame->format) ? 0
                                    : convert_frame(&o->convert, frame, AV_PIX_FMT_RGB24, image, f);
}

int output_images_frame(struct output_images *o, const AVFrame *frame, struct failure *f)
{
    const AVFrame *image = NULL;
    int rc = o->jpeg ? frame_to_jpeg(o, frame, &image, f) : frame_to_png(o, frame, &image, f);
    rc = rc ? rc : images_prepare(o, image, f);
    if (rc)
        return rc;
    int error = avcodec_send_frame(o->encoder, image);
    error = error < 0 ? error : avcodec_receive_packet(o->encoder, o->packet);
    if (error < 0) {
        return fail_with(f, X_OTHER, "-f y4m needs no encoder", "the %s encoder failed: %s",
                         encoder_name(o), av_err2str(error));
    }
    rc = write_image(o, (struct image){o->packet->data, (size_t)o->packet->size}, f);
    av_packet_unref(o->packet);
    return rc;
}

int output_images_file(struct output_images *o, const uint8_t *file, size_t size, struct failure *f)
{
    return write_image(o, (struct image){file, size}, f);
}
