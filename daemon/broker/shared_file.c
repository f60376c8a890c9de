/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Parts of one file: see shared_file.h. Each stream has a descriptor of its own, so the table lives
 * as long as any of them.
 */
#include "daemon/broker/shared_file.h"

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
