/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Demuxing. Packets of the best video stream are access units as they stand: where a container does
 * not cut them, libavformat runs libavcodec's parser. Opened with the defaults of the ffmpeg tool,
 * so that time stamps are the same.
 *
 * The happy path is open, read until 0, close. The failure modes are: nothing there, not a video,
 * no H.264 in it, an I/O error, and a file that ends before its container says so (what was read is
 * used, then source_read reports the truncation).
 */
#include "daemon/worker/source/byte_stream.h"
#include "daemon/worker/source/mp4_parameters.h"
#include "daemon/worker/source/source_io.h"
#include "daemon/worker/source/video_streams.h"

#include <errno.h>
#include <fcntl.h>
#include <libavcodec/avcodec.h>
#include <libavutil/pixdesc.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#define PACKET_STREAM_BACK_US 5000000
#define SILENCE_US            "10000000" /* of a network source, until it counts as lost */
#define SILENCE_S             10
/* Of addresses. Files are opened here, so none is in it, and nothing that puts addresses together.
 */
#define NETWORK_PROTOCOLS                                                                          \
    "rtp,srtp,udp,tcp,tls,http,https,httpproxy,crypto,rtmp,rtmps,rtmpt,rtmpts,rtmpe,rtmpte,"       \
    "ffrtmphttp,ffrtmpcrypt,srt"

/* The name without the password that an address may hold. */
static void shown_name(const char *name, char out[121])
{
    const char *start = strstr(name, "://");
    size_t length = start ? strcspn(start + 3, "/?#") : 0, kept = 0;
    for (size_t i = 0; i < length; i++) /* the last one: passwords may hold others */
        kept = start[3 + i] == '@' ? i : kept;
    const char *colon = kept ? memchr(start + 3, ':', kept) : NULL;
    if (colon)
        snprintf(out, 121, "%.*s:***%s", (int)(colon - name), name, start + 3 + kept);
    else
        snprintf(out, 121, "%s", name);
}

static int fail(struct pelton_failure *failure, int code, const char *name, const char *what,
                const char *hint)
{
    char shown[121];
    shown_name(name, shown);
    failure->code = code;
    snprintf(failure->cause, sizeof(failure->cause), "%s: %.120s", shown, what);
    snprintf(failure->hint, sizeof(failure->hint), "%s", hint);
    return code;
}

/* The host of an address, without login and port; NULL: it has none. */
static const char *host_of(const char *address, size_t *length)
{
    const char *host = strstr(address, "://"), *end;
    if (!host)
        return NULL;
    host += 3;
    end = host + strcspn(host, "/?#");
    for (const char *p = host; p < end; p++)
        host = *p == '@' ? p + 1 : host;
    const char *port = *host == '[' ? memchr(host, ']', (size_t)(end - host)) : host;
    *length = port ? (size_t)(port - host) + strcspn(port, ":/?#") : 0;
    return host;
}

/* A server or a playlist may lead to other places of the same host alone. Others are not in the
 * configuration: files here, and what this machine reaches and the server does not. */
static bool leads_elsewhere(const struct source *src, const char *address)
{
    size_t n, m;
    const char *ours = src->uri ? host_of(src->uri, &n) : NULL, *other = host_of(address, &m);
    return src->fd < 0 && ours && (!other || n != m || strncasecmp(ours, other, n) != 0);
}

/* libavformat asks before each wait and each write. It has then taken up the address that an RTSP
 * server has sent. */
static int interrupted(void *opaque)
{
    struct source *src = opaque;
    if (src->format && src->format->url && leads_elsewhere(src, src->format->url))
        src->led_elsewhere = true;
    return src->led_elsewhere || atomic_load(src->stop);
}

/* The input itself, and what a playlist names. */
static int open_nested(AVFormatContext *format, AVIOContext **io, const char *address, int flags,
                       AVDictionary **options)
{
    struct source *src = format->opaque;
    if (leads_elsewhere(src, address)) {
        src->led_elsewhere = true;
        return AVERROR(EPERM);
    }
    return src->open_io(format, io, address, flags, options);
}

static bool is_address(const char *uri)
{
    return strstr(uri, "://") != NULL;
}

static int fail_errno(const struct source *src, int error, struct pelton_failure *failure)
{
    const char *hint = error == ENOENT   ? "check the path"
                       : error == EACCES ? "check the permissions of the file and of its directory"
                       : error == EISDIR ? "name a file, not a directory"
                                         : "";
    return fail(failure,
                error == EACCES || error == EPERM ? PELTON_ERR_PERMISSION : PELTON_ERR_INPUT,
                src->name, strerror(error), hint);
}

/* The first bytes of an ISO media file: "ftyp" or another box that opens one. */
static bool looks_like_mp4(const struct source *src)
{
    char head[8];
    return src->size >= 8 && pread(src->fd, head, sizeof(head), 0) == sizeof(head) &&
           (!memcmp(head + 4, "ftyp", 4) || !memcmp(head + 4, "mdat", 4) ||
            !memcmp(head + 4, "wide", 4));
}

/* A text that names other files. A descriptor opens nothing else. */
static const char *playlist_kind(const struct source *src)
{
    char head[256] = "";
    if (src->fd < 0 || src->size < 8 || pread(src->fd, head, sizeof(head) - 1, 0) < 8)
        return NULL;
    return !strncmp(head, "#EXTM3U", 7)    ? "an HLS playlist"
           : !strncmp(head, "ffconcat", 8) ? "a list of files (ffconcat)"
           : strstr(head, "<MPD")          ? "a DASH manifest"
                                           : NULL;
}

/* libavformat says no more than EIO where the host's name is not known. */
static bool is_unknown_host(const char *uri)
{
    char host[256] = "";
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    const char *start = uri ? strstr(uri, "://") : NULL;
    if (!start)
        return false;
    start += 3;
    const char *end = start + strcspn(start, "/?#"),
               *at = memchr(start, '@', (size_t)(end - start));
    start = at ? at + 1 : start;
    if (*start == '[')
        return false; /* an address */
    snprintf(host, sizeof(host), "%.*s", (int)strcspn(start, ":/?#"), start);
    bool unknown = host[0] && getaddrinfo(host, NULL, &hints, &found) != 0;
    if (found)
        freeaddrinfo(found);
    return unknown;
}

/* What a server or the network says; 0: something else. */
static int fail_network(const struct source *src, int error, struct pelton_failure *failure)
{
    /* says libavformat of an answer that does not come */
    if (error == AVERROR_INVALIDDATA && !strncmp(src->uri, "rtsp", 4))
        error = time(NULL) - src->opened_s >= SILENCE_S - 1 ? AVERROR(ETIMEDOUT) : AVERROR_EOF;
    switch (error) {
    case AVERROR(ECONNREFUSED):
        return fail(failure, PELTON_ERR_REFUSED, src->name, "connection refused",
                    "check address and port, and that the server runs");
    case AVERROR(EHOSTUNREACH):
    case AVERROR(ENETUNREACH):
        return fail(failure, PELTON_ERR_REFUSED, src->name, "there is no way to the host",
                    "check the network");
    case AVERROR(EPERM):
    case AVERROR(EAFNOSUPPORT):
        return fail(failure, PELTON_ERR_PERMISSION, src->name,
                    "the daemon may not reach this address",
                    "its unit names the networks that it may: see any-network.conf in "
                    "/usr/share/doc/peltond/examples");
    case AVERROR(ETIMEDOUT):
        return fail(failure, PELTON_ERR_TIMEOUT, src->name, "no answer for ten seconds",
                    "check address and network");
    case AVERROR(ECONNRESET):
    case AVERROR(EPIPE):
    case AVERROR_EOF:
        return fail(failure, PELTON_ERR_INPUT, src->name, "the server has closed the connection",
                    "check that it speaks this protocol");
    case AVERROR_HTTP_UNAUTHORIZED:
    case AVERROR_HTTP_FORBIDDEN:
        return fail(failure, PELTON_ERR_AUTH, src->name,
                    "the server wants another user or password", "check user and password");
    case AVERROR_HTTP_NOT_FOUND:
        return fail(failure, PELTON_ERR_NOT_FOUND, src->name, "the server has no such stream",
                    "check the address's path");
    case AVERROR(EIO):
        if (is_unknown_host(src->uri))
            return fail(failure, PELTON_ERR_DNS, src->name, "the host's name is not known",
                        "check the host's name");
        if (!strncmp(src->uri, "http", 4))
            return fail(failure, PELTON_ERR_INPUT, src->name,
                        "the server fails, or leads to another address",
                        "name the address that it leads to");
        return 0;
    default:
        return 0;
    }
}

static int fail_open(const struct source *src, int error, struct pelton_failure *failure)
{
    if (src->led_elsewhere)
        return fail(failure, PELTON_ERR_PERMISSION, src->name, "it leads to another host or a file",
                    "name the other address itself");
    if (src->fd < 0 && error != AVERROR_EXIT && fail_network(src, error, failure) < 0)
        return failure->code;
    if (error == AVERROR_EXIT)
        return fail(failure, PELTON_ERR_INPUT, src->name, "closed while opening", "");
    if (src->size == 0)
        return fail(failure, PELTON_ERR_INPUT, src->name, "the file is empty",
                    "check that it was written completely");
    if (playlist_kind(src)) {
        char what[80];
        snprintf(what, sizeof(what), "%s, and no video itself", playlist_kind(src));
        return fail(failure, PELTON_ERR_UNSUPPORTED, src->name, what,
                    "make one file of its parts: ffmpeg -i IN -c copy OUT.ts");
    }
    if (error == AVERROR_INVALIDDATA && src->fd >= 0 && looks_like_mp4(src))
        return fail(
            failure, PELTON_ERR_INPUT, src->name, "truncated MP4: its index (moov) is missing",
            "the recording was cut off; copy the file again, or record to Matroska or MPEG-TS");
    if (error == AVERROR_INVALIDDATA || error == AVERROR_EOF)
        return fail(
            failure, PELTON_ERR_INPUT, src->name, "not a video: no known container or H.264 stream",
            "MP4, Matroska, MPEG-TS and raw H.264 are read, and what else FFmpeg's demuxers know");
    if (error == AVERROR_PROTOCOL_NOT_FOUND || error == AVERROR_DEMUXER_NOT_FOUND)
        return fail(failure, PELTON_ERR_INPUT, src->name, "FFmpeg has no reader for this address",
                    "");
    char text[AV_ERROR_MAX_STRING_SIZE] = "";
    av_strerror(error, text, sizeof(text));
    return fail(failure, error == AVERROR(EACCES) ? PELTON_ERR_PERMISSION : PELTON_ERR_INPUT,
                src->name, text, "");
}

/* A start code and a sequence parameter set or an access unit delimiter. Back at the beginning
 * afterwards. */
static bool begins_byte_stream(AVIOContext *io)
{
    uint8_t bytes[5] = {0};
    if (avio_seek(io, 0, SEEK_SET) < 0 || avio_read(io, bytes, 5) != 5 ||
        avio_seek(io, 0, SEEK_SET) < 0)
        return false;
    uint8_t header = bytes[2] ? bytes[3] : bytes[4];
    bool start = !bytes[0] && !bytes[1] && (bytes[2] == 1 || (!bytes[2] && bytes[3] == 1));
    return start && !(header & 0x80) && ((header & 31) == 7 || (header & 31) == 9);
}

static int open_as(struct source *src, const char *uri, const AVInputFormat *format)
{
    AVDictionary *options = NULL;
    src->format = avformat_alloc_context();
    if (!src->format)
        return AVERROR(ENOMEM);
    src->format->interrupt_callback = (AVIOInterruptCB){interrupted, src};
    if (src->fd >= 0) {
        src->format->pb = src->io;
        /* Playlists and the like inside a descriptor must not open anything else. */
        av_dict_set(&options, "protocol_whitelist", "none", 0);
    } else {
        src->open_io = src->format->io_open;
        src->format->opaque = src;
        src->format->io_open = open_nested;
        av_dict_set(&options, "protocol_whitelist", NETWORK_PROTOCOLS, 0);
        av_dict_set(&options, "max_redirects", "0", 0); /* http: nobody is asked about those */
    }
    if (src->fd < 0 && !strncmp(uri, "rtsp", 4)) {
        av_dict_set(&options, "timeout", SILENCE_US, 0);
        /* then UDP; nothing is lost on the way */
        av_dict_set(&options, "rtsp_flags", "prefer_tcp", 0);
    } else if (src->fd < 0) {
        av_dict_set(&options, "rw_timeout", SILENCE_US, 0);
    }
    int err = avformat_open_input(&src->format, src->fd >= 0 ? src->name : uri, format, &options);
    av_dict_free(&options);
    return err;
}

/* libavformat takes small byte streams for something else, and those with many slices of a second
 * view for nothing it knows. */
static int open_format(struct source *src, const char *uri)
{
    bool byte_stream = src->fd >= 0 && begins_byte_stream(src->io);
    int err = open_as(src, uri, byte_stream ? av_find_input_format("h264") : NULL);
    if (err < 0)
        return err;
    if (mp4_tells_all(src->format)) {
        src->format->codec_whitelist = av_strdup("none");
        if (!src->format->codec_whitelist)
            return AVERROR(ENOMEM);
    }
    return avformat_find_stream_info(src->format, NULL);
}

static int fail_no_stream(const struct source *src, struct pelton_failure *failure)
{
    char what[80];
    uint32_t count = video_streams_count(src->format);
    if (!count)
        return fail(failure, PELTON_ERR_INPUT, src->name, "no video stream in it", "");
    snprintf(what, sizeof(what), "it has %u video stream%s", count, count == 1 ? "" : "s");
    return fail(failure, PELTON_ERR_INPUT, src->name, what, "pelton probe lists them");
}

static int refuse_encrypted(const struct source *src, const char *scheme,
                            struct pelton_failure *failure)
{
    char what[80];
    snprintf(what, sizeof(what), "the video is encrypted (%s)", scheme);
    return fail(failure, PELTON_ERR_UNSUPPORTED, src->name, what,
                "decrypt it first; with an MP4's key: ffmpeg -decryption_key KEY -i IN -c copy "
                "OUT.mp4");
}

static int choose_stream(struct source *src, uint32_t video, struct pelton_failure *failure)
{
    char scheme[16];
    int best = video_streams_choose(src->format, video);
    if (best < 0)
        return fail_no_stream(src, failure);
    for (unsigned i = 0; i < src->format->nb_streams; i++)
        src->format->streams[i]->discard = (int)i == best ? AVDISCARD_DEFAULT : AVDISCARD_ALL;
    src->stream = src->format->streams[best];
    const AVCodecDescriptor *codec = avcodec_descriptor_get(src->stream->codecpar->codec_id);
    if (video_stream_encryption(src->format, src->stream, scheme))
        return refuse_encrypted(src, scheme, failure);
    if (src->stream->codecpar->codec_id == AV_CODEC_ID_H264) {
        int err = byte_stream_open(src);
        src->shows_part =
            !src->parser && src->stream->codecpar->width > 0 && src->stream->codecpar->height > 0;
        return err < 0 ? fail_open(src, err, failure) : 0;
    }
    if (!strcmp(src->format->iformat->name, "tty")) /* takes any text */
        return fail_open(src, AVERROR_INVALIDDATA, failure);
    char what[120];
    snprintf(what, sizeof(what), "video is %.60s, pelton decodes H.264",
             codec && src->stream->codecpar->codec_id == AV_CODEC_ID_HEVC ? "HEVC"
             : codec                                                      ? codec->name
                                                                          : "of an unknown codec");
    return fail(failure, PELTON_ERR_UNSUPPORTED, src->name, what,
                "convert it: ffmpeg -i IN -c:v libx264 OUT.mp4");
}

int source_open(struct source *src, const char *uri, int fd, const char *name, uint32_t video,
                const atomic_bool *stop, struct pelton_failure *failure)
{
    *src = (struct source){.fd = fd,
                           .own_fd = -1,
                           .size = -1,
                           .name = name,
                           .uri = uri,
                           .stop = stop,
                           .opened_s = time(NULL)};
    const char *path = uri && !strncmp(uri, "file:", 5) ? uri + 5 : uri;
    if (path && (path != uri || !is_address(uri))) {
        src->fd = src->own_fd = open(path, O_RDONLY | O_CLOEXEC);
        if (src->fd < 0)
            return fail_errno(src, errno, failure);
    }
    if (src->fd >= 0) {
        int err = source_io_open(src);
        if (err < 0)
            return fail_errno(src, AVUNERROR(err), failure);
    }
    int err = src->size == 0 ? AVERROR_INVALIDDATA : open_format(src, uri);
    if (err < 0)
        return fail_open(src, err, failure);
    return choose_stream(src, video, failure);
}

void source_close(struct source *src)
{
    if (src->live)
        src->leave(src);
    byte_stream_close(src);
    avformat_close_input(&src->format);
    source_io_close(src);
    if (src->own_fd >= 0)
        close(src->own_fd);
    *src = (struct source){.fd = -1, .own_fd = -1, .size = -1};
}

/* The demuxer's error, or 0 at the end of the file. */
static int source_read_error(struct source *src, int err, struct pelton_failure *failure)
{
    bool index_missing = err == AVERROR_INVALIDDATA && src->fd >= 0 && src->size < 0 &&
                         !src->started && strstr(src->format->iformat->name, "mp4");
    if (err == AVERROR_EOF && !src->truncated)
        return 0;
    if (index_missing)
        return fail(failure, PELTON_ERR_INPUT, src->name,
                    "an MP4 whose index (moov) comes last cannot be read from a pipe",
                    "name the file, or have it written with ffmpeg -movflags faststart");
    /* The MP4 demuxer says INVALIDDATA when a sample lies past the end of the file. */
    src->cut = src->fd >= 0 && (err == AVERROR_EOF || err == AVERROR_INVALIDDATA);
    if (src->cut)
        return fail(failure, PELTON_ERR_INPUT, src->name,
                    "truncated: the file ends before its index says so",
                    "the frames up to there were decoded; copy the file again");
    return fail_open(src, err, failure);
}

/* A packet of the chosen stream: 1 and its bytes, or an error. */
static int source_take(struct source *src, AVPacket *packet, struct pelton_failure *failure)
{
    char scheme[16];
    if (video_packet_encryption(packet, scheme)) {
        av_packet_unref(packet);
        return refuse_encrypted(src, scheme, failure);
    }
    src->truncated |=
        (packet->flags & AV_PKT_FLAG_CORRUPT) != 0 && src->size >= 0 && avio_feof(src->format->pb);
    src->started = true;
    byte_stream_packet(src, packet);
    return 1;
}

int source_read(struct source *src, AVPacket *packet, struct pelton_failure *failure)
{
    if (src->live)
        return src->next(src, packet, failure);
    for (;;) {
        int err = av_read_frame(src->format, packet);
        if (atomic_load(src->stop)) {
            av_packet_unref(packet);
            return 0;
        }
        if (err < 0 && err != AVERROR(EAGAIN))
            return source_read_error(src, err, failure);
        if (err >= 0 && packet->stream_index == src->stream->index && packet->size > 0)
            return source_take(src, packet, failure);
        av_packet_unref(packet);
    }
}

int source_rewind(struct source *src)
{
    if (src->live)
        return PELTON_ERR_INPUT;
    src->truncated = src->cut = false;
    int64_t start = src->stream->start_time != AV_NOPTS_VALUE ? src->stream->start_time : 0;
    if (!(src->format->iformat->flags & AVFMT_NOTIMESTAMPS) &&
        av_seek_frame(src->format, src->stream->index, start, AVSEEK_FLAG_BACKWARD) >= 0)
        return 0;
    return av_seek_frame(src->format, src->stream->index, 0, AVSEEK_FLAG_BYTE) >= 0
               ? 0
               : PELTON_ERR_INPUT;
}

/* As the ffmpeg tool seeks for -ss before -i: to a key frame at or before the point, a little
 * earlier where frames are reordered and the container is searched by decoding time. Streams of
 * packets (MPEG-TS) know no key frames when they seek: further back. */
int source_seek(struct source *src, int64_t start_us)
{
    if (src->live)
        return PELTON_ERR_INPUT;
    int flags = src->format->iformat->flags;
    int64_t target = start_us;
    if (flags & AVFMT_NOTIMESTAMPS)
        return 0;
    if (src->format->start_time != AV_NOPTS_VALUE)
        target += src->format->start_time;
    if (flags & AVFMT_TS_DISCONT)
        target -= PACKET_STREAM_BACK_US;
    else if (!(flags & AVFMT_SEEK_TO_PTS) && src->stream->codecpar->video_delay)
        target -= 3 * AV_TIME_BASE / 23;
    if (avformat_seek_file(src->format, -1, INT64_MIN, target, target, 0) >= 0)
        return 0;
    return source_rewind(src);
}

static struct pelton_rational rational(AVRational r)
{
    return (struct pelton_rational){r.num, r.den};
}

void source_info(const struct source *src, struct pelton_info *info)
{
    const AVStream *st = src->stream;
    const AVCodecParameters *par = st->codecpar;
    const char *profile = avcodec_profile_name(par->codec_id, par->profile);
    const char *pix_fmt = av_get_pix_fmt_name((enum AVPixelFormat)par->format);
    snprintf(info->container, sizeof(info->container), "%s",
             src->format->iformat ? src->format->iformat->name : "v4l2");
    snprintf(info->codec, sizeof(info->codec), "%s", avcodec_get_name(par->codec_id));
    snprintf(info->profile, sizeof(info->profile), "%s", profile ? profile : "");
    snprintf(info->pix_fmt, sizeof(info->pix_fmt), "%s", pix_fmt ? pix_fmt : "");
    info->level = par->level;
    info->width = info->coded_width = (uint32_t)par->width;
    info->height = info->coded_height = (uint32_t)par->height;
    info->time_base = rational(st->time_base);
    info->frame_rate = rational(st->r_frame_rate);
    info->avg_frame_rate = rational(st->avg_frame_rate);
    info->sar =
        rational(st->sample_aspect_ratio.num ? st->sample_aspect_ratio : par->sample_aspect_ratio);
    info->start_pts = src->format->start_time == AV_NOPTS_VALUE
                          ? INT64_MIN
                          : av_rescale_q(src->format->start_time, AV_TIME_BASE_Q, st->time_base);
    info->duration_us = src->format->duration == AV_NOPTS_VALUE ? -1 : src->format->duration;
    info->frames = st->nb_frames > 0 ? st->nb_frames : -1;
    info->orientation = video_stream_orientation(st);
    if (src->format->iformat)
        video_streams_list(src->format, st, info);
    info->bit_rate = par->bit_rate > 0           ? (uint64_t)par->bit_rate
                     : src->format->bit_rate > 0 ? (uint64_t)src->format->bit_rate
                                                 : 0;
}

void source_colour(const struct source *src, struct pelton_colour *colour, bool *known)
{
    const AVCodecParameters *par = src->stream->codecpar;
    *known = par->color_primaries != AVCOL_PRI_UNSPECIFIED ||
             par->color_trc != AVCOL_TRC_UNSPECIFIED || par->color_space != AVCOL_SPC_UNSPECIFIED ||
             par->color_range != AVCOL_RANGE_UNSPECIFIED;
    *colour = (struct pelton_colour){.primaries = (uint8_t)par->color_primaries,
                                     .transfer = (uint8_t)par->color_trc,
                                     .matrix = (uint8_t)par->color_space,
                                     /* the same numbers */
                                     .range = (enum pelton_range)par->color_range,
                                     .siting = (uint8_t)par->chroma_location,
                                     .source = PELTON_COLOUR_CONTAINER};
}
