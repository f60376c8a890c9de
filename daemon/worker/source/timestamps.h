/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Presentation times as the ffmpeg tool derives them (best_effort_timestamp), without libavcodec's
 * decoder.
 */
#ifndef PELTON_TIMESTAMPS_H
#define PELTON_TIMESTAMPS_H

#include <libavutil/rational.h>
#include <stdbool.h>
#include <stdint.h>

#define TIMESTAMPS_NONE    INT64_MIN
#define TIMESTAMPS_REORDER 16
/* access units between feeding and output; far more than DPB and look-ahead hold */
#define TIMESTAMPS_RING 1024

struct packet_times {
    int64_t tag, pts, dts, duration, received_ns;
    int64_t counted_us; /* timestamps.c's own: decoding time where dts is not given, microseconds */
    bool discard;       /* decoded for reference only: outside the container's edit list */
};

struct timestamps {
    AVRational time_base;
    int announced;            /* frames of reordering that the container or parser announces */
    int delay;                /* the same, and what the pictures have shown since */
    int64_t default_duration; /* of one frame, in time_base; 0 unknown */
    struct packet_times ring[TIMESTAMPS_RING];
    int64_t next_us; /* decoding time of the next packet where it has none, microseconds */
    /* of frame n in output order: when the frame that FFmpeg's decoder gives it out for was decoded
     */
    int64_t out_dts[TIMESTAMPS_RING];
    uint64_t decoded, known, given; /* frames decoded; of which out_dts is known; given out */
    /* of the last frame decoded; dts where its packet has one */
    int64_t last_decoded_us, last_decoded_dts, last_duration_us;
    int64_t last_decoded_tag, last_fed_tag; /* -1: none */
    int32_t recent_poc[TIMESTAMPS_REORDER]; /* the highest since the last restart, descending */
    unsigned recent_count;
    int64_t last_pts, last_dts; /* of frames given out */
    unsigned pts_faults, dts_faults;
    /* a frame starts where its predecessor in output order ended, at next_pts */
    bool counted;
    int64_t next_pts;
};

/* average: from the number of frames and the duration; 0/0 unknown, as frame_rate. */
void timestamps_init(struct timestamps *t, AVRational time_base, int delay, AVRational frame_rate,
                     AVRational average);
/* A packet is fed under tag. */
void timestamps_packet(struct timestamps *t, const struct packet_times *packet);
/* Before timestamps_decoded, for streams that do not announce their reordering (no
 * bitstream_restriction): the delay grows where the picture order count shows more of it. poc: of
 * the frame, once both of its fields are there. restart: an IDR picture or MMCO 5. */
void timestamps_order(struct timestamps *t, int32_t poc, bool has_b_slices, bool restart);
/* A frame that access unit tag completes has come out of step 1 in decoding order; it will be
 * output. is_field: the access unit is one field of it. */
void timestamps_decoded(struct timestamps *t, int64_t tag, bool is_field);
/* A picture of access unit tag is output: *out gets the packet's times with the presentation time
 * guessed. */
void timestamps_output(struct timestamps *t, int64_t tag, struct packet_times *out);

#endif
