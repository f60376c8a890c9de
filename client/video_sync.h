/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Time stamps of framemd5, as FFmpeg 5.1's command gives them to a stream of variable frame rate.
 * Their unit is one frame of the guessed frame rate. Pure functions; no I/O.
 */
#ifndef CLIENT_SYNC_H
#define CLIENT_SYNC_H

#include "proto/pelton.h"

struct sync {
    struct pelton_rational in, out; /* time bases */
    int64_t offset;      /* added to each pts, in units of in, so that the stream starts at 0 */
    int64_t next;        /* the expected time of the next frame, in units of out */
    bool begins;         /* with the next frame, whose time becomes 0 */
    bool clock_may_jump; /* the container is a stream of packets, as MPEG-TS */
    int64_t last, jumps; /* pts before; how often the clock was set anew */
};

/* start_us: -ss, or -1. live: a camera's clock began with the machine; its output begins at 0. */
void sync_init(struct sync *s, const struct pelton_info *info, int64_t start_us, bool live);
/* The time of a frame in units of in, from 0 on. */
int64_t sync_time(struct sync *s, int64_t pts);

/* The frame is written at *out. pts INT64_MIN: unknown, the frame follows its predecessor. duration
 * 0: unknown. False: its time has passed, or another frame has it. FFmpeg would leave it out; here
 * its time is mended. */
bool sync_frame(struct sync *s, int64_t pts, int64_t duration, int64_t *out);

#endif
