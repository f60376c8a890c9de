/* SPDX-License-Identifier: BSD-2-Clause
 *
 * FFmpeg gives each frame two candidates: the pts of its own packet, carried through reordering, and the dts of the packet that
 * the decoder took when the frame came out. It counts for each how often it failed to increase and believes the one with fewer
 * faults, the pts on a tie. The ffmpeg tool also fills missing dts by counting frame durations from minus the reordering delay.
 *
 * Decoders differ in when a frame comes out, so the second candidate is modelled instead: the n-th frame in output order takes
 * the decoding time of the n-th picture in decoding order, plus the delay. That is what FFmpeg's decoder does when its delay is
 * the one announced; raw streams, which carry no times at all, so get 0, 1, 2… frame durations in output order. Where nothing is
 * announced, FFmpeg's decoder starts with the delay that the first pictures show and lengthens it by what it meets later; each step
 * leaves a gap of one frame in the times.
 */
#include "daemon/worker/timestamps.h"

#include <libavutil/mathematics.h>
#include <string.h>

void timestamps_init(struct timestamps *t, AVRational time_base, int delay, AVRational frame_rate)
{
    memset(t, 0, sizeof *t);
    t->time_base = time_base;
    t->announced = t->delay = delay;
    if (frame_rate.num <= 0 || frame_rate.den <= 0)
        frame_rate = (AVRational){25, 1};
    t->default_duration = av_rescale_q(1, av_inv_q(frame_rate), time_base);
    t->next_us = -(int64_t)((double)delay * 1e6 / av_q2d(frame_rate));
    t->last_pts = t->last_dts = TIMESTAMPS_NONE;
    for (unsigned i = 0; i < TIMESTAMPS_RING; i++)
        t->ring[i].tag = -1;
}

/* Counted in whole microseconds, rounded at each step, as the tool does. */
void timestamps_packet(struct timestamps *t, const struct packet_times *packet)
{
    static const AVRational us = {1, 1000000};
    struct packet_times *slot = &t->ring[(uint64_t)packet->tag % TIMESTAMPS_RING];
    *slot = *packet;
    if (slot->duration <= 0)
        slot->duration = t->default_duration;
    int64_t duration_us = av_rescale_q(slot->duration, t->time_base, us);
    if (packet->dts != TIMESTAMPS_NONE) {
        t->next_us = av_rescale_q(packet->dts, t->time_base, us);
        slot->delayed_dts = packet->dts + t->announced * t->default_duration;
    } else {
        slot->delayed_dts = av_rescale_q(t->next_us + t->announced * duration_us, us, t->time_base);
    }
    t->next_us += duration_us;
}

/* Frames that the picture must wait for: those decoded before it that follow it in output order; one where pictures seem to be
 * missing between it and its predecessor in output order. */
static unsigned reordering(struct timestamps *t, int32_t poc, bool has_b_slices)
{
    unsigned later = 0;
    while (later < t->recent_count && t->recent_poc[later] > poc)
        later++;
    bool gap = later == 0 && t->recent_count > 0 && (int64_t)poc - t->recent_poc[0] > 2;
    if (later < TIMESTAMPS_REORDER) {
        unsigned kept = t->recent_count < TIMESTAMPS_REORDER ? t->recent_count : TIMESTAMPS_REORDER - 1;
        memmove(&t->recent_poc[later + 1], &t->recent_poc[later], (kept - later) * sizeof t->recent_poc[0]);
        t->recent_poc[later] = poc;
        t->recent_count = kept + 1;
    }
    return later == 0 && (gap || has_b_slices) ? 1 : later;
}

void timestamps_order(struct timestamps *t, int32_t poc, bool has_b_slices, bool restart)
{
    if (restart)
        t->recent_count = 0;
    int need = (int)reordering(t, poc, has_b_slices);
    if (need <= t->delay || need >= TIMESTAMPS_REORDER)
        return;
    int64_t by = (need - t->delay) * t->default_duration;
    unsigned waiting = (unsigned)t->delay < t->queue_count ? (unsigned)t->delay : t->queue_count;
    for (unsigned i = t->queue_count - waiting; i < t->queue_count; i++)
        t->queue[(t->queue_head + i) % TIMESTAMPS_RING] += by;
    t->risen += by;
    t->delay = need;
}

void timestamps_decoded(struct timestamps *t, int64_t tag)
{
    const struct packet_times *p = &t->ring[(uint64_t)tag % TIMESTAMPS_RING];
    if (p->tag == tag && t->queue_count < TIMESTAMPS_RING)
        t->queue[(t->queue_head + t->queue_count++) % TIMESTAMPS_RING] = p->delayed_dts + t->risen;
}

static int64_t guess(struct timestamps *t, int64_t pts, int64_t dts)
{
    if (dts != TIMESTAMPS_NONE) {
        t->dts_faults += t->last_dts != TIMESTAMPS_NONE && dts <= t->last_dts;
        t->last_dts = dts;
    } else if (pts != TIMESTAMPS_NONE) {
        t->last_dts = pts;
    }
    if (pts != TIMESTAMPS_NONE) {
        t->pts_faults += t->last_pts != TIMESTAMPS_NONE && pts <= t->last_pts;
        t->last_pts = pts;
    } else if (dts != TIMESTAMPS_NONE) {
        t->last_pts = dts;
    }
    bool believe_pts = pts != TIMESTAMPS_NONE && (t->pts_faults <= t->dts_faults || dts == TIMESTAMPS_NONE);
    return believe_pts ? pts : dts;
}

void timestamps_output(struct timestamps *t, int64_t tag, struct packet_times *out)
{
    const struct packet_times *p = &t->ring[(uint64_t)tag % TIMESTAMPS_RING];
    int64_t dts = TIMESTAMPS_NONE;
    *out = (struct packet_times){.tag = tag, .pts = TIMESTAMPS_NONE, .dts = TIMESTAMPS_NONE};
    if (p->tag == tag)
        *out = *p;
    if (t->queue_count) {
        dts = t->queue[t->queue_head];
        t->queue_head = (t->queue_head + 1) % TIMESTAMPS_RING;
        t->queue_count--;
    }
    out->pts = guess(t, out->pts, dts);
}
