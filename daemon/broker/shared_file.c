/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Parts of one file: see shared_file.h. Each stream has a descriptor of its own, so the table lives
 * as long as any of them.
 */
#include "daemon/broker/shared_file.h"

#include "daemon/broker/worker_process.h"
#include "daemon/stretch_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool is_part(const struct broker_stream *s)
{
    const Pelton__Open *o = s->source.open;
    return !s->probe && o->share && o->parts > 1;
}

/* Another part of the same file. NULL: this is the first. */
static const struct broker_stream *part_beside(const struct broker_stream *s)
{
    const struct broker_stream *other = s->broker->streams;
    while (other && (other == s || other->client != s->client || other->source.table < 0 ||
                     other->source.open->share != s->source.open->share))
        other = other->next;
    return other;
}

static const struct broker_stream *first_part(const struct broker_stream *s)
{
    const struct broker_stream *other = s->broker->streams;
    while (other && (other->client != s->client || other->source.open->part != 0 ||
                     other->source.open->share != s->source.open->share))
        other = other->next;
    return other;
}

/* To open a device takes as long as many a file, and slows the first device down meanwhile. */
bool shared_file_waits(const struct broker_stream *s, uint64_t now_ms)
{
    if (!is_part(s) || s->source.open->part == 0 || s->worker->spawned)
        return false;
    const struct broker_stream *first = first_part(s);
    return first && (first->state == STREAM_QUEUED ||
                     now_ms - first->retry.opened_ms < s->broker->settings->debug.share_ms);
}

/* A device that is yet to be opened would come too late. A loop never ends. */
static bool is_short(const struct broker_stream *s)
{
    struct stat st;
    return !s->source.open->loop && fstat(s->source.fd, &st) == 0 &&
           (uint64_t)st.st_size < s->broker->settings->debug.share_kib << 10;
}

int shared_file_admit(struct broker_stream *s, struct pelton_failure *failure)
{
    if (!is_part(s))
        return 0;
    if (s->source.open->part > 0 && is_short(s)) {
        failure->code = PELTON_ERR_UNSUPPORTED;
        wire_copy(failure->cause, sizeof(failure->cause), "the file is too short to be shared");
        return failure->code;
    }
    const struct broker_stream *other = part_beside(s);
    s->source.table =
        other ? fcntl(other->source.table, F_DUPFD_CLOEXEC, 3) : stretch_table_create();
    if (s->source.table >= 0)
        return 0;
    failure->code = PELTON_ERR_NOMEM;
    snprintf(failure->cause, sizeof(failure->cause), "the table of a shared file: %s",
             strerror(errno));
    return failure->code;
}
