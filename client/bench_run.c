/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One timed run: every input as often as --streams says. All streams use one connection, open at
 * once, and are read in turn as frames arrive. The clock starts before the first request. It stops
 * with the last frame, or when -t has passed.
 */
#include "client/bench_hash.h"
#include "client/input.h"
#include "client/ui.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

enum {
    MAX_STREAMS = 1024,
    WAIT_MS = 200,
    WARM_UP_FRAMES = 16,
    WARM_UP_STREAMS = 16 /* one for each device at least */,
    WARM_UP_LEAST = 4,
    FIRST_FRAMES = 250,
    FIRST_US = 5000000,
    TURN_FRAMES = 32
};

static const enum pelton_transport transports[BENCH_MODES] = {PELTON_NONE, PELTON_READBACK,
                                                              PELTON_SHM};

struct lane {
    struct client_input source;
    struct pelton_stream *stream;
    struct bench_place place;
    bool ended;
};

struct run {
    struct bench *b;
    struct bench_run *result;
    enum bench_mode mode;
    struct lane *lanes;
    unsigned n, ended;
    int64_t start_ns, news_ns; /* news_ns: the last arrival of anything */
};

static int lane_open(struct run *r, struct lane *lane, const char *input, uint64_t max_frames)
{
    struct bench *b = r->b;
    struct pelton_open_params params;
    /* each stream reads at its own offset, so no descriptor is shared */
    int rc = input_open(input, &lane->source, b->f);
    if (rc)
        return rc;
    input_params(b->o, &lane->source, &params);
    params.bench.transport = transports[r->mode];
    params.pix_fmt = b->o->write.pix_fmt;
    params.duration_us = -1;
    params.max_frames = max_frames;
    params.realtime = b->o->bench.live;
    params.loop = max_frames == 0 && (b->o->read.duration_us > 0 || b->o->bench.loops > 1);
    params.loops = b->o->read.duration_us > 0 ? 0 : b->o->bench.loops;
    /* fewer streams than devices share the devices */
    params.devices = b->device_known ? b->device.devices / r->n : 1;
    return pelton_open_start(b->conn, &params, &lane->stream) < 0
               ? fail_pelton(b->f, b->conn, lane->source.name)
               : 0;
}

static void lanes_close(struct run *r)
{
    for (unsigned i = 0; r->lanes && i < r->n; i++) {
        pelton_stream_close(r->lanes[i].stream);
        input_close(&r->lanes[i].source);
    }
    free(r->lanes);
}

/* n streams, of the inputs in turn. max_frames 0: all frames, as often as --loop says. */
static int lanes_open(struct run *r, uint64_t n, uint64_t max_frames)
{
    struct client_options *o = r->b->o;
    if (n > MAX_STREAMS) {
        return fail_with(r->b->f, X_USAGE, "fewer inputs or fewer --streams",
                         "more than %d streams", MAX_STREAMS);
    }
    r->lanes = calloc((size_t)n, sizeof(*r->lanes));
    if (!r->lanes)
        return fail_with(r->b->f, X_OTHER, "close other programs", "out of memory");
    r->n = (unsigned)n;
    for (unsigned i = 0; i < r->n; i++)
        r->lanes[i].source.fd = -1;
    r->start_ns = r->news_ns = now_ns();
    for (unsigned i = 0; i < r->n; i++) {
        int rc = lane_open(r, &r->lanes[i], o->inputs[i % o->n_inputs], max_frames);
        if (rc)
            return rc;
    }
    return 0;
}

static void add_sample(struct bench *b, uint32_t stream, const struct pelton_frame *frame)
{
    if (b->n_samples == b->room_samples) {
        size_t room = b->room_samples ? b->room_samples * 2 : 4096;
        struct bench_sample *samples = realloc(b->samples, room * sizeof(*samples));
        if (!samples)
            return;
        b->samples = samples;
        b->room_samples = room;
    }
    struct bench_sample *sample = &b->samples[b->n_samples++];
    *sample = (struct bench_sample){stream, frame->received_ns, frame->decoded_ns, now_ns(), {0}};
    memcpy(sample->trace_ns, frame->trace_ns, sizeof(sample->trace_ns));
}

/* Takes a bounded number of this stream's frames, so that other streams and the clock get their
 * turn. *news: it had some. */
static int lane_drain(struct run *r, struct lane *lane, bool *news)
{
    struct bench *b = r->b;
    struct bench_run *result = r->result;
    for (int i = 0; i < TURN_FRAMES; i++) {
        struct pelton_frame frame;
        int rc = pelton_next(lane->stream, 0, &frame);
        if (rc == PELTON_ERR_TIMEOUT)
            return 0;
        if (rc < 0)
            return interrupted() ? interrupted() : fail_pelton(b->f, b->conn, lane->source.name);
        *news = true;
        if (rc == 0) {
            lane->ended = true;
            r->ended++;
            return 0;
        }
        result->corrupt += (frame.flags & PELTON_FRAME_CORRUPT) != 0;
        if (r->mode == BENCH_DELIVERED) {
            add_sample(b, (uint32_t)(lane - r->lanes), &frame);
            result->frames++;
        }
        if (!b->hashers) {
            pelton_release(lane->stream, &frame);
            continue;
        }
        rc = bench_check_frame(b, (unsigned)(lane - r->lanes) % b->o->n_inputs, &lane->place,
                               lane->stream, &frame);
        if (rc)
            return rc;
    }
    return 0;
}

static bool run_time_is_up(const struct run *r)
{
    int64_t us = r->b->o->read.duration_us;
    return us > 0 && now_ns() - r->start_ns >= us * 1000;
}

/* Frames that are not announced also count as news: a long run must not look like silence. */
static bool run_progressed(struct run *r, uint64_t *before)
{
    uint64_t frames = 0;
    for (unsigned i = 0; i < r->n; i++) {
        struct pelton_stats s;
        if (pelton_stats(r->lanes[i].stream, 1000, &s) == 0)
            frames += s.frames;
    }
    bool more = frames > *before;
    *before = frames;
    return more;
}

static int run_wait(struct run *r, uint64_t *frames_before)
{
    struct bench *b = r->b;
    struct pollfd fds[2] = {
        {.fd = pelton_fd(b->conn), .events = POLLIN},
        {.fd = b->hashers ? bench_hashers_fd(b->hashers) : -1, .events = POLLIN}};
    int limit = timeout_ms(b->o);
    eventfd_t hashed;
    /* a frame goes back, and its stream may wait for the slot */
    while (poll(fds, 2, WAIT_MS) > 0 && !fds[0].revents) {
        eventfd_read(fds[1].fd, &hashed);
        int differs = bench_check_done(b);
        if (differs)
            return differs;
    }
    if (limit >= 0 && now_ns() - r->news_ns > (int64_t)limit * 1000000) {
        if (!run_progressed(r, frames_before)) {
            return fail_with(b->f, X_TIMEOUT, "--timeout allows more time; 0 waits for ever",
                             "no frame within %g s", b->o->connect.timeout);
        }
        r->news_ns = now_ns();
    }
    return 0;
}

static int run_drain(struct run *r)
{
    uint64_t frames_before = 0;
    struct bench *b = r->b;
    while (r->ended < r->n && !run_time_is_up(r)) {
        bool news = false;
        for (unsigned i = 0; i < r->n; i++) {
            int failed = r->lanes[i].ended ? 0 : lane_drain(r, &r->lanes[i], &news);
            if (failed)
                return failed;
        }
        int differs = b->hashers ? bench_check_done(b) : 0;
        if (differs)
            return differs;
        if (interrupted())
            return interrupted();
        if (news)
            r->news_ns = now_ns();
        else if (run_wait(r, &frames_before))
            return b->f->code;
    }
    /* already answered, unless -t is very short */
    int rc = pelton_open_wait(r->lanes[0].stream, timeout_ms(b->o), &b->info);
    return rc < 0 ? fail_pelton(b->f, b->conn, r->lanes[0].source.name) : 0;
}

static int run_collect(struct run *r)
{
    struct bench_run *result = r->result;
    for (unsigned i = 0; i < r->n; i++) {
        struct pelton_stats s;
        if (pelton_stats(r->lanes[i].stream, timeout_ms(r->b->o), &s) < 0)
            return fail_pelton(r->b->f, r->b->conn, r->lanes[i].source.name);
        pelton_stats_add(&result->total, &s);
    }
    if (r->mode != BENCH_DELIVERED)
        result->frames = result->total.frames;
    result->corrupt =
        result->total.corrupt > result->corrupt ? result->total.corrupt : result->corrupt;
    return 0;
}

/* Of the samples of the run. */
static struct bench_steady run_steady(const struct run *r)
{
    const struct bench *b = r->b;
    struct bench_steady steady = {0};
    int64_t *times = malloc((b->n_samples + 1) * sizeof(*times));
    for (size_t i = 0; times && i < b->n_samples; i++)
        times[i] = b->samples[i].taken_ns;
    if (times && !b->o->bench.live)
        steady = bench_steady_find(r->start_ns, times, b->n_samples);
    free(times);
    return steady;
}

int bench_measure(struct bench *b, enum bench_mode mode, struct bench_run *result)
{
    struct run r = {.b = b, .mode = mode, .result = result};
    *result = (struct bench_run){0};
    b->n_samples = 0;
    int rc = mode == BENCH_DELIVERED ? bench_check_begin(b) : 0;
    rc = rc ? rc : lanes_open(&r, (uint64_t)b->o->n_inputs * b->o->bench.streams, 0);
    rc = rc ? rc : run_drain(&r);
    int64_t end_ns = now_ns();
    rc = bench_check_end(b, rc); /* streams are closed later, because it holds frames of theirs */
    rc = rc ? rc : run_collect(&r);
    lanes_close(&r);
    if (rc)
        return rc;
    result->measured = true;
    result->seconds = (double)(end_ns - r.start_ns) * 1e-9;
    result->fps = (double)result->frames / result->seconds;
    if (mode == BENCH_DELIVERED) {
        result->steady = run_steady(&r);
        bench_latency(b);
    }
    return 0;
}

/* Untimed, or timed in another way: -t says nothing about it. */
static int short_run(struct run *r, uint64_t n, uint64_t frames, int64_t most_us)
{
    int64_t duration_us = r->b->o->read.duration_us;
    r->b->o->read.duration_us = most_us;
    r->mode = BENCH_DELIVERED;
    int rc = lanes_open(r, n, frames);
    rc = rc ? rc : run_drain(r);
    r->b->o->read.duration_us = duration_us;
    lanes_close(r);
    return rc;
}

int bench_first_stream(struct bench *b, int64_t asked_ns)
{
    struct bench_run result = {0};
    struct run r = {.b = b, .result = &result};
    b->n_samples = 0;
    int rc = short_run(&r, 1, FIRST_FRAMES, FIRST_US);
    if (rc == 0 && b->n_samples) {
        b->first.frames = b->n_samples;
        b->first.frame = (double)(b->samples[0].taken_ns - asked_ns) * 1e-9;
        b->first.seconds = (double)(b->samples[b->n_samples - 1].taken_ns - asked_ns) * 1e-9;
    }
    return rc;
}

int bench_warm_up(struct bench *b)
{
    struct bench_run result = {0};
    struct run r = {.b = b, .result = &result};
    uint32_t streams = b->o->bench.streams,
             warm = streams < WARM_UP_STREAMS ? streams : WARM_UP_STREAMS;
    uint64_t frames = WARM_UP_FRAMES / warm > WARM_UP_LEAST ? WARM_UP_FRAMES / warm : WARM_UP_LEAST;
    int rc = short_run(&r, (uint64_t)b->o->n_inputs * warm, frames, -1);
    if (rc == 0 && pelton_device(b->conn, &b->device) == 0) {
        b->device_known = true;
        announce_device(&b->device);
    }
    if (rc == 0 && b->device.libavcodec)
        return fail_with(b->f, X_NO_DEVICE, "--device cpu measures pelton on the software device",
                         "%s decodes in this daemon, not pelton", b->device.name);
    return rc;
}
