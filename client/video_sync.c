/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Frame times on the grid of the output. A frame is expected at the end of its predecessor. A frame
 * that starts there or later is rounded to the grid. A frame that starts earlier but ends later
 * moves to the expected time. A frame that ended more than 0.6 units before comes at the expected
 * time, too; the frame after it does not move for it.
 *
 * The clock of MPEG-TS may jump, as where files were joined. As in FFmpeg, a frame goes on after
 * its predecessor where it would come a tenth of a second before it, or ten seconds behind it.
 */
#include "client/video_sync.h"

#include "proto/frame_rate.h"

#include <libavutil/avutil.h>
#include <libavutil/common.h>
#include <libavutil/mathematics.h>
#include <math.h>
#include <string.h>

static AVRational to_av(struct pelton_rational r)
{
    return (AVRational){r.num, r.den};
}

void sync_init(struct sync *s, const struct pelton_info *info, int64_t start_us, bool live)
{
    struct pelton_rational rate = info_frame_rate(info);
    s->in = rate_is_known(info->time_base) ? info->time_base
                                           : (struct pelton_rational){rate.den, rate.num};
    s->out = (struct pelton_rational){rate.den, rate.num};
    s->next = s->jumps = 0;
    s->last = INT64_MIN;
    s->begins = live && info->start_pts == INT64_MIN;
    s->clock_may_jump = !strcmp(info->container, "mpegts") || !strcmp(info->container, "mpeg");
    int64_t start = start_us > 0 ? start_us : 0;
    if (info->start_pts != INT64_MIN)
        start += av_rescale_q(info->start_pts, to_av(s->in), AV_TIME_BASE_Q);
    s->offset = av_rescale_q(-start, AV_TIME_BASE_Q, to_av(s->in));
}

/* Converts pts to units of out. It keeps the fraction to 2^-16 and moves it away from midpoints. */
static double position(const struct sync *s, int64_t pts)
{
    AVRational fine = to_av(s->out);
    int extra = 29 - av_log2((unsigned)fine.den);
    extra = extra < 0 ? 0 : extra > 16 ? 16 : extra;
    fine.den <<= extra;
    double at = (double)av_rescale_q(pts, to_av(s->in), fine) / (1 << extra);
    return at + (at > 0 ? 1.0 : -1.0) / (1 << 17);
}

static void sync_follow_clock(struct sync *s, int64_t pts)
{
    if (pts == INT64_MIN || !s->clock_may_jump)
        return;
    if (s->last != INT64_MIN) {
        double step = ((double)pts - (double)s->last) * av_q2d(to_av(s->in));
        if (step < -0.1 || step > 10) {
            s->offset = av_rescale_q(s->next, to_av(s->out), to_av(s->in)) - pts;
            s->jumps++;
        }
    }
    s->last = pts;
}

int64_t sync_time(struct sync *s, int64_t pts)
{
    if (s->begins)
        s->offset = -pts;
    s->begins = false;
    return pts + s->offset;
}

bool sync_frame(struct sync *s, int64_t pts, int64_t duration, int64_t *out)
{
    sync_follow_clock(s, pts);
    double at = pts == INT64_MIN ? (double)s->next : position(s, sync_time(s, pts));
    double ticks = nearbyint((double)duration * av_q2d(to_av(s->in)) / av_q2d(to_av(s->out)));
    double early = at - (double)s->next;
    double end = early + (ticks > 0 ? ticks : 1);
    *out = s->next;
    if (end <= -0.6)
        return false;
    if (end > 0.6)
        s->next = early < 0 ? s->next : llrint(at);
    *out = s->next++;
    return true;
}
