/* SPDX-License-Identifier: BSD-2-Clause
 *
 * FFmpeg gives each frame two candidates: the pts of its own packet, carried through reordering,
 * and the dts of the packet that the decoder took when the frame came out. It counts for each how
 * often it failed to increase and believes the one with fewer faults, the pts on a tie. The ffmpeg
 * tool also fills missing dts by counting frame durations from minus the reordering delay.
 *
 * Decoders differ in when a frame comes out, so the second candidate is modelled instead: the n-th
 * frame in output order takes the decoding time of frame n + delay in decoding order (of its second
 * field, where it has two), or what that would be at a constant rate where it is not there yet or
 * never comes. That is what FFmpeg's decoder does when its delay is the one announced; raw streams,
 * which carry no times at all, so get 0, 1, 2… frame durations in output order. Where nothing is
 * announced, FFmpeg's decoder starts with the delay that the first pictures show and lengthens it
 * by what it meets later; each step leaves a gap of one frame in the times.
 *
 * From FFmpeg 6.1 on the tool does without these candidates in raw streams: it adds up the
 * durations of the frames in output order (counted).
 */
#include "daemon/worker/source/timestamps.h"

#include <libavutil/mathematics.h>
#include <string.h>

void timestamps_init(struct timestamps *t, AVRational time_base, int delay, AVRational frame_rate,
                     AVRational average)
{
    memset(t, 0, sizeof(*t));
    t->time_base = time_base;
    t->announced = t->delay = delay;
    if (frame_rate.num <= 0 || frame_rate.den <= 0)
        frame_rate = (AVRational){25, 1};
    t->default_duration = av_rescale_q(1, av_inv_q(frame_rate), time_base);
    if (average.num <= 0 || average.den <= 0)
        average = frame_rate;
    t->next_us = -(int64_t)((double)delay * 1e6 / av_q2d(average));
    t->last_decoded_tag = t->last_fed_tag = -1;
    t->last_pts = t->last_dts = TIMESTAMPS_NONE;
    for (unsigned i = 0; i < TIMESTAMPS_RING; i++)
        t->ring[i].tag = -1;
}

static const AVRational us = {1, 1000000};

/* Counted in whole microseconds, rounded at each step, as the tool does. */
void timestamps_packet(struct timestamps *t, const struct packet_times *packet)
{
    struct packet_times *slot = &t->ring[(uint64_t)packet->tag % TIMESTAMPS_RING];
    *slot = *packet;
    if (slot->duration <= 0)
        slot->duration = t->default_duration;
    int64_t duration_us = av_rescale_q(slot->duration, t->time_base, us);
    if (packet->dts != TIMESTAMPS_NONE)
        t->next_us = av_rescale_q(packet->dts, t->time_base, us);
    slot->counted_us = t->next_us;
    t->last_fed_tag = packet->tag;
    t->next_us += duration_us;
}

/* Frames that the picture must wait for: those decoded before it that follow it in output order;
 * one where pictures seem to be missing between it and its predecessor in output order. */
static unsigned reordering(struct timestamps *t, int32_t poc, bool has_b_slices)
{
    unsigned later = 0;
    while (later < t->recent_count && t->recent_poc[later] > poc)
        later++;
    bool gap = later == 0 && t->recent_count > 0 && (int64_t)poc - t->recent_poc[0] > 2;
    if (later < TIMESTAMPS_REORDER) {
        unsigned kept =
            t->recent_count < TIMESTAMPS_REORDER ? t->recent_count : TIMESTAMPS_REORDER - 1;
        memmove(&t->recent_poc[later + 1], &t->recent_poc[later],
                (kept - later) * sizeof(t->recent_poc[0]));
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
    if (need > t->delay && need < TIMESTAMPS_REORDER)
        t->delay = need;
}

/* When the frame would be decoded that comes `frames` after the last one. */
static int64_t decoding_time(const struct timestamps *t, int64_t frames)
{
    const struct packet_times *fed = &t->ring[(uint64_t)t->last_fed_tag % TIMESTAMPS_RING];
    /* its first field is here */
    if (frames == 1 && t->last_fed_tag > t->last_decoded_tag &&
        fed->duration * 2 <= t->default_duration)
        return fed->dts != TIMESTAMPS_NONE
                   ? fed->dts + t->default_duration / 2
                   : av_rescale_q(fed->counted_us + av_rescale_q(fed->duration, t->time_base, us),
                                  us, t->time_base);
    if (t->last_decoded_dts != TIMESTAMPS_NONE)
        return t->last_decoded_dts + frames * t->default_duration;
    return av_rescale_q(t->last_decoded_us + frames * t->last_duration_us, us, t->time_base);
}

void timestamps_decoded(struct timestamps *t, int64_t tag, bool is_field)
{
    const struct packet_times *p = &t->ring[(uint64_t)tag % TIMESTAMPS_RING];
    if (p->tag == tag) {
        t->last_decoded_us = p->counted_us;
        t->last_decoded_dts = p->dts;
        t->last_duration_us = av_rescale_q(p->duration, t->time_base, us) * (is_field ? 2 : 1);
    }
    t->last_decoded_tag = tag;
    t->decoded++;
    if (t->decoded > t->known + (uint64_t)t->delay)
        t->out_dts[t->known++ % TIMESTAMPS_RING] = decoding_time(t, 0);
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
    bool believe_pts =
        pts != TIMESTAMPS_NONE && (t->pts_faults <= t->dts_faults || dts == TIMESTAMPS_NONE);
    return believe_pts ? pts : dts;
}

/* A packet that is one field of a frame lasts half as long as the frame. */
static void counted_time(struct timestamps *t, struct packet_times *out)
{
    if (out->duration < t->default_duration)
        out->duration = t->default_duration;
    out->pts = t->next_pts;
    t->next_pts += out->duration;
}

void timestamps_output(struct timestamps *t, int64_t tag, struct packet_times *out)
{
    const struct packet_times *p = &t->ring[(uint64_t)tag % TIMESTAMPS_RING];
    int64_t dts = TIMESTAMPS_NONE;
    *out = (struct packet_times){.tag = tag, .pts = TIMESTAMPS_NONE, .dts = TIMESTAMPS_NONE};
    if (p->tag == tag)
        *out = *p;
    if (t->counted) {
        counted_time(t, out);
        return;
    }
    if (t->given < t->known)
        dts = t->out_dts[t->given % TIMESTAMPS_RING];
    else if (t->decoded)
        dts = decoding_time(t, (int64_t)(t->given + (uint64_t)t->delay + 1 - t->decoded));
    t->given++;
    out->pts = guess(t, out->pts, dts);
}
