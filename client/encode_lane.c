/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See encode_lane.h. A failure ends this lane alone. What was written until then stays, without its
 * name. An interrupt is how a live source ends: the file is complete then.
 */
#include "client/encode_lane.h"

#include "client/encode_device.h"
#include "client/video_sync.h"
#include "proto/frame_rate.h"
#include "proto/start_trace.h"

#include <string.h>
#include <sys/eventfd.h>

/* ---- its thread ---- */

/* A unit that the daemon has encoded. Where the container has the parameter sets they are left out
 * of it. */
static int lane_pass_on(struct encode_lane *l, const struct pelton_frame *frame)
{
    struct pelton_frame unit = *frame;
    uint32_t sets = unit_output_sets_apart(&l->out) ? unit.parameter_sets_size : 0;
    if (unit.plane_width[0] > sets && !memcmp(unit.data[0], unit.parameter_sets, sets)) {
        unit.data[0] += sets;
        unit.plane_width[0] -= sets;
    }
    l->sums.pictures++;
    l->sums.keys += (frame->flags & PELTON_FRAME_KEY) != 0;
    l->sums.bytes += frame->plane_width[0];
    l->sums.corrupt += (frame->flags & PELTON_FRAME_CORRUPT) != 0;
    return unit_output_add(&l->out, &unit);
}

static int lane_encode(struct encode_lane *l, const struct pelton_frame *frame)
{
    struct pelton_frame unit;
    START_TRACE_FIRST("first frame");
    if (l->encoded)
        return lane_pass_on(l, frame);
    int rc = frame_encoder_push(l->encoder, frame, &unit, &l->failure);
    START_TRACE_FIRST("first picture is encoded");
    return rc ? rc : unit_output_add(&l->out, &unit);
}

/* Waits for a frame. False: no more. With the lock */
static bool lane_take(struct encode_lane *l, struct pelton_frame *frame)
{
    while (!l->n_waiting && !l->no_more)
        pthread_cond_wait(&l->news, &l->lock);
    if (!l->n_waiting || l->stopped)
        return false;
    *frame = l->waiting[0];
    l->n_waiting--;
    memmove(l->waiting, l->waiting + 1, l->n_waiting * sizeof(l->waiting[0]));
    l->busy = true;
    return true;
}

/* With the lock */
static void lane_count(struct encode_lane *l)
{
    l->first_ns = l->first_ns ? l->first_ns : now_ns();
    l->state = (struct progress_state){.frames = l->out.units,
                                       .dropped = l->out.dropped,
                                       .bytes = unit_output_bytes(&l->out),
                                       .media_s = (double)unit_output_us(&l->out) * 1e-6};
}

/* False: nothing follows. With the lock, which is free meanwhile */
static bool lane_step(struct encode_lane *l)
{
    struct pelton_frame frame;
    if (!lane_take(l, &frame))
        return false;
    pthread_mutex_unlock(&l->lock);
    int rc = lane_encode(l, &frame);
    bool all = rc || unit_output_done(&l->out);
    pthread_mutex_lock(&l->lock);
    l->busy = false;
    l->done[l->n_done++] = frame;
    l->code = l->code ? l->code : rc;
    if (rc == 0)
        lane_count(l);
    eventfd_write(l->wake, 1);
    return !all;
}

static void lane_finish(struct encode_lane *l, int rc)
{
    bool complete = rc == 0 || (interrupted() && !l->out.out.sink.error);
    if (l->encoder)
        l->sums = frame_encoder_sums(l->encoder);
    int ended = unit_output_end(&l->out, complete && l->out.muxer);
    frame_encoder_free(l->encoder);
    l->encoder = NULL;
    pthread_mutex_lock(&l->lock);
    l->code = rc ? rc : ended;
    l->state.bytes = unit_output_bytes(&l->out);
    l->finished = true;
    pthread_mutex_unlock(&l->lock);
    eventfd_write(l->wake, 1);
}

static void *lane_run(void *ctx)
{
    struct encode_lane *l = ctx;
    pthread_mutex_lock(&l->lock);
    while (lane_step(l))
        ;
    l->no_more = true;
    int rc = l->code;
    pthread_mutex_unlock(&l->lock);
    lane_finish(l, rc);
    return NULL;
}

int encode_lane_start(struct encode_lane *l, struct encode_device *device)
{
    int rc = l->encoded
                 ? 0
                 : frame_encoder_new(l->o, device, info_frame_rate(&l->info),
                                     unit_output_sets_apart(&l->out), &l->encoder, &l->failure);
    if (rc)
        return rc;
    l->news_ns = now_ns();
    l->started = pthread_create(&l->thread, NULL, lane_run, l) == 0;
    return l->started ? 0
                      : fail_with(&l->failure, X_OTHER, "close other programs, or raise ulimit -u",
                                  "no thread for %s", l->source.name);
}

void encode_lane_join(struct encode_lane *l)
{
    if (l->started)
        pthread_join(l->thread, NULL);
    l->started = false;
    frame_encoder_free(l->encoder);
    l->encoder = NULL;
    if (!l->failure.code)
        l->failure = l->source_failure;
}

/* ---- of the connection's thread ---- */

/* Of a source that leaves frames out the newest is wanted, once the one before is encoded. */
bool encode_lane_wants(struct encode_lane *l)
{
    unsigned most = l->o->read.policy == PELTON_LOSSLESS ? 2 : 1;
    pthread_mutex_lock(&l->lock);
    bool wants = !l->no_more && l->n_waiting + l->busy < most;
    pthread_mutex_unlock(&l->lock);
    return wants;
}

void encode_lane_give(struct encode_lane *l, const struct pelton_frame *frame)
{
    pthread_mutex_lock(&l->lock);
    l->waiting[l->n_waiting++] = *frame;
    pthread_cond_signal(&l->news);
    pthread_mutex_unlock(&l->lock);
}

void encode_lane_end(struct encode_lane *l, int code)
{
    pthread_mutex_lock(&l->lock);
    l->no_more = true;
    l->code = l->code ? l->code : code;
    pthread_cond_signal(&l->news);
    pthread_mutex_unlock(&l->lock);
}

void encode_lane_stop(struct encode_lane *l)
{
    pthread_mutex_lock(&l->lock);
    l->no_more = l->stopped = true;
    l->code = l->code ? l->code : interrupted();
    pthread_cond_signal(&l->news);
    pthread_mutex_unlock(&l->lock);
}

unsigned encode_lane_take_back(struct encode_lane *l, struct pelton_frame out[LANE_FRAMES])
{
    pthread_mutex_lock(&l->lock);
    unsigned n = l->n_done;
    memcpy(out, l->done, n * sizeof(out[0]));
    l->n_done = 0;
    pthread_mutex_unlock(&l->lock);
    return n;
}

bool encode_lane_finished(struct encode_lane *l)
{
    pthread_mutex_lock(&l->lock);
    bool finished = l->finished;
    pthread_mutex_unlock(&l->lock);
    return finished;
}

struct progress_state encode_lane_state(struct encode_lane *l, int64_t *first_ns)
{
    pthread_mutex_lock(&l->lock);
    struct progress_state state = l->state;
    *first_ns = l->first_ns;
    pthread_mutex_unlock(&l->lock);
    return state;
}
