/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Output files.
 *
 * The happy path is output_open (creates the file), output_begin (header), output_frame for each
 * frame, output_close (trailer, flush). The failure modes are: an unknown format, a file that
 * exists, no permission, a full disk, a reader that has gone, a pixel format that the container
 * cannot hold. libavformat writes through our own write function, so the system's error is known
 * exactly.
 */
#include "client/output.h"
#include "proto/near_name.h"
#include "client/output_check.h"
#include "client/output_image.h"
#include "client/sink.h"
#include "client/ui.h"

#include <errno.h>
#include <fcntl.h>
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { IO_BUFFER = 1 << 20 };

struct client_output {
    struct output_params params;
    struct sink sink;
    bool owned;
    AVFormatContext *mux;
    AVPacket *packet;
    uint8_t *packed;
    size_t packed_size;
    bool begun;
    int64_t last_dts;
    struct output_images *images;
};

static const struct output_format formats[] = {
    {.name = "yuv4mpegpipe",
     .alias = "y4m",
     .extensions = "y4m",
     .one_kind = true,
     .hint = "y4m holds gray and planar YUV; --pix-fmt yuv420p fits"},
    {.name = "rawvideo", .alias = "raw", .extensions = "yuv raw rgb gray nv12", .hint = ""},
    {.name = "framemd5", .extensions = "framemd5", .text = true, .synced = true, .hint = ""},
    {.name = "md5", .extensions = "md5", .text = true, .hint = ""},
    {.name = "matroska",
     .alias = "mkv",
     .extensions = "mkv",
     .one_kind = true,
     .hint = "uncompressed Matroska holds yuv420p, nv12, gray and a few more"},
    {.name = "image2", .alias = "png", .extensions = "png", .kind = OUTPUT_IMAGES, .hint = ""},
    {.name = "mjpeg", .alias = "jpg", .extensions = "jpg jpeg", .kind = OUTPUT_IMAGES, .hint = ""},
    {.name = "null", .extensions = "null", .kind = OUTPUT_NULL, .text = true, .hint = ""},
};
enum { N_FORMATS = sizeof(formats) / sizeof(formats[0]) };

bool output_name_in(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *p = words; *p;) {
        size_t n = strcspn(p, " ");
        if (n == length && strncasecmp(p, word, n) == 0)
            return true;
        p += n + (p[n] == ' ');
    }
    return false;
}

int output_format_choose(const char *name, const char *path, const struct output_format **out,
                         struct failure *f)
{
    const char *list = "-f is one of yuv4mpegpipe (y4m), rawvideo (raw), framemd5, md5, matroska "
                       "(mkv), image2 (png), mjpeg (jpg), null";
    char hint[256];
    struct near_name near = near_name_of(name ? name : "", name ? strlen(name) : 0);
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    for (int i = 0; i < N_FORMATS; i++) {
        const struct output_format *x = &formats[i];
        if (name ? !strcmp(name, x->name) || (x->alias && !strcmp(name, x->alias))
                 : dot && output_name_in(x->extensions, dot + 1)) {
            *out = x;
            return 0;
        }
        near_name_try_words(&near, x->name);
        near_name_try_words(&near, x->alias ? x->alias : "");
    }
    if (name) {
        return fail_with(f, X_USAGE, near_name_hint(&near, list, hint, sizeof(hint)),
                         "-f %s: no such output format", name);
    }
    return fail_with(f, X_USAGE, list, "%s: no output format follows from this name",
                     strcmp(path, "-") ? path : "standard output");
}

/* ---- the file ---- */

static int output_open_file(struct client_output *o, struct failure *f)
{
    const char *path = o->params.path;
    if (strcmp(path, "-") == 0) {
        o->sink.fd = STDOUT_FILENO;
        return 0;
    }
    o->sink.fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    o->owned = o->sink.fd >= 0;
    if (o->owned)
        return 0;
    if (errno != EEXIST)
        return fail_errno(f, X_OTHER, errno, path);
    bool yes = o->params.overwrite == OVERWRITE_YES || output_is_special(path) ||
               (o->params.overwrite == OVERWRITE_ASK && ui_ask_overwrite(path));
    if (!yes)
        return fail_with(f, X_OTHER, "-y overwrites it", "%s: the file exists", path);
    o->sink.fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    o->owned = o->sink.fd >= 0;
    return o->owned ? 0 : fail_errno(f, X_OTHER, errno, path);
}

/* FFmpeg 7 made the bytes const. */
#if LIBAVFORMAT_VERSION_MAJOR >= 61
static int write_bytes(void *opaque, const uint8_t *data, int size)
#else
static int write_bytes(void *opaque, uint8_t *data, int size)
#endif
{
    struct client_output *o = opaque;
    return sink_write(&o->sink, data, (size_t)size) ? size : AVERROR(o->sink.error);
}

static int64_t seek_bytes(void *opaque, int64_t offset, int whence)
{
    struct client_output *o = opaque;
    off_t at = whence == AVSEEK_SIZE ? -1 : lseek(o->sink.fd, offset, whence & ~AVSEEK_FORCE);
    return at < 0 ? AVERROR(errno ? errno : ENOSYS) : at;
}

static int out_of_memory(struct failure *f)
{
    return fail_with(f, X_OTHER, "close other programs", "out of memory");
}

static int write_failed(struct client_output *o, int error, struct failure *f)
{
    const char *name = strcmp(o->params.path, "-") ? o->params.path : "standard output";
    if (o->sink.error == EINTR && interrupted())
        return interrupted();
    if (o->sink.error)
        return fail_errno(f, X_OTHER, o->sink.error, name);
    char text[128];
    av_strerror(error, text, sizeof(text));
    return fail_with(f, X_OTHER,
                     o->params.format->hint[0] ? o->params.format->hint : "try another -f",
                     "%s: %s cannot write it: %s", name, o->params.format->name, text);
}

static int create_muxer(struct client_output *o, struct failure *f)
{
    int rc = avformat_alloc_output_context2(&o->mux, NULL, o->params.format->name, o->params.path);
    uint8_t *buffer = rc < 0 ? NULL : av_malloc(IO_BUFFER);
    if (!buffer)
        return rc < 0 ? write_failed(o, rc, f) : out_of_memory(f);
    bool seekable = o->owned && lseek(o->sink.fd, 0, SEEK_CUR) == 0;
    o->mux->pb = avio_alloc_context(buffer, IO_BUFFER, 1, o, NULL, write_bytes,
                                    seekable ? seek_bytes : NULL);
    if (!o->mux->pb) {
        av_free(buffer);
        return out_of_memory(f);
    }
    o->packet = av_packet_alloc();
    return o->packet ? 0 : out_of_memory(f);
}

static void output_free(struct client_output *o)
{
    if (o->mux && o->mux->pb) {
        av_freep(&o->mux->pb->buffer);
        avio_context_free(&o->mux->pb);
    }
    avformat_free_context(o->mux);
    av_packet_free(&o->packet);
    av_free(o->packed);
    output_images_close(o->images);
    if (o->owned)
        close(o->sink.fd);
    free(o);
}

int output_open(const struct output_params *params, struct client_output **out, struct failure *f)
{
    struct client_output *o = calloc(1, sizeof(*o));
    if (!o)
        return out_of_memory(f);
    o->params = *params;
    o->sink = (struct sink){.fd = -1, .idle = params->idle, .idle_ctx = params->idle_ctx};
    o->last_dts = INT64_MIN;
    int rc = 0;
    if (params->format->kind == OUTPUT_MUXER) {
        rc = output_open_file(o, f);
        rc = rc ? rc : create_muxer(o, f);
    } else if (params->format->kind == OUTPUT_IMAGES) {
        rc = output_images_open(params, &o->images, f);
    }
    if (rc) {
        output_free(o);
        return rc;
    }
    *out = o;
    return 0;
}

bool output_begun(const struct client_output *o)
{
    return o->begun;
}

uint64_t output_bytes(const struct client_output *o)
{
    return o->images ? output_images_bytes(o->images) : o->sink.bytes;
}

/* ---- frames ---- */

static void muxer_describe(AVStream *st, const struct output_stream *s, enum AVCodecID codec)
{
    AVCodecParameters *p = st->codecpar;
    p->codec_type = AVMEDIA_TYPE_VIDEO;
    p->codec_id = codec;
    p->codec_tag = avcodec_pix_fmt_to_codec_tag(s->pix_fmt);
    p->format = s->pix_fmt;
    p->width = s->width;
    p->height = s->height;
    p->sample_aspect_ratio = s->sar;
    p->color_primaries = s->primaries;
    p->color_trc = s->transfer;
    p->color_space = s->matrix;
    p->color_range = s->range;
    p->chroma_location = s->siting;
    p->field_order = s->field_order;
    st->time_base = s->time_base;
    st->avg_frame_rate = s->frame_rate;
    st->sample_aspect_ratio = s->sar;
}

int output_begin(struct client_output *o, const struct output_stream *s, struct failure *f)
{
    o->begun = true;
    if (!o->mux)
        return 0;
    AVStream *st = avformat_new_stream(o->mux, NULL);
    if (!st)
        return out_of_memory(f);
    muxer_describe(st, s,
                   o->mux->oformat->video_codec == AV_CODEC_ID_WRAPPED_AVFRAME
                       ? AV_CODEC_ID_WRAPPED_AVFRAME
                       : AV_CODEC_ID_RAWVIDEO);
    if (!strcmp(o->params.format->name, "matroska"))
        st->codecpar->codec_id = AV_CODEC_ID_RAWVIDEO;
    o->mux->strict_std_compliance = FF_COMPLIANCE_EXPERIMENTAL; /* y4m beyond 8 bits */
    int rc = avformat_write_header(o->mux, NULL);
    return rc < 0 ? write_failed(o, rc, f) : o->sink.error ? write_failed(o, 0, f) : 0;
}

/* Packs the planes, without padding between rows. */
static int pack(struct client_output *o, const AVFrame *frame, struct failure *f)
{
    int size = av_image_get_buffer_size(frame->format, frame->width, frame->height, 1);
    if (size <= 0)
        return fail_with(f, X_OTHER, "", "%dx%d: no such frame size", frame->width, frame->height);
    if ((size_t)size > o->packed_size) {
        av_free(o->packed);
        o->packed = av_malloc((size_t)size);
        o->packed_size = o->packed ? (size_t)size : 0;
        if (!o->packed)
            return out_of_memory(f);
    }
    size = av_image_copy_to_buffer(o->packed, size, (const uint8_t *const *)frame->data,
                                   frame->linesize, frame->format, frame->width, frame->height, 1);
    o->packet->data = o->packed;
    o->packet->size = size;
    return 0;
}

/* A stream may continue with other pictures: a camera, or the next sequence of a file. */
static int same_kind(const struct client_output *o, const AVFrame *frame, struct failure *f)
{
    const AVCodecParameters *p = o->mux->streams[0]->codecpar;
    const char *before = av_get_pix_fmt_name((enum AVPixelFormat)p->format),
               *now = av_get_pix_fmt_name((enum AVPixelFormat)frame->format);
    if (!o->params.format->one_kind ||
        (frame->width == p->width && frame->height == p->height && frame->format == p->format))
        return 0;
    return fail_with(f, X_OTHER, "rawvideo, framemd5 and png take them as they come",
                     "%s: pictures change from %s %dx%d to %s %dx%d, which %s cannot hold",
                     strcmp(o->params.path, "-") ? o->params.path : "standard output",
                     before ? before : "?", p->width, p->height, now ? now : "?", frame->width,
                     frame->height, o->params.format->name);
}

int output_frame(struct client_output *o, const AVFrame *frame, struct failure *f)
{
    if (o->images)
        return output_images_frame(o->images, frame, f);
    if (!o->mux)
        return 0;
    if (same_kind(o, frame, f))
        return f->code;
    AVStream *st = o->mux->streams[0];
    if (st->codecpar->codec_id == AV_CODEC_ID_WRAPPED_AVFRAME) {
        o->packet->data = (uint8_t *)frame;
        o->packet->size = sizeof(*frame);
    } else if (pack(o, frame, f)) {
        return f->code;
    }
    AVRational from = o->params.format->synced ? st->time_base : frame->time_base;
    int64_t at = av_rescale_q(frame->pts, from, st->time_base);
    /* Muxers need time stamps that grow; in framemd5 two frames may have one, as in FFmpeg's. */
    int64_t least = o->last_dts == INT64_MIN ? at : o->last_dts + !o->params.format->synced;
    at = at < least ? least : at;
    o->last_dts = at;
    o->packet->pts = o->packet->dts = at;
    o->packet->duration = 0;
    o->packet->stream_index = 0;
    o->packet->flags = AV_PKT_FLAG_KEY;
    int rc = av_write_frame(o->mux, o->packet);
    o->packet->data = NULL;
    o->packet->size = 0;
    return rc < 0 || o->sink.error ? write_failed(o, rc, f) : 0;
}

int output_file(struct client_output *o, const uint8_t *file, size_t size, struct failure *f)
{
    o->begun = true;
    return output_images_file(o->images, file, size, f);
}

int output_close(struct client_output *o, struct failure *f)
{
    if (!o)
        return 0;
    int rc = 0;
    if (o->mux) {
        if (o->begun && !o->sink.error && o->mux->nb_streams > 0) {
            int error = av_write_trailer(o->mux);
            rc = error < 0 ? write_failed(o, error, f) : 0;
        }
        avio_flush(o->mux->pb);
        rc = rc == 0 && o->sink.error ? write_failed(o, 0, f) : rc;
    }
    if (o->owned) {
        int error = close(o->sink.fd) < 0 ? errno : 0;
        o->owned = false;
        rc = rc == 0 && error ? fail_errno(f, X_OTHER, error, o->params.path) : rc;
    }
    output_free(o);
    return rc;
}
