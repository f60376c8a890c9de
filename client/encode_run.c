/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See encode_run.h. This thread has the connection: it receives frames of all inputs, gives them to
 * the lanes and releases them. A lane for each input encodes and writes (encode_lane.c).
 *
 * The happy path is: check all outputs; open inputs, device, daemon and streams; start the lanes;
 * pass frames on until each lane has finished. The failure modes before the first frame end all of
 * it. Later ones are of a lane: the others go on, and the first failure is that of the run.
 */
#include "client/encode_run.h"

#include "client/encode_device.h"
#include "client/encode_lane.h"
#include "client/encode_path.h"
#include "client/video_sync.h"
#include "proto/start_trace.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { SLICE_MS = 200 /* an interrupt is noticed at least so often */ };

struct encode_run {
    struct client_options *o;
    struct failure *f;
    bool files;
    struct pelton *conn;
    bool daemon_encodes;
    struct encode_device *device; /* NULL: the daemon encodes it all */
    struct encode_lane *lanes;
    unsigned n;
    int wake; /* eventfd: a lane has done something */
    struct progress progress;
    int64_t begun_ns;
};

/* ---- names of outputs ---- */

static int refuse_same_output(const struct encode_run *r, const char *path)
{
    if (!strstr(r->o->write.path, "%s"))
        return fail_with(r->f, X_USAGE, "as in: -i a.mp4 -i b.mp4 -o 'small/%s.mp4'",
                         "%s: one output for %u inputs", r->o->write.path, r->n);
    return fail_with(r->f, X_USAGE, "inputs whose files have the same name need a run each",
                     "%s: two outputs", path);
}

static int outputs_name(struct encode_run *r)
{
    for (unsigned i = 0; i < r->n; i++) {
        struct encode_lane *l = &r->lanes[i];
        if (!encode_output_path(r->o->write.path, r->o->inputs[i], l->path, sizeof(l->path)))
            return fail_with(r->f, X_USAGE, "give the output a shorter name", "%s: too long",
                             r->o->write.path);
        for (unsigned k = 0; k < i; k++)
            if (!strcmp(r->lanes[k].path, l->path))
                return refuse_same_output(r, l->path);
    }
    return 0;
}

/* ---- opening ---- */

/* A failure of a lane before the first frame is that of the run. */
static int lane_failed(struct encode_run *r, const struct encode_lane *l, int rc)
{
    if (rc && !r->f->code)
        *r->f = l->failure;
    return rc;
}

static int lane_check(struct encode_lane *l, bool files)
{
    int rc = unit_output_init(&l->out, l->o, l->path, files, &l->failure);
    return rc ? rc : unit_output_check(&l->out);
}

/* No output is an input. */
static int lane_protect(struct encode_run *r, struct encode_lane *l)
{
    for (unsigned i = 0; i < r->n; i++) {
        struct stat input;
        int fd = r->lanes[i].source.fd;
        int rc = fd >= 0 && fstat(fd, &input) == 0 ? unit_output_protect(&l->out, &input) : 0;
        if (rc)
            return rc;
    }
    return 0;
}

static int outputs_check(struct encode_run *r)
{
    int rc = 0;
    for (unsigned i = 0; i < r->n && !rc; i++)
        rc = lane_failed(r, &r->lanes[i], lane_check(&r->lanes[i], r->files));
    for (unsigned i = 0; i < r->n && !rc; i++)
        rc = input_open(r->o->inputs[i], &r->lanes[i].source, r->f);
    for (unsigned i = 0; i < r->n && !rc; i++)
        rc = lane_failed(r, &r->lanes[i], lane_protect(r, &r->lanes[i]));
    return rc;
}

/* encoded: the daemon encodes on its device, where frames are. */
static int lane_open(struct encode_run *r, struct encode_lane *l)
{
    struct pelton_open_params params;
    input_params(r->o, &l->source, &params);
    params.duration_us = -1; /* counted here, from the first unit */
    frame_encoder_ask(r->o, &params);
    params.realtime = !strcmp(unit_output_format(&l->out), "rtsp");
    params.encoded = l->encoded;
    if (l->encoded) {
        params.encode = frame_encoder_settings(r->o);
        params.encode.alike = r->n;
    }
    int rc = input_subscribe(r->o, r->conn, &params, l->source.name, &l->info, &l->stream, r->f);
    l->out.rate = l->info.avg_frame_rate;
    if (!rc)
        input_tell_sound(l->source.name, &l->info);
    return rc;
}

static int lane_subscribe(struct encode_run *r, struct encode_lane *l)
{
    l->encoded = r->daemon_encodes && input_opens_again(&l->source);
    int rc = lane_open(r, l);
    if (!l->encoded || rc != X_UNSUPPORTED)
        return rc;
    ui_log(LOG_VERBOSE, "%s: this program encodes", r->f->cause);
    *r->f = (struct failure){0};
    l->encoded = false;
    return lane_open(r, l);
}

/* The most inputs of one size */
static uint32_t lanes_alike(const struct encode_run *r)
{
    uint32_t most = 1;
    for (unsigned i = 0; i < r->n; i++) {
        uint32_t count = 0;
        for (unsigned k = 0; k < r->n; k++)
            count += r->lanes[k].info.width == r->lanes[i].info.width &&
                     r->lanes[k].info.height == r->lanes[i].info.height;
        most = count > most ? count : most;
    }
    return r->o->read.output.width ? r->n : most;
}

/* With the device that encodes in this process, where a lane needs one. */
static int lanes_subscribe(struct encode_run *r)
{
    struct pelton_device device;
    bool here = false;
    int rc = 0;
    r->daemon_encodes = pelton_device(r->conn, &device) == 0 && device.encodes;
    if (r->daemon_encodes)
        ui_log(LOG_INFO, "%s encodes what it decodes", device.name);
    else
        rc = encode_device_open(r->o, &r->device, r->f);
    for (unsigned i = 0; i < r->n && !rc; i++) {
        rc = lane_subscribe(r, &r->lanes[i]);
        here |= !r->lanes[i].encoded;
    }
    start_trace("the streams are open");
    if (!rc && here && !r->device)
        rc = encode_device_open(r->o, &r->device, r->f);
    return !rc && here ? encode_device_ready(r->device, r->n, lanes_alike(r), r->f) : rc;
}

static void run_set_goal(struct encode_run *r)
{
    progress_start(&r->progress, r->o->write.progress, stderr);
    for (unsigned i = 0; i < r->n; i++) {
        uint64_t frames = r->o->read.max_frames;
        if (!frames && r->lanes[i].info.frames > 0)
            frames = (uint64_t)r->lanes[i].info.frames;
        if (!frames) { /* unknown */
            r->progress.total_frames = 0;
            return;
        }
        r->progress.total_frames += (double)frames;
    }
}

static int run_open(struct encode_run *r)
{
    int rc = outputs_name(r);
    rc = rc ? rc : frame_encoder_check(r->o, r->f);
    rc = rc ? rc : outputs_check(r);
    rc = rc ? rc : connection_open(r->o, &r->conn, r->f);
    rc = rc ? rc : lanes_subscribe(r);
    if (rc)
        return rc;
    run_set_goal(r);
    for (unsigned i = 0; i < r->n && !rc; i++)
        rc = lane_failed(r, &r->lanes[i], encode_lane_start(&r->lanes[i], r->device));
    return rc;
}

/* ---- frames ---- */

/* Nothing came for long although it was wanted. */
static bool lane_timed_out(const struct encode_run *r, const struct encode_lane *l)
{
    int limit = timeout_ms(r->o);
    return limit >= 0 && now_ns() - l->news_ns > (int64_t)limit * 1000000;
}

/* Takes a frame of the source, where the lane wants one. True: there was news */
static bool lane_read(struct encode_run *r, struct encode_lane *l)
{
    struct pelton_frame frame;
    if (!encode_lane_wants(l)) {
        l->news_ns = now_ns();
        return false;
    }
    int rc = pelton_next(l->stream, 0, &frame);
    if (rc == 1) {
        l->news_ns = now_ns();
        encode_lane_give(l, &frame);
        return true;
    }
    if (rc == PELTON_ERR_TIMEOUT && !lane_timed_out(r, l))
        return false;
    if (rc < 0 && interrupted()) /* a terminal's SIGINT also ends a private daemon */
        return false;
    if (rc == PELTON_ERR_TIMEOUT)
        rc =
            fail_with(&l->source_failure, X_TIMEOUT, "--timeout allows more time; 0 waits for ever",
                      "%s: nothing within %g s", l->source.name, r->o->connect.timeout);
    else
        rc = rc < 0 ? fail_pelton(&l->source_failure, r->conn, l->source.name) : 0;
    encode_lane_end(l, rc);
    return true;
}

static bool lane_serve(struct encode_run *r, struct encode_lane *l)
{
    struct pelton_frame done[LANE_FRAMES];
    unsigned n = encode_lane_take_back(l, done);
    for (unsigned i = 0; i < n; i++)
        pelton_release(l->stream, &done[i]);
    if (!interrupted())
        return lane_read(r, l);
    encode_lane_stop(l);
    if (!l->out.files)
        sink_break(l->thread);
    return false;
}

/* Of all lanes, and the time at which each of them had written a unit; 0: not yet */
static struct progress_state run_state(struct encode_run *r, int64_t *all_ns)
{
    struct progress_state sum = {0};
    bool all = true;
    *all_ns = 0;
    for (unsigned i = 0; i < r->n; i++) {
        int64_t first_ns;
        struct progress_state s = encode_lane_state(&r->lanes[i], &first_ns);
        sum.frames += s.frames;
        sum.dropped += s.dropped;
        sum.bytes += s.bytes;
        sum.media_s += s.media_s;
        all &= first_ns != 0;
        *all_ns = first_ns > *all_ns ? first_ns : *all_ns;
    }
    *all_ns = all ? *all_ns : 0;
    return sum;
}

/* Frames that nobody wants yet stay where they are. A question keeps the connection alive. */
static void run_wait(const struct encode_run *r)
{
    bool wanted = false;
    eventfd_t lanes;
    for (unsigned i = 0; i < r->n; i++)
        wanted |= encode_lane_wants(&r->lanes[i]);
    struct pollfd fds[2] = {{.fd = wanted ? pelton_fd(r->conn) : -1, .events = POLLIN},
                            {.fd = r->wake, .events = POLLIN}};
    struct pelton_stats unused;
    if (poll(fds, 2, SLICE_MS) == 0 && !wanted)
        pelton_stats(r->lanes[0].stream, SLICE_MS, &unused);
    eventfd_read(r->wake, &lanes);
}

/* Until all lanes that were started have finished. *begun: what was done when each had a unit */
static void run_frames(struct encode_run *r, uint64_t *begun)
{
    unsigned running;
    do {
        bool news = false;
        int64_t all_ns;
        running = 0;
        for (unsigned i = 0; i < r->n; i++) {
            struct encode_lane *l = &r->lanes[i];
            if (!l->started || encode_lane_finished(l))
                continue;
            running++;
            news |= lane_serve(r, l);
        }
        struct progress_state state = run_state(r, &all_ns);
        if (all_ns && !*begun)
            *begun = state.frames;
        progress_update(&r->progress, &state);
        if (running && !news)
            run_wait(r);
    } while (running);
}

/* ---- the end ---- */

static void lane_summary(const struct encode_run *r, const struct encode_lane *l, double s)
{
    const struct frame_encoder_sums *sums = &l->sums;
    char name[sizeof(l->path) + 2] = "", rate[32] = "", qp[32] = "";
    double media = (double)unit_output_us(&l->out) * 1e-6;
    if (!sums->pictures || media <= 0)
        return;
    if (r->n > 1)
        snprintf(name, sizeof(name), "%s: ", l->path);
    else
        snprintf(rate, sizeof(rate), "%.1f fps, ", (double)sums->pictures / s);
    if (!l->encoded) /* the daemon does not tell it */
        snprintf(qp, sizeof(qp), "mean QP %.1f, ", (double)sums->qp / (double)sums->pictures);
    ui_log(LOG_INFO, "%s%llu %s, %llu key, %s%.1f kbit/s, %s%llu corrupt", name,
           (unsigned long long)sums->pictures, ui_plural(sums->pictures, "picture"),
           (unsigned long long)sums->keys, qp, 8e-3 * (double)sums->bytes / media, rate,
           (unsigned long long)sums->corrupt);
    if (sums->repeated)
        ui_log(LOG_WARNING, "%s%llu pictures repeat the one before: QP 51 was above the rate", name,
               (unsigned long long)sums->repeated);
}

/* begun: pictures when each lane had a unit, which is the end of the start */
static void run_summary(struct encode_run *r, const struct progress_state *all, int64_t all_ns,
                        uint64_t begun)
{
    int64_t end_ns = now_ns();
    double s = (double)(end_ns - r->begun_ns) * 1e-9, start = (double)(all_ns - r->begun_ns) * 1e-9;
    char dropped[64] = "", rate[96] = "";
    unsigned made = 0;
    for (unsigned i = 0; i < r->n; i++) {
        lane_summary(r, &r->lanes[i], s);
        made += r->lanes[i].code && !interrupted() ? 0 : r->lanes[i].out.out.made;
    }
    if (all->dropped)
        snprintf(dropped, sizeof(dropped), ", %llu dropped", (unsigned long long)all->dropped);
    if (all_ns && all->frames > begun && s > start)
        snprintf(rate, sizeof(rate), "; %.2f s until the first units, then %.1f fps", start,
                 (double)(all->frames - begun) / (s - start));
    if (all->frames && r->files)
        ui_log(LOG_INFO, "%llu access %s, %.2f MB, %u %s, %.2f s%s%s",
               (unsigned long long)all->frames, all->frames == 1 ? "unit" : "units",
               (double)all->bytes * 1e-6, made, ui_plural(made, "file"), s, dropped, rate);
}

/* A cause without the input's name gets it, where there are several. */
static void run_fail(struct encode_run *r, const struct encode_lane *l)
{
    const struct failure *f = &l->failure;
    if (r->n > 1 && f->cause[0] && !strstr(f->cause, l->source.name))
        fail_with(r->f, f->code, f->hint, "%s: %s", l->source.name, f->cause);
    else
        *r->f = *f;
}

/* The first failure is that of the run; with several inputs each of the others is told. */
static int run_failure(struct encode_run *r)
{
    int rc = 0;
    for (unsigned i = 0; i < r->n; i++) {
        struct encode_lane *l = &r->lanes[i];
        if (!l->code)
            continue;
        if (!rc)
            run_fail(r, l);
        else if (l->failure.cause[0])
            ui_log(LOG_WARNING, "%s: %s", l->source.name, l->failure.cause);
        rc = rc ? rc : l->code;
    }
    return rc;
}

static int run_all(struct encode_run *r)
{
    uint64_t begun = 0;
    int64_t all_ns;
    int rc = run_open(r);
    if (rc) /* lanes that run have had no frame */
        for (unsigned i = 0; i < r->n; i++)
            encode_lane_end(&r->lanes[i], rc);
    else
        run_frames(r, &begun);
    for (unsigned i = 0; i < r->n; i++)
        encode_lane_join(&r->lanes[i]);
    if (rc)
        return rc;
    struct progress_state state = run_state(r, &all_ns);
    progress_end(&r->progress, &state);
    start_trace("all outputs have ended");
    run_summary(r, &state, all_ns, begun);
    return run_failure(r);
}

static void run_close(struct encode_run *r)
{
    for (unsigned i = 0; i < r->n; i++)
        pelton_stream_close(r->lanes[i].stream);
    encode_device_close(r->device);
    pelton_close(r->conn);
    for (unsigned i = 0; i < r->n; i++) {
        input_close(&r->lanes[i].source);
        pthread_cond_destroy(&r->lanes[i].news);
        pthread_mutex_destroy(&r->lanes[i].lock);
    }
    if (r->wake >= 0)
        close(r->wake);
    free(r->lanes);
}

int encode_run(struct client_options *o, bool files, struct failure *f)
{
    struct encode_run r = {.o = o,
                           .f = f,
                           .files = files,
                           .lanes = calloc(o->n_inputs, sizeof(*r.lanes)),
                           .wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
                           .begun_ns = now_ns()};
    int rc;
    r.n = r.lanes ? o->n_inputs : 0;
    for (unsigned i = 0; i < r.n; i++) {
        struct encode_lane *l = &r.lanes[i];
        *l = (struct encode_lane){.o = o, .source = {.fd = -1}, .wake = r.wake};
        pthread_mutex_init(&l->lock, NULL);
        pthread_cond_init(&l->news, NULL);
    }
    interrupts_catch();
    rc = r.lanes && r.wake >= 0 ? run_all(&r)
                                : fail_with(f, X_OTHER, "close other programs", "out of memory");
    run_close(&r);
    return rc;
}
