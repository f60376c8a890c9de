/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The sources that the configuration names, as clients see them.
 */
#ifndef PELTON_NAMED_H
#define PELTON_NAMED_H

#include "daemon/broker/kept_controls.h"
#include "daemon/broker/stream_state.h"
#include "daemon/config_source.h"

/* The daemon's own stream of it (kept_open.c). */
struct kept_stream {
    struct broker_stream *stream; /* NULL: none */
    struct backoff backoff;
    uint64_t opened_ms, retry_ms;
    bool has_ended; /* for this reason; the next step acts on it */
    struct pelton_failure end;
    bool over; /* and time does not mend that */
};

struct named_source {
    struct named_source *next;
    struct broker *broker;
    struct configured_source config;
    struct kept_controls controls; /* set by clients since it was configured */
    uint32_t readers;              /* without the daemon itself */
    uint64_t left_ms;              /* when the last of them has left */
    struct kept_stream kept;
    Pelton__SourceState__State state;
    char cause[256];
    char codec[32], format[64]; /* since it was open last; empty: it was not */
    uint32_t width, height;
    Pelton__Rational frame_rate;
    int64_t since_ns; /* of the present state */
};

/* Not in the list yet. NULL: out of memory. */
struct named_source *named_create(struct broker *b, const struct configured_source *from);
void named_free(struct named_source *n);
bool named_init(struct broker *b); /* those of the settings; false: out of memory */
void named_end(struct broker *b);
struct named_source *named_find(const struct broker *b, const char *name);

/* The stream is a reader of it from now on. */
void named_join(struct broker_stream *s, struct named_source *n);
/* The stream is no reader any more. end NULL: the reader has closed it. */
void named_leave(struct broker_stream *s, const struct pelton_failure *end);
/* News from the stream's worker; nothing for streams that read no named source. */
void named_info(struct broker_stream *s, const Pelton__Info *info);
void named_state(struct broker_stream *s, Pelton__SourceState__State state, const char *cause);

/* Tells the clients that watch and may read it. */
void named_tell(const struct named_source *n, bool removed);
/* Tells them that a client has set controls, with all there are now. */
void named_tell_controls(const struct named_source *n, const Pelton__ControlsReply *now);
/* Tells those that watch whether it comes or goes for them. */
void named_set_rights(struct named_source *n, const struct source_rights *rights);
/* Answers Sources and WatchSources. */
void named_list(struct client *c, uint32_t request_id);
void named_watch(struct client *c, uint32_t request_id, bool stop);

#endif
