/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See live_units.h. Everything else sees a container without input.
 */
#include "daemon/worker/source/live_units.h"

#include <stdio.h>

/* An address has another name for each of its readers. */
static void failure_name(const struct source *src, struct pelton_failure *failure)
{
    struct pelton_failure unnamed = *failure;
    if (failure->code && unnamed.cause[0] == ':')
        snprintf(failure->cause, sizeof(failure->cause), "%.120s%.130s", src->name, unnamed.cause);
}

/* As live_next, without changes of state. */
static int source_live_next(struct source *src, AVPacket *packet, struct live_event *event,
                            struct pelton_failure *failure)
{
    int rc;
    while ((rc = live_next(src->live, src->stop, packet, event, failure)) == LIVE_STATE)
        src->watcher->state(src->watcher->ctx, event->running, event->cause);
    if (rc < 0)
        failure_name(src, failure);
    return rc;
}

/* Until the source is open. */
static int source_live_join(struct source *src, struct live_sources *all,
                            const struct live_wish *wish, struct live_event *event,
                            struct pelton_failure *failure)
{
    int rc = LIVE_NONE;
    while (rc == LIVE_NONE) {
        live_leave(src->live);
        src->live = NULL;
        rc = live_join(all, wish, &src->live, failure);
        if (rc < 0)
            failure_name(src, failure);
        else
            rc = source_live_next(src, NULL, event, failure);
    }
    return rc;
}

static int source_live_read(struct source *src, AVPacket *packet, struct pelton_failure *failure)
{
    struct live_event event;
    int rc = source_live_next(src, packet, &event, failure);
    if (rc != LIVE_UNIT)
        return rc < 0 ? rc : 0;
    src->captured_ns = event.taken.received_ns;
    src->behind = event.taken.behind;
    src->dropped = event.dropped;
    if (src->newest && event.taken.older)
        packet->flags |= AV_PKT_FLAG_DISCARD;
    return 1;
}

static void source_live_close(struct source *src)
{
    live_leave(src->live);
    src->live = NULL;
    avformat_free_context(src->format);
    src->format = NULL;
}

int source_live_open(struct source *src, struct live_sources *all, const struct live_wish *wish,
                     bool newest, const char *name, const atomic_bool *stop,
                     const struct source_watcher *watcher, struct pelton_failure *failure)
{
    struct live_event event;
    *src = (struct source){.fd = -1,
                           .own_fd = -1,
                           .size = -1,
                           .name = name,
                           .uri = wish->uri,
                           .stop = stop,
                           .next = source_live_read,
                           .leave = source_live_close,
                           .watcher = watcher,
                           .newest = newest};
    int rc = source_live_join(src, all, wish, &event, failure);
    if (rc == LIVE_OPEN) {
        src->format = event.shape.format;
        src->stream = src->format->streams[event.shape.chosen];
        src->counted = event.shape.counted;
        src->shows_part = event.shape.shows_part;
        failure_name(src, failure);
        return failure->code;
    }
    if (rc < 0)
        return rc;
    *failure = (struct pelton_failure){.code = PELTON_ERR_INPUT};
    snprintf(failure->cause, sizeof(failure->cause), "%.120s: closed while opening", name);
    return failure->code;
}
