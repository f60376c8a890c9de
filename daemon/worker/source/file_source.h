/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A source: libavformat on a descriptor or an address, giving H.264 access units.
 *
 * Thread: the stream thread of one session.
 */
#ifndef PELTON_SOURCE_H
#define PELTON_SOURCE_H

#include "proto/pelton.h"

#include <libavformat/avformat.h>
#include <stdatomic.h>

/* Who wants to know when a live source is lost and when it is there again. */
struct source_watcher {
    void (*state)(void *ctx, bool running, const char *cause);
    void *ctx;
};

struct source {
    AVFormatContext *format;
    AVIOContext *io;
    AVStream *stream;
    struct AVCodecParserContext *parser; /* byte_stream.c; NULL in containers */
    struct AVCodecContext *parser_context;
    const atomic_bool *stop; /* reads end soon after it is set */
    const char *name;        /* for messages; borrowed */
    const char *uri;         /* borrowed; NULL: a descriptor */
    int fd;                  /* borrowed; -1 with an address */
    int own_fd;              /* opened here, -1 */
    int64_t position; /* of a seekable descriptor: pread leaves the shared file offset alone */
    int64_t size;     /* of a seekable descriptor, else -1 */
    bool shows_part;  /* the container's size counts, where it is smaller than the pictures */
    bool truncated;   /* the container promised more */
    bool cut;         /* source_read has failed for that: all packets were given */
    /* of libavformat; used between its own questions (file_source.c) */
    int (*open_io)(AVFormatContext *, AVIOContext **, const char *, int, AVDictionary **);
    bool led_elsewhere; /* to another host or to a file; the input is refused */
    time_t opened_s;
    /* live_units.c: access units come from there, format only describes them */
    struct live_reader *live;
    int (*next)(struct source *, AVPacket *, struct pelton_failure *); /* as source_read */
    void (*leave)(struct source *);
    const struct source_watcher *watcher; /* with live, as the next five */
    bool began;                           /* a packet that is to be shown has been read */
    bool newest;         /* of units that were there before, the last one alone is shown */
    bool behind;         /* when the source was opened, units after the last packet were there */
    bool counted;        /* as byte_stream_counts says */
    int64_t captured_ns; /* of the last packet; 0: not known */
    uint64_t dropped;    /* packets that the source has dropped */
    bool started;        /* a packet has been read */
};

/* Fills *failure and returns its code when the source cannot be opened or has no H.264 video.
 * video: pelton_open_params. */
int source_open(struct source *src, const char *uri, int fd, const char *name, uint32_t video,
                const atomic_bool *stop, struct pelton_failure *failure);
void source_close(struct source *src);
/* 1: *packet is the next access unit. 0: end. Negative: failure filled. */
int source_read(struct source *src, AVPacket *packet, struct pelton_failure *failure);
/* Back to the start, or to the key frame before start_us after it. Returns 0 or a negative number
 * when the input cannot seek.
 */
int source_rewind(struct source *src);
int source_seek(struct source *src, int64_t start_us);
/* The information that the container has. */
void source_info(const struct source *src, struct pelton_info *info);
void source_colour(const struct source *src, struct pelton_colour *colour, bool *known);

#endif
