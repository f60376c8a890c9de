/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The table of quotas: see quota.h.
 */
#include "daemon/quota.h"

#include "proto/framing.h"

#include <sys/resource.h>

const char *const quota_names[QUOTAS] = {
    [QUOTA_CLIENTS] = "clients",
    [QUOTA_CLIENTS_PER_UID] = "clients_per_uid",
    [QUOTA_STREAMS] = "streams",
    [QUOTA_DESCRIPTORS] = "descriptors",
    [QUOTA_HELLO_MS] = "hello_ms",
    [QUOTA_DEAD_MS] = "dead_ms",
    [QUOTA_MESSAGE] = "message",
    [QUOTA_MESSAGE_FDS] = "message_fds",
    [QUOTA_QUEUE] = "queue",
    [QUOTA_RESTARTS] = "restarts",
    [QUOTA_LOG_LINES] = "log_lines",
    [QUOTA_UNIT] = "access_unit",
    [QUOTA_NAL] = "nal_unit",
    [QUOTA_SEI] = "sei",
    [QUOTA_PICTURE] = "picture",
    [QUOTA_SLICES] = "slices_per_mb",
    [QUOTA_KEPT] = "kept_units",
    [QUOTA_STREAM_MEMORY] = "stream_memory",
    [QUOTA_STREAM_DEVICE] = "stream_device_memory",
    [QUOTA_CLIENT_MEMORY] = "client_memory",
    [QUOTA_CLIENT_DEVICE] = "client_device_memory",
};

static uint64_t descriptors(void)
{
    struct rlimit r;
    return getrlimit(RLIMIT_NOFILE, &r) == 0 ? r.rlim_cur : 0;
}

uint64_t quota_limit(enum quota q, const struct settings *s)
{
    switch (q) {
    case QUOTA_CLIENTS:
        return s->limits.clients;
    case QUOTA_CLIENTS_PER_UID:
        return s->limits.clients_per_uid;
    case QUOTA_STREAMS:
        return s->limits.streams;
    case QUOTA_DESCRIPTORS:
        return descriptors();
    case QUOTA_HELLO_MS:
        return s->timing.hello_ms;
    case QUOTA_DEAD_MS:
        return s->timing.dead_ms;
    case QUOTA_MESSAGE:
        return FRAME_MAX_PAYLOAD;
    case QUOTA_MESSAGE_FDS:
        return FRAME_MAX_FDS;
    case QUOTA_QUEUE:
        return FRAME_MAX_QUEUE;
    case QUOTA_RESTARTS:
        return s->limits.restarts;
    case QUOTA_LOG_LINES:
        return s->limits.log_lines;
    case QUOTA_STREAM_MEMORY:
        return s->limits.stream_memory;
    case QUOTA_STREAM_DEVICE:
        return s->limits.stream_device;
    case QUOTA_CLIENT_MEMORY:
        return s->limits.client_memory;
    case QUOTA_CLIENT_DEVICE:
        return s->limits.client_device;
    case QUOTA_UNIT:
        return s->limits.access_unit;
    case QUOTA_NAL:
        return s->limits.nal_unit;
    case QUOTA_SEI:
        return QUOTA_SEI_BYTES;
    case QUOTA_PICTURE:
        return s->limits.picture;
    case QUOTA_SLICES:
        return QUOTA_SLICES_PER_MB;
    case QUOTA_KEPT:
        return s->limits.kept_units;
    case QUOTAS:
        break;
    }
    return 0;
}

bool quota_admits(enum quota q, const struct settings *settings, struct quota_counts *counts,
                  uint64_t used)
{
    bool admitted = used < quota_limit(q, settings);
    counts->refused[q] += !admitted;
    return admitted;
}
