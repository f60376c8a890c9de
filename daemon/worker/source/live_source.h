/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Live sources of H.264: each is read, or encoded, by one thread, for any number of readers,
 * decoded or not. A source is known by its address; it is opened by its first reader and closed
 * with the last. See docs/design/encoded.md.
 */
#ifndef PELTON_LIVE_SOURCE_H
#define PELTON_LIVE_SOURCE_H

#include "daemon/worker/source/live_input.h"
#include "daemon/worker/source/unit_log.h"

/* Bytes that a source keeps where nobody says more; the part of the host's memory for all. */
enum { LIVE_KEPT = 16 << 20, LIVE_SHARE = 8 };

struct live_sources; /* all of a process */
struct live_reader;

/* kept: most bytes of a source from its last key picture on; all: of all sources together. NULL:
 * out of memory. */
struct live_sources *live_sources_create(uint64_t kept, uint64_t all);
void live_sources_free(struct live_sources *all); /* after the last reader; NULL allowed */

struct live_usage; /* session.h */
void live_sources_usage(struct live_sources *all, struct live_usage *out);

/* What a reader says of itself. */
struct live_wish {
    const char *uri; /* borrowed for the call */
    uint32_t video;  /* pelton_open_params */
    bool lossless;
    /* Not NULL: uri is a camera whose frames are encoded, with the rectangles of params. */
    struct camera_encodings *encodings;
    const struct pelton_open_params *params;
};

int live_join(struct live_sources *all, const struct live_wish *wish, struct live_reader **out,
              struct pelton_failure *failure);
struct live_event {
    bool running; /* LIVE_STATE, as in live_news */
    char cause[256];
    struct live_shape shape; /* LIVE_OPEN: the reader's. start_time is that of the first unit that
                                is to be shown, or not known */
    struct unit_taken taken; /* LIVE_UNIT */
    uint64_t dropped;        /* units that this reader has not seen, so far */
};
/* Waits for the next event: LIVE_OPEN once, with a failure where the source cannot be used, then
 * units (*unit filled) and changes of state. LIVE_END: the source has ended, or *stop was set.
 * LIVE_NONE: this source serves another reader alone; join again. Negative, with the failure. A
 * reader has one thread. */
int live_next(struct live_reader *r, const atomic_bool *stop, AVPacket *unit,
              struct live_event *event, struct pelton_failure *failure);
/* The reader has lost a unit: a device that can sends a key picture soon. */
void live_ask_for_key(struct live_reader *r);
void live_leave(struct live_reader *r); /* NULL allowed */

#endif
