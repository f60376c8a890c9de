/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Quotas: how much clients and streams may take. This is the one table of them. Who admits asks
 * quota_admits, which also counts refusals; `pelton stats` shows limit, use and refusals.
 */
#ifndef PELTON_QUOTA_H
#define PELTON_QUOTA_H

#include "daemon/settings.h"

#include <stdbool.h>
#include <stdint.h>

enum quota {
    QUOTA_CLIENTS,
    QUOTA_CLIENTS_PER_UID,
    QUOTA_STREAMS,
    QUOTA_DESCRIPTORS, /* of the daemon */
    QUOTA_HELLO_MS,
    QUOTA_DEAD_MS,
    QUOTA_MESSAGE,     /* bytes; proto/framing.h enforces the next three */
    QUOTA_MESSAGE_FDS, /* descriptors */
    QUOTA_QUEUE,       /* bytes that wait for a client */
    QUOTA_RESTARTS,
    QUOTA_LOG_LINES,     /* a second, of a kind */
    QUOTA_STREAM_MEMORY, /* KiB of frames; daemon/broker/frame_memory.c enforces the next four */
    QUOTA_STREAM_DEVICE, /* in device memory */
    QUOTA_CLIENT_MEMORY, /* of all its streams */
    QUOTA_CLIENT_DEVICE,
    QUOTA_UNIT,    /* from here on by workers: bytes of an access unit */
    QUOTA_NAL,     /* bytes */
    QUOTA_SEI,     /* bytes of a picture; codec/sei.c enforces it */
    QUOTA_PICTURE, /* macroblocks; codec/params_sps.c */
    QUOTA_SLICES,  /* for each macroblock of a picture; codec/stream_slice.c */
    QUOTA_KEPT,    /* bytes of a live source from its last key picture on; live_source.c */
    QUOTAS
};

/* codec/h264_sei.h, codec/h264_limits.h */
enum { QUOTA_SEI_BYTES = 64 << 10, QUOTA_SLICES_PER_MB = 3 };

struct quota_counts {
    uint64_t refused[QUOTAS];
};

extern const char *const quota_names[QUOTAS]; /* of settings, where they have one */
uint64_t quota_limit(enum quota q, const struct settings *settings);
/* True: there is room for one more beside `used`. Else it is counted as refused. */
bool quota_admits(enum quota q, const struct settings *settings, struct quota_counts *counts,
                  uint64_t used);

#endif
