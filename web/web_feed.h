/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Frames for HTTP readers. A tap is one subscription of libpelton, for one source, size, rate and
 * kind of bytes. All readers of the same key share it: a frame is fetched, scaled and encoded once.
 * A tap copies a frame and gives its slot back at once, so no reader holds the daemon's memory.
 *
 * A reader with the newest frames skips what it is too slow for. One with all frames is cut when it
 * is behind by more frames than the tap keeps. A file is read by a tap of its own, which waits for
 * its reader. A tap of a camera goes on when the daemon comes back; one of a file fails.
 *
 * Thread: any; each reader belongs to one thread.
 */
#ifndef PELTON_WEB_FEED_H
#define PELTON_WEB_FEED_H

#include "proto/pelton.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum feed_kind { FEED_RAW, FEED_JPEG };

struct feed_key {
    char source[128]; /* as the configuration names it */
    enum feed_kind kind;
    uint32_t width, height, quality;
    double fps;
    char pix_fmt[16];
    bool lossless;
    bool scaled; /* the daemon gives frames of this size; cameras are scaled here */
    bool file;   /* the source ends: its tap has one reader, and waits for it */
};

struct web_frame {
    atomic_uint uses;
    struct pelton_frame info; /* of the daemon's frame; data[] is gone */
    uint32_t width, height;   /* of these bytes */
    char pix_fmt[16];
    struct pelton_colour colour;
    size_t size;
    uint8_t bytes[]; /* planes without padding, or JPEG */
};

struct feed;
struct feed_reader;

/* What the gateway has seen of a source, for metrics and events. Counters only grow. */
struct feed_figures {
    char name[128];
    unsigned taps, readers;
    uint64_t frames, bytes;
    uint64_t dropped_source, dropped_decoder, dropped_client; /* by the daemon */
    uint64_t skipped, overrun;            /* frames that readers skipped; readers that were cut */
    uint64_t jpegs_gateway, jpegs_daemon; /* JPEG files: made here, and by the daemon */
    double encode_s;                      /* CPU time of scaling and encoding here */
    /* The rest is of one subscription, the first that reads now: numbers of frames of two do not
     * follow each other. */
    uint64_t speaker;
    struct pelton_frame last;
    bool encoded;    /* it is an access unit */
    int64_t seen_ns; /* when it came; 0: none has come */
    double age_ms;   /* from its capture to then */
    /* Of MP4, as MediaSource takes it: video/mp4; codecs="avc1.64001f". Empty: nobody read it so.
     */
    char mime[64];
    int64_t mime_ns; /* when that was known */
};

struct feed *feed_new(const char *socket);
/* All readers are closed. */
void feed_free(struct feed *f);
/* Figures of all sources that were ever read, at most `most`; their number. */
size_t feed_count(struct feed *f, struct feed_figures *out, size_t most);

enum feed_news {
    FEED_FRAME,
    FEED_NOTHING, /* none in time */
    FEED_END,
    FEED_FAILED, /* *why says it */
    FEED_OVERRUN /* this reader is too slow for all frames */
};

/* NULL: no memory, no thread. */
struct feed_reader *feed_open(struct feed *f, const struct feed_key *key);
/* *out is the caller's until feed_drop. */
enum feed_news feed_next(struct feed_reader *r, int timeout_ms, struct web_frame **out,
                         struct pelton_failure *why);
void feed_drop(struct web_frame *frame);
/* Why no frame comes, while the tap waits; else empty. */
void feed_waits(struct feed_reader *r, char cause[256]);
void feed_close(struct feed_reader *r); /* NULL allowed */

/* ---- readers of access units: each has a stream of its own, and counts here what it gets ---- */

struct feed_counter;

struct feed_counter *feed_counter_new(struct feed *f, const char *source); /* NULL: no memory */
/* One unit. mime: of an MP4 that begins with it; else NULL. */
void feed_counter_add(struct feed_counter *c, const struct pelton_frame *unit, const char *mime);
void feed_counter_free(struct feed_counter *c); /* NULL allowed */
/* The figures of one source. False: it was never read. */
bool feed_figures_of(struct feed *f, const char *source, struct feed_figures *out);

#endif
