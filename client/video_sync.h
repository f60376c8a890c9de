/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Time stamps of framemd5: those that FFmpeg 5.1's command gives a stream of variable frame rate,
 * whose unit is one frame of the guessed frame rate. Pure functions; no I/O.
 */
#ifndef CLIENT_SYNC_H
#define CLIENT_SYNC_H

#include "proto/pelton.h"

struct sync {
    struct pelton_rational in, out; /* time bases */
    int64_t offset;                 /* added to each pts, in units of in: the stream starts at 0 */
    int64_t next;                   /* where the next frame is expected, in units of out */
};

/* The frame rate that gives the output's time base; 25 where the stream tells nothing. */
struct pelton_rational sync_frame_rate(const struct pelton_info *info);

/* start_us: -ss, or -1. */
void sync_init(struct sync *s, const struct pelton_info *info, int64_t start_us);

/* Whether the frame is written, and when. pts INT64_MIN: unknown, the frame follows its
 * predecessor. duration 0: unknown. */
bool sync_frame(struct sync *s, int64_t pts, int64_t duration, int64_t *out);

#endif
